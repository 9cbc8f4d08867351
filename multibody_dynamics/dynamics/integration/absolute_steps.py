# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compiled Munthe-Kaas steps of rigid bodies in absolute coordinates; [MT13] (37).

The increment of one stage is Psi (n, 12): for each body, the increment of the pose in the Lie
algebra (6), then the increment of the velocity (6).
"""

from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, compiled, inlined
from ..lie.exponentials import dexp_inv_se3, dexp_inv_so3, rotation, stumpff, translation
from ..lie.screws import (
    add,
    cross,
    load_rotation,
    load_screw,
    load_vector,
    matmul,
    rotate,
    rotate_back,
    scale,
    store_rotation,
    store_screw,
    store_vector,
    subtract,
)
from .index_one import (
    ACCELERATION,
    COM,
    J_SECOND,
    LEVER,
    MULTIPLIER,
    POSITION,
    SECOND_FRAME,
    VIOLATION,
    VIOLATION_RATE,
    IndexOneScratch,
    R,
    SystemConstants,
    body_motion,
    constraint_rows,
    index_one_cycle,
    ldl,
    point_motion,
    react,
    schur,
    substitute,
)
from .munthe_kaas_method import step_factor

CORRECTIONS = 10  # Newton's method reaches rounding error after three or four
CLOSED = 1e-14  # m and rad, violation at which projection stops

# Adaptive steps: entries of `control` and of `clock`.
RELATIVE, ABSOLUTE, SMALLEST_STEP, END = range(4)
TIME, STEP, DONE, REFUSED = range(4)


class Equations(NamedTuple):
    """The equations of motion, V' as a function of the state."""

    system: SystemConstants
    is_direct: NDArray[np.bool_]  # (n,) whether a body moves in SO(3) x R^3
    stabilisation: Array  # (2,) Baumgarte's alpha and beta, 1/s
    applied: Array  # (n, 6) wrenches in inertial axes about the inertial origin


class State(NamedTuple):
    """The state of all bodies; with a leading dimension, the states at several times."""

    pose: Array  # (n, 12) R row by row, then r
    velocity: Array  # (n, 6) in the velocities of the groups


class Coefficients(NamedTuple):
    """A Butcher tableau of s stages for compiled code, see :class:`.ButcherTableau`."""

    a: Array
    b: Array
    error: Array
    dense: Array
    error_order: int


class StepScratch(NamedTuple):
    """Scratch memory of a step of s stages."""

    slopes: Array  # (s, n, 12) k_j
    increment: Array  # (n, 12) Psi
    stage: State
    hybrid: Array  # (n, 6) (omega, r') in inertial axes
    rates: Array  # (n, 6) V'
    index_one: IndexOneScratch


@inlined
def _to_hybrid(is_direct, pose, velocity, hybrid):
    """(omega, r') in inertial axes from the velocities of the groups."""
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        omega, v = load_screw(velocity, i, 0)
        if not is_direct[i]:
            v = rotate(Q, v)
        store_screw(hybrid, i, 0, (rotate(Q, omega), v))


@inlined
def _rates(equations, state, scratch):
    """Write V' (n, 6), in the velocities of the groups, to `scratch.rates`; return the rank of the
    constraints."""
    system, is_direct, stabilisation, applied = equations
    pose, velocity = state
    hybrid, rates, motion = scratch.hybrid, scratch.rates, scratch.index_one.motion
    _to_hybrid(is_direct, pose, velocity, hybrid)
    rank = index_one_cycle(system, stabilisation, applied, pose, hybrid, scratch.index_one)
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        omega, rate = load_screw(hybrid, i, 0)
        lever = load_vector(motion, i, LEVER)
        alpha, a = load_screw(motion, i, ACCELERATION)
        a = subtract(a, add(cross(alpha, lever), cross(omega, cross(omega, lever))))
        if not is_direct[i]:
            a = rotate_back(Q, subtract(a, cross(omega, rate)))
        store_screw(rates, i, 0, (rotate_back(Q, alpha), a))
    return rank


rates_cycle = compiled(_rates)


@inlined
def _move(is_direct, start, increment, pose):
    """pose = start exp(Psi), body by body."""
    for i in range(pose.shape[0]):
        omega, v = load_screw(increment, i, 0)
        c = stumpff(omega)
        Q = load_rotation(start, i, R)
        if not is_direct[i]:
            v = rotate(Q, translation(omega, v, c))
        store_rotation(pose, i, R, matmul(Q, rotation(omega, c)))
        store_vector(pose, i, POSITION, add(load_vector(start, i, POSITION), v))


def _stages(equations, a, h, state, scratch):
    """Write the slopes k_j (s, n, 12) of one step of length h, in s, to `scratch.slopes`."""
    k, Psi, stage = scratch.slopes, scratch.increment, scratch.stage
    is_direct, rates = equations.is_direct, scratch.rates
    n = Psi.shape[0]
    for j in range(a.shape[0]):
        for i in range(n):
            for e in range(12):
                total = 0.0
                for past in range(j):
                    total += a[j, past] * k[past, i, e]
                Psi[i, e] = h * total
            for e in range(6):
                stage.velocity[i, e] = state.velocity[i, e] + Psi[i, 6 + e]
        _move(is_direct, state.pose, Psi, stage.pose)
        rates_cycle(equations, stage, scratch)
        for i in range(n):
            omega, v = load_screw(Psi, i, 0)
            w, u = load_screw(stage.velocity, i, 0)
            minus = scale(-1.0, omega)
            c = stumpff(omega)
            if is_direct[i]:
                store_screw(k[j], i, 0, (dexp_inv_so3(minus, w, c), u))
            else:
                store_screw(k[j], i, 0, dexp_inv_se3((minus, scale(-1.0, v)), (w, u), c))
            for e in range(6):
                k[j, i, 6 + e] = rates[i, e]


stages_cycle = compiled(_stages)


@inlined
def _finish(is_direct, b, h, state, scratch, new_pose, new_velocity):
    """Write the state after h sum b_j k_j, possibly over `state`; return whether it is finite."""
    k, Psi, pose = scratch.slopes, scratch.increment, scratch.stage.pose
    finite = True
    for i in range(pose.shape[0]):
        for e in range(12):
            total = 0.0
            for j in range(b.shape[0]):
                total += b[j] * k[j, i, e]
            Psi[i, e] = h * total
            finite = finite and isfinite(total)
    _move(is_direct, state.pose, Psi, pose)
    for i in range(pose.shape[0]):
        for e in range(12):
            new_pose[i, e] = pose[i, e]
        for e in range(6):
            new_velocity[i, e] = state.velocity[i, e] + Psi[i, 6 + e]
    return finite


@inlined
def _correction(system, scratch, column):
    """Write -M^-1 J^T S^-1 times one column of `scratch.values` to ACCELERATION of the bodies."""
    motion, values, vectors = scratch.motion, scratch.values, scratch.vectors
    schur(system, scratch)
    rank = ldl(scratch.S, scratch.order, vectors[0])
    for r in range(values.shape[0]):
        vectors[1, r] = values[r, column]
    substitute(scratch.S, scratch.order, rank, vectors[1], vectors[2])
    for i in range(motion.shape[0]):
        for e in range(6):
            motion[i, ACCELERATION + e] = 0.0
    react(system, scratch, ACCELERATION)


def _project(equations, state, scratch):
    """Move the state in place to the nearest state, in the metric of the inertia, that violates no
    constraint.

    Returns the largest violation of positions that remains, m or rad.
    """
    system, is_direct, _, applied = equations
    pose, velocity = state
    hybrid, work = scratch.hybrid, scratch.index_one
    motion, values, bodies = work.motion, work.values, system.bodies
    _to_hybrid(is_direct, pose, velocity, hybrid)
    remains = 0.0
    for trial in range(CORRECTIONS + 1):
        body_motion(system, applied, pose, hybrid, motion)
        constraint_rows(system, pose, work)
        remains = 0.0
        for r in range(values.shape[0]):
            remains = max(remains, abs(values[r, VIOLATION]))
        if remains <= CLOSED or trial == CORRECTIONS:
            break
        _correction(system, work, VIOLATION)
        for i in range(pose.shape[0]):
            turn, shift = load_screw(motion, i, ACCELERATION)
            Q = load_rotation(pose, i, R)
            Q_new = matmul(rotation(turn, stumpff(turn)), Q)
            c = load_vector(bodies, i, COM)
            center = add(load_vector(pose, i, POSITION), add(rotate(Q, c), shift))
            store_rotation(pose, i, R, Q_new)
            store_vector(pose, i, POSITION, subtract(center, rotate(Q_new, c)))
    _correction(system, work, VIOLATION_RATE)
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        spin, rate = load_screw(motion, i, ACCELERATION)
        omega, v = load_screw(hybrid, i, 0)
        v = add(v, subtract(rate, cross(spin, load_vector(motion, i, LEVER))))
        if not is_direct[i]:
            v = rotate_back(Q, v)
        store_screw(velocity, i, 0, (rotate_back(Q, add(omega, spin)), v))
    return remains


project_cycle = compiled(_project)


def _advance(equations, method, project, steps, kept, state, scratch, results):
    """Advance `state` in place from step kept[0] on, and store it after each of the steps kept[1:].

    steps : (all,) lengths in s. results : State of pose (k, n, 12) and velocity (k, n, 6).
    Returns how many rows of the results are finite.
    """
    for row in range(results.pose.shape[0]):
        for step in range(kept[row], kept[row + 1]):
            stages_cycle(equations, method.a, steps[step], state, scratch)
            if not _finish(
                equations.is_direct, method.b, steps[step], state, scratch,
                state.pose, state.velocity,
            ):  # fmt: skip
                return row
            if project:
                project_cycle(equations, state, scratch)
        results.pose[row], results.velocity[row] = state.pose, state.velocity
    return results.pose.shape[0]


advance_cycle = compiled(_advance)


@inlined
def _error_share(error, control, h, k):
    """The largest error of a step, as a fraction of the error that the tolerances allow; NaN if
    any error is NaN."""
    worst = 0.0
    for e in range(12):
        for i in range(k.shape[1]):
            slip, largest = 0.0, 0.0
            for j in range(k.shape[0]):
                slip += error[j] * k[j, i, e]
                largest = max(largest, abs(k[j, i, e]))
            share = abs(h * slip) / (control[ABSOLUTE] + control[RELATIVE] * h * largest)
            if not share <= worst:
                worst = share
    return worst


@inlined
def _weights_within(b, dense, s, weights):
    """The weights b_j(s) of the dense output at s h, see :meth:`.ButcherTableau.weights`."""
    for j in range(weights.shape[0]):
        power, weights[j] = s, 0.0
        for d in range(dense.shape[1]):
            weights[j] += dense[j, d] * power
            power *= s
        if s >= 1.0:
            weights[j] = b[j]


def _advance_by_error(equations, method, control, clock, state, scratch, times, results):
    """Advance `state` in place with steps as long as the error permits, and write the dense output
    at `times` (k,).

    control : relative and absolute tolerance, smallest step and end time, s.
    clock : time and next step, s, and the numbers of steps taken and rejected; advanced to the
        start of the step that contains the last of the times.
    results : State of pose (k, n, 12) and velocity (k, n, 6). Returns how many rows are written.
    """
    row = 0
    weights = method.b.copy()
    is_direct = equations.is_direct
    while row < times.shape[0]:
        t = clock[TIME]
        h = min(clock[STEP], control[END] - t)
        stages_cycle(equations, method.a, h, state, scratch)
        worst = _error_share(method.error, control, h, scratch.slopes)
        if worst <= 1.0:
            while row < times.shape[0] and times[row] <= t + h + 1e-12 * control[END]:
                _weights_within(method.b, method.dense, (times[row] - t) / h, weights)
                _finish(
                    is_direct, weights, h, state, scratch, results.pose[row], results.velocity[row]
                )
                row += 1
            if row == times.shape[0]:
                return row  # the next call repeats this step for the later times
            _finish(is_direct, method.b, h, state, scratch, state.pose, state.velocity)
            clock[TIME] = t + h
            clock[DONE] += 1.0
        else:
            clock[REFUSED] += 1.0
        clock[STEP] = h * step_factor(worst, method.error_order)
        if not clock[STEP] > control[SMALLEST_STEP]:
            return row
    return row


advance_by_error_cycle = compiled(_advance_by_error)


class Observations(NamedTuple):
    """Results at k states."""

    violations: Array  # (k, joints) norm of the violation of positions, m and rad
    reactions: Array  # (k, joints, 6) wrench on the second body of the joint
    accelerations: Array  # (k, n, 6) V'


def _observe(equations, states, scratch, observations):
    """The observations at states of pose (k, n, 12) and velocity (k, n, 6)."""
    system, work = equations.system, scratch.index_one
    joint_bodies, joints, row_joints = system.joint_bodies, system.joints, system.row_joints
    violations, reactions, accelerations = observations
    for k in range(states.pose.shape[0]):
        state = State(states.pose[k], states.velocity[k])
        rates_cycle(equations, state, scratch)
        accelerations[k] = scratch.rates
        for j in range(joints.shape[0]):
            violations[k, j] = 0.0
            for e in range(6):
                reactions[k, j, e] = 0.0
        for r in range(row_joints.shape[0]):
            j = row_joints[r]
            violations[k, j] += work.values[r, VIOLATION] ** 2
            for e in range(6):
                reactions[k, j, e] -= work.values[r, MULTIPLIER] * work.rows[r, J_SECOND + e]
        for j in range(joints.shape[0]):
            violations[k, j] **= 0.5
            p = load_vector(joints, j, SECOND_FRAME + POSITION)
            _, lever, _, _, _ = point_motion(state.pose, work.motion, joint_bodies[j, 1], p)
            m, f = load_screw(reactions[k], j, 0)
            store_screw(reactions[k], j, 0, (subtract(m, cross(lever, f)), f))


observe_cycle = compiled(_observe)
