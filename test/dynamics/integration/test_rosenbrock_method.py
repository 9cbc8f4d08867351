# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Rosenbrock method: its order, and its stability for stiff equations."""

import numpy as np
import pytest

from multibody_dynamics.dynamics import DynamicsError
from multibody_dynamics.dynamics.integration import rosenbrock


def pendulum(t, x):
    return np.array([x[1], -np.sin(x[0]) + np.cos(3 * t)])


def pendulum_jacobian(t, x):
    return np.array([[0, 1], [-np.cos(x[0]), 0]]), np.array([0, -3 * np.sin(3 * t)])


def test_order_four_with_time_in_the_equation():
    ends = [
        rosenbrock(pendulum, pendulum_jacobian, [1.0, 0.0], 2.0, h)[1][-1]
        for h in (0.1, 0.05, 0.025, 0.0025)
    ]
    errors = [np.abs(x - ends[-1]).max() for x in ends[:-1]]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.4)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4, abs=0.4)


def test_a_stiff_equation_with_steps_far_beyond_its_fast_time_constant():
    """Prothero and Robinson: x' = -1e6 (x - cos t) - sin t stays near cos t, at lower order."""
    times, states = rosenbrock(
        lambda t, x: -1e6 * (x - np.cos(t)) - np.sin(t),
        lambda t, x: ([[-1e6]], [-1e6 * np.sin(t) - np.cos(t)]),
        [1.0], 2.0, 0.05,
    )  # fmt: skip
    np.testing.assert_allclose(states[:, 0], np.cos(times), atol=1e-3)


def test_growth_at_infinite_stiffness_is_a_third():
    states = rosenbrock(lambda t, x: -1e12 * x, lambda t, x: ([[-1e12]], [0.0]), [1.0], 1.0, 0.5)
    np.testing.assert_allclose(np.abs(states[1][1:, 0]), [1 / 3, 1 / 9], rtol=1e-6)


def test_a_diverging_solution_raises():
    with pytest.raises(DynamicsError, match=r"no longer finite after t = 0.5 s"):
        rosenbrock(
            lambda t, x: x if t < 1 else x + np.inf, lambda t, x: ([[1.0]], [0.0]), [1.0], 3, 0.5
        )
