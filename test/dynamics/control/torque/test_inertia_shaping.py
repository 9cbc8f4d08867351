# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inertia shaping: the shaped motor's equation for every kind, the formula of the paper, and the
motion of the plant in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from multibody_dynamics.dynamics.model import parse_urdf
from multibody_dynamics.dynamics.plant import ElasticRobot
from rejections import assert_rejected

LOCKED = """<robot name="locked"><link name="base"/><link name="arm">
<inertial><mass value="1"/><inertia ixx="1e7" iyy="1e7" izz="1e7" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/></joint></robot>"""


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


def test_the_locked_motor_swings_with_the_apparent_inertia():
    """M_theta theta'' + K theta = u: theta = u / K (1 - cos(w t)) with w = sqrt(K / M_theta)."""
    K, M, share, u = 400.0, 0.5, 0.25, np.array([3.0])
    link = parse_urdf(LOCKED, gravity=(0.0, 0.0, 0.0))
    actuators = Actuators(("hinge",), (SeriesElastic(Motor(M), LinearSpring(K)),))
    plant = ElasticRobot(link, actuators, step=2e-5)
    shaping = InertiaShaping(actuators, share)
    springs = SpringSolver(actuators, plant.q, plant.qd, plant.theta, plant.thetad)
    h, w = 2e-5, np.sqrt(K / (share * M))
    times = h * np.arange(1, 5001)
    found = np.empty_like(times)
    for k in range(len(times)):
        springs.update()
        plant.step(shaping.shape(u, springs.load), h)
        found[k] = plant.theta[0]
    # The feedback is held, on average h / 2 late, which is a negative damper of (r - 1) K h / 2.
    growth = (1.0 / share - 1.0) * K * (h / 2.0) / (2.0 * M)
    swing = np.exp(growth * times) * np.cos(w * times)
    np.testing.assert_allclose(found, u / K * (1.0 - swing), atol=4e-4 * u[0] / K)


@given(share=st.floats(0.05, 1.0), u=st.floats(-50.0, 50.0), load=st.floats(-50.0, 50.0))
def test_shaping_leaves_an_equilibrium_where_it_is(share, u, load):
    """The excess of u over the load is amplified, and nothing else: at u = load, tau_m = load."""
    actuators = Actuators(("a", "b"), (SeriesElastic(Motor(1.0), LinearSpring(1.0)),) * 2)
    shaping = InertiaShaping(actuators, share)
    torque = shaping.shape(np.array([u, load]), np.array([load, load]))
    assert torque[0] - load == pytest.approx((u - load) / share, rel=1e-12, abs=1e-10)
    assert torque[1] == load


def test_wrong_shares_are_refused_by_name():
    actuators = Actuators(("a", "b"), (SeriesElastic(Motor(1.0), LinearSpring(1.0)),) * 2)
    assert_rejected(
        (lambda: InertiaShaping(actuators, [0.5, 1.5]), "motor 'b' share 1.5 not exceed 1"),
        (lambda: InertiaShaping(actuators, [0.0, 1.0]), "motor 'a' share 0: positive"),
        (lambda: InertiaShaping(actuators, [1.0] * 3), "share of the inertia"),
    )
    rigid = Actuators(("a",), (Rigid(Motor(1.0)),))
    assert InertiaShaping(rigid, 0.5).shape(np.ones(1), np.full(1, np.nan)) == 1.0
