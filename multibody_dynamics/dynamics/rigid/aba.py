"""Forward and hybrid dynamics by articulated bodies, O(n), and their time derivatives.

[K12] Tables 3 and 4. Their bias forces are the inverse dynamics with the unknown accelerations at
zero; what is left is M_vv q''_v = tau_v - bias_v for the free joints v, and the prescribed ones u
need tau_u = bias_u + M_uv q''_v. The derivatives have the same matrix,

    M_vv q'''_v = tau'_v - Q'_v,   Q' of the inverse dynamics with q'''_v = 0,

so that one factorisation serves q'', q''' and q''''.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import STATE_ROWS, Array, InputError, as_array, as_partial, compiled, inlined, spread
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, WRENCH
from ..recursions import generic_trig
from .articulated_inertia import (
    ARTICULATED_ROW,
    factorisation_recursion,
    has_pivots,
    prescribed_joints,
    singular,
    solution_recursion,
)
from .kinematics import BaseMotion, base_rows
from .rnea import PLAIN_CYCLES, dynamic_base_rows, evaluate, flat_batch
from .wrenches import Wrenches

TORQUE_ROWS = ("tau", "tau_dot", "tau_ddot")

_inverse_dynamics = PLAIN_CYCLES["spatial"]


class ForwardDynamics(NamedTuple):
    """q'', q''' and q'''' (..., n); None for what the torques do not determine.

    rad/s^2 for an angle, m/s^2 for a translation, and per s and s^2.
    """

    qdd: Array
    qddd: Array | None
    qdddd: Array | None


class HybridDynamics(NamedTuple):
    """q'' (..., n) and tau (..., n) of all joints, the given ones among them."""

    qdd: Array
    tau: Array


@inlined
def plain_forward_dynamics_cycle(
    parents,
    joints,
    gravity,
    prescribed,
    order,
    state,
    tau,
    applied,
    trig,
    bodies,
    rows,
    bias,
    force,
):
    """q'' and its first `order` derivatives, of one state; False where M_vv is singular.

    `state` (5, n) and `tau` (3, n) hold q, q', ... of the prescribed joints and the torques of the
    free ones; what is missing of both is written. `applied` (n, 18); the rest is scratch: trig
    (2, n), bodies (n + 1, BODY_ROW) with the motion of the base in row 0, rows (n + 1,
    ARTICULATED_ROW), bias (3, n), force (n,).
    """
    for k in range(order + 1):
        for i in range(parents.shape[0]):
            if not prescribed[i]:
                state[2 + k, i] = 0.0
        _inverse_dynamics(parents, joints, gravity, k, state, applied, trig, bodies, bias)
        if k == 0:
            factorisation_recursion(parents, joints, prescribed, bodies, rows)
            if not has_pivots(parents, prescribed, bodies, rows):
                return False
        for i in range(parents.shape[0]):
            force[i] = tau[k, i] - bias[k, i]
        solution_recursion(parents, prescribed, bodies, rows, force, force)
        for i in range(parents.shape[0]):
            if prescribed[i]:
                tau[k, i] = bias[k, i] + force[i]
            else:
                state[2 + k, i] = force[i]
    return True


forward_dynamics_cycle = compiled(plain_forward_dynamics_cycle)


def _batch(
    parents, joints, gravity, prescribed, order, bases, states, tau, applied,
    trig, bodies, rows, bias, force,
):  # fmt: skip
    """Every state of a batch; the index of the first one that is singular, or -1."""
    for k in range(states.shape[0]):
        bodies[0, :WRENCH] = bases[k]
        if not plain_forward_dynamics_cycle(
            parents, joints, gravity, prescribed, order, states[k], tau[k], applied[k],
            trig, bodies, rows, bias, force,
        ):  # fmt: skip
            return k
    return -1


_compiled_batch = compiled(_batch)


class ForwardDynamicsScratch(NamedTuple):
    """The last arguments of the cycle, its scratch."""

    trig: Array
    bodies: Array
    rows: Array
    bias: Array
    force: Array


def forward_dynamics_scratch(n: int) -> ForwardDynamicsScratch:
    """For a robot of n joints on a base at rest."""
    bodies = np.zeros((n + 1, BODY_ROW))
    bodies[0, :WRENCH] = base_rows(None)
    rows = np.zeros((n + 1, ARTICULATED_ROW))
    return ForwardDynamicsScratch(np.empty((2, n)), bodies, rows, np.empty((3, n)), np.empty(n))


def forward_dynamics(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    tau: Any,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> Array:
    """Joint accelerations q'' (..., n) under the joint torques `tau` (..., n), N m or N; [K12]
    Table 3.

    `wrenches` and `base` as in :func:`.inverse_dynamics`. Raises InputError for wrong shapes or
    names, NaN or infinity; DynamicsError where the mass matrix is singular.
    """
    return _solve(model, q, qd, (), (), (tau,), wrenches, base)[0][..., 2, :]


def forward_dynamics_rates(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    tau: Any,
    tau_dot: Any,
    tau_ddot: Any | None = None,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> ForwardDynamics:
    """q'', q''' and, with `tau_ddot`, q'''' (..., n): the inverse of the inverse dynamics' rates.

    The torques (..., n) are in N m or N, per s and s^2. Other arguments and errors as
    :func:`forward_dynamics`.
    """
    torques = (tau, tau_dot) if tau_ddot is None else (tau, tau_dot, tau_ddot)
    states, _ = _solve(model, q, qd, (), (), torques, wrenches, base)
    qdd, qddd, qdddd = (np.ascontiguousarray(states[..., k, :]) for k in (2, 3, 4))
    return ForwardDynamics(qdd, qddd, None if tau_ddot is None else qdddd)


def hybrid_dynamics(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    *,
    prescribed: Sequence[str | int],
    qdd: Any,
    tau: Any,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> HybridDynamics:
    """Accelerations of the free joints and torques of the `prescribed` ones; [K12] Table 4.

    Forward dynamics is the case that no joint is prescribed, inverse dynamics that all are.

    Parameters
    ----------
    q, qd : (..., n).
    prescribed : names or indices of the joints whose accelerations are given.
    qdd, tau : (..., n), of which only the entries of the prescribed and of the free joints are
        used; the others may be anything, NaN too.

    Other arguments and errors as :func:`forward_dynamics`, and an unknown joint.
    """
    held = prescribed_joints(model, prescribed)
    given = as_partial("qdd", qdd, held, model.joint_names)
    torque = as_partial("tau", tau, ~held, model.joint_names)
    states, torques = _solve(model, q, qd, (given,), prescribed, (torque,), wrenches, base)
    return HybridDynamics(states[..., 2, :], torques[..., 0, :])


def _solve(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    motion: tuple[Any, ...],
    prescribed: Sequence[str | int],
    torques: tuple[Any, ...],
    wrenches: Wrenches | None,
    base: BaseMotion | None,
) -> tuple[Array, Array]:
    """All rows of the state (..., 5, n) and of the torques (..., 3, n)."""
    found = model_state(model, q, qd, *motion)
    n, held = model.n, prescribed_joints(model, prescribed)
    if found[2] < 2:
        raise InputError(f"forward dynamics needs {STATE_ROWS[found[2]]}")
    rows = {
        name: as_array(name, row, (n,), model.joint_names)
        for name, row in zip(TORQUE_ROWS, torques, strict=False)
    }
    shape, states, applied, bases = flat_batch(model, found, wrenches, base, others=rows)
    tau = np.zeros((len(states), 3, n))
    for k, row in enumerate(rows.values()):
        tau[:, k] = spread(row, shape, (n,))
    constants = (model.parents, model.joint_rows, model.gravity, held, len(rows) - 1)
    scratch = forward_dynamics_scratch(n)
    k = _compiled_batch(*constants, bases, states, tau, applied, *scratch)
    if k >= 0:
        raise singular(model, states[k, 0], held)
    return states.reshape(*shape, 5, n), tau.reshape(*shape, 3, n)


def generic_forward_dynamics(
    model: MultibodyModel,
    q: Sequence[Any],
    qd: Sequence[Any],
    tau: Sequence[Any],
    *,
    sin: Callable[[Any], Any] = np.sin,
    cos: Callable[[Any], Any] = np.cos,
) -> NDArray[Any]:
    """The same recursions over any scalars, never compiled: q'' (n,).

    Scalars as of :func:`.generic_inverse_dynamics`, but such as can be divided.

    Raises InputError for wrong lengths; nothing else is checked.
    """
    n = model.n
    for name, row in (("q", q), ("qd", qd), ("tau", tau)):
        if len(row) != n:
            raise InputError(f"{name}: expected {n} scalars, got {len(row)}")
    state, bias = np.zeros((5, n), dtype=object), np.zeros((3, n), dtype=object)
    for i in range(n):
        state[0, i], state[1, i] = q[i], qd[i]
    joints = model.joint_rows.astype(object)
    trig = generic_trig(joints, q, sin, cos)
    bodies = np.zeros((n + 1, BODY_ROW), dtype=object)
    bodies[0, :WRENCH] = dynamic_base_rows(model, None, "spatial")
    rows = np.zeros((n + 1, ARTICULATED_ROW), dtype=object)
    applied = np.zeros((n, 18), dtype=object)
    constants = (model.parents, joints, model.gravity.astype(object))
    evaluate("spatial", *constants, trig, state, 0, applied, bodies, bias)
    free = np.zeros(n, dtype=bool)
    factorisation_recursion(model.parents, joints, free, bodies, rows)
    solution = np.array([tau[i] - bias[0, i] for i in range(n)], dtype=object)
    solution_recursion(model.parents, free, bodies, rows, solution, solution)
    return solution
