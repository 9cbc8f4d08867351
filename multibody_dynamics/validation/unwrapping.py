# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded positions of continuous joints, which many drivers report modulo one turn."""

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import joint_turns


def turning_joints(model: MultibodyModel) -> NDArray[np.bool_]:
    """(n,) continuous joints, which may be recorded modulo one turn."""
    return np.asarray(joint_turns(model) > 0.0)


def unwrapped(positions: Array, turning: NDArray[np.bool_], before: Array | None = None) -> Array:
    """A copy of positions (k, n) in rad at successive times without jumps by whole turns.

    turning : (n,) the joints that may jump.
    before : (n,) the last positions before these, already without jumps; None: these are the first.
    """
    rows = np.array(positions)
    if turning.any() and len(rows):
        first = rows[0] if before is None else before
        angles = np.concatenate((first[None], rows))[:, turning]
        rows[:, turning] = np.unwrap(angles, axis=0)[1:]
    return rows
