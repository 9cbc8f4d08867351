"""Forward dynamics by the mass matrix: M(q) q'' = tau - (what the motion alone needs).

O(n^3), and for the arms that this package is for not the bottleneck of a simulation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compilation import compiled
from .errors import DynamicsError, InputError
from .inputs import STATE_ROWS, Array, as_array, as_state, broadcast_shapes, spread
from .inverse_dynamics import inverse_dynamics_cycle
from .kinematics import base_rows
from .mass_matrix import COMPOSITE_ROW, mass_matrix_recursion
from .model import MultibodyModel
from .records import BODY_ROW, WRENCH
from .wrenches import Wrenches, wrench_rows


def _solve(M, b):
    """b := M^-1 b by an LDL^T factorisation in place; False where a pivot is not positive."""
    n = b.shape[0]
    for j in range(n):
        for k in range(j):
            M[j, j] -= M[j, k] * M[j, k] * M[k, k]
        if not M[j, j] > 0.0:
            return False
        for i in range(j + 1, n):
            for k in range(j):
                M[i, j] -= M[i, k] * M[j, k] * M[k, k]
            M[i, j] /= M[j, j]
    for i in range(n):
        for k in range(i):
            b[i] -= M[i, k] * b[k]
    for i in range(n):
        b[i] /= M[i, i]
    for r in range(n):
        i = n - 1 - r
        for k in range(i + 1, n):
            b[i] -= M[k, i] * b[k]
    return True


solve_positive_definite = compiled(_solve)


def _cycle(
    parents, joints, gravity, q, qd, tau, applied, trig, bodies, composite, state, torque, M, qdd
):
    """q'' of one state; the arrays from `trig` to `M` are scratch. False where M is singular."""
    n = parents.shape[0]
    for i in range(n):
        state[0, i] = q[i]
        state[1, i] = qd[i]
        state[2, i] = 0.0
    inverse_dynamics_cycle(parents, joints, gravity, 0, state, applied, trig, bodies, torque)
    mass_matrix_recursion(parents, joints, bodies, composite, M)
    for i in range(n):
        qdd[i] = tau[i] - torque[0, i]
    return solve_positive_definite(M, qdd)


forward_dynamics_cycle = compiled(_cycle)


def forward_dynamics_scratch(n: int) -> tuple[Array, ...]:
    """The scratch arrays of `forward_dynamics_cycle`: trig, bodies, composite, state, torque, M.

    The base is at rest.
    """
    bodies = np.zeros((n + 1, BODY_ROW))
    bodies[0, :WRENCH] = base_rows(None)
    composite = np.empty((n + 1, COMPOSITE_ROW))
    return (
        np.empty((2, n)), bodies, composite, np.zeros((5, n)), np.empty((3, n)), np.empty((n, n))
    )  # fmt: skip


def forward_dynamics(
    model: MultibodyModel, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None
) -> Array:
    """Joint accelerations q'' (..., n) under the joint torques `tau` (..., n), N m or N.

    `wrenches` as in :func:`.inverse_dynamics`. Raises InputError for wrong shapes or names, NaN or
    infinity; DynamicsError where the mass matrix is singular.
    """
    n = model.n
    states, shape, given = as_state(model.joint_names, q, qd)
    if given < 2:
        raise InputError(f"forward dynamics needs {STATE_ROWS[given]}")
    torques = as_array("tau", tau, (n,), model.joint_names)
    applied = wrench_rows(model, wrenches)
    full = broadcast_shapes(
        ("states", "tau", "wrenches"), (shape, torques.shape[:-1], applied.shape[:-2])
    )
    states = spread(states.reshape(*shape, 5, n), full, (5, n))
    torques = spread(torques, full, (n,))
    applied = spread(applied, full, (n, 18))
    result = np.empty((len(states), n))
    scratch = forward_dynamics_scratch(n)
    constants = (model.parents, model.joint_rows, model.gravity)
    for k in range(len(states)):
        state = (states[k, 0], states[k, 1], torques[k], applied[k])
        if not forward_dynamics_cycle(*constants, *state, *scratch, result[k]):
            raise DynamicsError(
                f"robot '{model.name}': the mass matrix is singular at q = {states[k, 0]}; a body "
                "without inertia about its joint axis has no determined acceleration"
            )
    return result.reshape(*full, n)
