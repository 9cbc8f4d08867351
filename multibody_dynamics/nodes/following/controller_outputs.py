# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The messages that the flatness controller publishes every cycle."""

import numpy as np
from sensor_msgs.msg import JointState

from ...dynamics.control import Command, Contact
from ...dynamics.core import Array
from ..base.messages import SECOND, joint_state_message, set_stamp, view
from ..base.outputs import Outputs, fill
from ..base.qos import RELIABLE
from ..base.runtime import ManagedNode
from .controlled_robot import ControlledRobot
from .flatness_controller_parameters import FlatnessControllerParameters

TORQUES, REPORTS = slice(0, 2), slice(2, None)  # topics, in the order of their creation


class ControllerOutputs(Outputs):
    """The publishers of the controller; commands are published first, because robots wait for them.

    detects: whether collisions are detected.
    """

    def __init__(
        self,
        node: ManagedNode[FlatnessControllerParameters],
        robot: ControlledRobot,
        *,
        detects: bool,
    ) -> None:
        super().__init__(node)
        actuators = robot.actuators
        joints, motors = actuators.joint_names, actuators.motor_names
        self._order = robot.command_order
        self._commands = self.command_array("~/commands", [motors[k] for k in self._order])
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

    def send(self, command: Command) -> None:
        """Publish the torque alone, on both of its topics: the robot waits for it."""
        assert command.torque is not None
        np.take(command.torque, self._order, out=self._commands)
        self._torque[:] = command.torque
        set_stamp(self._stamp, command.stamp)
        self._publish(TORQUES)

    def publish(self, command: Command, motors: Array) -> None:
        """Publish the rest of the cycle whose torque has been sent; motors: (2, m) theta and theta'
        of the reference, limited."""
        assert command.torque is not None
        set_stamp(self._point.time_from_start, int(SECOND * command.ahead_by))
        fill(self._motor_rows, (*motors, command.reference[2], command.torque))
        fill(self._state_rows, (*command.estimated, command.joint_torque))
        fill(self._error_rows, command.error)
        if self._external:
            assert command.external is not None
            self._external[0][:] = command.external
        for row, values in zip(self._free_rows, command.second, strict=False):
            row[:] = values[self._free]
        self._publish(REPORTS)

    def publish_collision(self, contact: Contact, command: Command) -> None:
        """Publish a contact: the state, and the external torques as effort."""
        assert self._collision is not None
        publisher, message, rows = self._collision
        fill(rows, (*command.estimated, contact.torque))
        set_stamp(message.header.stamp, contact.stamp)
        publisher.publish(message)

    def close(self) -> None:
        super().close()
        if self._collision is not None:
            self._node.destroy_lifecycle_publisher(self._collision[0])
