# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Design of impedances: dampers by double diagonalisation, and the largest stiffness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elastic_arms import elastic_panda, linear_arm, nonlinear_arm
from multibody_dynamics.dynamics.control import (
    carrying_stiffness,
    impedance_damping,
    use_of_springs,
)
from multibody_dynamics.dynamics.control.impedance.impedance_design import check_use, sampled_poses
from multibody_dynamics.dynamics.core import DynamicsError, InputError


def test_linear_springs_carry_their_stiffness_and_hardening_ones_that_without_load():
    for arm, wanted in ((linear_arm(), (400.0, 200.0)), (nonlinear_arm(), (150.0, 200.0))):
        found = carrying_stiffness(arm.model, arm.actuators, arm.rest, 20.0)
        np.testing.assert_allclose(found, wanted)


def test_the_use_is_the_largest_share_in_any_direction():
    stiffness = np.array([[100.0, 30.0], [30.0, 20.0]])
    K = np.array([400.0, 200.0])
    wanted = max(np.linalg.eigvals(stiffness / K[:, None]).real)
    np.testing.assert_allclose(use_of_springs(K, stiffness), wanted)
    assert use_of_springs(K, np.diag(K)) == pytest.approx(1.0)


def test_too_much_stiffness_is_refused_with_the_factor_that_helps():
    _, actuators, rest = linear_arm()
    K = np.array([400.0, 200.0])
    check_use(actuators, K, np.diag([300.0, 160.0])[None], rest[None])
    with pytest.raises(InputError, match=r"joint 'elbow'.*divide it by 1\.25 "):
        check_use(actuators, K, np.diag([300.0, 200.0])[None], rest[None])


def test_poses_are_within_the_joint_limits():
    model, _, rest = elastic_panda()
    poses = sampled_poses(model, rest)
    np.testing.assert_array_equal(poses[0], rest)
    assert ((poses >= model.limits.lower) & (poses <= model.limits.upper)).all()


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
