# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Residuals: NumPy's own statistics, and pieces combined."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.identification.signals.residuals import Residuals


def samples(count=1000):
    rng = np.random.default_rng(3)
    measured = 40.0 + rng.normal(size=(count, 3)) * [1.0, 5.0, 0.1]
    predicted = measured + rng.normal(size=(count, 3)) * 0.3 + [0.2, 0.0, -0.1]
    return 0.01 * np.arange(count), predicted, measured


def test_residuals_are_the_statistics_of_all_samples():
    t, predicted, measured = samples()
    found = Residuals.of(t, predicted, measured)
    error = predicted - measured
    assert np.allclose(found.rms, np.sqrt((error**2).mean(axis=0)))
    assert np.allclose(found.mean_absolute, np.abs(error).mean(axis=0))
    assert np.allclose(found.bias, error.mean(axis=0))
    assert np.allclose(found.normalized, found.rms / measured.std(axis=0))
    assert np.allclose(found.r_squared, 1 - (error**2).mean(axis=0) / measured.var(axis=0))
    for j in range(3):
        expected = np.corrcoef(predicted[:, j], measured[:, j])[0, 1]
        assert found.correlation[j] == pytest.approx(expected, abs=1e-12)
        worst = np.abs(error[:, j]).argmax()
        assert found.when[j] == t[worst]
        assert found.largest[j] == abs(error[worst, j])


@pytest.mark.parametrize("cuts", [[500], [1, 2, 3], [0, 400, 400, 1000]])
def test_the_sum_of_pieces_is_the_whole(cuts):
    t, predicted, measured = samples()
    whole = Residuals.of(t, predicted, measured)
    total = Residuals.none(3)
    for part in np.split(np.arange(1000), cuts):
        total = total + Residuals.of(t[part], predicted[part], measured[part])
    assert total.count == 1000
    for name in ("mean", "spread", "absolute", "squared", "largest", "when"):
        assert np.allclose(getattr(total, name), getattr(whole, name), rtol=1e-12)


def test_signals_that_do_not_vary():
    t, ones = np.arange(10.0), np.ones((10, 1))
    assert Residuals.of(t, ones, ones).normalized == 0.0
    rounded = ones + np.finfo(float).eps * t[:, None]  # as a filter leaves them
    for measured in (ones, rounded):
        other = Residuals.of(t, 2 * ones, measured)
        assert np.isinf(other.normalized)
        assert np.isnan(other.correlation)
        assert np.isneginf(other.r_squared)


def test_figures_are_floats_by_joint_name():
    figures = Residuals.of(*samples()).figures(["a", "b", "c"])
    assert list(figures) == ["a", "b", "c"]
    assert set(figures["a"]) == {
        *("rms", "mae", "max", "worst at", "bias", "correlation", "r2", "nrms")
    }
    assert all(isinstance(x, float) for x in figures["b"].values())


def test_shapes_must_match():
    t, predicted, measured = samples()
    with pytest.raises(InputError, match="times"):
        Residuals.of(t[:-1], predicted, measured)
