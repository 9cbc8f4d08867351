# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A stop with torques that arrive late: delays, jitter, pauses, and motors without friction."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import Arm, antagonistic_arm, elastic_panda, in_motion, linear_arm, variable_arm
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.controllers.late_hold import (
    BANDWIDTH,
    LEAD,
    RATE,
    LateSettings,
    SmoothedMotors,
    common_motion,
    interpolate_motors,
    smooth_motors,
)
from multibody_dynamics.dynamics.control.signals.encoder_steps import (
    EncoderSteps,
    note_encoder_steps,
)
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.elastic import Actuators
from rejections import assert_rejected


def frictionless(arm: Arm) -> Arm:
    """The same arm with motors without any friction."""
    actuators = tuple(
        replace(each, motor=replace(each.motor, viscous=0.0, coulomb=0.0))
        for each in arm.actuators.actuators
    )
    return arm._replace(actuators=Actuators(arm.actuators.joint_names, actuators))


def late_stop(
    arm: Arm, law: control.Controller, delay: int, *, pause: int = 0, duration: int = 3000
) -> tuple[float, float, float]:
    """Greatest joint speed at the start, at any time and at the end of a stop with torques that
    arrive `delay` cycles of 1 ms late, with a jitter of half that delay, and without any cycle for
    `pause` ms in every second."""
    second, plant, random = (
        control.at_rest(*arm).second,
        in_motion(arm, 0.6),
        np.random.default_rng(0),
    )
    speeds = [np.abs(plant.state[1]).max()]
    load = law.actuators.springs(*plant.state, stiffness=second[:2]).load
    torque, late = np.nan_to_num(load), deque[tuple[int, np.ndarray]]()
    last = -1
    for k in range(duration):
        if not (pause and 300 <= k % 1000 < 300 + pause):
            if isinstance(law, control.LateHoldController):
                law.elapsed = 1e-3 * (k - last)
            last = k
            found = law.update(None, None, None, *plant.state[2:], stiffness=second)
            arrival = k + delay - (int(random.integers(delay // 2 + 1)) if delay else 0)
            late.append((max(arrival, late[-1][0] if late else 0), found.copy()))
        while late and late[0][0] <= k:
            torque = late.popleft()[1]
        plant.step(torque, 1e-3)
        speeds.append(np.abs(plant.state[1]).max())
    return speeds[0], max(speeds), speeds[-1]


@pytest.mark.parametrize(
    ("arm", "delay"),
    [(linear_arm, 50), (antagonistic_arm, 15), (variable_arm, 50), (elastic_panda, 0),
     (elastic_panda, 50)],
)  # fmt: skip
def test_it_stops_an_arm_at_any_delay(arm, delay):
    arm = arm()
    law = control.LateHoldController(arm.model, arm.actuators, arm.rest)
    speed, fastest, rest = late_stop(arm, law, delay)
    assert speed > 0.3
    assert fastest < 1.5 * speed
    assert rest < 0.1 * speed


@pytest.mark.parametrize("pause", [0, 300])
def test_it_stops_an_arm_without_friction_though_states_pause(pause):
    arm = frictionless(elastic_panda())
    law = control.LateHoldController(arm.model, arm.actuators, arm.rest)
    speed, fastest, rest = late_stop(arm, law, 20, pause=pause, duration=4000)
    assert fastest < 1.6 * speed
    assert rest < 0.35 * speed


def test_the_damped_hold_does_not_tolerate_every_delay():
    arm = elastic_panda()
    law = control.HoldController(arm.model, arm.actuators, control.damping_gains(*arm))
    speed, _, rest = late_stop(arm, law, 15, duration=2000)
    assert rest > speed


def test_the_filter_follows_a_steady_motion_exactly_over_steps_of_any_length():
    """theta_p leads the motor by `lead`, from the first update on, and through a pause."""
    arm = linear_arm()
    law = control.LateHoldController(arm.model, arm.actuators, arm.rest)
    start, speed, t = np.array([0.2, -0.4]), np.array([0.7, -0.3]), 0.0
    for step in (1e-3, 2e-3, 0.3, 1e-3, 0.05):
        t += step
        law.elapsed = step
        law.update(None, None, None, start + t * speed, speed)
        np.testing.assert_allclose(law._motors[0], start + (t + LEAD) * speed, atol=1e-12)
        np.testing.assert_allclose(law._motors[1], speed, atol=1e-12)
    assert law.elapsed == 0.0


def test_the_filter_has_two_poles_at_its_bandwidth():
    """The response to a sine, against the transfer function."""
    arm, w, period = linear_arm(), 40.0, 1e-4
    law = control.LateHoldController(arm.model, arm.actuators, arm.rest, period=period)
    response = (BANDWIDTH / (1j * w + BANDWIDTH)) ** 2
    for k in range(20_000):
        wave = np.exp(1j * w * k * period)
        law.elapsed = period
        law._motors[0], law._motors[1] = 0.1 * wave.imag, 0.1 * (1j * w * wave).imag
        law._smooth(period)
    expected = 0.1 * (1j * w * response * wave).imag
    np.testing.assert_allclose(law._motors[1], expected, atol=5e-3 * 0.1 * w * abs(response))


@pytest.mark.parametrize("links", [0.2, 7.0])
def test_between_coarse_steps_a_motor_without_its_links_slows_down_and_is_never_reversed(links):
    """The gains are those for links of `links` times its inertia, of which it feels nothing before
    the springs have bent."""
    size, inertia, period, start = 0.05, np.array([0.5]), 1e-3, 3.0
    gains = RATE * (1.0 + links) * inertia * np.array([[0.0], [1.0]])
    settings = LateSettings(BANDWIDTH, LEAD, np.array([0.5 * size]))
    steps, x, v = record_fields.zeros(EncoderSteps, n=1, m=1), 0.0, start
    for k in range(3000):
        note_encoder_steps(steps, 1.0 + k * period, np.zeros(1), np.round([x / size]) * size)
        theta, damped = np.array([x]), np.zeros(1)
        interpolate_motors(inertia, settings, steps, theta, damped, 1.0, gains)
        v -= gains[1, 0] * damped[0] / inertia[0] * period
        x += v * period
        assert 0.0 <= v <= start
    assert v < 0.1 * start


def test_all_motors_are_damped_as_soon_as_one_is_coarse():
    settings = LateSettings(BANDWIDTH, LEAD, np.array([0.01, 0.05]))
    for size in (0.009, 0.02):
        steps = record_fields.zeros(EncoderSteps, n=2, m=2)
        for k in range(10):
            note_encoder_steps(steps, 1.0 + 0.01 * k, np.zeros(2), np.full(2, k * size))
        damped = np.zeros(2)
        interpolate_motors(np.ones(2), settings, steps, np.zeros(2), damped, 1.0, np.ones((2, 2)))
        assert (damped > 0.0).tolist() == [size == 0.02] * 2


@pytest.mark.parametrize(("step", "is_believed"), [(0.0, 0), (0.9, 1), (1.1, 0)])
def test_the_filter_starts_from_no_velocity_that_steps_may_have_caused(step, is_believed):
    steps, s = record_fields.zeros(EncoderSteps, n=1, m=1), record_fields.zeros(SmoothedMotors, m=1)
    steps.motor_step[0] = step
    for resolution, velocity in ((1.0, 7.0 * is_believed), (np.inf, 7.0)):
        s.is_smooth[0] = 0
        theta, thetad = np.array([0.3]), np.array([7.0])
        settings = LateSettings(BANDWIDTH, LEAD, np.array([resolution]))
        smooth_motors(np.eye(1), settings, s, steps, 1e-3, theta, thetad)
        assert thetad == pytest.approx(velocity)


def test_gains_give_motor_and_links_two_equal_poles():
    arm = elastic_panda()
    _, _, proportional, derivative = control.late_hold_gains(*arm).values
    moved = arm.actuators.motor_inertia + control.inertias_felt(*arm)
    for m, k0, k1 in zip(moved, proportional, derivative, strict=True):
        np.testing.assert_allclose(np.roots([m, k1, k0]), -RATE / 2.0, rtol=1e-6)


def test_the_difference_of_antagonistic_motors_is_kept():
    arm = antagonistic_arm()
    law = control.LateHoldController(arm.model, arm.actuators, arm.rest)
    zero = np.zeros(3)
    law.update(None, None, None, np.array([0.1, 0.5, -0.3]), zero)
    law.update(None, None, None, np.array([0.1, 0.9, -0.9]), zero)
    assert law._motors[0, 1] - law._motors[0, 2] == pytest.approx(0.8)
    np.testing.assert_allclose(common_motion(arm.actuators)[1:, 1:], 0.5)
    np.testing.assert_array_equal(common_motion(variable_arm().actuators), np.eye(3))


def test_wrong_numbers_are_rejected():
    arm = linear_arm()
    assert_rejected(
        (lambda: control.LateHoldController(*arm, rate=0.0), "rate"),
        (lambda: control.LateHoldController(*arm, bandwidth=-1.0), "bandwidth"),
        (lambda: control.LateHoldController(*arm, lead=np.inf), "lead"),
    )
