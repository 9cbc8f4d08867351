# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Poses of the joint frames: the product of exponentials in two-frame form, [M18k] section 2."""

from collections.abc import Callable, Sequence
from math import cos, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Array, inlined
from ..lie.screws import (
    add,
    load_rotation,
    load_vector,
    matmul,
    muladd,
    rotate,
    rotate_about_z,
    store_rotation,
    store_vector,
)
from ..model.records import ANGULAR, COORDINATE, LINEAR, PLACEMENT, POSE, POSITION


@inlined
def coordinate(joints, i):
    """Index c of the coordinate of joint i; joints that are coupled share one."""
    return int(joints[i, COORDINATE])


@inlined
def clear(result, order):
    """Set the rows up to `order` of `result` (order + 1 or more, n) to zero, to add up in them."""
    for k in range(order + 1):
        for c in range(result.shape[1]):
            result[k, c] = 0.0


@inlined
def place(i, p, joints, trig, state, bodies):
    """Write C_i = C_parent B_i exp(Z_i q_c) to row i + 1 of `bodies`; p is the row of the parent.

    Returns the joint axis z and the displacement d = r_i - r_parent, both in inertial axes.
    """
    R0 = load_rotation(bodies, p, POSE)
    R = matmul(R0, load_rotation(joints, i, PLACEMENT))
    z = (R[2], R[5], R[8])
    travel = joints[i, LINEAR] * state[0, coordinate(joints, i)]
    d = muladd(travel, z, rotate(R0, load_vector(joints, i, PLACEMENT + 9)))
    store_rotation(bodies, i + 1, POSE, rotate_about_z(R, trig[0, i], trig[1, i]))
    store_vector(bodies, i + 1, POSITION, add(load_vector(bodies, p, POSITION), d))
    return z, d


@inlined
def pose_recursion(parents, joints, trig, state, bodies):
    """Write the poses of all joint frames; row 0 of `bodies` holds that of the base."""
    for i in range(parents.shape[0]):
        place(i, parents[i] + 1, joints, trig, state, bodies)


@inlined
def store_trig(joints, state, trig):
    """Write sines and cosines of the joint angles a_i q_c of a state (5, n) to `trig` (2, N)."""
    for i in range(joints.shape[0]):
        angle = joints[i, ANGULAR] * state[0, coordinate(joints, i)]
        trig[0, i] = sin(angle)
        trig[1, i] = cos(angle)


def batch_trig(joints: Array, state: Array) -> Array:
    """Sines and cosines (2, bodies, N) of the joint angles of a batch of states (5, n, N)."""
    angle = joints[:, ANGULAR, None] * state[0, joints[:, COORDINATE].astype(int)]
    return np.stack([np.sin(angle), np.cos(angle)])


def generic_trig(
    joints: Array, q: Sequence[Any], sine: Callable[[Any], Any], cosine: Callable[[Any], Any]
) -> NDArray[Any]:
    """Sines and cosines (2, N), as objects, of the joint angles for scalars q (n,) of any kind.

    `sine` and `cosine` are the functions for these scalars.
    """
    trig = np.empty((2, len(joints)), dtype=object)
    for i, row in enumerate(joints):
        angle = row[ANGULAR] * q[coordinate(joints, i)]
        trig[0, i] = sine(angle)  # one by one: NumPy would make numbers of a pair of JAX scalars
        trig[1, i] = cosine(angle)
    return trig
