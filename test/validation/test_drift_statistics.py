# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sums of residual equations, and the noise that is learned from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drifting_arm import Arm, robot
from multibody_dynamics.validation import drift_statistics
from residual_samples import N, samples


def test_sums_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    change = np.arange(1.0, drift_statistics.Layout(N).size + 1.0)
    sums = samples(rng, change=change) + samples(rng, change=change)
    x = drift_statistics.solved(*sums.weighted(np.ones(2 * N)))
    assert np.allclose(x, change, atol=0.1)
    assert sums.count.tolist() == [400.0] * 6
    assert sums.seconds == 10.0


def test_samples_that_are_not_used():
    rng = np.random.default_rng(2)
    A, error = rng.normal(size=(50, N, drift_statistics.WIDTH)), rng.normal(size=(50, N))
    used = rng.random((50, N)) < 0.5
    error[~used] = np.nan  # a joint at rest, or a state without an effort
    sums = drift_statistics.DriftSums.of_torques(A, error, used, 1.0)
    j = 1
    own = A[used[:, j], j]
    assert np.allclose(sums.normal[j], own.T @ own)
    assert np.allclose(sums.right[j], own.T @ error[used[:, j], j])
    assert not sums.normal[N:].any()


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_packed_sums(seed):
    sums = samples(np.random.default_rng(seed), k=3)
    parts = sums.normal.ravel(), sums.right.ravel(), sums.square, sums.count, [sums.seconds]
    assert np.array_equal(np.concatenate(parts), drift_statistics.DriftSums(sums.packed).packed)
    assert (sums.n, sums.normal.shape) == (
        N,
        (2 * N, drift_statistics.WIDTH, drift_statistics.WIDTH),
    )


def test_directions_without_data_stay_zero():
    W = np.diag([4.0, 0.0, 1e6])
    assert drift_statistics.solved(W, np.array([8.0, 0.0, 1e6])) == pytest.approx([2.0, 0.0, 1.0])
    collinear = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert drift_statistics.solved(collinear, np.array([2.0, 2.0])) == pytest.approx([1.0, 1.0])


def test_noise_of_correlated_errors():
    """The covariance of A^T e, found from 300 segments, agrees with that of many more."""
    rng = np.random.default_rng(3)
    noise = drift_statistics.Noise.learned([samples(rng) for _ in range(300)])
    fresh = [samples(rng) for _ in range(600)]
    right = np.stack([each.weighted(noise.variance)[1] for each in fresh])
    expected = np.mean([np.diagonal(noise.covariance(each)) for each in fresh], axis=0)
    ratio = expected / np.mean(right**2, axis=0)
    assert np.all(ratio > 0.7)
    assert np.all(ratio < 2.5)  # the largest of several scales is taken
    constant = drift_statistics.Layout(N).joint(0)[2]
    white = drift_statistics.Layout(N).joint(0)[0]
    assert expected[constant] > 4.0 * expected[white]  # offsets suffer from slow errors


def test_slow_errors_are_seen_at_coarser_scales():
    """An offset that wanders from segment to segment is noise, however short the segments are."""
    rng = np.random.default_rng(4)
    layout = drift_statistics.Layout(N)
    wander, segments = 0.0, []
    for _ in range(256):
        wander = 0.97 * wander + 0.05 * rng.normal()
        change = np.zeros(layout.size)
        change[layout.joint(1)[2]] = wander
        segments.append(samples(rng, change=change, correlation=0.0))
    noise = drift_statistics.Noise.learned(segments)
    per_segment = np.mean([each.right[1, -1] ** 2 / each.normal[1, -1, -1] for each in segments])
    assert noise.scatter[1, -1, -1] > 3.0 * per_segment
    assert noise.scatter[0, -1, -1] < 0.05


@pytest.mark.parametrize(
    ("fault", "unknown", "value"),
    [
        ({"payload": 0.7}, 0, 0.7),
        ({"payload": 0.7}, 1, 0.07),  # its first moment: 0.1 m along x
        ({"friction": np.array([1.0, 1.4])}, drift_statistics.Layout(2).joint(1)[0], 0.4),
        ({"friction": np.array([1.2, 1.0])}, drift_statistics.Layout(2).joint(0)[1], 0.1),
        ({"stiffness": np.array([0.9, 1.0])}, drift_statistics.Layout(2).spring(0)[0], -0.1),
    ],
)
def test_faults_are_the_solution_of_the_equations(fault, unknown, value):
    arm = Arm(np.random.default_rng(1), noise=1e-3, **fault)
    moves = [arm.move()[1] for _ in range(30)]
    sums = sum(moves[1:], moves[0])
    x = drift_statistics.solved(*sums.weighted(np.ones(4)))
    assert x[unknown] == pytest.approx(value, abs=5e-3)


def test_joints_at_rest_give_no_equation():
    _, sums = Arm(np.random.default_rng(2)).move(20.0)
    assert np.all(sums.count[:2] < 20.0 * 40.0)  # around the reversals
    assert np.all(sums.count[:2] > 0.9 * 20.0 * 40.0)


def test_springs_that_were_not_measured():
    known = robot()
    q = np.zeros((5, 2))
    theta, torque = q + 0.01, np.full((5, 2), 4.0)
    theta[:, 1] = np.nan
    torque[0, 0] = np.nan
    sums = drift_statistics.spring_sums(known.actuators, q, theta, torque)
    assert sums.count.tolist() == [0.0, 0.0, 4.0, 0.0]
    assert sums.normal[2, 0, 0] == pytest.approx(4 * 5.0**2)  # 500 N m/rad
    assert sums.right[2, 0] == pytest.approx(4 * 5.0 * -1.0)
