# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The solver for balls and free joints, against the functions that are tested with Pinocchio."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import so3
from multibody_dynamics.dynamics.mechanisms import (
    BodyFixedJoint,
    ExponentialJoint,
    MultiDofInverseDynamicsSolver,
    MultiDofModel,
)
from multibody_dynamics.dynamics.model import joints
from reference import error
from robots import TILTED, random_base, random_inertia, random_pose


def mixed(seed, ball=BodyFixedJoint):
    """Balls, a free joint, single joints and a universal one, with rotors."""
    rng = np.random.default_rng(seed)
    moved = [
        ball.spherical(),
        joints.revolute(joints.Z),
        joints.universal((0.1, 0, 0.2), (1, 0.2, 0), (0, 0.9, 0.4)),
        ball.floating(),
        ball.spherical((0.1, 0.2, -0.1)),
    ]
    return MultiDofModel(
        parents=(-1, 0, 1, 0, 2),
        joints=moved,
        placements=[random_pose(rng) for _ in moved],
        inertias=[random_inertia(rng) for _ in moved],
        gravity=TILTED,
        reflected_inertia=rng.uniform(0.1, 0.3, 15),
    )


def fill(solver, state):
    solver.state[:] = state
    for i, (joint, own) in enumerate(
        zip(solver.robot.joints, solver.robot.coordinates, strict=True)
    ):
        solver.poses[i] = joint.pose(state[0, own])


@pytest.mark.parametrize("scale", [0.0, 0.5, 8.0])
def test_torques_and_rates_equal_those_of_the_model(scale):
    robot = mixed(1)
    solver = MultiDofInverseDynamicsSolver(robot)
    for state in np.random.default_rng(2).normal(size=(4, 5, robot.n)):
        state[0] *= scale
        fill(solver, state)
        solver.update()
        for ours, theirs in zip(solver.result, robot.inverse_dynamics(*state), strict=True):
            assert error(ours, theirs) < 1e-13


def test_base_and_wrenches_are_those_of_the_tree():
    robot, base = mixed(2), random_base(6, 1)
    base = dyn.rigid.BaseMotion(*(x[0] for x in vars(base).values()))
    solver = MultiDofInverseDynamicsSolver(robot)
    rng = np.random.default_rng(3)
    state, W = rng.normal(size=(5, robot.n)), rng.normal(size=(3, 6))
    fill(solver, state)
    solver.tree.set_base(base)
    solver.tree.applied_wrenches[solver.tree.model.body_index("body4")] = W
    solver.update()
    theirs = robot.inverse_dynamics(*state, wrenches={"body4": W}, base=base)
    for ours, expected in zip(solver.result, theirs, strict=True):
        assert error(ours, expected) < 1e-13


def test_a_ball_turns_through_every_pose_without_a_jump():
    """A top that turns about two axes: torques of 2,000 cycles are smooth to second order."""
    body = random_inertia(np.random.default_rng(1))
    ball = BodyFixedJoint.spherical()
    robot = MultiDofModel(parents=(-1,), joints=(ball,), placements=[np.eye(4)], inertias=[body])
    solver = MultiDofInverseDynamicsSolver(robot)
    omega, dt = np.array([0.3, 7.0, 0.2]), 1e-3
    solver.state[1] = omega
    found = []
    for k in range(2000):
        solver.poses[0, :3, :3] = so3.exp(k * dt * omega)
        solver.update()
        found.append(solver.result.copy())
    tau, tau_dot, tau_ddot = np.moveaxis(found, 1, 0)
    predicted = tau[:-1] + dt * tau_dot[:-1] + dt**2 / 2 * tau_ddot[:-1]
    assert np.abs(tau[1:] - predicted).max() < 1e-6 * np.abs(tau).max()


def test_other_joints_are_refused_by_name():
    with pytest.raises(dyn.InputError, match=r"'joint1'.*ExponentialJoint.*BodyFixedJoint\.sph"):
        MultiDofInverseDynamicsSolver(mixed(1, ball=ExponentialJoint))
