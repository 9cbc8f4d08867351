# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Filter and derivatives without lag: polynomials, sines, pieces, and noise cut-offs."""

import numpy as np
import pytest
from scipy.special import erfc

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.identification import ZeroPhaseFilter, noise_cutoff

RATE = 200.0


def inner(t, low_pass):
    return t[low_pass.reach : len(t) - low_pass.reach]


def test_polynomials_pass_without_error():
    low_pass = ZeroPhaseFilter(RATE, 10.0)
    t = np.arange(400) / RATE
    coefficients = np.array([0.3, -1.0, 0.5, 0.7, -0.4])
    found = low_pass(np.polynomial.polynomial.polyval(t, coefficients)[:, None])[..., 0]
    for k in range(5):
        expected = np.polynomial.polynomial.polyval(
            inner(t, low_pass), np.polynomial.polynomial.polyder(coefficients, k)
        )
        size = (2 * np.pi * 10.0) ** k
        assert np.abs(found[k] - expected).max() < 1e-12 * size


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0, 1.4, 2.2])
def test_the_gain_is_the_documented_one(share):
    low_pass = ZeroPhaseFilter(RATE, 8.0)
    f = share * 8.0
    t = np.arange(1000) / RATE
    found = low_pass(np.sin(2 * np.pi * f * t + 0.4)[:, None])[..., 0]
    gain = 0.5 * erfc((share - 1.0) / (np.sqrt(2.0) * 0.2))
    for k in range(5):
        phase = 2 * np.pi * f * inner(t, low_pass) + 0.4 + k * np.pi / 2
        expected = gain * np.sin(phase)
        assert np.abs(found[k] / (2 * np.pi * f) ** k - expected).max() < 3e-4 / min(share, 1) ** k


@pytest.mark.parametrize("step", [8, 50])
def test_selected_values_equal_those_of_all(step):
    """All values are computed by FFT, a few by direct sums."""
    low_pass = ZeroPhaseFilter(RATE, 2.0)
    rows = np.random.default_rng(3).normal(size=(1500, 3)).cumsum(axis=0)
    every = low_pass(rows)[:, 3::step]
    found = low_pass(rows, first=3, step=step)
    assert found.shape == every.shape
    assert (np.abs(found - every).max(axis=1) < 1e-12 * np.abs(every).max(axis=1)).all()


def test_pieces_give_the_values_of_the_whole():
    low_pass = ZeroPhaseFilter(RATE, 12.0)
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    whole = low_pass(rows, step=5)
    found, begin = [], 0
    for end in (700, 1500, 2800, 3000):
        values = low_pass(rows[begin:end], step=5)
        found.append(values)
        begin += 5 * values.shape[1]
    assert np.allclose(
        np.concatenate(found, axis=1), whole, rtol=0, atol=1e-12 * np.abs(whole).max()
    )
    assert np.array_equal(low_pass(rows, first=3)[:, :10], low_pass(rows)[:, 3:13])


def test_too_few_samples_give_an_empty_result():
    low_pass = ZeroPhaseFilter(RATE, 10.0, orders=2)
    assert low_pass(np.zeros((2 * low_pass.reach, 4))).shape == (2, 0, 4)
    assert low_pass(np.zeros((2 * low_pass.reach + 1, 4))).shape == (2, 1, 4)


@pytest.mark.parametrize("cutoff", [0.0, 0.009, -1.0, 41.0, np.nan])
def test_invalid_cut_offs(cutoff):
    with pytest.raises(InputError, match=r"cut-off.*the sampling rate, which is 200 Hz"):
        ZeroPhaseFilter(RATE, cutoff)


def test_samples_must_be_a_table():
    with pytest.raises(InputError, match="shape"):
        ZeroPhaseFilter(RATE, 10.0)(np.zeros(100))
    with pytest.raises(InputError, match="finite"):
        ZeroPhaseFilter(RATE, 10.0)(np.full((100, 1), np.nan))


def test_the_cut_off_is_where_noise_exceeds_the_signal():
    rng = np.random.default_rng(1)
    t = np.arange(20000) / RATE
    quiet, loud, pure, still = (
        sum(np.sin(2 * np.pi * f * t) / f**3 for f in (0.5, 1.0, 2.0, 4.0, 6.0)),
        np.sin(2 * np.pi * t),
        np.cumsum(rng.normal(size=len(t))),
        np.full(len(t), 0.7),
    )
    rows = np.stack([quiet, loud, pure, still], axis=1)
    rows[:, 0] += 1e-4 * rng.normal(size=len(t))
    rows[:, 1] += 0.1 * rng.normal(size=len(t))
    found = noise_cutoff(rows, RATE)
    assert 6.0 < found[0] < 8.0 or 4.0 < found[0] < 6.0
    assert 1.0 < found[1] < 2.5
    assert found[2] > 10.0
    assert found[3] == 0.0
    with pytest.raises(InputError, match="32"):
        noise_cutoff(rows[:20], RATE)
