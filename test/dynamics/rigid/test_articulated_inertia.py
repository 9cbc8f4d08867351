# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The factorised mass matrix against the mass matrix itself, [K12] (34), (49), (77)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid.articulated_inertia import (
    articulated_bodies,
)
from reference import error
from rejections import assert_rejected
from robots import panda, random_tree, singular_arm, with_multidof

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 8), st.integers(0, 4))
def test_prescribed_joints_leave_a_block_of_the_mass_matrix(seed, n, count):
    """M_vv x_v = b_v with x_u = 0, and f_u = M_uv x_v: blocks of the matrix of the CRBA."""
    rng = np.random.default_rng(seed)
    model = random_tree(n, seed).with_reflected_inertia(rng.uniform(0, 1, n))
    q, b = rng.normal(size=(2, 3, n))
    held = np.isin(np.arange(n), rng.permutation(n)[:count])
    factorised = articulated_bodies(model, q, prescribed=np.flatnonzero(held))
    x, f = factorised.solve_with_forces(b)
    M = dyn.mass_matrix(model, q)
    np.testing.assert_array_equal(x[:, held], 0)
    np.testing.assert_array_equal(f[:, ~held], b[:, ~held])
    if not held.all():
        free = M[:, ~held][:, :, ~held]
        lost = np.linalg.cond(free).max()
        assert error(x[:, ~held], np.linalg.solve(free, b[:, ~held, None])[..., 0]) < 1e-13 * lost
        needed = (M @ x[..., None])[..., 0]
        size = np.abs(M).max() * np.abs(x).max()
        assert np.abs(needed - f)[:, held].max(initial=0) < 1e-13 * size
    assert error(factorised.solve(b), x) == 0


@pytest.mark.parametrize("robot", [panda, with_multidof], ids=lambda robot: robot.__name__)
def test_the_inverse_is_that_of_the_mass_matrix(robot):
    model = robot()
    q = np.random.default_rng(1).normal(size=(4, model.n))
    M = dyn.mass_matrix(model, q)
    inverse = articulated_bodies(model, q).inverse()
    unit = np.broadcast_to(np.eye(model.n), M.shape)
    assert error(inverse @ M, unit, 2) < 1e-14 * np.linalg.cond(M).max()
    assert error(inverse, np.swapaxes(inverse, -1, -2), 2) < 1e-12


def test_columns_and_batches_broadcast():
    model = random_tree(5, 2)
    rng = np.random.default_rng(3)
    q, B = rng.normal(size=(4, 5)), rng.normal(size=(3, 1, 5, 2))
    X = articulated_bodies(model, q).solve_columns(B)
    assert X.shape == (3, 4, 5, 2)
    for i, j, k in np.ndindex(3, 4, 2):
        single = articulated_bodies(model, q[j]).solve(B[i, 0, :, k])
        np.testing.assert_array_equal(X[i, j, :, k], single)
    one = articulated_bodies(model, q[0])
    assert error(one.solve(B[:, 0, :, 0]), X[:, 0, :, 0]) == 0
    assert articulated_bodies(model, np.zeros((0, 5))).solve(np.zeros(5)).shape == (0, 5)


def test_bad_input_is_rejected_and_named():
    model, zero = random_tree(5, 4), np.zeros(5)
    factorised = articulated_bodies(model, np.zeros((2, 5)))
    wrong = (np.zeros(4), 0.0, np.full(5, np.inf), np.zeros((3, 5)))
    assert_rejected(
        (lambda: articulated_bodies(model, zero[1:]), "q: expected shape"),
        (lambda: articulated_bodies(model, zero + np.nan), "q[0] (joint 'joint1') is nan"),
        (lambda: articulated_bodies(model, zero, prescribed=["nobody"]), "no joint 'nobody'"),
        *((lambda b=b: factorised.solve(b), "b") for b in wrong),
        (lambda: factorised.solve_columns(zero), "b: expected shape"),
        (lambda: factorised.solve_columns([[1.0], [2.0, 3.0]]), "b: not an array"),
    )
    assert factorised.solve_columns(np.zeros((5, 0))).shape == (2, 5, 0)


def test_a_joint_without_inertia_is_rejected_unless_it_is_prescribed():
    arm = singular_arm()
    with pytest.raises(dyn.DynamicsError, match=r"singular at q = \[ 0. -1.\]"):
        articulated_bodies(arm, [[0.0, 0.0], [0.0, -1.0]])
    assert articulated_bodies(arm, [0.0, -1.0], prescribed=[0]).solve([1.0, 2.0])[1] == 2.0


@pytest.mark.parametrize("seed", range(5))
def test_rounding_error_does_not_count_as_inertia(seed):
    """In other places the inertia about the axis is rounding error instead of zero."""
    place = dyn.se3.exp(np.random.default_rng(seed).normal(size=6))
    point = dyn.spatial_inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    screws = dyn.se3.Ad(place) @ np.array([[0, 0, 1.0, 0, 0, 0], [0, 0, 0, 1.0, 0, 0]]).T
    arm = dyn.model_from_screws([-1, 0], screws.T, [place, place], [0 * point, point])
    with pytest.raises(dyn.DynamicsError, match="singular"):
        articulated_bodies(arm, [0.3, -1.0])
    near = articulated_bodies(arm, [0.3, -1.0 + 1e-3])
    assert near.solve([1.0, 0.0])[0] == pytest.approx(1e6, rel=1e-6)
