# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recursive Newton-Euler in mixed representation, [M18k] section 3.4, [M18d] sections 2.4, 3.4.

The angular velocity of a body is in the axes of its joint frame, the velocity r' of the origin of
that frame in inertial axes: V = (R^T omega, r'). A wrench is (R^T m, f). Since the two halves
transform differently from body to body, this form suits the balance of a single body, (56) and
(57). Torques without rates are computed in this form. If rates are required, the motion is
converted to the body-fixed representation, whose recursion computes the torques and their rates.

The rows of the bodies hold C_{parent,i} in the columns of the joint screw, as in `body_fixed`.
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
    minus_screw,
    muladd,
    rotate,
    rotate_about_z,
    rotate_back,
    scale,
    store_rotation,
    store_screw,
    store_vector,
    subtract,
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
    TWIST,
    WRENCH,
)
from . import body_fixed
from .body_fixed import RELATIVE
from .poses import clear, coordinate, place


@inlined
def kinematics_recursion(parents, joints, trig, state, order, bodies):
    """Poses and twists of all bodies, [M18k] (68), with derivatives to the jounce.

    The angular half is the body-fixed recursion. For the linear half, with x_0 = d the position of
    the origin in the frame of the parent, and ~ the derivative with the parent's axes held, the
    k-th derivative of r_i - r_parent is R_parent x_k,   x_{k+1} = x_k~ + omega_parent x x_k.

    Parameters as for :func:`.spatial.forward_recursion`; row 0 of `bodies` holds the motion of the
    base in mixed representation.
    """
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        q1 = state[1, j]
        q2 = state[2, j]
        place(i, p, joints, trig, state, bodies)

        R0 = load_rotation(bodies, p, POSE)
        B = load_rotation(joints, i, PLACEMENT)
        R = rotate_about_z(B, trig[0, i], trig[1, i])
        along = scale(h, (B[2], B[5], B[8]))
        d = muladd(state[0, j], along, load_vector(joints, i, PLACEMENT + 9))
        store_rotation(bodies, b, RELATIVE, R)
        store_vector(bodies, b, RELATIVE + 9, d)
        w, v = load_screw(bodies, p, TWIST)
        w1, v1 = load_screw(bodies, p, TWIST + 6)

        turned = rotate_back(R, w)
        omega = (turned[0], turned[1], turned[2] + a * q1)
        turned1 = rotate_back(R, w1)
        omega1 = turn(a, q2, turned1, scale(q1, omega))
        d1 = scale(q1, along)  # d~
        x1 = add(d1, cross(w, d))
        d2 = scale(q2, along)
        x11 = add3(d2, cross(w1, d), cross(w, d1))  # x_1~
        x2 = add(x11, cross(w, x1))
        store_screw(bodies, b, TWIST, (omega, add(v, rotate(R0, x1))))
        store_screw(bodies, b, TWIST + 6, (omega1, add(v1, rotate(R0, x2))))

        if order > 0:
            q3 = state[3, j]
            w2, v2 = load_screw(bodies, p, TWIST + 12)
            turned2 = rotate_back(R, w2)
            moved = muladd(q2, omega, scale(q1, add(omega1, turned1)))
            omega2 = turn(a, q3, turned2, moved)
            d3 = scale(q3, along)
            x12 = add(d3, add3(cross(w2, d), scale(2.0, cross(w1, d1)), cross(w, d2)))
            x21 = add3(x12, cross(w1, x1), cross(w, x11))
            x3 = add(x21, cross(w, x2))
            store_screw(bodies, b, TWIST + 12, (omega2, add(v2, rotate(R0, x3))))

            if order > 1:
                w3, v3 = load_screw(bodies, p, TWIST + 18)
                twice = (
                    2 * turned2[0] + q1 * a * turned1[1],
                    2 * turned2[1] - q1 * a * turned1[0],
                    2 * turned2[2],
                )
                moved = muladd(q2, muladd(2.0, omega1, turned1), scale(q1, add(omega2, twice)))
                moved = muladd(q3, omega, moved)
                omega3 = turn(a, state[4, j], rotate_back(R, w3), moved)
                d4 = muladd(state[4, j], along, muladd(3.0, cross(w2, d1), cross(w, d3)))
                x13 = add3(cross(w3, d), scale(3.0, cross(w1, d2)), d4)
                x22 = add3(cross(w2, x1), scale(2.0, cross(w1, x11)), cross(w, x12))
                x31 = add3(add(x13, x22), cross(w1, x2), cross(w, x21))
                x4 = add(x31, cross(w, x3))
                store_screw(bodies, b, TWIST + 18, (omega3, add(v3, rotate(R0, x4))))


@inlined
def turn(a, rate, w, moved):
    """w + a (rate z - z x moved), where z is the joint axis (0, 0, 1)."""
    return (w[0] + a * moved[1], w[1] - a * moved[0], w[2] + a * rate)


@inlined
def to_body_fixed(n, order, bodies):
    """Convert the twists of all bodies to body-fixed representation: v = R^T r', differentiated."""
    for b in range(1, n + 1):
        R = load_rotation(bodies, b, POSE)
        w, r1 = load_screw(bodies, b, TWIST)
        w1, r2 = load_screw(bodies, b, TWIST + 6)
        v = rotate_back(R, r1)
        x2 = rotate_back(R, r2)
        v1 = subtract(x2, cross(w, v))
        store_vector(bodies, b, TWIST + 3, v)
        store_vector(bodies, b, TWIST + 9, v1)
        if order > 0:
            w2, r3 = load_screw(bodies, b, TWIST + 12)
            x3 = rotate_back(R, r3)
            x21 = subtract(x3, cross(w, x2))
            v2 = subtract(x21, add(cross(w1, v), cross(w, v1)))
            store_vector(bodies, b, TWIST + 15, v2)
            if order > 1:
                _, r4 = load_screw(bodies, b, TWIST + 18)
                x31 = subtract(rotate_back(R, r4), cross(w, x3))
                x22 = subtract(x31, add(cross(w1, x2), cross(w, x21)))
                v3 = add3(cross(w2, v), scale(2.0, cross(w1, v1)), cross(w, v2))
                store_vector(bodies, b, TWIST + 21, subtract(x22, v3))


@inlined
def forward_recursion(parents, joints, trig, state, order, bodies):
    """The motion from which the backward recursion starts; body-fixed if order > 0."""
    kinematics_recursion(parents, joints, trig, state, order, bodies)
    if order > 0:
        to_body_fixed(parents.shape[0], order, bodies)


@inlined
def apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies):
    """Subtract the applied wrenches (n, 18), in the inertial frame, from the rows.

    The rows are in mixed representation, (R^T (m - r x f), f), or body-fixed if order > 0.
    """
    if order > 0:
        body_fixed.apply_wrenches(parents, joints, gravity, trig, state, order, applied, bodies)
    else:
        for i in range(parents.shape[0]):
            R = load_rotation(bodies, i + 1, POSE)
            m, f = load_screw(applied, i, 0)
            m = rotate_back(R, subtract(m, cross(load_vector(bodies, i + 1, POSITION), f)))
            accumulate_screw(bodies, i + 1, WRENCH, minus_screw((m, f)))


@inlined
def backward_recursion(parents, joints, gravity, state, order, bodies, result):
    """Joint torques by the balance (56), (57) of [M18d]; with rates, in body-fixed representation.

    Parameters as for :func:`.spatial.backward_recursion`. If order > 0, `to_body_fixed` must have
    run before. `gravity` is not used, since it is part of the acceleration of the base.
    """
    if order > 0:
        body_fixed.backward_recursion(parents, joints, gravity, state, order, bodies, result)
    else:
        clear(result, 0)
        for k in range(parents.shape[0]):
            i = parents.shape[0] - 1 - k
            b = i + 1
            j = coordinate(joints, i)
            p = parents[i] + 1
            c = load_vector(joints, i, COM)
            Theta = load_symmetric(joints, i, INERTIA)
            R0 = load_rotation(bodies, p, POSE)
            R = load_rotation(bodies, b, POSE)
            w, _ = load_screw(bodies, b, TWIST)
            w1, r2 = load_screw(bodies, b, TWIST + 6)

            c2 = add(cross(w1, c), cross(w, cross(w, c)))
            f = scale(joints[i, MASS], add(r2, rotate(R, c2)))
            n = add(symmetric_times(Theta, w1), cross(w, symmetric_times(Theta, w)))
            m = add(n, cross(c, rotate_back(R, f)))
            m, f = accumulate_screw(bodies, b, WRENCH, (m, f))
            d = load_vector(bodies, b, RELATIVE + 9)
            to_parent = rotate(load_rotation(bodies, b, RELATIVE), m)
            to_parent = add(to_parent, cross(d, rotate_back(R0, f)))
            accumulate_screw(bodies, p, WRENCH, (to_parent, f))
            z = (R[2], R[5], R[8])
            tau = joints[i, ANGULAR] * m[2] + joints[i, LINEAR] * dot(z, f)
            result[0, j] += tau + joints[i, ROTOR] * state[2, j]
