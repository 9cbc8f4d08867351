# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joints of coupled robots, one by one."""

from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.lie import se3
from multibody_dynamics.simulation.tree_joints import tree_joints
from robots import random_tree

CONFIG = Path(__file__).resolve().parents[2] / "config"


def wrist() -> dyn.MultibodyModel:
    springs = CONFIG / "elastic_joints" / "differential_wrist.yaml"
    return dyn.load_urdf(CONFIG / "robots" / "differential_wrist.urdf", couplings=springs)


def test_the_joints_of_a_differential_are_those_of_its_urdf():
    joints = tree_joints(wrist())
    assert joints.names == ("elbow", "pitch", "roll")
    assert joints.parents.tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(
        joints.matrix, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, -0.5]]
    )
    np.testing.assert_allclose(joints.matrix @ joints.inverse, np.eye(3), atol=1e-15)
    assert [joints.joint_of(c) for c in range(3)] == [0, None, None]
    assert joints.ties() == {}


def test_joints_of_a_tree_move_its_bodies_as_the_coordinates_do():
    """exp(screw x) of each joint, from its parent on, gives the poses of the coupled robot."""
    tree = random_tree(6, 1, branching=0.0)
    model = tree.with_couplings(
        {
            "joint1": {"l": 0.5, "r": 0.7},
            "joint3": ({"joint2": -2.0, "l": 0.1, "r": 0.2}, 0.3),
            "joint4": {"joint1": 1.5},
            "joint5": {"l": 0.5, "r": -0.5},
        }
    )
    joints = tree_joints(model)
    assert joints.names == tree.joint_names
    assert [tree.joint_names[j] for j in joints.ties()] == ["joint4", "joint5"]
    q = np.random.default_rng(0).uniform(-1.0, 1.0, model.n)
    x = joints.matrix @ q
    np.testing.assert_allclose(joints.inverse @ x, q, atol=1e-14)
    for factors in joints.ties().values():
        assert abs(factors @ x) < 1e-14
    poses = dyn.forward_kinematics(model, q).pose
    for j, (i, k) in enumerate(zip(joints.bodies, joints.parents, strict=True)):
        home, before = model.poses[i], np.eye(4)
        if k >= 0:
            home = np.linalg.solve(model.poses[joints.bodies[k]], home)
            before = poses[joints.bodies[k]]
        found = before @ home @ se3.exp(joints.screws[j] * x[j])
        np.testing.assert_allclose(found, poses[i], atol=1e-12)


def test_coordinates_that_joints_do_not_determine_are_refused():
    model = random_tree(3, 1).with_couplings({"joint1": {"l": 1.0, "r": 1.0}})
    with pytest.raises(dyn.InputError, match=r"4 coordinates \(.*\) cannot be read from"):
        tree_joints(model)
