# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of generated controllers: those of the laws in Python, and refusals by name."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import elastic_panda, variable_arm
from generated_controllers import designed
from multibody_dynamics.dynamics.control.laws.controller_settings import (
    ControllerSettings,
    make_controller,
)
from multibody_dynamics.tools.robot.generated_design import motors_at_rest, start_position
from rejections import assert_rejected


@pytest.mark.parametrize("law", ["motor_pd", "state_feedback"])
def test_gains_are_those_of_the_law(law):
    arm = elastic_panda()
    design = designed(arm, law=law, delay=2e-3, bandwidth=15.0)
    settings = ControllerSettings(law=law, bandwidth=15.0, position=arm.rest)
    own = make_controller(arm.model, arm.actuators, settings)
    p = design.parameters
    np.testing.assert_array_equal(p["gains"], own.gains.values)
    hold = make_controller(
        arm.model, arm.actuators, ControllerSettings(law="hold", position=arm.rest)
    )
    np.testing.assert_array_equal(p["hold_gains"], hold.gains.values[2:])
    assert p["lead"] == 2.5e-3
    assert p["follows"] == 1
    np.testing.assert_array_equal(p["motor_disturbance_limit"], 0.5 * arm.actuators.torque_limit)
    np.testing.assert_array_equal(start_position(design), arm.rest)


def test_timeouts_are_longer_than_a_period():
    arm = elastic_panda()
    for period, timeout in ((1e-3, 0.01), (5e-3, 0.015)):
        p = designed(arm, period=period).parameters
        assert p["link_timeout"] == p["motor_timeout"] == pytest.approx(timeout)
    assert designed(arm, link_timeout=0.002).parameters["link_timeout"] == 0.002


def test_torques_stay_within_the_effort_limits_of_the_robot():
    """As those of flatness_controller_node; one of several motors of a joint has its own limit."""
    arm = elastic_panda()
    effort = np.r_[0.5, 2.0, np.ones(5)] * arm.actuators.torque_limit
    limits = arm.model.limits._replace(effort=effort)
    limited = arm._replace(model=replace(arm.model, limits=limits))
    expected = np.r_[0.5, np.ones(6)] * arm.actuators.torque_limit
    np.testing.assert_array_equal(designed(limited).parameters["torque_limit"], expected)
    stuck = arm._replace(model=replace(arm.model, limits=limits._replace(effort=0.0 * effort)))
    assert_rejected((lambda: designed(stuck), "torque_limit, the robot's effort limits"))
    arm = variable_arm()
    several = arm.actuators.torque_limit_within(np.zeros(arm.model.n))
    counts = np.bincount(arm.actuators.joint_of_motor)[arm.actuators.joint_of_motor]
    own = np.where(counts > 1, arm.actuators.torque_limit, 0.0)
    np.testing.assert_array_equal(several, own)


def test_a_motor_that_sets_a_stiffness_has_no_range_of_links():
    arm = variable_arm()
    p = designed(arm).parameters
    assert arm.actuators.motor_names[1] == "shoulder_stiffness" or len(p["hold_upper"]) == 3
    assert p["hold_lower"][1] == -np.inf
    assert p["hold_upper"][1] == np.inf


def test_motors_at_rest_carry_gravity():
    arm = elastic_panda()
    design = designed(arm)
    deflection = motors_at_rest(design, arm.rest) - arm.rest
    load = arm.actuators.springs(arm.rest, np.zeros(7), arm.rest + deflection, np.zeros(7)).torque
    held = make_controller(
        arm.model, arm.actuators, ControllerSettings(law="hold", position=arm.rest)
    ).update(None, None, None, arm.rest + deflection, np.zeros(7))
    np.testing.assert_allclose(load, held, atol=1e-6)


def test_wrong_options_are_named():
    def wrong(**options):
        return lambda: designed(elastic_panda(), **options)

    assert_rejected(
        (wrong(law="torque_control"), "expected one of motor_pd, state_feedback, hold"),
        (wrong(period=-1.0), "period is -1"),
        (wrong(stop_acceleration=0.0), "stop_acceleration is 0.0: must be one or 7 positive"),
        (wrong(filter_order=5), "order"),
        (wrong(max_step=0.0), "max_step"),
        (wrong(filter_bandwidth=-1.0), "bandwidth"),
        (wrong(speed_factor=0.0), "speed is"),
        (wrong(friction=1.5), "friction"),
        (wrong(disturbance_bandwidth=-1.0), "disturbance_bandwidth"),
        (wrong(delay=-1e-3), "delay is -0.001"),
        (wrong(delay=1.0), "lead, half a period and the delay, is 1.0005: must be within"),
        (wrong(recovery_speed=0.0), "recovery_speed is 0.0: must be within (0, inf]"),
        (wrong(recovery_limit=33), "recovery_limit is 33: must be within [0, 32]"),
        (wrong(link_timeout=0.001), "link_timeout is 0.001: (period, inf]"),
    )
