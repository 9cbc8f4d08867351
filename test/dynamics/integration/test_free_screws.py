# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Constraints of joints: they forbid all motions but the free ones; J and eta are derivatives."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.integration.free_screws import forbidden_motions

POINT = np.array([0.3, -0.2, 0.5])
AXIS = np.array([1.0, 2.0, -0.5])
OTHER = np.cross(AXIS, (0, 0, 1)) + 0.3 * AXIS
JOINTS = {
    "weld": np.zeros((0, 6)),
    "revolute": dyn.revolute(AXIS, POINT),
    "prismatic": dyn.prismatic(AXIS),
    "helical": dyn.helical(AXIS, POINT, 0.07),
    "cylindrical": dyn.cylindrical(AXIS, POINT),
    "spherical": dyn.spherical(POINT),
    "planar": dyn.planar(AXIS, POINT),
    "universal": dyn.universal(POINT, AXIS, OTHER),
    "gantry": np.stack([dyn.prismatic(AXIS), dyn.prismatic(OTHER)]),
    "translations": np.stack([dyn.prismatic(x) for x in np.eye(3)]),
    "hoist": np.vstack([dyn.planar(AXIS, POINT), dyn.prismatic(AXIS)]),  # Schoenflies
}
rng = np.random.default_rng(3)


def body(name, pose):
    M = dyn.spatial_inertia(2.0, (0.1, 0.05, -0.2), np.diag([0.2, 0.3, 0.4]))
    return dyn.integration.RigidBody(name, M, pose)


def system(free, group="SE3", ground=False):
    """Two bodies, or a body and the ground, with one joint."""
    first, second = (body(name, se3.exp(rng.uniform(-1, 1, 6))) for name in ("a", "b"))
    joint = dyn.integration.BodyJoint("joint", "ground" if ground else "a", "b", free)
    return dyn.integration.AbsoluteSystem(
        [second] if ground else [first, second], [joint], group=group
    )


def moved(s, free, q):
    """Both bodies moved together at random, the second one also by exp(X_1 q_1) ..."""
    motion = np.eye(4)
    for X, x in zip(np.atleast_2d(free), q, strict=True):
        motion = motion @ se3.exp(X * x)
    pose = s.initial_pose.copy()
    pose[-1] = motion @ pose[-1]
    return pose if s.n == 1 else se3.exp([0.4, 1.0, -0.7, 0.3, 0.2, 0.1]) @ pose


@pytest.mark.parametrize("group", ["SE3", "SO3xR3"])
@pytest.mark.parametrize("ground", [False, True])
@pytest.mark.parametrize("name", JOINTS)
def test_only_free_motions_violate_no_constraint(name, ground, group):
    free = JOINTS[name]
    s = system(free, group, ground)
    k = np.size(free) // 6
    assert s.m == 6 - k
    for size in (0.5, 3.0):
        pose = moved(s, free, rng.uniform(-size, size, k))
        matrices = s.matrices(pose, rng.uniform(-1, 1, (s.n, 6)))
        np.testing.assert_allclose(matrices.g, 0, atol=2e-15 * 10)
        assert np.linalg.matrix_rank(matrices.J, tol=1e-6) == 6 - k
    assert np.abs(s.matrices(s.initial_pose, 0 * matrices.Q.reshape(-1, 6)).g).max() < 1e-14


@pytest.mark.parametrize("group", ["SE3", "SO3xR3"])
@pytest.mark.parametrize("name", JOINTS)
def test_J_and_eta_are_derivatives_of_g(name, group):
    """g' = J V on the manifold, for any V; J' V = -eta, for translations anywhere."""
    s = system(JOINTS[name], group)
    pose = moved(s, JOINTS[name], rng.uniform(-1, 1, np.size(JOINTS[name]) // 6))
    V, h = rng.uniform(-1, 1, (2, 6)), 1e-5
    space = s.state_space

    def at(t):
        increment = np.append(t * V.ravel(), np.zeros(12))
        return np.stack(space.product((*pose, np.zeros(12)), space.exp(increment))[:2])

    here = s.matrices(pose, V)
    before, after = (s.matrices(at(t), V) for t in (-h, h))
    np.testing.assert_allclose((after.g - before.g) / (2 * h), here.J @ V.ravel(), atol=1e-8)
    J_dot = (after.J - before.J) / (2 * h)
    np.testing.assert_allclose(J_dot @ V.ravel(), -here.eta, atol=1e-8)


def test_joints_that_hold_a_point_have_inertial_rows():
    """As in [MT13] (50), J = (R r^, -R), on which the drift depends."""
    s = dyn.integration.examples.spherical_double_pendulum("SE3")
    pose = se3.exp([0.3, 1, -0.4, 0.2, 0.1, 0]) @ s.initial_pose
    J = s.matrices(pose, np.zeros((2, 6))).J[3:]
    for i, sign, p in ((0, -1, 0.1), (1, 1, -0.1)):
        R = pose[i, :3, :3]
        block = sign * np.hstack([-R @ dyn.so3.hat((p, 0, 0)), R])
        np.testing.assert_allclose(J[:, 6 * i : 6 * i + 6], block, atol=1e-15)


def test_a_helical_joint_turns_any_number_of_times():
    free = JOINTS["helical"]
    s = system(free, ground=True)
    for turns in (-3.4, 0.5, 7.9):
        pose = moved(s, free, [2 * np.pi * turns])
        np.testing.assert_allclose(s.matrices(pose, np.zeros((1, 6))).g, 0, atol=1e-13)


def test_the_joint_frame_lies_on_the_axis():
    for name in ("revolute", "helical", "cylindrical"):
        frame = forbidden_motions(JOINTS[name], POINT + 0.7 * AXIS).frame
        np.testing.assert_allclose(np.cross(frame[:3, 3] - POINT, AXIS), 0, atol=1e-14)
        np.testing.assert_allclose(frame[:3, 2], AXIS / np.linalg.norm(AXIS))


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (np.eye(6), "neither to a lower pair"),
        (np.stack([dyn.revolute(AXIS), dyn.revolute(2 * AXIS)]), "are linearly dependent"),
        (np.stack([dyn.revolute(AXIS), dyn.revolute(AXIS, POINT)]), "neither to a lower pair"),
        (np.stack([dyn.revolute(AXIS), dyn.revolute(OTHER, POINT)]), "neither to a lower pair"),
        (np.stack([dyn.revolute(AXIS), dyn.prismatic(OTHER)]), "neither to a lower pair"),
        (np.stack([dyn.helical(x, POINT, 0.1) for x in np.eye(3)]), "neither to a lower pair"),
        ([1, 2, 3], "free: expected shape"),
    ],
)
def test_unsupported_screws_raise(free, message):
    with pytest.raises(dyn.ModelError, match=message):
        forbidden_motions(free, POINT)
