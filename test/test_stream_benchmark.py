# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What benchmark/streams.py compares streams with, and how it measures delays."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.tools.streams.stream_files import policy_stream

ROOT = Path(__file__).parents[1]
TIMES = np.array([0.2, 0.3, 0.45, 0.5, 0.7])
POINTS = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 2))
NOW, Q, QD = 0.05, np.array([0.3, -0.2]), np.array([1.0, -2.0])
JUST = 1e-9  # s


@pytest.fixture
def streams(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmark")
    return importlib.import_module("streams")


@pytest.mark.parametrize("is_through", [False, True])
def test_chunks_are_upsampled_from_the_present_motion_to_rest(streams, is_through):
    spline = streams.upsampled(NOW, Q, QD, TIMES, POINTS, is_through=is_through)
    np.testing.assert_allclose(spline(NOW), Q)
    np.testing.assert_allclose(spline(NOW, 1), QD)
    np.testing.assert_allclose(spline(TIMES), POINTS)
    np.testing.assert_allclose(spline(TIMES[-1], 1), 0.0, atol=1e-12)
    speed = np.abs(spline(TIMES[0], 1)).max()
    assert speed > 0.5 if is_through else speed < 1e-12
    knots = TIMES[0 if is_through else 1 : -1]
    before, after = spline(knots - JUST, 2), spline(knots + JUST, 2)
    np.testing.assert_allclose(before, after, atol=1e-3)  # C2


def test_points_that_repeat_are_overshot_as_the_page_says(streams):
    found = streams.held()
    for name in ("held", "monotone"):
        assert found[name] == pytest.approx(1.5, abs=1e-12)
    s = np.linspace(0.0, 1.0, 1001)  # between the second and the third point, speeds 0.8 and -0.2
    overshoot = 0.8 * s * (1.0 - s) ** 2 + 0.2 * s**2 * (1.0 - s)
    assert found["C2"] == pytest.approx(1.5 + overshoot.max(), abs=1e-4)
    page = (ROOT / "docs" / "streams.md").read_text(encoding="utf-8")
    for name in ("least_jerk", "C2"):
        assert f"reaches {found[name]:.2f}" in page


@pytest.mark.parametrize("delay", [0.0, 0.037])
def test_the_delay_is_the_one_with_the_least_difference(streams, delay):
    stream = policy_stream(("a", "b"), np.zeros(2), rate=20.0, duration=6.0, anchor=0.0, lost=0.0)
    due = np.concatenate([each.times for each in stream.messages])
    points = np.concatenate([each.positions for each in stream.messages])
    due, first = np.unique(due.round(6), return_index=True)
    times = np.arange(-1.0, 7.0, 1e-3)
    q = np.column_stack([np.interp(times - delay, due, row) for row in points[first].T])
    run = SimpleNamespace(times=times, q=q, desired=q[:, None])
    assert streams.delay(run, stream) == pytest.approx(delay)
