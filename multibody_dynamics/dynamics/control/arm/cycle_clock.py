# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The clock of a cycle: whether it runs, was set back, or stands still."""

from math import inf, isfinite
from typing import Annotated, NamedTuple

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly

RUNS, SET_BACK, STOPPED, WAITS = range(4)  # what the clock does
MOST_STALLED = 10  # cycles that repeat the torque, until the clock counts as stopped


class CycleClock(NamedTuple):
    """The clock of the cycle."""

    has_time: Annotated[Integers, Field("whether there was a cycle")]
    stalled: Annotated[Integers, Field("cycles since the clock last ran, up to a limit")]
    time: Annotated[Array, Field("s, of this cycle")]
    elapsed: Annotated[Array, Field("s, since the last one")]


@inlined_exactly
def advance_clock(p, s, counts, now):
    """Take the time of this cycle; returns what the clock does. One that stands still, or whose
    time is not a number, waits at first."""
    s.elapsed[0] = now - s.time[0] if s.has_time[0] else p.period
    counts.cycles[0] += 1
    if s.elapsed[0] > 0.0 and isfinite(now):
        s.has_time[0] = 1
        s.time[0] = now
        s.stalled[0] = 0
        return RUNS
    if s.elapsed[0] < -p.max_step and s.elapsed[0] > -inf:
        counts.time_jumps[0] += 1
        s.time[0] = now
        s.stalled[0] = 0
        return SET_BACK
    counts.stalled_cycles[0] += 1
    s.stalled[0] += 1 if s.stalled[0] <= MOST_STALLED else 0
    return STOPPED if s.stalled[0] > MOST_STALLED else WAITS


compiled_advance = compiled_exactly(advance_clock)
