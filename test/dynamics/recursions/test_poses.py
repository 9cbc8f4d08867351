# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The poses of the joint frames against matrix exponentials."""

import mpmath as mp
import numpy as np
import pytest

from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.model import records
from multibody_dynamics.dynamics.recursions import poses
from reference import error
from robots import product_of_exponentials, random_tree


def recursion(model, q, base):
    rows = model.joint_rows
    state = np.zeros((5, model.n))
    state[0] = q
    trig = np.empty((2, model.n))
    poses.store_trig(rows, state, trig)
    bodies = np.zeros((model.n + 1, records.BODY_ROW))
    bodies[0, : records.POSITION] = base[:3, :3].ravel()
    bodies[0, records.POSITION : records.TWIST] = base[:3, 3]
    ways = [poses.place(i, p + 1, rows, trig, state, bodies) for i, p in enumerate(model.parents)]
    stepped = bodies.copy()
    poses.pose_recursion(model.parents, rows, trig, state, bodies)
    np.testing.assert_array_equal(stepped, bodies)
    C = bodies[:, : records.POSITION].reshape(-1, 3, 3)
    r = bodies[:, records.POSITION : records.TWIST]
    return se3.from_rotation_translation(C, r), ways, trig


@pytest.mark.parametrize("seed", range(2))
def test_joint_frames_follow_the_product_of_exponentials(seed):
    model = random_tree(6, seed)
    rng = np.random.default_rng(seed)
    q, base = rng.uniform(-3, 3, model.n), se3.exp(rng.normal(size=6))
    C, ways, _ = recursion(model, q, base)
    bodies = C[1:] @ model.body_in_joint
    assert error(bodies, base @ product_of_exponentials(model, q), 2) < 1e-14
    for i, (z, d) in enumerate(ways):
        assert error(z, C[i + 1, :3, 2]) < 1e-15
        assert error(d, C[i + 1, :3, 3] - C[model.parents[i] + 1, :3, 3]) < 1e-13


def test_sines_and_cosines_of_the_joint_angles():
    """A prismatic joint has none; a long screw turns further."""
    model = random_tree(6, 2, kinds=("revolute", "prismatic", "helical"))
    q = np.random.default_rng(3).normal(size=model.n)
    angle = np.linalg.norm(model.screws[:, :3], axis=1) * q
    _, _, trig = recursion(model, q, np.eye(4))
    assert error(trig, np.stack([np.sin(angle), np.cos(angle)])) < 1e-15
    state = np.zeros((5, model.n, 3))
    state[0] = q[:, None] * [1, 2, 3]
    batch = poses.batch_trig(model.joint_rows, state)
    assert batch.shape == (2, model.n, 3)
    assert error(batch[..., 0], trig) < 1e-15
    assert error(batch[0, :, 2], np.sin(3 * angle)) < 1e-15


def test_sines_and_cosines_of_any_scalars():
    rows = random_tree(5, 3, kinds=("revolute", "prismatic", "helical")).joint_rows
    q = np.random.default_rng(4).normal(size=5)
    trig = poses.generic_trig(rows, [mp.mpf(x) for x in q], mp.sin, mp.cos)
    assert trig.shape == (2, 5)
    angle = rows[:, records.ANGULAR] * q
    assert error(trig, np.stack([np.sin(angle), np.cos(angle)])) < 1e-15
