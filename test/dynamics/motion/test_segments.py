# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The queue of segments: the same motion as a trajectory, bit for bit, in a ring."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.motion import segments
from multibody_dynamics.dynamics.motion.braking import brake
from multibody_dynamics.dynamics.motion.segments import Segments
from multibody_dynamics.dynamics.motion.trajectories import Trajectory

NAMES = ("a", "b", "c")
SIZE = 4


@pytest.fixture
def queue():
    s = record_fields.zeros(Segments, n=3, segments=SIZE)
    segments.compiled_hold(s, np.array([0.1, -0.2, 0.3]), 2.0)
    return s


def state_at(s, time, done=0.0):
    state = np.empty((5, 3))
    segments.compiled_evaluate(s, time, done, state)
    return state


def random_states(count):
    return np.random.default_rng(4).normal(size=(count, 5, 3))


def test_the_motion_is_that_of_a_trajectory(queue):
    states = random_states(3)
    start = queue.last.copy()
    times = [2.5, 2.75, 4.0]
    for time, state in zip(times, states, strict=True):
        assert segments.compiled_append(queue, time, state) >= 0
    motion = Trajectory(NAMES, np.array([2.0, *times]), np.concatenate([start[None], states]))
    for t in (1.0, 2.0, 2.1, 2.5, 2.6, 2.75, 3.9, 4.0, 5.0):
        wanted = states[-1] if t >= 4.0 else motion(max(t, 2.0))
        np.testing.assert_array_equal(state_at(queue, t), wanted)


def test_ended_segments_make_room_in_the_ring(queue):
    for k in range(3 * SIZE):
        row = segments.compiled_append(queue, 2.1 + 0.1 * k, random_states(1)[0])
        assert row == k % SIZE
        if k >= 1:
            state_at(queue, 1.95 + 0.1 * k, 1.95 + 0.1 * k)
    assert queue.used[0] == 2
    while queue.used[0] < SIZE:
        segments.compiled_append(queue, queue.end[0] + 1.0, queue.last.copy())
    before = [row.copy() for row in queue]
    assert segments.compiled_append(queue, queue.end[0] + 1.0, queue.last.copy()) == -1
    for row, wanted in zip(queue, before, strict=True):
        np.testing.assert_array_equal(row, wanted)


def test_a_segment_is_removed_without_trace(queue):
    segments.compiled_append(queue, 3.0, random_states(1)[0])
    last, end = queue.last.copy(), queue.end[0]
    row = segments.compiled_append(queue, 4.0, np.zeros((5, 3)))
    segments.compiled_remove(queue, row)
    np.testing.assert_array_equal(queue.last, last)
    assert (queue.used[0], queue.end[0]) == (1, end)


@pytest.mark.parametrize("time", [1.0, 2.2, 2.5, 2.8, 3.0, 9.0])
def test_a_cut_motion_ends_in_the_state_at_that_time(queue, time):
    for t, state in zip((2.5, 3.0), random_states(2), strict=True):
        segments.compiled_append(queue, t, state)
    wanted, end = state_at(queue, time), min(max(time, 2.0), 3.0)
    segments.compiled_cut(queue, time)
    assert queue.end[0] == end
    np.testing.assert_array_equal(queue.last, wanted)
    np.testing.assert_array_equal(state_at(queue, end + 1.0), wanted)
    segments.compiled_hold(queue, np.zeros(3), 0.0)
    segments.compiled_cut(queue, -1.0)  # nothing to cut
    assert queue.end[0] == 0.0


def test_the_path_to_rest_is_that_of_brake(queue):
    assert segments.compiled_brake(queue, np.ones(3))  # at rest already
    assert queue.used[0] == 0
    state = 0.3 * random_states(1)[0]
    segments.compiled_append(queue, 2.5, state)
    assert not segments.compiled_rests(queue)
    limits = np.array([1.0, 2.0, 3.0])
    path = brake(NAMES, state, 2.5, limits)
    assert segments.compiled_brake(queue, limits)
    assert segments.compiled_rests(queue)
    assert queue.end[0] == path.knots[1]
    np.testing.assert_array_equal(queue.last, path.states[1])
    while queue.used[0] < SIZE:
        segments.compiled_append(queue, queue.end[0] + 1.0, state)
    assert not segments.compiled_brake(queue, limits)


def test_limits_are_judged_by_the_extremes(queue):
    start = queue.last[0].copy()
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        state = np.zeros((5, 3))
        state[0], state[1] = start + 0.4 * rng.normal(size=3), rng.normal(size=3)
        row = segments.compiled_append(queue, 3.0, state)
        motion = Trajectory(
            NAMES, np.array([2.0, 3.0]), np.stack([queue.coefficients[row, 0], state])
        )
        least, greatest = motion.extremes()
        lower, upper, speed = start - 0.5, start + 0.6, np.full(3, 2.0)
        wanted = (
            (least[0] >= lower - 1e-6).all() and (greatest[0] <= upper + 1e-6).all()
            and (np.maximum(-least[1], greatest[1]) <= speed + 1e-6).all()
        )  # fmt: skip
        assert segments.compiled_is_within(queue, row, lower, upper, speed) == wanted
        found.append(wanted)
        segments.compiled_remove(queue, row)
    assert 20 < sum(found) < 280


def test_a_motion_may_begin_beyond_a_limit_and_return(queue):
    state = np.zeros((5, 3))
    row = segments.compiled_append(queue, 4.0, state)
    lower, upper = np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.2])
    assert segments.compiled_is_within(queue, row, lower, upper, np.ones(3))
    assert not segments.compiled_is_within(queue, row, lower + 0.05, upper, np.ones(3))
