# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""L^T D L of the mass matrix against NumPy, and against the pivots of articulated bodies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.rigid.articulated_inertia import PIVOT, articulated_bodies
from multibody_dynamics.dynamics.rigid.mass_matrix_factors import (
    factorise,
    invert,
    negative_product,
    solve,
)
from reference import error
from robots import random_tree

SIZES = st.integers(1, 9)


def symmetric(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


@given(SIZES, st.integers(0, 2**32 - 1))
def test_factors_and_inverse(n, seed):
    M = symmetric(n, seed)
    factors, pivots, inverse = M.copy(), np.empty(n), np.full((n, n), np.nan)
    factorise(factors, np.zeros(n, dtype=bool), pivots)
    L = np.tril(factors, -1) + np.eye(n)
    assert error(L.T @ np.diag(pivots) @ L, M, 2) < 1e-13
    invert(factors, pivots, inverse)
    assert error(inverse, np.linalg.inv(M), 2) < 1e-13 * np.linalg.cond(M)
    np.testing.assert_array_equal(inverse, inverse.T)


@given(SIZES, st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_products_of_any_size(n, columns, seed):
    A, B = symmetric(n, seed), np.random.default_rng(seed).normal(size=(n, columns))
    result = np.full((n, columns), np.nan)
    negative_product(A, B, result)
    assert error(result, -A @ B, 2) < 1e-14


@given(SIZES, st.integers(0, 2**32 - 1), st.data())
def test_held_coordinates_receive_the_force_that_holds_them(n, seed, data):
    M, b = symmetric(n, seed), np.random.default_rng(seed).normal(size=n)
    held = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    factors, x = M.copy(), b.copy()
    pivots = np.empty(n)
    factorise(factors, held, pivots)
    solve(factors, held, pivots, x, x)
    free = ~held
    inner = np.linalg.solve(M[np.ix_(free, free)], b[free])
    size = np.linalg.cond(M) * np.abs(b).max()
    assert np.abs(x[free] - inner).max(initial=0) < 1e-13 * size
    assert np.abs(x[held] - M[np.ix_(held, free)] @ inner).max(initial=0) < 1e-13 * size


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_has_the_pivots_of_its_articulated_bodies_and_no_fill_in(seed):
    model = random_tree(8, seed)
    q = np.random.default_rng(seed).normal(size=8)
    factors, pivots = dyn.mass_matrix(model, q), np.empty(8)
    factorise(factors, np.zeros(8, dtype=bool), pivots)
    assert error(pivots, articulated_bodies(model, q)._rows[0, 1:, PIVOT]) < 1e-11
    carried = model.moved_by.T | model.moved_by
    np.testing.assert_array_equal(factors[np.tril(~carried, -1)], 0.0)
