# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is said about changes of mode and fault."""

import numpy as np
import pytest

from mode_examples import AT_REST, RULES, STILL, found, moving
from multibody_dynamics.dynamics.control.arm import modes
from multibody_dynamics.dynamics.control.arm.modes import FAULTS, NO_DESIGN, Mode
from multibody_dynamics.dynamics.control.arm.supervisor import Supervisor
from multibody_dynamics.dynamics.core import record_fields

NAMES = ("shoulder", "elbow")
FOUND = record_fields.zeros(modes.Situation, n=2, m=2)


@pytest.fixture
def supervisor() -> Supervisor:
    made = Supervisor(NAMES, RULES, FOUND)
    made.activate(0.0, STILL, STILL, True)
    return made


def update(supervisor, now, situation=AT_REST, missing=""):
    """A cycle that finds this."""
    for row, value in zip(FOUND, situation, strict=True):
        row[:] = value
    return supervisor.update(now, missing)


def test_a_fault_is_told_once_with_its_reason_and_again_when_it_is_over(supervisor):
    assert supervisor.mode is Mode.HOLDING
    assert supervisor.fault is None
    lost = found(lacks_links=1)
    event = update(supervisor, 0.1, lost, "no joint_states for 0.2 s")
    assert str(event) == "link states missing: no joint_states for 0.2 s"
    assert supervisor.text == "no joint_states for 0.2 s"
    assert update(supervisor, 0.2, lost, "no joint_states for 0.3 s") is None
    event = update(supervisor, 0.3)
    assert event.is_over
    assert str(event) == "link states missing: cleared, following again"
    assert supervisor.text == ""


def test_the_joint_and_the_limit_are_named(supervisor):
    event = update(supervisor, 0.1, found(error=np.array([0.1, -0.25])))
    assert str(event) == (
        "tracking error: 'elbow' is 0.25 from the reference; allowed: 0.2 (tracking_tolerance)"
    )
    fast = moving(3.0, 0.0)
    for k in range(20):
        event = update(supervisor, 0.2 + 0.01 * k, fast) or event
    assert "stop failed: 'shoulder' moves at 3, too fast for a stop; allowed: 0.5" in str(event)
    assert supervisor.is_final


def test_a_stop_that_takes_too_long_and_torques_that_are_late_say_how_long(supervisor):
    for k in range(30):
        event = supervisor.note_delay(0.01 * k, 0.006, STILL, STILL)
        if event is not None:
            break
    assert "6 ms after their states, and none on time for 0.1 s; allowed: 5 ms" in str(event)
    slow = moving(0.3, 0.0)
    event = None
    for k in range(600):
        event = update(supervisor, 0.3 + 0.01 * k, slow) or event
    assert "'shoulder' still moves at 0.3 after more than 5 s (stop_timeout)" in str(event)


def test_a_stop_that_goes_too_far_and_an_overloaded_spring_say_by_how_much(supervisor):
    event = None
    for k in range(60):
        spring = found(springs=np.array([-150.0, 0.0]))
        event = update(supervisor, 0.01 * k, spring) or event
        if event:
            break
    assert "spring overloaded: the spring of 'shoulder' carries 150 (N m or N)" in str(event)
    assert "allowed: 120, 2 times what is believed at rest" in str(event)
    for k in range(60):
        place = np.array([0.0, 0.004 * k])
        beyond = found(theta=place, thetad=np.array([0.0, 0.4]), motor_step=np.full(2, 0.001))
        event = update(supervisor, 1.0 + 0.01 * k, beyond) or event
    assert "stop failed: 'elbow' has moved by 0." in str(event)
    assert "forecast: at most 0." in str(event)


def test_a_cleared_fault_is_told_at_once_and_the_return_at_rest_is_not(supervisor):
    update(supervisor, 0.1, found(error=np.array([0.3, 0.0])))
    event = supervisor.clear(STILL, STILL)
    assert (event.fault, event.is_over) == (FAULTS[modes.TRACKING], True)
    assert supervisor.mode is Mode.STOPPING
    assert update(supervisor, 0.2) is None
    assert supervisor.mode is Mode.HOLDING


def test_faults_that_the_caller_finds_have_its_words(supervisor):
    event = supervisor.fail(NO_DESIGN, 0.1, STILL, STILL, "no gains at 0.3, -0.2")
    assert str(event) == "no stable gains: no gains at 0.3, -0.2"
    assert supervisor.mode is Mode.LOST
    assert supervisor.is_final
    supervisor.deactivate()
    assert supervisor.mode is Mode.INACTIVE
    assert supervisor.fault is None


def test_times_of_an_earlier_clock_are_forgotten(supervisor):
    for k in range(3):
        update(supervisor, 100.0 + k, found(lacks_links=1))
        update(supervisor, 100.5 + k)
        supervisor.restart(0.0)
    assert supervisor.mode is Mode.HOLDING
