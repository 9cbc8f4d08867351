# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pose errors against logarithms, their derivative against differences, the free rotation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.tasks.inverse_kinematics_solver import InverseKinematicsSolver
from multibody_dynamics.dynamics.tasks.pose_errors import without_turn
from robots import random_pose, random_tree

SEEDS = st.integers(0, 2**32 - 1)


def errors(model, tasks, targets, q):
    solver = InverseKinematicsSolver(model, tasks)
    return solver._errors(np.array(q), solver._goal(np.array(targets)))


def random_case(seed):
    """A tree, two tools on it, their targets, and a state."""
    rng = np.random.default_rng(seed)
    model = random_tree(6, seed)
    offsets = [random_pose(rng), random_pose(rng)]
    targets = [random_pose(rng), random_pose(rng)]
    return model, offsets, targets, rng.normal(size=6)


def difference(model, tasks, targets, q, h=1e-6):
    steps = h * np.eye(len(q))
    ahead, behind = (
        [errors(model, tasks, targets, q + sign * step)[0] for step in steps] for sign in (1, -1)
    )
    return (np.array(ahead) - behind).T / (2 * h)


@settings(max_examples=15)
@given(SEEDS)
def test_the_error_is_the_logarithm_and_its_derivative_exact(seed):
    model, offsets, targets, q = random_case(seed)
    axes = random_pose(np.random.default_rng(seed))[:3, :3]
    tasks = [
        dyn.tasks.Task(5, offset=offsets[0]),
        dyn.tasks.Task(3, "x z rx ry rz", offset=offsets[1], axes=axes),
    ]
    error, J = errors(model, tasks, targets, q)
    expected = []
    for task, target in zip(tasks, targets, strict=True):
        C = dyn.frame_pose(model, q, task.body) @ task.offset
        expected += [so3.log(target[:3, :3] @ C[:3, :3].T), target[:3, 3] - C[:3, 3]]
    expected[2:] = [axes.T @ part for part in expected[2:]]
    expected = np.concatenate([*expected[:3], expected[3][[0, 2]]])
    np.testing.assert_allclose(error, expected, atol=1e-13)
    if max(np.linalg.norm(expected[:3]), np.linalg.norm(expected[6:9])) < 3.1:  # else it jumps
        np.testing.assert_allclose(J, difference(model, tasks, targets, q), atol=1e-7)


def test_a_joint_that_does_not_move_the_tool_has_no_column():
    model, offsets, targets, q = random_case(3)
    for body in range(model.n):
        _, J = errors(model, dyn.tasks.Task(body, offset=offsets[0]), targets[0], q)
        assert (np.any(J, axis=0) == model.moved_by[body]).all()


@settings(max_examples=15)
@given(SEEDS)
def test_a_free_rotation_selects_the_nearest_target(seed):
    """Of all targets turned about their third axis, none is nearer than the one chosen."""
    model, offsets, targets, q = random_case(seed)
    task = dyn.tasks.Task(5, "direction", offset=offsets[0])
    error, _ = errors(model, task, targets[0], q)
    C, goal = dyn.frame_pose(model, q, 5) @ offsets[0], targets[0]
    angles = np.linspace(-np.pi, np.pi, 2001)
    turned = goal[:3, :3] @ so3.exp(angles[:, None] * [0, 0, 1])
    nearest = np.linalg.norm(so3.log(turned @ C[:3, :3].T), axis=1).min()
    assert np.linalg.norm(error) == pytest.approx(nearest, abs=1e-5)
    directions = np.arccos(np.clip(C[:3, 2] @ goal[:3, 2], -1, 1))
    assert np.linalg.norm(error) == pytest.approx(directions, abs=1e-6)


def test_next_to_the_solution_the_derivative_with_a_free_rotation_is_right():
    model, offsets, _, q = random_case(8)
    task = dyn.tasks.Task(5, "direction", offset=offsets[0])
    goal = dyn.frame_pose(model, q, 5) @ offsets[0] @ se3.exp([0, 0, 2.5, 0.3, 0.1, 0])
    error, J = errors(model, task, goal, q)
    assert np.abs(error).max() < 1e-14
    np.testing.assert_allclose(J, difference(model, task, goal, q), atol=1e-7)


def test_half_a_turn_across_the_free_axis_is_unchanged():
    assert without_turn(0.0, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)) == (0.0, (1.0, 0.0, 0.0))
