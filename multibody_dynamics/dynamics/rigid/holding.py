# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Positions at which a robot can hold its links within its effort limits.

The effort limits of many descriptions do not carry a stretched arm, because springs or
counterweights of the real robot are not described: a shoulder of Baxter needs 56 N m and has 50.
"""

import numpy as np

from ..core import Array
from ..model import MultibodyModel, finite_range
from .crba import gravity_forces
from .model_check import postures

HOLDING = 0.8  # share of the effort limit that gravity may take; the rest is left for motions
POSTURES = 64
STEPS = np.arange(1, 17) / 16.0  # of the way to each of them


def holding_shares(model: MultibodyModel, q: Array) -> Array:
    """(..., n) shares of the effort limits that holding the links at q (..., n) takes; infinite
    where a joint without any effort carries a weight."""
    weight, effort = np.abs(gravity_forces(model, q)), model.limits.effort
    return np.divide(weight, effort, out=np.where(weight > 0.0, np.inf, 0.0), where=effort > 0.0)


def held_position(model: MultibodyModel, near: Array) -> Array | None:
    """(n,) a position close to `near` (n,) that takes at most HOLDING of each effort limit.

    This is `near` itself, or else the closest such position, relative to the joint ranges, on the
    straight lines to :func:`.postures`; None if there is none.
    """
    ways = postures(model, POSTURES) - near
    q = np.concatenate((near[None], (near + STEPS[:, None, None] * ways).reshape(-1, model.n)))
    held = q[(holding_shares(model, q) <= HOLDING).all(axis=1)]
    if not len(held):
        return None
    lower, upper = finite_range(model)
    distance = np.abs(held - near) / np.where(upper > lower, upper - lower, 1.0)
    return np.array(held[distance.max(axis=1).argmin()])


def held_joints(model: MultibodyModel) -> tuple[str, ...]:
    """The joints that no motion of the robot can use: without range, speed or effort, or too weak
    to hold their links in any of :func:`.postures`."""
    lower, upper, velocity, effort, *_ = model.limits
    least = holding_shares(model, postures(model, POSTURES)).min(axis=0, initial=np.inf)
    stuck = (upper <= lower) | (velocity <= 0.0) | (effort <= 0.0) | (least > HOLDING)
    return tuple(np.array(model.joint_names, dtype=object)[stuck].tolist())
