# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Dampers by double diagonalisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.dynamics.control import impedance_damping
from multibody_dynamics.dynamics.core import DynamicsError


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 7), zeta=st.floats(0.05, 0.95))
def test_every_mode_has_the_damping_ratio(seed, n, zeta):
    a, b = np.random.default_rng(seed).normal(size=(2, n, n))
    M, K = a @ a.T + np.eye(n), b @ b.T + 0.5 * np.eye(n)
    D = impedance_damping(M, K, zeta, 0.0)
    np.testing.assert_allclose(D, D.T, atol=1e-10 * np.abs(D).max())
    lower = np.hstack((-np.linalg.solve(M, K), -np.linalg.solve(M, D)))
    poles = np.linalg.eigvals(np.vstack((np.hstack((np.zeros((n, n)), np.eye(n))), lower)))
    np.testing.assert_allclose(-poles.real / np.abs(poles), zeta, atol=1e-6)


def test_a_tool_gets_the_design_with_its_task_inertia():
    """K = J^T K_x J with fewer tasks than joints: D = J^T D_x J, with D_x from the task inertia."""
    rng = np.random.default_rng(3)
    a, J = rng.normal(size=(5, 5)), rng.normal(size=(2, 5))
    M, Kx = a @ a.T + np.eye(5), np.diag([40.0, 7.0])
    D = impedance_damping(M, J.T @ Kx @ J, 0.7, 0.0)
    inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    np.testing.assert_allclose(D, J.T @ impedance_damping(inertia, Kx, 0.7, 0.0) @ J, atol=1e-5)


def test_modes_without_stiffness_decay_at_the_least_rate():
    M = np.array([[2.0, 0.3], [0.3, 1.0]])
    np.testing.assert_allclose(impedance_damping(M, np.zeros((2, 2)), 0.7, 3.0), 3.0 * M)


def test_a_mass_that_is_not_positive_is_refused():
    with pytest.raises(DynamicsError, match="mass matrix"):
        impedance_damping(-np.eye(2), np.eye(2), 0.7, 0.0)
