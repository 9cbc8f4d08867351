# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What an arm on samples follows: points, as a motion in segments, or the targets of a stream.

These functions distribute the calls to :mod:`.segments` and :mod:`.streams`, which are compiled.
They take no time themselves, so Python does not compile them; C prints them.
"""

from math import isfinite
from typing import Annotated, NamedTuple

import numpy as np

from ...core import Array, Field, Integers, record_fields
from ...motion import StreamLimits, segments, streams
from ...motion.segments import Answer, Segments
from ...motion.streams import Stream, Ticks
from .modes import is_following


class SampledMotion(NamedTuple):
    """The motion of an arm on samples."""

    segments: Annotated[Segments, Field("the motion through points")]
    ticks: Annotated[Ticks, Field("of the motion of a stream")]
    stream: Annotated[Stream, Field("its targets")]
    limits: Annotated[StreamLimits, Field("of streams")]
    streams: Annotated[Integers, Field("whether the arm follows the stream, not the segments")]
    rests: Annotated[Integers, Field("whether the stream rested at the last evaluation")]
    fading: Annotated[
        Array,
        Field("q..q'''' of the motion before a stream, which its segments fade", (5, "n")),
    ]


def sampled_motion(n: int, limits: StreamLimits) -> SampledMotion:
    """A motion of n joints, which begins with :func:`hold_motion`."""
    own = limits._replace(lower=limits.lower.copy(), upper=limits.upper.copy())
    return SampledMotion(
        record_fields.zeros(Segments, n=n, segments=segments.SEGMENTS),
        record_fields.zeros(Ticks, n=n, rows=streams.ROWS),
        record_fields.zeros(Stream, n=n, points=streams.POINTS),
        own,
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros((5, n)),
    )


def hold_motion(m, q, now):
    """Hold the position q from now on."""
    segments.compiled_hold(m.segments, q, now)
    m.streams[0] = 0


def leave_stream(m, now, desired):
    """Go on in segments from where a stream is."""
    if m.streams[0] != 0:
        segments.compiled_begin(m.segments, now, desired)
    m.streams[0] = 0


def evaluate_motion(m, time, now, state):
    """q..q'''' at a time, from the present one on."""
    if m.streams[0] != 0:
        streams.compiled_follow(m.ticks, m.stream, m.limits, time, state)
        if m.segments.used[0] > 0:
            segments.compiled_evaluate(m.segments, time, now, m.fading)
            for k in range(5):
                for i in range(state.shape[1]):
                    state[k, i] += m.fading[k, i]
    else:
        segments.compiled_evaluate(m.segments, time, now, state)


def follow_motion(p, counts, m, now, state):
    """q..q'''' in this cycle; brakes where the motion would end without a further point."""
    if m.streams[0] != 0:
        evaluate_motion(m, now, now, state)
        m.rests[0] = 1 if streams.is_stream_at_rest(m.stream) and m.segments.used[0] == 0 else 0
    elif segments.compiled_follow(m.segments, now, p.lead, p.stop_acceleration, state):
        counts.late_references[0] += 1


def phase_of_motion(m):
    """What the motion does in this cycle."""
    if m.streams[0] != 0:
        return segments.RESTING if m.rests[0] != 0 else segments.MOVING
    return segments.compiled_motion(m.segments)


def append_point(p, counts, m, mode, now, desired, time, state):
    """Continue the motion to `state` at `time`; returns the answer, see :class:`.Answer`."""
    answer = Answer.NOT_READY
    rests = streams.is_stream_at_rest(m.stream) and m.segments.used[0] == 0
    if is_following(mode) and (m.streams[0] == 0 or rests):
        leave_stream(m, now, desired)
        answer = segments.compiled_accept(
            m.segments, now, p.lead, time, state, p.lower, p.upper, p.velocity
        )
    counts.refused_points[0] += 0 if answer == Answer.ACCEPTED else 1
    return answer


def follow_targets(m, mode, now, desired, start, is_stamped, times, positions, velocities, count):
    """Follow the targets of a message, see :func:`.take_message`, from the present motion on, which
    must not brake; returns the answer. A stream that begins outside of its limits may stay there.
    """
    begins = m.streams[0] == 0
    if not is_following(mode) or count < 1 or (begins and m.segments.brakes[0] != 0):
        return Answer.NOT_READY
    for k in range(count):
        is_valid = isfinite(times[k])
        for i in range(desired.shape[1]):
            is_valid = is_valid and isfinite(positions[k, i])
        if not is_valid:
            return Answer.NOT_FINITE
    if begins:
        for i in range(desired.shape[1]):
            m.limits.lower[i] = min(m.limits.lower[i], desired[0, i])
            m.limits.upper[i] = max(m.limits.upper[i], desired[0, i])
            for k in range(5):
                m.fading[k, i] = desired[k, i] if k > 1 else 0.0
        streams.compiled_begin(m.ticks, m.stream, m.limits, now, desired[0], desired[1])
        segments.compiled_begin(m.segments, now, m.fading)
        for i in range(desired.shape[1]):
            for k in range(5):
                m.fading[k, i] = 0.0
        segments.compiled_append(m.segments, now + streams.TAKE_OVER, m.fading)
        m.streams[0] = 1
        m.rests[0] = 0
    refused = streams.compiled_take_message(
        m.stream, m.limits, now, start, is_stamped, times, positions, velocities, count
    )
    return Answer.FULL if refused > 0 else Answer.ACCEPTED


def cut_motion(m, mode, now, time):
    """Discard the motion after `time`, so that points continue from there."""
    if is_following(mode) and m.streams[0] == 0 and m.segments.brakes[0] == 0:
        segments.compiled_cut(m.segments, max(time, now))


def stop_motion(p, m, mode, now, desired):
    """Brake now."""
    if is_following(mode):
        leave_stream(m, now, desired)
        segments.compiled_stop(m.segments, now, p.stop_acceleration)
