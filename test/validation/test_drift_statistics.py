# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sums of residual equations, and the noise that is learned from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.validation.drift_statistics import (
    WIDTH,
    DriftSums,
    Layout,
    Noise,
    solved,
)
from residual_samples import N, samples


def test_sums_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    change = np.arange(1.0, Layout(N).size + 1.0)
    sums = samples(rng, change=change) + samples(rng, change=change)
    x = solved(*sums.weighted(np.ones(2 * N)))
    assert np.allclose(x, change, atol=0.1)
    assert sums.count.tolist() == [400.0] * 6
    assert sums.seconds == 10.0


def test_samples_that_are_not_used():
    rng = np.random.default_rng(2)
    A, error = rng.normal(size=(50, N, WIDTH)), rng.normal(size=(50, N))
    used = rng.random((50, N)) < 0.5
    error[~used] = np.nan  # a joint at rest, or a state without an effort
    sums = DriftSums.of_torques(A, error, used, 1.0)
    j = 1
    own = A[used[:, j], j]
    assert np.allclose(sums.normal[j], own.T @ own)
    assert np.allclose(sums.right[j], own.T @ error[used[:, j], j])
    assert not sums.normal[N:].any()


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_packed_sums(seed):
    sums = samples(np.random.default_rng(seed), k=3)
    again = DriftSums.unpacked(sums.packed(), N)
    for name in ("normal", "right", "square", "count", "seconds"):
        assert np.array_equal(getattr(again, name), getattr(sums, name))


def test_directions_without_data_stay_zero():
    W = np.diag([4.0, 0.0, 1e6])
    assert solved(W, np.array([8.0, 0.0, 1e6])) == pytest.approx([2.0, 0.0, 1.0])
    collinear = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert solved(collinear, np.array([2.0, 2.0])) == pytest.approx([1.0, 1.0])


def test_noise_of_correlated_errors():
    """The covariance of A^T e, found from 300 segments, agrees with that of many more."""
    rng = np.random.default_rng(3)
    noise = Noise.learned([samples(rng) for _ in range(300)])
    fresh = [samples(rng) for _ in range(600)]
    right = np.stack([each.weighted(noise.variance)[1] for each in fresh])
    expected = np.mean([np.diagonal(noise.covariance(each)) for each in fresh], axis=0)
    ratio = expected / np.mean(right**2, axis=0)
    assert np.all(ratio > 0.7)
    assert np.all(ratio < 2.5)  # the largest of several scales is taken
    constant = Layout(N).joint(0)[2]
    white = Layout(N).joint(0)[0]
    assert expected[constant] > 4.0 * expected[white]  # offsets suffer from slow errors


def test_slow_errors_are_seen_at_coarser_scales():
    """An offset that wanders from segment to segment is noise, however short the segments are."""
    rng = np.random.default_rng(4)
    layout = Layout(N)
    wander, segments = 0.0, []
    for _ in range(256):
        wander = 0.97 * wander + 0.05 * rng.normal()
        change = np.zeros(layout.size)
        change[layout.joint(1)[2]] = wander
        segments.append(samples(rng, change=change, correlation=0.0))
    noise = Noise.learned(segments)
    per_segment = np.mean([each.right[1, -1] ** 2 / each.normal[1, -1, -1] for each in segments])
    assert noise.scatter[1, -1, -1] > 3.0 * per_segment
    assert noise.scatter[0, -1, -1] < 0.05
