# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematics and dynamics of mechanisms with loops, compiled: one tree recursion, one Jacobian.

The independent coordinates s of a closed mechanism determine the others. Every row of
:mod:`.loop_rows` is an equation f(q) = 0 with f' = w . (V_2 - V_1), where u and x are now in
inertial axes, u turns with the first body, x moves with the second, and

    w = (cross(x, u) - h u, kind u)    is the wrench on the second body for a unit multiplier.

With A = df/dq, A_d its columns of the dependent joints, and the Leibniz rule,

    A_d dq_d = -f                                            positions, by Newton's method
    A_d q_d^(k) = -f^(k) with q_d^(k) = 0                    k = 1 ... 4
    f^(k) = sum_j C(k-1, j) w^(j) . (V_2 - V_1)^(k-1-j)
    A^(k) = sum_j C(k, j) w^(j) . S^(k-j)

so that one factorisation serves all derivatives. f depends on the joints between the two bodies of
its loop only, whose bodies are the links here. All of this therefore happens on a smaller tree, of
the links of all loops, on a base at rest, with the other joints at q = 0. The torques Q of the
whole tree, from its recursion, are distributed to the actuated joints by multipliers lambda: with
passive joints p, [K12] (56), (57),

    A_p^T lambda = Q_p - tau_p,    tau_a = Q_a - A_a^T lambda,

and their time derivatives, again with one factorisation. Q includes what springs and dampers at
passive joints ask for, K (q - q0) + D q'. If the loops have more motors than degrees
of freedom, the torques of least norm satisfy also A v = 0 with v_a = tau_a, [K12] (62)-(64), and
the multipliers of least norm A_p v = lambda, [K12] (59).

With G = dq/ds, whose derivatives follow from A G = 0 in the same way, the momentum p = M q' of the
tree and the bias beta of its rate become G^T p and G^T beta - G'^T p. Both need no G: with
A_d^T y = p_d,

    G^T p = p_s - A_s^T y,    -G'^T p = G^T A'^T y,    because A G = 0 and A' G + A G' = 0.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ..codegen import cosine, sine
from ..core import IS_COMPILED, Array, Integers, compiled, inlined
from ..lie.screws import (
    cross,
    dot,
    load_rotation,
    load_screw,
    load_vector,
    muladd,
    muladd_screw,
    pair,
    rotate,
    scale,
    store_screw,
    store_vector,
    subtract,
    subtract_screw,
)
from ..model.records import POSE, POSITION, SCREW, TWIST, WRENCH
from ..recursions import coordinate, momentum_pass, spatial, store_trig
from ..rigid import PLAIN_CYCLES, mass_matrix_factors, mass_matrix_recursion
from .ball_charts import renew_chart
from .loop_rows import DIRECTION, KIND, MEMBER, NORMAL, PITCH, PLANE, TURNED, VALUE
from .square_systems import factorise, solve, solve_transposed

if IS_COMPILED:  # compiled code has numbers, recorded code expressions
    from numba.extending import overload

    overload(sine)(lambda angle: lambda angle: math.sin(angle))
    overload(cosine)(lambda angle: lambda angle: math.cos(angle))

forward_recursion = spatial.forward_recursion
momentum_recursion = momentum_pass.momentum_recursion
uncounted = partial(inlined, uncounted=True)
_body_fixed_cycle, spatial_cycle = PLAIN_CYCLES["body"], PLAIN_CYCLES["spatial"]

ITERATIONS = 50
CONVERGED = 1e-14  # rad or m; a Newton step, whose square is the remaining error
ROUNDING = 1e-9  # smaller steps that no longer shrink consist of rounding error
LONGEST_STEP = 0.5  # rad or m
LONGEST_WAY = 1.0  # rad or m; where more steps lead, the mechanism is assembled in another way
STRIDE = 0.1  # rad, of the independent joints from one closed configuration to the next
MOST_STRIDES = 1000  # a longer way is not gone: a cycle has to end
INERTIAL = 1e-14  # a smaller pivot of the reduced mass matrix, over its diagonal, counts as zero

BINOMIAL = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [1, 2, 1, 0], [1, 3, 3, 1]])

# The header of `plan`: counts, and where the lists behind it begin
DOF = 0  # independent coordinates
KEPT = 1  # independent rows, m; the other rows are only checked
LEAST = 2  # how the torques are distributed
INDEPENDENT = 3
DEPENDENT = 4
ACTUATED = 5
PASSIVE = 6
SIDES = 7  # for each row: the rows of its two bodies, and where its path begins and ends
PIVOTS = 8  # (2, s) scratch
CLOSED = 9  # whether the last update has succeeded
JOINTS = 10  # n, of the tree
BALLS = 11  # how many, and their table
CHARTS = 12
HEADER = 13

# How the torques are distributed
SHARED_FACTORS = 0  # the passive joints are the dependent ones
OWN_FACTORS = 1
LEAST_NORM = 2  # of the torques
LEAST_FORCE = 3  # the least norm of the multipliers

# Rows of `vectors` (VECTORS, s)
LAST = 0  # three: q, q', q'' of the last closed configuration
RESIDUAL = 3
STEP = 4
ROW_SIZE = 5
SPREAD = 6
RHS = 7
TORQUE = 8  # three: of the tree, with rates
PASSIVE_TORQUE = 11  # three, given
MULTIPLIER = 14  # three
FLOW = 17  # three: v
REPORT = 20
TRIG = 21  # two: of the links
START = 23  # a closed configuration, from which far ones are approached
TREE_TRIG = 24  # two
STRIDES = 26  # of each independent coordinate, rad or m
SPRINGS = 27  # three: stiffness, rest and damping of each joint
VECTORS = 30

# Columns of the row REPORT
PROBLEM = 0
WHERE = 1  # the row, or the column of the dependent joint
AMOUNT = 2
MARGIN = 3  # the smallest pivot of the last factorisation, relative to its row
SINGULAR = 4  # the smallest pivot that is accepted
OPENING = 5  # the largest residual of the dependent rows that is accepted
CLOSED_MARGIN = 6  # the smallest pivot at the last pose at which the loops were closed
REPORT_COLUMNS = 7

# Problems
NONE = 0
SINGULAR_POSE = 1
NOT_CLOSED = 2
DEPENDENT_ROW = 3
MOTORS_LOCKED = 4
NO_INERTIA = 5
TOO_FAR = 6

# Row of `wrenches`: w ... w''', then u ... u''' and x ... x''', in inertial axes
MEMBERS = 24
WRENCHES_ROW = 48

# Blocks of `matrices` (MATRICES, s, s)
JACOBIANS = 0  # four: A ... A'''
FACTORS = 4  # of A_d
MOTOR_FACTORS = 5
INERTIA = 6  # M
REDUCED_INERTIA = 7  # G^T M G
REDUCTION = 8  # four: G ... G''', with q' = G s'
MATRICES = 12


class Work(NamedTuple):
    """Views of the scratch arrays. They are made once, since each costs some 10 ns."""

    vectors: Array
    jacobians: Array  # A ... A'''
    factors: Array  # of A_d
    motor_factors: Array
    order: Integers  # of the rows of the factors
    motor_order: Integers
    residual: Array
    step: Array
    row_size: Array
    spread: Array
    rhs: Array


@inlined
def work(plan, matrices, vectors):
    first = plan[PIVOTS]
    second = first + plan[JOINTS]
    return Work(
        vectors, matrices, matrices[FACTORS], matrices[MOTOR_FACTORS], plan[first:], plan[second:],
        vectors[RESIDUAL], vectors[STEP], vectors[ROW_SIZE], vectors[SPREAD], vectors[RHS],
    )  # fmt: skip


@uncounted
def report(w, problem, where, amount):
    w.vectors[REPORT, PROBLEM] = problem
    w.vectors[REPORT, WHERE] = where
    w.vectors[REPORT, AMOUNT] = amount


@uncounted
def place_rows(plan, rows, bodies, wrenches, w):
    """Residuals f, and the rows u, x, w of `wrenches`, from the poses in `bodies`."""
    sides = plan[SIDES]
    for r in range(rows.shape[0]):
        b1, b2 = plan[sides + 4 * r], plan[sides + 4 * r + 1]
        kind = rows[r, KIND]
        R1 = load_rotation(bodies, b1, POSE)
        u = rotate(R1, load_vector(rows, r, DIRECTION))
        c = muladd(kind, load_vector(bodies, b1, POSITION), rotate(R1, load_vector(rows, r, PLANE)))
        x = muladd(
            kind,
            load_vector(bodies, b2, POSITION),
            rotate(load_rotation(bodies, b2, POSE), load_vector(rows, r, MEMBER)),
        )
        w.residual[r] = dot(u, subtract(x, c)) - rows[r, VALUE]
        h = rows[r, PITCH]
        if h != 0.0:
            z = rotate(R1, load_vector(rows, r, NORMAL))
            turned = rotate(load_rotation(bodies, b2, POSE), load_vector(rows, r, TURNED))
            way = w.residual[r] / h
            cosine_phi, sine_phi = dot(z, turned), dot(cross(u, z), turned)
            w.residual[r] = h * (sine(way) * cosine_phi - cosine(way) * sine_phi)
        store_vector(wrenches, r, MEMBERS, u)
        store_vector(wrenches, r, MEMBERS + 12, x)
        store_screw(wrenches, r, 0, (muladd(-h, u, cross(x, u)), scale(kind, u)))


@uncounted
def move_rows(k, plan, rows, bodies, wrenches):
    """The k-th derivatives of u, x and w, k > 0, from the twists in `bodies` to order k - 1."""
    sides = plan[SIDES]
    for r in range(plan[KEPT]):
        b1, b2 = plan[sides + 4 * r], plan[sides + 4 * r + 1]
        kind = rows[r, KIND]
        u = (0.0, 0.0, 0.0)
        x = scale(kind, load_vector(bodies, b2, TWIST + 6 * k - 3))
        for j in range(k):
            c = BINOMIAL[k - 1, j]
            u1 = load_vector(wrenches, r, MEMBERS + 3 * (k - 1 - j))
            x1 = load_vector(wrenches, r, MEMBERS + 12 + 3 * (k - 1 - j))
            u = muladd(c, cross(load_vector(bodies, b1, TWIST + 6 * j), u1), u)
            x = muladd(c, cross(load_vector(bodies, b2, TWIST + 6 * j), x1), x)
        store_vector(wrenches, r, MEMBERS + 3 * k, u)
        store_vector(wrenches, r, MEMBERS + 12 + 3 * k, x)
        moment = scale(-rows[r, PITCH], u)
        for j in range(k + 1):
            uj = load_vector(wrenches, r, MEMBERS + 3 * (k - j))
            xj = load_vector(wrenches, r, MEMBERS + 12 + 3 * j)
            moment = muladd(BINOMIAL[k, j], cross(xj, uj), moment)
        store_screw(wrenches, r, 6 * k, (moment, scale(kind, u)))


@uncounted
def fill_jacobian(k, plan, joints, bodies, wrenches, w):
    """A^(k) (m, n), from the joint screws and the rows to order k."""
    sides, count = plan[SIDES], plan[JOINTS]
    for r in range(plan[KEPT]):
        for c in range(count):
            w.jacobians[k, r, c] = 0.0
        for e in range(plan[sides + 4 * r + 2], plan[sides + 4 * r + 3], 2):
            i = plan[e]
            entry = 0.0
            for j in range(k + 1):
                S = load_screw(bodies, i + 1, SCREW + 6 * (k - j))
                entry += BINOMIAL[k, j] * pair(S, load_screw(wrenches, r, 6 * j))
            w.jacobians[k, r, coordinate(joints, i)] += plan[e + 1] * entry


@uncounted
def factorise_columns(plan, columns, F, order, w):
    """Factorise the columns of A (m, n) that are listed at plan[columns]; see `factorise`."""
    m, n = plan[KEPT], plan[JOINTS]
    for r in range(m):
        size = 1e-300
        for c in range(n):
            size = max(size, abs(w.jacobians[0, r, c]))
        w.row_size[r] = size
        for c in range(m):
            F[r, c] = w.jacobians[0, r, plan[columns + c]]
    return factorise(F, m, w.row_size, order)


@uncounted
def close(parents, joints, plan, rows, motion, trig, bodies, wrenches, w):
    """Newton's method for q_d in `motion`[0]; leaves A and its factors, and returns success.

    The step after the last factorisation is at most of the size CONVERGED, or of rounding error.
    """
    m, dependent = plan[KEPT], plan[DEPENDENT]
    previous, way = 1e300, 0.0
    is_closed = False
    for _ in range(ITERATIONS):
        store_trig(joints, motion, trig)
        forward_recursion(parents, joints, trig, motion, 0, bodies)
        place_rows(plan, rows, bodies, wrenches, w)
        fill_jacobian(0, plan, joints, bodies, wrenches, w)
        margin, where = factorise_columns(plan, dependent, w.factors, w.order, w)
        w.vectors[REPORT, MARGIN] = margin
        if not margin > w.vectors[REPORT, SINGULAR]:
            report(w, SINGULAR_POSE, where, margin)
            return False
        solve(w.factors, m, w.order, w.residual, w.step)
        length = 0.0
        for c in range(m):
            if not abs(w.step[c]) < 1e300:  # nor is NaN
                way = LONGEST_WAY
            length = max(length, abs(w.step[c]))
        if not way < LONGEST_WAY:
            break
        is_closed = length <= CONVERGED or (length <= ROUNDING and length > 0.25 * previous)
        if is_closed:
            break
        previous = length
        way += min(length, LONGEST_STEP)
        share = min(1.0, LONGEST_STEP / length)
        for c in range(m):
            motion[0, plan[dependent + c]] -= share * w.step[c]
    worst = 0
    first = m if is_closed else 0
    for r in range(first, rows.shape[0]):
        if r == first or abs(w.residual[r]) > abs(w.residual[worst]):
            worst = r
    if not is_closed:
        report(w, NOT_CLOSED, worst, w.residual[worst])
        return False
    if worst >= m and not abs(w.residual[worst]) <= w.vectors[REPORT, OPENING]:
        report(w, DEPENDENT_ROW, worst, w.residual[worst])
        return False
    w.vectors[REPORT, CLOSED_MARGIN] = margin
    return True


@uncounted
def strides(plan, state, w):
    """The number of steps from the last closed configuration to `state`; 0, with a report, for more
    than MOST_STRIDES."""
    most = 0.0
    for c in range(plan[DOF]):
        i = plan[plan[INDEPENDENT] + c]
        way = abs(state[0, c] - w.vectors[LAST, i])
        if way / w.vectors[STRIDES, c] > MOST_STRIDES:
            report(w, TOO_FAR, c, way)
            return 0
        most = max(most, way / w.vectors[STRIDES, c])
    return math.ceil(most) if most > 1.0 else 1


@uncounted
def settle(n, rows, k, w):
    """Take q (n,) in row k, at rest, for the last closed configuration."""
    for c in range(n):
        w.vectors[LAST, c] = rows[k, c]
        w.vectors[LAST + 1, c] = w.vectors[LAST + 2, c] = 0.0


@uncounted
def renew_charts(plan, w):
    """Pass to other charts of balls, if the last configuration is far out in theirs."""
    for k in range(plan[BALLS]):
        i, hand = plan[plan[CHARTS] + 2 * k], plan[plan[CHARTS] + 2 * k + 1]
        if renew_chart(w.vectors[LAST], i, hand):
            settle(plan[JOINTS], w.vectors, LAST, w)
            plan[CLOSED] = 0


@uncounted
def approach(parents, joints, plan, rows, state, motion, trig, bodies, wrenches, w):
    """Close the loops at `state`. If that is far from the last configuration, the independent
    joints go there from START on a straight line, which decides between the ways in which the
    mechanism can be assembled, whatever was computed before."""
    n = plan[JOINTS]
    if strides(plan, state, w) != 1:
        settle(n, w.vectors, START, w)
        plan[CLOSED] = 0
    left = strides(plan, state, w)
    if left == 0:
        return False
    if not plan[CLOSED]:  # predictions need the factors there
        for i in range(n):
            motion[0, i] = w.vectors[LAST, i]
        if not close(parents, joints, plan, rows, motion, trig, bodies, wrenches, w):
            return False
        settle(n, motion, 0, w)
        plan[CLOSED] = 1
    while left > 0:
        renew_charts(plan, w)
        for c in range(plan[DOF]):
            i = plan[plan[INDEPENDENT] + c]
            motion[0, i] = state[0, c]
            if left > 1:
                motion[0, i] = w.vectors[LAST, i] + (state[0, c] - w.vectors[LAST, i]) / left
        predict(plan, motion, w)
        if not close(parents, joints, plan, rows, motion, trig, bodies, wrenches, w):
            return False
        left -= 1
        if left > 0:
            settle(n, motion, 0, w)
            plan[CLOSED] = 1
    return True


@uncounted
def predict(plan, motion, w):
    """Start from the last configuration, and follow the independent joints to second order.

    With the step ds of the independent joints, and the time dt in which they made it along the last
    motion, A_d dq_d = -A_i ds + A q'' dt^2 / 2, because A q'' = -A' q'. A motion that just begins
    or ends has no such dt: its speed changes by more than itself.
    """
    m, n, last = plan[KEPT], plan[JOINTS], w.vectors
    dependent, independent = plan[DEPENDENT], plan[INDEPENDENT]
    for c in range(m):
        motion[0, plan[dependent + c]] = last[LAST, plan[dependent + c]]
    for k in range(plan[BALLS]):
        chart = plan[plan[CHARTS] + 2 * k]
        motion[0, chart] = last[LAST, chart]
    if plan[CLOSED]:
        along, square, bend = 0.0, 1e-300, 0.0
        for c in range(independent, dependent):
            i = plan[c]
            along += (motion[0, i] - last[LAST, i]) * last[LAST + 1, i]
            square += last[LAST + 1, i] * last[LAST + 1, i]
            bend += last[LAST + 2, i] * last[LAST + 2, i]
        dt = along / square
        if not dt * dt * bend <= square:
            dt = 0.0
        for r in range(m):
            left = 0.0
            for c in range(independent, dependent):
                i = plan[c]
                left += w.jacobians[0, r, i] * (motion[0, i] - last[LAST, i])
            for i in range(n):
                left -= 0.5 * dt * dt * w.jacobians[0, r, i] * last[LAST + 2, i]
            w.residual[r] = left
        solve(w.factors, m, w.order, w.residual, w.step)
        for c in range(m):
            motion[0, plan[dependent + c]] -= w.step[c]
    plan[CLOSED] = 0


@uncounted
def rate_defect(k, plan, bodies, wrenches, w):
    """f^(k) at q_d^(k) = 0, with which `bodies` has the twists, into `w.residual`."""
    sides = plan[SIDES]
    for r in range(plan[KEPT]):
        b1, b2 = plan[sides + 4 * r], plan[sides + 4 * r + 1]
        left = 0.0
        for j in range(k):
            at = TWIST + 6 * (k - 1 - j)
            between = subtract_screw(load_screw(bodies, b2, at), load_screw(bodies, b1, at))
            left += BINOMIAL[k - 1, j] * pair(between, load_screw(wrenches, r, 6 * j))
        w.residual[r] = left


@uncounted
def add_rate(k, parents, joints, plan, motion, bodies, w):
    """q_d^(k) = -`w.step` into `motion`, and its share into the twists."""
    m, dependent = plan[KEPT], plan[DEPENDENT]
    for c in range(plan[JOINTS]):
        w.spread[c] = 0.0
    for c in range(m):
        i = plan[dependent + c]
        w.spread[i] = motion[k, i] = -w.step[c]
    at = TWIST + 6 * (k - 1)
    for j in range(6):
        bodies[0, WRENCH + j] = 0.0
    for i in range(parents.shape[0]):
        S = load_screw(bodies, i + 1, SCREW)
        above = load_screw(bodies, parents[i] + 1, WRENCH)
        change = muladd_screw(w.spread[coordinate(joints, i)], S, above)
        store_screw(bodies, i + 1, WRENCH, change)
        store_screw(bodies, i + 1, at, muladd_screw(1.0, load_screw(bodies, i + 1, at), change))


@uncounted
def find_rate(k, parents, joints, plan, rows, motion, bodies, wrenches, w):
    """q_d^(k) into `motion`, and its share into the twists, which `bodies` has without it."""
    rate_defect(k, plan, bodies, wrenches, w)
    solve(w.factors, plan[KEPT], w.order, w.residual, w.step)
    add_rate(k, parents, joints, plan, motion, bodies, w)


@uncounted
def move(order, parents, joints, plan, rows, state, motion, trig, bodies, wrenches, w):
    """q ... q^(order) of all joints from those of the independent ones in `state`; order 2 or 4.

    `bodies` then has the twists to order - 1, `wrenches` and A their derivatives to order - 2.
    """
    for k in range(order + 1):
        for c in range(plan[KEPT]):
            motion[k, plan[plan[DEPENDENT] + c]] = 0.0
        for c in range(plan[DOF]):
            motion[k, plan[plan[INDEPENDENT] + c]] = state[k, c]
    if not approach(parents, joints, plan, rows, state, motion, trig, bodies, wrenches, w):
        return False
    for k in range(1, order + 1):
        if k > 1:
            forward_recursion(parents, joints, trig, motion, max(k - 2, 0), bodies)
            move_rows(k - 1, plan, rows, bodies, wrenches)
        find_rate(k, parents, joints, plan, rows, motion, bodies, wrenches, w)
    for k in range(1, order - 1):
        fill_jacobian(k, plan, joints, bodies, wrenches, w)
    for k in range(3):
        for c in range(plan[JOINTS]):
            w.vectors[LAST + k, c] = motion[k, c]
    plan[CLOSED] = 1
    w.vectors[REPORT, PROBLEM] = NONE
    return True


@uncounted
def least_norm_system(plan, A, K):
    """K = [[A^T, 1_a], [A, 0]] for the unknowns lambda and v, transposed; for the least norm of
    lambda, K = [[A_p^T, 0], [0, 1_a], [-1, A]], whose v_a is zero. The chart of a ball is locked:
    any torque may act there, and its v is zero."""
    m, n = plan[KEPT], plan[JOINTS]
    for r in range(m + n):
        for c in range(m + n):
            K[r, c] = 0.0
    for r in range(m):
        for c in range(n):
            K[r, c] = K[m + c, n + r] = A[0, r, c]
    for c in range(plan[ACTUATED], plan[PASSIVE]):
        K[m + plan[c], plan[c]] = 1.0
    if plan[LEAST] == LEAST_FORCE:
        for r in range(m):
            K[r, n + r] = -1.0
            for c in range(plan[ACTUATED], plan[PASSIVE]):
                K[r, plan[c]] = 0.0
    for b in range(plan[BALLS]):
        chart = plan[plan[CHARTS] + 2 * b]
        K[m + chart, chart] = 1.0
        for r in range(m):
            K[r, chart] = 0.0


@uncounted
def prepare_motors(plan, w):
    """Factorise the conditions for the multipliers; False if motors cannot hold the mechanism."""
    m, n, F = plan[KEPT], plan[JOINTS], w.motor_factors
    if plan[LEAST] == SHARED_FACTORS:
        return True
    if plan[LEAST] == OWN_FACTORS:
        margin, where = factorise_columns(plan, plan[PASSIVE], F, w.motor_order, w)
    else:
        least_norm_system(plan, w.jacobians, F)
        for r in range(m + n):
            w.row_size[r] = 1e-300
            for c in range(m + n):
                w.row_size[r] = max(w.row_size[r], abs(F[r, c]))
        margin, where = factorise(F, m + n, w.row_size, w.motor_order)
    if not margin > w.vectors[REPORT, SINGULAR]:
        report(w, MOTORS_LOCKED, where, margin)
        return False
    return True


@uncounted
def motor_conditions(k, plan, w):
    """The right-hand side of the conditions for lambda^(k) into `w.rhs`; returns its size."""
    m, n = plan[KEPT], plan[JOINTS]
    vectors, needed = w.vectors, w.spread
    for c in range(n):
        total = vectors[TORQUE + k, c] - vectors[PASSIVE_TORQUE + k, c]
        for j in range(1, k + 1):
            for r in range(m):
                entry = w.jacobians[j, r, c] * vectors[MULTIPLIER + k - j, r]
                total -= BINOMIAL[k, j] * entry
        needed[c] = total
    if plan[LEAST] < LEAST_NORM:
        for c in range(m):
            w.rhs[c] = needed[plan[plan[PASSIVE] + c]]
        return m
    for c in range(n):
        w.rhs[c] = needed[c]
    if plan[LEAST] == LEAST_FORCE:
        for c in range(plan[ACTUATED], plan[PASSIVE]):
            w.rhs[plan[c]] = 0.0
    for b in range(plan[BALLS]):
        w.rhs[plan[plan[CHARTS] + 2 * b]] = 0.0
    for r in range(m):
        total = 0.0
        for j in range(1, k + 1):
            for c in range(n):
                entry = w.jacobians[j, r, c] * vectors[FLOW + k - j, c]
                total -= BINOMIAL[k, j] * entry
        w.rhs[n + r] = total
    return m + n


@uncounted
def drive_motors(k, plan, w, result):
    """lambda^(k) from `w.step`, and the k-th rates of the actuated torques."""
    m, n = plan[KEPT], plan[JOINTS]
    for r in range(m):
        w.vectors[MULTIPLIER + k, r] = w.step[r]
    if plan[LEAST] >= LEAST_NORM:
        for c in range(n):
            w.vectors[FLOW + k, c] = w.step[m + c]
    first = plan[ACTUATED]
    for a in range(first, plan[PASSIVE]):
        total = w.spread[plan[a]]
        for r in range(m):
            total -= w.jacobians[0, r, plan[a]] * w.step[r]
        result[k, a - first] = total


@uncounted
def distribute(k, plan, w, result):
    """lambda^(k) and the k-th rates of the actuated torques, from those of the tree."""
    size = motor_conditions(k, plan, w)
    if plan[LEAST] == SHARED_FACTORS:
        solve_transposed(w.factors, size, w.order, w.rhs, w.step)
    else:
        solve_transposed(w.motor_factors, size, w.motor_order, w.rhs, w.step)
    drive_motors(k, plan, w, result)


@uncounted
def load_springs(k, plan, motion, w, torque):
    """Add the k-th derivative of K (q - q0) + D q' of the passive joints to `torque` (n,)."""
    K, rest, D = w.vectors[SPRINGS], w.vectors[SPRINGS + 1], w.vectors[SPRINGS + 2]
    for p in range(plan[PASSIVE], plan[SIDES]):
        i = plan[p]
        bent = motion[0, i] - rest[i] if k == 0 else motion[k, i]
        torque[i] += K[i] * bent + D[i] * motion[k + 1, i]


@uncounted
def withhold(results, first):
    """Let no stale number pass for the result of a state that has failed, or of one after it."""
    for k in range(first, results.shape[0]):
        for r in range(results.shape[1]):
            for c in range(results.shape[2]):
                results[k, r, c] = np.nan


# Plain arrays; a named tuple would add 0.2 us per field to every call from Python
def _inverse_dynamics(
    parents, joints, gravity, plan, link_parents, links, rows, states, applied, motions, bodies,
    link_bodies, wrenches, matrices, vectors, results,
):  # fmt: skip
    """Inverse dynamics with rates of states (count, 5, dof) that follow each other.

    The other arrays are those of :class:`.LoopSolver`; `motions` (count, 5, n) and `results`
    (count, 3, motors) are written.

    Returns the number of states before the first one that fails; the row REPORT of `vectors` says
    why, and the results from there on are NaN.
    """
    w, torques, trig = work(plan, matrices, vectors), vectors[TORQUE:], vectors[TREE_TRIG:]
    for k in range(states.shape[0]):
        if not move(
            4, link_parents, links, plan, rows, states[k], motions[k], vectors[TRIG:], link_bodies,
            wrenches, w,
        ) or not prepare_motors(plan, w):  # fmt: skip
            withhold(results, k)
            return k
        _body_fixed_cycle(parents, joints, gravity, 2, motions[k], applied, trig, bodies, torques)
        for order in range(3):
            load_springs(order, plan, motions[k], w, torques[order])
            distribute(order, plan, w, results[k])
    return states.shape[0]


inverse_dynamics_cycle = compiled(_inverse_dynamics)


@uncounted
def fill_reduction(k, plan, G, w):
    """G^(k) (n, dof) from lower orders in G and from A ... A^(k); q' = G s'."""
    m, independent, dependent = plan[KEPT], plan[INDEPENDENT], plan[DEPENDENT]
    for c in range(plan[DOF]):
        i = plan[independent + c]
        for d in range(plan[DOF]):
            G[k, plan[independent + d], c] = 0.0
        if k == 0:
            G[0, i, c] = 1.0
        for r in range(m):
            left = w.jacobians[0, r, i] if k == 0 else 0.0
            for j in range(1, k + 1):  # G is zero in the other independent rows
                left += BINOMIAL[k, j] * w.jacobians[j, r, i] * G[k - j, i, c]
                for d in range(dependent, dependent + m):
                    left += BINOMIAL[k, j] * w.jacobians[j, r, plan[d]] * G[k - j, plan[d], c]
            w.residual[r] = left
        solve(w.factors, m, w.order, w.residual, w.step)
        for d in range(m):
            G[k, plan[dependent + d], c] = -w.step[d]


@uncounted
def add_product(plan, factor, D, G, result):
    """Add `factor` D G^(k), (n, n) times (n, dof); G is 1 in the independent rows, its rates 0."""
    for i in range(plan[JOINTS]):
        for c in range(plan[DOF]):
            own = plan[plan[INDEPENDENT] + c]
            result[i, c] += factor * D[i, own] * G[own, c]
        for d in range(plan[DEPENDENT], plan[DEPENDENT] + plan[KEPT]):
            share = factor * D[i, plan[d]]
            for c in range(plan[DOF]):
                result[i, c] += share * G[plan[d], c]


@uncounted
def add_reduced(plan, factor, columns, G, result):
    """Add `factor` G^T columns, (dof, n) times (n, dof)."""
    for c in range(plan[DOF]):
        own = plan[plan[INDEPENDENT] + c]
        for j in range(plan[DOF]):
            result[c, j] += factor * columns[own, j]
        for d in range(plan[DEPENDENT], plan[DEPENDENT] + plan[KEPT]):
            share = factor * G[plan[d], c]
            for j in range(plan[DOF]):
                result[c, j] += share * columns[plan[d], j]


@uncounted
def solve_reduced(plan, M, G, reduced, torque, result, motion, w):
    """s'' and the multipliers, from M and b of the tree and the torques of the motors; leaves the
    factors of G^T M G with their pivots in `w.row_size`. G[1] is scratch."""
    m, n, dof = plan[KEPT], plan[JOINTS], plan[DOF]
    vectors, factors, columns = w.vectors, w.motor_factors, G[1]
    for a in range(plan[ACTUATED], plan[PASSIVE]):
        vectors[PASSIVE_TORQUE, plan[a]] = torque[a - plan[ACTUATED]]
    for c in range(dof):
        i = plan[plan[INDEPENDENT] + c]
        result[1, c], given = vectors[TORQUE, i], vectors[PASSIVE_TORQUE, i]
        for d in range(plan[DEPENDENT], plan[DEPENDENT] + m):
            result[1, c] += G[0, plan[d], c] * vectors[TORQUE, plan[d]]
            given += G[0, plan[d], c] * vectors[PASSIVE_TORQUE, plan[d]]
        w.rhs[c] = given - result[1, c]
    columns[:n, :dof] = reduced[:dof, :dof] = 0.0
    add_product(plan, 1.0, M, G[0], columns)
    add_reduced(plan, 1.0, columns, G[0], reduced)
    pivots, held = w.row_size[:dof], w.motor_order[:dof]
    for c in range(dof):
        held[c] = 0
        for d in range(dof):
            factors[c, d] = reduced[c, d]
    mass_matrix_factors.factorise(factors, held, pivots)
    for c in range(dof):
        margin = pivots[c] / max(reduced[c, c], 1e-300)
        if not margin > INERTIAL:
            report(w, NO_INERTIA, c, margin)
            return False
    mass_matrix_factors.solve(factors, held, pivots, w.rhs, w.step)
    for c in range(dof):
        result[0, c] = w.step[c]
    for i in range(n):
        w.spread[i] = 0.0
        for c in range(dof):
            w.spread[i] += G[0, i, c] * result[0, c]
        motion[2, i] += w.spread[i]
    for c in range(m):
        d = plan[plan[DEPENDENT] + c]
        left = vectors[TORQUE, d] - vectors[PASSIVE_TORQUE, d]
        for j in range(n):
            left += M[d, j] * w.spread[j]
        w.rhs[c] = left
    solve_transposed(w.factors, m, w.order, w.rhs, w.step)
    for r in range(m):
        vectors[MULTIPLIER, r] = w.step[r]
    return True


# Plain arrays, as above
def _forward_dynamics(
    parents, joints, gravity, plan, link_parents, links, rows, states, applied, motions, bodies,
    link_bodies, wrenches, matrices, vectors, torques, results,
):  # fmt: skip
    """Forward dynamics of states in the independent coordinates; returns as `_inverse_dynamics`.

    `results` (count, 2, dof) receives s'' and the bias G^T b: the reduced torques at s'' = 0.
    """
    w, dof, n = work(plan, matrices, vectors), plan[DOF], plan[JOINTS]
    M, G, reduced = matrices[INERTIA], matrices[REDUCTION:], matrices[REDUCED_INERTIA]
    M_tree, of_tree, trig = M[:n, :n], vectors[TORQUE:], vectors[TREE_TRIG:]
    composite = bodies[:, WRENCH:]  # unused after the backward pass
    for k in range(states.shape[0]):
        for c in range(dof):
            states[k, 2, c] = 0.0
        motion = motions[k]
        if not move(
            2, link_parents, links, plan, rows, states[k], motion, vectors[TRIG:], link_bodies,
            wrenches, w,
        ):  # fmt: skip
            withhold(results, k)
            return k
        spatial_cycle(parents, joints, gravity, 0, motion, applied, trig, bodies, of_tree)
        load_springs(0, plan, motion, w, of_tree[0])
        mass_matrix_recursion(parents, joints, bodies, composite, M_tree)
        fill_reduction(0, plan, G, w)
        if not solve_reduced(plan, M_tree, G, reduced, torques[k], results[k], motion, w):
            withhold(results, k)
            return k
    return states.shape[0]


forward_dynamics_cycle = compiled(_forward_dynamics)
forward_dynamics = inlined(_forward_dynamics)


def _loop_accelerations(
    parents, joints, gravity, loops, applied, motion, torques, plan, bodies, link_bodies, states,
    motions, wrenches, matrices, vectors, given, results,
):  # fmt: skip
    """Write q'' of the independent joints under their torques to the third row of `motion`; False
    where that fails. `loops` and the arguments from `plan` on are those of a solver, see
    :attr:`.ConstrainedForwardDynamicsSolver.arrays`."""
    link_parents, links, rows = loops
    for c in range(plan[DOF]):
        states[0, 0, c], states[0, 1, c] = motion[0, c], motion[1, c]
        given[0, c] = torques[0, c]
    done = forward_dynamics(
        parents, joints, gravity, plan, link_parents, links, rows, states, applied, motions, bodies,
        link_bodies, wrenches, matrices, vectors, given, results,
    )  # fmt: skip
    for c in range(plan[DOF]):
        motion[2, c] = results[0, 0, c]
    return done == 1


loop_accelerations = inlined(_loop_accelerations)


@uncounted
def reduce_row(plan, row, result, w):
    """G^T `row` (dof,) of a row (n,) of the tree; leaves y of A_d^T y = row_d in `w.step`."""
    for c in range(plan[KEPT]):
        w.rhs[c] = row[plan[plan[DEPENDENT] + c]]
    solve_transposed(w.factors, plan[KEPT], w.order, w.rhs, w.step)
    for c in range(plan[DOF]):
        i = plan[plan[INDEPENDENT] + c]
        total = row[i]
        for r in range(plan[KEPT]):
            total -= w.jacobians[0, r, i] * w.step[r]
        result[c] = total


# Plain arrays, as above
def _momentum(
    parents, joints, gravity, plan, link_parents, links, rows, states, applied, motions, bodies,
    link_bodies, wrenches, matrices, vectors, passes, results,
):  # fmt: skip
    """p, beta and g of states (count, 3, dof) in the rows of `results` (count, 3, dof).

    passes : (N + 1, MOMENTUM_ROW) scratch. Applied wrenches do not count. Returns as
    `_inverse_dynamics`.
    """
    w, trig, of_tree = work(plan, matrices, vectors), vectors[TREE_TRIG:], vectors[TORQUE:]
    for k in range(states.shape[0]):
        motion, result = motions[k], results[k]
        for c in range(plan[DOF]):
            states[k, 2, c] = 0.0
        if not move(
            2, link_parents, links, plan, rows, states[k], motion, vectors[TRIG:], link_bodies,
            wrenches, w,
        ):  # fmt: skip
            withhold(results, k)
            return k
        fill_jacobian(1, plan, links, link_bodies, wrenches, w)
        store_trig(joints, motion, trig)
        momentum_recursion(parents, joints, gravity, trig, motion, passes, of_tree)
        load_springs(0, plan, motion, w, of_tree[1])
        load_springs(0, plan, motion, w, of_tree[2])
        reduce_row(plan, of_tree[0], result[0], w)
        for r in range(plan[KEPT]):
            for c in range(plan[JOINTS]):
                of_tree[1, c] += w.jacobians[1, r, c] * w.step[r]
        reduce_row(plan, of_tree[1], result[1], w)
        reduce_row(plan, of_tree[2], result[2], w)
    return states.shape[0]


momentum_cycle = compiled(_momentum)
