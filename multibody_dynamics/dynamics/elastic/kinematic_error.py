# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematic error of gears: the spring feels the motor at

    theta_s = theta + e,    e = sum a sin(order x + phase),

where x is the turn of the motor's shaft, gear_ratio theta, or of the link, q. By the power that the
gear transmits, the motor carries Q dtheta_s/dtheta. The share de/dq of Q, by which an error that
turns with the link would pull at it directly, is neglected (a order, 0.1 % for 0.5 mrad twice a
turn).
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..core import InputError, check_choice, inlined
from .actuator_tables import OWN
from .friction_law import one_number

Turning = Literal["motor", "link"]


@dataclass(frozen=True)
class GearHarmonic:
    """One harmonic of the kinematic error: `amplitude` (rad on the link side) at `order` periods
    per turn of the motor's shaft, or of the link, and `phase` in rad."""

    order: float
    of: Turning
    amplitude: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        check_choice("of", self.of, get_args(Turning))
        for name in ("order", "amplitude", "phase"):
            what = f"{name} of the kinematic error"
            value = one_number(what, getattr(self, name))
            object.__setattr__(self, name, value)
            if not np.isfinite(value) or (name == "order" and value <= 0.0):
                right = "greater than zero and finite" if name == "order" else "finite"
                raise InputError(f"{what} must be {right}, got {value:g}")


# Columns of a harmonic; ORDER in periods per 2 pi of theta or q, both on the link side
ORDER, OF_LINK, AMPLITUDE, PHASE, HARMONIC_ROW = 0, 1, 2, 3, 4
PARTS = OWN + 2  # column, behind the counts of harmonics and slip elements

GEAR_ITERATIONS = 6
GEAR_RESOLUTION = 1e-7  # rad or m; the step to it has cubed the error, to less than rounding


@inlined
def gear_error(joints, i, first, count, of_link, x):
    """e and its first to fourth derivatives by x, the position of the link or of the motor, for the
    `count` harmonics in columns from `first` on that turn with it."""
    e, e1, e2, e3, e4 = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        column = first + HARMONIC_ROW * k
        if joints[i, column + OF_LINK] == of_link:
            order, a = joints[i, column + ORDER], joints[i, column + AMPLITUDE]
            angle = order * x + joints[i, column + PHASE]
            s, c = a * np.sin(angle), order * a * np.cos(angle)
            e += s
            e1 += c
            square = order * order
            e2 -= square * s
            e3 -= square * c
            e4 += square * square * s
    return e, e1, e2, e3, e4


@inlined
def gear_input(joints, i, first, count, link, motion):
    """theta, theta', theta'' at which the spring feels `motion` with the link at `link`, and
    dtheta_s/dtheta; by Halley's method."""
    e, e1, e2, _, _ = gear_error(joints, i, first, count, 1.0, link[0])
    wanted = motion[0] - e
    rate = motion[1] - e1 * link[1]
    acceleration = motion[2] - e1 * link[2] - e2 * link[1] * link[1]
    theta = wanted
    for _ in range(GEAR_ITERATIONS):
        e, e1, e2, e3, e4 = gear_error(joints, i, first, count, 0.0, theta)
        rest, ratio = wanted - theta - e, 1.0 + e1
        step = rest / (ratio + 0.5 * e2 * rest / ratio)
        theta += step
        ratio += (e2 + 0.5 * e3 * step) * step
        e2 += (e3 + 0.5 * e4 * step) * step
        if abs(step) <= GEAR_RESOLUTION:
            break
    thetad = rate / ratio
    return (theta, thetad, (acceleration - e2 * thetad * thetad) / ratio), ratio


@inlined
def gear_output(joints, i, first, count, q, qd, theta, thetad):
    """theta_s, theta_s' and dtheta_s/dtheta."""
    of_link, link1, _, _, _ = gear_error(joints, i, first, count, 1.0, q)
    e, e1, _, _, _ = gear_error(joints, i, first, count, 0.0, theta)
    return theta + e + of_link, (1.0 + e1) * thetad + link1 * qd, 1.0 + e1
