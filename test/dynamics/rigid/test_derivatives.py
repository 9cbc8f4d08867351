# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of the dynamics: complex steps, 40 digits, and each other."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.records import ANGULAR, BODY_ROW, WRENCH
from multibody_dynamics.dynamics.recursions.spatial import forward_recursion
from multibody_dynamics.dynamics.rigid.crba import fill_mass_matrix
from multibody_dynamics.dynamics.rigid.derivatives import (
    SUBTREE_ROW,
    accelerate,
    add_torques,
    derivatives_recursion,
    subtree_recursion,
)
from multibody_dynamics.dynamics.rigid.kinematics import base_rows
from reference import complex_steps, dynamics, error, exact, worst
from robots import (
    aligned_model,
    draw,
    panda,
    random_pose,
    random_tree,
    random_wrenches,
    with_multidof,
    with_rotors,
)

SEEDS = st.integers(0, 2**32 - 1)


def loaded_tree():
    model = with_rotors(random_tree(8, 3))
    return model.with_payload(model.body_names[-1], 0.7, (0.1, -0.2, 0.3), np.diag([1, 2, 2.5]))


ROBOTS = {"panda": panda, "tree": loaded_tree, "multidof": with_multidof}


@pytest.fixture(params=ROBOTS)
def model(request):
    return ROBOTS[request.param]()


def test_inverse_dynamics_by_complex_steps(model):
    rows = draw(model, 3)
    wrenches = random_wrenches(model, rates=False)
    with_rates = {body: [W, 0 * W, 0 * W] for body, W in wrenches.items()}
    expected = complex_steps(
        lambda *moved: dyn.generic_inverse_dynamics(model, *moved, wrenches=with_rates)[0], rows
    )
    found = dyn.inverse_dynamics_derivatives(model, *rows, wrenches=wrenches)
    assert worst(found, expected, 2) < 1e-14


def test_forward_dynamics_by_complex_steps(model):
    q, qd, qdd = draw(model, 3)
    rows = (q, qd, dyn.inverse_dynamics(model, q, qd, qdd).tau)
    expected = complex_steps(lambda *moved: dyn.rigid.generic_forward_dynamics(model, *moved), rows)
    assert worst(dyn.forward_dynamics_derivatives(model, *rows), expected, 2) < 1e-12


def differences(model, rows):
    """The derivatives of the inverse dynamics from first principles, to 20 digits."""
    step = mp.mpf(10) ** -13
    matrices = []
    for k in range(3):
        columns = []
        for unit in exact(np.eye(model.n)):
            ahead, behind = (
                [exact(row) + (sign * step * unit if j == k else 0) for j, row in enumerate(rows)]
                for sign in (1, -1)
            )
            change = dynamics(model, ahead).torques[0] - dynamics(model, behind).torques[0]
            columns.append(change / (2 * step))
        matrices.append(np.array(columns).T)
    return matrices


@pytest.mark.parametrize("is_accelerated", [False, True])
def test_the_recursions_are_exact(is_accelerated):
    """With q'' given from the start, or added to a motion without it."""
    model = aligned_model(2, 4)
    rows = draw(model, 3).round(2)
    n, joints, gravity = model.n, exact(model.joint_rows), exact(model.gravity)
    state, trig, torque = (np.full((k, n), mp.mpf(0)) for k in (3, 2, 1))
    state[:3] = exact(rows)
    qdd = state[2].copy()
    if is_accelerated:
        state[2] = mp.mpf(0)
    for i in range(n):
        trig[:, i] = (
            mp.sin(joints[i, ANGULAR] * state[0, i]),
            mp.cos(joints[i, ANGULAR] * state[0, i]),
        )
    bodies = np.full((n + 1, BODY_ROW), mp.mpf(0))
    bodies[0, :WRENCH] = base_rows(None)
    subtrees, result = np.full((n + 1, SUBTREE_ROW), mp.mpf(0)), np.full((3, n, n), mp.mpf(0))
    forward_recursion(model.parents, joints, trig, state, 0, bodies)
    subtree_recursion(model.parents, joints, gravity, np.full((n, 6), mp.mpf(0)), bodies, subtrees)
    if is_accelerated:
        accelerate(model.parents, joints, qdd, bodies, subtrees)
    add_torques(joints, bodies, subtrees, 1, torque[0])
    fill_mass_matrix(model.parents, joints, bodies, subtrees, result[2])
    derivatives_recursion(model.parents, joints, gravity, bodies, subtrees, result)
    expected = dynamics(model, [exact(row) for row in rows]).torques[0]
    assert np.abs(torque[0] - expected).max() < 1e-30 * np.abs(expected).max()
    for found, each in zip(result, differences(model, rows), strict=True):
        assert np.abs(found - each).max() < 1e-20 * np.abs(each).max()


@settings(max_examples=15)
@given(SEEDS)
def test_forward_derivatives_invert_inverse_derivatives(seed):
    """tau(q, q', q''(q, q', tau)) = tau, differentiated."""
    model = with_rotors(random_tree(6, seed))
    q, qd, qdd = draw(model, 3, 4, seed=seed)
    wrenches = random_wrenches(model, 4, rates=False)
    tau = dyn.inverse_dynamics(model, q, qd, qdd, wrenches=wrenches).tau
    dq, dqd, M = dyn.inverse_dynamics_derivatives(model, q, qd, qdd, wrenches=wrenches)
    back = dyn.forward_dynamics_derivatives(model, q, qd, tau, wrenches=wrenches)
    lost = 1e-14 * np.linalg.cond(M).max()
    assert error(M @ back.dqdd_dq, -dq, 2) < lost
    assert error(M @ back.dqdd_dqd, -dqd, 2) < lost
    assert error(M @ back.dqdd_dtau, np.broadcast_to(np.eye(6), M.shape), 2) < lost


def test_a_moving_base_is_equivalent_to_a_body_moved_by_joints():
    rng = np.random.default_rng(4)
    arm = with_rotors(random_tree(5, 6))
    robot = dyn.model_from_screws(
        [-1, *(arm.parents + 1)],
        [dyn.floating(), *arm.screws],
        [random_pose(rng), *arm.poses],
        [np.zeros((6, 6)), *arm.inertias],
        gravity=arm.gravity,
    ).with_reflected_inertia([*np.zeros(6), *arm.reflected_inertia])
    rows = draw(robot, 3)
    moving = dyn.forward_kinematics(robot, *rows)
    # The arm is mounted on the last body of the carrier, whose pose at q = 0 is A.
    pose = moving.pose[5] @ dyn.se3.inverse(robot.poses[5])
    base = dyn.BaseMotion(pose, moving.twist[5], moving.acceleration[5])
    wrenches = {robot.body_names[-1]: rng.normal(size=6)}
    whole = dyn.inverse_dynamics_derivatives(robot, *rows, wrenches=wrenches)
    wrenches = {arm.body_names[-1]: wrenches[robot.body_names[-1]]}
    part = dyn.inverse_dynamics_derivatives(arm, *rows[:, 6:], wrenches=wrenches, base=base)
    assert worst(part, [x[6:, 6:] for x in whole], 2) < 1e-13
    tau = dyn.inverse_dynamics(arm, *rows[:, 6:], wrenches=wrenches, base=base).tau
    given = {"wrenches": wrenches, "base": base}
    forward = dyn.forward_dynamics_derivatives(arm, *rows[:2, 6:], tau, **given)
    assert error(forward.dqdd_dtau @ part.dtau_dq, -forward.dqdd_dq, 2) < 1e-12
