# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stacks of derivatives against polynomials in time, whose derivatives are known."""

from math import factorial, perm

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import product_rule as leibniz

ORDERS = 4
RNG = np.random.default_rng(3)
A = RNG.normal(size=(ORDERS, 2, 3, 3))  # coefficients of 1, t, t^2, t^3; a batch of two
B = RNG.normal(size=(ORDERS, 2, 3, 3))
X = RNG.normal(size=(ORDERS, 2, 3))


def stack(coefficients):
    return [factorial(k) * c for k, c in enumerate(coefficients)]


def convolve(a, b, multiply):
    return [sum(multiply(a[j], b[k - j]) for j in range(k + 1)) for k in range(ORDERS)]


def test_product_equals_that_of_polynomials():
    expected = stack(convolve(A, B, np.matmul))
    np.testing.assert_allclose(leibniz.product(stack(A), stack(B)), expected, rtol=1e-13)


def test_apply_and_solve_are_inverse():
    b = stack(convolve(A, X, lambda M, x: np.einsum("...ij,...j", M, x)))
    np.testing.assert_allclose(leibniz.apply(stack(A), stack(X)), b, rtol=1e-12, atol=1e-13)
    solution = leibniz.solve(np.linalg.inv(A[0]), stack(A), b)
    np.testing.assert_allclose(solution, stack(X), rtol=1e-9, atol=1e-9)


def test_transpose_and_shorter_stacks():
    expected = leibniz.product(leibniz.transpose(stack(B)), leibniz.transpose(stack(A)))
    reversed_product = leibniz.transpose(leibniz.product(stack(A), stack(B)))
    np.testing.assert_allclose(reversed_product, expected, rtol=1e-12, atol=1e-13)
    assert len(leibniz.product(stack(A)[:2], stack(B))) == 2


@pytest.mark.parametrize("k", range(5))
def test_the_leibniz_rule_on_powers_of_time(k):
    """t^3 (1, 2, 0) x t^4 (0, 1, 3) at t = 1, whose k-th derivative is that of t^7."""
    a, b = np.array([1.0, 2.0, 0.0]), np.array([0.0, 1.0, 3.0])
    of = [[perm(power, j) * x for j in range(5)] for power, x in ((3, a), (4, b))]
    np.testing.assert_array_equal(leibniz.leibniz(k, np.cross, *of), perm(7, k) * np.cross(a, b))
