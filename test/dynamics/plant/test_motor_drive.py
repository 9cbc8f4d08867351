# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The position loop of a drive: its law, its gains, and the torque that it reports."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from elastic_arms import MOTOR, SMALL, Arm, series, two_links
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Rigid
from multibody_dynamics.dynamics.plant import ElasticRobot, MotorDrive
from multibody_dynamics.dynamics.rigid import mass_matrix

DRIVE = MotorDrive([900.0, 700.0], [30.0, 20.0])
REFERENCE = np.array([[0.1, -0.9], [0.3, -0.2]])
FEEDFORWARD = np.array([5.0, -8.0])


def arm() -> Arm:
    """The motor of the second joint carries its link without a spring."""
    return two_links(series(400.0), Rigid(SMALL))


def moving() -> ElasticRobot:
    robot = ElasticRobot(arm().model, arm().actuators, drive=DRIVE)
    robot.reset([0.2, -0.8], [1.0, -0.7], theta=[0.24, -0.8], thetad=[-0.5, -0.7])
    return robot


def motors(robot: ElasticRobot) -> np.ndarray:
    return np.stack([robot.theta, robot.thetad])


def test_the_torque_is_that_of_the_documented_law():
    robot = moving()
    robot.follow(*REFERENCE, FEEDFORWARD, 1e-3)
    position = REFERENCE[0] + 1e-3 * REFERENCE[1]
    lag, lag_rate = np.stack([position, REFERENCE[1]]) - motors(robot)
    wanted = FEEDFORWARD + DRIVE.proportional * lag + DRIVE.derivative * lag_rate
    np.testing.assert_allclose(robot.motor_torque, wanted)


def test_the_mean_torque_is_the_average_over_many_parts_of_a_cycle():
    robot, parts, dt = moving(), 200, 1e-3
    before, torques = motors(robot), []
    for k in range(parts):
        at = np.stack([REFERENCE[0] + k * dt / parts * REFERENCE[1], REFERENCE[1]])
        lag, lag_rate = at - motors(robot)
        torques.append(FEEDFORWARD + DRIVE.proportional * lag + DRIVE.derivative * lag_rate)
        robot.follow(*at, FEEDFORWARD, dt / parts)
    torques.append(robot.motor_torque.copy())
    found = DRIVE.mean_torque(REFERENCE, FEEDFORWARD, before, motors(robot), dt)
    np.testing.assert_allclose(found, trapezoid(torques, axis=0) / parts, rtol=1e-5)
    assert (np.abs(robot.motor_torque / found - 1.0) > 1e-3).any()  # unlike its value at the end


def test_gains_from_a_bandwidth_scale_with_the_inertia_that_a_motor_carries():
    model, actuators, _ = arm()
    q = np.array([0.3, 0.5])
    drive = MotorDrive.from_bandwidth(model, actuators, q, bandwidth=5.0, damping_ratio=0.7)
    carried = np.array([MOTOR.inertia, SMALL.inertia + mass_matrix(model, q)[1, 1]])
    np.testing.assert_allclose(drive.proportional, carried * (10 * np.pi) ** 2)
    np.testing.assert_allclose(drive.derivative, carried * 1.4 * 10 * np.pi)


def test_gains_that_are_not_possible_are_refused():
    with pytest.raises(InputError, match=r"derivative gain.*zero or greater"):
        MotorDrive(1.0, -1.0)
    with pytest.raises(InputError, match=r"proportional gain of motor 1 is -1\.0"):
        MotorDrive(np.array([1.0, -1.0]), np.zeros(2))
