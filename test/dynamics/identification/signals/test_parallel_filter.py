# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Filtering in pieces equals filtering at once, and keeps equations true."""

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
    rows = np.random.default_rng(1).normal(size=(3 * CHUNK + 77, 6))
    filtered = ParallelFilter(250.0, 5.0)
    (block,) = filtered.blocks(lambda part: rows[part], len(rows))
    whole = ZeroPhaseFilter(250.0, 5.0, 1)(rows, step=filtered.step)[0]
    assert np.allclose(block, whole, atol=1e-12)


def test_blocks_are_bounded_and_complete():
    rows = np.random.default_rng(2).normal(size=(2 * LONGEST + 100, 1))
    filtered = ParallelFilter(1.0, 0.2)
    assert filtered.step == 1
    blocks = list(filtered.blocks(lambda part: rows[part], len(rows)))
    lengths = [len(each) for each in blocks]
    assert len(blocks) == 3
    assert max(lengths) - min(lengths) < 3
    assert np.allclose(np.concatenate(blocks), ZeroPhaseFilter(1.0, 0.2, 1)(rows)[0], atol=1e-12)
    assert not list(ParallelFilter(100.0, 5.0).blocks(lambda part: rows[part], 50))


def test_coulomb_friction_remains_unbiased_after_the_filter():
    # With the sign of the velocity not filtered, the same fit is off by more than a percent.
    rate, t = 500.0, np.arange(0.0, 30.0, 0.002)
    v = np.sin(3 * t) + 0.5 * np.sin(7 * t)
    columns = np.stack([v, np.tanh(v / 0.05), np.ones_like(v)], axis=1)
    torque = columns @ [0.4, 0.8, 0.1]
    table = np.column_stack([columns, torque])
    filtered = ParallelFilter(rate, 3.0)
    rows = np.concatenate(
        [
            block
            for part in (table[:7000], table[7000:])
            for block in filtered.blocks(lambda x, part=part: part[x], len(part))
        ]
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
