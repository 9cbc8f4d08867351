# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics by the Levenberg-Marquardt method within the joint limits; compiled.

The weighted squares of the errors e of :mod:`.pose_errors` are minimised from one start after
another until one of them reaches zero. With the Jacobian J = de/dq, a step solves

    (J^T W J + (mu c + tiny) 1) dq = -J^T W e,    c = e^T W e

for the free joints; a joint at a limit that would be pushed against it is held. As the damping
shrinks with the cost c, convergence is quadratic even if solutions are not isolated (Yamashita and
Fukushima 2001; for arms Sugihara 2011). A search whose cost stops falling is abandoned.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    Array,
    DynamicsError,
    IndependentCopies,
    InputError,
    as_array,
    as_real,
    broadcast_shapes,
    check_sequence,
    compiled,
    copy_row,
    exactly,
    inlined,
    writable,
)
from ..lie import Representation, convert_twist, se3
from ..mechanisms import (
    jacobian_rows,
    place_joints,
    reduce_jacobian,
    return_to_start,
    tree_and_loops,
)
from ..model import MultibodyModel, check_model
from ..model.records import ANGULAR, BODY_ROW, LINEAR, POSE
from ..recursions import pose_recursion
from .pose_errors import Targets, ToolsOnArm, pose_errors
from .tool_task import COMPONENTS, Task

SHARE = 0.4  # of the reach of the arm: an error of this length weighs as much as one of 1 rad
PATIENCE = 8  # iterations within which the cost must fall by the factor GAIN
GAIN = 0.5
TINY = 1e-14  # least damping, relative to the trace of J^T W J
SOFTER, HARDER = 0.25, 8.0  # factors of mu after a good and a bad step
WAY = 1.0  # m: range of the starts of an unlimited prismatic joint about zero


@inlined
def bodies_on_base(n):
    """Rows of n bodies on a base in the inertial frame."""
    bodies = np.zeros((n + 1, BODY_ROW))
    for k in range(0, 9, 4):
        bodies[0, POSE + k] = 1.0
    return bodies


@inlined
def evaluate(arm, loops, goal, state, trig, bodies, error, J):
    """The errors and their derivative J[0] at state[0]. Returns their cost e^T W e, infinite where
    loops cannot be closed."""
    return_to_start(loops)  # for results that depend on the state alone
    if not place_joints(loops, arm.parents, arm.joints, state, trig, bodies):
        return np.inf
    if len(loops) == 0:
        pose_recursion(arm.parents, arm.joints, trig, state, bodies)
    pose_errors(arm, goal, bodies, error, jacobian_rows(0, loops, J))
    reduce_jacobian(0, loops, arm.joints, bodies, J)
    cost, weights = 0.0, arm.weights
    for r in range(error.shape[0]):
        cost += weights[r] * error[r] ** 2
    return cost


@inlined
def normal_equations(weights, error, J, H, slope):
    """Write the lower triangle of H = J^T W J, and slope = J^T W e; return the trace of H."""
    trace = 0.0
    for i in range(J.shape[1]):
        slope[i] = 0.0
        for r in range(J.shape[0]):
            slope[i] += weights[r] * J[r, i] * error[r]
        for j in range(i + 1):
            H[i, j] = 0.0
            for r in range(J.shape[0]):
                H[i, j] += weights[r] * J[r, i] * J[r, j]
        trace += H[i, i]
    return trace


@inlined
def damped_step(H, slope, free, damping, dq):
    """Solve (H + damping 1) dq = -slope for the free joints by Cholesky factorisation.

    The factor overwrites H. Returns False if rounding has made the matrix indefinite.
    """
    n = slope.shape[0]
    for i in range(n):
        dq[i] = 0.0
        if not free[i]:
            continue
        for j in range(i + 1):
            if free[j]:
                h = H[i, j]
                for k in range(j):
                    if free[k]:
                        h -= H[i, k] * H[j, k]
                if j < i:
                    H[i, j] = h / H[j, j]
                elif h + damping > 0:
                    H[i, i] = np.sqrt(h + damping)
                else:
                    return False
        h = -slope[i]
        for k in range(i):
            h -= H[i, k] * dq[k] * free[k]
        dq[i] = h / H[i, i]
    for m in range(n):
        i = n - 1 - m
        if free[i]:
            h = dq[i]
            for k in range(i + 1, n):
                if free[k]:
                    h -= H[k, i] * dq[k]
            dq[i] = h / H[i, i]
    return True


def _search(arm, loops, goal, lower, upper, tolerance, iterations, starts, found):
    """Minimise from one of the starts (s, n) after another; writes the best q to `found` (n,).

    Returns whether every error is within the tolerance, the number of steps and of starts used.
    """
    weights = arm.weights
    n, m = starts.shape[1], weights.shape[0]
    count = arm.parents.shape[0]
    bodies, trig = bodies_on_base(count), np.empty((2, count))
    state, error, J = np.empty((1, n)), np.empty(m), np.empty((1, m, n))
    next_state, next_error, next_J = np.empty((1, n)), np.empty(m), np.empty((1, m, n))
    H, slope, dq, free = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n, np.bool_)
    best, steps = np.inf, 0
    for s in range(starts.shape[0]):
        copy_row(state[0], starts[s])
        cost = evaluate(arm, loops, goal, state, trig, bodies, error, J)
        if cost == np.inf:
            continue
        mu, before, polished = 0.5, cost, False
        for k in range(iterations + 1):
            if np.abs(error).max() <= tolerance:
                if polished or k == iterations:
                    copy_row(found, state[0])
                    return True, steps, s + 1
                polished = True  # one more step removes the error that the tolerance leaves
            if k == iterations:
                break
            if k % PATIENCE == PATIENCE - 1:
                if cost > GAIN * before:
                    break
                before = cost
            steps += 1
            trace = normal_equations(weights, error, J[0], H, slope)
            for i in range(n):
                below = state[0, i] <= lower[i] and slope[i] > 0
                above = state[0, i] >= upper[i] and slope[i] < 0
                free[i] = not (below or above)
            if not damped_step(H, slope, free, mu * min(cost, trace) + TINY * trace, dq):
                mu *= HARDER
                continue
            for i in range(n):
                next_state[0, i] = min(max(state[0, i] + dq[i], lower[i]), upper[i])
            next_cost = evaluate(arm, loops, goal, next_state, trig, bodies, next_error, next_J)
            if next_cost < cost:
                state, next_state = next_state, state
                error, next_error = next_error, error
                J, next_J = next_J, J
                cost = next_cost
                mu *= SOFTER
            else:
                mu = max(mu, 1e-3) * HARDER
        if cost < best:
            best = cost
            copy_row(found, state[0])
    return False, steps, starts.shape[0]


def _errors(arm, loops, goal, q, error, J):
    """Write the errors (m,) and their derivative (1, m, n) at q (n,); False where loops cannot be
    closed."""
    n = q.shape[0]
    state = np.empty((1, n))
    state[0] = q
    count = arm.parents.shape[0]
    bodies = bodies_on_base(count)
    return evaluate(arm, loops, goal, state, np.empty((2, count)), bodies, error, J) < np.inf


_compiled_search = compiled(_search)
_compiled_errors = compiled(_errors)


class InverseKinematicsResult(NamedTuple):
    """Joint positions and their quality; for a single target, plain numbers and a string.

    q : (..., n) rad, m, within the limits; if not successful, the closest configuration found.
    success : (...) whether every prescribed component is met within the tolerance.
    iterations, starts : (...) total number of steps; number of starts used.
    residual : (..., 2) error in position (m) and in angle (rad) of the prescribed components;
        (..., k, 2) for a sequence of k bodies.
    reason : (...) empty on success; otherwise a text that begins with "out of reach", "degrees of
        freedom", "joint limit", "singular" or "iterations".
    """

    q: Array
    success: Any
    iterations: Any
    starts: Any
    residual: Array
    reason: Any


class InverseKinematicsSolver(IndependentCopies):
    """Inverse kinematics of one robot for one set of tasks and many targets.

    >>> solver = InverseKinematicsSolver(model, "hand")
    >>> result = solver.solve(target, initial=q)

    Parameters
    ----------
    body : a name or an index, with the task described by `components`, `offset` and `axes`, see
        :class:`.Task`; or a `Task`; or a sequence of these, to be met simultaneously.
    limits : True for those of the model, False for none, or (lower, upper), each (n,).
    starts : maximum number of starts: the initial position, then random ones between the limits, or
        within half a turn of zero for joints without limits. The random starts depend only on
        `seed`, and the same input gives the same result.
    tolerance : tolerance of every prescribed component, rad and m.
    max_iterations : maximum number of iterations per start.

    For a robot with loops, q are its actuated joints, `initial` defaults to its `home`, and joints
    are not moved by full turns, which may lead elsewhere.

    Raises InputError for an unknown body or one that belongs to the base, unknown components or
    axes, a soft task, an invalid pose, and lower limits above upper ones. Not thread-safe.
    """

    def __init__(
        self,
        model: MultibodyModel,
        body: str | int | Task | Sequence[str | int | Task],
        *,
        components: str | Sequence[str] = "pose",
        offset: Any = None,
        axes: Any = None,
        limits: bool | tuple[Any, Any] = True,
        starts: int = 300,
        tolerance: float = 1e-12,
        max_iterations: int = 60,
        seed: int = 0,
    ) -> None:
        self.is_single = isinstance(body, (str, int, np.integer, Task))
        given: Any = [body] if self.is_single else body
        check_model(model)
        check_sequence("body", given, "bodies or tasks")
        self.model = model
        self.tasks = tuple(
            x if isinstance(x, Task) else Task(x, components, offset, axes) for x in given
        )
        if not self.tasks:
            raise InputError("inverse kinematics requires a body")
        for task in self.tasks:
            if task.softness:
                raise InputError(
                    f"the task of '{task.body}' has the softness {task.softness:g}, "
                    "but inverse kinematics meets tasks exactly; use a softness of 0"
                )
        for name, value in (("starts", starts), ("max_iterations", max_iterations)):
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise InputError(f"{name}: expected a positive integer, got {value!r}")
        if not isinstance(seed, (int, np.integer)) or seed < 0:
            raise InputError(f"seed: expected an integer, zero or greater, got {seed!r}")
        if not exactly("tolerance", tolerance, ()) > 0:
            raise InputError(f"tolerance must be positive, got {tolerance!r}")
        self.tolerance, self.max_iterations = float(tolerance), int(max_iterations)
        self.lower, self.upper = _limits(model, limits)
        chosen = np.array([[x in task.components for x in COMPONENTS] for task in self.tasks])
        self._places = np.nonzero(chosen)  # task and component of each error
        bodies, offsets = zip(*(task.tool_in(model) for task in self.tasks), strict=True)
        self._tools = model.body_in_joint[list(bodies)] @ np.stack(offsets)
        pairs = zip(self.tasks, self._tools, strict=True)
        self._tree, self._loops = tree_and_loops(model, int(chosen.sum()))
        reach = max(_reach(self._tree, task.body, tool)[1] for task, tool in pairs)
        self._length = SHARE * reach or 1.0  # m
        weights = np.where(np.arange(6) < 3, self._length**2, 1.0) * chosen
        self._arm = ToolsOnArm(
            model.parents,
            np.array(self._tree.joint_rows),
            np.array(bodies) + 1,
            chosen,
            _flat(self._tools),
            weights[chosen],
        )
        self.middle, self._starts = self._draw(int(starts), seed)
        self._idle = ~model.moved_by[list(bodies)].any(axis=0)  # joints that move none of the tools

    def solve(self, target: Any, initial: Any = None) -> InverseKinematicsResult:
        """Joint positions for one target (4, 4), or (k, 4, 4) for k bodies, in the inertial frame.

        `initial` (n,) is the first start. Joints that can make full turns end near it, and joints
        that do not move a tool stay there. Default: the middle between the limits, zero without
        limits. Raises InputError for wrong shapes, NaN, infinity and invalid poses.
        """
        poses = se3.as_pose("target", target)
        if poses.shape != self.target_shape:
            raise InputError(f"target: expected shape {self.target_shape}, got {poses.shape}")
        first = self.middle
        if initial is not None:
            first = as_array("initial", initial, (self.model.n,), self.model.joint_names)
            if first.ndim != 1:
                raise InputError(f"initial: expected shape ({self.model.n},), got {first.shape}")
        self._starts[0] = np.clip(first, self.lower, self.upper)
        self._starts[1:, self._idle] = self._starts[0, self._idle]
        goal = self._goal(poses)
        q, success, iterations, starts = self._search(goal, self.lower, self.upper, self._starts)
        q = self._unwound(q, self._starts[0])
        residual = self._residual(self._errors(q, goal)[0])
        reason = "" if success else self._reason(q, goal, residual)
        if self.is_single:
            residual = residual[0]
        return InverseKinematicsResult(q, success, iterations, starts, residual, reason)

    def follow(
        self,
        q: Any,
        target: Any,
        dt: float,
        *,
        twist: Any = None,
        representation: Representation = "hybrid",
        gain: float = 20.0,
        damping: float = 1e-8,
    ) -> Array:
        """Closed-loop inverse kinematics (CLIK): one cycle, from q (n,) to the q `dt` s later.

        The target is at `target` (4, 4) and moves with `twist` (6,); (k, 4, 4) and (k, 6) for k
        bodies. The step shrinks the error by the factor exp(-gain dt) while the target moves on; it
        uses the damped inverse J^T (J J^T + damping 1)^-1, and `gain` is in 1/s. A step that
        exceeds a velocity limit of the model is scaled down as a whole. Joints stay within their
        limits, and joints that start beyond a limit return to it. No search takes place: the tool
        follows its target or lags behind.

        Raises InputError as :meth:`solve` does, and for invalid `dt`, `gain` or `damping`.
        """
        model = self.model
        state = as_array("q", q, (model.n,), model.joint_names)
        poses = se3.as_pose("target", target)
        if state.ndim != 1 or poses.shape != self.target_shape:
            raise InputError(
                f"follow: expected q ({model.n},) and a target {self.target_shape}, got "
                f"{state.shape} and {poses.shape}"
            )
        if not 0 < as_real("dt", dt) < np.inf:
            raise InputError(f"dt must be positive and finite, got {dt!r}")
        for name, value in (("gain", gain), ("damping", damping)):
            if not 0 <= as_real(name, value) < np.inf:
                raise InputError(f"{name} must be zero or greater and finite, got {value!r}")
        error, J = self._errors(state, self._goal(poses))
        if twist is None:
            ahead = error
        else:
            rows = [as_array("twist", twist, (6,))]
            (spatial,) = convert_twist(poses, rows, representation, "spatial")
            ahead = self._errors(state, self._goal(se3.exp(spatial * dt) @ poses))[0]
        change = ahead - np.exp(-gain * dt) * error
        step, free = np.zeros(model.n), np.ones(model.n, dtype=bool)
        while True:  # joints at their limits are held, and the others compensate
            Jf, left = J * free, change + J @ np.where(free, 0.0, step)
            motion = Jf.T @ np.linalg.solve(Jf @ Jf.T + damping * np.eye(len(left)), left)
            step = np.where(free, -motion, step)
            ahead = np.clip(state + step, self.lower, self.upper)
            stopped = free & (ahead != state + step)
            if not stopped.any():
                break
            step[stopped] = (ahead - state)[stopped]
            free &= ~stopped
        fastest = np.where(model.limits.velocity > 0, model.limits.velocity, np.inf) * dt
        step /= max(1.0, np.max(np.abs(step) / fastest))
        # a state beyond a limit may take several cycles to come back
        return np.clip(state + step, np.minimum(self.lower, state), np.maximum(self.upper, state))

    @property
    def size(self) -> int:
        """Number m of prescribed components of all tasks."""
        return len(self._arm.weights)

    @property
    def target_shape(self) -> tuple[int, ...]:
        """(4, 4), or (k, 4, 4) for a sequence of k bodies."""
        return (4, 4) if self.is_single else (len(self.tasks), 4, 4)

    def _draw(self, count: int, seed: int) -> tuple[Array, Array]:
        """The middle of the joint ranges (n,), and random starts (count, n) within them."""
        own = self.model.first_bodies
        wide = np.where(self._tree.joint_rows[own, ANGULAR] != 0, np.pi, WAY)
        low = np.where(np.isfinite(self.lower), self.lower, np.minimum(-wide, self.upper - wide))
        high = np.where(np.isfinite(self.upper), self.upper, np.maximum(wide, self.lower + wide))
        starts = np.random.default_rng(seed).uniform(low, high, (count, self.model.n))
        return self.model.home if self._loops else (low + high) / 2, starts

    def _goal(self, poses: Array) -> Targets:
        """The targets (k, 4, 4) in the form that the compiled code expects."""
        poses = poses.reshape(-1, 4, 4)
        axes = [
            C[:3, :3].T if task.is_turning else task.axis_rows
            for task, C in zip(self.tasks, poses, strict=True)
        ]
        return Targets(_flat(poses), np.array(axes).reshape(-1, 9))

    def _search(
        self, goal: Targets, lower: Array, upper: Array, starts: Array
    ) -> tuple[Array, bool, int, int]:
        q = starts[0].copy()
        success, iterations, needed = _compiled_search(
            self._arm, self._loops, goal, lower, upper, self.tolerance, self.max_iterations, starts,
            q,
        )  # fmt: skip
        return q, bool(success), int(iterations), int(needed)

    def _errors(self, q: Array, goal: Targets) -> tuple[Array, Array]:
        error, J = np.empty(self.size), np.empty((1, self.size, self.model.n))
        if not _compiled_errors(self._arm, self._loops, goal, writable(q), error, J):
            raise DynamicsError(
                f"robot '{self.model.name}': its loops cannot be closed at q = "
                f"{np.array2string(q, precision=4)}"
            )
        return error, J[0]

    def _residual(self, error: Array) -> Array:
        """(k, 2) errors in position and angle from the errors (m,)."""
        full = np.zeros((len(self.tasks), 2, 3))
        full.reshape(-1, 6)[self._places] = error
        return np.linalg.norm(full, axis=2)[:, ::-1]

    def _unwound(self, q: Array, near: Array, any_limits: bool = True) -> Array:
        """The same configuration, moved by full turns towards `near` where the limits allow it."""
        if self._loops:
            return q
        joints, leads = self.model.joint_rows, self.model.coordinates
        rate = joints[self.model.first_bodies, ANGULAR]  # rad of each joint's own body per unit
        turns = rate != 0.0
        rate = np.where(turns, rate, 1.0)
        ratio = joints[:, ANGULAR] / rate[leads]
        returns = (joints[:, LINEAR] == 0.0) & (ratio == np.round(ratio))  # after a turn of these
        np.logical_and.at(turns, leads, returns)
        turn = 2.0 * np.pi / rate
        moved = np.where(turns, q + np.round((near - q) / turn) * turn, q)
        allowed = (moved >= self.lower) & (moved <= self.upper)
        return np.where(allowed, moved, q) if any_limits else moved

    def _reason(self, q: Array, goal: Targets, residual: Array) -> str:
        """The most likely reason why no solution was found."""
        model, m = self.model, self.size
        for k, task in enumerate(self.tasks):
            beyond = _beyond_reach(
                self._tree, task, self._tools[k], goal.poses[k, 9:], self._travel()
            )
            if beyond > 0:
                return f"out of reach by at least {beyond:.3g} m: the target of '{task.body}'"
        off = (
            f"the closest configuration found is {residual[:, 0].max():.3g} m and "
            f"{residual[:, 1].max():.3g} rad off"
        )
        starts = self._starts[-3:]
        generic = [q, *starts[model.reaches(starts)]]
        rank = max(np.linalg.matrix_rank(self._errors(x, goal)[1], 1e-9) for x in generic)
        if rank < m:
            return f"degrees of freedom: only {rank} for {m} prescribed components; {off}"
        unlimited = np.full(model.n, np.inf)
        x, solved, *_ = self._search(goal, -unlimited, unlimited, self._starts[:50])
        if solved:
            x = self._unwound(x, self.middle, any_limits=False)
            i = int(np.argmax(np.maximum(self.lower - x, x - self.upper)))
            side = "lower" if x[i] < self.lower[i] else "upper"
            return (
                f"joint limit of '{model.joint_names[i]}': a solution outside the limits has this "
                f"joint at {x[i]:.4g}, but its {side} limit is {getattr(self, side)[i]:.4g}; {off}"
            )
        J = np.sqrt(self._arm.weights)[:, None] * self._errors(q, goal)[1]
        sizes = np.linalg.svd(J, compute_uv=False)
        if sizes[m - 1] < 1e-3 * sizes[0]:
            return f"singular: {off}, and there the tool cannot move in all directions"
        return f"iterations: none of {len(self._starts)} starts led to a solution; {off}"

    def _travel(self) -> Array:
        """(N,) largest translation of each joint away from its position at zero, in m."""
        way = np.abs(self._tree.joint_rows[:, LINEAR])
        lower, upper = self._tree.limits[:2] if self._loops else (self.lower, self.upper)
        largest = np.maximum(np.abs(lower), np.abs(upper))[self._tree.coordinates]
        range_ = np.where(way > 0, largest, 0.0)
        return np.asarray(way * range_)


def inverse_kinematics(
    model: MultibodyModel,
    target: Any,
    body: str | int | Task | Sequence[str | int | Task],
    *,
    initial: Any = None,
    warm_start: bool = False,
    **options: Any,
) -> InverseKinematicsResult:
    """Joint positions q (..., n) at which a tool, or several simultaneously, reach a target.

    `target` is (..., 4, 4) in the inertial frame, or (..., k, 4, 4) for a sequence of k bodies;
    `initial` is (..., n). With `warm_start` the search for each target of a batch starts at the
    solution of the previous one, as along a path. `body` and the `options` components, offset,
    axes, limits, starts, tolerance, max_iterations and seed are those of
    :class:`InverseKinematicsSolver`.

    An unreachable target is not an error: `success` is False, `reason` explains why, and q is the
    closest configuration found. Raises InputError for wrong shapes, NaN, infinity and invalid
    poses, and as the solver does.
    """
    solver = InverseKinematicsSolver(model, body, **options)
    poses, tail = se3.as_pose("target", target), solver.target_shape
    if poses.shape[poses.ndim - len(tail) :] != tail:
        wanted = ", ".join(map(str, tail))
        raise InputError(f"target: expected shape (..., {wanted}), got {poses.shape}")
    first = solver.middle if initial is None else initial
    first = as_array("initial", first, (model.n,), model.joint_names)
    shape = broadcast_shapes(
        ("target", "initial"), (poses.shape[: poses.ndim - len(tail)], first.shape[:-1])
    )
    if shape == ():
        return solver.solve(poses, first)
    poses = np.broadcast_to(poses, (*shape, *tail)).reshape(-1, *tail)
    first = np.broadcast_to(first, (*shape, model.n)).reshape(-1, model.n)
    solutions: list[InverseKinematicsResult] = []
    for pose, start in zip(poses, first, strict=True):
        follows = warm_start and solutions and solutions[-1].success
        solutions.append(solver.solve(pose, solutions[-1].q if follows else start))
    kinds = (  # an empty batch has no values to infer them from
        (float, (model.n,)), (bool, ()), (int, ()), (int, ()), (float, (*tail[:-2], 2)), (str, ()),
    )  # fmt: skip
    return InverseKinematicsResult(
        *(
            np.array([result[k] for result in solutions], kind).reshape(*shape, *rest)
            for k, (kind, rest) in enumerate(kinds)
        )
    )


def _limits(model: MultibodyModel, limits: bool | tuple[Any, Any]) -> tuple[Array, Array]:
    if isinstance(limits, bool):
        infinite = np.full(model.n, np.inf)
        pair = (model.limits.lower, model.limits.upper) if limits else (-infinite, infinite)
    else:
        check_sequence("limits", limits, "lower and upper limits")
        pair = tuple(as_real("limits", x) for x in limits)  # type: ignore[assignment]
    if [x.shape for x in pair] != [(model.n,)] * 2 or not np.all(pair[0] <= pair[1]):
        raise InputError(f"limits: expected two rows of {model.n} numbers, lower and then upper")
    return np.array(pair[0]), np.array(pair[1])


def _flat(poses: Array) -> Array:
    """(k, 12): rotations row by row, positions."""
    return np.concatenate([poses[:, :3, :3].reshape(-1, 9), poses[:, :3, 3]], axis=1)


def _beyond_reach(
    model: MultibodyModel, task: Task, tool: Array, goal: Array, travel: Array
) -> float:
    """Distance in m by which a point (3,) lies beyond the reach of the arm, if it provably does.

    `travel` (N,) is that of the prismatic joints. Zero or less proves nothing.
    """
    if len([x for x in task.components if x in COMPONENTS[3:]]) < 3:
        return 0.0
    start, reach = _reach(model, task.body, tool)
    return float(np.linalg.norm(goal - start) - reach - travel[model.path(task.body)].sum())


def _reach(model: MultibodyModel, body: str | int, tool: Array) -> tuple[Array, float]:
    """A point (3,) on the first axis, and the largest distance in m of the tool from it, without
    the travel of prismatic joints.

    The distance between a point on one joint axis and a point on the next is constant, and the sum
    of these distances up to the tool bounds the reach. The points are moved along the axes to
    tighten the bound.
    """
    path = model.path(body)
    frames = model.poses[path] @ se3.inverse(model.body_in_joint[path])
    points = np.vstack([frames[:, :3, 3], (frames[-1] @ tool)[:3, 3]])
    for _ in range(30):
        for i, axis in enumerate(frames[:, :3, 2]):
            if model.joint_rows[path[i], LINEAR]:
                continue
            near = points[[i + 1]] if i == 0 else points[[i - 1, i + 1]]
            weight = 1 / np.maximum(np.linalg.norm(near - points[i], axis=1), 1e-9)
            points[i] += weight @ (near - points[i]) @ axis / weight.sum() * axis
    return points[0], float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
