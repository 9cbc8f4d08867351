# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compensation of disturbances: estimates against the truth, and what linear feedback gains."""

from dataclasses import replace

import numpy as np
import pytest

import elastic_arms as arms
from multibody_dynamics.dynamics.control import BumplessTransfer, DisturbanceCompensation
from multibody_dynamics.dynamics.control.controllers.controllers import LinearFeedback
from multibody_dynamics.dynamics.control.observers.disturbance_compensation import (
    HALVINGS,
    LONGEST_STEP,
    soft_limit,
)
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Actuators, BacklashSpring, LinearSpring
from multibody_dynamics.dynamics.motion import JointCommandLimits
from multibody_dynamics.dynamics.plant import DriveEffects, ElasticRobot
from multibody_dynamics.dynamics.rigid import jacobian

STEP = 1e-3
GAP = 1e-3  # rad
ARMS = [
    arms.linear_arm, arms.nonlinear_arm, arms.antagonistic_arm, arms.pretensioned_arm,
    arms.variable_arm, arms.elastic_panda, arms.mixed_panda,
]  # fmt: skip


def state(robot: ElasticRobot):
    return (robot.q, robot.qd), (robot.theta, robot.thetad)


@pytest.mark.parametrize("make", ARMS)
def test_wrench_and_motor_torque_are_distinguished_while_the_arm_moves(make):
    arm = arms.without_coulomb(make())
    robot = ElasticRobot(arm.model, arm.actuators)
    compensation = DisturbanceCompensation(arm.model, arm.actuators, 400.0, share=1.0)
    (q, *_), second, load = arms.at_start(arm)
    robot.stiffness[:] = second[:2]
    robot.reset(q)
    compensation.springs.stiffness[:] = second[:2]
    wrench = np.array([0.3, -0.2, 0.5, 2.0, -1.0, 3.0])
    robot.applied_wrenches[-1] = wrench
    behind = ~arm.actuators.is_rigid[arm.actuators.joint_of_motor]
    push = np.linspace(0.1, 0.3, len(load)) * behind  # a torque that the observer is not shown
    for _ in range(150):
        robot.step(load + push, STEP)
        compensation.update(STEP, *state(robot), load)
    body = arm.model.n - 1
    external = jacobian(arm.model, robot.q, body, representation="spatial").T @ wrench
    assert np.abs(robot.qd).max() > 0.01
    np.testing.assert_allclose(compensation.motor, push, atol=0.02)
    np.testing.assert_allclose(compensation.link, external, atol=0.08 * np.abs(external).max())


def test_estimates_are_only_as_fast_as_states_arrive():
    arm = arms.linear_arm()
    (q, qd, theta, thetad), _, load = arms.at_start(arm)
    found = []
    for bandwidth in (LONGEST_STEP / STEP, 2.0 * LONGEST_STEP / STEP, 0.5 * LONGEST_STEP / STEP):
        observer = DisturbanceCompensation(arm.model, arm.actuators, bandwidth)
        for _ in range(5):
            observer.update(STEP, (q, qd), (theta + 1e-3, thetad), load)
        found.append(np.r_[observer.link, observer.link_rate, observer.motor])
    np.testing.assert_array_equal(found[1], found[0])
    assert (np.abs(found[2]) < np.abs(found[0])).any()


def wrong(arm: arms.Arm, share: float) -> arms.Arm:
    """The model of the controller: masses, springs and motors off by +-share."""
    sign = [(-1.0) ** i for i in range(arm.model.n)]
    inertias = np.array(
        [(1.0 + share * s) * each for s, each in zip(sign, arm.model.link_inertias, strict=True)]
    )
    actuators = tuple(
        replace(
            each,
            spring=LinearSpring((1.0 - share * s) * each.spring.K),
            motor=replace(each.motor, inertia=(1.0 + share * s) * each.motor.inertia),
        )
        for s, each in zip(sign, arm.actuators.actuators, strict=True)
    )
    return arms.Arm(
        replace(arm.model, link_inertias=inertias),
        replace(arm.actuators, actuators=actuators),
        arm.rest,
    )


def rest_error(arm: arms.Arm, believed: arms.Arm, **settings) -> float:
    """Largest error of the links, rad, 1.3 to 1.5 s after the start; the law knows the state."""
    robot = ElasticRobot(arm.model, arm.actuators)
    robot.reset(arm.rest)
    law = arms.law_of(believed, **settings)
    desired = arms.still(arm)
    errors = []
    for _ in range(1500):
        robot.step(law.update(desired, *state(robot)[0], *state(robot)[1]), STEP)
        errors.append(np.abs(robot.q - arm.rest).max())
    return float(max(errors[1300:]))


@pytest.mark.parametrize(
    ("make", "law"), [(arms.linear_arm, "state_feedback"), (arms.elastic_panda, "motor_pd")]
)
def test_a_wrong_model_leaves_no_error_at_rest(make, law):
    arm = arms.without_coulomb(make())
    believed = wrong(arm, 0.3)
    without = rest_error(arm, believed, law=law, disturbance_bandwidth=0.0)
    assert without > 1e-3
    assert rest_error(arm, believed, law=law, base_frequency=0.0) < 0.03 * without


def test_poles_of_links_fall_again_while_they_oscillate():
    """Steadily, and not for ever; each time, the oscillation is as slow as the poles."""
    arm = arms.without_coulomb(arms.shipped("planar_two_link"))
    own = DisturbanceCompensation(arm.model, arm.actuators, 120.0, lowered_bandwidth=20.0)
    robot = ElasticRobot(arm.model, arm.actuators)
    robot.reset(arm.rest)
    sent, step = robot.motor_torque.copy(), np.zeros(2)
    bandwidths, rates, turns = [120.0], [], 0.0
    for _ in range(20000):
        bandwidth, before = own.link_bandwidth, own.link.copy()
        turns += 0.5 * bandwidth * STEP
        own.update(STEP, *state(robot), sent, -30.0 * np.array([np.sin(turns), 0.0]))
        step = np.maximum(step, np.abs(own.link - before))
        if own.link_bandwidth != bandwidth:
            bandwidths.append(own.link_bandwidth)
            rates.append(np.abs(own.link_rate).max())
    assert own.lowerings == HALVINGS + 1
    assert bandwidths == [120.0, *(20.0 / 2**k for k in range(HALVINGS + 1))]
    assert (step <= 1.01 * 30.0 * 60.0 * STEP).all()  # of the estimate, that of its input
    assert max(rates[1:]) < 0.02 * 30.0 * 10.0  # at turning points, where lower poles change none
    own.lowerings = 0
    assert own.link_bandwidth == 120.0


def test_an_exact_model_is_left_alone():
    arm = arms.without_coulomb(arms.elastic_panda())
    assert rest_error(arm, arm) < 1e-9


def test_nothing_winds_up_while_the_torque_is_limited():
    arm = arms.without_coulomb(arms.linear_arm())
    robot = ElasticRobot(arm.model, arm.actuators)
    robot.reset(arm.rest)
    law = arms.law_of(arm)
    names = arm.actuators.motor_names
    limits = JointCommandLimits(names, torque=np.abs(robot.motor_torque) + np.array([1.0, 0.5]))
    transfer = BumplessTransfer(arm.actuators, limits, duration=0.0)
    transfer.activate(law, robot.motor_torque)
    desired = arms.still(arm)
    robot.applied_wrenches[-1, 5] = -40.0  # N, more than the motors can hold
    for _ in range(100):
        robot.step(transfer.update(STEP, desired, *state(robot)[0], *state(robot)[1]), STEP)
    assert transfer.events
    np.testing.assert_allclose(law.compensation.motor, 0.0, atol=0.02)


def limited(arm: arms.Arm) -> Actuators:
    """Motors of at most 10 N m."""
    actuators = tuple(
        replace(each, motor=replace(each.motor, torque_limit=10.0))
        for each in arm.actuators.actuators
    )
    return replace(arm.actuators, actuators=actuators)


def test_disturbances_are_compensated_up_to_a_share_of_the_torque_limits():
    arm = arms.linear_arm()
    compensation = DisturbanceCompensation(arm.model, limited(arm), 200.0, share=0.2)
    rest = arms.at_start(arm)[0]
    sent, known = np.array([500.0, -500.0]), np.full(2, 300.0)
    for _ in range(100):  # torques that would move the motors at once, but they do not
        compensation.update(STEP, rest[:2], rest[2:], sent, known)
    np.testing.assert_allclose(compensation.motor, [-2.0, 2.0], rtol=1e-4)
    np.testing.assert_allclose(compensation.link, [-2.0, -2.0], rtol=1e-4)
    compensation.reset()
    assert not compensation.link.any()
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(InputError, match=r"share of the torque limits is .*from 0 to 1"):
            DisturbanceCompensation(arm.model, arm.actuators, 200.0, share=share)


def test_the_limit_bends_smoothly():
    limit = 2.0
    values = np.linspace(-3.0, 3.0, 601)
    bent = np.array([soft_limit(v, limit) for v in values])
    inner = np.abs(values) <= 1.6
    np.testing.assert_array_equal(bent[inner, 0], values[inner])
    np.testing.assert_array_equal(
        bent[np.abs(values) >= 2.4, 0], 2.0 * np.sign(values)[[0, -1]].repeat(61)
    )
    slope = np.gradient(bent[:, 0], values)
    np.testing.assert_allclose(slope, bent[:, 1], atol=0.02)  # the rate is that of the value
    assert np.abs(np.diff(bent[:, 1])).max() < 0.02  # and continuous
    for unlimited in (np.inf, 1e300):
        assert soft_limit(7.0, unlimited) == (7.0, 1.0)
    assert soft_limit(7.0, 0.0) == (0.0, 0.0)
    assert soft_limit(0.0, 0.0)[0] == 0.0


def test_noise_beyond_the_limit_does_not_hide_a_disturbance():
    """Encoders of 14 bits: differences of velocities are noise of several times the limit."""
    arm = arms.linear_arm()
    compensation = DisturbanceCompensation(arm.model, limited(arm), 120.0, share=0.1)
    rng = np.random.default_rng(1)
    rest, _, load = arms.at_start(arm)
    limit = np.full(2, 1.0)
    noise = 4.0 * limit * STEP / arm.actuators.motor_inertia  # of theta', N m / (kg m^2 / s)
    found = []
    for _ in range(4000):
        thetad = rest[3] + noise * rng.standard_normal(2)
        compensation.update(STEP, rest[:2], (rest[2], thetad), load - 0.5 * limit)
        found.append(compensation.motor.copy())
    np.testing.assert_allclose(np.mean(found[500:], axis=0), 0.5 * limit, rtol=0.1)


def test_a_long_pause_keeps_the_estimates():
    arm = arms.linear_arm()
    compensation = DisturbanceCompensation(arm.model, arm.actuators, 200.0)
    (q, qd, theta, thetad), _, load = arms.at_start(arm)
    for _ in range(50):
        compensation.update(STEP, (q, qd), (theta, thetad), load - 0.5)
    before = compensation.motor.copy()
    assert before.min() > 0.1
    compensation.update(0.2, (q, qd), (theta, thetad), load + 7.0)
    np.testing.assert_array_equal(compensation.motor, before)


def behind_backlash(arm: arms.Arm) -> arms.Arm:
    """The Panda, whose controller knows that each joint has a backlash of 1 mrad."""
    actuators = tuple(
        replace(each, spring=BacklashSpring(each.spring, GAP)) for each in arm.actuators.actuators
    )
    return arm._replace(actuators=replace(arm.actuators, actuators=actuators))


def errors_at_rest(plant: ElasticRobot, believed: arms.Arm, law: str) -> tuple[np.ndarray, ...]:
    """(k, n) in rad of the links of an arm that is let go 1 mrad from its rest, and the estimates
    of their disturbances, from 4 to 5 s after that."""
    plant.reset(believed.rest)
    plant.q[:] += 1e-3
    controller = arms.law_of(believed, law=law)
    desired = arms.still(believed)
    errors, estimates = [], []
    for _ in range(5000):
        plant.step(controller.update(desired, *state(plant)[0], *state(plant)[1]), STEP)
        errors.append(plant.q - believed.rest)
        estimates.append(controller.compensation.link.copy())
    return np.array(errors[4000:]), np.array(estimates[4000:])


def test_a_backlash_causes_no_limit_cycle_at_rest(monkeypatch):
    """On a plant whose gap is rigid, not smooth as that of the model."""
    arm = arms.elastic_panda()
    believed = behind_backlash(arm)
    plant = ElasticRobot(arm.model, arm.actuators, effects=DriveEffects(backlash=GAP))
    errors, estimates = errors_at_rest(plant, believed, "motor_pd")
    assert np.ptp(errors, axis=0).max() < 1.4 * GAP
    assert np.abs(errors).max() < 1.2 * GAP
    assert not np.ptp(estimates, axis=0).any()
    monkeypatch.setattr(LinearFeedback, "link_disturbance_band", np.zeros(7))
    assert np.ptp(errors_at_rest(plant, believed, "motor_pd")[0], axis=0).max() > 2.0 * GAP


@pytest.mark.parametrize(("law", "bound"), [("motor_pd", 3e-5), ("state_feedback", 1e-6)])
def test_an_estimate_at_rest_leaves_no_error_on_the_plant_of_the_model(law, bound):
    """Masses are 10 % wrong; joints are loaded and unloaded."""
    arm = behind_backlash(arms.elastic_panda())
    heavier = replace(arm.model, link_inertias=1.1 * arm.model.link_inertias)
    plant = ElasticRobot(heavier, arm.actuators)
    errors, _ = errors_at_rest(plant, arm, law)
    assert np.abs(errors).max() < bound


def test_an_estimate_is_held_until_the_joint_moves_or_feels_another_load():
    arm = behind_backlash(arms.elastic_panda())
    band = arm.actuators.contact_torque
    compensation = DisturbanceCompensation(arm.model, arm.actuators, 120.0, band=band)
    (q, qd, theta, thetad), _, load = arms.at_start(arm)
    still, slow, moving = np.zeros((3, 7))
    slow[3], moving[3] = 1e-4, 1e-3

    def run(seconds: float, push: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """The disturbance that is estimated after a known torque that does not move the links."""
        found = []
        for _ in range(round(seconds / STEP)):
            compensation.update(STEP, (q, qd), (theta, thetad), load, push, speed)
            found.append(compensation.link.copy())
            rates.append(compensation.link_rate.copy())
        return np.array(found)

    rates: list[np.ndarray] = []
    run(1.5, still, still)
    held = run(0.2, -0.9 * band, slow)
    np.testing.assert_array_equal(held[0], held[-1])
    rates.clear()
    follows = run(0.5, -0.9 * band, moving)
    np.testing.assert_allclose(follows[-1] - held[-1], 0.9 * band, rtol=1e-3)
    steps = np.diff(np.vstack((held[-1:], follows)), axis=0)
    assert (np.abs(steps) < 0.02 * band).all()
    assert (np.abs(steps[50]) > 0.005 * band).all()
    np.testing.assert_allclose(rates, steps / STEP, atol=0.1 * np.min(band))
    run(1.5, -0.9 * band, still)
    released = run(0.5, 0.3 * band, still)
    np.testing.assert_allclose(released[-1] - held[-1], -0.3 * band, rtol=1e-3)


def test_an_estimate_is_held_once_its_low_pass_has_settled():
    arm = behind_backlash(arms.elastic_panda())
    band = arm.actuators.contact_torque
    held, free = (
        DisturbanceCompensation(arm.model, arm.actuators, 5.0, band=each) for each in (band, None)
    )
    (q, qd, theta, thetad), _, load = arms.at_start(arm)
    for _ in range(4000):
        for each in held, free:
            each.update(STEP, (q, qd), (theta, thetad), load, -0.9 * band, np.zeros(7))
    assert (np.abs(free.link) > 0.5 * band).all()
    np.testing.assert_allclose(held.link, free.link, rtol=0.01)
    assert not held.link_rate.any()
