# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node that follows trajectories, and parameters that contradict it."""

from dataclasses import replace

import numpy as np
import pytest

from feedforward_arm import COMMAND_JOINTS, MODEL
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.following.controlled_robot import controlled_robot
from multibody_dynamics.nodes.following.following_parameters import FollowingParameters

GOOD = FollowingParameters(command_joints=COMMAND_JOINTS, position_margin=0.25, wrench_link="tool")


def test_limits_have_the_margin_and_motors_the_order_of_the_commands():
    robot = controlled_robot(MODEL, GOOD)
    np.testing.assert_array_equal(robot.soft_limits.lower, MODEL.limits.lower + 0.25)
    np.testing.assert_array_equal(robot.soft_limits.upper, MODEL.limits.upper - 0.25)
    names = robot.actuators.motor_names
    assert tuple(names[k] for k in robot.command_order) == COMMAND_JOINTS


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"command_joints": ()}, "command_joints is empty"),
        ({"command_joints": ("elbow", "wrist")}, "no joint 'wrist'; the robot has turret"),
        ({"wrench_link": "floor"}, "wrench_link 'floor' does not move"),
        ({"position_margin": 3.0}, "position_margin 3.0 leaves no range for 'turret'"),
        ({"initial_stiffness": (1.0,)}, "initial_stiffness has 1 values; expected none or 0"),
    ],
)
def test_a_parameter_that_contradicts_the_robot_is_named(change, says):
    with pytest.raises(ParameterError, match=says):
        controlled_robot(MODEL, replace(GOOD, **change))
