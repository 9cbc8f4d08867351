# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""LU factorisation of small systems against NumPy."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.mechanisms.square_systems import (
    factorise,
    solve,
    solve_transposed,
)


def factors(A):
    F, order = A.copy(), np.zeros(len(A), dtype=np.int64)
    found = factorise(F, len(A), np.fmax(np.abs(A).max(axis=1), 1e-300), order)
    return F, order, found


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("seed", range(2))
def test_solutions(size, seed):
    """Of matrices whose rows must be exchanged, and are of any size."""
    rng = np.random.default_rng(seed)
    A = rng.permutation(rng.uniform(-1, 1, (size, size)) + size * np.eye(size))
    A = (10.0 ** rng.uniform(-3, 3, size))[:, None] * A
    F, order, (share, _) = factors(A)
    b, (x, y) = rng.normal(size=size), np.empty((2, size))
    solve(F, size, order, b, x)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-10)
    solve_transposed(F, size, order, b.copy(), y)
    np.testing.assert_allclose(y, np.linalg.solve(A.T, b), rtol=1e-10)
    assert share > 0.1


def test_the_column_that_depends_on_others_is_found():
    A = np.random.default_rng(1).normal(size=(4, 4))
    A[:, 2] = A[:, 0] - 2 * A[:, 1]
    share, column = factors(A)[2]
    assert abs(share) < 1e-14
    assert column == 2


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_zero_or_a_number_that_is_none(value):
    A = np.eye(3)
    A[1, 1] = value
    share, column = factors(A)[2]
    assert share == 0.0
    assert column == 1
