# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The tool motions that a node receives: the topics `target_pose`, `cartesian_path` and
`cartesian_trajectory`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...dynamics.control import TrajectoryRequest
from ...dynamics.core import Array
from ...dynamics.rigid import frame_pose
from ..base.cycle_supervisor import CycleSupervisor
from ..base.messages import MessageError, nanoseconds
from ..base.node_inputs import Inputs
from ..base.pose_messages import read_cartesian_trajectory, read_path, read_target
from ..base.qos import RELIABLE
from ..base.runtime import ManagedNode
from ..following.followed_motion import FollowedMotion
from ..following.large_trajectories import start_of
from .path_planning import SUPERSEDED, PathLimits, PathPlanner
from .planning_process import (
    LARGE,
    PlannedPath,
    PlanningProcess,
    convert_points,
    plan_path,
    read_poses,
)
from .task_space_parameters import TaskSpaceParameters
from .tool_motion import ToolMotion


class ToolInput:
    """Turns tool motions into joint motions for `followed`, from activation on.

    desired : (5, n) joint motion in the last cycle, a view. planner : converts what arrives in
        small messages, and follows paths. process : plans paths and converts the rest.

    Attribute `planning`: topics of the requests that wait for the process.
    """

    def __init__(
        self,
        node: ManagedNode[TaskSpaceParameters],
        inputs: Inputs,
        supervisor: CycleSupervisor,
        followed: FollowedMotion,
        desired: Array,
        planner: PathPlanner,
        process: PlanningProcess,
    ) -> None:
        self._node, self._inputs, self._supervisor = node, inputs, supervisor
        self._followed, self._desired = followed, desired
        assert isinstance(followed.motion, ToolMotion)
        self._motion = followed.motion
        self._planner, self._process = planner, process
        self._activation = node.activation
        self.planning: list[str] = []
        self._streamed: Array = desired[0].copy()  # (n,) the last target of a stream
        node.activation.callback(process.drop)
        inputs.listen(PoseStamped, "target_pose", self._on_target, RELIABLE)
        inputs.listen(Path, "cartesian_path", self._on_path, RELIABLE, raw=True)
        inputs.listen(
            MultiDOFJointTrajectory, "cartesian_trajectory", self._on_trajectory, RELIABLE, raw=True
        )

    def _on_target(self, message: PoseStamped) -> None:
        topic = "target_pose"
        if topic not in self._node.parameters.stream_topics:
            self._on_poses(topic, message, read_target)
            return
        stamp = nanoseconds(message.header.stamp)
        self._check_start(stamp)
        (pose,) = read_target(message, self._frame)
        q = self._planner.near(pose, self._last_target())
        self._stream(TrajectoryRequest(stamp or None, np.zeros(1), q[None], None, None))
        self._count(topic, self._followed.events.detail)  # a stream does not hide what ended a goal

    def _last_target(self) -> Array:
        """(n,) the last target of the stream, or where one would begin."""
        return self._desired_position() if self._motion.streamed is None else self._streamed

    def _stream(self, request: TrajectoryRequest) -> None:
        """Follow joint points as targets of the stream."""
        assert request.positions is not None
        self._followed.stream(request)
        self._streamed = request.positions[-1]

    def _on_path(self, data: bytes) -> None:
        topic = "cartesian_path"
        if len(data) <= LARGE:
            self._on_poses(topic, deserialize_message(data, Path), read_path)
            return
        self._check_start(start_of(data))
        self._followed.check_may_move()
        q = self._desired_position()
        self._work(topic, lambda poses: self._through(topic, poses), read_poses, data, q)

    def _on_poses(
        self, topic: str, message: Any, read: Callable[[Any, Callable[[str], Array]], Array]
    ) -> None:
        self._check_start(nanoseconds(message.header.stamp))
        poses = read(message, self._frame)
        if len(poses):
            self._through(topic, poses)
        else:
            self._stop(topic)

    def _through(self, topic: str, poses: Array) -> None:
        """Stop on the current path, plan from there, and continue when both are done."""
        p, motion = self._node.parameters, self._motion
        self._followed.check_may_move()
        q = motion.come_to_rest(p.stop_duration)

        def take_over(planned: PlannedPath) -> None:
            position = self._followed.position
            motion.take_over(self._planner.motion(*planned), position, tolerance=p.start_tolerance)
            self._count(topic)
            self._followed.begin_goal()

        self._work(topic, take_over, plan_path, q, poses, self._path_limits(), p.path_shape)

    def _on_trajectory(self, data: bytes) -> None:
        topic, p = "cartesian_trajectory", self._node.parameters

        def take_over(points: TrajectoryRequest) -> None:
            self._followed.follow(points)
            self._count(topic)

        is_stream = topic in p.stream_topics
        if not is_stream and len(data) > LARGE:
            self._followed.check_may_move()
            inputs = data, self._desired_position(), self._path_limits(), p.stop_duration
            self._work(topic, take_over, convert_points, *inputs)
            return
        message = deserialize_message(data, MultiDOFJointTrajectory)
        request = read_cartesian_trajectory(message, p.tool, self._frame)
        if not len(request.times):
            self._stop(topic)
            return
        self._followed.check_may_move()
        limits = self._path_limits()
        if is_stream:
            q = self._last_target()
            self._stream(self._planner.joint_points(request, q, limits, None))
            return
        q = self._desired_position()
        take_over(self._planner.joint_points(request, q, limits, p.stop_duration))

    def _work(
        self, topic: str, take: Callable[[Any], object], function: Callable[..., Any], *inputs: Any
    ) -> None:
        """Compute function(*inputs) in the process, then `take` the result, unless superseded."""
        motion = self._motion
        self.planning.append(topic)
        motion.version += 1
        version = motion.version

        def finish(result: Any) -> None:
            if self._activation.is_over:
                return
            del self.planning[0]
            try:
                if motion.version != version:
                    raise MessageError(*SUPERSEDED)
                if isinstance(result, MessageError):
                    raise result
                self._followed.check_may_move()
                take(result)
            except MessageError as error:
                self._inputs.reject(topic, error)

        self._process.submit(finish, function, *inputs)

    def _stop(self, topic: str) -> None:
        self._followed.stop()
        self._count(topic)

    def _count(self, topic: str, detail: str = "") -> None:
        self._followed.events.add(f"{topic} accepted", detail)

    def _check_start(self, stamp: int) -> None:
        """Check the stamp of a request (ns); 0: now."""
        if stamp:
            self._supervisor.check_stamp(stamp)

    def _desired_position(self) -> Array:
        if not self._motion.is_active:
            raise MessageError("no state", "no joint state received yet to start from")
        return self._desired[0].copy()

    def _frame(self, name: str) -> Array:
        """The pose of a message's frame at the current desired position, (4, 4)."""
        model = self._planner.model
        if name not in model.frames:
            raise MessageError("unknown frame", f"the robot has no link '{name}'")
        return frame_pose(model, self._desired_position(), name)

    def _path_limits(self) -> PathLimits:
        p = self._node.parameters
        return PathLimits(*(getattr(p, name) for name in PathLimits._fields))
