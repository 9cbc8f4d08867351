# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Dampers that give every mode of a mass and a stiffness the same damping ratio.

Double diagonalisation: with the modes X of K x = w^2 M x, scaled to X^T M X = 1,

    D = M X diag(2 zeta w) X^T M,    X^T D X = diag(2 zeta w),

so M x'' + D x' + K x = 0 decouples into modes with the damping ratio zeta (A. Albu-Schaeffer, C.
Ott, U. Frese, G. Hirzinger, ICRA 2003). In joint space with K = J^T K_x J, the modes with stiffness
are those of the task inertia (J M^-1 J^T)^-1 and K_x, and D = J^T D_x J in them: one design serves
joint and Cartesian impedances. Modes without stiffness, such as the null space of a redundant arm,
decay at a separate rate.
"""

from __future__ import annotations

import numpy as np

from ...core import Array, DynamicsError


def impedance_damping(mass: Array, stiffness: Array, ratio: float, least_rate: float) -> Array:
    """The damping matrix D (n, n), symmetric and positive semidefinite.

    Parameters
    ----------
    mass : M (n, n), symmetric positive definite.
    stiffness : K (n, n), symmetric positive semidefinite.
    ratio : zeta.
    least_rate : 1/s, at which a mode without stiffness loses its velocity; a lower bound for the
        rates of all modes.

    Raises DynamicsError for a mass matrix that is not positive definite.
    """
    try:
        L = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise DynamicsError("the mass matrix is not positive definite") from None
    # the modes of L^-1 K L^-T are orthonormal, and M X = L U
    scaled = np.linalg.solve(L, np.linalg.solve(L, stiffness).T)
    squares, U = np.linalg.eigh(0.5 * (scaled + scaled.T))
    rates = np.maximum(2.0 * ratio * np.sqrt(np.maximum(squares, 0.0)), least_rate)
    momenta = L @ U
    return np.asarray((momenta * rates) @ momenta.T)
