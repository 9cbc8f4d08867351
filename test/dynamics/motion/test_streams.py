# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A motion from a stream of targets: continuity, bounds, delay, held points, lost messages."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.motion import StreamLimits, streams
from multibody_dynamics.dynamics.motion.streams import Stream, Ticks

STEP = 1e-3
V, A, L = 2.0, 10.0, 0.08
BOUNDS = np.array([1.5, V, A, 4.375 * A / L, 30.06 * A / L**2])


class Follower:
    """One joint that follows messages, evaluated every STEP."""

    def __init__(self, q=0.0, **changes):
        full = {"velocity": np.array([V]), "acceleration": np.array([A])}
        full |= {"lower": np.array([-1.5]), "upper": np.array([1.5]), "smoothing": L, "delay": 1.0}
        self.p = StreamLimits(**(full | changes))
        self.ticks = record_fields.zeros(Ticks, n=1, rows=streams.ROWS)
        self.stream = record_fields.zeros(Stream, n=1, points=streams.POINTS)
        streams.compiled_begin(self.ticks, self.stream, self.p, 0.0, np.array([q]), np.zeros(1))
        self.states = []

    def send(self, now, points, times=(0.0,), velocities=None, start=None):
        rates = np.full(len(points), np.nan) if velocities is None else np.array(velocities)
        rows = np.array(times), np.array(points)[:, None], rates[:, None]
        streams.compiled_take_message(
            self.stream, self.p, now, start or 0.0, start is not None, *rows, len(times)
        )

    def run(self, until, messages=()):
        """Evaluate up to a time; messages are (arrival, arguments of `send`)."""
        waiting = list(messages)
        while STEP * len(self.states) < until - 1e-9:
            now = STEP * len(self.states)
            while waiting and waiting[0][0] <= now:
                arrival, *message = waiting.pop(0)
                self.send(arrival, *message)
            state = np.empty((5, 1))
            streams.compiled_advance(self.ticks, self.stream, self.p, now)
            streams.compiled_evaluate(self.ticks, L, now, state)
            self.states.append(state[:, 0])
        return np.array(self.states)


def samples(function, interval, until, jitter=0.0, lost=0.0, seed=1):
    """One-point messages without stamps, in the order of their arrival."""
    rng = np.random.default_rng(seed)
    due = np.arange(0.0, until, interval)
    arrival = due + interval * jitter * rng.uniform(-1.0, 1.0, len(due))
    kept = rng.random(len(due)) >= lost
    rows = [(max(a, 0.0), [function(t)]) for a, t in zip(arrival[kept], due[kept], strict=True)]
    return sorted(rows, key=lambda row: row[0])


def sine(t):
    return 0.5 * np.sin(2.0 * t)


def lag(states, function, after=2.0):
    """The delay in s with which the motion follows, and the rms error that remains."""
    times = STEP * np.arange(len(states))
    late = times > after
    delays = np.arange(-0.05, 0.3, STEP)
    errors = [np.sqrt(np.mean((states[late, 0] - function(times[late] - d)) ** 2)) for d in delays]
    k = int(np.argmin(errors))
    return delays[k], errors[k]


def assert_smooth_and_bounded(states):
    """q..q'''' within their bounds, and each the derivative of the one before: q to q'''' are
    continuous, the last as far as differences can show it."""
    peaks = np.abs(states).max(axis=0)
    assert (peaks <= BOUNDS * (1.0 + 1e-9)).all(), peaks / BOUNDS
    for k in range(4):
        middle = (states[2:, k + 1] + 4.0 * states[1:-1, k + 1] + states[:-2, k + 1]) / 6.0
        change = (states[2:, k] - states[:-2, k]) / (2.0 * STEP)
        assert np.abs(change - middle).max() < 5e-3 * BOUNDS[k + 1]  # Simpson's rule
    largest_step = np.abs(np.diff(states[:, 4])).max()
    assert largest_step <= 1.02 * STEP * 273.0 * A / L**3  # the bound of q^(5)


@pytest.mark.parametrize("interval", [0.1, 0.05, 0.02])
def test_the_delay_is_one_interval_of_the_stream(interval):
    follower = Follower()
    states = follower.run(6.0, samples(sine, interval, 6.0))
    delay, error = lag(states, sine)
    assert abs(delay - interval) <= 0.005
    assert abs(delay - follower.stream.delay[0]) <= 0.005  # what it says itself
    assert error < 0.005
    assert_smooth_and_bounded(states)


@pytest.mark.parametrize("interval", [0.1, 0.05, 0.02])
def test_jitter_and_lost_messages_are_bridged(interval):
    messages = samples(sine, interval, 12.0, jitter=0.25, lost=0.05)
    states = Follower().run(12.0, messages)
    delay, error = lag(states, sine)
    assert abs(delay - interval) <= 0.3 * interval
    assert error < 0.2 * interval
    assert_smooth_and_bounded(states)


def test_stamps_replace_the_clock_of_arrivals():
    rng = np.random.default_rng(2)
    messages = [
        (t + 0.05 * rng.random(), [sine(t)], (0.0,), None, t) for t in np.arange(0.1, 8.0, 0.05)
    ]
    states = Follower().run(8.0, sorted(messages, key=lambda row: row[0]))
    delay, error = lag(states, sine)
    assert delay <= 0.05 + 0.05  # one interval after the arrival
    assert error < 0.006


def test_doubled_messages_change_nothing():
    once = samples(sine, 0.05, 4.0)
    twice = sorted([*once, *((t + 0.003, q) for t, q in once)], key=lambda row: row[0])
    np.testing.assert_allclose(Follower().run(4.0, twice), Follower().run(4.0, once), atol=1e-9)


@pytest.mark.parametrize(("interval", "seed"), [(0.1, 0), (0.02, 1), (0.1, 2), (0.02, 3)])
def test_random_targets_exceed_no_bound_and_no_joint_limit(interval, seed):
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(interval * rng.uniform(0.2, 1.8, int(10.0 / interval)))
    messages = [(t, [rng.uniform(-3.0, 3.0)]) for t in arrivals]
    states = Follower().run(10.0, messages)
    assert_smooth_and_bounded(states)
    assert np.abs(states[:, 0]).max() > 0.7


def test_a_target_beyond_a_limit_is_approached_and_the_limit_never_passed():
    fast = Follower(velocity=np.array([8.0]))
    states = fast.run(4.0, samples(lambda t: 3.0 * np.sin(3.0 * t), 0.02, 4.0))
    assert 1.499 < states[:, 0].max() <= 1.5 + 1e-12
    assert np.abs(states[:, 2]).max() <= A


@pytest.mark.parametrize("interval", [0.1, 0.02])
def test_held_points_of_a_step_are_not_overshot(interval):
    states = Follower(0.5).run(4.0, samples(lambda t: 0.5 if t < 1.0 else 1.4, interval, 4.0))
    assert np.diff(states[:, 0]).min() > -1e-12  # monotone, as the data
    assert abs(states[-1, 0] - 1.4) < 1e-9
    assert_smooth_and_bounded(states)


@pytest.mark.parametrize(("interval", "delay"), [(0.1, 1.0), (0.02, 1.0), (0.1, 2.0), (0.05, 4.0)])
def test_a_motion_that_ends_at_once_overshoots_by_what_it_could_not_know(interval, delay):
    """The stated bound: v (L / 2 + b(v)) less the part of the delay beyond one interval."""
    speed = 0.8
    follower = Follower(-1.0, delay=delay)
    states = follower.run(5.0, samples(lambda t: min(t, 2.0) * speed - 1.0, interval, 5.0))
    ahead = L / 2 + streams.stopping_time(speed, 0.8 * A, 0.25 * L)
    bound = speed * max(ahead - (delay - 1.0) * interval, 0.0)
    assert states[:, 0].max() - 0.6 <= bound + 1e-9
    if bound:
        assert states[:, 0].max() - 0.6 > 0.1 * bound  # the price of the delay, not a bad bound
    assert abs(states[-1, 0] - 0.6) < 1e-9


def test_points_of_one_message_are_not_overshot_and_have_no_delay():
    times = np.arange(0.0, 3.05, 0.1)
    points = np.minimum(0.6 * times, 0.9)
    states = Follower().run(5.0, [(0.0, points, times)])
    assert states[:, 0].max() <= 0.9 + 1e-12
    assert abs(states[-1, 0] - 0.9) < 1e-9
    middle = slice(500, 1200)  # in steady motion
    np.testing.assert_allclose(states[middle, 0], 0.6 * STEP * np.arange(500, 1200), atol=2e-4)
    assert_smooth_and_bounded(states)


def test_chunks_replace_the_future_of_those_before():
    rng = np.random.default_rng(3)
    offsets = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    messages = []
    for t in np.arange(0.0, 8.0, 0.2):
        anchor = rng.uniform(-0.05, 0.05)
        messages.append((t, [sine(t + x) + anchor for x in offsets], tuple(offsets), None, t))
    states = Follower().run(8.0, messages)
    assert_smooth_and_bounded(states)
    delay, error = lag(states, sine)
    assert abs(delay) < 0.02
    assert error < 0.05


def test_velocities_are_followed_where_they_are_sent():
    def rate(t):
        return np.cos(2.0 * t)

    messages = [(t, [sine(t)], (0.0,), [rate(t)]) for t in np.arange(0.0, 6.0, 0.1)]
    _, error = lag(Follower().run(6.0, messages), sine)
    _, without = lag(Follower().run(6.0, samples(sine, 0.1, 6.0)), sine)
    assert error < without


def test_the_end_of_a_stream_is_a_stop_at_the_last_target():
    follower = Follower()
    states = follower.run(3.0, samples(lambda t: 0.7 * t, 0.05, 1.0))
    assert abs(states[-1, 0] - 0.7 * 0.95) < 1e-12
    assert not states[-1, 1:].any()
    assert follower.stream.still[0] > streams.TICKS
    assert_smooth_and_bounded(states)


def test_a_stream_may_pause_and_then_take_its_time():
    """After a silence, a point that is due in 1 s is approached from now on."""
    messages = [*samples(sine, 0.05, 1.0), (3.0, [1.0], (1.0,))]
    states = Follower().run(5.0, messages)
    assert abs(states[3000, 0] - sine(0.95)) < 1e-9
    half = 0.5 * (1.0 + sine(0.95))
    assert abs(states[3500, 0] - half) < 0.05
    assert_smooth_and_bounded(states)


def test_a_look_years_ahead_decides_few_ticks_and_targets_then_continue():
    follower = Follower()
    follower.run(1.0, samples(sine, 0.05, 1.0))
    before, rest, year = follower.ticks.newest[0], np.zeros(5), 3e7
    state = np.empty((5, 1))
    streams.compiled_follow(follower.ticks, follower.stream, follower.p, year, state)
    assert follower.ticks.newest[0] - before < 3 * streams.ROWS
    rest[0] = sine(0.95)
    np.testing.assert_allclose(state[:, 0], rest, atol=1e-12)
    for back in (0.5, 20.0, 39.0):  # ticks; rounded to the last bit of a year
        streams.compiled_evaluate(follower.ticks, L, year - back * L / streams.TICKS, state)
        np.testing.assert_allclose(state[:, 0], rest, atol=1e-12)
    states = []
    follower.send(year, [1.0])
    for k in range(1000):
        streams.compiled_follow(follower.ticks, follower.stream, follower.p, year + STEP * k, state)
        states.append(state[:2, 0].copy())
    assert np.abs(np.diff([q for q, _ in states])).max() <= 1.01 * STEP * V
    np.testing.assert_allclose(states[-1], [1.0, 0.0], atol=1e-9)


def test_a_new_rate_is_learned():
    slow = samples(sine, 0.1, 4.0)
    fast = [(t, [sine(t)]) for t in np.arange(4.0, 9.0, 0.04)]
    follower = Follower()
    states = follower.run(9.0, [*slow, *fast])
    assert abs(follower.stream.interval[0] - 0.04) < 1e-6
    delay, _ = lag(states, sine, after=7.0)
    assert abs(delay - 0.04) < 0.005


def test_earlier_times_may_be_evaluated_again():
    follower = Follower()
    states = follower.run(1.0, samples(sine, 0.05, 1.0))
    again = np.empty((5, 1))
    for k in (-1, -60, -130):
        streams.compiled_evaluate(follower.ticks, L, STEP * (len(states) + k), again)
        np.testing.assert_allclose(again[:, 0], states[k], rtol=1e-9, atol=1e-6)


def test_the_ring_refuses_what_does_not_fit_and_what_is_out_of_order():
    follower = Follower()
    s, p, none = follower.stream, follower.p, np.zeros(1)
    added = streams.begin_message(s, p, 0.0, 0.0, False, 2.0, 2 * streams.POINTS)
    taken = [
        streams.add_point(s, p, added + 0.01 * k, none, none, False, k == 1)
        for k in range(1, streams.POINTS + 5)
    ]
    assert taken == [True] * (streams.POINTS - 2) + [False] * 6
    assert not streams.add_point(s, p, 0.5, none, none, False, False)


def test_a_stream_is_continued_with_caution():
    assert streams.limited_slope(0.0, 1.0) == 0.0  # a step ends where it is
    assert streams.limited_slope(1.0, 1.0) == 1.0
    assert streams.limited_slope(1.0, 0.6) == pytest.approx(0.2)
    assert streams.limited_slope(-1.0, -0.4) == 0.0  # would reverse
