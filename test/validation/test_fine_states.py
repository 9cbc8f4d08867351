"""States for an identification: fine, without gaps inside a stretch, and bounded in number."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.validation.alignment import MIDDLE
from multibody_dynamics.validation.fine_states import FineStates

RATE, CUTOFF = 500.0, 4.0
W = np.array([3.0, 5.0])


def fine(duration, gap=None, limit=10**6):
    look = SimpleNamespace(
        rate=RATE,
        period=1e9 / RATE,
        cutoff=CUTOFF,
        velocity=False,
        duration=duration,
        background=np.full((3, 2), np.nan),
    )
    count = int(duration * RATE)
    t = np.arange(count) / RATE
    q, effort = np.sin(np.outer(t, W)), np.cos(np.outer(t, W))
    rows = np.stack([q, np.zeros_like(q), effort], axis=1)
    states = FineStates(look, np.arange(2), limit)
    keys = MIDDLE + np.arange(count)
    if gap is not None:
        keys[gap:] += 1000
    for part in np.array_split(np.arange(count), 7):
        states.push(keys[part], rows[part])
    return states.result()


def test_states_are_those_of_the_motion():
    found = fine(20.0)
    assert found.rate == 250.0
    assert found.cutoff == CUTOFF
    angle = np.outer(found.times, W)
    for order, row in enumerate(found.state):
        expected = W**order * np.sin(angle + order * np.pi / 2)
        assert np.allclose(row, expected, atol=1e-3 * W.max() ** order)
    assert np.allclose(found.torque, np.cos(angle), atol=1e-3)
    assert found.starts.tolist() == [0]


def test_a_gap_begins_a_new_stretch():
    found = fine(20.0, gap=5000)
    assert len(found.starts) == 2
    steps = np.diff(found.times)
    assert np.argmax(steps) + 1 == found.starts[1]
    assert np.delete(steps, found.starts[1] - 1) == pytest.approx(1.0 / found.rate)
    part = found.until(100)
    assert len(part.times) == len(part.torque) == part.state.shape[1] == 100
    assert part.starts.tolist() == [0]


def test_of_a_long_recording_spread_stretches_are_kept():
    found = fine(400.0, limit=40_000)
    assert 20_000 < len(found.times) <= 40_000
    assert found.times[-1] > 300.0
    assert len(found.starts) > 2
