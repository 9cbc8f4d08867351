# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Lagrange's equations from the generalised momentum and the kinetic energy; [M18d] section 5.2.

Let Pi^c_i be the spatial momentum of all bodies that joint i moves. Since dV_l/dq_i = [V_i, S_i] in
the frame of body l, the derivatives of T = sum_l V_l . M_l V_l / 2 are

    p_i = dT/dq'_i = S_i . Pi^c_i,   dT/dq_i = S'_i . Pi^c_i,

which the paper writes as J^T M V and (M A b X)^T V.
"""

from typing import Any

import numpy as np

from ..core import Array, times
from ..model import MultibodyModel
from ..rigid import (
    Wrenches,
    gravity_forces,
    mass_matrix,
    mass_matrix_dot,
    spatial_bodies,
    subtree_sums,
)
from .closed_form import motion_and_wrenches


def generalized_momentum(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The generalised momentum p = dT/dq' = M(q) q' (..., n), [M18d] after (81).

    kg m^2/s for an angle, kg m/s for a translation, rotors included; computed without the mass
    matrix. q and q' are (..., n). Raises InputError for wrong shapes, NaN or infinity.
    """
    bodies = spatial_bodies(model, q, qd)
    carried = subtree_sums(model, bodies.momenta, -2)
    spin = model.reflected_inertia * np.asarray(qd)
    return np.asarray(model.collect(np.sum(bodies.screws * carried, axis=-1), -1) + spin)


def kinetic_energy_gradient(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The gradient dT/dq (..., n) of the kinetic energy at constant q', N m or N; [M18d] (82).

    q and q' are (..., n). Raises InputError for wrong shapes, NaN or infinity.
    """
    bodies = spatial_bodies(model, q, qd)
    carried = subtree_sums(model, bodies.momenta, -2)
    return np.asarray(model.collect(np.sum(bodies.screw_rates * carried, axis=-1), -1))


def lagrange_equations(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, *, wrenches: Wrenches | None = None
) -> Array:
    """Joint torques by Lagrange's equations (..., n), N m or N; [M18d] (80).

    Q = d/dt dT/dq' - dT/dq + dU/dq - sum_i J_i^T W_i, with d/dt dT/dq' = M q'' + M' q'. The applied
    `wrenches` W_i are those of :func:`.inverse_dynamics`, whose result is the same. Raises
    InputError for wrong shapes or names, NaN or infinity.
    """
    q, qd, qdd, W = motion_and_wrenches(model, (q, qd, qdd), wrenches)
    momentum_rate = times(mass_matrix(model, q), qdd) + times(mass_matrix_dot(model, q, qd), qd)
    gradient = gravity_forces(model, q) - kinetic_energy_gradient(model, q, qd)
    screws = spatial_bodies(model, q, qd).screws
    applied = model.collect(np.sum(screws * subtree_sums(model, W, -2), axis=-1), -1)
    return np.asarray(momentum_rate + gradient - applied)
