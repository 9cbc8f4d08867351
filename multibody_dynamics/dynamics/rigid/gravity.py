# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gravity wrenches of the bodies and their time derivatives, [M21] section V.C."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Array, InputError, transposed
from ..lie.se3 import ad
from ..model import MultibodyModel, inertia
from .kinematics import BaseMotion, forward_kinematics


def gravity_wrenches(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, *, base: BaseMotion | None = None
) -> Array:
    """The gravity wrenches W^grav_i = M^s_i G with two time derivatives, (..., n, 3, 6).

    [M21] (23), (24) and (25), the last with the sign of its M^s ad_V' term corrected. With
    G = (0, -g), W^grav adds to the momentum balance as in [M21] (15): it is the wrench that holds
    the body against gravity. N m, N and per s^k, in inertial axes about the inertial origin. q, q'
    and q'' are (..., n); `base` is the motion of the base, at rest if None.

    Raises InputError for wrong shapes, missing qd or qdd, NaN or infinity.
    """
    if qd is None or qdd is None:
        raise InputError("the rates of the gravity wrenches need qd and qdd")
    motion = forward_kinematics(model, q, qd, qdd, base=base)
    M = inertia.transform(model.inertias, motion.pose)
    return gravity_wrench_rates(M, motion.twist, motion.acceleration, model.gravity)


def gravity_wrench_rates(M: Array, twist: Any, acceleration: Any, gravity: Array) -> Array:
    """Gravity wrenches with rates, from inertias M^s (..., 6, 6) and spatial motions (..., 6)."""
    G = np.concatenate([np.zeros(3), -gravity])[:, None]
    adV, adVd = ad(twist), ad(acceleration)
    first = M @ adV
    second = first @ adV + transposed(adV) @ first - M @ adVd
    wrenches = (
        M @ G,
        -(first + transposed(first)) @ G,
        (second + transposed(second)) @ G,
    )
    return np.stack([W[..., 0] for W in wrenches], axis=-2)
