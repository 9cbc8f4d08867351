# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler in body-fixed representation, [M18d] section 4.1.

The derivatives are [M21] (40) to (42), corrected. Twists and wrenches of a body are in its joint
frame, whose z axis is the joint axis. There the joint screw Z = (0, 0, a, 0, 0, h) and the inertia
are constant, and each recursion follows from the previous one by differentiation, with A' = -q'
ad_Z A for A = Ad_{C_{i,parent}}. No pose in the inertial frame is needed.

The rows of the bodies hold C_{parent,i} in the columns of the joint screw.
"""

from ..core import inlined
from ..lie.screws import (
    accumulate_screw,
    add,
    add3,
    add_screws,
    coad,
    cross,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    minus_screw,
    muladd,
    muladd_screw,
    rotate,
    rotate_about_z,
    rotate_back,
    scale,
    scale_screw,
    store_rotation,
    store_screw,
    store_vector,
    subtract,
    subtract_screw,
    symmetric_times,
)
from ..model.records import (
    ANGULAR,
    COM,
    INERTIA,
    LINEAR,
    MASS,
    PLACEMENT,
    POSE,
    POSITION,
    ROTOR,
    SCREW,
    TWIST,
    WRENCH,
)
from .poses import clear, coordinate, pose_recursion

RELATIVE = SCREW  # rotation (9) and position (3) of the joint frame in that of the parent


@inlined
def pull(R, d, V):
    """Ad_C^-1 V: a twist in the frame of the parent, seen in a frame with the pose C = (R, d)."""
    return (rotate_back(R, V[0]), rotate_back(R, add(V[1], cross(V[0], d))))


@inlined
def push(R, d, W):
    """Ad_C^-T W: a wrench in the frame of the child, seen in the frame of the parent."""
    f = rotate(R, W[1])
    return (add(rotate(R, W[0]), cross(d, f)), f)


@inlined
def pull_wrench(R, d, W):
    """Ad_C^T W: a wrench, seen in a frame with the pose C = (R, d)."""
    return (rotate_back(R, subtract(W[0], cross(d, W[1]))), rotate_back(R, W[1]))


@inlined
def ad_joint(a, h, X):
    """ad_Z X with the joint screw Z = (0, 0, a, 0, 0, h)."""
    w, v = X
    return ((-a * w[1], a * w[0], 0.0), (-(h * w[1] + a * v[1]), h * w[0] + a * v[0], 0.0))


@inlined
def coad_joint(a, h, W):
    """-ad_Z^T W."""
    m, f = W
    return ((-(a * m[1] + h * f[1]), a * m[0] + h * f[0], 0.0), (-a * f[1], a * f[0], 0.0))


@inlined
def advance(a, h, rate, X):
    """X + Z rate."""
    w, v = X
    return ((w[0], w[1], w[2] + a * rate), (v[0], v[1], v[2] + h * rate))


@inlined
def forward_recursion(parents, joints, trig, state, order, bodies):
    """Twists of all bodies and their derivatives up to the jounce, [M18d] (66) differentiated.

    Parameters as for :func:`.spatial.forward_recursion`. Row 0 of `bodies` holds the motion of the
    base in body-fixed representation. Writes TWIST and RELATIVE, but not POSE.
    """
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        q1 = state[1, j]
        q2 = state[2, j]

        B = load_rotation(joints, i, PLACEMENT)
        R = rotate_about_z(B, trig[0, i], trig[1, i])
        travel = h * state[0, j]
        d = muladd(travel, (B[2], B[5], B[8]), load_vector(joints, i, PLACEMENT + 9))
        store_rotation(bodies, b, RELATIVE, R)
        store_vector(bodies, b, RELATIVE + 9, d)

        # V = T + Z q' with T = A V_parent, and derivatives
        V0 = advance(a, h, q1, pull(R, d, load_screw(bodies, p, TWIST)))
        T1 = pull(R, d, load_screw(bodies, p, TWIST + 6))
        V1 = subtract_screw(T1, ad_joint(a, h, scale_screw(q1, V0)))
        V1 = advance(a, h, q2, V1)
        store_screw(bodies, b, TWIST, V0)
        store_screw(bodies, b, TWIST + 6, V1)

        if order > 0:
            q3 = state[3, j]
            T2 = pull(R, d, load_screw(bodies, p, TWIST + 12))
            moved = muladd_screw(q2, V0, scale_screw(q1, add_screws(V1, T1)))
            V2 = advance(a, h, q3, subtract_screw(T2, ad_joint(a, h, moved)))
            store_screw(bodies, b, TWIST + 12, V2)

            if order > 1:
                T3 = pull(R, d, load_screw(bodies, p, TWIST + 18))
                twice = muladd_screw(-q1, ad_joint(a, h, T1), scale_screw(2.0, T2))
                moved = scale_screw(q1, add_screws(V2, twice))
                moved = muladd_screw(q2, muladd_screw(2.0, V1, T1), moved)
                moved = muladd_screw(q3, V0, moved)
                V3 = subtract_screw(T3, ad_joint(a, h, moved))
                store_screw(bodies, b, TWIST + 18, advance(a, h, state[4, j], V3))


@inlined
def kinematics_recursion(parents, joints, trig, state, order, bodies):
    """:func:`forward_recursion` and the POSE of all bodies, which the dynamics do not need."""
    pose_recursion(parents, joints, trig, state, bodies)
    forward_recursion(parents, joints, trig, state, order, bodies)


@inlined
def apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies):
    """Subtract the applied wrenches (n, 18), in the inertial frame, from the rows.

    W^b = Ad_C^T W and its derivatives, [M21] (35) corrected. This needs the poses, and the
    acceleration without the gravity that enters with the acceleration of the base.
    """
    pose_recursion(parents, joints, trig, state, bodies)
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(parents.shape[0]):
        b = i + 1
        R = load_rotation(bodies, b, POSE)
        r = load_vector(bodies, b, POSITION)
        V = load_screw(bodies, b, TWIST)
        W = pull_wrench(R, r, load_screw(applied, i, 0))
        accumulate_screw(bodies, b, WRENCH, minus_screw(W))
        if order > 0:  # (Ad^T x)' = Ad^T x' + ad_V^T Ad^T x
            x1 = pull_wrench(R, r, load_screw(applied, i, 6))
            W1 = subtract_screw(x1, coad(V, W))
            accumulate_screw(bodies, b, WRENCH + 6, minus_screw(W1))
            if order > 1:
                x2 = pull_wrench(R, r, load_screw(applied, i, 12))
                w1, v1 = load_screw(bodies, b, TWIST + 6)
                V1 = (w1, add(v1, rotate_back(R, g)))
                turned = add_screws(coad(V1, W), coad(V, add_screws(W1, x1)))
                accumulate_screw(bodies, b, WRENCH + 12, subtract_screw(turned, x2))


@inlined
def backward_recursion(parents, joints, gravity, state, order, bodies, result):
    """Joint torques and their rates: [M18d] (67) for a tree, differentiated.

    The momentum balance is taken at the centre of mass, with its velocity u and the angular
    momentum h = Theta omega both in the axes of the body, where mass and inertia are constant:

        f = m (u' + omega x u),   n = h' + omega x h,   W = (n + c x f, f).

    Parameters as for :func:`.spatial.backward_recursion`; `gravity` is not used, since it is part
    of the acceleration of the base.
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
        c = load_vector(joints, i, COM)
        Theta = load_symmetric(joints, i, INERTIA)
        R = load_rotation(bodies, b, RELATIVE)
        d = load_vector(bodies, b, RELATIVE + 9)
        w0, v0 = load_screw(bodies, b, TWIST)
        w1, v1 = load_screw(bodies, b, TWIST + 6)

        u0 = add(v0, cross(w0, c))
        u1 = add(v1, cross(w1, c))
        h0 = symmetric_times(Theta, w0)
        h1 = symmetric_times(Theta, w1)
        f = scale(m, add(u1, cross(w0, u0)))
        n = add(h1, cross(w0, h0))
        W0 = accumulate_screw(bodies, b, WRENCH, (add(n, cross(c, f)), f))
        accumulate_screw(bodies, p, WRENCH, push(R, d, W0))
        result[0, j] += a * W0[0][2] + h * W0[1][2] + rotor * state[2, j]

        if order > 0:
            q1 = state[1, j]
            w2, v2 = load_screw(bodies, b, TWIST + 12)
            u2 = add(v2, cross(w2, c))
            h2 = symmetric_times(Theta, w2)
            f = scale(m, add3(u2, cross(w1, u0), cross(w0, u1)))
            n = add3(h2, cross(w1, h0), cross(w0, h1))
            W1 = accumulate_screw(bodies, b, WRENCH + 6, (add(n, cross(c, f)), f))
            # (A^T W)' = A^T (W' - q' ad_Z^T W)
            E0 = coad_joint(a, h, W0)
            accumulate_screw(bodies, p, WRENCH + 6, push(R, d, muladd_screw(q1, E0, W1)))
            result[1, j] += a * W1[0][2] + h * W1[1][2] + rotor * state[3, j]

            if order > 1:
                w3, v3 = load_screw(bodies, b, TWIST + 18)
                u3 = add(v3, cross(w3, c))
                h3 = symmetric_times(Theta, w3)
                f = add3(u3, cross(w2, u0), muladd(2.0, cross(w1, u1), cross(w0, u2)))
                f = scale(m, f)
                n = add3(h3, cross(w2, h0), muladd(2.0, cross(w1, h1), cross(w0, h2)))
                W2 = accumulate_screw(bodies, b, WRENCH + 12, (add(n, cross(c, f)), f))
                moved = muladd_screw(q1, E0, scale_screw(2.0, W1))
                moved = muladd_screw(state[2, j], W0, scale_screw(q1, moved))
                moved = add_screws(W2, coad_joint(a, h, moved))
                accumulate_screw(bodies, p, WRENCH + 12, push(R, d, moved))
                result[2, j] += a * W2[0][2] + h * W2[1][2] + rotor * state[4, j]
