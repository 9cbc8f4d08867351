# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where the loops of a robot were closed last, for recorded functions in a generated controller.

A recorded function (:mod:`.traced_loops`) closes the loops from a configuration nearby. If that is
not possible, the actuated joints go to their position on a straight line from the assembled
configuration, in steps of at most STRIDE, as in :func:`.loop_recursion.approach`; the assembly mode
does not depend on what was computed before. Where that fails, because the position is out of reach
or nearly singular, the last configuration is NaN, and so is everything that is computed from it.

Written in the subset that :mod:`c_translation` prints as C.
"""

from math import ceil, nan
from typing import Annotated, NamedTuple

from ..core import Array, Field, Integers
from .ball_charts import renew_charts
from .loop_recursion import FARTHEST, LONGEST_WAY, STRIDE

ATTEMPTS = 4  # calls of a recorded function, of some Newton steps each


class LoopMemory(NamedTuple):
    """Where the loops were closed last. Zero before the first time."""

    # fmt: off
    last: Annotated[Array, Field("rad or m, of all joints, NaN after a failure", ("N",))]
    is_known: Annotated[Integers, Field("1 after the first time")]
    before: Annotated[Array, Field("rad or m, the one before that", ("N",))]
    target: Annotated[Array, Field("rad or m, of the actuated joints, on the way", ("n",))]
    weight: Annotated[Array, Field("N m or N, torques of gravity there", ("n",))]
    motion: Annotated[Array, Field("rad or m, of all joints there", ("N",))]
    closure: Annotated[Array, Field("within -1 and 1 if the loops are closed", ("closure",))]
    # fmt: on


def weigh(recorded, q, last, weight, motion, closure):
    """In C, the recorded gravity torques."""
    found = recorded.evaluate(q=q, last=last)
    weight[:], motion[:], closure[:] = found["tau"], found["motion"], found["closure"]


def take_closed(s, motion, closure, balls):
    """Take the first row of a motion for the last configuration, if the loops are closed; returns
    whether they are. `balls` is that of `renew_charts`, or None."""
    for k in range(closure.shape[0]):
        if not abs(closure[k]) <= 1.0:
            return False
    for i in range(s.last.shape[0]):
        s.last[i] = motion[i]
    if balls is not None:
        renew_charts(s.last, balls)
    return s.is_known[0] != 0


def step_loops(recorded, s, balls):
    """Close the loops at `target`, from the last configuration; returns whether they are closed,
    and no joint has moved by more than LONGEST_WAY."""
    for i in range(s.last.shape[0]):
        s.before[i] = s.last[i]
    for _ in range(ATTEMPTS):
        weigh(recorded, s.target, s.last, s.weight, s.motion, s.closure)
        if take_closed(s, s.motion, s.closure, balls):
            for i in range(s.last.shape[0]):
                if abs(s.motion[i] - s.before[i]) > LONGEST_WAY:
                    return False
            return True
        for i in range(s.last.shape[0]):
            s.last[i] = s.motion[i]
    return False


def approach_loops(recorded, assembled, own, balls, s, q):
    """Close the loops at q, on a straight line from the assembled configuration; `own` are the
    actuated joints among all."""
    s.is_known[0] = 1
    farthest = 0.0
    for i in range(s.last.shape[0]):
        s.last[i] = assembled[i]
    for c in range(q.shape[0]):
        farthest = max(farthest, abs(q[c] - s.last[own[c]]))
    is_closed = farthest < FARTHEST
    left = ceil(farthest / STRIDE) if is_closed else 0
    while left > 0 and is_closed:
        for c in range(q.shape[0]):
            s.target[c] = s.last[own[c]] + (q[c] - s.last[own[c]]) / left
        is_closed = step_loops(recorded, s, balls)
        left -= 1
    if not is_closed:
        for i in range(s.last.shape[0]):
            s.last[i] = nan
