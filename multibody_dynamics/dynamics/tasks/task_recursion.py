# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics to the fourth derivative: [M21] Algorithm 2, generalised; compiled.

The residual rate c of a task is the velocity of its tool relative to the target, plus `feedback`
times the error in position. It must vanish with its derivatives, and c^(k) is linear in q^(k+1),
with the Jacobian A. The joint rates nearest to a secondary motion z that achieve this, exactly or
with damping, solve

    W (q' - z) = A^T mu         W: weights of the joints, mu: multipliers
    A q' + c_0 = -L mu          c_0 = c at q' = 0, L: damping, diagonal

whose k-th derivative by the Leibniz rule has the same matrix: with G = A W^-1 A^T + L,

    a  = z^(k) + W^-1 sum_{j>0} C(k,j) A^(j)T mu^(k-j)
    G mu^(k) = -c_0^(k) - sum_{j>0} C(k,j) L^(j) mu^(k-j) - A a
    q^(k+1)  = a + W^-1 A^T mu^(k)

and one factorisation serves all orders. As in the paper, c_0^(k) follows from the forward
kinematics at the rates known so far and q^(k+1) = 0, and so do the derivatives of the joint screws
in A^(k). G is never formed, since Q R = [W^-1/2 A^T; L^1/2] has R^T R = G. If A is square and
L = 0, then q^(k+1) = -A^-1 c_0^(k), which is Algorithm 2.
"""

from math import comb, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, compiled, inlined
from ..lie.screws import add, cross, load_rotation, load_vector, matmul, rotate
from ..mechanisms import jacobian_rows, move_bodies, place_joints, rate_found, reduce_jacobian
from ..model.records import POSE, POSITION, SCREW, TWIST

BINOMIAL = np.array([[float(comb(k, j)) for j in range(5)] for k in range(5)])

# columns of `ToolPlan.links`
BODY, FIRST, END, TURNING = range(4)
LINK = 4
# columns of `ToolPlan.tools`; the pose of the tool comes first
TOOL_POSITION, TOOL_WEIGHTS, TOOL = 9, 12, 15
# columns of `JointSystem.secondary`
ROOT, POSTURE, POSTURE_GAIN, LOWER, UPPER, MARGIN, SPEED, PRESCRIBED = range(8)
SECONDARY = 8
# entries of `DampingTerms.options`
FEEDBACK, THRESHOLD, STRENGTH, KEEPS = range(4)
OPTION = 4
# second axis of `ToolFrames.motion`: stacks of vectors
SPIN, PLACE, RELATIVE_SPIN, RELATIVE_PLACE, TILT = range(5)
MOTION = 5

DAMPING_BEGINS, DAMPING_COMPLETE = 0.1, 0.5
INDEPENDENT = 1e-12


# `solve` and `polish` take the entries of these bundles as separate arguments, since unpacking a
# named tuple from Python costs Numba 0.2 us per entry. The bundles are small because a compiled
# function receives every entry of a bundle, used or not.


class ToolPlan(NamedTuple):
    """T tools with m prescribed components in all, those of first priority first."""

    links: NDArray[np.int64]  # (T, LINK) row of the body, rows of the task, whether its axes turn
    tools: Array  # (T, TOOL) pose of the tool in the joint frame, weights of its three axes
    components: NDArray[np.int64]  # (m,) index into COMPONENTS
    scales: Array  # (m,) 1 for rotations, 1 / length for translations
    moved: NDArray[np.bool_]  # (T, N) whether a joint of the tree moves the tool
    coordinates: NDArray[np.int64]  # (N,) the column of the Jacobian of each joint of the tree


class ToolFrames(NamedTuple):
    """The moving frames, with derivatives along the axis of length 5."""

    bodies: Array  # (N + 1, BODY_ROW), the base in row 0
    desired: Array  # (T, 5, 3, 3) axes of the target frames
    turned: Array  # (T, 5, 3, 3) axes of the tool frames
    axes: Array  # (T, 5, 3, 3) axes of the components; the caller writes those that do not turn
    motion: Array  # (T, MOTION, 5, 3)


class JointSystem(NamedTuple):
    """The linear system for the joint rates, and the secondary motion of the joints."""

    secondary: Array  # (n, SECONDARY) weight and secondary motion of each joint
    trig: Array  # (2, N)
    column: Array  # (2, 5, 3) one column of the Jacobian, with derivatives
    A: Array  # (4, m, n) the Jacobian and its derivatives
    Q: Array  # (n + m, m)
    R: Array  # (m, m)
    multipliers: Array  # (4, m)
    step: Array  # (n,)


class DampingTerms(NamedTuple):
    """The damping L, and what it is computed from."""

    options: Array  # (OPTION,)
    softness: Array  # (m,)
    hard: int  # number of components of first priority
    G: Array  # (4, hard, hard)
    X: Array  # (4, hard, hard) the inverse of G
    rest: Array  # (hard, hard)
    lost: Array  # (4,) tau and its derivatives
    diagonal: Array  # (4, m) of L


PLAN = len(ToolPlan._fields)
FRAMES = PLAN + len(ToolFrames._fields)
SYSTEM = FRAMES + len(JointSystem._fields)


def tool_frames(plan: ToolPlan, bodies: Array) -> ToolFrames:
    """Memory for the frames of the tools of a robot with the rows `bodies`."""
    count = len(plan.links)
    desired, turned, axes = np.zeros((3, count, 5, 3, 3))
    return ToolFrames(bodies, desired, turned, axes, np.zeros((count, MOTION, 5, 3)))


def joint_system(secondary: Array, m: int, body_count: int) -> JointSystem:
    """Memory for the linear system of m components of a robot with N bodies."""
    n = len(secondary)
    return JointSystem(
        secondary,
        trig=np.empty((2, body_count)),
        column=np.zeros((2, 5, 3)),
        A=np.zeros((4, m, n)),
        Q=np.zeros((n + m, m)),
        R=np.zeros((m, m)),
        multipliers=np.zeros((4, m)),
        step=np.zeros(n),
    )


def damping_terms(options: Array, softness: Array, hard: int) -> DampingTerms:
    """Memory for the damping of components of which `hard` come first."""
    G, X = np.zeros((2, 4, hard, hard))
    rest, diagonal = np.zeros((hard, hard)), np.zeros((4, len(softness)))
    return DampingTerms(options, softness, hard, G, X, rest, np.zeros(4), diagonal)


@inlined
def smooth_step(x):
    """C4 step from 0 at x <= 0 to 1 at x >= 1, with its first three derivatives."""
    if x <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0, 0.0, 0.0
    y = 1.0 - x
    s = x**5 * (126.0 + x * (-420.0 + x * (540.0 + x * (-315.0 + 70.0 * x))))
    bend = 3.0 * (x * y * (1.0 - 2.0 * x)) ** 2 - 2.0 * (x * y) ** 3
    return s, 630.0 * (x * y) ** 4, 2520.0 * (x * y) ** 3 * (1.0 - 2.0 * x), 2520.0 * bend


@inlined
def chain(k, f, x1, x2, x3):
    """The k-th time derivative of f(x(t)), from f, f', f'', f''' and x', x'', x'''."""
    if k == 0:
        return f[0]
    if k == 1:
        return f[1] * x1
    if k == 2:
        return f[2] * x1 * x1 + f[1] * x2
    return f[3] * x1 * x1 * x1 + 3.0 * f[2] * x1 * x2 + f[1] * x3


@inlined
def turn(vectors, spin, order):
    """Write the derivatives up to `order` of three vectors (5, 3, 3) that turn with the angular
    velocity `spin` (5, 3)."""
    for j in range(order):
        for i in range(3):
            total = (0.0, 0.0, 0.0)
            for m in range(j + 1):
                c = BINOMIAL[j, m]
                w = (c * spin[m, 0], c * spin[m, 1], c * spin[m, 2])
                total = add(total, cross(w, load_vector(vectors[j - m], i, 0)))
            for x in range(3):
                vectors[j + 1, i, x] = total[x]


@inlined
def take_targets(plan, targets, frames):
    """Write the axes of the target frames and of the tasks, to the fourth derivative."""
    links, desired, axes = plan.links, frames.desired, frames.axes
    for t in range(links.shape[0]):
        for i in range(3):
            for x in range(3):
                desired[t, 0, i, x] = targets[t, POSE + 3 * x + i]
        spin = targets[t, TWIST:].reshape((4, 6))
        turn(desired[t], spin, 4)
        if links[t, TURNING]:
            axes[t] = desired[t]


@inlined
def move_tools(k, plan, targets, frames):
    """Write the frames of the tools and their motion relative to the targets, to order k."""
    links, tools, bodies = plan.links, plan.tools, frames.bodies
    desired, turned, motion = frames.desired, frames.turned, frames.motion
    for t in range(links.shape[0]):
        b = links[t, BODY]
        R = load_rotation(bodies, b, POSE)
        r = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(tools, t, TOOL_POSITION)))
        tool = matmul(R, load_rotation(tools, t, POSE))
        spin, place = motion[t, SPIN], motion[t, PLACE]
        for x in range(3):
            place[0, x] = r[x]
            motion[t, RELATIVE_PLACE, 0, x] = r[x] - targets[t, POSITION + x]
            for i in range(3):
                turned[t, 0, i, x] = tool[3 * x + i]
        for j in range(k + 1):
            velocity = load_vector(bodies, b, TWIST + 6 * j + 3)
            for x in range(3):
                spin[j, x] = bodies[b, TWIST + 6 * j + x]
            for m in range(j + 1):
                c = BINOMIAL[j, m]
                w = (c * spin[m, 0], c * spin[m, 1], c * spin[m, 2])
                velocity = add(velocity, cross(w, load_vector(place, j - m, 0)))
            for x in range(3):
                place[j + 1, x] = velocity[x]
                column = TWIST + 6 * j + x
                motion[t, RELATIVE_SPIN, j, x] = spin[j, x] - targets[t, column]
                motion[t, RELATIVE_PLACE, j + 1, x] = velocity[x] - targets[t, column + 3]
        turn(turned[t], spin, k)
        for j in range(k + 1):  # sum of desired axis x tool axis: zero if they agree
            total = (0.0, 0.0, 0.0)
            for i in range(3):
                weight = tools[t, TOOL_WEIGHTS + i]
                for m in range(j + 1):
                    c = weight * BINOMIAL[j, m]
                    d = load_vector(desired[t, m], i, 0)
                    d = (c * d[0], c * d[1], c * d[2])
                    total = add(total, cross(d, load_vector(turned[t, j - m], i, 0)))
            for x in range(3):
                motion[t, TILT, j, x] = total[x]


@inlined
def along(k, axes, t, axis, vectors):
    """The k-th derivative of the component of a vector (5, 3) along an axis of task t."""
    total = 0.0
    for j in range(k + 1):
        f, v = axes[t, j, axis], vectors[k - j]
        total += BINOMIAL[k, j] * (f[0] * v[0] + f[1] * v[1] + f[2] * v[2])
    return total


@inlined
def excess(k, plan, feedback, frames, result):
    """Write c^(k) of all rows to `result`; with k = -1, the errors in position instead."""
    links, components, scales = plan.links, plan.components, plan.scales
    axes, motion = frames.axes, frames.motion
    for t in range(links.shape[0]):
        for i in range(links[t, FIRST], links[t, END]):
            axis = components[i] % 3
            if components[i] < 3:
                rate, place = motion[t, RELATIVE_SPIN], motion[t, TILT]
                moving = along(k, axes, t, axis, rate) if k >= 0 else 0.0
            else:
                place = motion[t, RELATIVE_PLACE]
                moving = along(k + 1, axes, t, axis, place) if k >= 0 else 0.0
            ahead = 0.0
            if k < 0:
                ahead = along(0, axes, t, axis, place)
            elif feedback != 0.0:
                ahead = feedback * along(k, axes, t, axis, place)
            result[i] = scales[i] * (moving + ahead)


@inlined
def jacobian_derivative(k, plan, frames, column, A):
    """Write A^(k) (m, n), or that of a tree with its loops cut (m, N), from the joint screws and
    their derivatives; `column` is scratch."""
    links, components, scales = plan.links, plan.components, plan.scales
    bodies, axes = frames.bodies, frames.axes
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0
    for t in range(links.shape[0]):
        place = frames.motion[t, PLACE]
        for joint in range(plan.moved.shape[1]):
            if not plan.moved[t, joint]:
                continue
            for j in range(k + 1):
                v = load_vector(bodies, joint + 1, SCREW + 6 * j + 3)
                for x in range(3):
                    column[0, j, x] = bodies[joint + 1, SCREW + 6 * j + x]
                for m in range(j + 1):
                    c = BINOMIAL[j, m]
                    e = (c * column[0, m, 0], c * column[0, m, 1], c * column[0, m, 2])
                    v = add(v, cross(e, load_vector(place, j - m, 0)))
                for x in range(3):
                    column[1, j, x] = v[x]
            for i in range(links[t, FIRST], links[t, END]):
                part = column[components[i] // 3]
                entry = scales[i] * along(k, axes, t, components[i] % 3, part)
                A[i, plan.coordinates[joint]] += entry


@inlined
def factorise(A, secondary, damping, count, Q, R):
    """QR factorisation of [W^-1/2 A^T; L^1/2] for the first `count` rows of A.

    By Gram-Schmidt, applied twice for accuracy. Q is (n + m, m), R (m, m) upper triangular. Returns
    False if a row depends on previous ones.
    """
    m, n = A.shape
    for i in range(count):
        size = 0.0
        for r in range(n):
            Q[r, i] = secondary[r, ROOT] * A[i, r]
        for r in range(m):
            Q[n + r, i] = 0.0
        Q[n + i, i] = sqrt(damping[i])
        for r in range(n + m):
            size += Q[r, i] ** 2
        for j in range(i):
            R[j, i] = 0.0
        for _ in range(2):
            for j in range(i):
                d = 0.0
                for r in range(n + m):
                    d += Q[r, j] * Q[r, i]
                R[j, i] += d
                for r in range(n + m):
                    Q[r, i] -= d * Q[r, j]
        rest = 0.0
        for r in range(n + m):
            rest += Q[r, i] ** 2
        if not rest > INDEPENDENT**2 * size:
            return False
        R[i, i] = sqrt(rest)
        for r in range(n + m):
            Q[r, i] /= R[i, i]
    return True


@inlined
def solve_transposed(R, count, y):
    """Overwrite y with R^-T y."""
    for i in range(count):
        for j in range(i):
            y[i] -= R[j, i] * y[j]
        y[i] /= R[i, i]


@inlined
def solve_upper(R, count, y):
    """Overwrite y with R^-1 y."""
    for k in range(count):
        i = count - 1 - k
        for j in range(i + 1, count):
            y[i] -= R[i, j] * y[j]
        y[i] /= R[i, i]


@inlined
def secondary_rate(k, i, secondary, prescribed, state):
    """z_i^(k), the secondary motion of joint i, from its derivatives known so far."""
    if secondary[i, PRESCRIBED] != 0.0:
        return prescribed[k + 1, i]
    gain, speed = secondary[i, POSTURE_GAIN], secondary[i, SPEED]
    q = state[0, i]
    f0, f1, f2, f3 = -gain * (q - secondary[i, POSTURE]), -gain, 0.0, 0.0
    if speed != 0.0:
        slope = 1.0 / secondary[i, MARGIN]
        low = smooth_step((secondary[i, LOWER] - q) * slope + 1.0)
        high = smooth_step((q - secondary[i, UPPER]) * slope + 1.0)
        f0 += speed * (low[0] - high[0])
        f1 -= speed * slope * (low[1] + high[1])
        f2 += speed * slope**2 * (low[2] - high[2])
        f3 -= speed * slope**3 * (low[3] + high[3])
    return chain(k, (f0, f1, f2, f3), state[1, i], state[2, i], state[3, i])


@inlined
def invert(G, X):
    """Write X = G^-1 of a symmetric positive definite matrix by Gauss-Jordan elimination."""
    m = G.shape[0]
    X[:] = G
    for p in range(m):
        pivot = 1.0 / X[p, p]
        X[p, p] = 1.0
        for j in range(m):
            X[p, j] *= pivot
        for i in range(m):
            if i != p:
                factor = X[i, p]
                X[i, p] = 0.0
                for j in range(m):
                    X[i, j] -= factor * X[p, j]


@inlined
def lost_directions(k, A, secondary, terms):
    """The k-th derivative of tau = sum eps^2 / (sigma^2 + eps^2), eps^2 being the threshold.

    The sum is over the singular values of the hard rows of A W^-1/2; each lost direction adds 1.
    Being the trace of eps^2 (A W^-1 A^T + eps^2)^-1, it is analytic even where singular values
    cross. G and X hold this matrix and its inverse, with derivatives.
    """
    hard, threshold = terms.hard, terms.options[THRESHOLD]
    G, X, rest = terms.G, terms.X, terms.rest
    for i in range(hard):
        for j in range(hard):
            total = threshold if k == 0 and i == j else 0.0
            for m in range(k + 1):
                inner = 0.0
                for r in range(A.shape[2]):
                    inner += secondary[r, ROOT] ** 2 * A[m, i, r] * A[k - m, j, r]
                total += BINOMIAL[k, m] * inner
            G[k, i, j] = total
    if k == 0:
        invert(G[0], X[0])
    else:
        for i in range(hard):
            for j in range(hard):
                total = 0.0
                for m in range(1, k + 1):
                    inner = 0.0
                    for r in range(hard):
                        inner += G[m, i, r] * X[k - m, r, j]
                    total += BINOMIAL[k, m] * inner
                rest[i, j] = total
        for i in range(hard):
            for j in range(hard):
                total = 0.0
                for r in range(hard):
                    total -= X[0, i, r] * rest[r, j]
                X[k, i, j] = total
    trace = 0.0
    for i in range(hard):
        trace += X[k, i, i]
    return threshold * trace


@inlined
def damp(k, A, secondary, terms):
    """Write L^(k): lambda^2 = strength^2 smooth_step(x(tau)) for the hard rows, the square of
    their softness for the soft ones."""
    lost, damping, strength = terms.lost, terms.diagonal, terms.options[STRENGTH]
    value = 0.0
    if strength > 0.0:
        width = 1.0 / (DAMPING_COMPLETE - DAMPING_BEGINS)
        if k == 0 or DAMPING_BEGINS < lost[0] < DAMPING_COMPLETE:
            lost[k] = lost_directions(k, A, secondary, terms)
            f = smooth_step((lost[0] - DAMPING_BEGINS) * width)
            value = strength * chain(k, f, width * lost[1], width * lost[2], width * lost[3])
    for i in range(damping.shape[1]):
        if i < terms.hard:
            damping[k, i] = value
        else:
            damping[k, i] = terms.softness[i] ** 2 if k == 0 else 0.0


def _solve(parents, joints, loops, targets, prescribed, state, errors, *bundles):
    """Write q' and its three derivatives at q to `state` (5, n), the unmet task rates to `errors`.

    `loops` are those of `tree_and_loops`, and `bundles` the entries of ToolPlan, ToolFrames,
    JointSystem and DampingTerms. Returns False if the rows are dependent, or loops cannot be
    closed; the rates in `state` are then meaningless.
    """
    plan, frames = ToolPlan(*bundles[:PLAN]), ToolFrames(*bundles[PLAN:FRAMES])
    secondary, trig, column, A, Q, R, multipliers, step = bundles[FRAMES:SYSTEM]
    terms = DampingTerms(*bundles[SYSTEM:])
    options, damping, bodies = terms.options, terms.diagonal, frames.bodies
    n, m = state.shape[1], plan.components.shape[0]
    keeps = options[KEEPS] != 0.0
    for i in range(n):
        if secondary[i, PRESCRIBED] != 0.0:
            state[0, i] = prescribed[0, i]
    state[1:] = 0.0
    if not place_joints(loops, parents, joints, state, trig, bodies):
        return False
    take_targets(plan, targets, frames)
    for k in range(4):
        move_bodies(k, loops, parents, joints, state, trig, bodies)
        move_tools(k, plan, targets, frames)
        mu = multipliers[k]
        excess(k, plan, options[FEEDBACK], frames, mu)
        if k == 0 or keeps:
            jacobian_derivative(k, plan, frames, column, jacobian_rows(k, loops, A))
            reduce_jacobian(k, loops, joints, bodies, A)
            damp(k, A, secondary, terms)
        if k == 0 and not factorise(A[0], secondary, damping[0], m, Q, R):
            return False
        for i in range(n):
            step[i] = 0.0
            if keeps:
                for j in range(1, k + 1):
                    inner = 0.0
                    for r in range(m):
                        inner += A[j, r, i] * multipliers[k - j, r]
                    step[i] += BINOMIAL[k, j] * inner
                step[i] = (
                    secondary_rate(k, i, secondary, prescribed, state)
                    + secondary[i, ROOT] ** 2 * step[i]
                )
        for r in range(m):
            missing = 0.0
            if keeps:
                for j in range(1, k + 1):
                    missing += BINOMIAL[k, j] * damping[j, r] * multipliers[k - j, r]
                for i in range(n):
                    mu[r] += A[0, r, i] * step[i]
            errors[k, r] = missing
            mu[r] = -mu[r] - missing
        solve_transposed(R, m, mu)
        for i in range(n):
            inner = 0.0
            for r in range(m):
                inner += Q[i, r] * mu[r]
            state[k + 1, i] = step[i] + secondary[i, ROOT] * inner
        rate_found(k + 1, loops, state)
        if keeps:
            solve_upper(R, m, mu)
            for r in range(m):
                errors[k, r] = (errors[k, r] + damping[0, r] * mu[r]) / plan.scales[r]
    return True


def _polish(steps, tolerance, parents, joints, loops, targets, state, hard, undamped, *bundles):
    """Newton's method for q; returns the remaining error of the hard rows, in rad and m divided by
    the length that counts as 1 rad; infinity if a step leads to where loops cannot be closed.

    `bundles` are the entries of ToolPlan, ToolFrames and JointSystem; `undamped` (m,) is zero. The
    rates in `state` are lost, and the errors are left in the first row of the multipliers.
    """
    plan, frames = ToolPlan(*bundles[:PLAN]), ToolFrames(*bundles[PLAN:FRAMES])
    secondary, trig, column, A, Q, R, multipliers, _ = bundles[FRAMES:]
    n, bodies, ahead = state.shape[1], frames.bodies, multipliers[0]
    state[1:] = 0.0
    take_targets(plan, targets, frames)
    for left in range(steps, -1, -1):
        if not place_joints(loops, parents, joints, state, trig, bodies):
            return np.inf
        move_bodies(0, loops, parents, joints, state, trig, bodies)
        move_tools(0, plan, targets, frames)
        excess(-1, plan, 0.0, frames, ahead)
        distance = 0.0
        for r in range(hard):
            distance = max(distance, abs(ahead[r]))
        if left == 0 or not distance > tolerance:
            return distance
        jacobian_derivative(0, plan, frames, column, jacobian_rows(0, loops, A))
        reduce_jacobian(0, loops, joints, bodies, A)
        if not factorise(A[0], secondary, undamped, hard, Q, R):
            return distance
        solve_transposed(R, hard, ahead)
        largest = 1.0
        for i in range(n):
            state[4, i] = 0.0
            for r in range(hard):
                state[4, i] -= secondary[i, ROOT] * Q[i, r] * ahead[r]
            largest = max(largest, abs(state[4, i]))
        for i in range(n):  # at most 1 rad or m per step
            state[0, i] += state[4, i] / largest
            state[4, i] = 0.0
    return distance


solve = compiled(_solve)
polish = compiled(_polish)
