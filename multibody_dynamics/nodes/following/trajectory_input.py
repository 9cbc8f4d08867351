# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The trajectories that a node receives: the topic `joint_trajectory` and the action
`~/follow_joint_trajectory`."""

import time
from typing import Any

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from ...dynamics.control import TrajectoryRequest
from ...dynamics.model import Transmission
from ...dynamics.motion.streams import LONGEST_INTERVAL
from ..base.messages import JointMatcher, MessageError, read_trajectory
from ..base.node_inputs import Inputs
from ..base.qos import RELIABLE
from ..base.runtime import ManagedNode
from .followed_motion import FollowedMotion
from .large_trajectories import LARGE, LargeTrajectories, LargeTrajectory
from .trajectory_action import TrajectoryAction

SINGLES = 5  # single points in close succession, after which they look like a stream
TOPIC, ACTION = "joint_trajectory", "follow_joint_trajectory"


class TrajectoryInput:
    """Passes trajectories to `followed` from activation on; large ones are planned in another
    process first. The action answers goals until the node is cleaned up."""

    def __init__(
        self,
        node: ManagedNode[Any],
        inputs: Inputs,
        followed: FollowedMotion,
        action: TrajectoryAction,
        transmissions: tuple[Transmission, ...],
    ) -> None:
        self._node, self._inputs, self._followed = node, inputs, followed
        self._activation = node.activation
        self._matcher = JointMatcher(followed.motion.joint_names, transmissions)
        self._large = LargeTrajectories(node.defer, transmissions)
        self._singles, self._single_at = 0, 0.0  # single points in a row; s, the last one
        node.activation.callback(self._large.close)
        inputs.listen(JointTrajectory, TOPIC, self._on_trajectory, RELIABLE, raw=True)
        action.serve(self._on_goal, followed.stop)

    def _on_trajectory(self, data: bytes) -> None:
        p, large, followed = self._node.parameters, self._large, self._followed
        is_stream = TOPIC in p.stream_topics
        if large.drop():
            newer = MessageError("superseded", "a newer one arrived while it was being planned")
            self._inputs.reject(TOPIC, newer)
        if not is_stream and len(data) > LARGE and large.has_time(data, followed.motion):
            followed.check_may_move()
            large.plan(
                data, followed.motion, tolerance=p.start_tolerance, lead=p.splice_lead,
                shape=p.trajectory_shape, then=self._on_planned,
            )  # fmt: skip
            return
        request = read_trajectory(deserialize_message(data, JointTrajectory), self._matcher)
        if request.times.size == 0:
            followed.stop()
        elif is_stream:
            followed.stream(request)
            return
        else:
            followed.follow(request)
            self._note_single(request)
        followed.events.add("trajectories accepted")

    def _note_single(self, request: TrajectoryRequest) -> None:
        """Say once what becomes of single points that replace each other like those of a stream."""
        now, single = time.monotonic(), len(request.times) == 1
        is_next = single and now - self._single_at < LONGEST_INTERVAL
        self._singles, self._single_at = self._singles + 1 if is_next else 0, now if single else 0.0
        if self._singles == SINGLES:
            text = (
                f"{TOPIC} brings single points, each of which is a trajectory that ends at rest;"
                f" stream_topics: [{TOPIC}] follows them as a stream"
            )
            self._node.get_logger().warning(text)
            self._followed.events.add("single points like those of a stream", text)

    def _on_planned(self, planned: LargeTrajectory | MessageError) -> None:
        try:
            if isinstance(planned, MessageError):
                raise planned
            self._followed.follow(planned.request, planned=planned.planned)
        except MessageError as error:
            self._inputs.reject(TOPIC, error)
        else:
            self._followed.events.add("trajectories accepted")

    def _on_goal(self, goal: Any) -> None:
        """Follow a goal of the action, or raise MessageError."""
        followed = self._followed
        try:
            if self._activation.is_over:
                raise MessageError("not active", "the node is not active")
            request = read_trajectory(goal.trajectory, self._matcher)
            time = goal.goal_time_tolerance
            tolerances = followed.tolerances.changed(
                self._matcher.joint_names,
                goal.path_tolerance,
                goal.goal_tolerance,
                time.sec + 1e-9 * time.nanosec,
            )
            followed.follow(request, tolerances)
        except MessageError as error:
            self._inputs.reject(ACTION, error)
            raise
        followed.events.add("goals accepted")
