# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Columns that a recording needs predict what was not fitted; those that it does not need fit
better, but predict no better."""

import numpy as np
from scipy.signal import lfilter

from linear_equation import fitted
from multibody_dynamics.dynamics.identification.drives.effect_selection import (
    BETTER,
    PARTS,
    prediction,
    squares,
)
from multibody_dynamics.dynamics.identification.drives.filtered_rows import Block

COUNT, PRIOR = 600, 1e3
TIMES = np.arange(COUNT)


def recording(seed, size):
    """Columns (k, 2) and (k, 40) more, of which the first one acts on y by `size`; the errors
    have a correlation time of 10 samples."""
    rng = np.random.default_rng(seed)
    A, more = rng.normal(size=(COUNT, 2)), rng.normal(size=(COUNT, 40))
    errors = lfilter([1.0], [1.0, -0.9], rng.normal(size=COUNT))
    return A, more, A @ [3.0, -2.0] + size * more[:, 0] + errors


def unseen(A, y):
    """Squares of what is left of each second part by the least squares of the others."""
    inside = np.repeat(np.arange(PARTS), COUNT // PARTS) % 2 == 0
    parts = [(y[b] - A[b] @ np.linalg.lstsq(A[a], y[a])[0]) for a, b in
             ((inside, ~inside), (~inside, inside))]  # fmt: skip
    return sum(float(each @ each) for each in parts)


def test_what_is_missing_predicts_better_and_by_as_much_as_ordinary_least_squares():
    used = np.ones((COUNT, 1), dtype=bool)
    A, more, y = recording(0, 2.0)
    whole = np.column_stack([A, more[:, :3]])
    (found,) = prediction(fitted(TIMES, whole, y, used, PRIOR), fitted(TIMES, A, y, used, PRIOR))
    assert found < BETTER
    np.testing.assert_allclose(found, unseen(whole, y) / unseen(A, y), rtol=1e-6)


def test_what_is_not_missing_fits_better_but_predicts_worse():
    used = np.ones((COUNT, 1), dtype=bool)
    A, more, y = recording(1, 0.0)
    whole = np.column_stack([A, more])
    tried, plain = fitted(TIMES, whole, y, used, PRIOR), fitted(TIMES, A, y, used, PRIOR)
    inside = squares(tried, [used], tried.fit.z) / squares(plain, [used], plain.fit.z)
    assert inside.item() < 1.0
    assert prediction(tried, plain).item() >= 1.0


def test_samples_that_one_model_leaves_out_are_judged_in_neither():
    used = np.ones((COUNT, 1), dtype=bool)
    fewer = used.copy()
    fewer[:90] = False
    A, more, y = recording(0, 2.0)
    whole = np.column_stack([A, more[:, :3]])
    tried, plain = fitted(TIMES, whole, y, fewer, PRIOR), fitted(TIMES, A, y, fewer, PRIOR)
    rows = plain.blocks[0].rows.copy()
    rows[:90, -1] += 50.0  # would dominate everything
    disturbed = plain._replace(blocks=[Block(0, rows, fewer)])
    np.testing.assert_array_equal(prediction(tried, disturbed), prediction(tried, plain))
    with_all = [Block(0, rows, used)]
    judged = squares(plain, [fewer], plain.fit.z)
    disturbed = plain._replace(blocks=with_all)
    np.testing.assert_array_equal(squares(disturbed, [fewer], plain.fit.z), judged)
