# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equations of motion in closed form, from the matrices of the whole system; [M18d] section 5.

J = A X, a and b are the matrices of :mod:`.system_jacobian` in body representation, and
M = diag(M^b_i). The projection equations hold in all four representations.
"""

from typing import Any

import numpy as np

from ..core import STATE_ROWS, Array, InputError, broadcast_shapes, transposed
from ..lie import Representation, convert_wrench
from ..model import MultibodyModel, inertia, model_state
from ..rigid import Wrenches, newton_euler, wrench_rows
from .system_jacobian import block_diagonal, system_kinematics


def mass_matrix_closed_form(model: MultibodyModel, q: Any) -> Array:
    """The mass matrix M(q) = J^T M J (..., n, n) at q (..., n), [M18d] (81).

    Equal to :func:`.mass_matrix`, with reflected rotor inertias on the diagonal; kg m^2, kg m, kg.
    Raises InputError for wrong shapes, NaN or infinity.
    """
    J = system_kinematics(model, q).J
    return transposed(J) @ block_diagonal(model.inertias) @ J + np.diag(model.reflected_inertia)


def coriolis_matrix_mueller(model: MultibodyModel, q: Any, qd: Any) -> Array:
    """The Coriolis matrix C(q, q') = -J^T (M A a + b^T M) J (..., n, n), [M18d] (83), (84).

    C q' are the Coriolis and centrifugal torques, but M' - 2C is not skew symmetric. For the matrix
    of the Christoffel symbols, which has that property, use :func:`.coriolis_matrix`. Raises
    InputError for wrong shapes, NaN or infinity.
    """
    s = system_kinematics(model, q, qd)
    M = block_diagonal(model.inertias)
    return -transposed(s.J) @ (M @ s.A @ s.a + transposed(s.b) @ M) @ s.J


def projection_equations(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, *, wrenches: Wrenches | None = None,
    representation: Representation = "body",
) -> Array:  # fmt: skip
    """Joint torques Q (..., n) by the projection (Euler-Jourdain) equations, [M18d] (78); N m or N.

    The Newton-Euler equations of the bodies, (77), projected onto the joints by the transposed
    system Jacobian of any representation; in body representation these are Kane's equations.
    Gravity, the applied `wrenches` and the rotors enter as in :func:`.inverse_dynamics`, whose
    result is the same.

    Raises InputError for wrong shapes or names, NaN or infinity.
    """
    q, qd, qdd, applied = motion_and_wrenches(model, (q, qd, qdd), wrenches)
    shape = broadcast_shapes(("states", "wrenches"), (q.shape[:-1], applied.shape[:-2]))

    s = system_kinematics(model, q, qd, representation=representation)
    twist, acceleration = (
        x.reshape(*x.shape[:-1], model.body_count, 6) for x in (s.V, s.acceleration(qdd))
    )
    weight = inertia.transform(model.inertias, s.pose) @ np.concatenate(
        [np.zeros(3), model.gravity]
    )
    (applied,) = convert_wrench(s.pose, [], [weight + applied], "spatial", representation)
    needed = (
        newton_euler(s.pose, model.inertias, twist, acceleration, representation=representation)
        - applied
    )
    projected = transposed(s.J) @ needed.reshape(*shape, 6 * model.body_count, 1)
    return np.asarray(projected[..., 0] + model.reflected_inertia * qdd)


def motion_and_wrenches(
    model: MultibodyModel, rows: tuple[Any, Any, Any], wrenches: Wrenches | None
) -> tuple[Array, Array, Array, Array]:
    """q, q', q'' (..., n) of one shape, and the applied wrenches (..., N, 6) without rates."""
    states, shape, given = model_state(model, *rows)
    if given < 3:
        raise InputError(f"{STATE_ROWS[given]} is required, got None")
    q, qd, qdd = np.moveaxis(states[:, :3].reshape(*shape, 3, model.n), -2, 0)
    applied = wrench_rows(model, wrenches)[..., :6]
    broadcast_shapes(("states", "wrenches"), (shape, applied.shape[:-2]))
    return q, qd, qdd, applied
