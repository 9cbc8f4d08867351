# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The generalised momentum and the bias of its rate, in one O(n) pass over the bodies.

With the joint screws Z_j, constant in the frames of their joints, the twists V_j, and the momentum
H_j and the weight G_j of everything that joint j carries,

    p_j = Z_j . H_j + rotor_j q'_j,    g_j = -Z_j . G_j,    dT/dq_j = [V_j, Z_j] . H_j,

and p' = Q - beta + tau_ext with beta = g - dT/dq, where dT/dq = C^T q' with the Christoffel matrix
C. No accelerations and no derivatives of Q are needed. All vectors are in the joint frames, as in
:mod:`.body_fixed`; the base is at rest in the inertial frame.

Rows of bodies, (MOMENTUM_ROW,): relative pose, twist, direction of gravity, momentum, weight.
"""

from ..core import inlined
from ..lie.screws import (
    accumulate_screw,
    add,
    cross,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    muladd,
    pair,
    rotate_about_z,
    rotate_back,
    scale,
    store_rotation,
    store_screw,
    store_vector,
    symmetric_times,
)
from ..model.records import ANGULAR, COM, INERTIA, LINEAR, MASS, PLACEMENT, ROTOR
from .body_fixed import ad_joint, advance, pull, push
from .poses import clear, coordinate

RELATIVE = 0
TWIST = 12
GRAVITY = 18
MOMENTUM = 21
WEIGHT = 27
MOMENTUM_ROW = 33


@inlined
def momentum_recursion(parents, joints, gravity, trig, state, bodies, result):
    """p, beta = g - dT/dq and g in the rows of `result` (3, n), at q, q' in those of `state`."""
    clear(result, 2)
    store_vector(bodies, 0, GRAVITY, (gravity[0], gravity[1], gravity[2]))
    for k in range(6):
        bodies[0, TWIST + k] = 0.0
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        B = load_rotation(joints, i, PLACEMENT)
        R = rotate_about_z(B, trig[0, i], trig[1, i])
        travel = joints[i, LINEAR] * state[0, j]
        d = muladd(travel, (B[2], B[5], B[8]), load_vector(joints, i, PLACEMENT + 9))
        store_rotation(bodies, b, RELATIVE, R)
        store_vector(bodies, b, RELATIVE + 9, d)
        w, v = advance(
            joints[i, ANGULAR], joints[i, LINEAR], state[1, j],
            pull(R, d, load_screw(bodies, p, TWIST)),
        )  # fmt: skip
        g = rotate_back(R, load_vector(bodies, p, GRAVITY))
        m = joints[i, MASS]
        c = load_vector(joints, i, COM)
        store_screw(bodies, b, TWIST, (w, v))
        store_vector(bodies, b, GRAVITY, g)
        linear = scale(m, add(v, cross(w, c)))
        angular = add(symmetric_times(load_symmetric(joints, i, INERTIA), w), cross(c, linear))
        force = scale(m, g)
        store_screw(bodies, b, MOMENTUM, (angular, linear))
        store_screw(bodies, b, WEIGHT, (cross(c, force), force))
    for k in range(parents.shape[0]):
        i = parents.shape[0] - 1 - k
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        H = load_screw(bodies, b, MOMENTUM)
        G = load_screw(bodies, b, WEIGHT)
        result[0, j] += a * H[0][2] + h * H[1][2] + joints[i, ROTOR] * state[1, j]
        weight = -(a * G[0][2] + h * G[1][2])
        result[1, j] += weight + pair(ad_joint(a, h, load_screw(bodies, b, TWIST)), H)
        result[2, j] += weight
        if p > 0:
            R = load_rotation(bodies, b, RELATIVE)
            d = load_vector(bodies, b, RELATIVE + 9)
            accumulate_screw(bodies, p, MOMENTUM, push(R, d, H))
            accumulate_screw(bodies, p, WEIGHT, push(R, d, G))
