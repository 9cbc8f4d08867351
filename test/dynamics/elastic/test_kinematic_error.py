# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematic errors of gears: the inverse of the flat map, its rates, and the power of the gear."""

from dataclasses import replace

import numpy as np

from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.elastic.kinds import SeriesElastic
from multibody_dynamics.dynamics.elastic.kinematic_error import GearHarmonic
from multibody_dynamics.dynamics.elastic.motor import Motor
from multibody_dynamics.dynamics.elastic.springs import LinearSpring
from rejections import assert_rejected

ERRORS = (
    GearHarmonic(2.0, "motor", 5e-4, 0.4),
    GearHarmonic(1.0, "motor", -2e-4),
    GearHarmonic(3.0, "link", 8e-4, 1.0),
)
GEAR = 100.0
JOINT = SeriesElastic(Motor(0.3, GEAR), LinearSpring(400.0), kinematic_error=ERRORS)
ARM = Actuators(("a",), (JOINT,))


def along(t: float):
    q = [0.3 * 2.0**k * np.sin(2.0 * t + k * np.pi / 2) for k in range(5)]
    Q = [7.0 * 3.0**k * np.cos(3.0 * t + k * np.pi / 2) for k in range(3)]
    return np.array(q)[:, None], np.array(Q)[:, None]


def felt(q, theta):
    """theta_s as the description of the file states it."""
    angles = [GEAR * theta, GEAR * theta, q]
    return theta + sum(
        e.amplitude * np.sin(e.order * x + e.phase) for e, x in zip(ERRORS, angles, strict=True)
    )


def test_the_spring_feels_the_motor_where_it_must_be():
    times = np.linspace(0.0, 3.0, 31)
    state, torque = (np.array(x) for x in zip(*map(along, times), strict=True))
    motion = motor_motion(ARM, state, torque)
    q, theta = state[:, 0, 0], motion.position[:, 0]
    np.testing.assert_allclose(400.0 * (felt(q, theta) - q), torque[:, 0, 0], atol=1e-10)
    back = ARM.springs(state[:, 0], state[:, 1], motion.position, motion.velocity)
    np.testing.assert_allclose(back.torque, torque[:, 0], atol=1e-10)
    np.testing.assert_allclose(back.torque_rate, torque[:, 1], atol=1e-9)
    np.testing.assert_allclose(ARM.link_position(motion.position, torque[:, 0]), state[:, 0],
                               atol=1e-12)  # fmt: skip


def test_an_error_that_almost_turns_the_joint_back_is_inverted_all_the_same():
    steep = replace(JOINT, kinematic_error=(GearHarmonic(2.0, "motor", 4e-3),))  # slope 0.8
    state, torque = (np.array(x) for x in zip(*map(along, np.linspace(0.0, 3.0, 301)), strict=True))
    theta = motor_motion(Actuators(("a",), (steep,)), state, torque).position[:, 0]
    wanted = state[:, 0, 0] + torque[:, 0, 0] / 400.0
    np.testing.assert_allclose(theta + 4e-3 * np.sin(2.0 * GEAR * theta), wanted, atol=1e-15)


def test_the_rates_are_derivatives_of_the_position():
    h, at = 1e-5, 0.37
    states, torques = (np.array(x) for x in zip(*(along(at + k * h) for k in (-1, 0, 1)),
                                                strict=True))  # fmt: skip
    motion = motor_motion(ARM, states, torques)
    for row, rate in ((motion.position, motion.velocity), (motion.velocity, motion.acceleration)):
        np.testing.assert_allclose((row[2] - row[0]) / (2 * h), rate[1], rtol=1e-5)


def test_the_gear_transmits_the_power_of_the_motor():
    """load theta' = Q theta_s' for an error that turns with the motor."""
    joint = Actuators(("a",), (replace(JOINT, kinematic_error=ERRORS[:2]),))
    state, torque = along(0.9)
    motion = motor_motion(joint, state, torque)
    load = motion.torque - 0.3 * motion.acceleration
    felt_rate = state[1] + torque[1] / 400.0
    np.testing.assert_allclose(load * motion.velocity, torque[0] * felt_rate, rtol=1e-12)
    back = joint.springs(state[0], state[1], motion.position, motion.velocity)
    np.testing.assert_allclose(back.load, load, rtol=1e-12)


def test_wrong_harmonics_are_named():
    many = (GearHarmonic(2.0, "motor", 0.01),)  # would turn the joint back
    assert_rejected(
        (lambda: replace(ERRORS[0], of="gear"), "of 'gear' motor, link"),
        (lambda: replace(ERRORS[0], order=0.0), "order of the kinematic error greater than zero"),
        (lambda: replace(ERRORS[0], amplitude=np.inf), "amplitude of the kinematic error finite"),
        (lambda: replace(JOINT, kinematic_error=many), "kinematic_error: sum up to 2; must"),
    )
