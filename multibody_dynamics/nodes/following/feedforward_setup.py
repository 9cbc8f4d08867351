# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a node creates for its feedforward when it is configured: the law and the publishers."""

import numpy as np

from ...dynamics.control import FeedforwardLaw, StiffnessReference, position_checks
from ...dynamics.core import Array, InputError
from ...dynamics.model import MultibodyModel
from ...dynamics.tasks import Contact, StandingForces
from ..base.messages import set_stamp
from ..base.outputs import Outputs, fill
from ..base.parameters import ParameterError
from ..base.runtime import ManagedNode
from .controlled_robot import ControlledRobot
from .following_parameters import FeedforwardParameters


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
        self, stamp: int, lookahead: int, law: FeedforwardLaw, torque: Array, motors: Array
    ) -> None:
        """Publish one cycle; the commands apply `lookahead` ns after `stamp` (ns). torque: (m,)
        and motors: (2, m) theta and theta', limited."""
        set_stamp(self._point.time_from_start, lookahead)
        fill(self._torque_rows, law.torque)
        fill(self._motor_rows, (*motors, law.motor.acceleration, torque))
        np.take(torque, self._order, out=self._commands)
        self.publish_all(stamp)


class FeedforwardSetup:
    """The parts of a node with feedforward that last from its configuration until it is cleaned up.

    Attributes: `robot`; `law`; `stiffness`, the reference of the second outputs; `position_check`
    of the links; `outputs`; `gravity`, where it is compensated, for messages.
    """

    def __init__(self, node: ManagedNode[FeedforwardParameters], robot: ControlledRobot) -> None:
        model, actuators = robot.model, robot.actuators
        self.robot = robot
        is_compensated = node.parameters.gravity_compensated_by_robot
        self.gravity = "compensated by the robot" if is_compensated else "included in all torques"
        self.law = FeedforwardLaw(
            model,
            actuators,
            gravity_compensated_by_robot=is_compensated,
            ground=_ground(model, node.parameters),
        )
        self.stiffness = StiffnessReference(actuators)
        self.position_check = position_checks(model, actuators)["links"]
        self.outputs = FeedforwardOutputs(node, robot)
        self.reconfigure(node.parameters)
        node.get_logger().info(f"configured for {model.name}: {', '.join(model.joint_names)}")

    def reconfigure(self, p: FeedforwardParameters) -> None:
        """Take over live parameters."""
        self.law.variant = p.variant
        self.position_check.factor = p.state_speed_factor
        self.stiffness.torque_scale = p.torque_limit_scale


def _ground(model: MultibodyModel, p: FeedforwardParameters) -> StandingForces | None:
    """The forces of the ground, if there are contacts. Raises ParameterError."""
    if not p.contact_frames:
        return None
    try:
        contacts = [Contact(name, friction=p.contact_friction) for name in p.contact_frames]
        return StandingForces(model, contacts)
    except InputError as error:
        raise ParameterError(f"contact_frames: {error}") from None
