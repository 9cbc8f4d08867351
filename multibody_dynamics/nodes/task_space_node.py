# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torque feedforward for tool motions: receives a pose, a path or a trajectory of the end effector,
and publishes joint torques with their first two rates, and motor commands, like feedforward_node.

A path is planned completely before the robot moves, in another process. A path with an
unreachable pose, a joint limit or a singularity is rejected, with the reason and the place. The
feedforward law, its cycle and its outputs are those of feedforward_node. docs/task_space_node.md
describes topics, parameters and behaviour.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from nav_msgs.msg import Path
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from ..dynamics.control import TrajectoryRequest
from ..dynamics.core import Array
from ..dynamics.elastic import Actuators
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import distance_to_limits
from ..dynamics.rigid import frame_pose
from ..dynamics.tasks import Damping, RedundancyResolution, Task
from .base.diagnostics import ERROR, OK, WARN
from .base.messages import MessageError, nanoseconds, trajectory_message
from .base.parameters import ParameterError
from .base.qos import RELIABLE
from .base.runtime import run
from .feedforward_node import FeedforwardNode, FeedforwardOutputs
from .following.large_trajectories import start_of
from .task_space.path_planning import PathLimits, PathPlanner
from .task_space.planning_process import (
    LARGE,
    PlannedPath,
    PlannerSetup,
    PlanningProcess,
    convert_points,
    plan_path,
    read_poses,
)
from .task_space.task_space_parameters import TaskSpaceParameters
from .task_space.tool_messages import pose_matrix, read_cartesian_trajectory, read_path, read_target
from .task_space.tool_motion import ToolMotion


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
        self._process: PlanningProcess | None = None

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
        # The process plans paths and converts large trajectories; the planner in this node converts
        # the others and follows the planned paths.
        setup = PlannerSetup(model, task, resolution_of(p), self._soft_limits)
        self._planner = PathPlanner(*setup)
        self._process = PlanningProcess(setup, self.defer)
        self._display = self.create_lifecycle_publisher(
            JointTrajectory, "joint_trajectory", RELIABLE
        )
        return super()._make(model, actuators)

    def _make_motion(self) -> ToolMotion:
        return ToolMotion(self._model.joint_names, self._soft_limits)

    def activate(self) -> None:
        self._planning: list[str] = []  # topics of the requests in the queue of the process
        self._shown = 0  # the version of the motion that was published last
        super().activate()

    def _listen_to_motions(self) -> None:
        self._listen(PoseStamped, "target_pose", self._on_target, RELIABLE)
        self._listen(Path, "cartesian_path", self._on_path, RELIABLE, raw=True)
        self._listen(
            MultiDOFJointTrajectory,
            "cartesian_trajectory",
            self._on_cartesian_trajectory,
            RELIABLE,
            raw=True,
        )

    def deactivate(self) -> None:
        super().deactivate()
        if self._process is not None:
            self._process.drop()

    def cleanup(self) -> None:
        super().cleanup()
        if self._process is not None:
            self._process.close()
            self._process = None
        if self._display is not None:
            self.destroy_lifecycle_publisher(self._display)
            self._display = None

    # Inputs

    def _on_target(self, message: PoseStamped) -> None:
        self._on_poses("target_pose", message, read_target)

    def _on_path(self, data: bytes) -> None:
        topic = "cartesian_path"
        if len(data) <= LARGE:
            self._on_poses(topic, deserialize_message(data, Path), read_path)
            return
        try:
            self._check_start(start_of(data))
            self._check_may_move()
            q = self._desired_position()
        except MessageError as error:
            self._reject(topic, error)
            return
        self._work(topic, lambda poses: self._through(topic, poses), read_poses, data, q)

    def _on_poses(
        self, topic: str, message: Any, read: Callable[[Any, Callable[[str], Array]], Array]
    ) -> None:
        try:
            self._check_start(nanoseconds(message.header.stamp))
            poses = read(message, self._frame)
            if not len(poses):
                self._motion.stop(self.parameters.stop_duration)
                self._count(topic)
                return
            self._through(topic, poses)
        except MessageError as error:
            self._reject(topic, error)

    def _through(self, topic: str, poses: Array) -> None:
        """Stop on the current path, plan from there, and continue when both are done."""
        p = self.parameters
        self._check_may_move()
        q = self._motion.come_to_rest(p.stop_duration)

        def take_over(planned: PlannedPath) -> None:
            motion = self._planner.motion(*planned)
            self._motion.take_over(motion, self._position, tolerance=p.start_tolerance)
            self._count(topic)

        self._work(topic, take_over, plan_path, q, poses, self._path_limits(), p.path_shape)

    def _on_cartesian_trajectory(self, data: bytes) -> None:
        topic, p = "cartesian_trajectory", self.parameters

        def take_over(points: TrajectoryRequest) -> None:
            self._motion.follow(
                points, self._position, tolerance=p.start_tolerance, lead=p.splice_lead
            )
            self._count(topic)

        try:
            if len(data) > LARGE:
                self._check_may_move()
                inputs = data, self._desired_position(), self._path_limits(), p.stop_duration
                self._work(topic, take_over, convert_points, *inputs)
                return
            message = deserialize_message(data, MultiDOFJointTrajectory)
            request = read_cartesian_trajectory(message, p.tool, self._frame)
            if not len(request.times):
                self._motion.stop(p.stop_duration)
                self._count(topic)
                return
            self._check_may_move()
            q, limits = self._desired_position(), self._path_limits()
            take_over(self._planner.joint_points(request, q, limits, p.stop_duration))
        except MessageError as error:
            self._reject(topic, error)

    def _work(
        self, topic: str, take: Callable[[Any], object], function: Callable[..., Any], *inputs: Any
    ) -> None:
        """Compute function(*inputs) in the process, then `take` the result, unless superseded."""
        motion = self._motion
        self._planning.append(topic)
        motion.version += 1
        version = motion.version

        def finish(result: Any) -> None:
            if self._motion is not motion or not self._is_running:
                return
            del self._planning[0]
            try:
                if motion.version != version:
                    raise MessageError("superseded", "a newer request arrived during planning")
                if isinstance(result, MessageError):
                    raise result
                self._check_may_move()
                take(result)
            except MessageError as error:
                self._reject(topic, error)

        assert self._process is not None
        self._process.submit(finish, function, *inputs)

    def _check_start(self, stamp: int) -> None:
        """Check the stamp of a request (ns); 0: now."""
        if stamp:
            self._check_stamp(stamp)

    def _desired_position(self) -> Array:
        if not self._motion.is_there:
            raise MessageError("no state", "no joint state received yet to start from")
        return self._law.desired[0].copy()

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
