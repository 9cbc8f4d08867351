# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains of torque sources: nominal loops, optimality, stability with delay, every kind of arm."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov

import elastic_arms as arms
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.torque.torque_gains import unstable_loop, whole_arm_poles
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Motor
from rejections import assert_rejected
from single_joint import LOCKED, single_joint

ALL = [
    *arms.WITHOUT_BASE_SPRINGS,
    *(pytest.param(lambda name=name: arms.shipped(name), id=name) for name in arms.SHIPPED[1:]),
]
MEASURED = control.LoopTiming(delay=1e-3, velocity_filter=(3, 100.0))
M, K = 0.45, 3000.0


def test_the_bandwidth_of_the_nominal_loop_is_the_one_requested():
    """-3 dB at w, without sampling; below its resonance, the motor keeps its inertia."""
    arm = single_joint(LOCKED, Motor(M), K)
    (single,) = control.single_joints(*arm)
    for w in (120.0, 300.0):
        gains = control.inertia_shaping_gains(*arm, w)
        assert gains.share[0] * M == pytest.approx(K / w**2)
        servo = single.servo(gains, control.LoopTiming(period=1e-5))
        found = control.TorqueLoop(single.joint, servo).response(w / (2.0 * np.pi)).torque
        assert abs(found[0]) == pytest.approx(0.5**0.5, rel=2e-3)
    assert control.inertia_shaping_gains(*arm, 20.0).share[0] == 1.0


def test_lqr_gains_are_optimal():
    """The cost of a unit error with these gains is less than with any others nearby."""
    w, integral = 150.0, 1.0 / 3.0
    arm = single_joint(LOCKED, Motor(M, viscous=1.0), K)
    gains = control.torque_lqr_gains(*arm, w, integral=integral)
    share = gains.share[0]
    natural = K / M
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -natural, -1.0 / M]])
    B = np.array([[0.0], [0.0], [natural]])
    effort = natural**2 / w**4

    def cost(k: np.ndarray) -> float:
        closed = A - B * k
        weight = np.diag([(integral * w) ** 2, 1.0, w**-2]) + effort * np.outer(k, k)
        return float(solve_continuous_lyapunov(closed.T, -weight)[1, 1])

    k = np.array([gains.integral[0], 1.0 - share, gains.damping[0] / K]) / share
    best = cost(k)
    for step in 0.02 * np.diag(k):
        assert cost(k + step) > best
        assert cost(k - step) > best


@pytest.mark.parametrize("design", control.TORQUE_DESIGNS)
@pytest.mark.parametrize("make", ALL)
def test_default_designs_are_stable_on_every_arm(make, design):
    """Every design is accepted with its default bandwidth, even with one more period of delay."""
    arm = make()
    gains = control.TORQUE_DESIGNS[design](*arm, timing=MEASURED)
    assert gains.design == design
    later = replace(MEASURED, delay=MEASURED.delay + MEASURED.period)
    for single in control.single_joints(*arm):
        assert unstable_loop(single, single.servo(gains, later)) is None
        assert single.link <= single.apparent_inertia * (1.0 + 1e-12)
    rigid = arm.actuators.is_rigid[arm.actuators.joint_of_motor]
    np.testing.assert_array_equal(gains.share[rigid], 1.0)
    drives = arm.actuators.torque_share == 0.0
    assert (gains.drive[:, drives] > 0.0).all()
    assert not gains.drive[:, ~drives].any()


@pytest.mark.parametrize(
    "make", [arms.linear_arm, arms.antagonistic_arm, arms.damped_arm, arms.mixed_panda]
)
def test_poles_of_the_whole_arm_are_those_of_its_equations(make):
    """Against finite differences of law and arm near rest, in continuous time."""
    arm = arms.without_coulomb(make())
    model, actuators, rest = arm
    gains = control.inertia_shaping_gains(*arm)
    stiffness = 100.0 * np.ones(model.n)
    law = control.TorqueController(
        model, actuators, gains, link_stiffness=stiffness, link_damping=5.0, friction=0.0
    )
    state, second, _ = arms.at_start(arm)
    x0, desired = np.concatenate(state), arms.still(arm)

    def rate(x):
        law.reset()
        torque = law.update(desired, *arms.split(arm, x), stiffness=second)
        return arms.slope(arm, x, torque, second[:2])

    n, m = model.n, len(actuators.motors)
    rigid = actuators.is_rigid
    steps = 1e-6 * np.eye(2 * (n + m))
    for i in np.flatnonzero(rigid):
        j = 2 * n + actuators.first_motor[i]
        steps[i, j] = steps[n + i, j + m] = 1e-6
    gone = {2 * n + k * m + actuators.first_motor[i] for i in np.flatnonzero(rigid) for k in (0, 1)}
    free = [k for k in range(len(x0)) if k not in gone]
    A = np.array([rate(x0 + steps[k]) - rate(x0 - steps[k]) for k in free]).T[free] / 2e-6
    found = whole_arm_poles(*arm[:2], gains, rest, link_stiffness=stiffness, link_damping=5.0)
    for pole in np.linalg.eigvals(A):
        assert np.abs(found - pole).min() < 1e-4 * max(abs(pole), 1.0)


def test_two_antagonists_share_the_damping_by_their_inertia():
    arm = arms.antagonistic_arm()
    gains = control.torque_observer_gains(*arm, timing=MEASURED)
    assert gains.share[1] == gains.share[2]
    assert gains.damping[1] == pytest.approx(gains.damping[2])
    elbow = control.single_joints(*arm)[1]
    assert elbow.joint.inertia == pytest.approx(0.4)
    assert elbow.servo(gains, MEASURED).damping == pytest.approx(2.0 * gains.damping[1])


def test_the_default_share_of_the_observer_is_passive_and_more_is_not():
    """Without delay it is passive at all frequencies; with a delay, at low ones."""
    arm = single_joint(LOCKED, Motor(M, viscous=1.0), K)
    (single,) = control.single_joints(*arm)

    def least(timing: control.LoopTiming, highest: float, share: float | None = None) -> float:
        gains = control.torque_observer_gains(*arm, 150.0, observer_share=share, timing=timing)
        loop = control.TorqueLoop(single.joint, single.servo(gains, timing))
        Z = loop.impedance(np.geomspace(0.03, highest, 200))
        return float((Z.real / np.abs(Z)).min())

    fast = control.LoopTiming(period=2e-6)
    assert least(fast, 300.0) > -1e-3
    assert least(MEASURED, 50.0) > -1e-6
    for timing in (fast, MEASURED):
        default = control.torque_observer_gains(*arm, 150.0, timing=timing).observer_share[0]
        assert least(timing, 50.0, 1.1 * default) < 0.0
        assert least(timing, 50.0, 1.0) < -0.5


def test_too_much_delay_is_refused_with_a_bandwidth_that_works():
    arm = arms.elastic_panda()
    with pytest.raises(InputError) as refusal:
        control.inertia_shaping_gains(*arm, 300.0, timing=control.LoopTiming(delay=3e-3))
    message = str(refusal.value)
    assert (
        "joint 'panda_joint1': the torque loop 'inertia_shaping' with a bandwidth of 300 rad/s"
        in message
    )
    assert "a period of 1 ms and a delay of 3 ms" in message
    advised = float(message.rpartition("; ")[2].split()[0])
    (first, *_) = control.single_joints(*arm)
    slower = single_joint(first.link, Motor(M, viscous=1.0), K)
    control.inertia_shaping_gains(*slower, advised, timing=control.LoopTiming(delay=3e-3))


def test_wrong_settings_are_refused():
    arm, row = single_joint(LOCKED, Motor(M), K), np.ones(1)

    def gains(share, damping):
        return control.TorqueGains(("a",), share, damping, row, row, row, np.zeros((2, 1)), row)

    assert_rejected(
        (lambda: control.inertia_shaping_gains(*arm, -1.0), "bandwidth -1 positive"),
        (lambda: control.torque_observer_gains(*arm, observer=0.0), "observer 0.0"),
        (lambda: control.torque_observer_gains(*arm, observer_share=1.2), "observer_share 1.2"),
        (lambda: control.torque_lqr_gains(*arm, integral=-1.0), "integral -1.0"),
        (lambda: gains(2.0 * row, row), "motor 'a' share 2 not exceed 1"),
        (lambda: gains(row, -row), "motor 'a' damping -1"),
    )


def test_the_stiffest_spring_is_checked_too():
    """A hardening spring is as stiff as its motor can make it."""
    arm = arms.nonlinear_arm()
    limited = replace(arm.actuators.actuators[0], motor=Motor(0.5, viscous=0.3, torque_limit=60.0))
    actuators = replace(arm.actuators, actuators=(limited, arm.actuators.actuators[1]))
    shoulder = control.single_joints(arm.model, actuators, arm.rest)[0]
    phi = max(np.roots([4e3, 0.0, 150.0, -60.0]).real)
    assert shoulder.stiffest == pytest.approx(150.0 + 3.0 * 4e3 * phi**2, rel=1e-6)
    assert isinstance(shoulder.joint, control.TorqueJoint)
