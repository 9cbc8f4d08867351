# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The messages that a node with the feedforward law publishes every cycle."""

import numpy as np

from ...dynamics.control import FeedforwardLaw
from ...dynamics.core import Array
from ..base.messages import set_stamp
from ..base.outputs import Outputs
from ..base.runtime import ManagedNode
from .controlled_robot import ControlledRobot
from .feedforward_parameters import FeedforwardParameters


class FeedforwardOutputs(Outputs):
    """The publishers of the node; commands are published first, because drives wait for them."""

    def __init__(self, node: ManagedNode[FeedforwardParameters], robot: ControlledRobot) -> None:
        super().__init__(node)
        joints, motors = robot.actuators.joint_names, robot.actuators.motor_names
        self._order = robot.command_order
        self._commands = self.command_array("~/commands", [motors[k] for k in self._order])
        self._point, self._motor_rows = self.motor_command("~/motor_command", motors)
        self._torque_rows = [
            self.joint_state(f"~/{name}", joints, "effort")[0]
            for name in ("torque", "torque_rate", "torque_acceleration")
        ]

    def publish(
        self,
        stamp: int,
        lookahead: int,
        law: FeedforwardLaw,
        torque: Array,
        position: Array,
        speed: Array,
    ) -> None:
        """Publish one cycle; the commands apply `lookahead` ns after `stamp` (ns). torque,
        position, speed: (m,) of the motors, limited."""
        set_stamp(self._point.time_from_start, lookahead)
        for row, values in zip(self._torque_rows, law.torque, strict=True):
            row[:] = values
        motor = (position, speed, law.motor.acceleration, torque)
        for row, values in zip(self._motor_rows, motor, strict=True):
            row[:] = values
        np.take(torque, self._order, out=self._commands)
        self.publish_all(stamp)
