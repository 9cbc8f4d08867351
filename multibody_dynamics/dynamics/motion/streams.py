# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A motion from a stream of targets: causal, continuous to q'''', and bounded, whatever arrives.

Three steps, each of which keeps what the one before has ensured:

1. The **targets** p(t): a monotone cubic spline through timed points (Fritsch and Butland, SIAM J.
   Sci. Stat. Comput. 5, 1984), within the joint limits. Between two points it never leaves their
   range. After a single last point it continues with the most cautious of the recent velocities
   while the next message may still arrive, and otherwise holds the point.
2. The **pursuit** u(t): every tick, u' moves towards the speed

       w(d) = d / b                     for d <= A b^2,
       w(d) = sqrt(A (2 d - A b^2))     beyond,        d = p(t + L / 2 + b(u')) - u,

   at which u can still come to rest at the pursued target, with |u'| <= V and |u''| <= A. The time
   b(v) ahead is the one in which v comes to rest, w(v b(v)) = v, and b = b(0). On a target of
   constant velocity, u(t) = p(t + L / 2) without lag. u never overshoots a target that it has
   known b(v) before, nor a joint limit.
3. The **average** of u over the last L seconds, with the weight h = 140 x^3 (1 - x)^3 / L, x in
   [0, 1]. As h is positive, q stays within the range of u and is monotone where u is, and q' and
   q'' within V and A. As h is C2, q'''' is continuous, with

       |q'''| <= 4.375 A / L,    |q''''| <= 30.06 A / L^2.

On a steady motion q(t) = p(t): the delay is that of the points, which :func:`begin_message` adds to
their times. It is what a stream needs of its interval T: points that reach T ahead need none. The
functions run over records, compiled by Numba and printed as C, in the style of :mod:`.segments`.
"""

from math import ceil, isnan, sqrt
from typing import Annotated, NamedTuple

import numpy as np

from ..core import Array, Field, Integers, compiled_exactly, inlined_exactly, inlined_with_arrays
from .trajectories import monotone_slope, smooth_step

TICKS = 20  # in the averaged interval
ROWS = 64  # ticks that are remembered; the evaluated times may lie 40 ticks apart
POINTS = 128  # targets that a stream can hold
PURSUIT = 0.25  # b / L
BRAKING_SHARE = 0.8  # of A, with which w(d) counts: ticks are finite
REST = 1e-12  # rad or m
EXACT = 0.997  # of A, that |u''| may reach: sums over ticks exceed the bounds by up to 0.3 %
CLOCK = 32  # messages until the clock has locked
SLIP = 0.75  # of an interval, by which the clock may be wrong before beats are left out
LONGEST_INTERVAL = 0.5  # s; messages further apart are no stream
FIRST_INTERVAL = 0.1  # s, for which the motion goes on after the first message
TAKE_OVER = 0.2  # s, in which accelerations of the motion before a stream fade
SHORTEST_INTERVAL = 0.004  # s; closer ones count as one
JERK_FACTOR = 4.375  # the integral of |h'| times L
JOUNCE_FACTOR = 67.2 / 5.0**0.5  # the integral of |h''| times L^2
CRACKLE_FACTOR = 273.0  # the integral of |h'''| times L^3


class StreamLimits(NamedTuple):
    """What a streamed motion may do. rad, or m for prismatic joints, and s."""

    # fmt: off
    lower: Annotated[Array, Field("rad or m", ("n",))]
    upper: Annotated[Array, Field("rad or m", ("n",))]
    velocity: Annotated[Array, Field("rad/s or m/s, limit of |q'|", ("n",), "(0, inf]")]
    acceleration: Annotated[Array, Field("rad/s^2 or m/s^2, limit of |q''|", ("n",), "(0, inf)")]
    smoothing: Annotated[float, Field("s, averaged interval L", within="(0, 10]")]
    delay: Annotated[float, Field("of targets, in intervals of the stream", within="[0, 10]")]
    # fmt: on


class Ticks(NamedTuple):
    """The pursuit u(t) of a streamed motion in its last ticks, each of which has one row of a ring:
    number k has row k modulo the number of rows."""

    # fmt: off
    time: Annotated[Array, Field("s, of the newest tick")]
    newest: Annotated[Integers, Field("its number")]
    place: Annotated[Array, Field("u at each tick", ("rows", "n"))]
    speed: Annotated[Array, Field("u' from each tick on", ("rows", "n"))]
    # fmt: on


class Stream(NamedTuple):
    """The targets of a streamed motion, in a ring, and the clock of its messages."""

    # fmt: off
    first: Annotated[Integers, Field("row of the first target")]
    used: Annotated[Integers, Field("number of targets")]
    continues: Annotated[Integers, Field("whether the motion may go on after the last one")]
    still: Annotated[Integers, Field("ticks in a row at rest on the last one")]
    times: Annotated[Array, Field("s, of each target", ("points",))]
    targets: Annotated[Array, Field("q of each target", ("points", "n"))]
    slopes: Annotated[Array, Field("q' there", ("points", "n"))]
    has_slope: Annotated[Integers, Field("whether q' was sent with it", ("points",))]
    messages: Annotated[Integers, Field("counted for the averages of the clock")]
    arrival: Annotated[Array, Field("s, of the last message")]
    beat: Annotated[Array, Field("s, the same without jitter")]
    gap: Annotated[Array, Field("s, mean time between messages")]
    interval: Annotated[Array, Field("s, the same without lost messages; 0: not known")]
    delay: Annotated[Array, Field("s, by which targets are delayed")]
    # fmt: on


@inlined_exactly
def stopping_time(speed, acceleration, b):
    """b(v), see the module."""
    v = abs(speed)
    if v <= acceleration * b:
        return b
    return 0.5 * (v / acceleration + acceleration * b * b / v)


@inlined_exactly
def begin_stream(k, s, p, time, position, velocity):
    """Begin at a time, as if the motion had come with this velocity (n,) for some time. Without
    messages, it comes to rest without turning back."""
    rows = k.place.shape[0]
    k.time[0] = time
    k.newest[0] = 0
    for i in range(rows):
        back = ((rows - i) % rows) * (p.smoothing / TICKS) - 0.5 * p.smoothing
        for j in range(position.shape[0]):
            k.place[i, j] = position[j] - back * velocity[j]
            k.speed[i, j] = velocity[j]
    s.first[0] = 0
    s.used[0] = 2
    s.continues[0] = 0
    s.still[0] = 0
    s.times[0] = time - 2.0 * p.smoothing
    s.times[1] = time - p.smoothing
    s.has_slope[0] = 1
    s.has_slope[1] = 1
    for j in range(position.shape[0]):
        s.targets[0, j] = position[j] - 2.0 * p.smoothing * velocity[j]
        s.slopes[0, j] = velocity[j]
        to_rest = stopping_time(
            velocity[j], BRAKING_SHARE * p.acceleration[j], PURSUIT * p.smoothing
        )
        s.targets[1, j] = position[j] + velocity[j] * (0.5 * p.smoothing + to_rest)
        s.slopes[1, j] = 0.0
    s.messages[0] = 0
    s.interval[0] = 0.0
    s.delay[0] = 0.0


@inlined_exactly
def _point(s, k):
    """The row of target k."""
    return (s.first[0] + k) % s.times.shape[0]


@inlined_exactly
def _note_arrival(s, now):
    """Update the clock of the messages, a phase-locked loop: their interval, and a beat that
    arrives without jitter. Lost messages leave beats out; doubled ones belong to the last beat."""
    gap = now - s.arrival[0]
    if s.messages[0] == 0 or gap > LONGEST_INTERVAL or gap < 0.0:
        s.messages[0] = 1
        s.interval[0] = 0.0
        s.arrival[0] = now
        s.beat[0] = now
        return
    if gap < max(0.25 * s.interval[0], SHORTEST_INTERVAL):
        return
    s.messages[0] += 1
    s.arrival[0] = now
    m = s.messages[0]
    s.gap[0] = gap if m == 2 else s.gap[0] + (gap - s.gap[0]) / min(m - 1, CLOCK)
    if m <= CLOCK:
        s.interval[0] = s.gap[0]
    elif not 0.6 * s.interval[0] < s.gap[0] < 1.5 * s.interval[0]:  # another rate
        s.messages[0] = 1
        s.beat[0] = now
        return
    far = SLIP * s.interval[0]
    late = now - s.beat[0] - s.interval[0]
    beats = 1.0 + ceil((late - far) / s.interval[0]) if late > far else 0.0 if late < -far else 1.0
    due = s.beat[0] + beats * s.interval[0]
    s.beat[0] = due + (now - due) / (8.0 if m > CLOCK else 3.0)
    if m > CLOCK:
        s.interval[0] += (now - due) / 256.0


@inlined_exactly
def begin_message(s, p, now, start, is_stamped, reach, count):
    """Begin to take over `count` points that a message has brought at the time `now`. They are due
    at `start` plus their own times, the last of which is `reach`; without a stamp, the start is
    when the message should have arrived. Returns the time that is to be added to those times."""
    moves = s.messages[0] == 0 and now < s.times[0] + (2.0 + 1.0 / TICKS) * p.smoothing
    if moves:  # the stream continues the motion with which it has begun
        for j in range(s.targets.shape[1]):
            s.targets[1, j] = s.targets[0, j] + p.smoothing * s.slopes[0, j]
            s.slopes[1, j] = s.slopes[0, j]
    _note_arrival(s, now)
    row = _point(s, s.used[0] - 1)
    if s.messages[0] == 1:  # after a silence, the motion begins now
        s.times[row] = max(s.times[row], now - p.smoothing)
    origin = start if is_stamped else s.beat[0]
    age = now - start if is_stamped else 0.0
    most = p.delay * s.interval[0]
    wanted = most - reach
    if count > 1:  # its motion ends at its last point, which should not be felt before the next
        wanted = min(wanted + (0.5 + PURSUIT) * p.smoothing, most)
    wanted = max(wanted + age, 0.0)
    is_known = s.messages[0] > 2  # otherwise it is new; a motion that goes on must not wait for it
    for j in range(s.targets.shape[1]):
        is_known = is_known or (s.messages[0] == 2 and s.slopes[row, j] != 0.0)
    s.delay[0] += (0.1 if is_known else 1.0) * (wanted - s.delay[0])
    s.continues[0] = 1 if count == 1 else 0
    return origin + s.delay[0]


@inlined_exactly
def add_point(s, p, time, position, velocity, has_velocity, begins):
    """Add a target after those that remain; the first of a message replaces the targets from its
    time on. Returns whether there was room."""
    if begins:
        while s.used[0] > 1 and s.times[_point(s, s.used[0] - 1)] >= time:
            s.used[0] -= 1
    k = s.used[0]
    if k == s.times.shape[0] or time <= s.times[_point(s, k - 1)]:
        return False
    row = _point(s, k)
    s.times[row] = time
    s.has_slope[row] = has_velocity
    for j in range(position.shape[0]):
        s.targets[row, j] = min(max(position[j], p.lower[j]), p.upper[j])
        fastest = p.velocity[j]
        s.slopes[row, j] = min(max(velocity[j], -fastest), fastest) if has_velocity else 0.0
    s.used[0] += 1
    s.still[0] = 0
    return True


@inlined_exactly
def _secant(s, k, j):
    """Mean velocity of joint j between the targets k - 1 and k."""
    a = _point(s, k - 1)
    b = _point(s, k)
    return (s.targets[b, j] - s.targets[a, j]) / (s.times[b] - s.times[a])


@inlined_exactly
def limited_slope(before, last):
    """The velocity after the last point, from the two mean velocities before: the smallest of the
    last one, twice the one before, and their linear continuation; zero if signs differ."""
    ahead = 2.0 * last - before
    if last > 0.0 and before > 0.0 and ahead > 0.0:
        return min(min(last, 2.0 * before), ahead)
    if last < 0.0 and before < 0.0 and ahead < 0.0:
        return max(max(last, 2.0 * before), ahead)
    return 0.0


@inlined_exactly
def end_message(s, p):
    """Choose the velocities at targets that were sent without, once a message has been read."""
    n = s.targets.shape[1]
    last = s.used[0] - 1
    for k in range(1, last + 1):
        row = _point(s, k)
        if s.has_slope[row]:
            continue
        h = s.times[row] - s.times[_point(s, k - 1)]
        for j in range(n):
            slope = 0.0
            if k < last:
                step = s.times[_point(s, k + 1)] - s.times[row]
                slope = monotone_slope(_secant(s, k, j), _secant(s, k + 1, j), h, step)
            elif s.continues[0] and k > 1:
                slope = limited_slope(_secant(s, k - 1, j), _secant(s, k, j))
            s.slopes[row, j] = min(max(slope, -p.velocity[j]), p.velocity[j])


@inlined_exactly
def _brings_velocity(velocities, k, count):
    """Whether point k was sent with a velocity: not NaN; nor zero for a single point, as drivers
    and policies fill in zeros."""
    moves = count > 1
    for j in range(velocities.shape[1]):
        if isnan(velocities[k, j]):
            return False
        moves = moves or velocities[k, j] != 0.0
    return moves


@inlined_exactly
def take_message(s, p, now, start, is_stamped, times, positions, velocities, count):
    """Take over the first `count` points of a message that has arrived at the time `now`, due at
    `times` after `start`, see :func:`begin_message`; NaN: a velocity that was not sent. Returns the
    number of points without room or out of order."""
    added = begin_message(s, p, now, start, is_stamped, times[count - 1], count)
    refused = 0
    begins = True
    for k in range(count):
        has_velocity = _brings_velocity(velocities, k, count)
        if add_point(s, p, added + times[k], positions[k], velocities[k], has_velocity, begins):
            begins = False
        else:
            refused += 1
    end_message(s, p)
    return refused


@inlined_exactly
def _target(times, targets, slopes, first, used, time, goes_on, j):
    """Where joint j should be at a time: the cubic between two targets, or after the last one."""
    size = times.shape[0]
    row = first
    following = row + 1 if row + 1 < size else 0
    left = used - 1
    while left > 0 and times[following] <= time:
        row = following
        following = row + 1 if row + 1 < size else 0
        left -= 1
    after = max(time - times[row], 0.0)
    a = targets[row, j]
    if left == 0:
        return a + slopes[row, j] * after if goes_on else a
    h = times[following] - times[row]
    x = after / h
    d = targets[following, j] - a
    v = slopes[row, j] * h
    w = slopes[following, j] * h
    return a + x * (v + x * (3.0 * d - 2.0 * v - w + x * (v + w - 2.0 * d)))


@inlined_exactly
def approach_speed(distance, velocity, acceleration, b):
    """w(d), see the module."""
    d = abs(distance)
    near = acceleration * b * b
    speed = d / b if d <= near else sqrt(acceleration * (2.0 * d - near))
    speed = min(speed, velocity)
    return speed if distance > 0.0 else -speed


@inlined_exactly
def _tick(k, s, p, step):
    """One tick of the pursuit."""
    place, speed, times, targets, slopes = k.place, k.speed, s.times, s.targets, s.slopes
    b = PURSUIT * p.smoothing
    old = k.newest[0] % place.shape[0]
    k.newest[0] += 1
    k.time[0] += step
    new = k.newest[0] % place.shape[0]
    time = k.time[0] + 0.5 * p.smoothing
    while s.used[0] > 2 and times[_point(s, 2)] <= time:  # two serve to continue the motion
        s.first[0] = _point(s, 1)
        s.used[0] -= 1
    first = s.first[0]
    used = s.used[0]
    # A message that is late or lost does not interrupt the motion.
    interval = s.interval[0] if s.interval[0] > 0.0 else FIRST_INTERVAL
    expected = time <= times[_point(s, used - 1)] + interval + 0.5 * p.smoothing
    goes_on = expected and s.continues[0] > 0
    rests = not expected
    for j in range(p.lower.shape[0]):
        before = speed[old, j]
        u = place[old, j] + step * before
        braking = BRAKING_SHARE * p.acceleration[j]
        ahead = time + stopping_time(before, braking, b)
        target = _target(times, targets, slopes, first, used, ahead, goes_on, j)
        distance = min(max(target, p.lower[j]), p.upper[j]) - u
        change = EXACT * step * p.acceleration[j]
        wanted = approach_speed(distance, p.velocity[j], braking, b)
        if abs(distance) <= 0.1 * change * step:  # arrive within this tick
            wanted = 0.0 if abs(distance) <= REST else distance / step
        after = min(max(wanted, before - change), before + change)
        if after != 0.0:
            rests = False
        place[new, j] = u
        speed[new, j] = after
    s.still[0] = s.still[0] + 1 if rests else 0


@inlined_exactly
def is_stream_at_rest(s):
    """Whether the motion is at rest on its last target, and no message is expected."""
    return s.still[0] > TICKS


@inlined_exactly
def _rest_until(k, time):
    """Be at rest up to a time that is more ticks away than are remembered."""
    last = k.newest[0] % k.place.shape[0]
    for i in range(k.place.shape[0]):
        for j in range(k.place.shape[1]):
            k.place[i, j] = k.place[last, j]
            k.speed[i, j] = 0.0
    k.time[0] = time


@inlined_exactly
def advance_stream(k, s, p, time):
    """Decide the ticks up to a time, with the targets that are known now."""
    step = p.smoothing / TICKS
    while k.time[0] + step <= time:
        if is_stream_at_rest(s) and k.time[0] + k.place.shape[0] * step < time:
            _rest_until(k, time)
            return
        _tick(k, s, p, step)


@inlined_with_arrays
def evaluate_stream(k, smoothing, time, state):
    """Fill `state` (5, n) with q..q'''' at a time: at most one tick after the newest, and at most
    40 ticks before it."""
    step = smoothing / TICKS
    rows = k.place.shape[0]
    back = 0
    if k.time[0] > time:
        back = min(int((k.time[0] - time) / step) + 1, rows - TICKS - 1)
    newest = k.newest[0] - back + rows
    phase = min(max(time - (k.time[0] - back * step), 0.0), step)
    basis = np.zeros((TICKS, 5))
    for i in range(TICKS):
        s0, s1, s2, s3, s4 = smooth_step((phase + i * step) / smoothing, 1.0)
        basis[i, 0] = s0
        basis[i, 1] = s1
        basis[i, 2] = s2
        basis[i, 3] = s3
        basis[i, 4] = s4
    base = (newest - TICKS) % rows
    per = 1.0 / smoothing
    for j in range(state.shape[1]):
        before = k.speed[base, j]
        # from the line on which u was before the averaged interval
        q0 = k.place[base, j] + before * (phase + (TICKS * step - 0.5 * smoothing))
        q1 = before
        d0 = 0.0
        q2 = 0.0
        q3 = 0.0
        q4 = 0.0
        row = base
        for i in range(TICKS):
            row = 0 if row == rows - 1 else row + 1
            change = k.speed[row, j] - before
            before = k.speed[row, j]
            d0 += basis[TICKS - 1 - i, 0] * change
            q1 += basis[TICKS - 1 - i, 1] * change
            q2 += basis[TICKS - 1 - i, 2] * change
            q3 += basis[TICKS - 1 - i, 3] * change
            q4 += basis[TICKS - 1 - i, 4] * change
        state[0, j] = q0 + smoothing * d0
        state[1, j] = q1
        state[2, j] = q2 * per
        state[3, j] = q3 * per * per
        state[4, j] = q4 * per * per * per


@inlined_exactly
def follow_stream(k, s, p, time, state):
    """Decide the ticks up to a time, and fill `state` (5, n) with q..q'''' there."""
    advance_stream(k, s, p, time)
    evaluate_stream(k, p.smoothing, time, state)


compiled_begin = compiled_exactly(begin_stream)
compiled_take_message = compiled_exactly(take_message)
compiled_advance = compiled_exactly(advance_stream)
compiled_evaluate = compiled_exactly(evaluate_stream)
compiled_follow = compiled_exactly(follow_stream)
