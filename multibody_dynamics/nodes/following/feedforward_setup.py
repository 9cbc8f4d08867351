# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a node creates for its feedforward when it is configured: the law and the publishers."""

from ...dynamics.control import FeedforwardLaw, StiffnessReference, position_checks
from ..base.runtime import ManagedNode
from .controlled_robot import ControlledRobot
from .feedforward_outputs import FeedforwardOutputs
from .feedforward_parameters import FeedforwardParameters


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
        self.law = FeedforwardLaw(model, actuators, gravity_compensated_by_robot=is_compensated)
        self.stiffness = StiffnessReference(actuators)
        self.position_check = position_checks(model, actuators)["links"]
        self.outputs = FeedforwardOutputs(node, robot)
        node.get_logger().info(f"configured for {model.name}: {', '.join(model.joint_names)}")

    def reconfigure(self, p: FeedforwardParameters) -> None:
        """Take over live parameters."""
        self.law.variant = p.variant
        self.position_check.factor = p.state_speed_factor
        self.stiffness.torque_scale = p.torque_limit_scale
