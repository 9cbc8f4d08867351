# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sums by frequency contain everything, the noise of the positions is subtracted, and a repeated
prior does not draw the result."""

import numpy as np

from linear_equation import LinearEquation
from multibody_dynamics.dynamics.identification.drives.drive_equations import Channel
from multibody_dynamics.dynamics.identification.drives.equation_sums import (
    EquationSums,
    LeastSquares,
)
from multibody_dynamics.dynamics.identification.signals.parallel_filter import ParallelFilter

CHANNELS = [Channel("rigid", 0, 0, {}, 3), Channel("rigid", 1, 1, {}, 2)]
PLACES = [slice(1, 4), slice(4, 6)]


def sums_of(rows):
    sums = EquationSums(CHANNELS, PLACES, len(rows))
    for channel in range(2):
        sums.add(channel, rows)
    return sums


def test_the_sums_over_all_bands_are_those_of_the_samples():
    rows = np.random.default_rng(0).normal(size=(500, 6))
    sums = sums_of(rows)
    assert sums.counts.sum(axis=1).tolist() == [500, 500]
    for place, each in zip(PLACES, sums.sums, strict=True):
        assert np.allclose(each.sum(axis=0), rows[:, place].T @ rows[:, place])


def test_noise_of_known_size_is_taken_away_from_the_sums():
    rng = np.random.default_rng(1)
    clean = rng.normal(size=(4000, 6))
    noise, more = 0.5 * rng.normal(size=(2, *clean.shape))
    noisy = sums_of(clean + noise)
    before = noisy.sums[0].sum(axis=0)
    louder = [sums_of(clean + noise + sign * more) for sign in (1.0, -1.0)]
    corrected = noisy.copied()
    corrected.subtract_noise(noisy, louder)
    wanted = clean[:, 1:4].T @ clean[:, 1:4]
    assert np.allclose(noisy.sums[0].sum(axis=0), before)  # the copy was changed, not the sums
    error = np.abs(corrected.sums[0].sum(axis=0) - wanted).max() / wanted.max()
    assert error < 0.1 < np.abs(before - wanted).max() / wanted.max()


def fits_with_a_wrong_prior(seed, repeated):
    """Two rows of values and errors: a fit whose prior is many of its deviations off, and a last
    fit with the prior about its result."""
    rng = np.random.default_rng(seed)
    A = np.random.default_rng(99).normal(size=(400, 3)) * [1.0, 0.12, 1e-4]
    linear = LinearEquation((4.0, 4.0, 4.0), 0.5)
    sums = EquationSums(linear.equations.channels, [slice(0, 4)], len(A))
    y = A @ TRUE + 0.3 * rng.normal(size=len(A))
    sums.add(0, np.column_stack([A, y]))
    fit = LeastSquares(sums, linear).fit()
    if repeated:
        linear.parameters.mean[:] = fit.theta.tolist()
    solver = LeastSquares(sums, linear, repeated=repeated)
    fit = solver.fit(fit.theta)
    return fit.theta, solver.uncertainties(fit, np.eye(3)), solver.covariance(fit, np.eye(3))


TRUE = np.array([1.0, 1.0, 1.0])


def test_a_repeated_prior_hardly_draws_what_the_samples_determine():
    values, errors, covariances = zip(*(fits_with_a_wrong_prior(k, True) for k in range(25)),
                                      strict=True)  # fmt: skip
    values = np.array(values) - TRUE
    stated = np.array([[each.error for each in row] for row in errors])
    assert np.allclose([np.diag(C) for C in covariances], stated**2)
    once = np.array([fits_with_a_wrong_prior(k, False)[0] for k in range(25)]) - TRUE
    # The prior is off by six of its standard deviations, and draws x1 by 1.4 of its own.
    assert abs(once[:, 1].mean()) > 2.0 * abs(values[:, 1].mean()) > 0.0
    z = values[:, :2] / stated[:, :2]
    assert 0.7 < np.sqrt(np.mean((z - z.mean(axis=0)) ** 2)) < 1.3
    determined = np.array([[each.determined for each in row] for row in errors])
    assert determined[:, :2].all()
    assert not determined[:, 2].any()
    # Without information, the error is the standard deviation of the prior, and the value stays.
    assert np.allclose(stated[:, 2], 0.5, rtol=1e-3)
    assert np.allclose(values[:, 2], 3.0, atol=0.02)


def test_stated_errors_of_filtered_samples_are_those_of_repeated_noise():
    # The filter takes away everything above a third of the rate of the samples that it keeps; a
    # spectrum that is smooth across this edge would be twice too large below it.
    parallel = ParallelFilter(500.0, 5.0)
    t = np.arange(5000) / 500.0
    A = np.stack([np.sin(2.0 * t), np.cos(3.1 * t), np.ones_like(t)], axis=1)
    linear, z = LinearEquation(np.zeros(3), 100.0), []
    for seed in range(60):
        y = A @ TRUE + 0.3 * np.random.default_rng(seed).normal(size=len(A))
        table = np.column_stack([A, y])
        (rows,) = parallel.blocks(lambda part, table=table: table[part], len(table))
        sums = EquationSums(linear.equations.channels, [slice(0, 4)], len(rows), parallel)
        sums.add(0, rows)
        solver = LeastSquares(sums, linear, spectral=False)
        fit = solver.fit()
        errors = [each.error for each in solver.uncertainties(fit, np.eye(3))]
        z.append((fit.theta - TRUE) / errors)
    assert 0.88 < np.sqrt(np.mean(np.square(z))) < 1.12
