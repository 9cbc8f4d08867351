# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Riccati equation by doubling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_are

from multibody_dynamics.dynamics.control.gains.riccati_doubling import solve_riccati
from multibody_dynamics.dynamics.core import DynamicsError


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4))
def test_the_solution_is_that_of_scipy(seed, states, inputs):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((states, states)) * rng.uniform(0.3, 1.5) / np.sqrt(states)
    B = rng.standard_normal((states, inputs))
    half = rng.standard_normal((states, states))
    Q, R = half @ half.T + 0.1 * np.eye(states), np.diag(rng.uniform(0.1, 10.0, inputs))
    if np.abs(np.linalg.eigvals(A)).max() > 1.0 and states > 4 * inputs:
        Q += np.eye(states)  # keep the problem well conditioned
    P = solve_riccati(A, B, Q, R)
    wanted = solve_discrete_are(A, B, Q, R)
    np.testing.assert_allclose(P, wanted, rtol=1e-6, atol=1e-7 * np.abs(wanted).max())
    np.testing.assert_array_equal(P, P.T)


def test_an_arm_that_no_input_reaches_has_no_solution():
    with pytest.raises(DynamicsError, match="no feedback stabilises"):
        solve_riccati(np.diag([1.1, 0.5]), np.array([[0.0], [1.0]]), np.eye(2), np.eye(1))
