# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits of the motors: which one cuts a command, and how often."""

from dataclasses import replace

import numpy as np
import pytest

from feedforward_arm import ACTUATORS, COMMAND_JOINTS, MODEL, SPRINGS
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.diagnostics import OK, WARN
from multibody_dynamics.nodes.following.controlled_robot import ControlledRobot
from multibody_dynamics.nodes.following.following_parameters import FollowingParameters
from multibody_dynamics.nodes.following.motor_limits import MotorLimits

ORDER = np.array([MODEL.joint_names.index(name) for name in COMMAND_JOINTS])
DEFAULT = FollowingParameters(command_joints=COMMAND_JOINTS)


def limits(p: FollowingParameters = DEFAULT, actuators=ACTUATORS) -> MotorLimits:
    return MotorLimits(ControlledRobot(MODEL, actuators, MODEL.limits, ORDER), p)


def test_torques_are_cut_at_the_smaller_limit_which_is_named():
    springs = {"joints": {name: dict(spec) for name, spec in SPRINGS["joints"].items()}}
    motor = springs["joints"]["elbow"]["motor"] = dict(springs["joints"]["elbow"]["motor"])
    motor["torque_limit"] = {"value": 30.0, "unit": "N m", "side": "link"}
    made = limits(actuators=dyn.load_actuators(springs, MODEL.joint_names))
    torque = made.torque(np.array([-500.0, 1.0, 40.0]), np.zeros(3), 1.0)
    np.testing.assert_array_equal(torque, [-400.0, 1.0, 30.0])
    assert made.cuts.totals == {"torque of turret": 1, "torque of elbow": 1}
    assert made.cuts.detail.endswith(", the motor's torque limit")
    made.torque(np.array([500.0, 0.0, 0.0]), np.zeros(3), 1.0)
    assert made.cuts.detail.endswith(", the robot's effort limit")
    status = made.status()
    assert (status.level, status.text) == (WARN, "limited 3 times in the last second")
    assert made.status()[1:3] == (OK, "nothing limited")


def test_rates_are_in_the_order_of_the_commands_and_the_first_cycle_has_no_step():
    made = limits(
        replace(DEFAULT, torque_rate_limits=(10.0, 20.0, 30.0))
    )  # elbow, turret, shoulder
    wanted, last = np.full(3, 100.0), np.zeros(3)
    np.testing.assert_allclose(made.torque(wanted, last, 0.1), [2.0, 3.0, 1.0])
    assert np.abs(made.torque(wanted, last, 0.0)).max() < 1e-6
    made.set(replace(DEFAULT, torque_limit_scale=0.1))
    np.testing.assert_array_equal(made.torque(wanted, last, 0.1), [40.0, 40.0, 40.0])


def test_speeds_and_positions_are_limited_and_counted_by_motor():
    springs = {"joints": {name: dict(spec) for name, spec in SPRINGS["joints"].items()}}
    motor = springs["joints"]["elbow"]["motor"] = dict(springs["joints"]["elbow"]["motor"])
    motor["speed_limit"] = {"value": 2.0, "unit": "rad/s", "side": "link"}
    made = limits(actuators=dyn.load_actuators(springs, MODEL.joint_names))
    names, rows = ACTUATORS.motor_names, np.array([[0.0, 0.1, 99.0], [0.0, -9.0, -3.0]])
    motion = made.motion(rows)
    np.testing.assert_array_equal(motion[1], [0.0, -9.0, -2.0])
    assert 0.1 == motion[0, 1] < motion[0, 2] < 99.0
    assert made.cuts.totals == {"motor position of elbow": 1, "motor speed of elbow": 1}
    rows[0, 1] = np.nan
    with pytest.raises(dyn.InputError, match=names[1]):
        made.motion(rows)
