# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the feedforward creates, and which parameters it takes over later, in a live node."""

from dataclasses import replace

import pytest

from feedforward_arm import ACTUATORS, COMMAND_JOINTS, MODEL
from live_node import LiveNode, live_node
from multibody_dynamics.nodes.following.controlled_robot import ControlledRobot
from multibody_dynamics.nodes.following.feedforward_setup import FeedforwardSetup
from multibody_dynamics.nodes.following.following_parameters import FeedforwardParameters
from ros_harness import ros

__all__ = ["ros"]  # the fixture


@pytest.mark.parametrize(
    ("is_compensated", "text"),
    [(False, "included in all torques"), (True, "compensated by the robot")],
)
def test_the_law_is_that_of_the_robot_and_live_parameters_take_effect(ros, is_compensated, text):
    def create(node: LiveNode) -> None:
        order = [ACTUATORS.motor_names.index(name) for name in COMMAND_JOINTS]
        robot = ControlledRobot(MODEL, ACTUATORS, MODEL.limits, order)
        node.setup = FeedforwardSetup(node, robot)

    parameters = {"gravity_compensated_by_robot": is_compensated}
    parameters["command_joints"] = list(COMMAND_JOINTS)
    with live_node(ros, create, FeedforwardParameters, **parameters) as node:
        setup, p = node.setup, node.parameters
        assert setup.law.gravity_compensated_by_robot == is_compensated
        assert setup.gravity == text
        assert setup.position_check.names == MODEL.joint_names
        setup.reconfigure(
            replace(p, variant="static", state_speed_factor=3.0, torque_limit_scale=0.5)
        )
        assert setup.law.variant == "static"
        assert setup.position_check.factor == 3.0
        assert setup.stiffness.torque_scale == 0.5
