# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The laws of an arm by name: what is installed, lowered, or changed while they run."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import at_rest_under, linear_arm, variable_arm
from multibody_dynamics.dynamics.control import StateEstimation, make_controller
from multibody_dynamics.dynamics.control.laws import designed_laws
from multibody_dynamics.dynamics.control.observers.disturbance_compensation import HALVINGS
from multibody_dynamics.dynamics.control.stability.step_torques import step_torques
from multibody_dynamics.dynamics.core.errors import DynamicsError


@pytest.mark.parametrize("source", ["motor_encoders_and_torque_sensors", "motor_encoders"])
def test_without_link_encoders_there_is_no_stop_on_links(source):
    assert at_rest_under(linear_arm(), estimation=StateEstimation(source)).laws.on_links is None


@pytest.mark.parametrize("name", ["state_feedback", "hold"])
def test_gains_are_designed_for_the_present_stiffness(name):
    arm = variable_arm()
    law = at_rest_under(arm, law=name)
    model, actuators, k = arm.model, arm.actuators, 0.8 * law.second.rows[0]
    settings = law.laws.settings.controllers[name]

    def expected(**changes):
        given = replace(settings, position=arm.rest, **changes)
        return make_controller(model, actuators, given).gains.values

    law.second.rows[0] = k
    law.design(arm.rest)
    found = law.laws[name].gains.values
    np.testing.assert_array_equal(found, expected(stiffness=k))
    assert not np.allclose(found, expected(), rtol=1e-3)  # those for the middle of the range
    given = {name: replace(settings, stiffness=1.1 * k)}
    law.laws.settings = replace(law.settings, controllers={**law.settings.controllers, **given})
    law.design(arm.rest)
    np.testing.assert_array_equal(law.laws[name].gains.values, expected(stiffness=1.1 * k))


def test_a_law_that_fails_only_when_it_runs_is_refused_by_name_and_the_others_work(monkeypatch):
    """As joint_impedance on springs that are softer undeflected than at rest."""

    def steps(law, *given):
        if law is refused:
            raise DynamicsError("softer than its springs")
        return step_torques(law, *given)

    made = at_rest_under(linear_arm())
    refused, make = None, designed_laws.make_controller

    def made_by(model, actuators, settings):
        nonlocal refused
        law = make(model, actuators, settings)
        refused = law if settings.law == "esp" else refused
        return law

    monkeypatch.setattr(designed_laws, "make_controller", made_by)
    monkeypatch.setattr(designed_laws, "step_torques", steps)
    made.design(linear_arm().rest)
    assert made.laws.undesigned == {"esp": "softer than its springs"}
    assert made.laws[made.chosen] is not None
    with pytest.raises(KeyError):
        made.laws["esp"]


def test_reactions_to_collisions_keep_the_stiffness_that_was_judged():
    law = at_rest_under(linear_arm(), reactions={"soft": 0.5})
    laws, given = law.laws, law.settings.controllers
    before = laws["soft"].aimed
    changed = replace(given["joint_impedance"], link_stiffness=(60.0, 40.0))
    changed = replace(law.settings, controllers={**given, "joint_impedance": changed})
    assert not laws.change(changed)
    assert laws["soft"].aimed == before
    laws.design(linear_arm().rest)  # which the caller judges
    assert laws["soft"].aimed.stiffness == (30.0, 20.0)


def test_late_torques_of_an_earlier_run_are_forgotten():
    law = at_rest_under(linear_arm(), law="hold")
    laws = law.laws
    hold = laws["hold"]
    laws.tolerate_delay(True)
    law.restart()  # as after a jump of the time, during a stop
    assert laws.tolerates_delay
    laws.renew()
    assert not laws.tolerates_delay
    assert laws["hold"] is hold


def test_a_hold_that_was_installed_remains_after_late_torques():
    laws = at_rest_under(linear_arm(), law="hold").laws
    new = laws.redesign("hold", linear_arm().rest, {})
    laws.tolerate_delay(True)
    laws.install("hold", new)
    assert laws["hold"] is laws.late
    laws.tolerate_delay(False)
    assert laws["hold"] is new


def test_a_law_is_installed_as_slow_as_oscillations_have_made_it():
    laws = at_rest_under(linear_arm(), law="motor_pd").laws
    for lowerings in range(HALVINGS + 2):
        laws["motor_pd"].lowerings = lowerings
        bandwidth = laws["motor_pd"].compensation.link_bandwidth
        laws.install("motor_pd", laws.redesign("motor_pd", linear_arm().rest, {}))
        assert laws["motor_pd"].compensation.link_bandwidth == bandwidth


def test_live_stiffness_follows_its_settings_and_returns_to_them_at_a_new_start():
    law = at_rest_under(linear_arm(), law="joint_impedance")
    laws = law.laws
    name, given = "joint_impedance", law.settings.controllers
    live = laws.live_impedance(name)
    own = live.aimed

    def with_stiffness(**changes):
        changed = {each: replace(given[each], **changes) for each in (name, "esp_impedance")}
        return replace(law.settings, controllers={**given, **changed})

    laws.change_impedance(name, {"elbow": 10.0})
    assert laws.own_impedance(name) == own
    laws.renew()
    assert live.aimed == own
    settings = with_stiffness(link_stiffness=(30.0, 20.0))
    assert laws.requested(name, settings).stiffness == (30.0, 20.0)
    assert laws.requested("motor_pd", settings) is None
    assert laws.change(settings, keep=name) == ""
    assert live.aimed == own
    assert laws.own_impedance(name).stiffness == (30.0, 20.0)
    assert laws.live_impedance("esp_impedance").aimed.stiffness == (30.0, 20.0)
    laws.renew_impedance(name)
    assert live.aimed.stiffness == (30.0, 20.0)
    laws.change(with_stiffness())
    assert live.aimed == own
    problem = laws.change(with_stiffness(link_stiffness=1e4))
    assert "joint_impedance: the stiffness was not changed" in problem
    assert live.aimed == own
    assert laws.live_impedance("esp_impedance").aimed.stiffness == (1e4, 1e4)
