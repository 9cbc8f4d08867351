# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler in spatial representation, [M21] Algorithms 1 and 3, [M18d] section 4.2.

Twists, joint screws and wrenches are in inertial axes about the inertial origin: along the tree
they are added without a transformation, and only the inertia of a body has to be rotated.
"""

from ..core import inlined
from ..lie.screws import (
    accumulate_screw,
    ad,
    add,
    add3,
    add_screws,
    cross,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    minus_screw,
    muladd,
    muladd_screw,
    pair,
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
    """[M21] Algorithm 1 for a tree: poses, joint screws and twists of all bodies, with derivatives.

    The derivatives of S_i use the twist of the parent. Since ad_S S = 0, this equals the paper's
    form with the twist of body i, without a second pass.

    Parameters
    ----------
    parents : (n,) int, -1 for the base.
    joints : (n, JOINT_ROW) constants.
    trig : (2, n) sine and cosine of the joint angles a_i q_i.
    state : (5, n) q, q', q'', q''', q''''.
    order : number of derivatives of the acceleration: 0, 1 (jerk) or 2 (jounce).
    bodies : (n + 1, BODY_ROW); row 0 holds the motion of the base. Writes POSE, TWIST and SCREW.
    """
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        z, _ = place(i, p, joints, trig, state, bodies)

        # S_i = Ad_{C_i} Z_i, and the twist
        e = scale(joints[i, ANGULAR], z)
        S0 = (e, muladd(joints[i, LINEAR], z, cross(load_vector(bodies, b, POSITION), e)))
        V0 = load_screw(bodies, p, TWIST)
        q1 = state[1, j]
        store_screw(bodies, b, SCREW, S0)
        store_screw(bodies, b, TWIST, muladd_screw(q1, S0, V0))

        # S', and the acceleration
        S1 = ad(V0, S0)
        V1 = load_screw(bodies, p, TWIST + 6)
        q2 = state[2, j]
        store_screw(bodies, b, SCREW + 6, S1)
        store_screw(bodies, b, TWIST + 6, muladd_screw(q2, S0, muladd_screw(q1, S1, V1)))

        if order > 0:  # S'' = ad_V' S + ad_V S', and the jerk
            S2 = add_screws(ad(V1, S0), ad(V0, S1))
            V2 = load_screw(bodies, p, TWIST + 12)
            q3 = state[3, j]
            store_screw(bodies, b, SCREW + 12, S2)
            V2i = muladd_screw(q1, S2, V2)
            V2i = muladd_screw(2 * q2, S1, V2i)
            V2i = muladd_screw(q3, S0, V2i)
            store_screw(bodies, b, TWIST + 12, V2i)

            if order > 1:  # S''' = ad_V'' S + 2 ad_V' S' + ad_V S'', and the jounce
                S3 = add_screws(muladd_screw(2.0, ad(V1, S1), ad(V2, S0)), ad(V0, S2))
                V3i = muladd_screw(q1, S3, load_screw(bodies, p, TWIST + 18))
                V3i = muladd_screw(3 * q2, S2, V3i)
                V3i = muladd_screw(3 * q3, S1, V3i)
                V3i = muladd_screw(state[4, j], S0, V3i)
                store_screw(bodies, b, SCREW + 18, S3)
                store_screw(bodies, b, TWIST + 18, V3i)


kinematics_recursion = forward_recursion


@inlined
def apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies):
    """Subtract the applied wrenches (n, 18), in the inertial frame, from the rows."""
    for i in range(parents.shape[0]):
        for k in range(0, 6 * order + 6, 6):
            accumulate_screw(bodies, i + 1, WRENCH + k, minus_screw(load_screw(applied, i, k)))


@inlined
def backward_recursion(parents, joints, gravity, state, order, bodies, result):
    """[M21] Algorithm 3 for a tree: the joint torques and their first `order` derivatives.

    The momentum balance is taken at the centre of mass (COM) c and then moved to the inertial
    origin, with 3-vectors only: with the angular momentum h = Theta omega about the COM,

        W = (h' + c x f, f),   f = m (c'' - g),

    and W', W'' follow by the product rule. Gravity enters as a force, not as an acceleration of the
    base, so the twists are the true ones and need no corrections.

    Parameters
    ----------
    parents, joints, state, order : as for :func:`forward_recursion`.
    gravity : (3,).
    bodies : after the forward recursion. On entry, WRENCH holds minus the wrench applied to the
        body; on return, the wrench transmitted by its joint, [M21] (30), and in row 0 the wrench
        that the ground exerts on the base.
    result : (order + 1, n) or more rows; Q, Q', Q'' are written up to row `order`.
    """
    clear(result, order)
    g = (gravity[0], gravity[1], gravity[2])
    for k in range(parents.shape[0]):
        i = parents.shape[0] - 1 - k
        b = i + 1
        j = coordinate(joints, i)
        p = parents[i] + 1
        m = joints[i, MASS]
        rotor = joints[i, ROTOR]
        R = load_rotation(bodies, b, POSE)
        Theta = rotate_symmetric(R, load_symmetric(joints, i, INERTIA))
        w, v = load_screw(bodies, b, TWIST)
        w1, v1 = load_screw(bodies, b, TWIST + 6)

        c = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(joints, i, COM)))
        c1 = add(v, cross(w, c))
        c2 = add3(v1, cross(w1, c), cross(w, c1))
        f = scale(m, subtract(c2, g))
        momentum = angular_momentum_dot(Theta, w, w1)
        _, _, h1 = momentum

        S = load_screw(bodies, b, SCREW)
        W = accumulate_screw(bodies, b, WRENCH, (add(h1, cross(c, f)), f))
        accumulate_screw(bodies, p, WRENCH, W)
        result[0, j] += pair(S, W) + rotor * state[2, j]

        if order > 0:
            w2, v2 = load_screw(bodies, b, TWIST + 12)
            c3 = add3(v2, cross(w2, c), add(scale(2.0, cross(w1, c1)), cross(w, c2)))
            f1 = scale(m, c3)
            momentum1 = angular_momentum_ddot(Theta, w, w1, w2, momentum)
            _, _, _, h2 = momentum1

            S1 = load_screw(bodies, b, SCREW + 6)
            W1 = (add3(h2, cross(c1, f), cross(c, f1)), f1)
            W1 = accumulate_screw(bodies, b, WRENCH + 6, W1)
            accumulate_screw(bodies, p, WRENCH + 6, W1)
            result[1, j] += pair(S, W1) + pair(S1, W) + rotor * state[3, j]

            if order > 1:
                w3, v3 = load_screw(bodies, b, TWIST + 18)
                c4 = add3(
                    add(v3, cross(w3, c)),
                    scale(3.0, add(cross(w2, c1), cross(w1, c2))),
                    cross(w, c3),
                )
                f2 = scale(m, c4)
                h3 = angular_momentum_dddot(Theta, w, w1, w2, w3, momentum, momentum1)

                S2 = load_screw(bodies, b, SCREW + 12)
                m2 = add3(cross(c2, f), scale(2.0, cross(c1, f1)), cross(c, f2))
                W2 = accumulate_screw(bodies, b, WRENCH + 12, (add(h3, m2), f2))
                accumulate_screw(bodies, p, WRENCH + 12, W2)
                result[2, j] += pair(S, W2) + 2 * pair(S1, W1) + pair(S2, W) + rotor * state[4, j]
