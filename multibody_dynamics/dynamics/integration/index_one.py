# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Accelerations and multipliers of constrained bodies in absolute coordinates, compiled.

[MT13] (3), the index-1 form of the Boltzmann-Hamel equations,

    M V' + J^T lambda = Q,    J V' = eta - 2 alpha J V - beta^2 g,

whose last two terms are Baumgarte's stabilisation, is solved at one state by the Schur complement:

    S lambda = J M^-1 Q - eta,    S = J M^-1 J^T,    V' = M^-1 (Q - J^T lambda).

The unknowns here are (alpha, r_c'') of the centres of mass in inertial axes: M is block diagonal,
M^-1 is known in closed form, and forces and joints do not depend on the group of the integration.
S is factorised as L D L^T with diagonal pivoting; rows whose pivot vanishes are redundant and get
no reaction.

Compiled code takes flat rows of numbers:

``BODY`` row, constants of a body: MASS, COM (3) in its frame, INERTIA (6) about the COM (xx xy xz
    yy yz zz) in its axes and its INVERSE (6).
``POSE`` row: R (9) row by row, r (3).
``MOTION`` row, the motion of a body: omega, r_c', lever r_c - r, inverse inertia (6), wrench (m, f)
    about the COM, acceleration without and with constraints, all in inertial axes.
``JOINT`` row: frames A in the first body and B in the second, each R (9), p (3).
``ROW`` row, a constraint: m (3), f (3), period and offset, see :class:`.ForbiddenMotions`.
``WORK`` row of a constraint: J for the first body (6) and the second (6), M^-1 J^T of both (12).
``VALUES`` row of a constraint: eta, violations of position and velocity, multiplier.
``SPRING`` row: end points in the bodies (3 each), stiffness, damping, rest length.
"""

from math import atan2
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..core import Array, compiled, inlined
from ..lie.screws import (
    add,
    add3,
    cross,
    dot,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    matmul,
    muladd,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    store_screw,
    store_vector,
    subtract,
    symmetric_times,
)
from .free_screws import CROSSED, INERTIAL

MASS = 0
COM = 1
INERTIA = 4
INVERSE = 10
BODY_ROW = 16

R, POSITION, POSE_ROW = 0, 9, 12

OMEGA = 0
RATE = 3
LEVER = 6
INVERSE_INERTIA = 9
FORCE = 15
FREE = 21
ACCELERATION = 27
MOTION_ROW = 33

FIRST_FRAME, SECOND_FRAME, JOINT_ROW = 0, 12, 24
M_VECTOR, F_VECTOR, PERIOD, OFFSET, ROW_ROW = 0, 3, 6, 7, 8

J_FIRST, J_SECOND, WEIGHTED, WORK_ROW = 0, 6, 12, 24
ETA, VIOLATION, VIOLATION_RATE, MULTIPLIER, VALUES = 0, 1, 2, 3, 4

SPRING_FIRST, SPRING_SECOND, STIFFNESS, DAMPING, LENGTH, SPRING_ROW = 0, 3, 6, 7, 8, 9

REDUNDANT = 1e-11  # pivots smaller than this, relative to their row, count as zero


class SystemConstants(NamedTuple):
    """The constants of a system: rows as above, with the indices of their bodies and joints.

    spring_bodies, joint_bodies : (., 2) int, the bodies at both ends, -1 for the ground.
    row_joints, row_kinds : (m,) int, joint and kind (CARRIED, INERTIAL, CROSSED) of a constraint.
    """

    bodies: NDArray[Any]
    gravity: NDArray[Any]
    spring_bodies: NDArray[Any]
    springs: NDArray[Any]
    joint_bodies: NDArray[Any]
    joints: NDArray[Any]
    row_joints: NDArray[Any]
    row_kinds: NDArray[Any]
    rows: NDArray[Any]


class IndexOneScratch(NamedTuple):
    """Scratch memory of the solution, for n bodies and m constraints; rows as above."""

    motion: Array  # (n, MOTION_ROW)
    rows: Array  # (m, WORK_ROW)
    values: Array  # (m, VALUES)
    S: Array  # (m, m)
    order: NDArray[Any]  # (m,) int
    vectors: Array  # (3, m) scales of the pivots, right-hand side, solution


@inlined
def body_motion(system, applied, pose, velocity, motion):
    """Write the MOTION rows of all bodies, without the forces of joints and springs.

    velocity : (n, 6) (omega, r') in inertial axes.
    """
    bodies, gravity = system.bodies, system.gravity
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        omega, rate = load_screw(velocity, i, 0)
        lever = rotate(Q, load_vector(bodies, i, COM))
        store_vector(motion, i, OMEGA, omega)
        store_vector(motion, i, RATE, add(rate, cross(omega, lever)))
        store_vector(motion, i, LEVER, lever)
        inverse = rotate_symmetric(Q, load_symmetric(bodies, i, INVERSE))
        for k in range(6):
            motion[i, INVERSE_INERTIA + k] = inverse[k]
        # the applied wrench (m, f) about the inertial origin, and the gyroscopic moment
        m, f = load_screw(applied, i, 0)
        center = add(load_vector(pose, i, POSITION), lever)
        w = rotate_back(Q, omega)
        spin = rotate(Q, cross(symmetric_times(load_symmetric(bodies, i, INERTIA), w), w))
        f_total = add(f, scale(bodies[i, MASS], (gravity[0], gravity[1], gravity[2])))
        store_screw(motion, i, FORCE, (add3(spin, m, cross(f, center)), f_total))


@inlined
def point_motion(pose, motion, i, p):
    """Motion of the point p fixed in body i (-1: the ground): position, lever from the COM, omega,
    velocity, and the part of the acceleration that does not depend on r_c'' and alpha."""
    if i < 0:
        o = (0.0, 0.0, 0.0)
        return p, o, o, o, o
    s = rotate(load_rotation(pose, i, R), p)
    lever = subtract(s, load_vector(motion, i, LEVER))
    omega = load_vector(motion, i, OMEGA)
    spun = cross(omega, lever)
    return (
        add(load_vector(pose, i, POSITION), s),
        lever,
        omega,
        add(load_vector(motion, i, RATE), spun),
        cross(omega, spun),
    )


@inlined
def _spring_forces(spring_bodies, springs, pose, motion):
    """Add the forces of all springs to FORCE of the bodies."""
    for k in range(springs.shape[0]):
        i, j = spring_bodies[k, 0], spring_bodies[k, 1]
        p_i, l_i, _, v_i, _ = point_motion(pose, motion, i, load_vector(springs, k, SPRING_FIRST))
        p_j, l_j, _, v_j, _ = point_motion(pose, motion, j, load_vector(springs, k, SPRING_SECOND))
        d = subtract(p_j, p_i)
        v = subtract(v_j, v_i)
        length = dot(d, d) ** 0.5
        if springs[k, LENGTH] > 0.0:
            n = scale(1.0 / length, d)
            pull = springs[k, STIFFNESS] * (length - springs[k, LENGTH])
            f = scale(pull + springs[k, DAMPING] * dot(n, v), n)
        else:  # zero rest length: the pull is along d, which may vanish
            f = muladd(springs[k, STIFFNESS], d, scale(springs[k, DAMPING], v))
        if i >= 0:
            m, f_i = load_screw(motion, i, FORCE)
            store_screw(motion, i, FORCE, (add(m, cross(l_i, f)), add(f_i, f)))
        if j >= 0:
            m, f_j = load_screw(motion, j, FORCE)
            store_screw(motion, j, FORCE, (add(m, cross(f, l_j)), subtract(f_j, f)))


@inlined
def _frame(pose, i, joints, j, k):
    """Rotation of a joint frame that is fixed in body i."""
    A = load_rotation(joints, j, k)
    if i < 0:
        return A
    return matmul(load_rotation(pose, i, R), A)


@inlined
def constraint_rows(system, pose, scratch):
    """Write J, eta, and the violations of position and velocity of every constraint."""
    _, _, _, _, joint_bodies, joints, row_joints, row_kinds, rows = system
    motion, work, values = scratch.motion, scratch.rows, scratch.values
    for r in range(rows.shape[0]):
        j = row_joints[r]
        i_a, i_b = joint_bodies[j, 0], joint_bodies[j, 1]
        p_a = load_vector(joints, j, FIRST_FRAME + POSITION)
        p_b = load_vector(joints, j, SECOND_FRAME + POSITION)
        r_a, l_a, w_a, v_a, b_a = point_motion(pose, motion, i_a, p_a)
        r_b, l_b, w_b, v_b, b_b = point_motion(pose, motion, i_b, p_b)
        A, B = _frame(pose, i_a, joints, j, FIRST_FRAME), _frame(pose, i_b, joints, j, SECOND_FRAME)
        m, f = load_screw(rows, r, M_VECTOR)
        spin = subtract(w_b, w_a)
        p, v, b = subtract(r_b, r_a), subtract(v_b, v_a), subtract(b_b, b_a)
        if row_kinds[r] == CROSSED:
            x, y = rotate(A, m), rotate(B, f)
            d = cross(x, y)
            o = (0.0, 0.0, 0.0)
            first, second = (scale(-1.0, d), o), (d, o)
            bias = dot(add(cross(cross(w_a, x), y), cross(x, cross(w_b, y))), spin)
            rate = dot(d, spin)
            violation = rows[r, OFFSET] - dot(x, y)
        elif row_kinds[r] == INERTIAL:
            first, second = (cross(f, l_a), scale(-1.0, f)), (cross(l_b, f), f)
            bias = dot(f, b)
            rate = dot(f, v)
            violation = dot(f, p)
        else:
            d, n = rotate(A, m), rotate(A, f)
            slip = subtract(v, cross(w_a, p))  # velocity of B in A, in inertial axes
            first = (subtract(cross(n, add(l_a, p)), d), scale(-1.0, n))
            second = (add(d, cross(l_b, n)), n)
            bias = dot(cross(w_a, d), spin) + dot(n, subtract(b, cross(w_a, v)))
            bias += dot(cross(w_a, n), slip)
            rate = dot(d, spin) + dot(n, slip)
            # rotation of B in A: tilt of its z axis, and angle about z
            z = rotate_back(A, (B[2], B[5], B[8]))
            x_b, y_b = rotate_back(A, (B[0], B[3], B[6])), rotate_back(A, (B[1], B[4], B[7]))
            angle = atan2(x_b[1] - y_b[0], x_b[0] + y_b[1])
            violation = dot(n, p) - m[0] * z[1] + m[1] * z[0] + m[2] * angle
            if rows[r, PERIOD] > 0.0:
                violation -= rows[r, PERIOD] * round(violation / rows[r, PERIOD])
        store_screw(work, r, J_FIRST, first)
        store_screw(work, r, J_SECOND, second)
        values[r, ETA] = -bias
        values[r, VIOLATION] = violation
        values[r, VIOLATION_RATE] = rate


@inlined
def _weighted(bodies, motion, i, W):
    """M^-1 W of body i."""
    if i < 0:
        return ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    inverse = load_symmetric(motion, i, INVERSE_INERTIA)
    return (symmetric_times(inverse, W[0]), scale(1.0 / bodies[i, MASS], W[1]))


@inlined
def _product(work, r, k, s, c):
    """The dot product of six entries of two rows."""
    total = 0.0
    for e in range(6):
        total += work[r, k + e] * work[s, c + e]
    return total


@inlined
def schur(system, scratch):
    """Write M^-1 J^T, and the lower triangle of S = J M^-1 J^T, from the rows of J."""
    bodies, joint_bodies, row_joints = system.bodies, system.joint_bodies, system.row_joints
    motion, work, S = scratch.motion, scratch.rows, scratch.S
    for r in range(S.shape[0]):
        j = row_joints[r]
        a, b = joint_bodies[j, 0], joint_bodies[j, 1]
        store_screw(work, r, WEIGHTED, _weighted(bodies, motion, a, load_screw(work, r, J_FIRST)))
        store_screw(
            work, r, WEIGHTED + 6, _weighted(bodies, motion, b, load_screw(work, r, J_SECOND))
        )
        for s in range(r + 1):
            c, d = joint_bodies[row_joints[s], 0], joint_bodies[row_joints[s], 1]
            total = 0.0
            if a >= 0 and a == c:
                total += _product(work, r, WEIGHTED, s, J_FIRST)
            if a >= 0 and a == d:
                total += _product(work, r, WEIGHTED, s, J_SECOND)
            if b >= 0 and b == c:
                total += _product(work, r, WEIGHTED + 6, s, J_FIRST)
            if b >= 0 and b == d:
                total += _product(work, r, WEIGHTED + 6, s, J_SECOND)
            S[r, s] = total


@inlined
def ldl(S, order, scales):
    """P S P^T = L D L^T in place, in the lower triangle, with the largest relative pivot first;
    returns the rank."""
    m = S.shape[0]
    for r in range(m):
        order[r] = r
        scales[r] = S[r, r]
    for k in range(m):
        best = k
        for r in range(k + 1, m):
            if S[r, r] * scales[best] > S[best, best] * scales[r]:
                best = r
        if not S[best, best] > REDUNDANT * scales[best]:
            return k
        if best != k:  # exchange rows and columns k and best of the symmetric matrix
            order[k], order[best] = order[best], order[k]
            scales[k], scales[best] = scales[best], scales[k]
            S[k, k], S[best, best] = S[best, best], S[k, k]
            for c in range(k):
                S[k, c], S[best, c] = S[best, c], S[k, c]
            for c in range(k + 1, best):
                S[c, k], S[best, c] = S[best, c], S[c, k]
            for c in range(best + 1, m):
                S[c, k], S[c, best] = S[c, best], S[c, k]
        for r in range(k + 1, m):
            factor = S[r, k] / S[k, k]
            for c in range(k + 1, r + 1):
                S[r, c] -= factor * S[c, k]
        for r in range(k + 1, m):
            S[r, k] /= S[k, k]
    return m


@inlined
def substitute(S, order, rank, b, x):
    """Solve S x = b for a consistent b (m,); entries of redundant rows are zero."""
    for r in range(S.shape[0]):
        x[r] = 0.0
    for k in range(rank):
        y = b[order[k]]
        for c in range(k):
            y -= S[k, c] * x[order[c]]
        x[order[k]] = y
    for k in range(rank):
        x[order[k]] /= S[k, k]
    for back in range(rank):
        k = rank - 1 - back
        y = x[order[k]]
        for r in range(k + 1, rank):
            y -= S[r, k] * x[order[r]]
        x[order[k]] = y


@inlined
def _along(system, scratch, k, r):
    """Row r of J times the screws in column k of the bodies' rows."""
    joint_bodies, motion, work = system.joint_bodies, scratch.motion, scratch.rows
    j = system.row_joints[r]
    total = 0.0
    for side in range(2):
        i = joint_bodies[j, side]
        if i >= 0:
            for e in range(6):
                total += work[r, 6 * side + e] * motion[i, k + e]
    return total


@inlined
def react(system, scratch, k):
    """Subtract M^-1 J^T x from the screws in column k of the bodies' rows; x is the solution."""
    joint_bodies, row_joints = system.joint_bodies, system.row_joints
    motion, work, x = scratch.motion, scratch.rows, scratch.vectors[2]
    for r in range(work.shape[0]):
        j = row_joints[r]
        for side in range(2):
            i = joint_bodies[j, side]
            if i >= 0:
                for e in range(6):
                    motion[i, k + e] -= x[r] * work[r, WEIGHTED + 6 * side + e]


@inlined
def index_one(system, stabilisation, applied, pose, velocity, scratch):
    """Write the accelerations of all bodies at one state to ACCELERATION of `scratch.motion`.

    Parameters
    ----------
    system : SystemConstants.
    stabilisation : (2,) Baumgarte's alpha and beta, 1/s.
    applied : (n, 6) wrenches in inertial axes about the inertial origin.
    pose, velocity : (n, 12), (n, 6): (omega, r') in inertial axes.
    scratch : IndexOneScratch, overwritten; `values` holds the multipliers.

    Returns the rank of the constraints.
    """
    motion, _, values, S, order, vectors = scratch
    alpha, beta = stabilisation[0], stabilisation[1]
    body_motion(system, applied, pose, velocity, motion)
    _spring_forces(system.spring_bodies, system.springs, pose, motion)
    for i in range(pose.shape[0]):
        free = _weighted(system.bodies, motion, i, load_screw(motion, i, FORCE))
        store_screw(motion, i, FREE, free)
        store_screw(motion, i, ACCELERATION, free)
    constraint_rows(system, pose, scratch)
    schur(system, scratch)
    rank = ldl(S, order, vectors[0])
    for r in range(values.shape[0]):
        wanted = values[r, ETA] - 2.0 * alpha * values[r, VIOLATION_RATE]
        wanted -= beta * beta * values[r, VIOLATION]
        vectors[1, r] = _along(system, scratch, FREE, r) - wanted
    substitute(S, order, rank, vectors[1], vectors[2])
    react(system, scratch, ACCELERATION)
    for r in range(values.shape[0]):
        values[r, MULTIPLIER] = vectors[2, r]
    return rank


index_one_cycle = compiled(index_one)
