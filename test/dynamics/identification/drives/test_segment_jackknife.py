# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Deviations are those of least squares without a segment; they show what a model lacks."""

import numpy as np
from scipy.stats import t as student

from linear_equation import fitted
from multibody_dynamics.dynamics.identification.drives.segment_jackknife import (
    FEWEST,
    LONGEST,
    misfit,
    segments,
)

RATE, COUNT, TRUE = 50.0, 12000, np.array([2.0, -1.0])


def judged(seed, missing):
    """The fit of y = A x + missing v |v| + noise, where v, its velocity, differs by segment; what
    the jackknife says, and the rows."""
    rng = np.random.default_rng(seed)
    t = np.arange(COUNT) / RATE
    v = np.repeat(rng.uniform(0.3, 1.7, 15), COUNT // 15) * np.sin(2.1 * t + rng.uniform(0.0, 6.0))
    A = np.stack([v, np.cos(3.3 * t)], axis=1)
    y = A @ TRUE + missing * v * np.abs(v) + 0.05 * rng.normal(size=COUNT)
    found = fitted(t, A, y)
    return found.solver, found.fit, misfit(found), found.blocks


def test_deviations_are_those_of_least_squares_without_a_segment():
    solver, fit, found, (block,) = judged(0, 0.3)
    left = []
    for each in segments([block]):
        kept = ~each.used[:, 0]
        left.append(np.linalg.lstsq(block.rows[kept, 1:3], block.rows[kept, 3])[0])
    count = len(left)
    assert count == np.ceil((COUNT - 1) / RATE / LONGEST) >= FEWEST
    wanted = (np.array(left) - np.mean(left, axis=0)) * np.sqrt((count - 1) / count)
    widened = student.ppf(0.975, count - 1) / student.ppf(0.975, np.inf)
    np.testing.assert_allclose(found.deviations[:count], widened * wanted, rtol=1e-6, atol=1e-9)
    assert len(found.deviations) == count + 1  # the last one by other weights
    with_misfit = solver.renewed(misfit=found.deviations).covariance(fit, np.eye(2))
    by_noise = solver.covariance(fit, np.eye(2))
    np.testing.assert_allclose(with_misfit - by_noise, found.deviations.T @ found.deviations)


def test_noise_is_not_taken_for_a_missing_effect():
    found = [judged(seed, 0.0)[2] for seed in range(30)]
    assert 0.7 < np.median([each.ratio for each in found]) < 1.4
    assert not any(each.is_significant for each in found)


def test_intervals_hold_although_an_effect_is_missing():
    """The true value is that of the same model for motions without end."""
    slope = np.mean([judged(seed, 0.3)[1].theta[0] for seed in range(100, 130)])
    z = {True: [], False: []}
    for seed in range(30):
        solver, fit, found, _ = judged(seed, 0.3)
        assert found.is_significant
        for known in z:
            own = solver.renewed(misfit=found.deviations if known else None)
            each, _ = own.uncertainties(fit, np.eye(2))
            z[known].append((fit.theta[0] - slope) / each.error)
    inside = {known: np.mean(np.abs(each) < 1.96) for known, each in z.items()}
    assert inside[True] > 0.85 > 0.7 > inside[False]
