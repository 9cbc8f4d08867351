# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws of the flatness controller, made from its parameters."""

import numpy as np
import pytest

from elastic_arms import Arm, linear_arm, shipped
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.arm.desired_motion import DesiredMotion
from multibody_dynamics.dynamics.control.arm.stiffness_reference import StiffnessReference
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.following.controlled_arm import make_arm, stop_report
from multibody_dynamics.nodes.following.controlled_robot import ControlledRobot
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    FlatnessControllerParameters,
)


def made(arm: Arm, parameters: FlatnessControllerParameters) -> control.Arm:
    model, limits = arm.model, arm.model.limits
    order = np.arange(len(arm.actuators.motors))
    robot = ControlledRobot(model, arm.actuators, limits, order)
    return make_arm(robot, parameters, DesiredMotion(model.joint_names, limits))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"design_position": (0.1,)}, "design_position has 1 values; expected 2 or none"),
        ({"adaptation": "links"}, "adaptation 'links': body 'upper_arm' has no mass or no extent"),
        ({"adaptation": "payload", "payload_link": "hand"}, "adaptation 'payload': .*'hand'"),
    ],
)
def test_parameters_that_do_not_fit_the_robot_are_rejected(changes, message):
    arm = linear_arm()
    with pytest.raises(ParameterError, match=message):
        made(arm, FlatnessControllerParameters(**changes))


@pytest.mark.parametrize("goal", [(), (90.0,), (1e6,)])
def test_laws_are_judged_with_the_stiffness_from_which_the_reference_begins(goal):
    arm = shipped("antagonistic_elbow")  # its motors hold less than its springs allow
    parameters = FlatnessControllerParameters(initial_stiffness=goal)
    reference = StiffnessReference(arm.actuators)
    found = made(arm, parameters)
    torque = np.zeros(arm.model.n)
    reference.begin(goal, None, torque, 0, 0.0)
    reference.evaluate(0, torque)
    assert np.array_equal(found.second.rows[0], reference.rows[0])
    assert np.array_equal(found.laws.second, reference.rows[0])


def test_missing_friction_is_one_warning_for_all_joints():
    arm = linear_arm()
    p = FlatnessControllerParameters(stop_timeout=0.1)
    _, warnings = stop_report(made(arm, p), p)
    (friction,) = [line for line in warnings if "friction" in line]
    assert all(f"'{name}' needs " in friction for name in arm.actuators.motor_names)


def test_the_forecast_of_the_stop_says_once_what_delay_is_stable():
    arm = linear_arm()
    p = FlatnessControllerParameters()
    lines, _ = stop_report(made(arm, p), p)
    distances, stable = lines
    assert all(f"'{name}' at " in distances for name in arm.actuators.motor_names)
    assert "stable" in stable
    assert "stable" not in distances
    assert " 0 ms late" not in stable
