# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passive inverse dynamics: u = M q_r'' + C(q, q') q_r' + g with rates, C of Christoffel symbols.

The recursion is in :mod:`..recursions.passive`. Passivity-based tracking and adaptation need it
(J.-J. E. Slotine, W. Li, "On the adaptive control of robot manipulators", Int. J. Robotics Research
6(3), 1987): with s = q' - q_r', the torques Q of the motion are u + M s' + C s, and since M' - 2C
is skew, (s . M s / 2)' = s . (Q - u). Arms with springs in their joints also need u' and u'', so
that the motors can provide u.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    IS_COMPILED,
    Array,
    CheckedRows,
    InputError,
    as_state,
    broadcast_shapes,
    by_robot,
    check_sequence,
    compiled,
    copy_row,
    inlined,
    leibniz,
    spread,
    times,
)
from ..lie.se3 import Ad, ad, inverse
from ..model import MultibodyModel, model_state
from ..model.records import BODY_ROW, TWIST, WRENCH
from ..recursions import body_fixed, passive, store_trig
from .kinematics import BaseMotion, base_rows, forward_kinematics
from .rnea import InverseDynamics, flat_batch
from .solvers import ModelSolver
from .tracing import generic_robot, initial_bodies, scalar_rows
from .wrenches import Wrenches

STATE = ("q", "qd", "qdd", "qddd")
REFERENCE = ("qrd", "qrdd", "qrddd", "qrdddd")


def _cycle(parents, joints, gravity, order, state, reference, applied, trig, bodies, references,
           result):  # fmt: skip
    """The passive inverse dynamics of one state."""
    store_trig(joints, state, trig)
    body_fixed.forward_recursion(parents, joints, trig, state, max(order - 1, 0), bodies)
    for k in range(passive.REFERENCE_ROW):
        references[0, k] = bodies[0, TWIST + k]
    passive.reference_recursion(parents, joints, state, reference, order, bodies, references)
    is_loaded = False
    for b in range(parents.shape[0] + 1):
        for k in range(6 * order + 6):
            bodies[b, WRENCH + k] = 0.0
    for i in range(parents.shape[0]):
        for k in range(6 * order + 6):
            is_loaded |= applied[i, k] != 0.0
    if is_loaded:
        body_fixed.apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies)
    passive.backward_recursion(parents, joints, state, reference, order, bodies, references, result)


PLAIN_PASSIVE_CYCLE = inlined(_cycle)
PASSIVE_CYCLE = compiled(_cycle)


def _batch(robot, order, bases, states, rates, applied, trig, bodies, references, results):
    parents, joints, gravity = robot
    for k in range(states.shape[0]):
        copy_row(bodies[0], bases[k])
        PLAIN_PASSIVE_CYCLE(
            parents, joints, gravity, order, states[k], rates[k], applied[k], trig, bodies,
            references, results[k]
        )  # fmt: skip


_COMPILED_BATCH = compiled(_batch)


def passive_inverse_dynamics(
    model: MultibodyModel,
    state: Sequence[Any],
    reference: Sequence[Any],
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> InverseDynamics:
    """u = M(q) q_r'' + C(q, q') q_r' + g(q) and its first and second time derivatives, in O(n).

    C is the matrix of the Christoffel symbols, :func:`.coriolis_matrix`, and M includes the
    reflected inertias. For q_r' = q' and q_r'' = q'' the result is that of
    :func:`.inverse_dynamics`.

    Parameters
    ----------
    state : q, q' for u; also q'' for u', and q''' for u''. Each is (..., n), rad or m and per s^k;
        leading dimensions broadcast.
    reference : as many rows as `state`: q_r', q_r'', then q_r''' and q_r''''. They are derivatives
        of one function of time, as are the rows of `state`.
    wrenches : applied by the environment, as in :func:`.inverse_dynamics`.
    base : motion of the base, which the reference motion shares; at rest if None.

    Returns :class:`.InverseDynamics` (tau, tau_dot, tau_ddot) with u, u', u'', each (..., n) or
    None. Raises InputError for wrong numbers of rows, wrong shapes or names, NaN or infinity.
    """
    order = checked_order(state, reference)
    motion = model_state(model, *state)
    rates, shape, _ = as_state(model.joint_names, *reference, names=REFERENCE)
    n, N = model.n, model.body_count
    rates = rates.reshape(*shape, 5, n)
    full, states, applied, bases = flat_batch(
        model, motion, wrenches, base, "body", {"reference": rates[..., 0, :]}
    )
    rates = spread(rates, full, (5, n))
    bodies, references = np.zeros((N + 1, BODY_ROW)), np.zeros((N + 1, passive.REFERENCE_ROW))
    results, robot = np.zeros((len(states), 3, n)), (model.parents, model.joint_rows, model.gravity)
    batch = _COMPILED_BATCH if IS_COMPILED else _batch
    batch(robot, order, bases, states, rates, applied, np.empty((2, N)), bodies, references,
          results)  # fmt: skip
    values = [np.ascontiguousarray(results[:, k]).reshape(*full, n) for k in range(order + 1)]
    return InverseDynamics(*values, *[None] * (2 - order))


def checked_order(state: Sequence[Any], reference: Sequence[Any]) -> int:
    """The number of rates that these rows determine, 0 to 2; InputError if their numbers differ."""
    check_sequence("state", state, "rows")
    check_sequence("reference", reference, "rows")
    given = len(state), len(reference)
    if given[0] != given[1] or not 2 <= given[0] <= 4:
        raise InputError(
            f"expected two to four rows ({', '.join(STATE)}) of the state, and as many "
            f"({', '.join(REFERENCE)}) of the reference; got {given[0]} and {given[1]}"
        )
    for names, rows in ((STATE, state), (REFERENCE, reference)):
        for name, row in zip(names, rows, strict=False):
            if row is None:
                raise InputError(f"{name} is required, got None")
    return given[0] - 2


def generic_passive_inverse_dynamics(
    model: MultibodyModel,
    state: Sequence[Sequence[Any]],
    reference: Sequence[Sequence[Any]],
    *,
    sin: Callable[[Any], Any] = np.sin,
    cos: Callable[[Any], Any] = np.cos,
) -> NDArray[Any]:
    """:func:`passive_inverse_dynamics` over any scalar type, never compiled: u, u', u'' as (k, n).

    The rows of `state` and `reference` have n scalars each, which may be complex, mpmath.mpf with
    `sin=mpmath.sin, cos=mpmath.cos`, or casadi.SX. Raises InputError for wrong numbers of rows
    and wrong lengths; nothing else is checked.
    """
    order = checked_order(state, reference)
    robot = generic_robot(model, dict(zip(STATE, state, strict=False)), sin, cos)
    rates = scalar_rows(model, dict(zip(REFERENCE, reference, strict=False)))
    bodies, tree = initial_bodies(robot, "body"), (robot.parents, robot.joints)
    references = np.zeros((model.body_count + 1, passive.REFERENCE_ROW), dtype=object)
    references[0] = bodies[0, TWIST : TWIST + passive.REFERENCE_ROW]
    result = np.zeros((order + 1, model.n), dtype=object)
    body_fixed.forward_recursion(*tree, robot.trig, robot.state, max(order - 1, 0), bodies)
    passive.reference_recursion(*tree, robot.state, rates, order, bodies, references)
    passive.backward_recursion(*tree, robot.state, rates, order, bodies, references, result)
    return result


class ReferenceMotion(NamedTuple):
    """Poses (..., N, 4, 4) of the body frames, and body-fixed twists (..., N, 6) with derivatives.

    twists : V, V', ... of the motion; reference_twists : V_r, V_r', ... with V_r = J q_r', whose
    derivatives are taken along the motion. All in the body frames, without gravity.
    """

    pose: Array
    twists: list[Array]
    reference_twists: list[Array]


@by_robot
def reference_motion(
    model: MultibodyModel,
    state: Sequence[Any],
    reference: Sequence[Any],
    *,
    base: BaseMotion | None = None,
) -> ReferenceMotion:
    """Twists of all bodies for a motion and a reference motion, body-fixed.

    Arguments and errors are those of :func:`passive_inverse_dynamics`. `twists` has one entry fewer
    than `state` has rows, `reference_twists` as many as `reference`.
    """
    checked_order(state, reference)
    rates, shape, count = as_state(model.joint_names, *reference, names=REFERENCE)
    motion = forward_kinematics(model, *state, base=base, representation="body")
    full = broadcast_shapes(("state and base", "reference"), (motion.pose.shape[:-3], shape))
    rates = rates.reshape(*shape, 5, model.n)[..., model.coordinates]
    qr = np.moveaxis(np.broadcast_to(rates, (*full, *rates.shape[-2:])), -2, 0)
    twists = [x for x in motion[1:] if x is not None]
    X, joint_rates = model.body_screws, np.moveaxis(_rows(model, state, full), -2, 0)
    Vr: list[Array] = [np.zeros((*full, model.body_count, 6)) for _ in range(count)]
    row = base_rows(base, "body")
    at_base = [row[..., TWIST + 6 * k : TWIST + 6 * k + 6] for k in range(count)]
    pose = np.broadcast_to(motion.pose, (*full, model.body_count, 4, 4))
    for i, p in enumerate(model.parents):
        of_base = np.eye(4) if base is None or base.pose is None else base.pose
        A = Ad(inverse(pose[..., i, :, :]) @ (of_base if p < 0 else pose[..., p, :, :]))
        carried = [times(A, at_base[k] if p < 0 else Vr[k][..., p, :]) for k in range(count)]
        for k, row in enumerate(_in_child(X[i], joint_rates[1:, ..., i], carried)):
            Vr[k][..., i, :] = row + X[i] * qr[k, ..., i, None]
    return ReferenceMotion(pose, twists, Vr)


def _rows(model: MultibodyModel, state: Sequence[Any], full: tuple[int, ...]) -> Array:
    """q, q', ... (*full, 5, N) of the joints of the tree."""
    rows, shape, _ = model_state(model, *state)
    rows = rows.reshape(*shape, 5, model.n)[..., model.coordinates]
    return np.broadcast_to(rows, (*full, *rows.shape[-2:]))


def _in_child(X: Array, rates: Array, carried: list[Array]) -> list[Array]:
    """A x, (A x)', ... from A x, A x', ... with A' = -q' ad_X A; `rates` are q', q'', ..."""
    seen = [[x] for x in carried]
    bracket = ad(X)
    for order in range(len(carried) - 1):
        for k in range(len(carried) - 1 - order):
            turned = leibniz(order, lambda rate, x: rate[..., None] * times(bracket, x), rates,
                             seen[k])  # fmt: skip
            seen[k].append(seen[k + 1][order] - turned)
    return seen[0]


def _moments(parents, joints, gravity, rates, bodies, references, twists, moments):
    passive.twist_recursion(parents, joints, rates, bodies, twists)
    passive.moment_recursion(parents, bodies, references, twists, moments)


_COMPILED_MOMENTS = compiled(_moments)


class PassiveInverseDynamicsSolver(ModelSolver):
    """u = M q_r'' + C(q, q') q_r' + g, u' and u'' for the control cycle: compiled, no allocation.

    >>> solver = PassiveInverseDynamicsSolver(model)
    >>> u, u_dot, u_ddot = solver((q, qd, qdd, qddd), (qrd, qrdd, qrddd, qrdddd))

    See :func:`.passive_inverse_dynamics`. To avoid all copies, fill `solver.state` and
    `solver.reference`, call `solver.update()` and read `solver.result`.

    state : (4, n) rows q, q', q'', q''', rad or m and per s^k.
    reference : (4, n) rows q_r', q_r'', q_r''', q_r''''.
    result : (3, n) rows u, u', u'', N m or N and per s^k.
    applied_wrenches : (N, 3, 6) as in :class:`.InverseDynamicsSolver`.
    moments : (N, 4, 4) of the last call of `update_moments`.
    direction : (n,) joint rates x for `update_moments`.

    `set_model` and `set_base` exchange the robot and the motion of its base. Use an instance from
    one thread only. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel) -> None:
        n, N = model.n, model.body_count
        bodies, references = np.zeros((N + 1, BODY_ROW)), np.zeros((N + 1, passive.REFERENCE_ROW))
        super().__init__(model, bodies, "body")
        self.state: Array = np.zeros((4, n))
        self.reference: Array = np.zeros((4, n))
        self.result: Array = np.zeros((3, n))
        self.direction: Array = np.zeros(n)
        self.moments: Array = np.zeros((N, 4, 4))
        self._results = tuple(self.result)
        self._state_rows = CheckedRows(STATE, model.joint_names, self.state)
        self._reference_rows = CheckedRows(REFERENCE, model.joint_names, self.reference)
        self._last_state = np.zeros((4, n))
        self.update = partial(
            PASSIVE_CYCLE, *self._constants, 2, self.state, self.reference,
            self.applied_wrenches.reshape(N, 18), np.empty((2, N)), bodies, references, self.result,
        )  # fmt: skip
        self.update_moments = partial(
            _COMPILED_MOMENTS, *self._constants, self.direction, bodies, references,
            np.zeros((N + 1, 6)), self.moments,
        )  # fmt: skip
        self.update()
        self.update_moments()

    def __call__(self, state: Any, reference: Any) -> tuple[Array, Array, Array]:
        """u, u' and u'' (n,) as views of `result`; both arguments are four rows (n,).

        Raises InputError for a wrong length, NaN or infinity, and leaves all buffers unchanged.
        """
        self._last_state[:] = self.state
        self._state_rows.take(tuple(state))
        try:
            self._reference_rows.take(tuple(reference))
        except InputError:
            self.state[:] = self._last_state
            raise
        self.update()
        return self._results

    def power_moments(self, x: Any) -> Array:
        """The matrices L (N, 4, 4) with x . u = sum_i tr(L_i P_i) at the last state, in O(n).

        P_i is the pseudo-inertia [[Sigma, m c], [m c^T, m]] of body i in its joint frame, where
        the body frame has the pose `model.body_in_joint`. For the ten parameters pi of all bodies,
        with u = Y pi, this is Y^T x without Y: the gradient of x . u. Reflected inertias do not
        depend on pi and are left out. The next call overwrites the result. To skip the checks,
        fill `direction` and call `update_moments`.
        """
        row = np.asarray(x, dtype=np.float64)
        if row.shape != self.direction.shape or not np.isfinite(row).all():
            raise InputError(f"x: expected {self.model.n} finite numbers, got {x!r}")
        self.direction[:] = row
        self.update_moments()
        return self.moments
