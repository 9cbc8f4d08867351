# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The time by which a torque may change in a cycle, although cycles may be missed."""

from typing import NamedTuple

LONGEST_PERIOD = 1.5  # times the last one: a single long step, after missed cycles, is no period
LATE, SHORT = 2.5, 0.006  # periods, and s, for which a torque may always act
REGAINED = 0.02  # s in which feedback returns after a late cycle, or is given up
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


def feedback_share(p, late, interval, dt, share):
    """The share of the gains that acts in a cycle; `share` is that of the cycle before, `dt` ago.

    late : s, since the last torque or since the state was measured, whichever is longer.
    interval : s, between the last two states, or since the last one if that is longer.

    The gains are those for the period in p. A spring that holds an inertia by its sampled position
    is stable up to a stiffness that falls with the square of the time between samples: so does the
    share, from LATE periods on. A late cycle reduces it at once, a gap in the states, in which
    cycles go on, steadily. It returns steadily, too, because the arm has moved on by itself.
    """
    in_time = max(LATE * p.period, SHORT)
    most = (in_time / interval) * (in_time / interval) if interval > in_time else 1.0
    near = min(max(share - dt / REGAINED, most), share + dt / REGAINED)
    return min(near, (in_time / late) * (in_time / late)) if late > in_time else near
