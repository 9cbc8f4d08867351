# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler (RNEA) inverse dynamics of a tree, with two time derivatives.

The recursions themselves are in the package `recursions`, one module for each of the four
representations. Compiled, they run the control cycle and batches of states. As plain Python they
accept any other scalar: complex numbers, mpmath, CasADi symbols, or NumPy arrays as a batch.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    IS_COMPILED,
    STATE_ROWS,
    Array,
    InputError,
    as_mapping,
    broadcast_shapes,
    by_robot,
    compiled,
    copy_row,
    inlined,
    read_only,
    spread,
)
from ..lie import Representation, check_representation
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, WRENCH
from ..recursions import RECURSIONS, batch_trig, store_trig
from .kinematics import BaseMotion, base_rows
from .traced_dynamics import trace_inverse_dynamics, traced_inverse_dynamics
from .tracing import generic_robot
from .vector_batches import vector_batch
from .wrenches import Wrenches, with_rates, wrench_rows


class InverseDynamics(NamedTuple):
    """Joint torques Q and their time derivatives, each (..., n).

    N m for an angle and N for a translation; per s for `tau_dot`, per s^2 for `tau_ddot`.
    `tau_dot` is None unless q''' was given, and `tau_ddot` is None unless q'''' was given.
    """

    tau: Array
    tau_dot: Array | None
    tau_ddot: Array | None


def backward_cycle(representation: str) -> Callable[..., None]:
    """Loads and backward pass of one state, after the forward recursion, for compiled code."""
    recursion = RECURSIONS[representation]
    apply_wrenches = recursion.apply_wrenches
    backward_recursion = recursion.backward_recursion

    def backward(parents, joints, gravity, order, state, applied, trig, bodies, result):
        is_loaded = False
        for b in range(parents.shape[0] + 1):
            for k in range(6 * order + 6):
                bodies[b, WRENCH + k] = 0.0
        for i in range(parents.shape[0]):
            for k in range(6 * order + 6):
                is_loaded |= applied[i, k] != 0.0
        if is_loaded:
            apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies)
        backward_recursion(parents, joints, gravity, state, order, bodies, result)

    return inlined(backward)


def _cycle(representation: str) -> Callable[..., None]:
    """The inverse dynamics of one state: trigonometry, forward pass, loads, backward pass."""
    forward_recursion = RECURSIONS[representation].forward_recursion
    backward = backward_cycle(representation)

    # Plain arrays; a named tuple would add 0.2 us per field to every call from Python
    def cycle(parents, joints, gravity, order, state, applied, trig, bodies, result):
        store_trig(joints, state, trig)
        forward_recursion(parents, joints, trig, state, order, bodies)
        backward(parents, joints, gravity, order, state, applied, trig, bodies, result)

    return inlined(cycle)


LARGE_BATCH = 2**17  # states; from here on vector code is used. The general code is fast, too

PLAIN_CYCLES = MappingProxyType({name: _cycle(name) for name in RECURSIONS})
CYCLES = MappingProxyType({name: compiled(cycle) for name, cycle in PLAIN_CYCLES.items()})


def _compiled_batch(cycle: Callable[..., None]) -> Callable[..., None]:
    """A batch of states; `bodies` has one block per state, or one that all states share."""

    def batch(robot, order, bases, states, applied, trig, bodies, results):
        parents, joints, gravity = robot
        for k in range(states.shape[0]):
            block = bodies[k % bodies.shape[0]]
            copy_row(block[0], bases[k])
            cycle(parents, joints, gravity, order, states[k], applied[k], trig, block, results[k])

    return compiled(batch)


_BATCHES = {name: _compiled_batch(cycle) for name, cycle in PLAIN_CYCLES.items()}


@by_robot
def inverse_dynamics(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, qddd: Any | None = None,
    qdddd: Any | None = None, *, wrenches: Wrenches | None = None, base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> InverseDynamics:  # fmt: skip
    """Inverse dynamics: joint torques of a motion and their first and second time derivatives.

    Recursive Newton-Euler (RNEA) in O(n): [M21] Algorithm 3 in spatial representation, [M18d] (66)
    and (67) body-fixed, (75) and (76) hybrid, (56) and (57) mixed, each differentiated twice.

    Parameters
    ----------
    q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k; leading dimensions broadcast.
        `qddd` is needed for tau_dot, `qddd` and `qdddd` for tau_ddot.
    wrenches : {body or frame name: (..., 6) or (..., 3, 6)}, the wrench (moment, force) that the
        world applies to that body, in inertial axes about the inertial origin, N m and N; in the
        second form with its two time derivatives, which are zero otherwise. An array (3, 6) is
        always one wrench with its rates, never a batch of three.
    base : motion of the base; at rest if None.
    representation : the recursion to use; the result is the same for all of them, and large
        batches, see :mod:`.vector_batches`, always use the body-fixed recursion.

    Returns :class:`InverseDynamics` (tau, tau_dot, tau_ddot), each (..., n) or None. Raises
    InputError for wrong shapes or names, gaps (`qdddd` without `qddd`), NaN or infinity.
    """
    state = (q, qd, qdd, qddd, qdddd)
    check_representation(representation)
    if wrenches is None and base is None:
        order = sum(row is not None for row in state) - 3
        name, rows = f"inverse_dynamics-{order}", dict(zip(STATE_ROWS, state, strict=True))
        trace, shapes = partial(trace_inverse_dynamics, model, order), [("n",)] * (order + 1)
        found = vector_batch(model, name, trace, rows, shapes, large=LARGE_BATCH)
        if found is not None:
            return InverseDynamics(*found, *[None] * (2 - order))
    return _evaluate(model, state, wrenches, base, representation, keep=False)[0]


def interbody_wrenches(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, qddd: Any | None = None,
    qdddd: Any | None = None, *, wrenches: Wrenches | None = None, base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """The wrench that each joint transmits to its body, with rates: (..., N, k, 6), [M21] (30).

    k = 1 is the wrench alone, `qddd` and `qdddd` add one rate each. N m, N and per s^k, in inertial
    axes about the inertial origin; gravity is included. Arguments and errors are those of
    :func:`inverse_dynamics`.
    """
    given = (q, qd, qdd, qddd, qdddd)
    tau, bodies = _evaluate(model, given, wrenches, base, "spatial", keep=True)
    rates = 1 + (tau.tau_dot is not None) + (tau.tau_ddot is not None)
    rows = bodies[:, 1:, WRENCH : WRENCH + 6 * rates]
    return rows.reshape(*tau.tau.shape[:-1], model.body_count, rates, 6)


def base_wrench(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, qddd: Any | None = None,
    qdddd: Any | None = None, *, wrenches: Wrenches | None = None, base: BaseMotion | None = None,
) -> Array:  # fmt: skip
    """The wrench that must act on the base besides `wrenches`, with rates: (..., k, 6).

    It is what the ground exerts on the base of an arm, and, for a floating base, the residual of a
    plan: zero if the motion and the contact `wrenches`, which may act on the base here, agree. The
    inertia of the base is `model.base_inertia`. Otherwise as :func:`interbody_wrenches`.
    """
    given = as_mapping("wrenches", wrenches)
    on_base = {body: W for body, W in given.items() if model.frame(body).body < 0}
    on_bodies = {body: W for body, W in given.items() if body not in on_base}
    tau, bodies = _evaluate(model, (q, qd, qdd, qddd, qdddd), on_bodies, base, "spatial", keep=True)
    order = (tau.tau_dot is not None) + (tau.tau_ddot is not None)
    total = wrench_on_base(model, order, bodies, "spatial")
    total = total.reshape(*tau.tau.shape[:-1], order + 1, 6)
    for body, W in on_base.items():
        total = total - with_rates(f"wrenches['{body}']", W)[..., : order + 1, :]
    return total


def wrench_on_base(
    model: MultibodyModel, order: int, bodies: Array, representation: Representation
) -> Array:
    """(count, order + 1, 6) from the rows (count, N + 1, BODY_ROW) after the backward recursion, in
    whose first row the joints have left theirs: the base is a body whose joint does not move."""
    wrench = bodies[:, 0, WRENCH : WRENCH + 6 * (order + 1)]
    if model.base_inertia.any():
        count = len(bodies)
        own = np.zeros((count, 2, BODY_ROW))
        robot = (read_only([-1], np.int64), model.base_row, model.gravity)
        bases = np.ascontiguousarray(bodies[:, 0, :WRENCH])
        states, applied, results = (np.zeros((count, *s)) for s in ((5, 1), (1, 18), (3, 1)))
        trig = np.empty((2, 1))
        _BATCHES[representation](robot, order, bases, states, applied, trig, own, results)
        wrench = wrench + own[:, 0, WRENCH : WRENCH + 6 * (order + 1)]
    return wrench.reshape(-1, order + 1, 6)


def dynamic_base_rows(
    model: MultibodyModel, base: BaseMotion | None, representation: Representation
) -> Array:
    """The motion of the base in the form that the dynamics recursions expect; see `base_rows`.

    Gravity acts as a force in the spatial recursion, and as an acceleration of the base in the
    other three.
    """
    gravity = None if representation == "spatial" else model.gravity
    return base_rows(base, representation, gravity)


class Batch(NamedTuple):
    """Input of the recursions as one flat batch of N states; `shape` is the shape of the batch.

    states : (N, 5, n) q ... q''''.
    applied : (N, bodies, 18) wrenches that the world applies, with two rates.
    bases : (N, WRENCH) motion of the base.
    """

    shape: tuple[int, ...]
    states: Array
    applied: Array
    bases: Array


def flat_batch(
    model: MultibodyModel,
    states: tuple[Array, tuple[int, ...], int],
    wrenches: Wrenches | None,
    base: BaseMotion | None,
    representation: Representation = "spatial",
    others: Mapping[str, Array] | None = None,
) -> Batch:
    """Broadcast the states of :func:`.as_state`, wrenches, base and `others` (..., n)."""
    (rows, shape, _), others = states, others or {}
    applied = wrench_rows(model, wrenches)
    bases = dynamic_base_rows(model, base, representation)
    full = broadcast_shapes(
        ("states", *others, "wrenches", "base"),
        (shape, *(x.shape[:-1] for x in others.values()), applied.shape[:-2], bases.shape[:-1]),
    )
    return Batch(
        full,
        spread(rows.reshape(*shape, 5, model.n), full, (5, model.n)),
        spread(applied, full, (model.body_count, 18)),
        spread(bases, full, (WRENCH,)),
    )


def _evaluate(
    model: MultibodyModel,
    rows: Sequence[Any],
    wrenches: Wrenches | None,
    base: BaseMotion | None,
    representation: Representation,
    keep: bool,
) -> tuple[InverseDynamics, Array]:
    check_representation(representation)
    checked = model_state(model, *rows)
    n, m = model.n, model.body_count
    if checked[2] < 3:
        raise InputError(f"inverse dynamics needs {STATE_ROWS[checked[2]]}")
    order = checked[2] - 3
    shape, states, applied, bases = flat_batch(model, checked, wrenches, base, representation)
    count = len(states)
    results = np.zeros((count, 3, n))
    bodies = np.zeros((count if keep else 1, m + 1, BODY_ROW))
    robot = (model.parents, model.joint_rows, model.gravity)
    if IS_COMPILED:
        batch = _BATCHES[representation]
        batch(robot, order, bases, states, applied, np.empty((2, m)), bodies, results)
    else:  # the whole batch at once: an array of N numbers takes the place of the scalar
        bodies = np.zeros((m + 1, BODY_ROW, count))
        bodies[0, :WRENCH] = bases.T
        state = states.transpose(1, 2, 0)
        trig = batch_trig(model.joint_rows, state)
        result = np.zeros((3, n, count))
        world = applied.transpose(1, 2, 0)
        recursion, (parents, joints, gravity) = RECURSIONS[representation], robot
        recursion.forward_recursion(parents, joints, trig, state, order, bodies)
        recursion.apply_wrenches(parents, joints, gravity, trig, state, order, world, bodies)
        recursion.backward_recursion(parents, joints, gravity, state, order, bodies, result)
        results, bodies = result.transpose(2, 0, 1), bodies.transpose(2, 0, 1)
    values = (np.ascontiguousarray(results[:, k]).reshape(*shape, n) for k in range(3))
    tau, tau_dot, tau_ddot = values
    rates = tau_dot if order > 0 else None, tau_ddot if order > 1 else None
    return InverseDynamics(tau, *rates), bodies


def generic_inverse_dynamics(
    model: MultibodyModel, q: Sequence[Any], qd: Sequence[Any], qdd: Sequence[Any],
    qddd: Sequence[Any] | None = None, qdddd: Sequence[Any] | None = None, *,
    wrenches: Mapping[str, Any] | None = None, representation: Representation = "spatial",
    sin: Callable[[Any], Any] = np.sin, cos: Callable[[Any], Any] = np.cos,
) -> NDArray[Any]:  # fmt: skip
    """Inverse dynamics (RNEA) over any scalar type, never compiled: Q, Q' and Q'' as (k, n).

    Parameters
    ----------
    q, qd, qdd, qddd, qdddd : n scalars each. `qddd` is needed for Q', `qddd` and `qdddd` for Q''.
        The scalars may be complex (derivatives by complex step), mpmath.mpf with `sin=mpmath.sin,
        cos=mpmath.cos` (exact references), casadi.SX (code generation), or NumPy arrays (a batch).
    wrenches : {body or frame name: 3 rows of 6 scalars}, otherwise as in :func:`inverse_dynamics`.
    sin, cos : functions of one scalar.

    Raises InputError for gaps (`qdddd` without `qddd`), wrong lengths and unknown names; nothing
    else is checked.
    """
    check_representation(representation)
    given = zip(STATE_ROWS, (q, qd, qdd, qddd, qdddd), strict=True)
    rows = {name: row for name, row in given if row is not None}
    for name in STATE_ROWS[: max(len(rows), 3)]:
        if name not in rows:
            raise InputError(f"inverse dynamics needs {name}; given: {', '.join(rows) or 'none'}")
    robot = generic_robot(model, rows, sin, cos)
    for body, W in (wrenches or {}).items():
        if [len(row) if hasattr(row, "__len__") else 1 for row in W] != [6, 6, 6]:
            raise InputError(f"wrenches['{body}']: expected 3 rows of 6 scalars")
        for k in range(18):
            robot.applied[model.body_index(body), k] += W[k // 6][k % 6]
    return traced_inverse_dynamics(robot, representation, len(rows) - 3, bool(wrenches))[0]
