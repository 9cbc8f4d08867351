# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reference that follows a stream: where it begins, forecasts, its end, and what it refuses."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError, TrajectoryError
from multibody_dynamics.dynamics.motion import (
    StreamedMotion,
    StreamLimits,
    interpolate,
    splice,
    stop,
)

NAMES = ("a", "b")
LIMITS = StreamLimits(
    np.full(2, -2.0), np.full(2, 2.0), np.full(2, 2.0), np.full(2, 10.0), 0.08, 1.0
)


def at_rest(*q):
    state = np.zeros((5, 2))
    state[0] = q
    return state


def run(motion, first, last, targets=None, interval=0.05):
    states, due = [], first
    for t in np.arange(first, last, 1e-3):
        while targets is not None and due <= t:
            motion.add(due, np.zeros(1), np.array([targets(due)]))
            due += interval
        out = np.empty((5, 2))
        motion.evaluate(t, out)
        states.append(out)
    return np.array(states)


def circle(t):
    return np.array([np.sin(t), 1.0 - np.cos(t)])


def test_without_targets_it_stays_where_it_began():
    motion = StreamedMotion(NAMES, LIMITS, 1.0, at_rest(0.3, -3.0))  # beyond the limits
    states = run(motion, 1.0, 1.5)
    np.testing.assert_allclose(states, np.broadcast_to(at_rest(0.3, -3.0), states.shape))
    assert motion.is_at_rest_at_end
    assert motion.end_time <= 1.5
    np.testing.assert_allclose(motion(0.0), at_rest(0.3, -3.0))


def test_it_continues_a_motion_to_the_fourth_derivative_and_comes_to_rest():
    before = interpolate(NAMES, [0.0, 1.0, 2.0], [[0.0, 0.0], [0.5, -0.4], [1.0, 0.2]])
    motion = StreamedMotion(NAMES, LIMITS, 0.7, before(0.7))
    states = run(motion, 0.7, 2.5)
    np.testing.assert_allclose(states[0], before(0.7), rtol=1e-9, atol=1e-9)
    one, two = (np.abs(states[k:, 4] - states[:-k, 4]).max() for k in (1, 2))
    assert one < 0.6 * two  # steps of a continuous q'''' shrink with the time between them
    assert not np.isfinite(StreamedMotion(NAMES, LIMITS, 0.7, before(0.7)).end_time)
    assert np.isfinite(motion.end_time)
    assert not states[-1, 1:].any()


@pytest.mark.parametrize(  # each kind, each interval, and both ends of the intervals of points
    ("interval", "kind"),
    [
        (0.1, "single"),
        (0.02, "single"),
        (0.05, "with velocity"),
        (0.02, "ahead"),
        (0.1, "chunks"),
        (0.05, "none"),
    ],
)
def test_a_stream_that_begins_in_motion_does_not_turn_back_first(interval, kind):
    """Targets that go on as the motion came: the delay is inserted by moving more slowly."""
    speed = np.array([0.5, -0.3])
    state = np.zeros((5, 2))
    state[1] = speed
    motion, due, states = StreamedMotion(NAMES, LIMITS, 0.0, state), 0.0, []
    ahead = {"ahead": [interval], "chunks": interval * np.arange(1, 17)}.get(kind, [0.0])
    points = np.array(ahead)[:, None] * speed
    sends_rates = kind in ("with velocity", "ahead")
    rates = np.broadcast_to(speed, points.shape).copy() if sends_rates else None
    for k in range(2500):
        if kind != "none" and 1e-3 * k >= due:
            motion.add(1e-3 * k, np.array(ahead), due * speed + points, rates)
            due += interval * (8 if kind == "chunks" else 1)
        states.append(np.empty((5, 2)))
        motion.evaluate(1e-3 * k, states[-1])
    ratio = np.array(states)[:, 1] / speed
    assert ratio.min() >= (-1e-9 if kind == "none" else 0.4)
    assert ratio.max() < 1.3
    if kind == "none":
        assert motion.is_at_rest_at_end
    elif kind != "chunks":
        np.testing.assert_allclose(ratio[-1], 1.0, atol=0.02)


def test_a_forecast_changes_nothing_and_is_what_comes_without_further_targets():
    motion = StreamedMotion(NAMES, LIMITS, 0.0, at_rest(0.0, 0.0))
    run(motion, 0.0, 1.0, circle)
    forecast = [motion(1.0 + t) for t in (0.0, 0.02, 0.3)]
    states = run(motion, 1.0, 1.4)
    np.testing.assert_array_equal(forecast[0], states[0])
    np.testing.assert_allclose(forecast[1], states[20], rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(forecast[2], states[300], rtol=1e-9, atol=1e-6)


def test_other_motions_continue_it():
    motion = StreamedMotion(NAMES, LIMITS, 0.0, at_rest(0.0, 0.0))
    states = run(motion, 0.0, 1.0, circle)
    for later in (splice(motion, 0.999, [2.0], [[0.0, 0.0]]), stop(motion, 0.999, duration=0.5)):
        np.testing.assert_allclose(later(0.999), states[-1], rtol=1e-9, atol=1e-6)


def test_it_tells_delay_interval_and_what_it_refused():
    motion = StreamedMotion(NAMES, LIMITS, 0.0, at_rest(0.0, 0.0))
    run(motion, 0.0, 2.0, circle, interval=0.04)
    assert motion.interval == pytest.approx(0.04, rel=1e-6)
    assert motion.delay == pytest.approx(0.04, rel=1e-2)
    assert motion.counts == (50, 0)
    times = 2.0 + np.arange(150) * 0.01
    motion.add(2.0, times, np.zeros((150, 2)), start=0.0)
    assert motion.counts.messages == 51
    assert 20 < motion.counts.points_refused < 40


def test_its_extremes_are_bounds():
    motion = StreamedMotion(NAMES, LIMITS, 0.0, at_rest(0.0, 0.0))
    rng = np.random.default_rng(1)
    states = run(motion, 0.0, 5.0, lambda t: rng.uniform(-3.0, 3.0, 2))
    least, greatest = motion.extremes()
    assert (states.min(axis=0) >= least).all()
    assert (states.max(axis=0) <= greatest).all()
    assert (np.abs(states).max(axis=0)[2] > 0.9 * greatest[2]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"velocity": np.zeros(2)}, "velocity"),
        ({"acceleration": np.array([1.0, np.inf])}, "acceleration"),
        ({"smoothing": 0.0}, "smoothing"),
        ({"delay": np.nan}, "delay"),
        ({"lower": np.zeros(3)}, r"lower: expected \(2,\), got shape \(3,\)"),
        ({"lower": np.full(2, 3.0)}, "not below upper"),
    ],
)
def test_bad_limits_are_named(change, words):
    with pytest.raises(InputError, match=words):
        StreamedMotion(NAMES, LIMITS._replace(**change), 0.0, at_rest(0.0, 0.0))


def test_no_state_at_no_time():
    with pytest.raises(TrajectoryError, match="no state at t = nan"):
        StreamedMotion(NAMES, LIMITS, 0.0, at_rest(0.0, 0.0))(np.nan)
