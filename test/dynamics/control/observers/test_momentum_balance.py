# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The momentum balance: impulses between two samples."""

import numpy as np

from elastic_arms import mixed_panda
from multibody_dynamics.dynamics.control import MomentumBalance, driven_links
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.dynamics.rigid import coriolis_matrix, gravity_forces, mass_matrix
from robots import random_tree


def test_a_jump_of_the_momentum_is_the_mean_torque_of_the_step():
    model = random_tree(5, 3)
    q, qd = np.random.default_rng(2).normal(size=(2, 5))
    balance = MomentumBalance(model)

    def bias(qd):
        return gravity_forces(model, q) - coriolis_matrix(model, q, qd).T @ qd

    assert balance.update(1.0, q, qd, bias(qd)) is None
    np.testing.assert_allclose(balance.update(1e-3, q, qd, bias(qd)), 0.0, atol=1e-12)
    impulse = np.arange(5.0)
    later = qd + np.linalg.solve(mass_matrix(model, q), impulse)
    found = balance.update(1e-3, q, later, bias(later))  # the forces of both samples are balanced
    np.testing.assert_allclose(found, impulse / 1e-3, rtol=1e-9, atol=1e-8)
    balance.reset()
    assert balance.update(1e-3, q, qd, bias(qd)) is None


def test_driven_links_of_a_robot_with_rigid_and_elastic_joints():
    model, actuators, rest = mixed_panda()
    links, friction, is_held = driven_links(model, actuators, 0.5)
    rigid = actuators.is_rigid
    np.testing.assert_array_equal(is_held, rigid)
    rotors = np.where(rigid, actuators.motor_inertia, 0.0)
    np.testing.assert_array_equal(links.reflected_inertia, rotors)
    qd = np.linspace(0.3, 0.9, 7)
    wanted = np.where(rigid, actuators.friction(qd), 0.0) + 0.5 * qd
    np.testing.assert_allclose(friction(qd), wanted)

    robot = ElasticRobot(model, actuators)  # no external torque but the wrench
    links, friction, is_held = driven_links(model, actuators)
    balance = MomentumBalance(links, friction=friction, is_held=is_held)
    robot.reset(rest)
    hold = robot.motor_torque.copy()
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(50):
        sent = hold + rng.uniform(-3.0, 3.0, 7)
        robot.step(sent, 1e-3)
        springs = actuators.springs(robot.q, robot.qd, robot.theta, robot.thetad)
        external = balance.update(1e-3, robot.q, robot.qd, np.where(rigid, sent, springs.torque))
        if external is not None:
            worst = max(worst, np.abs(external).max())
    assert worst < 0.02  # N m, where the torques change by 3 N m in every step
