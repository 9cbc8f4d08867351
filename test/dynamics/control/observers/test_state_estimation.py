# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The state of links and motors from every source, for every kind of actuator."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import SOURCES, StateEstimation, StateEstimator
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    GearHarmonic,
    LinearSpring,
    Motor,
    MotorFeedforward,
    SeriesElastic,
    SlipElement,
)
from multibody_dynamics.dynamics.plant import ElasticRobot
from observed_arms import KINDS, STEP, arm, elastic, gravity_hold
from robots import two_link_planar


def signals_of(robot: ElasticRobot, command: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "link_position": robot.q,
        "motor_position": robot.theta,
        "joint_torque": robot.joint_torque,
        "motor_torque": command,
    }


@pytest.mark.parametrize("source", list(SOURCES)[:3])
def test_every_source_gives_the_state_from_its_own_signals_only(source):
    model = two_link_planar()
    joints = elastic(model)
    robot = ElasticRobot(model, joints)
    robot.reset([0.3, 0.4])
    estimator = StateEstimator(model, joints, StateEstimation(source, 25.0, order=4))
    for k in range(2000):
        command = gravity_hold(robot) + 3.0 * np.sin(2.0 * k * STEP) - 8.0 * robot.thetad
        robot.step(command, STEP)
        signals = signals_of(robot, command)
        own = {name: signals[name] for name in estimator.signals}
        q, qd, theta, thetad = estimator.update((k + 1) * STEP, **own)
    assert estimator.is_settled
    np.testing.assert_allclose(q, robot.q, atol=1e-4)
    np.testing.assert_allclose(theta, robot.theta, atol=1e-4)
    np.testing.assert_allclose(qd, robot.qd, atol=5e-3)
    np.testing.assert_allclose(thetad, robot.thetad, atol=5e-3)
    np.testing.assert_array_equal(estimator.state, [q, qd, theta, thetad])
    np.testing.assert_array_equal(estimator.link[:2], [q, qd])
    if source != "motor_encoders":
        np.testing.assert_allclose(estimator.link[2], robot.qdd, atol=0.3)
    for missing in own:
        with pytest.raises(InputError, match=f"{missing} is missing: the source {source} needs"):
            estimator.update(3.0, **{**signals, missing: None})
    estimator.reset()
    assert estimator.starts == 1
    assert not np.any(estimator.state)


def test_settings_are_immutable_and_checked():
    settings = StateEstimation("motor_encoders", 30.0)
    with pytest.raises(AttributeError):
        settings.bandwidth = 3.0
    with pytest.raises(InputError, match="'encoders': expected one of link_and_motor_encoders"):
        StateEstimation("encoders", 30.0)
    with pytest.raises(InputError, match="bandwidth is -1"):
        StateEstimation("motor_encoders", -1.0)
    with pytest.raises(InputError, match="order of the filter is 1"):
        StateEstimation("motor_encoders", 1.0, order=1)
    model = two_link_planar()
    other = Actuators(("a", "b"), elastic(model).actuators)
    with pytest.raises(InputError, match="actuators belong to joints a, b"):
        StateEstimator(model, other, StateEstimation("link_and_motor_encoders", 30.0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_torque_sensor_suffices_for_every_kind(kind):
    """Exact except for the damped spring, which filters a torque assumed linear between samples."""
    actuators = arm(kind)
    source = StateEstimation("motor_encoders_and_torque_sensors", 40.0)
    estimator, other = (
        StateEstimator(two_link_planar(), actuators, each)
        for each in (source, StateEstimation("link_and_motor_encoders", 40.0))
    )
    m = len(actuators.motors)
    for i in range(400):
        t = i * STEP
        q = np.array([0.3, 0.4]) + 0.1 * np.sin([3 * t, 5 * t])
        qd = 0.1 * np.array([3, 5]) * np.cos([3 * t, 5 * t])
        first = actuators.joint_of_motor
        bent = np.array([0.02, 0.3, 0.3 * (m > 2)])[:m] * np.array([1, 1, -1])[:m]
        bent = np.where(actuators.is_rigid[first], 0.0, bent * (1 + 0.3 * np.sin(4 * t)))
        theta = q[first] + bent
        rate = np.where(actuators.is_rigid[first], 0.0, bent * 0 + 1.2 * np.cos(4 * t))
        rate *= np.array([0.02, 0.3, -0.3])[:m]
        if kind == "driven":
            theta[2], rate[2] = 2.0 + np.sin(t), np.cos(t)
        k = np.array([[280.0 + 50 * t], [50.0]]) if actuators.variable_joints else None
        Q = actuators.springs(q, qd, theta, qd[first] + rate, stiffness=k).torque
        Q = np.where(actuators.is_rigid, np.nan, Q)
        given = {"motor_position": theta, "stiffness": k}
        if kind == "rigid":
            Q[1] = 0.0
        a = estimator.update(t, joint_torque=Q, **given)
        b = other.update(t, link_position=np.where(actuators.is_rigid, theta[:2], q), **given)
    np.testing.assert_allclose(a.q, b.q, rtol=0, atol=1e-5 if kind == "damped" else 1e-10)
    np.testing.assert_allclose(a.qd, b.qd, rtol=0, atol=1e-3 if kind == "damped" else 1e-8)
    np.testing.assert_array_equal(a.theta, b.theta)


def test_as_described_follows_the_torque_sources_joint_by_joint():
    actuators = arm("nonlinear", ("spring_deflection", "torque_sensor"))
    assert StateEstimation().source == "as_described"
    estimator = StateEstimator(two_link_planar(), actuators, StateEstimation())
    assert estimator.signals == ("link_position", "motor_position", "joint_torque")
    theta = np.array([0.5, 0.7])
    Q = KINDS["nonlinear"].spring.torque(0.2)
    state = estimator.update(
        0.0, link_position=[0.3, np.nan], motor_position=theta, joint_torque=[np.nan, Q]
    )
    np.testing.assert_allclose(state.q, [0.3, 0.5], atol=1e-12)
    with pytest.raises(InputError, match=r"link_position.*shoulder"):
        estimator.update(
            STEP, link_position=[np.nan, 0.1], motor_position=theta, joint_torque=[0.0, Q]
        )
    rigid = StateEstimator(two_link_planar(), arm("rigid"), StateEstimation())
    assert rigid.signals == ("link_position", "motor_position")
    state = rigid.update(0.0, link_position=[0.3, np.nan], motor_position=theta)
    np.testing.assert_array_equal(state.q, [0.3, 0.7])


def test_a_time_that_is_not_later_does_not_change_the_springs():
    """Damped springs, whose deflection is filtered from Q."""
    settings = StateEstimation("motor_encoders_and_torque_sensors", 40.0)
    disturbed, other = (StateEstimator(two_link_planar(), arm("damped"), settings) for _ in "ab")
    theta = np.array([0.3, 0.4])
    for k in range(5):
        Q = np.array([0.0, 10.0 * k])
        disturbed.update(k * STEP, motor_position=theta, joint_torque=Q)
        other.update(k * STEP, motor_position=theta, joint_torque=Q)
        disturbed.update(k * STEP, motor_position=theta, joint_torque=Q + 50.0)
        disturbed.update(k * STEP - 1e-6, motor_position=theta, joint_torque=Q + 50.0)
    np.testing.assert_array_equal(disturbed.state, other.state)


def test_torque_sensors_see_hysteresis_and_the_error_of_the_gear():
    """q behind the spring, where the sensor measures what spring and slip elements carry together,
    and the spring feels theta with the error of its gear."""
    elements = (SlipElement(200.0, 0.8), SlipElement(100.0, 1.2))
    error = (GearHarmonic(2.0, "motor", 1e-3, 0.3),)
    motor = Motor(0.3, gear_ratio=50.0)
    joint = SeriesElastic(motor, LinearSpring(400.0), 0.0, elements, error)
    actuators = Actuators(("shoulder", "elbow"), (joint, joint))
    settings = StateEstimation("motor_encoders_and_torque_sensors", 25.0)
    estimator = StateEstimator(two_link_planar(), actuators, settings)
    flat = MotorFeedforward(actuators)
    for k in range(1500):
        t = STEP * k
        flat.state[0] = 0.3, -0.2
        flat.torque[:] = [[8.0 * 2.0**r * np.cos(2.0 * t + r * np.pi / 2.0)] * 2 for r in range(3)]
        theta = flat.update().position
        flat.advance(STEP)
        estimator.set_terms(np.zeros(2), flat.states)
        estimator.update(t, motor_position=theta, joint_torque=flat.torque[0])
    np.testing.assert_allclose(estimator.state.q, flat.state[0], atol=1e-6)
