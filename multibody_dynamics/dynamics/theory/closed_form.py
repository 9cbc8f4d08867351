"""The motion equations in closed form from the matrices of the whole system, [M18d] section 5.

J = A X, a and b are those of :mod:`.system_jacobian` in body representation, M = diag(M^b_i). The
projection equations hold in all four representations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import STATE_ROWS, Array, InputError, broadcast_shapes, transposed
from ..lie import Representation, convert_wrench
from ..model import MultibodyModel, inertia, model_state
from ..rigid import Wrenches, newton_euler, wrench_rows
from .system_jacobian import system_kinematics


def mass_matrix_closed_form(model: MultibodyModel, q: Any) -> Array:
    """M(q) = J^T M J (..., n, n) of q (..., n), [M18d] (81); equal to :func:`.mass_matrix`.

    Reflected rotor inertias are on the diagonal; kg m^2, kg m, kg. Raises InputError for wrong
    shapes, NaN or infinity.
    """
    J = system_kinematics(model, q).J
    return transposed(J) @ _system_inertia(model) @ J + np.diag(model.reflected_inertia)


def coriolis_matrix_mueller(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """C(q, q') = -J^T (M A a + b^T M) J (..., n, n), [M18d] (84), the same matrix as (83).

    C q' is right, but M' - 2C is not skew symmetric: this is not the matrix of the Christoffel
    symbols, which is :func:`.coriolis_matrix`. Raises InputError for wrong shapes, NaN or infinity.
    """
    s = system_kinematics(model, q, qd)
    M = _system_inertia(model)
    return -transposed(s.J) @ (M @ s.A @ s.a + transposed(s.b) @ M) @ s.J


def projection_equations(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    *,
    wrenches: Wrenches | None = None,
    representation: Representation = "body",
) -> Array:
    """Q (..., n) by the Euler-Jourdain or projection equations, [M18d] (78).

    The Newton-Euler equations of the bodies, (77), projected onto the joints by the transposed
    system Jacobian of any representation; in body representation these are Kane's equations. What
    gravity and the `wrenches`, as in :func:`.inverse_dynamics`, apply to the bodies is subtracted,
    the rotors are added: the result is that of :func:`.inverse_dynamics`, N m or N.

    Raises InputError for wrong shapes or names, NaN or infinity.
    """
    states, shape, given = model_state(model, q, qd, qdd)
    if given < 3:
        raise InputError(f"{STATE_ROWS[given]} is needed here, got None")
    q, qd, qdd = np.moveaxis(states[:, :3].reshape(*shape, 3, model.n), -2, 0)
    applied = wrench_rows(model, wrenches)[..., :6]
    shape = broadcast_shapes(("states", "wrenches"), (shape, applied.shape[:-2]))

    s = system_kinematics(model, q, qd, representation=representation)
    twist, acceleration = (x.reshape(*x.shape[:-1], model.n, 6) for x in (s.V, s.acceleration(qdd)))
    weight = inertia.transform(model.inertias, s.pose) @ np.concatenate(
        [np.zeros(3), model.gravity]
    )
    (applied,) = convert_wrench(s.pose, [], [weight + applied], "spatial", representation)
    needed = (
        newton_euler(s.pose, model.inertias, twist, acceleration, representation=representation)
        - applied
    )
    projected = transposed(s.J) @ needed.reshape(*shape, 6 * model.n, 1)
    return np.asarray(projected[..., 0] + model.reflected_inertia * qdd)


def _system_inertia(model: MultibodyModel) -> Array:
    """diag(M^b_1, ..., M^b_n) (6n, 6n), after [M18d] (81)."""
    blocks = np.zeros((model.n, 6, model.n, 6))
    each = np.arange(model.n)
    blocks[each, :, each, :] = model.inertias
    return blocks.reshape(6 * model.n, 6 * model.n)
