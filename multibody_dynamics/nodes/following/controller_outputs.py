# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The messages that the flatness controller publishes every cycle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState

from ...dynamics.control import PUSH, FlatnessLaw
from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ..base.messages import joint_state_message, set_stamp, view
from ..base.outputs import Outputs
from ..base.qos import RELIABLE
from .collision_reaction import Contact


class ControllerOutputs(Outputs):
    """The publishers of the controller; commands are published first, because robots wait for them.

    order: indices of the motors in the order of ~/commands. detects: whether collisions are
    detected.
    """

    def __init__(
        self, node: LifecycleNode, actuators: Actuators, order: NDArray[np.intp], *, detects: bool
    ) -> None:
        super().__init__(node)
        joints, motors = actuators.joint_names, actuators.motor_names
        self._order = order
        self._commands = self.command_array("~/commands", [motors[k] for k in order])
        (self._torque,) = self.joint_state("~/motor_torque", motors, "effort")
        self._point, self._motor_rows = self.motor_command("~/motor_command", motors)
        self._state_rows = self.joint_state(
            "~/estimated_state", joints, "position", "velocity", "effort"
        )
        self._error_rows = self.joint_state("~/tracking_error", joints, "position", "velocity")
        self._collision = None
        if detects:
            message = joint_state_message(joints, "position", "velocity", "effort")
            rows = [view(getattr(message, name)) for name in ("position", "velocity", "effort")]
            made = node.create_lifecycle_publisher(JointState, "~/collision", RELIABLE)
            self._collision = made, message, rows
        self._external = self.joint_state("~/external_torque", joints, "effort") if detects else []
        # Stiffnesses that are set by a separate device instead of a motor.
        each = [(i, j) for i, a, m, j in actuators.each() if a.second_output and len(m) == 1]
        self._free = [j for _, j in each]
        names = [joints[i] for i, _ in each]
        self._free_rows = (
            self.joint_state("~/stiffness_command", names, "position", "velocity") if names else []
        )

    def publish(
        self, stamp: int, lookahead: int, law: FlatnessLaw, error: Array, torque: Array
    ) -> None:
        """Publish one cycle; error: (2, n) of positions and velocities; stamp, lookahead: ns."""
        set_stamp(self._point.time_from_start, lookahead)
        np.take(torque, self._order, out=self._commands)
        self._torque[:] = torque
        for row, values in zip(self._motor_rows, law.reference.result, strict=True):
            row[:] = values
        self._motor_rows[3][:] = torque
        state = law.arm.estimator.state
        for row, values in zip(
            self._state_rows, (state.q, state.qd, law.joint_torque), strict=True
        ):
            row[:] = values
        for row, values in zip(self._error_rows, error, strict=True):
            row[:] = values
        if law.arm.detector is not None:
            self._external[0][:] = law.arm.detector.residual[PUSH]
        for row, values in zip(self._free_rows, law.stiffness, strict=False):
            row[:] = values[self._free]
        self.publish_all(stamp)

    def publish_collision(self, contact: Contact, law: FlatnessLaw) -> None:
        """Publish a contact: the state, and the external torques as effort."""
        assert self._collision is not None
        publisher, message, rows = self._collision
        state = law.arm.estimator.state
        for row, values in zip(rows, (state.q, state.qd, contact.torque), strict=True):
            row[:] = values
        set_stamp(message.header.stamp, contact.stamp)
        publisher.publish(message)

    def close(self) -> None:
        super().close()
        if self._collision is not None:
            self._node.destroy_lifecycle_publisher(self._collision[0])
