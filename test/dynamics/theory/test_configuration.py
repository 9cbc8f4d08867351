# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Descriptions of a tree: the same poses, against exact products of exponentials."""

import runpy
from functools import reduce
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, theory
from reference import error, motion
from rejections import assert_rejected
from robots import (
    PANDA,
    panda,
    random_inertia,
    random_pose,
    random_screw,
    random_state,
    random_tree,
    with_multidof,
)

KINDS = (
    theory.JointFrameDescription,
    theory.BodyScrewDescription,
    theory.ParentScrewDescription,
    theory.SpatialScrewDescription,
)
MODELS = [panda(), random_tree(9, seed=4), random_tree(8, seed=11), with_multidof()]
RNG = np.random.default_rng(5)


def free_frames(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([random_pose(rng) for _ in range(n)])


def conversions(description, frames):
    """The same tree in every description."""
    return (
        description.joint_frames(frames),
        description.body_screws(),
        description.parent_screws(),
        description.spatial_screws(),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_product_gives_the_exact_poses(model, kind):
    q = 2 * random_state(model, seed=1)[0]
    exact = np.array([C[0] for C in motion(model, [q]).poses])
    assert error(kind.of(model).poses(q), exact, axes=2) < 1e-14


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_conversions_keep_the_poses(model, kind):
    q = RNG.uniform(-4, 4, (3, model.n))
    expected = dyn.forward_kinematics(model, q).pose
    for converted in conversions(kind.of(model), free_frames(model.n)):
        assert error(converted.poses(q), expected, axes=2) < 2e-14, type(converted)


@pytest.mark.parametrize("kind", KINDS)
def test_conversions_agree_with_the_model(kind):
    model = random_tree(7, seed=8)
    frames = theory.JointFrameDescription.of(model).frames_in_body
    for converted in conversions(kind.of(model), frames):
        expected = type(converted).of(model)
        for name, values in vars(expected).items():
            np.testing.assert_allclose(getattr(converted, name), values, atol=1e-14, err_msg=name)


def test_screws_of_the_descriptions():
    """X_i, Y_i and Z_i from each other, [M18d] (94), and X^p_i of the parent, [M18k] (7)."""
    model = random_tree(7, seed=8)
    joint, body, parent, spatial = (kind.of(model) for kind in KINDS)
    for i, p in enumerate(model.parents):
        X = body.screws[i]
        assert error(se3.Ad(model.poses[i]) @ X, spatial.screws[i]) < 1e-14
        assert error(se3.Ad(joint.frames_in_body[i]) @ joint.screws[i], X) < 1e-14
        assert error(se3.Ad(body.relative_poses[i]) @ X, parent.screws[i]) < 1e-14
        if p >= 0:
            assert error(se3.Ad(model.poses[p]) @ parent.screws[i], spatial.screws[i]) < 1e-14
        else:
            assert error(parent.screws[i], spatial.screws[i]) < 1e-14


def test_the_frames_of_a_urdf_are_the_b_i():
    """The joint frames of a URDF are its body frames, with the placements of Pinocchio."""
    twin = pin.buildModelFromUrdf(str(PANDA))
    description = theory.BodyScrewDescription.of(panda())
    for i, name in enumerate(panda().joint_names):
        placement = twin.jointPlacements[twin.getJointId(name)].homogeneous
        np.testing.assert_allclose(description.relative_poses[i], placement, atol=1e-15)
        np.testing.assert_allclose(description.screws[i], (0, 0, 1, 0, 0, 0), atol=1e-15)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_joint_frames_can_be_chosen_freely(seed):
    model = random_tree(5, seed=2)
    q = np.random.default_rng(seed).uniform(-6, 6, model.n)
    body = theory.BodyScrewDescription.of(model)
    framed = body.joint_frames(free_frames(model.n, seed))
    assert error(framed.poses(q), body.poses(q), axes=2) < 1e-13
    one_for_all = body.joint_frames(np.eye(4))
    np.testing.assert_array_equal(one_for_all.screws, body.screws)
    np.testing.assert_array_equal(one_for_all.frames_in_parent, body.relative_poses)


def test_body_frames_in_the_inertial_frame_make_body_and_spatial_screws_equal():
    """[M18k] 2.4, end: for parts designed in one CAD frame A_i = 1 and Y_i = X_i."""
    rng = np.random.default_rng(3)
    parents, one = (-1, 0, 1, 0), np.broadcast_to(np.eye(4), (4, 4, 4))
    screws = [random_screw(rng, kind) for kind in ("revolute", "helical", "prismatic", "revolute")]
    inertias = [random_inertia(rng) for _ in parents]
    model = theory.model_from_body_screws(parents, one, screws, inertias)
    np.testing.assert_array_equal(model.screws, screws)
    np.testing.assert_array_equal(model.poses, one)
    np.testing.assert_array_equal(theory.BodyScrewDescription.of(model).screws, screws)
    q = rng.uniform(-3, 3, (2, 4))
    body, spatial = (kind.of(model).poses(q) for kind in (KINDS[1], KINDS[3]))
    np.testing.assert_array_equal(body, spatial)


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda model: model.name)
def test_a_model_is_recovered_from_its_descriptions(model):
    options = {
        "joint_names": model.joint_names,
        "body_names": model.body_names,
        "gravity": model.gravity,
        "name": model.name,
    }
    joint = theory.JointFrameDescription.of(model).joint_frames(free_frames(model.n))
    body = theory.BodyScrewDescription.of(model)
    back = (
        theory.model_from_joint_frames(
            model.parents, joint.frames_in_parent, joint.frames_in_body, joint.screws,
            model.link_inertias, **options,
        ),
        theory.model_from_body_screws(
            model.parents, body.relative_poses, body.screws, model.link_inertias, **options
        ),
    )  # fmt: skip
    q, qd, qdd = random_state(model)[:3]
    expected = dyn.inverse_dynamics(model, q, qd, qdd).tau
    for copy in back:
        assert copy.joint_names == model.joint_names
        assert copy.name == model.name
        np.testing.assert_allclose(copy.poses, model.poses, atol=1e-14)
        np.testing.assert_allclose(copy.screws, model.screws, atol=1e-14)
        assert error(dyn.inverse_dynamics(copy, q, qd, qdd).tau, expected) < 1e-12


def test_joints_with_several_degrees_of_freedom():
    """B exp(X_1 q_1) exp(X_2 q_2), and the same in joint frames; [M18k] remark 4."""
    rng = np.random.default_rng(6)
    parents, B, S = (-1, 0), free_frames(2, 1), free_frames(2, 2)
    stacks = [dyn.cylindrical((1, 2, 3), (0.1, 0.2, 0.3)), dyn.spherical((0.3, 0.1, -0.2))]
    inertias = [random_inertia(rng) for _ in parents]
    q = rng.uniform(-2, 2, 5)

    def turned(stack, values):
        return reduce(np.matmul, (se3.exp(X * x) for X, x in zip(stack, values, strict=True)))

    first = B[0] @ turned(stacks[0], q[:2])
    expected = first, first @ B[1] @ turned(stacks[1], q[2:])
    model = theory.model_from_body_screws(parents, B, stacks, inertias)
    poses = dyn.forward_kinematics(model, q).pose
    assert error(poses[[1, 4]], np.array(expected), axes=2) < 1e-14

    framed = [X @ se3.Ad(se3.inverse(frame)).T for X, frame in zip(stacks, S, strict=True)]
    again = theory.model_from_joint_frames(parents, B @ S, S, framed, inertias)
    assert error(dyn.forward_kinematics(again, q).pose, poses, axes=2) < 1e-14


def test_descriptions_are_immutable():
    parents, B, X = [-1, 0], np.array([np.eye(4)] * 2), np.ones((2, 6))
    description = theory.BodyScrewDescription(parents, B, X)
    X[:] = 0
    assert np.all(description.screws == 1)
    with pytest.raises(ValueError, match="read-only"):
        description.screws[0] = 0
    with pytest.raises(AttributeError):
        description.screws = X


ONE = np.array([np.eye(4)] * 2)
SCALED = ONE * (1, 1, 1, 1 + 1e-3)
MIRROR = ONE * np.array([1, 1, -1, 1])[:, None]


@pytest.mark.parametrize(
    ("parents", "poses", "screws", "message"),
    [
        ((-1, 1), ONE, np.ones((2, 6)), r"parents\[1\] is 1; expected -1 \(the base\)"),
        ((-1, 0.5), ONE, np.ones((2, 6)), "expected one integer per body"),
        ((), ONE[:0], np.ones((0, 6)), "expected one integer per body"),
        ((-1, 0), ONE[:1], np.ones((2, 6)), r"relative_poses: expected shape \(2, 4, 4\)"),
        ((-1, 0), SCALED, np.ones((2, 6)), "the last row of a pose"),
        ((-1, 0), MIRROR, np.ones((2, 6)), r"the rotation of relative_poses\[0\] is not a"),
        ((-1, 0), ONE, np.ones((3, 6)), "screws: expected"),
        ((-1, 0), ONE, [np.ones(6), np.ones(5)], "screws"),
        ((-1, 0), ONE, [np.ones(6), [np.nan] * 6], r"screws.*is nan"),
    ],
)
def test_invalid_trees_are_rejected(parents, poses, screws, message):
    with pytest.raises(dyn.ModelError, match=message):
        theory.BodyScrewDescription(parents, poses, screws)
    with pytest.raises(dyn.ModelError, match=message):
        theory.model_from_body_screws(parents, poses, screws, np.array([np.eye(6)] * 2))


def test_wrong_coordinates_are_rejected():
    description = theory.SpatialScrewDescription.of(MODELS[1])
    assert_rejected((lambda: description.poses(np.zeros(8)), "q: expected shape (..., 9)"))


# examples/04_remote_centre_of_motion.py

ARM = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "04_remote_centre_of_motion.py"))
DIMENSIONS = ({}, {"radius": 0.35, "inclination": -0.2, "link_arc": 1.1, "holder_arc": 0.3})


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_the_arm_is_the_same_in_three_descriptions(dimensions):
    robots = [ARM["remote_centre_arm"](name, **dimensions) for name in ARM["DESCRIPTIONS"]]
    q, qd, qdd = random_state(robots[0])[:3]
    torques = [dyn.inverse_dynamics(robot, q, qd, qdd).tau for robot in robots]
    for robot, tau in zip(robots, torques, strict=True):
        assert robot.joint_types == ("prismatic", *["revolute"] * 4)
        assert error(robot.screws, robots[0].screws, axes=2) < 1e-15
        assert error(tau, torques[0]) < 1e-13


@pytest.mark.parametrize("dimensions", DIMENSIONS)
def test_the_remote_centre_is_fixed_and_on_the_instrument(dimensions):
    model, shape = (ARM[name](**dimensions) for name in ("remote_centre_arm", "geometry"))
    q = RNG.uniform(-np.pi, np.pi, (200, model.n)) * (0.1, 1, 1, 1, 1)
    incision, instrument = (dyn.frame_pose(model, q, name) for name in ("incision", "instrument"))
    assert np.abs(incision[:, :3, 3] - instrument[:, :3, 3]).max() < 1e-15
    velocity = dyn.jacobian(model, q, "instrument", representation="hybrid")[:, 3:, 3:]
    assert np.abs(velocity).max() < 1e-15
    tip = shape.curves[-1][-1] - model.poses[-1][:3, 3]  # in the frame of the body
    poses = dyn.forward_kinematics(model, q).pose[:, -1]
    along = poses[:, :3, :3] @ tip + poses[:, :3, 3] - instrument[:, :3, 3]
    assert np.abs(np.cross(along, instrument[:, :3, 2])).max() < 1e-15
    assert np.ptp(instrument[:, :3, 2], axis=0).min() > 0.5


def test_an_unknown_description_of_the_arm_is_rejected():
    with pytest.raises(ValueError, match="'screws' is not one of joint frames, body screws"):
        ARM["remote_centre_arm"]("screws")
