# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inertial parameters of bodies that can exist, as unconstrained numbers.

A body can exist if its pseudo-inertia is positive definite. Written as U U^T, with U upper
triangular and a positive diagonal (C. Rucker, P. M. Wensing, "Smooth parameterization of rigid-body
inertia", IEEE RA-L 7(2), 2022), this linear matrix inequality becomes ten unconstrained numbers,
among which least squares can search. Alternatively, the search is among the ten parameters
themselves, in which the torques are linear, with the divergence from a known body as prior: it is
convex, and infinite for bodies that cannot exist (T. Lee, P. M. Wensing, F. C. Park, "Geometric
robot dynamic identification: a convex programming approach", IEEE T-RO 36(2), 2020).
"""

from typing import Any, NamedTuple

import numpy as np

from ...core import Array, InputError, as_array
from .regressor import PSEUDO_INERTIAS, UPPER, is_physically_consistent, pseudo_inertia

FAR = 50.0  # larger logarithms belong to no realistic body and may overflow


def consistent_parameters(theta: Any) -> Array:
    """The ten parameters (..., 10) of the body with log-Cholesky numbers theta (..., 10).

    (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3): pseudo-inertia U U^T, U = exp(alpha) times
    [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]. Every theta
    gives a possible body, and every possible body has one.
    """
    U = _upper(as_array("theta", theta, (10,)))
    return _ten(U @ np.swapaxes(U, -1, -2))


def log_cholesky(parameters: Any) -> Array:
    """The inverse (..., 10) of :func:`consistent_parameters`.

    Raises InputError for parameters that are not physically consistent.
    """
    values = as_array("parameters", parameters, (10,))
    if not np.all(is_physically_consistent(values)):
        raise InputError(
            "parameters: not physically consistent: the pseudo-inertia is not positive definite"
        )
    J = pseudo_inertia(values)[..., ::-1, ::-1]
    U = np.linalg.cholesky(J)[..., ::-1, ::-1]  # upper triangular
    scale = U[..., 3, 3]
    u = U / scale[..., None, None]
    diagonal = [np.log(u[..., i, i]) for i in range(3)]
    rest = [u[..., 0, 1], u[..., 1, 2], u[..., 0, 2], u[..., 0, 3], u[..., 1, 3], u[..., 2, 3]]
    return np.stack([np.log(scale), *diagonal, *rest], axis=-1)


def nearest_consistent(parameters: Any, share: float = 1e-4) -> Array:
    """Physically consistent parameters (..., 10) close to the given ones, which may be
    inconsistent.

    Eigenvalues of the second moments about the COM are raised to at least `share` of the largest
    one, and a mass below 1 g to 1 g.
    """
    values = as_array("parameters", parameters, (10,))
    J = pseudo_inertia(values)
    mass = np.maximum(J[..., 3, 3], 1e-3)
    c = J[..., :3, 3] / mass[..., None]
    Sigma = J[..., :3, :3] - mass[..., None, None] * c[..., :, None] * c[..., None, :]
    w, v = np.linalg.eigh(Sigma)
    w = np.maximum(w, np.maximum(share * np.abs(w).max(axis=-1), 1e-7)[..., None])
    Sigma = (v * w[..., None, :]) @ np.swapaxes(v, -1, -2)
    J = np.zeros_like(J)
    J[..., :3, :3] = Sigma + mass[..., None, None] * c[..., :, None] * c[..., None, :]
    J[..., :3, 3] = J[..., 3, :3] = mass[..., None] * c
    J[..., 3, 3] = mass
    return _ten(J)


class Divergence(NamedTuple):
    """Value, gradient (10,) and second derivative (10, 10) of a divergence."""

    value: float
    gradient: Array
    hessian: Array


def divergence(parameters: Any, reference: Any) -> Divergence:
    """tr(R^-1 J) - log det(R^-1 J) - 4 of pseudo-inertias J and R of parameters (10,).

    It is zero for equal bodies, and infinite (with derivatives that are zero) for a body that
    cannot exist. If all second moments and the mass grow by the factor 1 + x, it is 2 x^2.
    """
    J, R = (pseudo_inertia(each) for each in (parameters, reference))
    try:
        half = np.linalg.cholesky(J)
    except np.linalg.LinAlgError:
        return Divergence(np.inf, np.zeros(10), np.zeros((10, 10)))
    ratio = np.linalg.solve(R, J)
    inverse = np.linalg.inv(J)
    value = np.trace(ratio) - 2.0 * np.log(np.diag(half)).sum() + np.linalg.slogdet(R)[1] - 4.0
    across = inverse @ PSEUDO_INERTIAS  # J^-1 E_k
    gradient = np.einsum("ij,kji->k", np.linalg.inv(R) - inverse, PSEUDO_INERTIAS)
    return Divergence(float(value), gradient, np.einsum("kij,lji->kl", across, across))


def _upper(theta: Array) -> Array:
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = np.moveaxis(np.clip(theta, -FAR, FAR), -1, 0)
    o, one = np.zeros_like(alpha), np.ones_like(alpha)
    rows = [
        [np.exp(d1), s12, s13, t1],
        [o, np.exp(d2), s23, t2],
        [o, o, np.exp(d3), t3],
        [o, o, o, one],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1)) * np.exp(alpha)[..., None, None]


def _ten(J: Array) -> Array:
    """Parameters (..., 10) of a pseudo-inertia (..., 4, 4)."""
    Sigma = J[..., :3, :3]
    inertia = np.trace(Sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - Sigma
    upper = [inertia[..., i, j] for i, j in UPPER]
    return np.stack([J[..., 3, 3], *(J[..., i, 3] for i in range(3)), *upper], axis=-1)
