# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint screws: their motions, and joints with several degrees of freedom."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.joints import turn_z_to
from rejections import assert_rejected
from robots import product_of_exponentials, random_inertia, random_pose, with_multidof

POINT = np.array([0.3, -0.2, 0.5])
AXIS = np.array([1.0, 2.0, -2.0])
E = AXIS / 3


def motion(screws, q):
    """exp(Y_1 q_1) ... exp(Y_k q_k)"""
    C = np.eye(4)
    for Y, angle in zip(np.atleast_2d(screws), np.atleast_1d(q), strict=True):
        C = C @ dyn.se3.exp(Y * angle)
    return C


def about(rotation, point, shift=(0, 0, 0)):
    """The pose after a rotation about a point, and then a shift."""
    R = rotation.as_matrix()
    return dyn.se3.from_rotation_translation(R, point - R @ point + shift)


@pytest.mark.parametrize(("pitch", "rank"), [(1.4, 3), (np.pi / 2, 2), (-np.pi / 2, 2)])
def test_spherical_is_singular_at_a_right_angle(pitch, rank):
    model = one_body(dyn.spherical(POINT))
    J = dyn.jacobian(model, (0.3, pitch, 0.2), 2)
    assert np.linalg.matrix_rank(J, tol=1e-9) == rank


ROTATION = Rotation.from_rotvec(0.7 * E)
ZYX = Rotation.from_euler("ZYX", (0.7, -0.4, 1.3))


@pytest.mark.parametrize(
    ("screws", "q", "expected"),
    [
        (dyn.revolute(AXIS, POINT), 0.7, about(ROTATION, POINT)),
        (dyn.prismatic(AXIS), 0.7, about(Rotation.identity(), POINT, 0.7 * E)),
        (dyn.helical(AXIS, POINT, 0.05), 0.7, about(ROTATION, POINT, 0.7 * 0.05 * E)),
        (dyn.cylindrical(AXIS, POINT), (0.4, 0.7), about(ROTATION, POINT, 0.4 * E)),
        (dyn.universal(POINT, (0, 0, 2.0), (0, 3.0, 0)), (0.7, -0.4),
         about(Rotation.from_euler("ZY", (0.7, -0.4)), POINT)),
        (dyn.spherical(POINT), (0.7, -0.4, 1.3), about(ZYX, POINT)),
        (dyn.floating(POINT), (0.4, -0.3, 1.1, 0.7, -0.4, 1.3),
         about(ZYX, POINT, (0.4, -0.3, 1.1))),
    ],
    ids=["revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "floating"],
)  # fmt: skip
def test_screws_move_a_body_about_and_along_their_axes(screws, q, expected):
    """Angles in rad and lengths in m; of balls, yaw, pitch and roll."""
    np.testing.assert_allclose(motion(screws, q), expected, atol=1e-15)


def test_planar_stays_in_its_plane():
    screws = dyn.planar(AXIS, POINT)
    assert screws.shape == (3, 6)
    C = motion(screws, (0.3, -0.4, 0.7))
    np.testing.assert_allclose(C[:3, :3], Rotation.from_rotvec(0.7 * E).as_matrix(), atol=1e-15)
    moved = C[:3, :3] @ POINT + C[:3, 3] - POINT
    assert abs(moved @ E) < 1e-15
    assert np.linalg.norm(moved) == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(screws[:2, 3:], np.eye(3)[:2] @ turn_z_to(E).T, atol=1e-15)


@settings(max_examples=50)
@given(st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3))
def test_turn_z_to(axis):
    e = np.array(axis) / np.linalg.norm(axis)
    R = turn_z_to(e)
    np.testing.assert_allclose(R[:, 2], e, atol=1e-15)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) > 0


@pytest.mark.parametrize("tilt", [0, 1e-16, 1e-12, 1e-9, 1e-7])
def test_turn_z_to_the_opposite(tilt):
    e = np.array([tilt, 0, -1.0])
    R = turn_z_to(e)
    np.testing.assert_allclose(R[:, 2], e, atol=1e-15)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)


@pytest.mark.parametrize("axis", [(0, 0, 0), (0, np.nan, 1), (1, 0), ((1, 0, 0),) * 2])
def test_an_invalid_axis_is_rejected(axis):
    assert_rejected((lambda: dyn.universal(POINT, (0, 0, 2.0), (0, 0, -2.0)), "not parallel"))
    for point in ((0, 0), np.zeros((2, 3)), np.zeros((0, 3))):
        with pytest.raises(dyn.InputError, match=r"point: expected shape"):
            dyn.revolute((0, 0, 1), point)
    with pytest.raises(dyn.InputError, match=r"pitch: expected shape \(\)"):
        dyn.helical((0, 0, 1), POINT, [0.1])
    for build in (dyn.revolute, dyn.prismatic, dyn.cylindrical, dyn.planar):
        with pytest.raises(dyn.InputError):
            build(axis)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e300])
def test_axes_of_any_length(scale):
    expected = dyn.helical(AXIS, POINT, 0.1)
    np.testing.assert_allclose(dyn.helical(AXIS * scale, POINT, 0.1), expected, rtol=1e-15)


# Stacks in a model


def one_body(screws):
    rng = np.random.default_rng(1)
    return dyn.model_from_screws([-1], [screws], [random_pose(rng)], [random_inertia(rng)])


def test_a_stack_becomes_single_joints_with_massless_bodies_between():
    rng = np.random.default_rng(2)
    poses = [random_pose(rng) for _ in range(3)]
    inertias = [random_inertia(rng) for _ in range(3)]
    model = dyn.model_from_screws(
        (-1, 0, 0),
        [dyn.universal(POINT, (1, 0, 0), (0, 1, 0)), dyn.revolute(AXIS), dyn.planar()],
        poses,
        inertias,
        joint_names=("wrist", "finger", ("x", "y", "turn")),
        body_names=("palm", "thumb", "puck"),
        frames={"tip": dyn.model.Frame(1, np.eye(4)), "ground": dyn.model.Frame(-1, np.eye(4))},
    )
    assert model.joint_names == ("wrist_1", "wrist_2", "finger", "x", "y", "turn")
    assert model.body_names == ("wrist_1_body", "palm", "thumb", "x_body", "y_body", "puck")
    assert model.parents.tolist() == [-1, 0, 1, 1, 3, 4]
    assert model.joint_types == ("revolute",) * 3 + ("prismatic",) * 2 + ("revolute",)
    massless = [not M.any() for M in model.inertias]
    assert massless == [True, False, False, True, True, False]
    np.testing.assert_array_equal(model.poses, np.array(poses)[[0, 0, 1, 2, 2, 2]])
    assert (model.frames["tip"].body, model.frames["ground"].body) == (2, -1)


def test_the_last_body_of_a_stack_moves_as_the_product_of_its_screws():
    model = with_multidof()
    q = np.random.default_rng(3).uniform(-1, 1, model.n)
    actual = dyn.forward_kinematics(model, q).pose
    np.testing.assert_allclose(actual, product_of_exponentials(model, q), atol=1e-14)


@pytest.mark.parametrize(
    ("parents", "names", "word"),
    [
        ((-1,), (("a", "b", "c"),), "3 names"),
        ((-1,), (("a",) * 2,), "two joint names are 'a'"),
        ((0,), ("wrist",), "joint 'wrist_1': parent 0"),
        ((-2,), ("wrist",), "parent -2"),
    ],
)
def test_inconsistent_stacks_are_rejected(parents, names, word):
    screws = [dyn.universal(POINT, (1, 0, 0), (0, 1, 0))]
    with pytest.raises(dyn.ModelError, match=word):
        dyn.model_from_screws(parents, screws, [np.eye(4)], [np.eye(6)], joint_names=names)
