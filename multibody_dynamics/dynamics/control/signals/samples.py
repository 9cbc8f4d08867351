# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The measured positions in the control cycle: which samples are valid, and what is missing.

A sample counts if it is new, finite, not from the future, and not farther from the last one than
the speed limits allow. A side without a new sample continues at its velocity until it has timed
out, and then comes to rest. Filters (:mod:`derivative_filter`) give the velocities.
"""

from __future__ import annotations

from math import inf, isfinite, pi
from typing import Annotated, NamedTuple

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly
from .derivative_filter import advance_filter, start_filter

TWO_PI = 2.0 * pi


class Samples(NamedTuple):
    """The last valid samples, and filters of the positions of the links, then of the motors, each
    a chain of integrators that the samples correct."""

    is_started: Annotated[Integers, Field("whether the filters have a state")]
    time: Annotated[Array, Field("s, of that state")]
    links_started: Annotated[Array, Field("s, since when none of the links was missed for long")]
    motors_started: Annotated[Array, Field("s, since when none of the motors was")]
    link_time: Annotated[Array, Field("s, of the last valid sample of the links")]
    motor_time: Annotated[Array, Field("s, of the last valid sample of the motors")]
    last_q: Annotated[Array, Field("rad or m, in that sample", ("n",))]
    last_theta: Annotated[Array, Field("rad or m, in that sample", ("m",))]
    filter: Annotated[Array, Field("positions and their derivatives", (4, "n + m"))]
    y: Annotated[Array, Field("positions that the filters take in this cycle", ("n + m",))]
    q: Annotated[Array, Field("rad or m", ("n",))]
    qd: Annotated[Array, Field("rad/s or m/s", ("n",))]
    theta: Annotated[Array, Field("rad or m", ("m",))]
    thetad: Annotated[Array, Field("rad/s or m/s", ("m",))]


@inlined_exactly
def is_valid(row, last, speed, time, before, latest, is_started):
    """Whether a sample is finite, not later than `latest`, and within reach of the last one."""
    if not time <= latest:
        return False
    for i in range(row.shape[0]):
        if not isfinite(row[i]):
            return False
        if is_started and not abs(row[i] - last[i]) <= speed[i] * (time - before):
            return False
    return True


@inlined_exactly
def forget_samples(s):
    """Start again with the next samples."""
    s.is_started[0] = 0
    s.link_time[0] = -inf
    s.motor_time[0] = -inf


@inlined_exactly
def filters_are_settled(p, s):
    """Whether the filters have settled since they were started or samples were missing."""
    started = max(s.links_started[0], s.motors_started[0])
    return s.is_started[0] != 0 and s.time[0] - started >= p.settling_time


@inlined_exactly
def knows_speed(p, s, now):
    """Whether the velocities of the sides that have not timed out have settled."""
    started = s.time[0]
    if not lacks_motors(p, s, now):
        started = s.motors_started[0]
        if not lacks_links(p, s, now):
            started = max(started, s.links_started[0])
    elif not lacks_links(p, s, now):
        started = s.links_started[0]
    return s.is_started[0] != 0 and s.time[0] - started >= p.settling_time


@inlined_exactly
def _choose_positions(s, q, theta, has_links, has_motors, of_links, of_motors):
    """The positions that the filters take: those of new samples, or where the velocity leads in so
    many seconds on either side."""
    n = q.shape[0]
    for i in range(s.y.shape[0]):
        s.y[i] = s.filter[0, i] + (of_links if i < n else of_motors) * s.filter[1, i]
    if has_links:
        for i in range(n):
            s.y[i] = s.last_q[i] = q[i]
    if has_motors:
        for j in range(theta.shape[0]):
            s.y[n + j] = s.last_theta[j] = theta[j]


@inlined_exactly
def _read_filters(s):
    """Positions and velocities of both sides; overflow ends all."""
    n = s.q.shape[0]
    for k in range(4):
        for i in range(s.y.shape[0]):
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
    return not now - s.link_time[0] <= p.link_timeout


@inlined_exactly
def lacks_motors(p, s, now):
    """Whether the states of the motors have timed out."""
    return not now - s.motor_time[0] <= p.motor_timeout


# wide: the record, and a sample of both sides with its times
@inlined_exactly
def take_samples(p, s, counts, now, link_time, motor_time, q, theta, dt):
    """Take what is new and valid in the samples q, theta with their times, `dt` after the last.

    A new sample counts even if the filter has coasted beyond its time: samples may have become
    later, and would all be missed otherwise. Filters settle anew after a side was missing for long,
    and after a late cycle.
    """
    latest = now + p.max_step
    is_started = s.is_started[0] != 0
    has_links = has_motors = False
    if link_time > s.link_time[0]:
        has_links = is_valid(
            q, s.last_q, p.link_speed, link_time, s.link_time[0], latest, is_started
        )
        counts.refused_samples[0] += 0 if has_links else 1
    if motor_time > s.motor_time[0]:
        has_motors = is_valid(
            theta, s.last_theta, p.motor_speed, motor_time, s.motor_time[0], latest, is_started
        )
        counts.refused_samples[0] += 0 if has_motors else 1
    if not is_started and not (has_links and has_motors):
        return
    newest = -inf
    if has_links:
        newest = s.link_time[0] = link_time
    if has_motors:
        newest = max(newest, motor_time)
        s.motor_time[0] = motor_time
    counts.coasted_cycles[0] += 0 if has_links and has_motors else 1
    before = s.time[0]
    is_newer = not is_started or newest > before
    time = newest if is_newer else before + dt
    restarts = not is_started or time - before > p.max_step
    coasting = 0.0 if restarts else time - before
    has_no_links, has_no_motors = lacks_links(p, s, now), lacks_motors(p, s, now)
    of_links = 0.0 if has_no_links else coasting
    of_motors = 0.0 if has_no_motors else coasting
    _choose_positions(s, q, theta, has_links, has_motors, of_links, of_motors)
    if restarts:
        gap = time - before if is_started else 0.0
        start_filter(s.filter, s.y, gap, p.max_step)
        s.links_started[0] = s.motors_started[0] = time
        s.is_started[0] = 1
    else:
        advance_filter(s.filter, p.filter_order, TWO_PI * p.filter_bandwidth, coasting, s.y)
    s.time[0] = time
    is_late = dt > p.link_timeout
    counts.late_cycles[0] += 1 if is_late else 0
    if is_late or has_no_links:
        s.links_started[0] = time
    if is_late or has_no_motors:
        s.motors_started[0] = time
    _read_filters(s)


compiled_take_samples = compiled_exactly(take_samples)
compiled_forget = compiled_exactly(forget_samples)
compiled_are_settled = compiled_exactly(filters_are_settled)
compiled_knows_speed = compiled_exactly(knows_speed)
compiled_lacks_links = compiled_exactly(lacks_links)
compiled_lacks_motors = compiled_exactly(lacks_motors)
