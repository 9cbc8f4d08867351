# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws designed from plain numbers, and new numbers for a running law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control.gains.joint_gains import optimal_gains
from multibody_dynamics.dynamics.control.laws.controller_designs import make_controller, retune
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS, ControllerSettings
from multibody_dynamics.dynamics.control.torque.torque_gains import inertia_shaping_gains
from multibody_dynamics.dynamics.control.torque.torque_loop import LoopTiming
from multibody_dynamics.dynamics.core.errors import InputError


def test_settings_reach_the_law():
    model, actuators, rest = linear_arm()

    def made(**settings):
        return make_controller(model, actuators, ControllerSettings(position=rest, **settings))

    law = made(law="motor_pd", proportional=[30.0, 20.0], derivative=2.0, friction=0.5)
    np.testing.assert_array_equal(law.gains.values[2:], [[30.0, 20.0], [2.0, 2.0]])
    np.testing.assert_array_equal(law.friction, 0.5)
    law = made(
        law="state_feedback", bandwidth=[10.0, 12.0], integral=2.0, disturbance_bandwidth=0.0
    )
    wanted = optimal_gains(model, actuators, rest, [10.0, 12.0]).values
    np.testing.assert_allclose(law.gains.values, wanted)
    np.testing.assert_allclose(law.integral, 2.0 * (wanted[0] + wanted[2]))
    four = (-25.0, -30.0, -40.0 + 10.0j, -40.0 - 10.0j)
    law = made(law="feedback_linearization", poles=four, lead=1e-3)
    np.testing.assert_array_equal(law.poles.poles[1], four)
    assert law.lead == 1e-3
    law = made(law="state_feedback", poles=four)
    assert np.abs(np.poly(law.gains.joint_poles[0]) - np.poly(four)).max() < 1e-3
    law = made(law="hold", torque_limit=[3.0, 4.0])
    np.testing.assert_array_equal(law.torque_limit, [3.0, 4.0])
    law = made(law="computed_torque", bandwidth=20.0, feedback="link")
    np.testing.assert_array_equal(law.gains, [[400.0, 400.0], [40.0, 40.0]])


def test_the_settings_of_a_torque_control():
    model, actuators, rest = linear_arm()
    timing = LoopTiming(delay=1e-3, velocity_filter=(3, 100.0))
    chosen = {"law": "torque_control", "position": rest, "delay": 1e-3}
    chosen |= {"velocity_filter": (3, 100.0), "torque_design": "inertia_shaping"}
    law = make_controller(model, actuators, ControllerSettings(**chosen, torque_bandwidth=70.0))
    wanted = inertia_shaping_gains(model, actuators, rest, 70.0, timing=timing)
    np.testing.assert_array_equal(law.gains.share, wanted.share)
    np.testing.assert_array_equal(law.gains.damping, wanted.damping)
    assert law.delay == 1e-3
    stiffness = law.link_stiffness
    retune(law, ControllerSettings(**chosen, torque_bandwidth=50.0, bandwidth=40.0))
    np.testing.assert_allclose(law.link_stiffness, 4.0 * stiffness)
    assert (law.gains.share > wanted.share).all()
    with pytest.raises(InputError, match="in more than gains"):
        retune(law, ControllerSettings(**(chosen | {"delay": 2e-3}), torque_bandwidth=50.0))
    for settings, message in (
        ({"torque_bandwidth": 900.0}, "the torque loop 'inertia_shaping' with a bandwidth of 900"),
        ({"torque_bandwidth": 70.0, "bandwidth": 500.0}, "around the torque loops, the arm has a"),
        ({"torque_design": "magic"}, "torque_design 'magic': expected one of inertia_shaping"),
        ({"torque_bandwidth": -1.0}, "torque_bandwidth is -1.0: must be"),
    ):
        with pytest.raises(InputError, match=message):
            make_controller(model, actuators, ControllerSettings(**(chosen | settings)))


def test_gains_are_designed_within_limits_of_which_one_is_infinite():
    model, actuators, _ = linear_arm()
    lower, upper = np.array([-1.0, 0.8]), np.array([2.0, np.inf])
    bounded = replace(model, limits=model.limits._replace(lower=lower, upper=upper))
    law = make_controller(bounded, actuators, ControllerSettings(law="state_feedback"))
    wanted = optimal_gains(model, actuators, np.array([0.5, 0.8]), LAWS["state_feedback"].bandwidth)
    np.testing.assert_array_equal(law.gains.values, wanted.values)


def test_retuning_keeps_the_integral():
    model, actuators, rest = linear_arm()
    chosen = {"law": "state_feedback", "position": rest, "disturbance_bandwidth": 0.0}
    law = make_controller(model, actuators, ControllerSettings(**chosen, integral=1.0))
    law.integral_torque[:] = (1.0, 2.0)
    retune(law, ControllerSettings(**chosen, bandwidth=10.0, integral=2.0, friction=0.3))
    wanted = optimal_gains(model, actuators, rest, 10.0).values
    np.testing.assert_array_equal(law.gains.values, wanted)
    np.testing.assert_array_equal(law.integral_torque, (1.0, 2.0))
    np.testing.assert_array_equal(law.friction, 0.3)
    before = law.gains
    with pytest.raises(InputError, match="bandwidth"):
        retune(law, ControllerSettings(**chosen, bandwidth=-1.0))
    with pytest.raises(InputError, match=r"law 'hold'.*make a new law"):
        retune(law, ControllerSettings(law="hold", position=rest))
    with pytest.raises(InputError, match=r"law 'state_feedback'.*make a new law"):
        retune(law, ControllerSettings(**chosen, variant="quasi_static"))
    with pytest.raises(InputError, match=r"law 'state_feedback'.*make a new law"):
        retune(law, ControllerSettings(**chosen, disturbance_share=0.2))
    assert law.gains is before


def test_retuning_after_a_missed_cycle_keeps_the_delay_line():
    """`period` of a running law is the last step, here of two cycles."""
    model, actuators, rest = linear_arm()
    chosen = {"law": "torque_control", "position": rest, "delay": 3e-3}
    law = make_controller(model, actuators, ControllerSettings(**chosen))
    shapes = [row.shape for row in law.memory]
    law.period = 2e-3
    retune(law, ControllerSettings(**chosen))
    assert [row.shape for row in law.memory] == shapes


def test_the_bandwidth_of_second_motors_cannot_be_retuned():
    model, actuators, rest = linear_arm()
    chosen = {"law": "joint_impedance", "position": rest}
    law = make_controller(model, actuators, ControllerSettings(**chosen))
    with pytest.raises(InputError, match="make a new law and switch to it"):
        retune(law, ControllerSettings(**chosen, bandwidth=80.0))


@pytest.mark.parametrize("change", ["inertia_share", "stiffness_time", "stiffness_energy"])
def test_what_an_impedance_keeps_while_it_runs_cannot_be_retuned(change):
    model, actuators, rest = linear_arm()
    chosen = {"law": "joint_impedance", "position": rest}
    law = make_controller(model, actuators, ControllerSettings(**chosen))
    retune(law, ControllerSettings(**chosen, damping_ratio=0.5))
    assert law.damping_ratio == 0.5
    with pytest.raises(InputError, match="make a new law and switch to it"):
        retune(law, ControllerSettings(**chosen, **{change: 0.9}))


def test_settings_that_do_not_fit_the_robot_are_rejected():
    model, actuators, _ = linear_arm()
    with pytest.raises(InputError, match="position"):
        make_controller(model, actuators, ControllerSettings(position=[0.0]))
    several = {"integral": [1.0, 2.0], "disturbance_bandwidth": 0.0, "gain_design": "coupled"}
    with pytest.raises(InputError, match=r"integral: expected one number .*gain_design 'coupled'"):
        make_controller(model, actuators, ControllerSettings(law="state_feedback", **several))


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (0, "panda", "model: expected a MultibodyModel, got 'panda'"),
        (1, None, "actuators: expected Actuators, got None"),
        (2, "motor_pd", "settings: expected ControllerSettings, got 'motor_pd'"),
    ],
)
def test_arguments_of_a_wrong_type_are_named(place, wrong, message):
    arm = linear_arm()
    arguments = [arm.model, arm.actuators, ControllerSettings(position=arm.rest)]
    arguments[place] = wrong
    with pytest.raises(InputError, match=message):
        make_controller(*arguments)
