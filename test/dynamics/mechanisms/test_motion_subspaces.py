# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motion subspaces and their derivatives, against matrix exponentials and 40-digit differences."""

import copy
import pickle

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.mechanisms.motion_subspaces import (
    BodyFixedJoint,
    CompositeJoint,
    ExponentialJoint,
    SphericalJoint,
)
from multibody_dynamics.dynamics.model import joints
from reference import (
    constant,
    derivatives,
    error,
    exact,
    exponential,
    hat,
    inverse,
    series,
    times,
    twist,
)
from robots import random_screw

RNG = np.random.default_rng(12)
POINT = (0.3, -0.2, 0.5)
SEEDS = st.integers(0, 2**32 - 1)

COMPOSITE = {
    "revolute": joints.revolute((0.2, 1, 0.3), POINT),
    "prismatic": joints.prismatic((1, 0.4, -0.2)),
    "helical": joints.helical((0.1, -1, 0.5), POINT, 0.17),
    "cylindrical": joints.cylindrical((1, 1, 0.3), POINT),
    "universal": joints.universal(POINT, (1, 0.2, 0), (0, 0.9, 0.4)),
    "planar": joints.planar((0.1, -0.2, 1), POINT),
    "spherical": joints.spherical(POINT),
    "floating": joints.floating(POINT),
    "five screws": np.array([random_screw(RNG, kind) for kind in ("helical", "prismatic") * 2]),
}
JOINTS = {
    **{name: CompositeJoint(screws) for name, screws in COMPOSITE.items()},
    "yaw, pitch, roll": SphericalJoint(),
    "rotation vector": ExponentialJoint.spherical(POINT),
    "screw of the pose": ExponentialJoint.floating(),
    "planar, first kind": ExponentialJoint(COMPOSITE["planar"]),
    "no subgroup": ExponentialJoint(COMPOSITE["five screws"]),
}

each_joint = pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)


def series_exponential(G):
    """exp(G(t)) of a series of 4x4 matrices by its power series."""
    total = term = constant(exact(np.eye(4)), len(G))
    for k in range(1, 80):
        term = times(term, G) / k
        total = total + term
    return total


def exact_pose(joint, q):
    """T(q(t)) as a series of four coefficients; q (4, k) are those of the coordinates."""
    if isinstance(joint, ExponentialJoint):
        return series_exponential(hat(q @ exact(joint.screws)))
    T = constant(exact(np.eye(4)), len(q))
    for j, X in enumerate(joint.screws):
        T = times(T, exponential(X, q[:, j]))
    return T


def exact_rates(joint, state):
    """S, S', S'', S''' (4, 6, k) by differences of 40-digit poses: S_j = T^-1 dT/dq_j."""
    q, h = series(state), mp.mpf(10) ** -13
    back = inverse(exact_pose(joint, q))
    S = []
    for j in range(joint.degrees):
        step = 0 * q
        step[0, j] = h
        slope = (exact_pose(joint, q + step) - exact_pose(joint, q - step)) / (2 * h)
        S.append(twist(times(back, slope)))
    return derivatives(np.stack(S, axis=-1))


@each_joint
def test_poses_are_matrix_exponentials(joint):
    for q in RNG.normal(size=(4, joint.degrees)):
        if isinstance(joint, ExponentialJoint):
            T = expm(se3.hat(q @ joint.screws))
        else:
            T = np.eye(4)
            for X, angle in zip(joint.screws, q, strict=True):
                T = T @ expm(se3.hat(X) * angle)
        assert error(joint.pose(q), T, axes=2) < 1e-14
    np.testing.assert_allclose(joint.pose(np.zeros(joint.degrees)), np.eye(4), atol=1e-16)


@each_joint
def test_subspaces_and_their_derivatives_are_exact(joint):
    state = np.random.default_rng(3).uniform(-1.2, 1.2, (4, joint.degrees))
    expected = exact_rates(joint, state)
    rates = joint.subspace_rates(*state)
    for S, exact_S in zip(rates, expected, strict=True):
        size = max(float(np.abs(exact_S).max()), 1.0)  # some derivatives are zero
        assert float(np.abs(S - exact_S).max()) < 2e-14 * size
    np.testing.assert_allclose(joint.subspace(state[0]), rates[0], atol=2e-15)
    np.testing.assert_allclose(joint.subspace_dot(*state[:2]), rates[1], atol=2e-15)


@pytest.mark.parametrize(
    "joint", [*JOINTS.values(), BodyFixedJoint.spherical()], ids=[*JOINTS, "body-fixed"]
)
def test_the_arrays_of_a_subspace_belong_to_the_caller(joint):
    rates = joint.subspace_rates(*np.zeros((4, 2, joint.degrees)))
    before = [S.copy() for S in rates]
    for k, S in enumerate(rates):
        S[0, 0, 0] = 9.0 + k
    for k, (S, was) in enumerate(zip(rates, before, strict=True)):
        was[0, 0, 0] = 9.0 + k
        np.testing.assert_array_equal(S, was)


def test_yaw_pitch_and_roll_turn_about_z_y_and_x():
    """Against the rotation matrix in closed form."""
    q = RNG.normal(scale=2, size=(50, 3))
    (sa, sb, sc), (ca, cb, cc) = np.sin(q).T, np.cos(q).T
    R = [
        [ca * cb, ca * sb * sc - sa * cc, ca * sb * cc + sa * sc],
        [sa * cb, sa * sb * sc + ca * cc, sa * sb * cc - ca * sc],
        [-sb, cb * sc, cb * cc],
    ]
    pose = SphericalJoint().pose(q)
    assert error(pose[:, :3, :3], np.moveaxis(R, -1, 0), axes=2) < 1e-15
    assert not pose[:, :3, 3].any()


@settings(max_examples=25)
@given(SEEDS, st.floats(-9, np.log10(6.0)), st.floats(-6, 6))
def test_the_subspace_of_the_first_kind_is_dexp(seed, log_angle, log_length):
    """S = dexp_-q of se3 at all scales of rotation and translation."""
    q = np.random.default_rng(seed).normal(size=6)
    q[:3] *= 10**log_angle / np.linalg.norm(q[:3])
    q[3:] *= 10**log_length / np.linalg.norm(q[3:])
    S, expected = ExponentialJoint.floating().subspace(q), se3.dexp(-q)
    for block in (np.s_[:3, :3], np.s_[3:, :3], np.s_[3:, 3:]):
        assert error(S[block], expected[block], axes=2) < 5e-14


@each_joint
def test_batches_equal_single_results(joint):
    q, qd, qdd = RNG.normal(size=(3, 2, 5, joint.degrees))
    S, Sd, Sdd = joint.subspace_rates(q, qd[:1], qdd)
    assert S.shape == Sd.shape == Sdd.shape == (2, 5, 6, joint.degrees)
    assert joint.pose(q).shape == (2, 5, 4, 4)
    for k in np.ndindex(2, 5):
        alone = joint.subspace_rates(q[k], qd[0, k[1]], qdd[k])
        for one, many in zip(alone, (S, Sd, Sdd), strict=True):
            np.testing.assert_allclose(many[k], one, atol=2e-14)
    assert joint.subspace_dot(q[:0], qd[:0]).shape == (0, 5, 6, joint.degrees)
    assert joint.pose(q[:0]).shape == (0, 5, 4, 4)


def test_singular_coordinates():
    def rank(joint, q):
        return np.linalg.matrix_rank(joint.subspace(q), tol=1e-12)

    assert rank(SphericalJoint(), [0.3, np.pi / 2, 0.4]) == 2
    assert rank(SphericalJoint(), [0.3, np.pi / 2 - 1e-3, 0.4]) == 3
    vector = ExponentialJoint.spherical()
    turn = np.array([0.6, 0.0, 0.8])
    assert rank(vector, 2 * np.pi * turn) == 1
    assert rank(vector, np.pi * turn) == 3


def test_a_joint_is_immutable_and_copies():
    screws = joints.planar()
    for joint in (CompositeJoint(screws), SphericalJoint(), ExponentialJoint.floating()):
        with pytest.raises(ValueError, match="read-only"):
            joint.screws[0, 0] = 2.0
        with pytest.raises(AttributeError):
            joint.screws = screws
        for twin in (copy.deepcopy(joint), pickle.loads(pickle.dumps(joint))):
            assert type(twin) is type(joint)
            np.testing.assert_array_equal(twin.screws, joint.screws)
            assert not twin.screws.flags.writeable
    screws[:] = 0
    assert CompositeJoint(joints.planar()).screws.any()


@pytest.mark.parametrize(
    "screws", [np.zeros(6), np.ones((7, 6)), np.ones(5), np.ones((1, 2, 6)), [[np.nan] * 6]]
)
def test_invalid_screws(screws):
    with pytest.raises(dyn.ModelError, match="screws"):
        CompositeJoint(screws)


def test_wrong_coordinates_are_named():
    joint = SphericalJoint()
    with pytest.raises(dyn.InputError, match=r"q: expected shape \(..., 3\)"):
        joint.pose([0.0, 1.0])
    with pytest.raises(dyn.InputError, match=r"qd\[1\] is nan"):
        joint.subspace_dot(np.zeros(3), [0, np.nan, 0])
    with pytest.raises(dyn.InputError, match="batch dimensions"):
        joint.subspace_dot(np.zeros((2, 3)), np.zeros((3, 3)))
