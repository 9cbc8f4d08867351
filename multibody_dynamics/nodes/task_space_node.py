"""Torque feedforward for tool motions: receives a pose, a path or a trajectory of the end effector,
and publishes joint torques with their first two rates, and motor commands, like feedforward_node.

A path is planned completely before the robot moves, in a separate thread. A path with an
unreachable pose, a joint limit or a singularity is rejected, with the reason and the place. The
feedforward law, its cycle and its outputs are those of feedforward_node. docs/task_space_node.md
describes topics, parameters and behaviour.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from nav_msgs.msg import Path
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ..dynamics.core import Array, InputError
from ..dynamics.elastic import Actuators
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import distance_to_limits
from ..dynamics.rigid import frame_pose
from ..dynamics.tasks import Damping, RedundancyResolution, Task
from .base.diagnostics import ERROR, OK, WARN
from .base.messages import MessageError, TrajectoryRequest, nanoseconds, trajectory_message
from .base.parameters import ParameterError
from .base.qos import RELIABLE
from .base.runtime import run
from .feedforward_node import FeedforwardNode, FeedforwardOutputs
from .task_space.path_planning import PathLimits, PathMotion, PathPlanner
from .task_space.task_space_parameters import TaskSpaceParameters
from .task_space.tool_messages import pose_matrix, read_cartesian_trajectory, read_path, read_target
from .task_space.tool_motion import ToolMotion

STREAM = 20  # longest trajectory that is converted immediately, in the thread of the cycle


class TaskSpaceNode(FeedforwardNode):
    """A feedforward node that follows tool motions.

    It inherits law, cycle, safe output and publishers, and replaces the source of the desired
    motion: `ToolMotion`, fed by poses, paths and trajectories of the tool.
    """

    Parameters = TaskSpaceParameters
    _motion: ToolMotion

    def __init__(self) -> None:
        super().__init__("task_space_node")
        self._display: Any = None
        self._workers: ThreadPoolExecutor | None = None

    # Life cycle

    def _make(self, model: MultibodyModel, actuators: Actuators) -> FeedforwardOutputs:
        p = self.parameters
        if not p.tool:
            raise ParameterError("tool is empty; name the link that follows the paths")
        if p.tool not in model.frames or model.frames[p.tool].body < 0:
            moving = [name for name, frame in model.frames.items() if frame.body >= 0]
            raise ParameterError(
                f"tool: '{p.tool}' is not a moving link; the robot has {', '.join(moving)}"
            )
        task = tool_task(p)
        if task.size > model.n:
            raise ParameterError(
                f"components '{p.components}': {task.size} components exceed the robot's {model.n}"
                " joints; choose fewer, such as components: position, or components: 'x z'"
            )
        # One plans in the worker thread; the other converts streams in the thread of the cycle.
        self._planner, self._converter = (
            PathPlanner(model, task, resolution_of(p), self._soft_limits) for _ in range(2)
        )
        self._display = self.create_lifecycle_publisher(
            JointTrajectory, "joint_trajectory", RELIABLE
        )
        return super()._make(model, actuators)

    def _make_motion(self) -> ToolMotion:
        return ToolMotion(self._model.joint_names, self._soft_limits)

    def activate(self) -> None:
        self._workers = ThreadPoolExecutor(1, "planner")
        self._planning: list[str] = []  # topics of the requests in the queue of the worker
        self._shown = 0  # the version of the motion that was published last
        super().activate()

    def _listen_to_motions(self) -> None:
        for kind, topic, callback in (
            (PoseStamped, "target_pose", self._on_target),
            (Path, "cartesian_path", self._on_path),
            (MultiDOFJointTrajectory, "cartesian_trajectory", self._on_cartesian_trajectory),
        ):
            self._listen(kind, topic, callback, RELIABLE)

    def deactivate(self) -> None:
        super().deactivate()
        if self._workers is not None:
            self._workers.shutdown(wait=True, cancel_futures=True)
            self._workers = None

    def cleanup(self) -> None:
        super().cleanup()
        if self._display is not None:
            self.destroy_lifecycle_publisher(self._display)
            self._display = None

    # Inputs

    def _on_target(self, message: PoseStamped) -> None:
        self._on_poses("target_pose", message, read_target)

    def _on_path(self, message: Path) -> None:
        self._on_poses("cartesian_path", message, read_path)

    def _on_poses(
        self, topic: str, message: Any, read: Callable[[Any, Callable[[str], Array]], Array]
    ) -> None:
        """Stop on the current path, plan from there, and continue when both are done."""
        p = self.parameters
        try:
            if nanoseconds(message.header.stamp):
                self._check_stamp(nanoseconds(message.header.stamp))
            poses = read(message, self._frame)
            if not len(poses):
                self._motion.stop(p.stop_duration)
                self._count(topic)
                return
            self._check_may_move()
            q = self._motion.come_to_rest(p.stop_duration)
        except MessageError as error:
            self._reject(topic, error)
            return
        limits, shape = self._path_limits(), p.path_shape

        def plan(is_wanted: Callable[[], bool]) -> PathMotion:
            return self._planner.plan(q, poses, limits, shape=shape, is_wanted=is_wanted)

        def take_over(motion: PathMotion) -> None:
            self._motion.take_over(motion, self._position, tolerance=p.start_tolerance)

        self._work(topic, plan, take_over)

    def _on_cartesian_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        topic, p = "cartesian_trajectory", self.parameters
        try:
            request = read_cartesian_trajectory(message, p.tool, self._frame)
            if not len(request.times):
                self._motion.stop(p.stop_duration)
                self._count(topic)
                return
            self._check_may_move()
        except MessageError as error:
            self._reject(topic, error)
            return
        q, limits = self._law.desired[0].copy(), self._path_limits()
        is_long = len(request.times) > STREAM

        def convert(is_wanted: Callable[[], bool] = lambda: True) -> TrajectoryRequest:
            planner = self._planner if is_long else self._converter
            return planner.joint_points(request, q, limits, p.stop_duration)

        def take_over(points: TrajectoryRequest) -> None:
            self._motion.follow(
                points, self._position, tolerance=p.start_tolerance, lead=p.splice_lead
            )

        if is_long:
            self._work(topic, convert, take_over)
            return
        try:
            take_over(convert())
        except MessageError as error:
            self._reject(topic, error)
        else:
            self._count(topic)

    def _work(
        self,
        topic: str,
        plan: Callable[[Callable[[], bool]], Any],
        take_over: Callable[[Any], None],
    ) -> None:
        """Run `plan` in the worker, then `take_over` in this thread, unless superseded."""
        motion = self._motion
        self._planning.append(topic)
        motion.version += 1
        version = motion.version

        def is_wanted() -> bool:
            return motion.version == version

        def work() -> None:
            result: Any
            try:
                result = plan(is_wanted)
            except InputError as error:
                is_ours = isinstance(error, MessageError)
                result = error if is_ours else MessageError("path", str(error))
            except Exception:  # the future is never awaited, so it would be lost silently
                self.get_logger().error(f"planning failed:\n{traceback.format_exc()}")
                result = MessageError("path", "planning failed, see the log")
            self.defer(lambda: finish(result))

        def finish(result: Any) -> None:
            if self._motion is not motion or not self._is_running:
                return
            del self._planning[0]
            try:
                if not is_wanted():
                    raise MessageError("superseded", "a newer request arrived during planning")
                if isinstance(result, MessageError):
                    raise result
                self._check_may_move()
                take_over(result)
            except MessageError as error:
                self._reject(topic, error)
            else:
                self._count(topic)

        assert self._workers is not None
        self._workers.submit(work)

    def _count(self, topic: str) -> None:
        self._events.add(f"{topic} accepted")
        self._on_new_motion()

    def _frame(self, name: str) -> Array:
        """The pose of a message's frame at the current desired position, (4, 4)."""
        if name not in self._model.frames:
            raise MessageError("unknown frame", f"the robot has no link '{name}'")
        if not self._motion.is_there:
            raise MessageError("no state", "no joint state received yet to start from")
        return frame_pose(self._model, self._law.desired[0], name)

    def _path_limits(self) -> PathLimits:
        p = self.parameters
        return PathLimits(*(getattr(p, name) for name in PathLimits._fields))

    # The cycle

    def _cycle(self, stamp: int, begin: int) -> None:
        super()._cycle(stamp, begin)
        motion = self._motion
        if motion.version != self._shown:
            self._shown = motion.version
            if motion.fault:
                self.get_logger().error(f"stopping: {motion.fault}")
                self._events.add("stopped on the way", motion.fault)
                motion.fault = ""
            period = self.parameters.trajectory_period
            coming = motion.upcoming(period) if period else None
            if coming is not None:
                start, points = coming
                names = self._model.joint_names
                self._display.publish(trajectory_message(names, start, points))

    # Diagnostics

    def _statuses(self) -> Iterator[DiagnosticStatus]:
        yield from super()._statuses()
        if self._motion.is_there:
            yield self._task_status()

    def _task_status(self) -> DiagnosticStatus:
        q, planner, motion = self._law.desired[0], self._planner, self._motion
        measures = planner.manipulability(q)
        smallest = float(measures.smallest_singular_value)
        values: dict[str, object] = {
            "tool": self.parameters.tool,
            "manipulability": float(measures.yoshikawa),
            "smallest singular value": smallest,
            "condition number": float(measures.condition_number),
        }
        if planner.resolution.damping is not None:
            values["directions lost, damping"] = planner.lost_directions
        wanted = motion.wanted_pose
        if wanted is not None:
            off = planner.errors(wanted, q)
            values["induced error [m]"], values["induced error [rad]"] = map(float, off)
        distance = distance_to_limits(self._soft_limits, q)
        k = int(distance.argmin())
        values["nearest to its limit"] = self._model.joint_names[k]
        values["distance [rad or m]"] = float(distance[k])
        text = f"planning {self._planning[-1]}" if self._planning else motion.mode
        level = OK
        if smallest < self.parameters.singularity_margin:
            level, text = WARN, f"{text}, near a singularity"
        if distance[k] < 0.0:
            level, text = ERROR, f"{text}, outside the joint limits"
        return self._status("task", level, text, values)


def tool_task(p: TaskSpaceParameters) -> Task:
    """The task of the tool. Raises InputError for invalid components or an invalid offset."""
    offset = None
    if p.tool_offset:
        x, y, z, *quaternion = p.tool_offset
        rotation = Quaternion(**dict(zip("xyzw", quaternion, strict=True)))
        offset = pose_matrix(Point(x=x, y=y, z=z), rotation, "tool_offset")
    axes = None if p.task_axes == "default" else p.task_axes
    return Task(p.tool, p.components, offset, axes)


def resolution_of(p: TaskSpaceParameters) -> RedundancyResolution:
    """Secondary motions and damping; only damping needs feedback, against drift."""
    return RedundancyResolution(
        weights=np.array(p.joint_weights) if p.joint_weights else None,
        posture=np.array(p.posture) if p.posture else None,
        posture_gain=p.posture_gain,
        limit_margin=p.limit_margin,
        limit_speed=p.limit_speed,
        damping=Damping(p.damping) if p.damping else None,
        feedback=p.feedback if p.damping else 0.0,
        length=p.length,
    )


def main(args: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(TaskSpaceNode, args)


if __name__ == "__main__":
    sys.exit(main())
