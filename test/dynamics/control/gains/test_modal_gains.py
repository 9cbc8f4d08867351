# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passive gains by double diagonalisation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elastic_arms as arms
from multibody_dynamics.dynamics.control import modal_gains, whole_arm_poles
from multibody_dynamics.dynamics.control.gains.modal_gains import ModalDesign
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Actuators, Motor
from multibody_dynamics.dynamics.rigid import mass_matrix


def floating(arm: arms.Arm) -> arms.Arm:
    """Without gravity and friction, which the design leaves out."""
    joints = tuple(
        replace(each, motor=Motor(each.motor.inertia)) for each in arm.actuators.actuators
    )
    model = replace(arm.model, gravity=np.zeros(3))
    return arms.Arm(model, Actuators(model.joint_names, joints), arm.rest)


def matrices(arm: arms.Arm) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M (n, n), and the stiffness and motor inertia (n,)."""
    springs = np.array([each.spring.K for each in arm.actuators.actuators])
    return mass_matrix(arm.model, arm.rest), springs, arm.actuators.motor_inertia


def designed(arm: arms.Arm, w: float = 40.0, share: float = 0.5) -> ModalDesign:
    return ModalDesign.of(*matrices(arm), w, share)


ARMS = [arms.linear_arm, arms.elastic_panda, arms.branching_arm]


@pytest.mark.parametrize("arm", ARMS)
def test_one_basis_makes_links_springs_and_motors_diagonal(arm):
    arm = arm()
    M, K, B = matrices(arm)
    design = designed(arm, share=1.0)
    V = design.modes
    np.testing.assert_allclose(V.T @ M @ V, np.eye(len(M)), atol=1e-9)
    np.testing.assert_allclose(V.T * K @ V, np.diag(design.stiffness), atol=1e-8 * K.max())
    shaped = design.in_joints(design.inertia)
    np.testing.assert_allclose(V.T @ shaped @ V, np.diag(design.inertia), atol=1e-9)
    np.testing.assert_allclose(shaped, shaped.T, rtol=1e-9, atol=1e-12)
    felt = 1.0 / np.diag(np.linalg.inv(V.T * B @ V))
    np.testing.assert_allclose(design.inertia, felt)  # seen from each mode, the others free


@pytest.mark.parametrize("arm", ARMS)
def test_the_poles_of_the_arm_are_those_of_its_modes(arm):
    arm = floating(arm())
    design = designed(arm)
    wanted = []
    for lam, beta, kappa, delta in zip(
        design.stiffness, design.inertia, design.proportional, design.derivative, strict=True
    ):
        wanted.append(np.roots([beta, delta, kappa + lam + beta * lam, delta * lam, kappa * lam]))
    gains = modal_gains(*arm, 40.0)
    found = whole_arm_poles(arm.model, arm.actuators, gains, arm.rest)
    wanted = np.concatenate(wanted)
    distance = np.abs(found[:, None] - wanted).min(axis=1)
    assert distance.max() < 1e-5 * np.abs(wanted).max()
    assert np.abs(np.sum(found) - np.sum(wanted)) < 1e-6 * np.abs(wanted).sum()


def test_both_pole_pairs_of_a_slow_mode_are_equal():
    """s^2 + beta^(-1/2) w s + w^2, twice, with w the frequency of the mode."""
    arm = floating(arms.linear_arm())
    design = designed(arm, w=1e3)
    wanted = [
        root
        for lam, beta in zip(design.stiffness, design.inertia, strict=True)
        for root in 2 * list(np.roots([1.0, np.sqrt(lam / beta), lam]))
    ]
    gains = modal_gains(*arm, 1e3)
    found = whole_arm_poles(arm.model, arm.actuators, gains, arm.rest)
    assert np.abs(found[:, None] - np.array(wanted)).min(axis=1).max() < 2e-3 * np.abs(found).max()


@given(st.integers(0, 10**6), st.floats(0.3, 1.0), st.floats(5.0, 100.0))
def test_motors_are_passive_whatever_the_links_are(seed, share, bandwidth):
    """Against any other links and springs: all poles stay in the left half plane, and the power
    that the motors give to the springs has a storage function."""
    arm = floating(arms.branching_arm())
    M, K, B = matrices(arm)
    rng = np.random.default_rng(seed)
    n = len(M)
    half = rng.standard_normal((n, n))
    other = half @ half.T + 0.01 * np.eye(n)  # the inertia of any other arm
    gains = modal_gains(*arm, bandwidth, inertia_share=share).values
    design = ModalDesign.of(M, K, B, bandwidth, share)
    shaped, pull, damper = (
        design.in_joints(row) for row in (design.inertia, design.proportional, design.derivative)
    )
    for each in (shaped, pull, damper):
        assert np.linalg.eigvalsh(each).min() > 0.0
    # B theta'' + K (theta - q) = gains . errors is the same as the passive B_d theta'' + ...
    spring = np.hstack((-np.diag(K), 0 * M, np.diag(K), 0 * M))
    moved = shaped @ np.linalg.solve(np.diag(B), gains + spring)
    np.testing.assert_allclose(moved[:, 2 * n : 3 * n], pull + np.diag(K), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(moved[:, 3 * n :], damper, rtol=1e-6, atol=1e-8)
    mass = np.block([[other, 0 * M], [0 * M, np.diag(B)]])
    stiffness = np.block([[np.diag(K), -np.diag(K)], [np.zeros((n, 2 * n))]])
    stiffness[n:] = np.hstack((gains[:, :n] - np.diag(K), gains[:, 2 * n : 3 * n] + np.diag(K)))
    damping = np.block([[0 * M, 0 * M], [gains[:, n : 2 * n], gains[:, 3 * n :]]])
    rates = np.linalg.solve(mass, np.hstack((-stiffness, -damping)))
    A = np.vstack((np.eye(4 * n)[2 * n :], rates))
    assert np.linalg.eigvals(A).real.max() < 1e-6 * np.abs(A).max() ** 0.5


@pytest.mark.parametrize(
    "arm",
    [
        arms.antagonistic_arm,
        arms.damped_arm,
        arms.mixed_panda,
        arms.pretensioned_arm,
        arms.variable_arm,
    ],
)
def test_every_kind_of_actuator_is_stable_with_them(arm):
    arm = arm()
    gains = modal_gains(*arm, 30.0)
    assert whole_arm_poles(arm.model, arm.actuators, gains, arm.rest).real.max() < 0.0
    assert gains.past.shape[0] == 0


def test_wrong_arguments_are_rejected():
    arm = arms.linear_arm()
    with pytest.raises(InputError, match="one bandwidth for all joints"):
        modal_gains(*arm, [20.0, 30.0])
    with pytest.raises(InputError, match="inertia_share is 0"):
        modal_gains(*arm, 20.0, inertia_share=0.0)
