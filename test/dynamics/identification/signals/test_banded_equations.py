# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Standard errors of least squares with coloured errors; a wrong factor of 1.5 would fail."""

import numpy as np
import pytest
from scipy.signal import lfilter

from multibody_dynamics.dynamics.identification.signals.banded_equations import (
    BandedEquations,
    inverse_of,
    smooth_spectrum,
)

RATE = 45.0


def design(count):
    """Velocity, its sign, a constant and an acceleration: the columns of a joint."""
    t = np.arange(count) / RATE
    v = 0.6 * np.sin(1.3 * t) + 0.4 * np.sin(2.2 * t + 1) + 0.3 * np.sin(4.4 * t + 2)
    return np.stack([v, np.tanh(v / 0.05), np.ones(count), np.gradient(v, t)], axis=1)


def noise(rng, count, keep):
    white = rng.normal(size=count + 500)
    return lfilter([1.0], [1.0, -keep], white)[500:]


@pytest.mark.parametrize("keep", [0.0, 0.8, 0.95])
def test_standard_errors_are_honest(keep):
    rng, A = np.random.default_rng(3), design(1350)
    z = []
    for _ in range(60):
        b = A @ np.ones(4) + noise(rng, len(A), keep)
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        equations = BandedEquations(5, 675)
        for block in np.split(np.column_stack([A, b]), 2):
            equations.add(block)
        z.append((x - 1.0) / equations.standard_errors(x, np.eye(4)))
    rms = np.sqrt(np.mean(np.square(z), axis=0))
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(0.97, abs=0.17)
    assert ((rms > 0.65) & (rms < 1.45)).all()


def test_sums_do_not_depend_on_the_blocks_and_are_those_of_the_samples():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(600, 4))
    equations = BandedEquations(4, 300)
    for part in (table[:300], table[300:450], table[450:]):
        equations.add(part)
    assert equations.counts.sum() == 600
    assert np.allclose(equations.sums.sum(axis=0), table.T @ table)


def test_independent_samples_of_one_band_give_the_usual_formula():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(400, 3))
    b = A @ [1.0, 2.0, 3.0] + rng.normal(size=400)
    equations = BandedEquations(4, 1)
    equations.add(np.column_stack([A, b]))
    x = np.linalg.lstsq(A, b, rcond=None)[0]
    variance = np.sum((b - A @ x) ** 2) / (400 - 3)
    usual = np.sqrt(variance * np.diag(np.linalg.inv(A.T @ A)))
    assert equations.standard_errors(x, np.eye(3)) == pytest.approx(usual, rel=0.01)


def test_the_smooth_spectrum_of_red_noise():
    frequency = np.linspace(0.5, 40.0, 40)
    true = 3.0 / (1.0 + (frequency / 4.0) ** 2)
    freedom = np.full(40, 50.0)
    power = true * np.random.default_rng(4).chisquare(freedom)
    density, covariance = smooth_spectrum(power, freedom, frequency)
    assert np.abs(np.log(density / true)).max() < 0.25
    assert (np.diag(covariance) < 2.0 / 50.0).all()


@pytest.mark.parametrize("corner", [0.0, 3.0])
def test_the_stated_spread_of_the_spectrum_is_that_of_repeated_noise(corner):
    frequency = np.geomspace(0.1, 20.0, 20)
    true = 1.0 / (1.0 + (frequency / corner) ** 2) if corner else np.ones(20)
    freedom = np.linspace(3.0, 50.0, 20)
    rng, logs, stated = np.random.default_rng(8), [], []
    for _ in range(150):
        density, covariance = smooth_spectrum(true * rng.chisquare(freedom), freedom, frequency)
        logs.append(np.log(density / true))
        stated.append(np.diag(covariance))
    deviation, spread = np.std(logs, axis=0), np.sqrt(np.mean(stated, axis=0))
    assert np.exp(logs).mean(axis=0) == pytest.approx(1.0, abs=0.2)
    assert (0.85 * deviation < spread).all()
    assert (spread < 1.5 * deviation).all()


def test_columns_without_effect_have_no_inverse():
    H = np.diag([4.0, 0.0, 1e-30])
    assert np.allclose(inverse_of(H), np.diag([0.25, 0.0, 0.0]))
