# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A motion of polynomial segments in a queue of fixed size, for controllers that allocate nothing.

Each segment is the polynomial of degree 9 between two states q..q'''' (:mod:`trajectories`), in
Bernstein form. The functions run over a record, :class:`Segments`: compiled in Python, printed as C
for generated controllers.
"""

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from ..core import Array, Field, Integers, compiled_exactly, inlined_exactly, inlined_with_arrays
from .braking import SEGMENT_TABLES, braking_duration, braking_travel
from .trajectories import bernstein, evaluate_polynomial

SEGMENTS = 32  # in a queue, one of them for the path to rest
SAMPLES = 64  # intervals, at whose ends a polynomial is judged if its coefficients are not decisive
SLACK = 1e-6  # rad or m, and per s: a motion may end on a limit
SHORTEST = 1e-9  # s, of a segment
RESTING, MOVING, BRAKES = range(3)  # what a motion does
MODES = ("holding", "moving", "braking")  # the same in words


class Answer(IntEnum):
    """Answers to a point that shall continue a motion."""

    ACCEPTED = 0
    NOT_FINITE = 1
    LATE = 2
    BEYOND = 3
    FULL = 4
    NOT_READY = 5


ANSWERS = (
    "accepted",
    "a number is not finite",
    "due now or in the past, or before the last accepted point",
    "beyond a limit of position or velocity",
    "too many points are waiting",
    "the controller is not holding or following",
)
"""The answers in words."""
ACCEPTED, NOT_FINITE, LATE, BEYOND, FULL, NOT_READY = map(int, Answer)


class Segments(NamedTuple):
    """A motion in segments that join with q..q'''': each begins in the state in which the one
    before ends. Before the first segment, the motion is at its start; from `end` on, at the state
    `last`. The rows of the segments are a ring."""

    first: Annotated[Integers, Field("row of the first segment")]
    used: Annotated[Integers, Field("number of segments")]
    brakes: Annotated[Integers, Field("whether the path to rest has begun")]
    end: Annotated[Array, Field("s, of the last segment")]
    last: Annotated[Array, Field("q..q'''' there", (5, "n"))]
    starts: Annotated[Array, Field("s, of each segment", ("segments",))]
    ends: Annotated[Array, Field("s, of each segment", ("segments",))]
    rates: Annotated[
        Array, Field("1/s; the polynomial itself ends at start + 1 / rate", ("segments",))
    ]
    coefficients: Annotated[
        Array,
        Field(
            "q..q'''' at the time t are the sum over i of B_i((t - start) rate) coefficients[i],"
            " with the Bernstein polynomials B_i",
            ("segments", 10, 5, "n"),
        ),
    ]


@inlined_exactly
def _row(s, k):
    """The row of segment k."""
    return (s.first[0] + k) % s.starts.shape[0]


@inlined_exactly
def _copy_state(source, target):
    for k in range(5):
        for j in range(source.shape[1]):
            target[k, j] = source[k, j]


@inlined_exactly
def _begin(s, time):
    s.first[0] = 0
    s.used[0] = 0
    s.brakes[0] = 0
    s.end[0] = time


@inlined_exactly
def hold_position(s, q, time):
    """Hold the position q; `time` is the end of the motion so far."""
    _begin(s, time)
    for j in range(q.shape[0]):
        s.last[0, j] = q[j]
        for k in range(1, 5):
            s.last[k, j] = 0.0


@inlined_exactly
def begin_segments(s, time, state):
    """Begin in the state (5, n), with which another motion ends at `time`."""
    _begin(s, time)
    _copy_state(state, s.last)


@inlined_exactly
def _fill_joint(table, j, data, start, lengths):
    """The coefficients of one joint between two states in units of the length of the segment."""
    for k in range(5):
        for i in range(10):
            total = 0.0
            for m in range(10):
                total += SEGMENT_TABLES[k, i, m] * data[m]
            table[i, k, j] = total / lengths[k]
    for i in range(10):
        table[i, 0, j] += start


@inlined_with_arrays
def append_segment(s, time, state):
    """Add a segment from the end of the motion to `state` at `time`, which must be later; returns
    its row, or -1 if the queue is full. The numbers are not checked."""
    if s.used[0] == s.starts.shape[0]:
        return -1
    row = _row(s, s.used[0])
    length = time - s.end[0]
    data = np.zeros(10)
    lengths = np.zeros(5)
    lengths[0] = 1.0
    for k in range(1, 5):
        lengths[k] = lengths[k - 1] * length
    for j in range(state.shape[1]):
        data[0] = 0.0
        data[5] = state[0, j] - s.last[0, j]
        for k in range(1, 5):
            data[k] = s.last[k, j] * lengths[k]
            data[5 + k] = state[k, j] * lengths[k]
        _fill_joint(s.coefficients[row], j, data, s.last[0, j], lengths)
        for k in range(5):  # no rounding at the ends
            s.coefficients[row, 0, k, j] = s.last[k, j]
            s.coefficients[row, 9, k, j] = state[k, j]
    s.starts[row] = s.end[0]
    s.ends[row] = time
    s.rates[row] = 1.0 / length
    s.used[0] += 1
    s.end[0] = time
    _copy_state(state, s.last)
    return row


@inlined_exactly
def remove_segment(s, row):
    """Remove the segment that was added last, in this row."""
    s.used[0] -= 1
    s.end[0] = s.starts[row]
    _copy_state(s.coefficients[row, 0], s.last)


@inlined_exactly
def _evaluate(s, row, time, state):
    evaluate_polynomial(s.coefficients[row], (time - s.starts[row]) * s.rates[row], state)


@inlined_exactly
def evaluate_segments(s, time, done, state):
    """q..q'''' at a time; segments that have ended by the time `done` are discarded."""
    while s.used[0] > 0 and s.ends[s.first[0]] <= done:
        s.first[0] = _row(s, 1)
        s.used[0] -= 1
    if s.used[0] == 0:
        s.brakes[0] = 0
    for k in range(s.used[0]):
        row = _row(s, k)
        if time < s.ends[row]:
            _evaluate(s, row, max(time, s.starts[row]), state)
            return
    _copy_state(s.last, state)


@inlined_exactly
def cut_segments(s, time):
    """Discard everything after `time`: the motion then ends there, in general not at rest."""
    if s.used[0] == 0 or time >= s.end[0]:
        return
    end = max(time, s.starts[s.first[0]])
    while s.used[0] > 1 and s.starts[_row(s, s.used[0] - 1)] >= end:
        s.used[0] -= 1
    row = _row(s, s.used[0] - 1)
    _evaluate(s, row, end, s.last)
    s.ends[row] = end
    s.end[0] = end


@inlined_exactly
def ends_at_rest(s):
    """Whether the motion is at rest at its end."""
    for k in range(1, 5):
        for j in range(s.last.shape[1]):
            if s.last[k, j] != 0.0:
                return False
    return True


@inlined_with_arrays
def brake_segments(s, acceleration):
    """Add the path from the end of the motion to rest, within the accelerations if possible
    (:mod:`braking`); nothing if it rests already. Returns False if the queue is full."""
    if ends_at_rest(s):
        return True
    s.brakes[0] = 1
    duration = braking_duration(s.last, acceleration)
    rest = np.zeros((5, acceleration.shape[0]))
    for j in range(acceleration.shape[0]):
        rest[0, j] = s.last[0, j] + braking_travel(s.last, j, duration)
    return append_segment(s, s.end[0] + duration, rest) >= 0


@inlined_with_arrays
def _samples_are_within(table, k, j, low, high):
    """Whether samples of derivative k of joint j lie in [low, high]."""
    basis = np.zeros(10)
    for p in range(SAMPLES + 1):
        bernstein(p / SAMPLES, basis)
        value = 0.0
        for i in range(10):
            value += basis[i] * table[i, k, j]
        if not low <= value <= high:
            return False
    return True


@inlined_exactly
def _is_within(table, k, j, low, high):
    """Whether derivative k of joint j lies in [low, high]: by its Bernstein coefficients, and by
    samples where these are not decisive."""
    for i in range(10):
        if not low <= table[i, k, j] <= high:
            return _samples_are_within(table, k, j, low, high)
    return True


@inlined_exactly
def segment_is_within(s, row, lower, upper, velocity):
    """Whether a segment stays within lower <= q <= upper and |q'| <= velocity; it may begin
    beyond."""
    for j in range(lower.shape[0]):
        start = s.coefficients[row, 0, 0, j]
        speed = max(velocity[j], abs(s.coefficients[row, 0, 1, j])) + SLACK
        low = min(lower[j], start) - SLACK
        high = max(upper[j], start) + SLACK
        if not _is_within(s.coefficients[row], 0, j, low, high):
            return False
        if not _is_within(s.coefficients[row], 1, j, -speed, speed):
            return False
    return True


@inlined_exactly
def follow_segments(s, now, lead, acceleration, state):
    """q..q'''' at the time `now`; brakes if the motion ends within `lead` without a further point,
    and returns whether it does so from now on."""
    ends = not ends_at_rest(s) and now + lead >= s.end[0]
    if ends:
        brake_segments(s, acceleration)
    evaluate_segments(s, now, now, state)
    return ends


@inlined_exactly
def motion_of_segments(s):
    """What the motion does at the time of the last evaluation."""
    if s.used[0] == 0:
        return RESTING
    return BRAKES if s.brakes[0] else MOVING


@inlined_exactly
def stop_segments(s, now, acceleration):
    """Brake from now on."""
    if not s.brakes[0]:
        cut_segments(s, now)
        brake_segments(s, acceleration)


@inlined_exactly
def _is_finite(time, state):
    total = 0.0 * time
    for k in range(5):
        for j in range(state.shape[1]):
            total += 0.0 * state[k, j]
    return total == 0.0


@inlined_exactly
def accept_point(s, now, lead, time, state, lower, upper, velocity):
    """Continue the motion to `state` at `time`, unless there is a reason to refuse that; returns
    the answer. A motion at rest continues from `now`; points must be due after `lead`."""
    if s.brakes[0]:
        return NOT_READY
    if not _is_finite(time, state):
        return NOT_FINITE
    s.end[0] = max(s.end[0], now)
    if not (time > now + lead and time > s.end[0] + SHORTEST):
        return LATE
    if s.used[0] >= s.starts.shape[0] - 1:  # the last one is kept for the path to rest
        return FULL
    row = append_segment(s, time, state)
    if not segment_is_within(s, row, lower, upper, velocity):
        remove_segment(s, row)
        return BEYOND
    return ACCEPTED


compiled_hold = compiled_exactly(hold_position)
compiled_begin = compiled_exactly(begin_segments)
compiled_append = compiled_exactly(append_segment)
compiled_remove = compiled_exactly(remove_segment)
compiled_evaluate = compiled_exactly(evaluate_segments)
compiled_cut = compiled_exactly(cut_segments)
compiled_rests = compiled_exactly(ends_at_rest)
compiled_brake = compiled_exactly(brake_segments)
compiled_follow = compiled_exactly(follow_segments)
compiled_motion = compiled_exactly(motion_of_segments)
compiled_stop = compiled_exactly(stop_segments)
compiled_accept = compiled_exactly(accept_point)
compiled_is_within = compiled_exactly(segment_is_within)
