# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Articulated-body algorithm (ABA): forward and hybrid dynamics in O(n), with time derivatives.

[K12] Tables 3 and 4. The bias forces are the inverse dynamics evaluated with all unknown
accelerations set to zero. The free joints v then satisfy M_vv q''_v = tau_v - bias_v, and the
prescribed joints u need the torques tau_u = bias_u + M_uv q''_v. The time derivatives obey the same
equation with the same matrix,

    M_vv q'''_v = tau'_v - Q'_v,   Q' from the inverse dynamics with q'''_v = 0,

and therefore q'', q''' and q'''' share one factorisation.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codegen import Program
from ..core import (
    STATE_ROWS,
    Array,
    InputError,
    as_array,
    as_partial,
    by_robot,
    compiled,
    copy_row,
    inlined,
    spread,
)
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, WRENCH
from .articulated_inertia import (
    PIVOT,
    ROUNDING,
    cancelled,
    factorisation_recursion,
    factorisation_rows,
    has_pivots,
    prescribed_joints,
    singular,
    solution_recursion,
)
from .kinematics import BaseMotion, base_rows
from .rnea import PLAIN_CYCLES, flat_batch
from .traced_dynamics import traced_inverse_dynamics
from .tracing import (
    STATE_ONLY,
    Objects,
    TracedInputs,
    TracedRobot,
    generic_robot,
    scalar_rows,
    state_names,
    traced_robot,
)
from .vector_batches import vector_batch
from .wrenches import Wrenches

TORQUE_ROWS = ("tau", "tau_dot", "tau_ddot")

_inverse_dynamics = PLAIN_CYCLES["spatial"]


class ForwardDynamics(NamedTuple):
    """Joint accelerations q'' (..., n) and their rates; None where the torque rates are not given.

    rad/s^2 for an angle, m/s^2 for a translation; per s for `qddd`, per s^2 for `qdddd`.
    """

    qdd: Array
    qddd: Array | None
    qdddd: Array | None


class HybridDynamics(NamedTuple):
    """Accelerations q'' and torques tau (..., n) of all joints, both given and computed.

    rad/s^2 and N m for an angle, m/s^2 and N for a translation.
    """

    qdd: Array
    tau: Array


# Plain arrays; a named tuple would add 0.2 us per field to every call from Python
@inlined
def plain_forward_dynamics_cycle(
    parents, joints, gravity, prescribed, order, state, tau, applied,
    trig, bodies, rows, bias, force,
):  # fmt: skip
    """q'' and its first `order` derivatives for one state; False if M_vv is singular.

    Parameters
    ----------
    prescribed : (n,) whether the acceleration of the joint is given.
    state : (5, n) q, q' and the accelerations of the prescribed joints with their rates. The
        accelerations of the free joints are written into it.
    tau : (3, n) torques of the free joints with their rates. The torques of the prescribed joints
        are written into it.
    applied : (N, 18) wrenches that the world applies, with two rates.
    trig, bodies, rows, bias, force : the arrays of :class:`ForwardDynamicsScratch`; row 0 of
        `bodies` holds the motion of the base.
    """
    for k in range(order + 1):
        for i in range(prescribed.shape[0]):
            if not prescribed[i]:
                state[2 + k, i] = 0.0
        _inverse_dynamics(parents, joints, gravity, k, state, applied, trig, bodies, bias)
        if k == 0:
            factorisation_recursion(parents, joints, prescribed, bodies, rows)
            if not has_pivots(parents, prescribed, bodies, rows):
                return False
        for i in range(prescribed.shape[0]):
            force[i] = tau[k, i] - bias[k, i]
        solution_recursion(parents, prescribed, bodies, rows, force, force)
        for i in range(prescribed.shape[0]):
            if prescribed[i]:
                tau[k, i] = bias[k, i] + force[i]
            else:
                state[2 + k, i] = force[i]
    return True


class ForwardDynamicsScratch(NamedTuple):
    """The scratch arrays of `forward_dynamics_cycle`, its last arguments.

    trig : (2, N) sines and cosines of the joint angles.
    bodies : (N + 1, BODY_ROW) the base, then the bodies; see :mod:`.records`.
    rows : (N + 1, ...) articulated inertias, see `factorisation_rows`.
    bias, force : (3, n) and (n,).
    """

    trig: Array
    bodies: Array
    rows: Array
    bias: Array
    force: Array


# Plain arrays; a named tuple would add 0.2 us per field to every call from Python
def _batch(
    parents, joints, gravity, prescribed, order, bases, states, tau, applied,
    trig, bodies, rows, bias, force,
):  # fmt: skip
    """Solve the states of a batch one after the other, up to the first with a singular M_vv.

    Returns the number of states solved. `bases` (N, WRENCH) is the motion of the base; the other
    arguments are those of `plain_forward_dynamics_cycle`, with `states`, `tau` and `applied` for N
    states. A single state is a batch of one: solvers and functions share one program, and compute
    the same numbers, bit by bit.
    """
    for k in range(states.shape[0]):
        copy_row(bodies[0], bases[k])
        if not plain_forward_dynamics_cycle(
            parents, joints, gravity, prescribed, order, states[k], tau[k], applied[k],
            trig, bodies, rows, bias, force,
        ):  # fmt: skip
            return k
    return states.shape[0]


forward_dynamics_cycle = compiled(_batch)


def forward_dynamics_scratch(n: int, body_count: int | None = None) -> ForwardDynamicsScratch:
    """Scratch arrays for a robot with n joints, N bodies (default: n), and its base at rest."""
    N = n if body_count is None else body_count
    bodies = np.zeros((N + 1, BODY_ROW))
    bodies[0, :WRENCH] = base_rows(None)
    rows = factorisation_rows(n, N)
    return ForwardDynamicsScratch(np.empty((2, N)), bodies, rows, np.empty((3, n)), np.empty(n))


class ForwardArrays(NamedTuple):
    """What compiled code needs to compute q'' of a robot with or without loops.

    joints : (N, JOINT_ROW) of the tree. loops : the equations of its loops, empty for a tree.
    scratch : of :func:`plain_forward_dynamics_cycle`, or of `mechanisms.loop_accelerations`; the
    second array has the motion of the base in its first row.
    """

    joints: Array
    loops: tuple[Array, ...]
    scratch: tuple[Array, ...]


@by_robot
def forward_arrays(model: MultibodyModel) -> ForwardArrays:
    """New arrays for the forward dynamics of a robot in compiled code."""
    scratch = forward_dynamics_scratch(model.n, model.body_count)
    return ForwardArrays(np.array(model.joint_rows), (), tuple(scratch))


@by_robot
def forward_dynamics(
    model: MultibodyModel, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """Forward dynamics: joint accelerations q'' (..., n) under the joint torques `tau`.

    Articulated-body algorithm (ABA), [K12] Table 3, in O(n).

    Parameters
    ----------
    q, qd : (..., n), rad or m and per s; leading dimensions broadcast.
    tau : (..., n), N m for an angle and N for a translation.
    wrenches : wrenches that the world applies, as in :func:`.inverse_dynamics`.
    base : motion of the base; at rest if None.

    Returns q'' (..., n) in rad/s^2 or m/s^2. Raises InputError for wrong shapes or names, NaN or
    infinity, and DynamicsError if the mass matrix is singular.
    """
    if base is None and wrenches is None:
        rows, trace = {"q": q, "qd": qd, "tau": tau}, partial(_trace, model, with_margins=True)
        found = vector_batch(
            model, "forward_dynamics", trace, rows, [("n",)], before=2, has_margins=True
        )
        if found is not None:
            return found[0]
    return _solve(model, q, qd, (), (), (tau,), wrenches, base)[0][..., 2, :]


def forward_dynamics_rates(
    model: MultibodyModel, q: Any, qd: Any, tau: Any, tau_dot: Any, tau_ddot: Any | None = None, *,
    wrenches: Wrenches | None = None, base: BaseMotion | None = None,
) -> ForwardDynamics:  # fmt: skip
    """Forward dynamics with rates: q'', q''' and, if `tau_ddot` is given, q'''' (..., n).

    This is the inverse of `inverse_dynamics` with rates. The torques are (..., n) in N m or N, and
    their rates in these units per s and s^2. Other arguments and errors are those of
    :func:`forward_dynamics`.
    """
    torques = (tau, tau_dot) if tau_ddot is None else (tau, tau_dot, tau_ddot)
    states, _ = _solve(model, q, qd, (), (), torques, wrenches, base)
    qdd, qddd, qdddd = (np.ascontiguousarray(states[..., k, :]) for k in (2, 3, 4))
    return ForwardDynamics(qdd, qddd, None if tau_ddot is None else qdddd)


def hybrid_dynamics(
    model: MultibodyModel, q: Any, qd: Any, *, prescribed: Sequence[str | int], qdd: Any, tau: Any,
    wrenches: Wrenches | None = None, base: BaseMotion | None = None,
) -> HybridDynamics:  # fmt: skip
    """Hybrid dynamics: accelerations of the free joints, torques of the `prescribed` ones.

    [K12] Table 4. Prescribing no joint gives the forward dynamics, prescribing all of them the
    inverse dynamics.

    Parameters
    ----------
    q, qd : (..., n), rad or m and per s; leading dimensions broadcast.
    prescribed : names or indices of the joints whose accelerations are given.
    qdd : (..., n); only the entries of the prescribed joints are used, the others may be NaN.
    tau : (..., n); only the entries of the free joints are used, the others may be NaN.
    wrenches, base : as in :func:`forward_dynamics`.

    Raises the errors of :func:`forward_dynamics`, and InputError for an unknown joint.
    """
    held = prescribed_joints(model, prescribed)
    given = as_partial("qdd", qdd, held, model.joint_names)
    torque = as_partial("tau", tau, ~held, model.joint_names)
    states, torques = _solve(model, q, qd, (given,), prescribed, (torque,), wrenches, base)
    return HybridDynamics(states[..., 2, :], torques[..., 0, :])


def _solve(
    model: MultibodyModel, q: Any, qd: Any, motion: tuple[Any, ...],
    prescribed: Sequence[str | int], torques: tuple[Any, ...], wrenches: Wrenches | None,
    base: BaseMotion | None,
) -> tuple[Array, Array]:  # fmt: skip
    """The states (..., 5, n) and torques (..., 3, n), with the unknown entries filled in."""
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
    robot = (model.parents, model.joint_rows, model.gravity)
    scratch = forward_dynamics_scratch(n, model.body_count)
    k = forward_dynamics_cycle(*robot, held, len(rows) - 1, bases, states, tau, applied, *scratch)
    if k < len(states):
        raise singular(model, states[k, 0], held)
    return states.reshape(*shape, 5, n), tau.reshape(*shape, 3, n)


def generic_forward_dynamics(
    model: MultibodyModel, q: Sequence[Any], qd: Sequence[Any], tau: Sequence[Any], *,
    sin: Callable[[Any], Any] = np.sin, cos: Callable[[Any], Any] = np.cos,
) -> NDArray[Any]:  # fmt: skip
    """Forward dynamics (ABA) over any scalar type, never compiled: q'' (n,).

    Accepts those scalar types of :func:`.generic_inverse_dynamics` that support division. Raises
    InputError for wrong lengths; nothing else is checked.
    """
    torque = scalar_rows(model, {"tau": tau})[0]
    robot = generic_robot(model, {"q": q, "qd": qd}, sin, cos)
    return traced_forward_dynamics(robot, torque, is_loaded=False)[0]


@by_robot
def trace_forward_dynamics(model: MultibodyModel, inputs: TracedInputs = STATE_ONLY) -> Program:
    """q'' from torques, by articulated bodies, as straight-line code for a base at rest.

    Inputs: "q", "qd" and "tau", each (n,), followed by those of `inputs`. Result: "qdd" (n,).
    Raises InputError for unknown bodies.
    """
    return _trace(model, inputs)


def _trace(model: MultibodyModel, inputs: TracedInputs, with_margins: bool = False) -> Program:
    """With the second result "margins" (n,), which are positive unless M is singular."""
    robot = traced_robot(model, state_names(2), inputs, 1)
    tau = robot.more("tau", model.n)
    qdd, bodies, rows = traced_forward_dynamics(robot, tau, bool(inputs.wrenches))
    results = {"qdd": qdd}
    if with_margins:
        results["margins"] = traced_margins(model.n, bodies, rows)
    return robot.program(results)


def traced_margins(n: int, bodies: Objects, rows: Objects) -> Objects:
    """The n pivots of M less the bounds of `has_pivots`."""
    margins = [rows[b, PIVOT] - ROUNDING * cancelled(bodies, rows, b) for b in range(1, n + 1)]
    return np.array(margins, dtype=object)


def traced_forward_dynamics(
    robot: TracedRobot, tau: Objects, is_loaded: bool
) -> tuple[Objects, Objects, Objects]:
    """q'', the rows of the bodies, and their articulated inertias."""
    bias, bodies = traced_inverse_dynamics(robot, "spatial", 0, is_loaded)
    rows = factorisation_rows(robot.n, robot.body_count).astype(object)
    free = np.zeros(robot.n, dtype=bool)
    factorisation_recursion(robot.parents, robot.joints, free, bodies, rows)
    solution = np.array([tau[i] - bias[0, i] for i in range(robot.n)], dtype=object)
    solution_recursion(robot.parents, free, bodies, rows, solution, solution)
    return solution, bodies, rows
