# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Positions of continuous joints, which many drivers report modulo one turn, such as in -pi .. pi.

Controllers, filters and trajectories need coordinates without jumps. Every input therefore moves a
position by whole turns to the value nearest the one before, or nearest a position that it should be
close to: of a motor, its link; of a trajectory, the present motion. A joint that moves by less than
half a turn between two samples is followed exactly.
"""

from math import floor, isfinite, pi

import numpy as np

from ..core import Array, compiled_exactly, inlined_exactly, locked
from ..model import MultibodyModel

TURN = 2.0 * pi


def joint_turns(model: MultibodyModel) -> Array:
    """(n,) rad after which the pose of each joint repeats: one turn for continuous joints; 0 for
    others, and where a joint follows that is then elsewhere, such as a lead screw."""
    turns = TURN * (np.array(model.joint_types) == "continuous") * model.is_periodic
    in_nearest_turn(turns, turns, turns)  # compiles, before a cycle needs it
    return locked(turns)


@inlined_exactly
def unwrap(turn, near, position):
    """Move each position by whole turns to the value nearest `near`, in place; where `turn` is 0,
    or a number is not finite, it stays."""
    for i in range(position.shape[0]):
        if turn[i] > 0.0 and isfinite(near[i]) and isfinite(position[i]):
            position[i] -= turn[i] * floor((position[i] - near[i]) / turn[i] + 0.5)


compiled_unwrap = compiled_exactly(unwrap)


def in_nearest_turn(turn: Array, near: Array, position: Array) -> Array:
    """A copy of `position` (n,), moved by whole turns as by :func:`unwrap`."""
    writable_turn, writable_near, moved = (np.array(x, float) for x in (turn, near, position))
    compiled_unwrap(writable_turn, writable_near, moved)  # compiled once, for writable arrays
    return moved
