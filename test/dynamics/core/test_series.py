# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Arithmetic of truncated power series in time against mpmath."""

import mpmath
import numpy as np
import pytest

from multibody_dynamics.dynamics.core import Series, leibniz, turning

RNG = np.random.default_rng(3)


def test_derivatives_come_back():
    x = RNG.normal(size=6)
    np.testing.assert_allclose(Series.of(x).derivatives(), x, rtol=1e-15)
    np.testing.assert_allclose(Series.of(x).rate().derivatives(), x[1:], rtol=1e-15)


def test_products_obey_the_rule_of_leibniz():
    a, b = RNG.normal(size=(2, 6))
    found = (Series.of(a) * Series.of(b)).derivatives()
    expected = [leibniz(k, np.multiply, a, b) for k in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_sums_and_constants():
    a, b = RNG.normal(size=(2, 4))
    x, y = Series(a), Series(b)
    first = np.array([1.0, 0.0, 0.0, 0.0])
    for found, expected in (
        (x + y, a + b), (x - y, a - b), (-x, -a), (x * 2.5, 2.5 * a), (2.5 * x, 2.5 * a),
        (x + 2.0, a + 2 * first), (2.0 + x, a + 2 * first), (x - 2.0, a - 2 * first),
        (2.0 - x, 2 * first - a), (np.float64(2.0) * x, 2 * a),
        (np.float64(2.0) - x, 2 * first - a),
    ):  # fmt: skip
        np.testing.assert_allclose(found.terms, expected, rtol=1e-15)


def test_the_shorter_series_decides():
    x, y = Series([1.0, 2.0, 3.0]), Series([4.0, 5.0])
    assert (x + y).terms == (5.0, 7.0)
    assert (x * y).terms == (4.0, 13.0)


@pytest.mark.parametrize("scalar", [float, mpmath.mpf])
def test_sine_and_cosine_of_a_growing_angle(scalar):
    with mpmath.workdps(40):
        rates = [scalar(x) for x in (0.7, -1.3, 0.4, 2.1)]
        angle = [mpmath.mpf(0), *(mpmath.mpf(x) / (k + 1) for k, x in enumerate(rates))]
        s, c = turning(Series(rates))
        for found, function in ((s, mpmath.sin), (c, mpmath.cos)):
            expected = mpmath.taylor(
                lambda t, f=function: f(sum(a * t**k for k, a in enumerate(angle))), 0, 4
            )
            assert len(found.terms) == 5
            for x, y in zip(found.terms, expected, strict=True):
                assert abs(x - y) < 1e-14


def test_coefficients_may_be_arrays():
    a, b = RNG.normal(size=(2, 4, 7))
    together = (Series(a) * Series(b)).terms
    for k in range(7):
        alone = (Series(a[:, k]) * Series(b[:, k])).terms
        np.testing.assert_array_equal([x[k] for x in together], alone)
