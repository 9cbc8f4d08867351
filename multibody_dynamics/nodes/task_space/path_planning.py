# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Plans the joint motion through poses of a tool, and checks it before it begins. Uses no node.

The path of the tool is a curve C(s). `TaskSpaceSolver` follows it once, which yields the joints
q(s) with four derivatives by s, including secondary motions of redundant joints and damping. A time
law s(t), C4 and from rest to rest, respects the limits of speed and acceleration. By the chain
rule, all joints are at rest when s is: at both ends, and wherever the time law stops. A stop
therefore stays on the path, and neither posture nor damping needs time to settle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...dynamics.control import TrajectoryRequest
from ...dynamics.core import Array, InputError
from ...dynamics.lie import se3, so3
from ...dynamics.model import JointLimits, MultibodyModel
from ...dynamics.motion import REST, Reference, Trajectory, chain_rule, stop
from ...dynamics.rigid import frame_pose
from ...dynamics.tasks import (
    COMPONENTS,
    InverseKinematicsSolver,
    Manipulability,
    PosePath,
    RedundancyResolution,
    Task,
    TaskSpaceSolver,
    line,
    manipulability,
    screw_motion,
    spline,
)
from ..base.messages import MessageError
from ..base.pose_messages import CartesianRequest

GRID = 0.01  # s of the curve's parameter between stored states; the solver fills the gaps
FEWEST, MOST = 50, 5000  # number of stored states
SAME = 1e-6  # m and rad; poses closer than this are equal
BEYOND = 4  # poses by which a spline is extended at either end, so it does not come to rest there
STARTS = 30  # initial guesses of the inverse kinematics that explains why a pose is unreachable
SUPERSEDED = "superseded", "a newer request, or a stop, ended this one during planning"
RAMP_PEAK = 35 / 16  # maximum slope of the C3 step from 0 to 1 on [0, 1]


class PathLimits(NamedTuple):
    """Limits of a tool motion: m/s, rad/s, m/s^2, rad/s^2; the minimum singular value of the task
    Jacobian; the maximum deviation from the path (m, rad) due to damping."""

    linear_speed: float
    angular_speed: float
    linear_acceleration: float
    angular_acceleration: float
    singularity_margin: float
    pose_tolerance: float


def curve(poses: Array, limits: PathLimits, shape: str = "screw") -> tuple[PosePath, float, float]:
    """A path through poses (k, 4, 4), and the interval of its parameter that is used.

    The parameter is the time of a tool that moves at about the maximum speed allowed and never
    rests. Two poses are connected by a `shape` "screw" or "line", more than two by a spline.
    """
    steps = se3.log(se3.inverse(poses[:-1]) @ poses[1:])
    way = np.linalg.norm(poses[1:, :3, 3] - poses[:-1, :3, 3], axis=1)
    turn = np.linalg.norm(steps[:, :3], axis=1)
    durations = np.maximum(way / limits.linear_speed, turn / limits.angular_speed)
    if len(poses) == 2:
        duration = float(durations[0])
        states = np.zeros((2, 5, 1))
        states[:, 0, 0], states[:, 1] = (0.0, 1.0), 1.0 / duration
        law = Trajectory(["s"], np.array([0.0, duration]), states)
        make = line if shape == "line" else screw_motion
        return make(poses[0], poses[1], law), 0.0, duration
    count = np.arange(1.0, BEYOND + 1.0)[:, None]
    before = poses[0] @ se3.exp(-count[::-1] * steps[0])
    after = poses[-1] @ se3.exp(count * steps[-1])
    spaces = np.r_[[durations[0]] * BEYOND, durations, [durations[-1]] * BEYOND]
    times = np.r_[0.0, np.cumsum(spaces)]
    path = spline(times, np.concatenate([before, poses, after]))
    return path, float(times[BEYOND]), float(times[-1 - BEYOND])


class JointPath:
    """q and its derivatives by s along the path of a tool, start <= s <= end.

    grid (K,) and states (K, 5, n) come from the planner. Between them, the solver continues from
    the preceding grid point, so the same s always yields the same state.
    """

    def __init__(self, solver: TaskSpaceSolver, path: PosePath, grid: Array, states: Array) -> None:
        self.solver, self.path, self.grid, self.states = solver, path, grid, states
        self.start, self.end = float(grid[0]), float(grid[-1])
        self._density = (len(grid) - 1) / (self.end - self.start)

    def __call__(self, s: float) -> Array:
        """(5, n), a view. Raises InputError if the tool cannot reach the pose."""
        s = min(max(s, self.start), self.end)
        k = min(int((s - self.start) * self._density), len(self.grid) - 1)
        self.solver.state[:] = self.states[k]
        return self.solver.follow(self.path(s), s - self.grid[k])

    def near(self, s: Array) -> Array:
        """(m, 5, n) by Taylor expansion of the preceding stored state: cheap, for display."""
        k = np.minimum(((s - self.start) * self._density).astype(np.intp), len(self.grid) - 1)
        step = (s - self.grid[k])[:, None]
        rows = self.states[k]
        near = np.zeros_like(rows)
        for order in range(5):
            for j in range(order, 5):
                near[:, order] += rows[:, j] * step ** (j - order) / math.factorial(j - order)
        return near


class PathMotion(Reference):
    """A motion along a `JointPath` under a time law, which is a Reference of the coordinate s."""

    def __init__(self, names: tuple[str, ...], path: JointPath, law: Reference) -> None:
        super().__init__(names, law.start_time, law.end_time)
        self.path, self.law = path, law
        self._first, self._last = self.near(np.array([law.start_time, law.end_time]))

    def _inside(self, t: float) -> Array:
        s = self.law(t)[:, 0]
        return chain_rule(s) @ self.path(s[0])

    def near(self, times: Array) -> Array:
        """(m, 5, n) for display; see `JointPath.near`."""
        laws = self.law.sample(times)[:, :, 0]
        return np.array([chain_rule(s) for s in laws]) @ self.path.near(laws[:, 0])

    def extremes(self) -> tuple[Array, Array]:
        states = self.near(np.linspace(self.start_time, self.end_time, 200))
        return states.min(axis=0), states.max(axis=0)

    def braked(self, t: float, duration: float) -> PathMotion:
        """This motion, stopped on the path from time t on; unchanged if it comes to rest sooner."""
        if self.end_time - t <= duration:
            return self
        law = stop(self.law, t, duration=duration)
        if law(law.end_time)[0, 0] > self.path.end:
            return self
        motion = PathMotion(self.joint_names, self.path, law)
        motion._first, motion._last = self._inside(t), motion._inside(law.end_time)
        return motion

    def wanted(self, t: float) -> Array:
        """The desired pose of the tool, (4, 4)."""
        return np.asarray(self.path.path(self.law(t)[0, 0]).pose)


class PathPlanner:
    """Plans the motions of one tool.

    limits: positions and velocities of the joints.
    """

    def __init__(
        self,
        model: MultibodyModel,
        task: Task,
        resolution: RedundancyResolution,
        limits: JointLimits,
    ) -> None:
        self.model, self.task, self.resolution, self.limits = model, task, resolution, limits
        self._searching = TaskSpaceSolver(model, task, resolution)
        self._following = TaskSpaceSolver(model, task, resolution)  # used by the control cycle
        # For streamed points, joint velocities are minimal: secondary motions would be ambiguous.
        exact = RedundancyResolution(weights=resolution.weights, length=resolution.length)
        self._converting = TaskSpaceSolver(model, task, exact)
        self._kinematics = InverseKinematicsSolver(
            model, task, limits=(limits.lower, limits.upper), starts=STARTS
        )
        self._near = InverseKinematicsSolver(
            model, task, limits=(limits.lower, limits.upper), starts=1
        )
        self._kinematics.solve(self.pose(self._kinematics.middle))  # compiles

    def pose(self, q: Array) -> Array:
        """The pose of the tool, (..., 4, 4)."""
        return frame_pose(self.model, q, self.task.body) @ self.task.offset

    def near(self, pose: Array, q: Array) -> Array:
        """(n,) the position next to q that has the tool at a pose (4, 4), without a search for
        others. Raises MessageError if there is none."""
        solution = self._near.solve(pose, initial=q)
        if not solution.success:
            raise MessageError("unreachable", f"near the last target: {solution.reason}")
        return solution.q

    def manipulability(self, q: Array) -> Manipulability:
        weights, length = self.resolution.weights, self.resolution.length
        return manipulability(self.model, self.task, q, weights=weights, length=length)

    @property
    def lost_directions(self) -> float:
        """`TaskSpaceSolver.lost_directions` in the last cycle of a motion."""
        return self._following.lost_directions

    def errors(self, wanted: Array, q: Array) -> Array:
        """(..., 2) deviation of the tool, m and rad, in the components of the task."""
        there = self.pose(q)
        inverse = np.swapaxes(wanted[..., :3, :3], -1, -2)
        turn = so3.log(there[..., :3, :3] @ inverse)
        way = there[..., :3, 3] - wanted[..., :3, 3]
        axes = inverse if self.task.is_turning else self.task.axis_rows
        chosen = np.array([name in self.task.components for name in COMPONENTS])
        parts = (axes @ way[..., None])[..., 0] * chosen[3:], (axes @ turn[..., None])[..., 0]
        return np.stack(
            [np.linalg.norm(x, axis=-1) for x in (parts[0], parts[1] * chosen[:3])], axis=-1
        )

    def plan(
        self,
        q: Array,
        poses: Array,
        limits: PathLimits,
        *,
        shape: str = "screw",
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> PathMotion:
        """The motion from rest at q (n,) through the poses (k, 4, 4) to rest at the last one.

        Raises MessageError with the reason and the place if it is impossible or no longer wanted.
        """
        for k, pose in enumerate(poses):
            _require_wanted(is_wanted)
            self._require_reachable(f"pose {k + 1} of {len(poses)}", pose, q)
        way = [self.pose(q)]
        for pose in poses:
            if np.linalg.norm(se3.log(se3.inverse(way[-1]) @ pose)) > SAME:
                way.append(pose)
        if len(way) == 1:
            raise MessageError("already there", "the tool is already at the target")
        path, start, end = curve(np.array(way), limits, shape)
        count = min(max(math.ceil((end - start) / GRID), FEWEST), MOST) + 1
        grid = np.linspace(start, end, count)
        states = self._along(path, grid, q, is_wanted)
        self._check(path, grid, states, limits)
        law = time_law(path, grid, states, limits, self.limits.velocity)
        return self.motion(path, grid, states, law)

    def motion(self, path: PosePath, grid: Array, states: Array, law: Reference) -> PathMotion:
        """A planned motion, followed by this planner's own solver."""
        joints = JointPath(self._following, path, grid, states)
        return PathMotion(self.model.joint_names, joints, law)

    def _along(self, path: PosePath, grid: Array, q: Array, is_wanted: Callable[[], bool]) -> Array:
        solver = self._searching
        states = np.empty((len(grid), 5, self.model.n))
        solver.state[:] = 0.0
        solver.state[0] = q
        for k, s in enumerate(grid):
            _require_wanted(is_wanted)
            motion = path(s)
            try:
                states[k] = solver.follow(motion, s - grid[k - 1] if k else 0.0)
            except InputError as error:
                place = self._place(grid, k, motion.pose)
                self._require_reachable(place, motion.pose, solver.state[0])
                raise MessageError("singularity", f"{place}: {error}") from None
        return states

    def _require_reachable(self, place: str, pose: Array, q: Array) -> None:
        solution = self._kinematics.solve(pose, q)
        if not solution.success:
            limit = solution.reason.startswith("joint limit")
            raise MessageError(
                "joint limit" if limit else "unreachable", f"{place}: {solution.reason}"
            )

    def _check(self, path: PosePath, grid: Array, states: Array, limits: PathLimits) -> None:
        q = states[:, 0]
        poses = np.asarray(path.sample(grid).pose)

        def reject(reason: str, bad: Array, says: Callable[[int], str]) -> None:
            if bad.any():
                k = int(bad.argmax())
                raise MessageError(reason, f"{self._place(grid, k, poses[k])}: {says(k)}")

        # A joint that starts outside its limits may return.
        lower = np.minimum(self.limits.lower, q[0]) - SAME
        upper = np.maximum(self.limits.upper, q[0]) + SAME
        beyond = np.maximum(lower - q, q - upper)

        def joint(k: int) -> str:
            j = int(beyond[k].argmax())
            bounds = self.limits.lower[j], self.limits.upper[j]
            return "'{}' would be at {:.4g}; allowed: {:.4g} to {:.4g}".format(
                self.model.joint_names[j], q[k, j], *bounds
            )

        reject("joint limit", beyond.max(axis=1) > 0.0, joint)
        sigma = np.asarray(self.manipulability(q).smallest_singular_value)
        margin = limits.singularity_margin
        reject(
            "singularity",
            sigma < margin,
            lambda k: f"the smallest singular value would be {sigma[k]:.3g}; allowed: {margin:g}",
        )
        if self.resolution.damping is not None:
            off = self.errors(poses, q)
            reject(
                "induced error",
                off.max(axis=1) > limits.pose_tolerance,
                lambda k: "damping would move the tool {:.3g} m and {:.3g} rad off the path".format(
                    *off[k]
                ),
            )

    def _place(self, grid: Array, k: int, pose: Array) -> str:
        share = (grid[k] - grid[0]) / (grid[-1] - grid[0])
        x, y, z = pose[:3, 3]
        return f"at {share:.0%} of the path, x y z = {x:.3f} {y:.3f} {z:.3f}"

    def joint_points(
        self,
        request: CartesianRequest,
        q: Array,
        limits: PathLimits,
        stop_duration: float | None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> TrajectoryRequest:
        """Convert points of a tool trajectory to joint points, starting from q (n,).

        stop_duration: s, of the stop that follows if the last point is not at rest; None: nothing
        follows. Raises MessageError that names the point.
        """
        k = len(request.times)
        states = np.full((k, 3, self.model.n), np.nan)
        solver = self._converting
        for i in range(k):
            _require_wanted(is_wanted)
            motion = request.motion(i)
            try:
                solver.start(motion, q)
            except InputError as error:
                self._require_reachable(f"point {i}", motion.pose, q)
                raise MessageError("singularity", f"point {i}: {error}") from None
            states[i] = solver.state[:3]
            q = states[i, 0]
        sigma = np.asarray(self.manipulability(states[:, 0]).smallest_singular_value)
        for i in np.flatnonzero(sigma < limits.singularity_margin):
            raise MessageError(
                "singularity",
                f"point {i}: the smallest singular value is {sigma[i]:.3g};"
                f" allowed: {limits.singularity_margin:g}",
            )
        times, order = request.times, 1 + request.orders
        states[:, order:] = np.nan
        if stop_duration is not None and order > 1 and np.abs(states[-1, 1]).max() > REST:
            last = np.zeros((2, 5, self.model.n))
            last[:, :order] = states[-1, :order]
            end = stop(
                Trajectory(self.model.joint_names, np.array([0.0, 1.0]), last),
                0.0,
                duration=stop_duration,
            )
            rest = np.full((1, 3, self.model.n), np.nan)
            rest[0, 0] = end.states[-1, 0]
            states = np.concatenate([states, rest])
            times = np.r_[times, times[-1] + stop_duration]
        rows = [states[:, i] if i < order else None for i in range(3)]
        return TrajectoryRequest(request.start, times, *rows)


def _require_wanted(is_wanted: Callable[[], bool]) -> None:
    if not is_wanted():
        raise MessageError(*SUPERSEDED)


def time_law(
    path: PosePath, grid: Array, states: Array, limits: PathLimits, joint_speed: Array
) -> Trajectory:
    """The time law s(t) from grid[0] to grid[-1]: s' rises, cruises and falls, with C3 ramps.

    With x' = x_s s' and x'' = x_ss s'^2 + x_s s'', no limit of the tool and no joint speed limit is
    exceeded; the law is as fast as the maxima of x_s and x_ss allow.
    """
    rates = path.sample(grid).rates
    first, second = (
        np.linalg.norm(rate.reshape(-1, 2, 3), axis=2).max(axis=0) for rate in rates[:2]
    )
    speed = np.array([limits.angular_speed, limits.linear_speed])
    acceleration = np.array([limits.angular_acceleration, limits.linear_acceleration])
    joints = np.abs(states[:, 1]).max(axis=0) / joint_speed
    length = grid[-1] - grid[0]
    bend, push = (second / acceleration).max(), RAMP_PEAK * (first / acceleration).max()
    v = 1.0 / max((first / speed).max(), joints.max())
    if bend:
        v = min(v, math.sqrt(0.5 / bend))
    v = min(v, math.sqrt(length / (push + length * bend)))  # without a cruise
    ramp = push * v / (1.0 - bend * v**2)
    cruise = max(length - v * ramp, 0.0) / v
    knots = np.array([0.0, ramp, ramp + cruise, 2 * ramp + cruise])
    laws = np.zeros((4, 5, 1))
    laws[:, 0, 0] = grid[0], grid[0] + v * ramp / 2, grid[-1] - v * ramp / 2, grid[-1]
    laws[1:3, 1] = v
    used = [0, 1, 2, 3] if cruise > 1e-6 else [0, 1, 3]
    return Trajectory(["s"], knots[used], laws[used])
