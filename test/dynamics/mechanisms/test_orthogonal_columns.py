# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Small linear systems over any scalars: against NumPy, in 50 digits, and where none has pivots."""

import mpmath
import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import Graph
from multibody_dynamics.dynamics.mechanisms.orthogonal_columns import orthogonalise
from reference import error


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_solutions(size):
    rng = np.random.default_rng(size)
    A = rng.uniform(-1, 1, (size, size)) + np.eye(size)
    A[rng.uniform(size=A.shape) < 0.3] = 0.0
    A += 2.0 * rng.permutation(np.eye(size))  # regular, with zeros on its diagonal
    b = rng.normal(size=size)
    factors = orthogonalise(A.astype(object))
    condition = np.linalg.cond(A)
    assert error(factors.solve(b.astype(object)).astype(float), np.linalg.solve(A, b)) < (
        1e-15 * size * condition
    )
    transposed = factors.solve_transposed(b.astype(object)).astype(float)
    assert error(transposed, np.linalg.solve(A.T, b)) < 1e-15 * size * condition


def test_no_pivot_is_needed():
    """A permutation, for which elimination without exchange of rows would divide by zero."""
    A = np.array([[0.0, 2.0], [1.0, 0.0]], dtype=object)
    factors = orthogonalise(A)
    assert factors.solve(np.array([6.0, 5.0], dtype=object)).tolist() == [5.0, 3.0]
    assert factors.solve_transposed(np.array([6.0, 4.0], dtype=object)).tolist() == [2.0, 6.0]


def test_the_sine_between_columns():
    angle = 1e-3
    A = np.array([[1.0, np.cos(angle)], [0.0, np.sin(angle)]], dtype=object)
    factors = orthogonalise(A)
    sines = np.sqrt((1.0 / (factors.squares * factors.inverse_squares)).astype(float))
    np.testing.assert_allclose(sines, [1.0, np.sin(angle)], rtol=1e-12)


def test_errors_do_not_grow_with_the_square_of_the_condition():
    """Hilbert's matrix, in double precision and with 50 digits."""
    hilbert = 1.0 / (np.arange(7)[:, None] + np.arange(7) + 1.0)
    b = np.ones(7)
    with mpmath.workdps(50):
        exact = orthogonalise(np.vectorize(mpmath.mpf, otypes=[object])(hilbert)).solve(
            np.vectorize(mpmath.mpf, otypes=[object])(b)
        )
    found = orthogonalise(hilbert.astype(object)).solve(b.astype(object))
    assert error(found.astype(float), exact.astype(float)) < 1e-16 * np.linalg.cond(hilbert)


def test_zeros_are_not_recorded():
    """An arrow: its full column is eliminated last, and no zero is filled."""
    graph, size = Graph(), 6
    x = np.array(graph.inputs("x", 3 * size), dtype=object)
    A = np.zeros((size, size), dtype=object)
    A[np.diag_indices(size)] = x[:size]
    A[:, 0] = x[size : 2 * size]
    factors = orthogonalise(A)
    assert factors.order == [1, 2, 3, 4, 5, 0]
    factors.solve(x[2 * size :])
    assert len(graph.nodes) < 25 * size  # a full matrix takes 700
