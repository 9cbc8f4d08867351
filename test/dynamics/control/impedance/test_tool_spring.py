# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A spring between tool and target: the exact gradient of its potential."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import cartesian_spring
from multibody_dynamics.dynamics.lie import so3
from multibody_dynamics.dynamics.rigid import InverseDynamicsSolver, frame_pose, jacobian
from robots import panda, random_tree

K = np.array([3.0, 5.0, 7.0, 40.0, 50.0, 60.0])


def tool_of(model, body):
    pose = model.body_in_joint[body]
    return np.concatenate((pose[:3, :3].ravel(), pose[:3, 3]))


@pytest.mark.parametrize("make", [panda, lambda: random_tree(6, 3)])
def test_the_torque_is_the_gradient_of_the_potential(make):
    model = make()
    rng, n = np.random.default_rng(5), model.n
    body = max(range(n), key=lambda i: len(model.path(i)))
    solver = InverseDynamicsSolver(model, "spatial")
    frames = np.zeros((2, 12))
    frames[0] = tool_of(model, body)
    x, J, tool = np.zeros(6), np.zeros((6, n)), np.zeros(12)
    torque, matrix = np.zeros(n), np.zeros((n, n))
    goal, _ = np.split(rng.uniform(-1.0, 1.0, 2 * n), 2)
    target = frame_pose(model, goal, body)
    frames[1] = np.concatenate((target[:3, :3].ravel(), target[:3, 3]))

    def pull(q):
        solver.state[0] = q
        solver.update()
        out = frames, K, x, J, tool, torque, matrix
        cartesian_spring(model.parents, solver.bodies, body + 1, *out)
        return 0.5 * float(K @ x**2)

    assert pull(goal) < 1e-24
    plain = jacobian(model, goal, body, representation="hybrid")
    np.testing.assert_allclose(matrix, plain.T @ np.diag(K) @ plain, atol=1e-9)
    for _ in range(20):
        q = goal + rng.uniform(-0.6, 0.6, n)
        pull(q)
        pose = frame_pose(model, q, body)
        np.testing.assert_allclose(x[3:], pose[:3, 3] - target[:3, 3], atol=1e-12)
        np.testing.assert_allclose(so3.exp(x[:3]) @ target[:3, :3], pose[:3, :3], atol=1e-12)
        np.testing.assert_allclose(tool, np.r_[pose[:3, :3].ravel(), pose[:3, 3]], atol=1e-12)
        found, h = torque.copy(), 1e-4
        for i, step in enumerate(np.eye(n)):
            slope = (pull(q + h * step) - pull(q - h * step)) / (2.0 * h)
            half = (pull(q + 0.5 * h * step) - pull(q - 0.5 * h * step)) / h
            np.testing.assert_allclose(-found[i], (4.0 * half - slope) / 3.0, atol=1e-7)
