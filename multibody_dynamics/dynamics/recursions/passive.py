# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Newton-Euler with a reference velocity: M q_r'' + C(q, q') q_r' + g, C of Christoffel symbols.

Besides its twist V, every body has the reference twist V_r = J q_r', whose derivatives are taken
along the motion q(t). In the frame of the body, with the inertia M,

    W = M (V_r' + [V, V_r] / 2) - (ad_V^T M V_r + ad_(V_r)^T M V) / 2 = M V_r' + K(V) V_r.

This is the symmetric bilinear form of the velocity wrench -ad_V^T M V, so C is the matrix of the
Christoffel symbols. K is skew, and so is M' - 2C. Most of K V_r cancels if the balance is taken at
the centre of mass, whose velocity is u under V and y under V_r. With the angular parts w and s of
the twists, and the second moments of the mass Sigma = tr(Theta) / 2 - Theta (Binet's inertia
tensor),

    f = m (y' + w x y),   n = Theta s' + (Sigma w) x s,   W = (n + c x f, f),

which costs no more than ordinary Newton-Euler, where s = w; u itself drops out. All vectors are in
the joint frame as in :mod:`.body_fixed`, where Theta and Sigma are constant, so the rates follow
from the product rule. Gravity enters as an acceleration of the base, both in V' and in V_r'.

Other factorisations with M' - 2C skew exist (A. De Luca, L. Ferrajoli, "A modified Newton-Euler
method for dynamic computations in robot fault detection and control", IEEE ICRA 2009); that of the
Christoffel symbols is the only one with C(q, a) b = C(q, b) a (S. Echeandia, P. M. Wensing,
"Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body systems",
J. Comput. Nonlinear Dyn. 16(9), 2021).

Rows of reference twists, (REFERENCE_ROW,): V_r, V_r', V_r'', V_r''' of a body; row 0 is the base.
"""

from ..core import inlined
from ..lie.screws import (
    accumulate_screw,
    add,
    add3,
    add_screws,
    cross,
    dot,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    muladd,
    muladd_screw,
    scale,
    scale_screw,
    store_screw,
    subtract,
    subtract_screw,
    symmetric_times,
)
from ..model.records import ANGULAR, COM, INERTIA, LINEAR, MASS, ROTOR, TWIST, WRENCH
from .body_fixed import RELATIVE, ad_joint, advance, coad_joint, pull, push
from .poses import clear, coordinate

REFERENCE_ROW = 24


@inlined
def reference_recursion(parents, joints, state, reference, order, bodies, references):
    """Reference twists V_r of all bodies and their derivatives up to V_r^(order + 1).

    `state` (order + 2, n) has q, q', ... and `reference` (order + 2, n) has q_r', q_r'', ...
    `bodies` are the rows filled by :func:`.body_fixed.forward_recursion`; only frames are read.
    Row 0 of `references` holds the motion of the base.
    """
    for i in range(parents.shape[0]):
        p = parents[i] + 1
        b = i + 1
        j = coordinate(joints, i)
        a = joints[i, ANGULAR]
        h = joints[i, LINEAR]
        q1 = state[1, j]
        R = load_rotation(bodies, b, RELATIVE)
        d = load_vector(bodies, b, RELATIVE + 9)

        # V_r = T + Z q_r' with T = A V_r,parent, and derivatives, with A' = -q' ad_Z A
        V0 = advance(a, h, reference[0, j], pull(R, d, load_screw(references, p, 0)))
        T1 = pull(R, d, load_screw(references, p, 6))
        V1 = subtract_screw(T1, ad_joint(a, h, scale_screw(q1, V0)))
        V1 = advance(a, h, reference[1, j], V1)
        store_screw(references, b, 0, V0)
        store_screw(references, b, 6, V1)

        if order > 0:
            q2 = state[2, j]
            T2 = pull(R, d, load_screw(references, p, 12))
            moved = muladd_screw(q2, V0, scale_screw(q1, add_screws(V1, T1)))
            V2 = subtract_screw(T2, ad_joint(a, h, moved))
            V2 = advance(a, h, reference[2, j], V2)
            store_screw(references, b, 12, V2)

            if order > 1:
                T3 = pull(R, d, load_screw(references, p, 18))
                twice = muladd_screw(-q1, ad_joint(a, h, T1), scale_screw(2.0, T2))
                moved = scale_screw(q1, add_screws(V2, twice))
                moved = muladd_screw(q2, muladd_screw(2.0, V1, T1), moved)
                moved = muladd_screw(state[3, j], V0, moved)
                V3 = subtract_screw(T3, ad_joint(a, h, moved))
                store_screw(references, b, 18, advance(a, h, reference[3, j], V3))


@inlined
def second_moments_times(Theta, x):
    """Sigma x with Sigma = tr(Theta) / 2 - Theta."""
    half_trace = 0.5 * (Theta[0] + Theta[3] + Theta[5])
    return subtract(scale(half_trace, x), symmetric_times(Theta, x))


@inlined
def backward_recursion(parents, joints, state, reference, order, bodies, references, result):
    """u = M q_r'' + C q_r' + g and its derivatives up to `order`, in `result` (order + 1, n).

    Needs V, ..., V^(order) in `bodies`, whose wrenches it accumulates, and V_r, ..., V_r^(order+1).
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
        w0 = load_vector(bodies, b, TWIST)
        s0, v0 = load_screw(references, b, 0)
        s1, v1 = load_screw(references, b, 6)

        y0 = add(v0, cross(s0, c))
        y1 = add(v1, cross(s1, c))
        g0 = second_moments_times(Theta, w0)
        f = scale(m, add(y1, cross(w0, y0)))
        n = add(symmetric_times(Theta, s1), cross(g0, s0))
        W0 = accumulate_screw(bodies, b, WRENCH, (add(n, cross(c, f)), f))
        accumulate_screw(bodies, p, WRENCH, push(R, d, W0))
        result[0, j] += a * W0[0][2] + h * W0[1][2] + rotor * reference[1, j]

        if order > 0:
            q1 = state[1, j]
            w1 = load_vector(bodies, b, TWIST + 6)
            s2, v2 = load_screw(references, b, 12)
            y2 = add(v2, cross(s2, c))
            g1 = second_moments_times(Theta, w1)
            f = scale(m, add3(y2, cross(w1, y0), cross(w0, y1)))
            n = add3(symmetric_times(Theta, s2), cross(g1, s0), cross(g0, s1))
            W1 = accumulate_screw(bodies, b, WRENCH + 6, (add(n, cross(c, f)), f))
            # (A^T W)' = A^T (W' - q' ad_Z^T W)
            E0 = coad_joint(a, h, W0)
            accumulate_screw(bodies, p, WRENCH + 6, push(R, d, muladd_screw(q1, E0, W1)))
            result[1, j] += a * W1[0][2] + h * W1[1][2] + rotor * reference[2, j]

            if order > 1:
                w2 = load_vector(bodies, b, TWIST + 12)
                s3, v3 = load_screw(references, b, 18)
                y3 = add(v3, cross(s3, c))
                g2 = second_moments_times(Theta, w2)
                f = add3(y3, cross(w2, y0), muladd(2.0, cross(w1, y1), cross(w0, y2)))
                f = scale(m, f)
                n = add3(cross(g2, s0), scale(2.0, cross(g1, s1)), cross(g0, s2))
                n = add(symmetric_times(Theta, s3), n)
                W2 = accumulate_screw(bodies, b, WRENCH + 12, (add(n, cross(c, f)), f))
                moved = muladd_screw(q1, E0, scale_screw(2.0, W1))
                moved = muladd_screw(state[2, j], W0, scale_screw(q1, moved))
                moved = add_screws(W2, coad_joint(a, h, moved))
                accumulate_screw(bodies, p, WRENCH + 12, push(R, d, moved))
                result[2, j] += a * W2[0][2] + h * W2[1][2] + rotor * reference[3, j]


@inlined
def twist_recursion(parents, joints, rates, bodies, twists):
    """Twists J x, (n + 1, 6), of joint rates x (n,) on a base at rest, in the joint frames.

    `bodies` as in :func:`reference_recursion`.
    """
    for k in range(6):
        twists[0, k] = 0.0
    for i in range(parents.shape[0]):
        b = i + 1
        R = load_rotation(bodies, b, RELATIVE)
        d = load_vector(bodies, b, RELATIVE + 9)
        V = pull(R, d, load_screw(twists, parents[i] + 1, 0))
        rate = rates[coordinate(joints, i)]
        store_screw(twists, b, 0, advance(joints[i, ANGULAR], joints[i, LINEAR], rate, V))


@inlined
def moment_recursion(parents, bodies, references, twists, moments):
    """The matrices L (n, 4, 4) with x . u = sum_i tr(L_i P_i), for the twists J x of x (n,).

    P_i is the pseudo-inertia of body i in its joint frame: the second moments of its mass in
    homogeneous coordinates (p, 1). With twists as 4x4 matrices, a point (p, 1) has the velocity
    V_x (p, 1) and the bilinear acceleration A (p, 1), A = V_r' + V V_r. The power of its inertia
    and weight is the product of both, so L = sym(V_x^T A). The rotors are not included.
    """
    for i in range(parents.shape[0]):
        b = i + 1
        w = load_vector(bodies, b, TWIST)
        s0, v0 = load_screw(references, b, 0)
        s1, v1 = load_screw(references, b, 6)
        e, ve = load_screw(twists, b, 0)
        ax = add(cross(s1, (1, 0, 0)), cross(w, cross(s0, (1, 0, 0))))
        ay = add(cross(s1, (0, 1, 0)), cross(w, cross(s0, (0, 1, 0))))
        az = add(cross(s1, (0, 0, 1)), cross(w, cross(s0, (0, 0, 1))))
        at = add(v1, cross(w, v0))
        gx, gy, gz, gt = cross(ax, e), cross(ay, e), cross(az, e), cross(at, e)
        moments[i, 0, 0] = gx[0]
        moments[i, 1, 1] = gy[1]
        moments[i, 2, 2] = gz[2]
        moments[i, 3, 3] = dot(ve, at)
        moments[i, 0, 1] = moments[i, 1, 0] = 0.5 * (gx[1] + gy[0])
        moments[i, 0, 2] = moments[i, 2, 0] = 0.5 * (gx[2] + gz[0])
        moments[i, 1, 2] = moments[i, 2, 1] = 0.5 * (gy[2] + gz[1])
        moments[i, 0, 3] = moments[i, 3, 0] = 0.5 * (gt[0] + dot(ve, ax))
        moments[i, 1, 3] = moments[i, 3, 1] = 0.5 * (gt[1] + dot(ve, ay))
        moments[i, 2, 3] = moments[i, 3, 2] = 0.5 * (gt[2] + dot(ve, az))
