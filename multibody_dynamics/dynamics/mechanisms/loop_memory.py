# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where the loops of a robot were closed last, for recorded functions in a generated controller.

A recorded function (:mod:`.traced_loops`) closes the loops from a configuration nearby. Where its
few steps do not suffice, further ones begin at the last configuration; if the actuated joints are
farther from it than a stride, they go to their position on a straight line from the assembled one,
in strides, as in :func:`.loop_recursion.approach`: the assembly mode does not depend on what was
computed before. Where that fails, because the position is out of reach, nearly singular or more
than MOST_STRIDES away, the last configuration is NaN, and so is everything that is computed from
it; the next position begins at the one before.

Written in the subset that :mod:`c_translation` prints as C.
"""

from math import ceil, isnan, nan
from typing import Annotated, NamedTuple

from ..core import Array, Field, Integers
from .ball_charts import renew_charts
from .loop_recursion import LONGEST_WAY, MOST_STRIDES

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
    open: Annotated[Integers, Field("row that was violated most in a failure; 0 if closed")]
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


def most_strides(own, strides, s, q):
    """How many strides q is from the last configuration."""
    most = 0.0
    for c in range(q.shape[0]):
        most = max(most, abs(q[c] - s.last[own[c]]) / strides[c])
    return most


def widest_row(rows, closure):
    """The number, in `rows`, of the residual that is largest."""
    worst = 0
    for k in range(1, rows.shape[0] - 1):
        if not abs(closure[k]) <= abs(closure[worst]):
            worst = k
    return rows[worst]


def approach_loops(recorded, assembled, own, strides, rows, balls, s, q):
    """Close the loops at q, from the last configuration, or on a straight line from the assembled
    one. `own` are the actuated joints among all; `rows` numbers the equations of the loops from 1,
    and one more stands for a position that is too far."""
    if isnan(s.last[0]):
        for i in range(s.last.shape[0]):
            s.last[i] = s.before[i]
    if not (s.is_known[0] != 0 and most_strides(own, strides, s, q) <= 1.0):
        for i in range(s.last.shape[0]):
            s.last[i] = assembled[i]
    s.is_known[0] = 1
    s.open[0] = 0
    most = most_strides(own, strides, s, q)
    is_closed = most <= MOST_STRIDES
    left = ceil(most) if is_closed and most > 1.0 else 1
    if not is_closed:
        s.open[0] = rows[rows.shape[0] - 1]
        for i in range(s.last.shape[0]):
            s.before[i] = s.last[i]
    while left > 0 and is_closed:
        for c in range(q.shape[0]):
            s.target[c] = s.last[own[c]] + (q[c] - s.last[own[c]]) / left
        is_closed = step_loops(recorded, s, balls)
        left -= 1
        if not is_closed:
            s.open[0] = widest_row(rows, s.closure)
    if not is_closed:
        for i in range(s.last.shape[0]):
            s.last[i] = nan
