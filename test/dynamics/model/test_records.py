# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rows of constants: the robot in joint frames, whose z axes are the joint axes."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.model import inertia, records
from multibody_dynamics.dynamics.rigid.kinematics import body_rows, joint_poses
from reference import error
from robots import random_tree

SEEDS = range(2)


def test_columns_follow_each_other_without_gap_or_overlap():
    joint = [records.PLACEMENT, records.ANGULAR, records.LINEAR, records.MASS, records.COM]
    joint += [records.INERTIA, records.ROTOR, records.COORDINATE, records.JOINT_ROW]
    assert np.diff(joint).tolist() == [12, 1, 1, 1, 3, 6, 1, 1]
    body = [records.POSE, records.POSITION, records.TWIST, records.SCREW, records.WRENCH]
    assert np.diff([*body, records.BODY_ROW]).tolist() == [9, 3, 24, 24, 18]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_frame_form_is_the_product_of_exponentials(seed):
    """C_i = C_parent B_i exp(Z_i q_i) in joint frames is exp(Y_1 q_1) ... exp(Y_i q_i) A_i."""
    model = random_tree(6, seed)
    q = np.random.default_rng(seed).uniform(-3, 3, model.n)
    rows = model.joint_rows
    frames, products = [], []
    for i, parent in enumerate(model.parents):
        placement = se3.from_rotation_translation(rows[i, :9].reshape(3, 3), rows[i, 9:12])
        Z = np.array([0, 0, rows[i, records.ANGULAR], 0, 0, rows[i, records.LINEAR]])
        before = frames[parent] if parent >= 0 else np.eye(4)
        frames.append(before @ placement @ se3.exp(Z * q[i]))
        before = products[parent] if parent >= 0 else np.eye(4)
        products.append(before @ se3.exp(model.screws[i] * q[i]))
    bodies = np.array(frames) @ model.body_in_joint
    assert error(bodies, np.array(products) @ model.poses, 2) < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_frames_carry_the_screws(seed):
    """At q = 0, Y_i is (0, 0, a, 0, 0, h) seen from the inertial frame, as in the recursion."""
    model = random_tree(6, seed)
    frames = model.poses @ se3.inverse(model.body_in_joint)
    Z = np.zeros((model.n, 6))
    Z[:, 2], Z[:, 5] = model.joint_rows[:, records.ANGULAR], model.joint_rows[:, records.LINEAR]
    assert error((se3.Ad(frames) @ Z[..., None])[..., 0], model.screws) < 1e-14
    moved, _, _ = body_rows(model, (np.zeros(model.n),))
    assert error(joint_poses(moved[0, 1:]), frames, 2) < 1e-14
    assert error(moved[0, 1:, records.SCREW : records.SCREW + 6], model.screws) < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_inertial_data_is_that_of_the_bodies(seed):
    model = random_tree(5, seed).with_reflected_inertia(np.arange(5.0))
    for i, row in enumerate(model.joint_rows):
        about_com = np.zeros((3, 3))
        about_com[np.triu_indices(3)] = row[records.INERTIA : records.INERTIA + 6]
        about_com = about_com + np.triu(about_com, 1).T
        com = row[records.COM : records.COM + 3]
        in_joint = dyn.spatial_inertia(row[records.MASS], com, about_com)
        in_body = inertia.transform(in_joint, se3.inverse(model.body_in_joint[i]))
        assert error(in_body, model.inertias[i], 2) < 1e-13
    np.testing.assert_array_equal(model.joint_rows[:, records.ROTOR], np.arange(5))


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (1e-9, 0, -1)])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
def test_joint_frames_along_any_axis(axis, kind):
    """Including the axis opposite to z, where the smallest turn is undefined, and axes near it."""
    e = np.array(axis) / np.linalg.norm(axis)
    point = np.array([0.3, -0.2, 0.5])
    Y = {
        "revolute": np.r_[e, np.cross(point, e)],
        "prismatic": np.r_[np.zeros(3), e],
        "helical": np.r_[e, np.cross(point, e) + 0.1 * e],
    }[kind]
    pose = se3.exp(np.array([0.1, 0.2, -0.3, 1.0, 0.5, -0.4]))
    body = dyn.spatial_inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    model = dyn.model_from_screws([-1], [Y], [pose], [body])
    assert model.joint_types == (kind,)
    for q in (0.0, 0.7, -2.0):
        expected = se3.exp(Y * q) @ pose
        assert error(dyn.forward_kinematics(model, [q]).pose[0], expected, 2) < 1e-14
