# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sums by frequency contain everything, and the noise of the positions is subtracted."""

from __future__ import annotations

import numpy as np

from multibody_dynamics.dynamics.identification.drives.drive_equations import Channel
from multibody_dynamics.dynamics.identification.drives.equation_sums import EquationSums

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
    corrected.less_noise(noisy, louder)
    wanted = clean[:, 1:4].T @ clean[:, 1:4]
    assert np.allclose(noisy.sums[0].sum(axis=0), before)  # the copy was changed, not the sums
    error = np.abs(corrected.sums[0].sum(axis=0) - wanted).max() / wanted.max()
    assert error < 0.1 < np.abs(before - wanted).max() / wanted.max()
