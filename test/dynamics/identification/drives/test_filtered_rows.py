# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Outliers and samples at rest are left out, noise is measured, and memory is bounded."""

import numpy as np
import pytest

from drive_runs import RATE, elastic_run, motion, planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.filtered_rows import (
    MOST_STATES,
    FilterPlan,
    position_noise,
)

idn = dyn.identification


def test_the_noise_of_positions_is_measured_in_motion():
    rng = np.random.default_rng(0)
    rows = motion(planar()[0], 8.0)[0]
    run = idn.MeasuredRun("a", RATE, q=rows + [1e-4, 3e-5] * rng.normal(size=rows.shape))
    found = position_noise(run)
    assert np.allclose(found[0], [1e-4, 3e-5], rtol=0.1)
    assert not found[1].any()


def test_long_recordings_are_used_in_part():
    short = FilterPlan([elastic_run(8.0)], 10.0)
    assert short.share == 1.0
    count = int(4.5 * MOST_STATES)
    long = FilterPlan([idn.MeasuredRun("a", 250.0, q=np.zeros((count, 2)))], 10.0)
    used = sum(piece.part.stop - piece.part.start for piece in long.pieces)
    assert used <= MOST_STATES
    assert used > 0.8 * long.share * count
    assert long.pieces[-1].part.start > 0.9 * count


def test_runs_of_other_rates_are_refused_by_name():
    runs = [idn.MeasuredRun(name, rate, q=np.zeros((9, 2))) for name, rate in
            (("a", 100.0), ("b", 100.0), ("c", 500.0))]  # fmt: skip
    with pytest.raises(dyn.InputError, match="run 'c' was sampled at 500 Hz, others at 100 Hz"):
        FilterPlan(runs, 5.0)
