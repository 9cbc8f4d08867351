# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Samples for an identification: all of them, without gaps inside a stretch, bounded in number."""

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.validation.alignment import MIDDLE
from multibody_dynamics.validation.run_recorder import PIECE, RunRecorder

RATE = 500.0
W = np.array([3.0, 5.0])


def recorded(duration, gap=None, limit=10**6, **options):
    background = np.full((3, 2), np.nan)
    look = SimpleNamespace(
        rate=RATE,
        period=1e9 / RATE,
        velocity=True,
        duration=duration,
        background=background,
        derived=(),
        motors=None,
    )
    for name, value in options.items():
        setattr(look, name, value)
    count = int(duration * RATE)
    angle = np.outer(np.arange(count) / RATE, W)
    rows = np.stack([np.sin(angle), W * np.cos(angle), np.cos(angle)], axis=1)
    recorder = RunRecorder(look, np.flatnonzero(np.isnan(look.background[0])), "sensor", limit)
    keys = MIDDLE + np.arange(count)
    if gap is not None:
        keys[gap:] += 1000
    for part in np.array_split(np.arange(count), 7):
        recorder.push(keys[part], rows[part])
    return recorder.result()


def test_all_samples_are_kept():
    run, times = recorded(20.0)
    assert (run.rate, run.starts) == (RATE, (0,))
    angle = np.outer(times - times[0], W)
    assert np.allclose(run.q, np.sin(angle))
    assert np.allclose(run.qd, W * np.cos(angle))
    assert np.allclose(run.sensor, np.cos(angle))
    assert run.motor_torque is None
    assert recorded(20.0, velocity=False).run.qd is None


def test_a_gap_begins_a_new_stretch():
    run, times = recorded(20.0, gap=5000)
    assert run.starts == (0, 5000)
    steps = np.diff(times)
    assert np.argmax(steps) == 4999
    assert np.delete(steps, 4999) == pytest.approx(1.0 / RATE)


def test_memory_is_bounded_by_evenly_spread_pieces():
    run, times = recorded(10 * PIECE, limit=int(4 * PIECE * RATE))
    assert len(times) == len(run.q) == 4 * PIECE * RATE
    assert len(run.starts) == 4
    middles = times.reshape(4, -1).mean(axis=1) - times[0]
    assert np.ptp(np.diff(middles)) < 1e-6
    assert middles[-1] > 0.8 * 10 * PIECE


def test_a_joint_that_was_not_recorded_rests():
    background = np.full((3, 2), np.nan)
    background[:2, 1] = 0.3, 0.0
    run, _ = recorded(4.0, background=background)
    assert (run.q[:, 1] == 0.3).all()
    assert (run.qd[:, 1] == 0.0).all()
    assert run.has("sensor").tolist() == [True, False]
