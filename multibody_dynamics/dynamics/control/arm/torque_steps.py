# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The time by which a torque may change in a cycle, although cycles may be missed."""

from typing import NamedTuple

LONGEST_PERIOD = 1.5  # times the last one: a single long step, after missed cycles, is no period
LATE, SHORT = 2.5, 0.006  # periods, and s, for which a torque may always act
SPARSE = 1.5  # periods between states, up to which laws act that can only give way as a whole
REGAINED = 0.05  # s in which feedback returns after a late cycle, or is given up
FORGOTTEN = 0.5  # s, by which a gap in the states counts as shorter after each second
LONGEST_STEP = 2.0  # periods by which a torque may change after missed cycles


class CycleTimes(NamedTuple):
    """What is expected of the times of a cycle; in C, two of its settings.

    period : s, of the first cycle. max_step : s, the longest time by which a torque may change.
    """

    period: float
    max_step: float


def next_period(step, period):
    """The period, s, of a cycle `step` s after the last torque; `period` is that of the last cycle.
    Zero for what is not known."""
    if not step > 0.0:
        return period
    return min(step, LONGEST_PERIOD * period) if period > 0.0 else step


def torque_step(p, step, period):
    """The time, s, by which a torque may change that is sent `step` s after the last one, with the
    :class:`CycleTimes` p, and `period` as :func:`next_period` gives it."""
    known = period if period > 0.0 else p.period
    longest = min(step, LONGEST_STEP * known)
    return min(longest if longest > 0.0 else p.period, p.max_step)


def longest_interval(p):
    """The time, s, between two states or torques up to which the gains act in full."""
    return max(LATE * p.period, SHORT)


def recent_interval(p, interval, recent, dt):
    """The longest time, s, between two states of late: a gap, of up to max_step, counts until twice
    its time has passed, `dt` of it since the cycle before, because the next one would find the arm
    still on its way back."""
    return max(interval, min(recent, p.max_step) - FORGOTTEN * dt)


def feedback_share(p, in_time, late, interval, held_back, dt, share):
    """The share of the gains that acts in a cycle; `share` is that of the cycle before, `dt` ago.

    in_time : s, between two states, up to which they act in full. late : s, since the last torque
    or since the state was measured, whichever is longer. interval : s, of :func:`recent_interval`.
    held_back : s, until rate limits permit the last torque that was wanted.

    The gains are those for the period in p. A spring that holds an inertia by its sampled position
    is stable up to a stiffness that falls with the square of the time between samples: so does the
    share. A late cycle reduces it at once, a gap in the states, in which cycles go on, steadily. It
    returns steadily, too, because the arm has moved on by itself. Behind rate limits, it is what
    they permit in time: a larger feedback, of coarse encoders, would act long after its cause.
    """
    most = (in_time / interval) * (in_time / interval) if interval > in_time else 1.0
    near = min(max(share - dt / REGAINED, most), share + dt / REGAINED)
    longest = longest_interval(p)
    if held_back > longest:
        near = min(near, share * longest / held_back)
    return min(near, (longest / late) * (longest / late)) if late > longest else near
