# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The linear torque loop: closed forms at fast sampling, and simulations of law and plant."""

import numpy as np
import pytest
from scipy.linalg import expm

from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.elastic import Motor
from multibody_dynamics.dynamics.plant import ElasticRobot
from rejections import assert_rejected
from single_joint import LOCKED, single_joint

M, K, V = 0.45, 3000.0, 1.0
SHARE = 0.25
DAMPING = np.sqrt(2.0 * K * SHARE * M)
FAST = control.LoopTiming(period=1e-5)
HERTZ = np.array([1.0, 5.0, 20.0, 60.0])
S = 2j * np.pi * HERTZ
SHAPED = control.TorqueServo(share=SHARE, damping=DAMPING, timing=FAST)


# Closed forms


def test_fast_sampling_yields_the_shaped_motor():
    """K / (M_theta s^2 + D_s s + K) and K M_theta s / (M_theta s^2 + D_s s + K)."""
    loop = control.TorqueLoop(control.TorqueJoint(inertia=M, stiffness=K), SHAPED)
    nominal = SHARE * M * S**2 + DAMPING * S + K
    np.testing.assert_allclose(loop.response(HERTZ).torque, K / nominal, rtol=3e-3)
    np.testing.assert_allclose(loop.response(HERTZ, rates=True).torque, 1.0, rtol=2e-3)
    np.testing.assert_allclose(loop.impedance(HERTZ), K * SHARE * M * S / nominal, rtol=2e-3)


def test_fast_sampling_with_observer():
    """The impedance is multiplied by 1 - a F, and at a = 1 no static error remains."""
    w = 100.0
    F = w**2 / (S + w) ** 2
    nominal = SHARE * M * S**2 + DAMPING * S + K
    for a in (0.5, 1.0):
        servo = control.TorqueServo(
            share=SHARE, damping=DAMPING, observer=w, observer_share=a, timing=FAST, friction=0.0
        )
        loop = control.TorqueLoop(control.TorqueJoint(inertia=M, stiffness=K), servo)
        expected = K * SHARE * M * S * (1.0 - a * F) / nominal
        np.testing.assert_allclose(loop.impedance(HERTZ), expected, rtol=5e-3, atol=5e-4)
    free = control.TorqueLoop(control.TorqueJoint(inertia=M, stiffness=K), servo, 0.3)
    assert abs(free.response(0.05).torque[0]) == pytest.approx(1.0, abs=1e-3)
    shaped = control.TorqueLoop(control.TorqueJoint(inertia=M, stiffness=K), SHAPED, 0.3)
    expected = 1.0 / (1.0 + SHARE * M / 0.3)  # the motor has to follow its link
    assert abs(shaped.response(0.05).torque[0]) == pytest.approx(expected, rel=1e-3)


def test_a_damped_spring():
    D = 5.0
    joint = control.TorqueJoint(inertia=M, stiffness=K, damping=D)
    loop = control.TorqueLoop(joint, control.TorqueServo(share=SHARE, damping=DAMPING, timing=FAST))
    spring = K + D * S
    nominal = SHARE * M * S**2 + DAMPING * S + spring
    np.testing.assert_allclose(loop.impedance(HERTZ), spring * SHARE * M * S / nominal, rtol=2e-3)
    np.testing.assert_allclose(loop.response(HERTZ, rates=True).torque, 1.0, rtol=2e-3)


def test_without_feedback_the_delay_of_the_reference_is_that_of_the_torque():
    joint = control.TorqueJoint(inertia=M, stiffness=K, viscous=40.0)
    for delay in (0.0, 1e-3, 2.7e-3):
        servo = control.TorqueServo(friction=0.0, timing=control.LoopTiming(delay=delay))
        found = control.TorqueLoop(joint, servo).response([0.5, 3.0]).torque
        s = 2j * np.pi * np.array([0.5, 3.0])
        expected = K / (M * s**2 + 40.0 * s + K) * np.exp(-s * (delay + 0.5e-3))
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_delay_of_torque_feedback_alone_is_unstable():
    """M_m phi'' + K phi + (1 / a - 1) K phi(t - T) gains energy for every T > 0, as the first-order
    growth (1 / a - 1) K T / (2 M_m) says."""
    joint = control.TorqueJoint(inertia=M, stiffness=K)
    servo = control.TorqueServo(share=0.5, timing=control.LoopTiming(period=1e-4))
    growth = control.TorqueLoop(joint, servo).growth
    expected = np.expm1(K * 0.5e-4 / (2.0 * M) * 1e-4)  # half a period late
    assert growth == pytest.approx(expected, rel=1e-2)


def test_the_poles_of_a_free_link_are_those_of_the_physics():
    """Without feedback: the resonance with the link, and two neutral poles."""
    m, h = 0.3, 1e-3
    loop = control.TorqueLoop(control.TorqueJoint(inertia=M, stiffness=K), control.TorqueServo(), m)
    expected = np.exp(1j * np.sqrt(K / M + K / m) * h)
    poles = loop.poles[np.abs(loop.poles) > 0.5]
    assert np.abs(poles - expected).min() < 1e-9
    assert (np.abs(poles - 1.0) < 1e-6).sum() == 2


# Against the law on a simulated plant


def sine_response(arm, gains, timing, hertz, rates, *, amplitude=2.0, periods=6):
    """Torques of spring and motor and motor speed over the reference, from the last half of a
    simulation of the law on the plant with its delay."""
    h, w = timing.period, 2.0 * np.pi * hertz
    source = control.TorqueController(arm.model, arm.actuators, gains, delay=timing.delay)
    plant = ElasticRobot(arm.model, arm.actuators, step=5e-5)
    whole = timing.whole_periods
    late = timing.delay - whole * h
    sent = [np.zeros(1)] * (whole + 2)
    count = round(periods / hertz / h)
    t, found = h * np.arange(count), np.zeros((count, 3))
    for k in range(count):
        state = plant.q, plant.qd, plant.theta, plant.thetad
        s, c = np.sin(w * t[k]), w * np.cos(w * t[k])
        reference = amplitude * np.array([[s], [c], [-(w**2) * s]])
        if not rates:
            reference[1:] = 0.0
        torque = source.command(reference, *state).copy()
        found[k] = plant.joint_torque[0], torque[0], plant.thetad[0]
        sent = [torque, *sent[:-1]]
        if late > 1e-9:
            plant.step(sent[whole + 1], late)
        plant.step(sent[whole], h - late)
    late_half = slice(count // 2, None)
    t = t[late_half]
    basis = np.stack([np.sin(w * t), np.cos(w * t), np.ones_like(t)], axis=1)
    a, b, _ = np.linalg.lstsq(basis, found[late_half], rcond=None)[0]
    return (a + 1j * b) / amplitude


@pytest.mark.parametrize(
    ("design", "link", "damping"),
    [
        ("inertia_shaping", 0.5, 4.0),
        ("torque_lqr", LOCKED, 0.0),
        ("torque_observer", 0.5, 4.0),
        ("torque_observer", LOCKED, 0.0),
    ],
)
def test_response_to_a_sine_is_that_of_law_and_plant(design, link, damping):
    arm = single_joint(link, Motor(M, viscous=V), K, damping)
    timing = control.LoopTiming(delay=1.6e-3)
    gains = control.TORQUE_DESIGNS[design](*arm, timing=timing)
    (single,) = control.single_joints(*arm)
    loop = single.loop(single.servo(gains, timing), is_locked=link == LOCKED)
    for hertz, rates in ((12.5, False), (40.0, True)):
        expected = np.array(loop.response(hertz, rates=rates))[:, 0]
        found = sine_response(arm, gains, timing, hertz, rates, periods=12 if hertz < 20 else 30)
        np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("design", control.TORQUE_DESIGNS)
def test_the_impedance_is_the_energy_that_a_moved_link_feeds_in(design):
    """A link moved as q = sin(w t) by force, its motor exactly integrated, under the law: torque
    and mean power, also above half the sampling rate."""
    arm = single_joint(LOCKED, Motor(M, viscous=V), K)
    timing = control.LoopTiming(delay=1e-3)
    gains = control.TORQUE_DESIGNS[design](*arm, timing=timing)
    (single,) = control.single_joints(*arm)
    loop = single.loop(single.servo(gains, timing), is_locked=True)
    h, parts = timing.period, 20
    for hertz in (10.0, 620.0):
        w = 2.0 * np.pi * hertz
        # (theta, theta', sin w t, cos w t, tau)
        A = np.zeros((5, 5))
        A[0, 1], A[2, 3], A[3, 2] = 1.0, w, -w
        A[1] = [-K / M, -V / M, K / M, 0.0, 1.0 / M]
        fine = expm(A * h / parts)
        source = control.TorqueController(arm.model, arm.actuators, gains, delay=timing.delay)
        x, sent, power, count = np.array([0.0, w, 0.0, 1.0, 0.0]), [0.0, 0.0], 0.0, 1200
        total = 0
        for k in range(count):
            state = x[2:3], w * x[3:4], x[0:1], x[1:2]
            torque = source.command(np.zeros(1), *state)
            sent = [float(torque[0]), sent[0]]
            x[4] = sent[1]
            for _ in range(parts):
                after = fine @ x
                if k >= count - 600:  # whole periods of all frequencies
                    mid = 0.5 * (x + after)
                    power -= K * (mid[0] - mid[2]) * w * mid[3]
                    total += 1
                x = after
        expected = 0.5 * w**2 * loop.impedance(hertz)[0].real
        tolerance = 0.02 * abs(expected) + 1e-3 * K * w / 2.0
        if hertz > 100.0:  # the trapezoidal rule sees 20 points in 0.62 of a period
            tolerance = 0.05 * abs(expected) + 5e-4 * K * w / 2.0
        assert power / total == pytest.approx(expected, abs=tolerance)


def test_noise_is_that_of_a_noisy_simulation():
    timing = control.LoopTiming(velocity_filter=(3, 60.0))
    servo = control.TorqueServo(share=SHARE, damping=DAMPING, friction=0.0, timing=timing)
    loop = control.TorqueLoop(control.TorqueJoint(inertia=M, stiffness=K, viscous=V), servo)
    resolution, h = 1e-4, timing.period
    rng = np.random.default_rng(0)
    encoders = control.DerivativeFilter(("q", "theta"), 3, 60.0)
    A = np.array([[0.0, 1.0, 0.0], [-K / M, -V / M, 1.0 / M], [0.0, 0.0, 0.0]])
    step, x, found = expm(A * h), np.zeros(3), []
    for k in range(20000):
        noise = rng.normal(size=2) * resolution / np.sqrt(12.0)
        (q, theta), (qd, thetad), _ = encoders.update(k * h, noise + np.array([0.0, x[0]]))
        load = K * (theta - q)
        u = DAMPING * (qd - thetad)
        x[2] = load + (u - load) / SHARE
        found.append((x[2], K * x[0]))
        x = step @ x
    np.testing.assert_allclose(np.std(found[100:], axis=0), loop.noise(resolution), rtol=0.08)


def test_wrong_timings_and_unstable_loops_are_refused():
    timing = control.LoopTiming
    unstable = control.TorqueLoop(
        control.TorqueJoint(inertia=M, stiffness=K), control.TorqueServo(share=0.1)
    )
    assert unstable.growth > 0.0
    assert_rejected(
        (lambda: timing(period=0.0), "period 0.0 s positive"),
        (lambda: timing(delay=-1e-3), "from 0 to 20 periods"),
        (lambda: timing(delay=0.1), "from 0 to 20 periods"),
        (lambda: timing(velocity_filter=(5, 40.0)), "order filter 5"),
        (lambda: timing(velocity_filter=(3, 0.0)), "bandwidth filter 0.0 Hz"),
        (lambda: unstable.noise(1e-5), "not stable"),
    )
