# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the laws: what each law takes, which values are refused, the laws designed from
them, and new numbers for a running law."""

from dataclasses import fields, replace

import numpy as np
import pytest

from elastic_arms import at_start, law_of, linear_arm, still
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.core import InputError
from rejections import assert_rejected

FOUR = (-25.0, -30.0, -40.0 + 10.0j, -40.0 - 10.0j)


@pytest.mark.parametrize("law", control.LAWS)
def test_every_law_takes_its_own_settings_and_no_others(law):
    own = {each.name for each in fields(control.LAWS[law])}
    assert {"law", "bandwidth", "position", "friction", "period"} <= own
    assert control.ControllerSettings(law=law, bandwidth=9.0).bandwidth == 9.0
    for name in {each.name for other in control.LAWS.values() for each in fields(other)} - own:
        with pytest.raises(InputError, match=f"{name} is not a setting of law '{law}', only of"):
            control.ControllerSettings(law=law, **{name: 0.123})
    with pytest.raises(TypeError, match="magic"):
        control.ControllerSettings(law=law, magic=1.0)


def test_the_default_law_and_none_for_a_default():
    assert type(control.ControllerSettings(position=[0.0])) is control.LAWS[control.DEFAULT_LAW]
    settings = control.ControllerSettings(bandwidth=None, poles=None, law="state_feedback")
    assert settings == control.ControllerSettings(law="state_feedback")
    assert replace(settings, bandwidth=9.0).bandwidth == 9.0
    with pytest.raises(InputError, match="law 'hold': StateFeedbackSettings are the settings of"):
        replace(settings, law="hold")


def test_names_of_version_1_are_deprecated():
    with pytest.warns(DeprecationWarning, match="DISTURBANCE_BANDWIDTH: use LAWS"):
        assert control.ControllerSettings().disturbance_bandwidth == control.DISTURBANCE_BANDWIDTH
    with pytest.warns(DeprecationWarning, match="NOT_LOWERED: use LAWS"):
        assert control.NOT_LOWERED == ("feedback_linearization", "torque_control")
    with pytest.warns(DeprecationWarning, match="Law: use ControllerSettings"):
        assert all(issubclass(law, control.Law) for law in control.LAWS.values())
    with pytest.warns(DeprecationWarning, match="speed: use bandwidth"):
        assert control.ControllerSettings(bandwidth=9.0).speed == 9.0


def test_invalid_settings_are_rejected():
    def bad(law, **settings):
        return lambda: control.ControllerSettings(law=law, **settings)

    gains = {"proportional": 1.0, "derivative": 1.0}
    two_integrals = {"integral": 5.0, "disturbance_bandwidth": 100.0}
    assert_rejected(
        (bad("magic"), "law 'magic'"),
        (bad("motor_pd", proportional=1.0), "proportional and derivative"),
        (bad("state_feedback", bandwidth=9.0, poles=(-1.0,) * 4), "bandwidth and poles"),
        (bad("hold", bandwidth=9.0, **gains), "bandwidth and proportional"),
        (bad("motor_pd", bandwidth=-1.0), "bandwidth -1.0"),
        (bad("motor_pd", bandwidth=1e-12), "bandwidth 1e-12"),
        (bad("torque_control", torque_bandwidth=-1.0), "torque_bandwidth -1.0"),
        (bad("torque_control", torque_design="x"), "torque_design 'x'"),
        (bad("state_feedback", gain_design="magic"), "gain_design 'magic'"),
        (bad("state_feedback", gain_design="modal", poles=(-1.0,) * 4), "poles and gain_design"),
        (bad("state_feedback", poles=(-1.0, 1.0)), "poles are"),
        (bad("motor_pd", **two_integrals), "integral and disturbance_bandwidth"),
    )


# Design


def made(law, **settings):
    return law_of(linear_arm(), law, **settings)


def test_settings_reach_the_law():
    law = made("motor_pd", proportional=[30.0, 20.0], derivative=2.0, friction=0.5)
    np.testing.assert_array_equal(law.gains.values[2:], [[30.0, 20.0], [2.0, 2.0]])
    np.testing.assert_array_equal(law.friction, 0.5)
    law = made("state_feedback", bandwidth=[10.0, 12.0], integral=2.0, disturbance_bandwidth=0.0)
    wanted = control.optimal_gains(*linear_arm(), [10.0, 12.0]).values
    np.testing.assert_allclose(law.gains.values, wanted)
    np.testing.assert_allclose(law.integral, 2.0 * (wanted[0] + wanted[2]))
    law = made("feedback_linearization", poles=FOUR, lead=1e-3)
    np.testing.assert_array_equal(law.poles.poles[1], FOUR)
    assert law.lead == 1e-3
    law = made("state_feedback", poles=FOUR)
    assert np.abs(np.poly(law.gains.joint_poles[0]) - np.poly(FOUR)).max() < 1e-3
    law = made("hold", torque_limit=[3.0, 4.0])
    np.testing.assert_array_equal(law.torque_limit, [3.0, 4.0])
    law = made("computed_torque", bandwidth=20.0, feedback="link")
    np.testing.assert_array_equal(law.gains, [[400.0, 400.0], [40.0, 40.0]])


def test_gains_are_designed_within_limits_of_which_one_is_infinite():
    model, actuators, _ = linear_arm()
    lower, upper = np.array([-1.0, 0.8]), np.array([2.0, np.inf])
    bounded = replace(model, limits=model.limits._replace(lower=lower, upper=upper))
    law = control.make_controller(
        bounded, actuators, control.ControllerSettings(law="state_feedback")
    )
    wanted = control.optimal_gains(
        model, actuators, np.array([0.5, 0.8]), control.LAWS["state_feedback"].bandwidth
    )
    np.testing.assert_array_equal(law.gains.values, wanted.values)


def test_settings_that_do_not_fit_the_robot_are_rejected():
    model, actuators, _ = linear_arm()
    settings = control.ControllerSettings()
    coupled = {"integral": [1.0, 2.0], "disturbance_bandwidth": 0.0, "gain_design": "coupled"}

    def bad(model=model, actuators=actuators, settings=settings):
        return lambda: control.make_controller(model, actuators, settings)

    assert_rejected(
        (bad(settings=control.ControllerSettings(position=[0.0])), "position"),
        (lambda: made("state_feedback", **coupled), "integral: one number gain_design 'coupled'"),
        (bad("panda"), "model: expected"),
        (bad(actuators=None), "actuators: expected"),
        (bad(settings=1), "settings: expected"),
    )


# New numbers for a running law


def test_retuning_keeps_the_integral():
    chosen = {"law": "state_feedback", "position": linear_arm().rest, "disturbance_bandwidth": 0.0}
    law = made(**chosen, integral=1.0)
    law.integral_torque[:] = (1.0, 2.0)
    control.retune(
        law, control.ControllerSettings(**chosen, bandwidth=10.0, integral=2.0, friction=0.3)
    )
    wanted = control.optimal_gains(*linear_arm(), 10.0).values
    np.testing.assert_array_equal(law.gains.values, wanted)
    np.testing.assert_array_equal(law.integral_torque, (1.0, 2.0))
    np.testing.assert_array_equal(law.friction, 0.3)
    before = law.gains
    with pytest.raises(InputError, match="bandwidth"):
        control.retune(law, control.ControllerSettings(**chosen, bandwidth=-1.0))
    with pytest.raises(InputError, match=r"law 'hold'.*make a new law"):
        control.retune(law, control.ControllerSettings(law="hold"))
    assert law.gains is before


@pytest.mark.parametrize(
    ("law", "tuned", "fixed"),
    [
        ("state_feedback", {"bandwidth": 10.0}, {"variant": "quasi_static"}),
        ("state_feedback", {"bandwidth": 10.0}, {"disturbance_share": 0.2}),
        ("joint_impedance", {"damping_ratio": 0.5}, {"bandwidth": 80.0}),  # of second motors
        ("joint_impedance", {"damping_ratio": 0.5}, {"inertia_share": 0.9}),
        ("joint_impedance", {"damping_ratio": 0.5}, {"stiffness_time": 0.9}),
        ("joint_impedance", {"damping_ratio": 0.5}, {"stiffness_energy": 0.9}),
        ("esp", {"bandwidth": 80.0}, {"contact_bandwidth": 0.0}),
        ("torque_control", {"torque_bandwidth": 50.0, "bandwidth": 40.0}, {"delay": 2e-3}),
    ],
)
def test_a_retuned_law_is_the_one_designed_with_these_numbers_or_refuses(law, tuned, fixed):
    arm = linear_arm()
    running, wanted = made(law), made(law, **tuned)
    control.retune(running, control.ControllerSettings(law=law, position=arm.rest, **tuned))
    state = [row + 0.01 for row in at_start(arm)[0]]
    torques = []
    for each in (running, wanted):
        each.reset()
        torques.append(each.update(still(arm), *state))
    np.testing.assert_array_equal(*torques)
    with pytest.raises(InputError, match="make a new law and switch to it"):
        control.retune(running, control.ControllerSettings(law=law, position=arm.rest, **fixed))


def test_retuning_after_a_missed_cycle_keeps_the_delay_line():
    """`period` of a running law is the last step, here of two cycles."""
    law = made("torque_control", delay=3e-3)
    shapes = [row.shape for row in law.memory]
    law.period = 2e-3
    control.retune(
        law,
        control.ControllerSettings(law="torque_control", position=linear_arm().rest, delay=3e-3),
    )
    assert [row.shape for row in law.memory] == shapes
