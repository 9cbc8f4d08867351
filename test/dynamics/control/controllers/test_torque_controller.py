# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque source: its formula, exact torques on the plant, limits, disturbances, whole arms."""

from itertools import cycle

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.elastic import Motor, motor_motion
from multibody_dynamics.dynamics.rigid import gravity_forces
from rejections import assert_rejected
from single_joint import LOCKED, single_joint

M, K = 0.45, 3000.0


@pytest.mark.parametrize("make", arms.WITHOUT_BASE_SPRINGS)
def test_the_law_by_hand(make):
    """tau_m = u / a + (1 - 1 / a) load + friction, with the flat map of planning."""
    arm = make()
    model, actuators, _ = arm
    gains = control.inertia_shaping_gains(*arm)
    law = control.TorqueController(model, actuators, gains, friction=0.5)
    (q, _, theta, _), second, _ = arms.at_start(arm)
    rng = np.random.default_rng(3)
    n, m = model.n, len(actuators.motors)
    qd, thetad = 0.3 * rng.normal(size=n), 0.3 * rng.normal(size=m)
    rigid = actuators.is_rigid
    thetad[actuators.first_motor[rigid]] = qd[rigid]
    Q = gravity_forces(model, q)
    wanted = np.array([Q + 0.3 * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)])
    qdd = rng.normal(size=n)
    torque = law.command(wanted, q, qd, theta, thetad, acceleration=qdd, stiffness=second)
    bent = actuators.settled_deflection(wanted)
    flat = motor_motion(actuators, np.array([q, qd, qdd]), wanted, second, deflection=bent)
    joint = actuators.joint_of_motor
    load_d = flat.torque - actuators.motor_inertia * flat.acceleration
    load_d = load_d - actuators.friction(flat.velocity)
    found = actuators.springs(q, qd, theta, thetad, stiffness=second[:2])
    load = np.where(law.shaping.is_shaped, found.load, load_d)
    K = np.where(rigid, 1.0, found.stiffness)
    growth = np.sqrt(K / np.where(rigid, 1.0, gains.stiffness))[joint]
    rate = (flat.velocity - qd[joint]) - (thetad - qd[joint])
    u = load_d + gains.share * actuators.motor_inertia * flat.acceleration
    u = u + gains.damping * growth * rate
    expected = load + (u - load) / gains.share + 0.5 * actuators.friction(flat.velocity)
    expected += gains.drive[0] * (flat.position - theta) + gains.drive[1] * (flat.velocity - thetad)
    np.testing.assert_allclose(torque, expected, rtol=1e-8, atol=1e-7)


def run(arm, law, reference, steps, *, bias=0.0, acceleration=None, plant=None):
    """(steps, n) spring torques on the plant under held motor torques, `bias` added to them."""
    plant = plant or arms.HeldPlant(arm)
    found = []
    for k in range(steps):
        found.append(plant.robot.joint_torque.copy())
        t = 1e-3 * k
        qdd = None if acceleration is None else acceleration(t)
        torque = law.command(reference(t), *plant.state, acceleration=qdd).copy()
        limit = arm.actuators.torque_limit
        law.applied(np.clip(torque, -limit, limit))
        plant.step(torque + bias, 1e-3)
    return np.array(found)


@pytest.mark.parametrize("damping", [0.0, 5.0])
def test_with_rates_the_torque_follows_exactly(damping):
    """Locked link, reference half a cycle ahead for the hold: a second-order error remains."""
    arm = single_joint(LOCKED, Motor(M, viscous=1.0), K, damping)
    w, h = 2.0 * np.pi * 5.0, 1e-3
    law = control.TorqueController(*arm[:2], control.inertia_shaping_gains(*arm))

    def reference(t: float) -> np.ndarray:
        t += 0.5 * h
        s, c = np.sin(w * t), np.cos(w * t)
        return 20.0 * np.array([[s], [w * c], [-(w**2) * s]])

    found = run(arm, law, reference, 600)[300:, 0]
    t = h * np.arange(300, 600)
    np.testing.assert_allclose(found, 20.0 * np.sin(w * t), atol=0.02 * 20.0)


def static_error(gains, **settings) -> float:
    """Torque error with a locked link, where the motor delivers 3 N m less than commanded."""
    arm = single_joint(LOCKED, Motor(M, viscous=1.0), K)
    law = control.TorqueController(*arm[:2], gains(*arm, **settings))
    return 10.0 - run(arm, law, lambda t: np.array([10.0]), 3000, bias=-3.0)[-1, 0]


def test_static_errors_of_the_designs():
    """Shaping leaves the share M_theta / M_m of a disturbance, the observer 1 - b of that."""
    arm = single_joint(LOCKED, Motor(M, viscous=1.0), K)
    left = 3.0 * control.inertia_shaping_gains(*arm).share[0]
    assert static_error(control.inertia_shaping_gains) == pytest.approx(left, rel=1e-6)
    assert abs(static_error(control.torque_lqr_gains)) < 1e-6
    for share in (0.6, 1.0):
        found = static_error(control.torque_observer_gains, observer_share=share)
        assert found == pytest.approx((1.0 - share) * left, abs=1e-6)


def test_a_free_link_feels_the_commanded_torque_with_an_observer_or_a_known_acceleration():
    """q'' = tau_d / m: otherwise, the link has to pull the rotor along."""
    m, tau = 0.3, np.array([2.0])
    arm = single_joint(m, Motor(M, viscous=1.0), K)
    share = control.inertia_shaping_gains(*arm).share[0]
    for design, settings, known, expected in (
        (control.inertia_shaping_gains, {}, None, tau / (m + share * M)),
        (control.inertia_shaping_gains, {}, lambda t: tau / m, tau / m),
        (control.torque_observer_gains, {"observer_share": 1.0}, None, tau / m),
        (control.torque_lqr_gains, {}, None, tau / m),
    ):
        law = control.TorqueController(*arm[:2], design(*arm, **settings))
        plant = arms.HeldPlant(arm)
        run(arm, law, lambda t: tau, 600, plant=plant, acceleration=known)
        before = plant.state[1].copy()
        run(arm, law, lambda t: tau, 400, plant=plant, acceleration=known)
        np.testing.assert_allclose((plant.state[1] - before) / 0.4, expected, rtol=0.02)


def test_a_saturated_motor_does_not_wind_up():
    """After 1 s of a reference beyond the limit, the torque returns as fast as without a limit."""
    motor = Motor(M, viscous=20.0, torque_limit=8.0)
    arm = single_joint(LOCKED, motor, K)
    for design, settings in (
        (control.torque_lqr_gains, {}),
        (control.torque_observer_gains, {"observer_share": 1.0}),
    ):
        law = control.TorqueController(*arm[:2], design(*arm, **settings))
        found = run(arm, law, lambda t: np.array([12.0 if t < 1.0 else 4.0]), 1400)[:, 0]
        assert found[990] == pytest.approx(8.0, abs=0.3)
        assert np.abs(found[1200:] - 4.0).max() < 0.1


@pytest.mark.parametrize(
    ("make", "design"),  # every arm, with the designs by turns
    list(zip(arms.WITHOUT_BASE_SPRINGS, cycle(control.TORQUE_DESIGNS), strict=False)),
)
def test_every_arm_is_held_at_rest_by_its_gravity_torques(make, design):
    arm = make()
    law = control.TorqueController(*arm[:2], control.TORQUE_DESIGNS[design](*arm))
    state, second, load = arms.at_start(arm)
    np.testing.assert_allclose(
        law.command(gravity_forces(arm.model, arm.rest), *state, stiffness=second), load,
        rtol=1e-7, atol=1e-7,
    )  # fmt: skip
    desired = arms.still(arm)
    law.reset()
    np.testing.assert_allclose(law.update(desired, *state), load, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "make", [arms.linear_arm, arms.nonlinear_arm, arms.antagonistic_arm, arms.damped_arm]
)
def test_a_motion_is_followed_exactly(make):
    """In continuous time, from the right start, the torques of the motion keep the arm on it."""
    arm = arms.without_coulomb(make())
    law = control.TorqueController(*arm[:2], control.inertia_shaping_gains(*arm), period=2e-4)
    assert arms.peak_error(arm, law, arms.exciting(arm, 0.4), 1500, 1e-4, 2e-4) < 1e-4


def test_the_impedance_of_a_motion_is_the_one_requested():
    """A constant push moves the links by push / stiffness, whatever the springs."""
    arm = arms.without_coulomb(arms.linear_arm())
    stiffness, push = np.array([80.0, 30.0]), np.array([3.0, -1.5])
    law = control.TorqueController(
        *arm[:2], control.torque_observer_gains(*arm, observer_share=1.0),
        link_stiffness=stiffness, link_damping=[14.0, 3.0],
    )  # fmt: skip
    desired, plant = arms.still(arm), arms.plant_on(arm)
    g = gravity_forces(arm.model, arm.rest)
    law.external_torque[:] = push  # the law leaves this out of its torques: the arm feels -push
    for _ in range(4000):
        plant.step(law.update(desired, *plant.state), 1e-3)
    moved = plant.state[0] - arm.rest
    there = gravity_forces(arm.model, plant.state[0])
    np.testing.assert_allclose(stiffness * moved, g - there - push, atol=2e-2)


def test_observer_and_integral_restart_on_reset():
    arm = single_joint(LOCKED, Motor(M, viscous=1.0, coulomb=2.0), K)
    gains = control.TorqueGains(("hinge",), *np.array([[0.3], [15.0], [20.0], [80.0], [0.7]]),
                        drive=np.zeros((2, 1)), stiffness=np.array([K]))  # fmt: skip
    law = control.TorqueController(*arm[:2], gains)
    first = run(arm, law, lambda t: np.array([5.0]), 200)
    assert law.integral_torque[0] != 0.0
    assert law.disturbance[0] != 0.0
    law.reset()
    assert law.integral_torque[0] == law.disturbance[0] == 0.0
    np.testing.assert_array_equal(run(arm, law, lambda t: np.array([5.0]), 200), first)


@pytest.mark.parametrize("delay", [0.0, 0.003])
def test_the_observer_bridges_missing_cycles(delay):
    """A motor at a steady speed under a constant torque: ten cycles or one, the estimate is one."""
    arm = single_joint(LOCKED, Motor(M, viscous=2.0), K)
    gains = control.torque_observer_gains(*arm, observer_share=0.5)
    estimates = []
    for missing in (False, True):
        law = control.TorqueController(*arm[:2], gains, delay=delay)
        for k in range(31):
            if missing and 20 < k < 30:
                continue
            law.elapsed = 10e-3 if missing and k == 30 else 0.0
            law.command([5.0], [0.0], [0.0], [0.1 + 0.3e-3 * k], [0.3])
            law.applied(np.array([4.0]))
        estimates.append(law.disturbance.copy())
    np.testing.assert_allclose(*estimates, rtol=1e-9)
    assert abs(estimates[0][0]) > 1.0


@pytest.mark.parametrize("missing", [1, 2])
def test_the_delay_line_of_the_observer_bridges_missing_cycles(missing):
    """As BumplessTransfer calls a law: its period is at most two cycles."""
    arm = single_joint(LOCKED, Motor(M, viscous=2.0), K)
    gains = control.torque_observer_gains(*arm, observer_share=0.5)
    estimates = []
    for lost in ((), range(21, 21 + missing)):
        law, last = control.TorqueController(*arm[:2], gains, delay=0.003), -1
        for k in range(30):
            if k in lost:
                continue
            step, last = 1e-3 * (k - last), k
            law.period = min(step, 2e-3)
            law.elapsed = step if step > law.period else 0.0
            law.command([5.0], [0.0], [0.0], [0.1 + 0.3e-3 * k], [0.3])
            law.applied(np.array([4.0 if k < 20 else 9.0]))
        estimates.append(law.disturbance.copy())
    np.testing.assert_allclose(*estimates, rtol=1e-9)


def test_the_integral_does_not_grow_over_missing_cycles():
    """They would multiply an error that was measured once."""
    arm = single_joint(LOCKED, Motor(M, viscous=2.0), K)
    law = control.TorqueController(*arm[:2], control.torque_lqr_gains(*arm), period=2e-3)
    values = []
    for elapsed in (0.0, 0.2):
        law.elapsed = elapsed
        law.command([5.0], [0.0], [0.0], [0.0], [0.0])
        values.append(float(law.integral_torque[0]))
    assert values[0] > 0.0
    assert values[1] == pytest.approx(2.0 * values[0], rel=1e-12)


def test_wrong_commands_are_refused():
    arm = arms.shipped("planar_two_link")
    gains, state = control.inertia_shaping_gains(*arm), np.zeros((4, 2))

    def law(**options):
        return control.TorqueController(*arm[:2], gains, **options)

    def command(torque, **options):
        return lambda: law().command(torque, *state, **options)

    assert_rejected(
        (command(np.zeros(3)), "joint torque: expected shape"),
        (command(np.zeros((2, 2))), "3 rows joint torque, rate"),
        (command(np.array([0.0, np.nan])), "joint torque[1] 'elbow' nan"),
        (command(np.zeros(2), acceleration=np.zeros(3)), "acceleration"),
        (lambda: law(delay=-1.0), "delay -1"),
        (lambda: law(link_stiffness=-1.0), "'shoulder' link_stiffness -1"),
    )
