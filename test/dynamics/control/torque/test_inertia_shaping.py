# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inertia shaping: the shaped motor's equation for every kind, and the formula of the paper."""

import numpy as np
import pytest

from elastic_arms import MOTOR, WITHOUT_BASE_SPRINGS, damped_arm
from multibody_dynamics.dynamics.control import InertiaShaping
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    LinearSpring,
    Motor,
    Rigid,
    SeriesElastic,
    SpringSolver,
)
from rejections import assert_rejected


def moving(arm, seed: int = 3):
    """Springs of an arm in motion, and the velocities of its motors."""
    rng = np.random.default_rng(seed)
    springs = SpringSolver(arm.actuators)
    springs.q[:] = arm.rest
    springs.theta[:] = arm.rest[arm.actuators.joint_of_motor]
    springs.theta += rng.uniform(0.01, 0.1, len(springs.theta))
    springs.qd[:] = rng.uniform(-1.0, 1.0, len(springs.qd))
    springs.thetad[:] = rng.uniform(-1.0, 1.0, len(springs.thetad))
    springs.update()
    return springs


@pytest.mark.parametrize("make", WITHOUT_BASE_SPRINGS)
def test_a_shaped_motor_moves_like_a_lighter_one(make):
    """M_theta theta'' + load + friction M_theta / M_m = u, with theta'' of the real motor."""
    arm = make()
    actuators, springs = arm.actuators, moving(arm)
    shaping = InertiaShaping(actuators, 0.3)
    u = np.random.default_rng(0).uniform(-5.0, 5.0, len(actuators.motors))
    torque = shaping.shape(u, springs.load).copy()
    shaped = shaping.is_shaped
    acceleration = actuators.motor_acceleration(springs.thetad, springs.load, torque)
    friction = actuators.friction(springs.thetad)
    inertial = shaping.apparent_inertia * acceleration
    balance = inertial + springs.load + shaping.share * friction
    np.testing.assert_allclose(balance[shaped], u[shaped], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(torque[~shaped], u[~shaped])
    is_rigid = actuators.is_rigid[actuators.joint_of_motor]
    np.testing.assert_array_equal(shaped, ~is_rigid & (actuators.torque_share > 0.0))


def test_the_load_of_a_damped_spring_is_q_and_d_over_k_times_its_rate():
    """The formula of Albu-Schaeffer, Ott and Hirzinger, with Q of the spring alone."""
    arm = damped_arm()
    springs = moving(arm)
    K, D, M, M_theta = 400.0, 6.0, MOTOR.inertia, 0.1
    phi, phid = springs.theta[0] - springs.q[0], springs.thetad[0] - springs.qd[0]
    Q, Qd = K * phi, K * phid
    u = np.array([7.0, -2.0])
    expected = M / M_theta * u[0] + (1.0 - M / M_theta) * (Q + D / K * Qd)
    shaping = InertiaShaping(arm.actuators, [M_theta / M, 1.0])
    assert shaping.shape(u, springs.load)[0] == pytest.approx(expected, rel=1e-13)


def test_wrong_shares_are_refused_by_name():
    actuators = Actuators(("a", "b"), (SeriesElastic(Motor(1.0), LinearSpring(1.0)),) * 2)
    assert_rejected(
        (lambda: InertiaShaping(actuators, [0.5, 1.5]), "motor 'b' share 1.5 not exceed 1"),
        (lambda: InertiaShaping(actuators, [0.0, 1.0]), "motor 'a' share 0: positive"),
        (lambda: InertiaShaping(actuators, [1.0] * 3), "share of the inertia"),
    )
    rigid = Actuators(("a",), (Rigid(Motor(1.0)),))
    assert InertiaShaping(rigid, 0.5).shape(np.ones(1), np.full(1, np.nan)) == 1.0
