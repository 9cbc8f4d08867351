# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The measured positions in the control cycle: which samples are valid, and what is missing.

A sample counts if it is new, finite, not from the future, and not farther from the last one than
the speed limits and known steps of its encoder allow. What they allow does not grow once a sample
has been refused, and moves along the reference: an encoder that has lost its zero comes within
reach neither by waiting nor as the joint moves on. After a silence, a side counts again once the
springs between the samples of both sides carry what the model says; where that cannot be judged,
within reach, or after the fault has been cleared.

A side without a new sample is carried along its reference, so that feedback stays as it is, until
it has timed out, and then rests. Filters (:mod:`derivative_filter`) give the velocities; the next
sample corrects them for the whole time since the last one.
"""

from math import inf, isfinite, pi
from typing import Annotated, NamedTuple

import numpy as np

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly, inlined_with_arrays
from ...motion import unwrap
from .derivative_filter import BRIDGED, advance_filter, coast_filter, rest_filter, start_filter
from .reach import reach

TWO_PI = 2.0 * pi
LINKS, MOTORS = 0, 1  # the sides, in arrays of two


class Samples(NamedTuple):
    """The last valid samples, and filters of the positions of the links, then of the motors, each
    a chain of integrators that the samples correct."""

    is_started: Annotated[Integers, Field("whether the filters have a state")]
    time: Annotated[Array, Field("s, of that state")]
    settling_since: Annotated[Array, Field("s, since when a side was not missed for long", (2,))]
    sampled: Annotated[Array, Field("s, of the last valid samples of links and motors", (2,))]
    span: Annotated[
        Array, Field("s, for which a side is within reach, 0: since its last sample", (2,))
    ]
    last_q: Annotated[Array, Field("rad or m, last valid sample; carried on in a leap", ("n",))]
    last_theta: Annotated[Array, Field("rad or m, the same of the motors", ("m",))]
    taken: Annotated[Array, Field("s, of the states with these samples", (2,))]
    interval: Annotated[Array, Field("s, between the last two samples of a side", (2,))]
    is_new: Annotated[Integers, Field("1 if the next sample of the other side makes a pair", (2,))]
    is_complete: Annotated[Integers, Field("1 if both sides are new since this was 1 last")]
    filter: Annotated[Array, Field("positions and their derivatives", (4, "n + m"))]
    drift: Annotated[Array, Field("rad or m, of filters without samples", ("n + m",))]
    q: Annotated[Array, Field("rad or m", ("n",))]
    qd: Annotated[Array, Field("rad/s or m/s", ("n",))]
    theta: Annotated[Array, Field("rad or m", ("m",))]
    thetad: Annotated[Array, Field("rad/s or m/s", ("m",))]


@inlined_with_arrays
def unwrap_samples(p, s, joint_of_motor, q, theta):
    """Move the samples of continuous joints, in place, to the turn nearest the last valid ones; at
    first, those of motors to the turn nearest their links."""
    if s.is_started[0] != 0:
        unwrap(p.link_turn, s.last_q, q)
        unwrap(p.motor_turn, s.last_theta, theta)
        return
    near = np.zeros(theta.shape[0])
    for j in range(theta.shape[0]):
        near[j] = q[joint_of_motor[j]]
    unwrap(p.motor_turn, near, theta)


@inlined_exactly
def is_silence(p, gap, timeout):
    """Whether a side without samples for `gap` s must agree with the other one when it returns."""
    return gap > min(p.max_step, timeout)


@inlined_exactly
def follow_silence(p, s, link_time, motor_time):
    """Whether a new sample follows a silence, so that :func:`take_samples` should know whether the
    springs agree."""
    is_late = is_silence(p, link_time - s.sampled[LINKS], p.link_timeout)
    if is_silence(p, motor_time - s.sampled[MOTORS], p.motor_timeout):
        is_late = True
    return s.is_started[0] != 0 and is_late


@inlined_exactly
def accept_next_samples(s):
    """Believe the next samples of sides that were out of reach, because the fault was cleared."""
    for side in range(2):
        if s.span[side] > 0.0:
            s.span[side] = inf


@inlined_exactly
def forget_samples(s):
    """Start again with the next samples."""
    s.is_started[0] = 0
    for side in range(2):
        s.span[side] = 0.0
        s.is_new[side] = 0
        s.sampled[side] = -inf


@inlined_exactly
def filters_are_settled(p, s):
    """Whether the filters have settled since they were started or samples were missing."""
    started = max(s.settling_since[LINKS], s.settling_since[MOTORS])
    return s.is_started[0] != 0 and s.time[0] - started >= p.settling_time


@inlined_exactly
def knows_speed(p, s, now):
    """Whether the velocities of the sides that have not timed out have settled."""
    started = s.time[0]
    if not lacks_motors(p, s, now):
        started = s.settling_since[MOTORS]
        if not lacks_links(p, s, now):
            started = max(started, s.settling_since[LINKS])
    elif not lacks_links(p, s, now):
        started = s.settling_since[LINKS]
    return s.is_started[0] != 0 and s.time[0] - started >= p.settling_time


@inlined_exactly
def is_finite(row):
    """Whether all numbers of a row are finite."""
    for i in range(row.shape[0]):  # noqa: SIM110 (C has no all())
        if not isfinite(row[i]):
            return False
    return True


@inlined_exactly
def _is_within_reach(row, last, speed, step, span):
    """Whether all joints can be there, `span` s after they were at `last`."""
    for i in range(row.shape[0]):  # noqa: SIM110 (C has no all())
        if not abs(row[i] - last[i]) <= reach(speed[i], step[i], span):
            return False
    return True


@inlined_exactly
def _since_last(
    p, s, counts, side, row, last, speed, step, time, latest, timeout, agrees
):  # fmt: skip
    """s from the last valid sample of a side to a new one; 0 if there is none, or if it does not
    count. agrees : see :func:`take_samples`."""
    since = time - s.sampled[side]
    if not since > 0.0:
        return 0.0
    is_valid = False
    if time <= latest and is_finite(row):
        span = s.span[side] if s.span[side] > 0.0 else since
        if s.is_started[0] == 0:
            is_valid = True
        elif is_silence(p, since, timeout) and agrees >= 0:
            is_valid = agrees > 0
        else:
            is_valid = _is_within_reach(row, last, speed, step, span)
            s.span[side] = span
    if not is_valid:
        counts.refused_samples[0] += 1
        return 0.0
    s.span[side] = 0.0
    return since


@inlined_exactly
def _advance_side(
    p, s, side, row, last, time, since, timeout, is_lost, is_late, velocity, acceleration
):  # fmt: skip
    """Advance the filters of one side to `time`: to the sample `row`, `since` after the one before;
    without a sample (`since` is 0) along the reference, or to rest if the side is lost."""
    step = time - s.time[0]
    first = 0 if side == LINKS else s.q.shape[0]
    if since > 0.0:
        s.taken[side] = time
        s.interval[side] = since
        for i in range(row.shape[0]):
            last[i] = row[i]
    if since > p.max_step and (since > timeout or step > BRIDGED * p.max_step):
        start_filter(s.filter, s.drift, row, since, p.max_step, first)
    elif since > 0.0:
        pole = TWO_PI * p.filter_bandwidth
        advance_filter(s.filter, s.drift, p.filter_order, pole, step, since, row, first)
    elif is_lost:
        rest_filter(s.filter, s.drift, row.shape[0], first)
    else:
        coast_filter(s.filter, s.drift, step, velocity, acceleration, first)
        if s.span[side] > 0.0:  # what it may return to moves, too
            for i in range(row.shape[0]):
                last[i] += step * velocity[i]
    if is_late or is_lost or since > p.max_step:
        s.settling_since[side] = time


@inlined_exactly
def _read_filters(s):
    """Positions and velocities of both sides; overflow ends all."""
    n = s.q.shape[0]
    for k in range(4):
        for i in range(s.filter.shape[1]):
            if not isfinite(s.filter[k, i]):
                forget_samples(s)
                return
    for i in range(n):
        s.q[i] = s.filter[0, i]
        s.qd[i] = s.filter[1, i]
    for j in range(s.theta.shape[0]):
        s.theta[j] = s.filter[0, n + j]
        s.thetad[j] = s.filter[1, n + j]


@inlined_exactly
def lacks_links(p, s, now):
    """Whether the states of the links have timed out."""
    return not now - s.sampled[LINKS] <= p.link_timeout


@inlined_exactly
def lacks_motors(p, s, now):
    """Whether the states of the motors have timed out."""
    return not now - s.sampled[MOTORS] <= p.motor_timeout


@inlined_exactly
def state_interval(p, s, now):
    """The time between the last two samples, or since the last one if that is longer, of the side
    that is measured less often. A side that has timed out does not count: the stop needs the other
    one alone."""
    interval = 0.0
    if not lacks_links(p, s, now):
        interval = max(s.interval[LINKS], s.time[0] - s.taken[LINKS])
    if not lacks_motors(p, s, now):
        interval = max(interval, s.interval[MOTORS], s.time[0] - s.taken[MOTORS])
    return interval


@inlined_exactly
def take_samples(
    p, s, steps, counts, now, link_time, motor_time, q, theta, agrees, dt, desired, reference
):  # fmt: skip
    """Take what is new and valid in the samples q, theta with their times, `dt` after the last.

    Sides without a sample follow `desired` (rows of the links from q on) and `reference` (of the
    motors from theta on). `agrees`: 1 if the springs between both samples carry what they should, 0
    if they do not, -1 if that is not known; it decides on samples after a silence. A new sample
    counts even if the filter has been carried beyond its time: samples may have become later, and
    would all be missed otherwise. Filters settle anew after a side was missing for long, and after
    a late cycle.
    """
    latest = now + p.max_step
    is_started = s.is_started[0] != 0
    s.is_complete[0] = 0
    # if both have leapt, no side is left with which the other could agree
    both_leapt = s.span[LINKS] > 0.0 and s.span[MOTORS] > 0.0
    judged = -1 if agrees > 0 and both_leapt else agrees
    since_links = _since_last(
        p, s, counts, LINKS, q, s.last_q, p.link_speed, steps.link_step, link_time, latest,
        p.link_timeout, judged,
    )  # fmt: skip
    since_motors = _since_last(
        p, s, counts, MOTORS, theta, s.last_theta, p.motor_speed, steps.motor_step, motor_time,
        latest, p.motor_timeout, judged,
    )  # fmt: skip
    if not is_started and not (since_links > 0.0 and since_motors > 0.0):
        return
    newest = -inf
    if since_links > 0.0:
        newest = s.sampled[LINKS] = link_time
        s.is_new[LINKS] = 1
    if since_motors > 0.0:
        newest = max(newest, motor_time)
        s.sampled[MOTORS] = motor_time
        s.is_new[MOTORS] = 1
    if s.is_new[LINKS] != 0 and s.is_new[MOTORS] != 0:
        s.is_complete[0] = 1
        s.is_new[LINKS] = 0
        s.is_new[MOTORS] = 0
    counts.coasted_cycles[0] += 0 if since_links > 0.0 and since_motors > 0.0 else 1
    is_late = dt > p.link_timeout
    counts.late_cycles[0] += 1 if is_late else 0
    time = newest if not is_started or newest > s.time[0] else s.time[0] + dt
    has_no_links, has_no_motors = lacks_links(p, s, now), lacks_motors(p, s, now)
    _advance_side(
        p, s, LINKS, q, s.last_q, time, since_links, p.link_timeout, has_no_links, is_late,
        desired[1], desired[2],
    )  # fmt: skip
    _advance_side(
        p, s, MOTORS, theta, s.last_theta, time, since_motors, p.motor_timeout, has_no_motors,
        is_late, reference[1], reference[2],
    )  # fmt: skip
    s.is_started[0] = 1
    s.time[0] = time
    _read_filters(s)


compiled_unwrap = compiled_exactly(unwrap_samples)
compiled_take_samples = compiled_exactly(take_samples)
compiled_follow_silence = compiled_exactly(follow_silence)
compiled_accept_next = compiled_exactly(accept_next_samples)
compiled_forget = compiled_exactly(forget_samples)
compiled_are_settled = compiled_exactly(filters_are_settled)
compiled_knows_speed = compiled_exactly(knows_speed)
compiled_lacks_links = compiled_exactly(lacks_links)
compiled_lacks_motors = compiled_exactly(lacks_motors)
compiled_state_interval = compiled_exactly(state_interval)
