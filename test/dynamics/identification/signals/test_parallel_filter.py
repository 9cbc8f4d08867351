# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Filtering in pieces equals filtering at once, and keeps equations true."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import dct

from multibody_dynamics.dynamics.identification import ZeroPhaseFilter
from multibody_dynamics.dynamics.identification.signals.parallel_filter import (
    CHUNK,
    LONGEST,
    ParallelFilter,
)


def test_pieces_equal_the_filter_of_the_whole():
    rows = np.random.default_rng(1).normal(size=(3 * CHUNK + 77, 2, 3))
    filtered = ParallelFilter(250.0, 5.0)
    stretch = slice(30, len(rows) - 5)
    (block,) = filtered.blocks(lambda part: rows[part], stretch)
    whole = ZeroPhaseFilter(250.0, 5.0, 1)(rows[stretch].reshape(-1, 6), step=filtered.step)[0]
    assert np.allclose(block.reshape(-1, 6), whole, atol=1e-12)
    assert len(block) == filtered.count(stretch)


def test_blocks_are_bounded_and_complete():
    rows = np.arange(2.0 * LONGEST + 100)[:, None]
    filtered = ParallelFilter(1.0, None)
    blocks = list(filtered.blocks(lambda part: rows[part], slice(0, len(rows))))
    assert [len(each) for each in blocks] == [2764, 2764, 2764]
    assert filtered.longest([len(rows), 0]) == 2764
    assert np.array_equal(np.concatenate(blocks), rows)
    assert not list(ParallelFilter(100.0, 5.0).blocks(lambda part: rows[part], slice(0, 50)))


def test_coulomb_friction_remains_unbiased_after_the_filter():
    # With the sign of the velocity not filtered, the same fit is off by more than a percent.
    rate, t = 500.0, np.arange(0.0, 30.0, 0.002)
    v = np.sin(3 * t) + 0.5 * np.sin(7 * t)
    columns = np.stack([v, np.tanh(v / 0.05), np.ones_like(v)], axis=1)
    torque = columns @ [0.4, 0.8, 0.1]
    table = np.column_stack([columns, torque])
    filtered = ParallelFilter(rate, 3.0)
    stretches = slice(0, 7000), slice(7000, len(t))
    rows = np.concatenate(
        [block for part in stretches for block in filtered.blocks(lambda x: table[x], part)]
    )
    both = np.linalg.lstsq(rows[:, :3], rows[:, 3], rcond=None)[0]
    assert both == pytest.approx([0.4, 0.8, 0.1], rel=1e-6)
    (smooth,) = ZeroPhaseFilter(rate, 3.0, 1)(torque[:, None])
    inner = slice(filtered.reach, -filtered.reach)
    plain = np.linalg.lstsq(columns[inner], smooth[:, 0], rcond=None)[0]
    assert abs(plain[1] / 0.8 - 1.0) > 0.01


@pytest.mark.parametrize("cutoff", [5.0, 15.0, 40.0])
def test_the_gain_is_that_of_white_noise(cutoff):
    filtered = ParallelFilter(500.0, cutoff)
    noise = np.random.default_rng(6).normal(size=(60_000, 20))
    (rows,) = ZeroPhaseFilter(500.0, cutoff, 1)(noise, step=filtered.step)
    power = np.mean(dct(rows, axis=0, norm="ortho") ** 2, axis=1)
    edges = np.linspace(0.0, 1.0, 11)
    found = filtered.step * np.array([each.mean() for each in np.array_split(power, 10)])
    assert filtered.gain(edges) == pytest.approx(found, rel=0.06)
    assert (ParallelFilter(500.0, None).gain(edges) == 1.0).all()
