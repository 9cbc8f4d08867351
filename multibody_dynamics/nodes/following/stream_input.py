# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Streams of targets for the joints, from the topics that `stream_topics` names."""

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ...dynamics.control import StreamSettings, TrajectoryRequest, design_stream
from ...dynamics.core import Array
from ..base.messages import JointMatcher, MessageError, nanoseconds, read_command_array, unusable
from ..base.node_inputs import Inputs
from ..base.qos import best_effort
from ..base.runtime import ManagedNode
from .controlled_robot import ControlledRobot
from .followed_motion import FollowedMotion
from .motor_limits import MotorLimits

TARGETS, COMMANDS, TRAJECTORIES = "joint_targets", "position_commands", "joint_trajectory"
DEPTH = 20  # messages that may arrive within one cycle


class StreamInput:
    """Passes targets to `followed` from activation on, if `stream_topics` names their topic.

    stiffness : (v,) initial second outputs. Raises InputError if the settings of streams do not
    suit the robot.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        inputs: Inputs,
        followed: FollowedMotion,
        robot: ControlledRobot,
        limits: MotorLimits,
        stiffness: Array,
    ) -> None:
        p = node.parameters
        if not p.stream_topics:
            return
        names = robot.model.joint_names
        settings = StreamSettings(
            stream_delay=p.stream_delay,
            stream_smoothing=p.stream_smoothing,
            stream_acceleration=p.stream_acceleration,
        )
        designed = design_stream(
            robot.model, robot.actuators, robot.soft_limits, limits.limits, settings,
            stiffness=stiffness,
        )  # fmt: skip
        followed.allow_streams(designed)
        self._followed, self._matcher = followed, JointMatcher(names)
        # One value per joint, in the order of command_joints; of the robot if these are motors.
        self._order = p.command_joints if set(p.command_joints) == set(names) else names
        if TARGETS in p.stream_topics:
            inputs.listen(JointState, TARGETS, self._on_targets, best_effort(DEPTH))
        if COMMANDS in p.stream_topics:
            inputs.listen(Float64MultiArray, COMMANDS, self._on_commands, best_effort(DEPTH))
        node.get_logger().info(
            f"streams: {', '.join(p.stream_topics)}; averaged over {designed.smoothing:.3g} s,"
            f" accelerations up to {np.array2string(designed.acceleration, precision=3)}"
        )

    def _on_targets(self, message: JointState) -> None:
        match = self._matcher.match_all(message.name)
        rows: list[Array | None] = []
        for field in ("position", "velocity"):
            given = np.array(getattr(message, field))
            if len(given) not in (0, len(message.name)) or (field == "position" and not len(given)):
                raise MessageError(
                    "wrong length", f"{len(message.name)} names but {len(given)} values in {field}"
                )
            row = None
            if len(given):
                row = np.empty((1, len(match.target)))
                row[0, match.target] = given[match.source]
                for k in unusable(row):
                    name = self._matcher.joint_names[k]
                    raise MessageError("not finite", f"{field} of '{name}' is {row[0, k]}")
            rows.append(row)
        start = nanoseconds(message.header.stamp) or None
        self._followed.stream(TrajectoryRequest(start, np.zeros(1), *rows, None))

    def _on_commands(self, message: Float64MultiArray) -> None:
        given = dict(zip(self._order, read_command_array(message, self._order), strict=True))
        row = np.array([[given[name] for name in self._matcher.joint_names]])
        self._followed.stream(TrajectoryRequest(None, np.zeros(1), row, None, None))
