# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Minima of sums of squares and of logarithms, inside and at bounds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from multibody_dynamics.dynamics import DynamicsError
from multibody_dynamics.dynamics.identification.drives.bounded_minimum import Quadratic, minimum

FREE = np.full(2, np.inf)


def rosenbrock(x):
    """Half the squared residuals of Rosenbrock's valley, minimal at (1, 1)."""
    r = np.array([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])
    J = np.array([[-20.0 * x[0], 10.0], [-1.0, 0.0]])
    return Quadratic(1e4 * 0.5 * float(r @ r), 1e4 * J.T @ r, 1e4 * J.T @ J, 1e4 * J.T @ J)


def test_a_curved_valley():
    assert minimum(rosenbrock, np.array([-1.2, 1.0]), -FREE, FREE) == pytest.approx(
        [1, 1], abs=1e-3
    )


def test_parameters_stay_at_bounds_where_the_minimum_is_beyond_them():
    upper = np.array([0.5, np.inf])
    found = minimum(rosenbrock, np.array([-1.2, 1.0]), -FREE, upper)
    assert found == pytest.approx([0.5, 0.25], abs=1e-3)


def test_sums_of_logarithms_of_two_groups():
    """The variances of two groups of measurements of one vector are found with it."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2, 400, 2))
    b = A @ [2.0, -1.0] + np.array([[0.1], [3.0]]) * rng.normal(size=(2, 400))

    def cost(x):
        return sum(200.0 * np.log(np.sum((y - X @ x) ** 2)) for X, y in zip(A, b, strict=True))

    def function(x):
        gradient, convex, across = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
        for X, y in zip(A, b, strict=True):
            r = X @ x - y
            weight = 400.0 / float(r @ r)
            slope = weight * X.T @ r
            gradient += slope
            convex += weight * X.T @ X
            across += 2.0 / 400.0 * np.outer(slope, slope)
        return Quadratic(cost(x), gradient, convex, convex - across)

    found = minimum(function, np.zeros(2), -FREE, FREE)
    wanted = minimize(
        cost, [2.0, -1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    assert found == pytest.approx(wanted.x, abs=1e-4)


def test_a_function_that_is_infinite_beyond_an_edge():
    """x - log x for positive x, from which the first Newton step leads to a negative one."""

    def barrier(x):
        if x[0] <= 0.0:
            return Quadratic(np.inf, np.zeros(1), np.eye(1), np.eye(1))
        H = np.array([[1.0 / x[0] ** 2]])
        return Quadratic(1e4 * (x[0] - np.log(x[0])), 1e4 * (1.0 - 1.0 / x), 1e4 * H, 1e4 * H)

    assert minimum(barrier, np.array([5.0]), -FREE[:1], FREE[:1]) == pytest.approx(1.0, abs=1e-3)


def test_sums_that_are_not_positive_are_refused():
    def saddle(x):
        H = np.diag([1.0, -1.0])
        return Quadratic(0.5 * float(x @ H @ x), H @ x, H, H)

    with pytest.raises(DynamicsError, match="too much noise was subtracted"):
        minimum(saddle, np.ones(2), -FREE, FREE)
