# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What is measured of an arm: links at rest in place of missing ones, contacts."""

from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import (
    MOTOR,
    SMALL,
    Arm,
    antagonistic_arm,
    at_rest_under,
    at_start,
    damped_arm,
    linear_arm,
    mixed_panda,
    nonlinear_arm,
    pretensioned_arm,
    sample_of,
    series,
    two_links,
)
from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.control.arm.measured_arm import MeasuredArm
from multibody_dynamics.dynamics.control.laws.controller_settings import ControllerSettings
from multibody_dynamics.dynamics.control.laws.feedforward_law import gravity_load
from multibody_dynamics.dynamics.control.laws.flatness_settings import FlatnessSettings
from multibody_dynamics.dynamics.control.observers.collision_thresholds import (
    KINDS,
    TERMS,
    CollisionThresholds,
)
from multibody_dynamics.dynamics.control.observers.state_estimation import StateEstimation
from multibody_dynamics.dynamics.elastic import Rigid, motor_motion, spring_tables
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.rigid.crba import gravity_forces

PERIOD = 1e-3
TOUCHED_AT = 500  # cycle


@pytest.mark.parametrize(
    "arm", [linear_arm, nonlinear_arm, damped_arm, antagonistic_arm, pretensioned_arm, mixed_panda]
)
def test_missing_links_are_replaced_by_the_model_at_rest_without_compiling(arm):
    """Also behind damped springs, which have settled; nothing may compile while an arm stops."""
    arm = arm()
    measured, second = MeasuredArm(arm.model, arm.actuators, FlatnessSettings()), at_start(arm)[1]
    measured.without_links({"motor_position": np.zeros(len(arm.actuators.motors))}, second)
    known = len(spring_tables._compiled_evaluate.signatures)
    theta = np.full(len(arm.actuators.motors), 0.1)
    found = measured.without_links({"motor_position": theta}, second)
    assert len(spring_tables._compiled_evaluate.signatures) == known > 0
    q, Q = found["link_position"], found["joint_torque"]
    assert np.isfinite(q).all()
    back = motor_motion(
        arm.actuators, np.vstack([q, np.zeros((4, q.size))]), np.array([Q, 0 * Q, 0 * Q]),
        second, deflection=arm.actuators.settled_deflection(np.array([Q, 0 * Q, 0 * Q])),
        beyond="continue",
    )  # fmt: skip
    first = arm.actuators.first_motor
    single = np.array([len(motors) == 1 for _, _, motors, _ in arm.actuators.each()])
    np.testing.assert_allclose(back.position[first][single], theta[first][single], atol=1e-10)


def residuals(torque_sources: tuple[str, str], foreign: float, **settings) -> np.ndarray:
    """External torques that are observed while a rigid and an elastic joint swing freely;
    foreign : what is reported as the joint torque where there is no sensor."""
    arm = two_links(Rigid(MOTOR), series(200.0, SMALL))
    arm = arm._replace(actuators=replace(arm.actuators, torque_sources=torque_sources))
    made = at_rest_under(arm, lambda t: swing(arm, t), observer_gain=30.0, **settings)
    plant = ElasticRobot(arm.model, arm.actuators)
    plant.reset(arm.rest)
    found = []
    for k in range(400):
        measured = np.where(arm.actuators.has_torque_sensor, plant.joint_torque, foreign)
        sample = sample_of(made, k * PERIOD, plant.q, plant.theta)
        signals = {**sample.signals, "joint_torque": measured}
        plant.step(made.update(sample._replace(signals=signals)).torque, PERIOD)
        found.append(made.measured.observer.residual.copy())
    return np.array(found)


def test_a_sensor_at_a_rigid_joint_makes_no_difference_to_the_observer():
    """It reads the torque of the motor there, which moves rotor and friction as well."""
    without = residuals(("motor_torque", "spring_deflection"), 0.0)
    assert np.abs(without).max() < 0.5
    has = residuals(("torque_sensor", "spring_deflection"), 0.0)
    np.testing.assert_array_equal(has, without)


@pytest.mark.parametrize("foreign", [1e3, np.nan])
def test_torques_of_joints_without_a_sensor_are_not_read(foreign):
    estimation = StateEstimation("as_described", bandwidth=100.0)
    sources = ("torque_sensor", "spring_deflection")
    found = residuals(sources, foreign, estimation=estimation)
    np.testing.assert_array_equal(found, residuals(sources, 0.0, estimation=estimation))


def detected(friction: float, has_help: bool) -> tuple[float, int]:
    """A rigid and an elastic joint, both with friction of the motor, hold under `motor_pd`; a
    contact of 8 N m acts from cycle TOUCHED_AT on. The largest share of a threshold before it, and
    the cycles until it is found."""
    arm = two_links(Rigid(MOTOR), series(200.0, SMALL))
    rows = np.zeros((len(KINDS), len(TERMS), 2))
    rows[:, 0], rows[:, 1:3] = 2.0, 0.05
    made = at_rest_under(
        arm,
        lambda t: swing(arm, t),
        ArmSettings(tracking_tolerance=0.0, transfer_time=0.1, collision_reaction="report"),
        controllers={name: ControllerSettings(law=name, friction=friction)
                     for name in ("motor_pd", "hold")},
        collisions=CollisionThresholds(arm.model.joint_names, rows),
        gravity_compensated_by_robot=has_help,
    )  # fmt: skip
    plant = ElasticRobot(arm.model, arm.actuators)
    plant.reset(arm.rest)
    detector, largest = made.measured.detector, 0.0
    assert detector is not None
    for k in range(TOUCHED_AT + 20):
        torque = made.update(sample_of(made, k * PERIOD, plant.q, plant.theta)).torque
        if k <= TOUCHED_AT:
            largest = max(largest, float(detector.share.max()))
        elif detector.is_contact:
            return largest, k - TOUCHED_AT
        own = gravity_load(arm.actuators, gravity_forces(arm.model, plant.q)) if has_help else 0.0
        if k == TOUCHED_AT:  # a moment about the axes of both joints
            plant.applied_wrenches[1, 1] = 8.0
        plant.step(torque + own, PERIOD)
    return largest, 1000


def swing(arm: Arm, t: float) -> np.ndarray:
    """(3, n) positions, velocities and accelerations of a slow swing."""
    s, c, w = np.sin(4.0 * t), np.cos(4.0 * t), 4.0
    shape = np.array([[0.5 * (1.0 - c)], [0.5 * w * s], [0.5 * w**2 * c]])
    return shape * [0.4, -0.6] + np.outer([1.0, 0.0, 0.0], arm.rest)


@pytest.mark.parametrize(("friction", "has_help"), [(1.0, False), (0.0, False), (0.0, True)])
def test_contacts_are_found_without_compensation_of_friction_and_gravity(friction, has_help):
    """The detector knows the friction of rigid joints, whether or not the law compensates it; and
    the gravity that the robot compensates itself acts, whoever commands it."""
    largest, cycles = detected(friction, has_help)
    assert largest < 0.5
    assert cycles <= 20
