# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bumpless transfer: no step of torque on activation or between laws, limits per second."""

import numpy as np
import pytest

import elastic_arms
from elastic_arms import Arm, antagonistic_arm, elastic_panda, exciting, linear_arm, plant_on
from multibody_dynamics.dynamics.control import BumplessTransfer, at_rest
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.motion import JointCommandLimits
from rejections import assert_rejected


def law_of(arm: Arm, law: str, **settings):
    if law in ("motor_pd", "state_feedback"):
        settings = {"disturbance_bandwidth": 0.0, **settings}
    return elastic_arms.law_of(arm, law, **settings)


@pytest.mark.parametrize("arm", [linear_arm, antagonistic_arm, elastic_panda])
def test_a_change_of_law_in_motion_has_no_bump(arm):
    """Torque and its rate are continuous; without the transfer they would jump by far more."""
    arm = arm()
    reference = exciting(arm, 0.4)
    second = at_rest(*arm).second
    jumps = {}
    for duration in (0.1, 0.0):
        plant = plant_on(arm, reference(0.0))
        transfer = BumplessTransfer(
            arm.actuators, JointCommandLimits(arm.actuators.motor_names), duration=duration
        )
        transfer.activate(law_of(arm, "motor_pd", bandwidth=25.0, variant="quasi_static"))
        torques = []
        for k in range(400):
            if k == 200:
                transfer.switch(law_of(arm, "state_feedback"))
            now = reference(1e-3 * k)
            torques.append(transfer.update(1e-3, now, *plant.state, stiffness=second).copy())
            plant.step(torques[-1], 1e-3)
        rates = np.diff(torques[190:330], axis=0) / 1e-3
        jumps[duration] = np.abs(np.diff(rates, axis=0)).max()
        assert transfer.share == 1.0
    assert 3.0 * jumps[0.1] < jumps[0.0]


def test_on_activation_the_torque_starts_from_the_present_one():
    """Exactly s(x) times the law's constant torque; 3e-4 of the step in the first millisecond."""
    arm = linear_arm()
    law = law_of(arm, "hold")
    rest = at_rest(*arm)
    transfer = BumplessTransfer(arm.actuators, duration=0.1)
    held = np.array([3.0, -2.0])
    transfer.activate(law, held)
    state = (None, None, None, rest.theta, np.zeros(2))
    for k in range(1, 130):
        torque = transfer.update(1e-3, *state).copy()
        x = min(k / 100, 1.0)
        wanted = held + x**2 * (3 - 2 * x) * (law.torque - held)
        np.testing.assert_allclose(torque, wanted, rtol=1e-12)
        np.testing.assert_array_equal(law.applied_torque, torque)
        if k == 1:
            assert np.abs(torque - held).max() < 3e-4 * np.abs(law.torque - held).max()


@pytest.mark.parametrize("duration", [0.0, 0.05])
def test_a_law_that_keeps_a_torque_starts_with_it_and_is_shifted_until_the_next_one(duration):
    arm = linear_arm()
    transfer = BumplessTransfer(arm.actuators, duration=duration)
    law, kept = law_of(arm, "hold"), np.array([9.0, -2.0])
    transfer.activate(law, kept, kept)
    rows = np.array([[3.0, 1.0], [3.0, 1.0], [2.0, 4.0]])  # what the law wants
    sent = [transfer.send(0.1, row).copy() for row in rows]
    np.testing.assert_allclose(sent, kept + rows - rows[0], rtol=1e-14)
    transfer.activate(law, sent[-1])
    np.testing.assert_allclose(transfer.send(0.1, rows[2]), rows[2], rtol=1e-14)


def test_a_switch_during_a_switch_starts_from_the_torque_sent():
    arm = linear_arm()
    rest = at_rest(*arm)
    transfer = BumplessTransfer(arm.actuators, duration=0.1)
    transfer.activate(law_of(arm, "hold"), [9.0, 9.0])
    state = (np.zeros((5, 2)), rest.theta, np.zeros(2), rest.theta, np.zeros(2))
    for _ in range(30):
        transfer.update(1e-3, *state)
    before = transfer.torque.copy()
    other = law_of(arm, "computed_torque")
    transfer.switch(other)
    step = transfer.update(1e-3, *state) - before
    np.testing.assert_allclose(step, 2.98e-4 * (other.torque - before), rtol=1e-9)


def test_a_failing_law_is_dropped_and_the_transfer_continues_from_the_torque_sent():
    """A lost link encoder must not prevent the change to "hold", which does not need it."""
    arm = linear_arm()
    rest, zero = at_rest(*arm), np.zeros(2)
    transfer = BumplessTransfer(arm.actuators, duration=0.1)
    transfer.activate(law_of(arm, "state_feedback"), [9.0, 9.0])
    desired = np.zeros((5, 2))
    desired[0] = arm.rest
    good = (desired, arm.rest, zero, rest.theta, zero)
    bad = (desired, arm.rest * np.nan, zero, rest.theta, zero)
    for _ in range(200):
        transfer.update(1e-3, *good)
    with pytest.raises(InputError, match="q"):
        transfer.update(1e-3, *bad)
    stop = law_of(arm, "hold")
    transfer.switch(stop)
    for _ in range(50):
        transfer.update(1e-3, *good)
    sent = transfer.torque.copy()
    step = transfer.update(1e-3, *bad) - sent
    np.testing.assert_allclose(step, 2.98e-4 * (stop.torque - sent), rtol=1e-9, atol=1e-12)
    for _ in range(100):
        transfer.update(1e-3, *bad)
    np.testing.assert_array_equal(transfer.torque, stop.torque)


def test_torque_withheld_during_a_transfer_does_not_wind_up_the_integral():
    arm = linear_arm()
    transfer = BumplessTransfer(
        arm.actuators, JointCommandLimits(arm.actuators.motor_names), duration=0.1
    )
    law = law_of(arm, "state_feedback", integral=2.0)
    transfer.activate(law)
    desired = np.zeros((5, 2))
    desired[0] = arm.rest + 0.5  # and the torque under brakes is zero
    state = (desired, *np.zeros((4, 2)))
    for _ in range(99):
        transfer.update(1e-3, *state)
    withheld = np.sign(law.torque - transfer.torque)
    assert not (law.integral_torque * withheld > 0.0).any()
    for _ in range(3):
        transfer.update(1e-3, *state)
    assert law.integral_torque.all()


def test_a_long_gap_counts_as_the_longest_step():
    arm = linear_arm()
    law = law_of(arm, "hold")
    transfer = BumplessTransfer(arm.actuators, duration=0.1, max_step=0.01)
    transfer.activate(law)
    theta = at_rest(*arm).theta
    torque = transfer.update(100.0, None, None, None, theta, np.zeros(2))
    np.testing.assert_allclose(torque, 0.028 * law.torque, rtol=1e-12)
    assert law.period == 0.01


def test_estimates_of_disturbances_do_not_change_over_a_long_gap():
    """The momentum before the gap, divided by the longest step, would be a large disturbance."""
    arm = linear_arm()
    reference = exciting(arm, 0.4)
    plant = plant_on(arm, reference(0.0))
    law = law_of(arm, "motor_pd", disturbance_bandwidth=120.0)
    transfer = BumplessTransfer(arm.actuators)
    transfer.activate(law)
    steps = [1e-3] * 30 + [0.2] + [1e-3] * 3
    estimates, time = [], 0.0
    for step in steps:
        time += step
        q, qd, theta, thetad = plant.state
        gap = 5.0 * (time > 0.2)  # where the arm is after the gap, the observer cannot know
        transfer.update(step, reference(time), q, qd + gap, theta, thetad + gap)
        estimates.append(law.compensation.link.copy())
    np.testing.assert_array_equal(estimates[30], estimates[29])
    assert np.abs(estimates[31] - estimates[30]).max() > 0.0  # and go on after it


def test_observers_know_the_time_that_has_passed_and_the_torque_changes_as_in_a_shorter_one():
    arm = linear_arm()
    reference = exciting(arm, 0.4)
    laws, limits = [], JointCommandLimits(arm.actuators.motor_names, torque_rate=[50.0, 50.0])
    for options in ({"elapsed": 0.008}, {}):
        plant = plant_on(arm, reference(0.0))
        law = law_of(arm, "motor_pd", disturbance_bandwidth=120.0)
        transfer = BumplessTransfer(arm.actuators, limits)
        transfer.activate(law)
        for k in range(30):
            transfer.update(1e-3, reference(1e-3 * k), *plant.state)
        q, qd, theta, thetad = plant.state
        before = transfer.torque.copy()
        dt = 0.002 if options else 0.008
        transfer.update(dt, reference(0.037), q, qd + 0.1, theta, thetad + 0.1, **options)
        assert np.abs(transfer.torque - before).max() <= 50.0 * dt * (1 + 1e-9)
        laws.append(law)
    found, wanted = (law.compensation.link for law in laws)
    np.testing.assert_array_equal(found, wanted)
    assert np.abs(found).max() > 0.0


def test_a_law_that_starts_again_knows_nothing_of_an_earlier_gap():
    arm = linear_arm()
    law = law_of(arm, "motor_pd", disturbance_bandwidth=120.0)
    transfer = BumplessTransfer(arm.actuators)
    transfer.activate(law)
    with pytest.raises(InputError):  # before the law has used `elapsed` up
        transfer.update(1e-3, np.full((5, 2), np.nan), *np.zeros((4, 2)), elapsed=0.05)
    assert law.elapsed == 0.05
    transfer.activate(law)
    assert law.elapsed == 0.0


def test_limits_are_per_second_and_laws_receive_the_torque_that_was_sent():
    arm = linear_arm()
    names = arm.actuators.motor_names
    limits = JointCommandLimits(names, torque=[8.0, 50.0], torque_rate=[100.0, 1e9])
    transfer = BumplessTransfer(arm.actuators, limits, duration=0.0)
    law = law_of(arm, "state_feedback", integral=2.0)
    transfer.activate(law)
    desired = np.zeros((5, 2))
    desired[0] = 1.0
    state = (desired, np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2))
    for dt, reached in ((1e-3, 0.1), (4e-3, 0.5), (50e-3, 5.5), (50e-3, 8.0)):
        torque = transfer.update(dt, *state)
        assert torque[0] == pytest.approx(reached)
        assert law.applied_torque[0] == pytest.approx(reached)
        assert law.integral_torque[0] == 0.0
    assert {event.quantity for event in transfer.events if event.joint == "shoulder"} == {"torque"}


def test_a_change_of_law_keeps_data_of_the_arm_and_resets_the_new_law():
    arm = antagonistic_arm()
    transfer = BumplessTransfer(arm.actuators)
    old, new = law_of(arm, "hold"), law_of(arm, "state_feedback", integral=1.0)
    new.integral_torque[:] = 7.0
    transfer.activate(old)
    old.external_torque[:] = (1.0, 2.0)
    old.stiffness[0] = 321.0
    transfer.switch(new)
    np.testing.assert_array_equal(new.external_torque, (1.0, 2.0))
    assert new.stiffness[0] == 321.0
    assert not new.integral_torque.any()
    transfer.switch(new)  # already there
    assert transfer.law is new


@pytest.mark.parametrize("dt", [np.nan, np.inf, 0.0, -1e-3])
def test_an_invalid_time_step_does_not_change_the_law(dt):
    arm = linear_arm()
    law = law_of(arm, "state_feedback", integral=2.0)
    transfer = BumplessTransfer(arm.actuators, duration=0.0)
    transfer.activate(law)
    desired = np.zeros((5, 2))
    desired[0] = 0.1
    state = (desired, *np.zeros((4, 2)))
    transfer.update(1e-3, *state)
    before = law.integral_torque.copy()
    with pytest.raises(InputError, match="dt is"):
        transfer.update(dt, *state)
    np.testing.assert_array_equal(law.integral_torque, before)
    assert np.isfinite(transfer.update(1e-3, *state)).all()


def test_invalid_use_is_rejected():
    arm, other = linear_arm(), antagonistic_arm()
    transfer, hold = BumplessTransfer(arm.actuators), law_of(arm, "hold")
    limits = JointCommandLimits(("shoulder", "elbow"))
    assert_rejected(
        (lambda: transfer.update(1e-3), "no law is active"),
        (lambda: transfer.switch(hold), "no law is active"),
        (lambda: transfer.activate(law_of(other, "hold")), "elbow_agonist robot shoulder, elbow"),
        (lambda: transfer.activate(hold, [np.nan, 0.0]), "applied torque shoulder"),
        (lambda: BumplessTransfer(other.actuators, limits), "shoulder, elbow, motors"),
        (lambda: BumplessTransfer(arm.actuators, duration=-1.0), "duration -1"),
        (lambda: BumplessTransfer(arm.actuators, max_step=0.0), "max_step 0"),
    )
