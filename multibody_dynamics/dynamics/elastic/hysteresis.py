# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Hysteresis of springs: Maxwell slip elements in parallel with the spring, with rounded corners.

    Q = s(phi) + sum h_k,    h_k' = k_k W(y) phi',    y = +-h_k / f_k in the direction of motion

An element sticks (W = 1) below CORNER of its torque f_k. From there to f_k, where a Maxwell
element changes to W = 0 at once, W falls like 1 - w^2 with w from 0 to 1. A jump of W would be one
of phi', and theta'' would have an impulse, which no motor can produce; rounded, phi' is continuous,
and phi'' jumps at reversals alone, where phi' = 0. The equation is solved exactly over any
displacement in one direction: linear, then a tanh.

phi and the h_k are states of the feedforward: they follow Q along the desired motion from cycle to
cycle. At first the elements are relaxed; whatever they carry in truth appears as a constant
disturbance until the first large reversal. See F. Al-Bender, V. Lampaert, J. Swevers, The
generalized Maxwell-slip model, IEEE Trans. Automatic Control 50 (2005).
"""

from dataclasses import dataclass, fields
from math import isnan

import numpy as np

from ..core import InputError, compiled, inlined
from .actuator_tables import MOTOR, OWN, SLIP_STATE
from .friction_law import one_number
from .kinematic_error import HARMONIC_ROW, PARTS
from .spring_tables import deflection_rates, spring_deflection, spring_law


@dataclass(frozen=True)
class SlipElement:
    """A spring of `stiffness` (N m/rad) in series with a dry friction that slips at `torque` (N m),
    both greater than zero."""

    stiffness: float
    torque: float

    def __post_init__(self) -> None:
        for each in fields(self):
            what = f"{each.name} of the hysteresis"
            value = one_number(what, getattr(self, each.name))
            object.__setattr__(self, each.name, value)
            if not 0.0 < value < float("inf"):
                raise InputError(f"{what} must be greater than zero and finite, got {value:g}")


# Own columns of a series elastic joint, whose harmonics and slip elements follow from PARTS on
HARMONICS, SLIPS = OWN, OWN + 1
SLIP_STIFFNESS, SLIP_TORQUE, SLIP_ROW = 0, 1, 2

CORNER = 0.8  # share of its torque up to which an element sticks
SLIP_ITERATIONS = 12
SLIP_RESOLUTION = 1e-9  # rad or m; the step to it has squared the error, to less than rounding


@inlined
def slip_columns(joints, i):
    """Where the slip elements of joint i begin, and how many there are."""
    return PARTS + HARMONIC_ROW * int(joints[i, HARMONICS]), int(joints[i, SLIPS])


@inlined
def _slipped(h, stiffness, limit, x, side):
    """The torque of an element after the displacement x in the direction `side` (1 or -1), and its
    first and second derivatives."""
    corner, width = CORNER * limit, (1.0 - CORNER) * limit
    start, far = side * h, side * stiffness * x
    if start + far < corner:
        return h + stiffness * x, stiffness, 0.0
    w = max(start - corner, 0.0) / width
    far -= max(corner - start, 0.0)
    if far > 0.0 and w < 1.0:
        t = np.tanh(far / width)
        w = (w + t) / (1.0 + w * t)
    share = 1.0 - w * w
    curvature = -2.0 * w * share * side * stiffness * stiffness / width
    return side * (corner + width * w), stiffness * share, curvature


@inlined
def slipping_deflection(joints, i, laws, pieces, own, k, torque, filtered, first, count):
    """phi, phi', phi'' under `torque` = (Q, Q', Q'') of a spring with `count` slip elements, which
    are described in columns from `first` on; moves all of them there. NaN is first replaced by
    relaxed elements.

    Elements soften as they slide, so Newton's method approaches x, the displacement since the last
    torque, from one side if the spring is linear; one that hardens is nearly linear over a cycle.
    """
    Q, Qd, Qdd = torque
    state = int(joints[i, SLIP_STATE])
    if isnan(filtered[i]):
        filtered[i] = spring_deflection(laws, pieces, own, k, Q, 0.0)
        for e in range(count):
            filtered[state + e] = 0.0
    x, phi = 0.0, filtered[i]
    carried, slope, curvature, _ = spring_law(laws, pieces, own, k, phi)
    rest = Q - carried
    for e in range(count):
        rest -= filtered[state + e]
    side = 1.0 if rest >= 0.0 else -1.0
    for _ in range(SLIP_ITERATIONS):
        for e in range(count):
            column = first + SLIP_ROW * e
            stiffness, limit = joints[i, column + SLIP_STIFFNESS], joints[i, column + SLIP_TORQUE]
            h, h1, _ = _slipped(filtered[state + e], stiffness, limit, x, side)
            carried += h
            slope += h1
        step = (Q - carried) / slope
        x += step
        carried, slope, curvature, _ = spring_law(laws, pieces, own, k, phi + x)
        if abs(step) <= SLIP_RESOLUTION:
            break
    side = 1.0 if x >= 0.0 else -1.0
    following = Qd if Qd != 0.0 else Qdd
    onwards = 1.0 if following >= 0.0 else -1.0
    for e in range(count):
        column = first + SLIP_ROW * e
        stiffness, limit = joints[i, column + SLIP_STIFFNESS], joints[i, column + SLIP_TORQUE]
        h, _, _ = _slipped(filtered[state + e], stiffness, limit, x, side)
        _, h1, h2 = _slipped(h, stiffness, limit, 0.0, onwards)
        slope += h1
        curvature += h2
        filtered[state + e] = h
    filtered[i] = phi + x
    phid, phidd = deflection_rates(slope, curvature, Qd, Qdd)
    return phi + x, phid, phidd


@inlined
def add_slip(joints, filtered, torque, load):
    """Add the torques of all slip elements, states in `filtered`, to the torques of springs (n,)
    and the loads of their motors (m,)."""
    for i in range(joints.shape[0]):
        if joints[i, SLIP_STATE] != 0.0:
            state, j = int(joints[i, SLIP_STATE]), int(joints[i, MOTOR])
            for e in range(int(joints[i, SLIPS])):
                torque[i] += filtered[state + e]
                load[j] += filtered[state + e]


def follow_slip(joints, deflection, filtered):
    """Move all slip elements with the deflections (m,) of the springs as measured. The first ones,
    in place of NaN, count as those of relaxed elements."""
    for i in range(joints.shape[0]):
        if joints[i, SLIP_STATE] != 0.0:
            state, phi = int(joints[i, SLIP_STATE]), deflection[int(joints[i, MOTOR])]
            first, count = slip_columns(joints, i)
            x = 0.0 if isnan(filtered[i]) else phi - filtered[i]
            side = 1.0 if x >= 0.0 else -1.0
            for e in range(count):
                column = first + SLIP_ROW * e
                stiffness = joints[i, column + SLIP_STIFFNESS]
                limit = joints[i, column + SLIP_TORQUE]
                h, _, _ = _slipped(filtered[state + e], stiffness, limit, x, side)
                filtered[state + e] = h
            filtered[i] = phi


compiled_add_slip = compiled(add_slip)
compiled_follow_slip = compiled(follow_slip)
