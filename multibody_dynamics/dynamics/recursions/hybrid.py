# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler in hybrid representation, [M18d] section 4.3, differentiated.

Twists and wrenches of a body are in inertial axes, about the origin r of its joint frame:
V = (omega, r'). From body to body only the reference point moves, by d = r_i - r_parent.

The rows of the bodies hold the joint axis z and d, each with two derivatives, in the columns of the
joint screw.
"""

from ..core import inlined
from ..lie.screws import (
    accumulate_screw,
    add,
    add3,
    cross,
    dot,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    muladd,
    rotate,
    rotate_symmetric,
    scale,
    store_screw,
    subtract,
)
from ..model.records import (
    ANGULAR,
    COM,
    INERTIA,
    LINEAR,
    MASS,
    POSE,
    POSITION,
    ROTOR,
    SCREW,
    TWIST,
    WRENCH,
)
from .angular_momentum import angular_momentum_dddot, angular_momentum_ddot, angular_momentum_dot
from .poses import clear, coordinate, place


@inlined
def forward_recursion(parents, joints, trig, state, order, bodies):
    """Poses and twists of all bodies with derivatives to the jounce, [M18d] (75) in the form (72).

    With omega, omega', ... of the parent, in which z is fixed,

        z' = omega x z,   d' = omega x d + h q' z,
        V_i = (omega + a q' z,  r'_parent + d'),

    and the rest is the product rule. Parameters as for :func:`.spatial.forward_recursion`; row 0 of
    `bodies` holds the motion of the base in hybrid representation.
    """
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        q1 = state[1, j]
        q2 = state[2, j]
        z, d = place(i, p, joints, trig, state, bodies)
        w, v = load_screw(bodies, p, TWIST)
        w1, v1 = load_screw(bodies, p, TWIST + 6)

        z1 = cross(w, z)
        d1 = muladd(h * q1, z, cross(w, d))
        s1 = muladd(q2, z, scale(q1, z1))  # (q' z)'
        d2 = muladd(h, s1, add(cross(w1, d), cross(w, d1)))
        store_screw(bodies, b, SCREW, (z, d))
        store_screw(bodies, b, SCREW + 6, (z1, d1))
        store_screw(bodies, b, TWIST, (muladd(a * q1, z, w), add(v, d1)))
        store_screw(bodies, b, TWIST + 6, (muladd(a, s1, w1), add(v1, d2)))

        if order > 0:
            q3 = state[3, j]
            w2, v2 = load_screw(bodies, p, TWIST + 12)
            z2 = add(cross(w1, z), cross(w, z1))
            s2 = muladd(q3, z, muladd(2 * q2, z1, scale(q1, z2)))
            d3 = add3(cross(w2, d), scale(2.0, cross(w1, d1)), cross(w, d2))
            d3 = muladd(h, s2, d3)
            store_screw(bodies, b, SCREW + 12, (z2, d2))
            store_screw(bodies, b, TWIST + 12, (muladd(a, s2, w2), add(v2, d3)))

            if order > 1:
                w3, v3 = load_screw(bodies, p, TWIST + 18)
                z3 = add3(cross(w2, z), scale(2.0, cross(w1, z1)), cross(w, z2))
                s3 = muladd(state[4, j], z, muladd(3 * q3, z1, scale(q1, z3)))
                s3 = muladd(3 * q2, z2, s3)
                d4 = add(cross(w2, d1), cross(w1, d2))
                d4 = add3(cross(w3, d), scale(3.0, d4), cross(w, d3))
                d4 = muladd(h, s3, d4)
                store_screw(bodies, b, TWIST + 18, (muladd(a, s3, w3), add(v3, d4)))


kinematics_recursion = forward_recursion


@inlined
def apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies):
    """Subtract the applied wrenches (n, 18), in the inertial frame, from the rows.

    The moment about r is m - r x f, with its derivatives; r'' is taken without the gravity that
    enters with the acceleration of the base.
    """
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(parents.shape[0]):
        b = i + 1
        r = load_vector(bodies, b, POSITION)
        m, f = load_screw(applied, i, 0)
        accumulate_screw(bodies, b, WRENCH, (subtract(cross(r, f), m), scale(-1, f)))
        if order > 0:
            _, r1 = load_screw(bodies, b, TWIST)
            m1, f1 = load_screw(applied, i, 6)
            moved = add(cross(r1, f), cross(r, f1))
            accumulate_screw(bodies, b, WRENCH + 6, (subtract(moved, m1), scale(-1, f1)))
            if order > 1:
                r2 = add(load_vector(bodies, b, TWIST + 9), g)
                m2, f2 = load_screw(applied, i, 12)
                moved = add3(cross(r2, f), scale(2.0, cross(r1, f1)), cross(r, f2))
                accumulate_screw(bodies, b, WRENCH + 12, (subtract(moved, m2), scale(-1, f2)))


@inlined
def backward_recursion(parents, joints, gravity, state, order, bodies, result):
    """Joint torques and their rates: [M18d] (76) for a tree, differentiated.

    The momentum balance is taken at the centre of mass r + c,

        f = m (r'' + c''),   W = (h' + c x f, f),

    and (m + d x f, f) acts on the parent. Parameters as for :func:`.spatial.backward_recursion`;
    `gravity` is not used, since it is part of the acceleration of the base.
    """
    clear(result, order)
    for k in range(parents.shape[0]):
        i = parents.shape[0] - 1 - k
        b = i + 1
        j = coordinate(joints, i)
        p = parents[i] + 1
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        m = joints[i, MASS]
        rotor = joints[i, ROTOR]
        R = load_rotation(bodies, b, POSE)
        Theta = rotate_symmetric(R, load_symmetric(joints, i, INERTIA))
        w, _ = load_screw(bodies, b, TWIST)
        w1, r2 = load_screw(bodies, b, TWIST + 6)
        z, d = load_screw(bodies, b, SCREW)

        c = rotate(R, load_vector(joints, i, COM))
        c1 = cross(w, c)
        c2 = add(cross(w1, c), cross(w, c1))
        f = scale(m, add(r2, c2))
        momentum = angular_momentum_dot(Theta, w, w1)
        _, _, h1 = momentum
        M0, F0 = accumulate_screw(bodies, b, WRENCH, (add(h1, cross(c, f)), f))
        accumulate_screw(bodies, p, WRENCH, (add(M0, cross(d, F0)), F0))
        s0 = muladd(a, M0, scale(h, F0))
        result[0, j] += dot(z, s0) + rotor * state[2, j]

        if order > 0:
            w2, r3 = load_screw(bodies, b, TWIST + 12)
            z1, d1 = load_screw(bodies, b, SCREW + 6)
            c3 = add3(cross(w2, c), scale(2.0, cross(w1, c1)), cross(w, c2))
            f1 = scale(m, add(r3, c3))
            momentum1 = angular_momentum_ddot(Theta, w, w1, w2, momentum)
            _, _, _, h2 = momentum1
            W1 = (add3(h2, cross(c1, f), cross(c, f1)), f1)
            M1, F1 = accumulate_screw(bodies, b, WRENCH + 6, W1)
            moved = add3(M1, cross(d1, F0), cross(d, F1))
            accumulate_screw(bodies, p, WRENCH + 6, (moved, F1))
            s1 = muladd(a, M1, scale(h, F1))
            result[1, j] += dot(z, s1) + dot(z1, s0) + rotor * state[3, j]

            if order > 1:
                w3, r4 = load_screw(bodies, b, TWIST + 18)
                z2, d2 = load_screw(bodies, b, SCREW + 12)
                c4 = add(cross(w2, c1), cross(w1, c2))
                c4 = add3(cross(w3, c), scale(3.0, c4), cross(w, c3))
                f2 = scale(m, add(r4, c4))
                h3 = angular_momentum_dddot(Theta, w, w1, w2, w3, momentum, momentum1)
                m2 = add3(cross(c2, f), scale(2.0, cross(c1, f1)), cross(c, f2))
                M2, F2 = accumulate_screw(bodies, b, WRENCH + 12, (add(h3, m2), f2))
                moved = add3(cross(d2, F0), scale(2.0, cross(d1, F1)), cross(d, F2))
                accumulate_screw(bodies, p, WRENCH + 12, (add(M2, moved), F2))
                s2 = muladd(a, M2, scale(h, F2))
                result[2, j] += dot(z, s2) + 2 * dot(z1, s1) + dot(z2, s0) + rotor * state[4, j]
