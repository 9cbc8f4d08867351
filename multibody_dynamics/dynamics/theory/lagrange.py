"""Lagrange's equations, [M18d] section 5.2, from the generalized momentum and the kinetic energy.

With Pi^c_i the spatial momentum of all bodies that joint i moves, the derivatives of
T = sum_l V_l . M_l V_l / 2 are p_i = dT/dq'_i = S_i . Pi^c_i and dT/dq_i = S'_i . Pi^c_i, because
dV_l/dq_i = [V_i, S_i] in the frame of body l; that is J^T M V and (M A b X)^T V of the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import STATE_ROWS, Array, InputError, broadcast_shapes, times
from ..model import MultibodyModel, model_state
from ..rigid import (
    Wrenches,
    gravity_forces,
    mass_matrix,
    mass_matrix_dot,
    spatial_bodies,
    subtree_sums,
    wrench_rows,
)


def generalized_momentum(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """p = dT/dq' = M(q) q' (..., n), without the mass matrix, [M18d] after (81).

    kg m^2/s for an angle, kg m/s for a translation, rotors included. q and q' are (..., n). Raises
    InputError for wrong shapes, NaN or infinity.
    """
    bodies = spatial_bodies(model, q, qd)
    carried = subtree_sums(model, bodies.momenta, -2)
    spin = model.reflected_inertia * np.asarray(qd)
    return np.asarray(np.sum(bodies.screws * carried, axis=-1) + spin)


def kinetic_energy_gradient(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """dT/dq (..., n) at constant q', N m or N; [M18d] before (82).

    q and q' are (..., n). Raises InputError for wrong shapes, NaN or infinity.
    """
    bodies = spatial_bodies(model, q, qd)
    carried = subtree_sums(model, bodies.momenta, -2)
    return np.asarray(np.sum(bodies.screw_rates * carried, axis=-1))


def lagrange_equations(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, *, wrenches: Wrenches | None = None
) -> Array:
    """Q = d/dt dT/dq' - dT/dq + dU/dq - sum_i J_i^T W_i (..., n), N m or N; [M18d] (80).

    With d/dt dT/dq' = M q'' + M' q'. The applied `wrenches` W_i are as in
    :func:`.inverse_dynamics`, whose result is the same. Raises InputError for wrong shapes or
    names, NaN or infinity.
    """
    states, shape, given = model_state(model, q, qd, qdd)
    if given < 3:
        raise InputError(f"{STATE_ROWS[given]} is needed here, got None")
    q, qd, qdd = np.moveaxis(states[:, :3].reshape(*shape, 3, model.n), -2, 0)
    W = wrench_rows(model, wrenches)[..., :6]
    broadcast_shapes(("states", "wrenches"), (shape, W.shape[:-2]))

    momentum_rate = times(mass_matrix(model, q), qdd) + times(mass_matrix_dot(model, q, qd), qd)
    gradient = gravity_forces(model, q) - kinetic_energy_gradient(model, q, qd)
    screws = spatial_bodies(model, q, qd).screws
    applied = np.sum(screws * subtree_sums(model, W, -2), axis=-1)
    return np.asarray(momentum_rate + gradient - applied)
