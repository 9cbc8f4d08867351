"""Steps of an absolute system by Munthe-Kaas methods, compiled; [MT13] (37).

A state is pose (n, 12), R row by row and r, with velocity (n, 6) in the velocities of the groups.
A stage is Psi (n, 12): Psi of the pose (6) and the change of the velocity (6) of every body.
"""

from __future__ import annotations

from math import isfinite

from ..core import compiled, inlined
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
    R,
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

CORRECTIONS = 10  # Newton's method is at rounding after three or four
CLOSED = 1e-14  # m and rad, what projection leaves

# Steps by their error: what may be, and where and when they are.
RELATIVE, ABSOLUTE, SMALLEST_STEP, END = range(4)
TIME, STEP, DONE, REFUSED = range(4)


@inlined
def _to_hybrid(direct, pose, velocity, hybrid):
    """(omega, r') in inertial axes from the velocities of the groups."""
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        omega, v = load_screw(velocity, i, 0)
        if not direct[i]:
            v = rotate(Q, v)
        store_screw(hybrid, i, 0, (rotate(Q, omega), v))


@inlined
def _rates(system, direct, stabilisation, applied, pose, velocity, hybrid, scratch, rates):
    """V' (n, 6) of the groups; the rank of the constraints."""
    motion = scratch[0]
    _to_hybrid(direct, pose, velocity, hybrid)
    rank = index_one_cycle(system, stabilisation, applied, pose, hybrid, scratch)
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        omega, rate = load_screw(hybrid, i, 0)
        lever = load_vector(motion, i, LEVER)
        alpha, a = load_screw(motion, i, ACCELERATION)
        a = subtract(a, add(cross(alpha, lever), cross(omega, cross(omega, lever))))
        if not direct[i]:
            a = rotate_back(Q, subtract(a, cross(omega, rate)))
        store_screw(rates, i, 0, (rotate_back(Q, alpha), a))
    return rank


rates_cycle = compiled(_rates)


@inlined
def _moved(direct, start, Psi, pose):
    """pose = start exp(Psi), body by body."""
    for i in range(pose.shape[0]):
        omega, v = load_screw(Psi, i, 0)
        c = stumpff(omega)
        Q = load_rotation(start, i, R)
        if not direct[i]:
            v = rotate(Q, translation(omega, v, c))
        store_rotation(pose, i, R, matmul(Q, rotation(omega, c)))
        store_vector(pose, i, POSITION, add(load_vector(start, i, POSITION), v))


def _stages(system, direct, stabilisation, applied, a, h, pose, velocity, memory, scratch):
    """The slopes k_j of one step; h = 0 in the first stage."""
    k, Psi, stage_pose, stage_velocity, hybrid, rates = memory
    n = pose.shape[0]
    for j in range(a.shape[0]):
        for i in range(n):
            for e in range(12):
                total = 0.0
                for past in range(j):
                    total += a[j, past] * k[past, i, e]
                Psi[i, e] = h * total
            for e in range(6):
                stage_velocity[i, e] = velocity[i, e] + Psi[i, 6 + e]
        _moved(direct, pose, Psi, stage_pose)
        rates_cycle(
            system, direct, stabilisation, applied, stage_pose, stage_velocity, hybrid, scratch,
            rates,
        )  # fmt: skip
        for i in range(n):
            omega, v = load_screw(Psi, i, 0)
            w, u = load_screw(stage_velocity, i, 0)
            minus = scale(-1.0, omega)
            c = stumpff(omega)
            if direct[i]:
                store_screw(k[j], i, 0, (dexp_inv_so3(minus, w, c), u))
            else:
                store_screw(k[j], i, 0, dexp_inv_se3((minus, scale(-1.0, v)), (w, u), c))
            for e in range(6):
                k[j, i, 6 + e] = rates[i, e]


stages_cycle = compiled(_stages)


@inlined
def _advanced(direct, b, h, pose, velocity, memory, new_pose, new_velocity):
    """The state after h sum b_j k_j, into new arrays (or the old ones); False: not finite."""
    k, Psi, stage_pose = memory[0], memory[1], memory[2]
    finite = True
    for i in range(pose.shape[0]):
        for e in range(12):
            total = 0.0
            for j in range(b.shape[0]):
                total += b[j] * k[j, i, e]
            Psi[i, e] = h * total
            finite = finite and isfinite(total)
    _moved(direct, pose, Psi, stage_pose)
    for i in range(pose.shape[0]):
        for e in range(12):
            new_pose[i, e] = stage_pose[i, e]
        for e in range(6):
            new_velocity[i, e] = velocity[i, e] + Psi[i, 6 + e]
    return finite


@inlined
def _correction(system, pose, hybrid, scratch, column):
    """M^-1 J^T S^-1 times column `column` of the values, negative, into ACCELERATION."""
    bodies, _, _, _, joint_bodies, _, row_joints, _, _ = system
    motion, work, values, S, order, vectors = scratch
    schur(joint_bodies, row_joints, bodies, motion, work, S)
    rank = ldl(S, order, vectors[0])
    for r in range(values.shape[0]):
        vectors[1, r] = values[r, column]
    substitute(S, order, rank, vectors[1], vectors[2])
    for i in range(pose.shape[0]):
        for e in range(6):
            motion[i, ACCELERATION + e] = 0.0
    react(joint_bodies, row_joints, motion, ACCELERATION, work, vectors[2])


def _project(system, direct, applied, pose, velocity, hybrid, scratch):
    """The nearest state, by the measure of the inertia, that violates no constraint, in place.

    Returns what remains of the largest violation of positions.
    """
    bodies, gravity, _, _, joint_bodies, joints, row_joints, kinds, rows = system
    motion, work, values, _, _, _ = scratch
    _to_hybrid(direct, pose, velocity, hybrid)
    remains = 0.0
    for trial in range(CORRECTIONS + 1):
        body_motion(bodies, gravity, applied, pose, hybrid, motion)
        constraint_rows(joint_bodies, joints, row_joints, kinds, rows, pose, motion, work, values)
        remains = 0.0
        for r in range(values.shape[0]):
            remains = max(remains, abs(values[r, VIOLATION]))
        if remains <= CLOSED or trial == CORRECTIONS:
            break
        _correction(system, pose, hybrid, scratch, VIOLATION)
        for i in range(pose.shape[0]):
            turn, shift = load_screw(motion, i, ACCELERATION)
            Q = load_rotation(pose, i, R)
            Q_new = matmul(rotation(turn, stumpff(turn)), Q)
            c = load_vector(bodies, i, COM)
            center = add(load_vector(pose, i, POSITION), add(rotate(Q, c), shift))
            store_rotation(pose, i, R, Q_new)
            store_vector(pose, i, POSITION, subtract(center, rotate(Q_new, c)))
    _correction(system, pose, hybrid, scratch, VIOLATION_RATE)
    for i in range(pose.shape[0]):
        Q = load_rotation(pose, i, R)
        spin, rate = load_screw(motion, i, ACCELERATION)
        omega, v = load_screw(hybrid, i, 0)
        v = add(v, subtract(rate, cross(spin, load_vector(motion, i, LEVER))))
        if not direct[i]:
            v = rotate_back(Q, v)
        store_screw(velocity, i, 0, (rotate_back(Q, add(omega, spin)), v))
    return remains


project_cycle = compiled(_project)


def _advance(
    system, direct, stabilisation, project, applied, a, b, steps, kept, pose, velocity, memory,
    scratch, poses, velocities,
):  # fmt: skip
    """From step kept[0] on through the lengths `steps` (all,), s; the states after steps kept[1:]
    into the rows of poses (k, n, 12) and velocities (k, n, 6).

    pose, velocity: the state, advanced in place. Returns how many rows are finite.
    """
    for row in range(poses.shape[0]):
        for step in range(kept[row], kept[row + 1]):
            h = steps[step]
            stages_cycle(
                system, direct, stabilisation, applied, a, h, pose, velocity, memory, scratch
            )
            if not _advanced(direct, b, h, pose, velocity, memory, pose, velocity):
                return row
            if project:
                project_cycle(system, direct, applied, pose, velocity, memory[4], scratch)
        poses[row], velocities[row] = pose, velocity
    return poses.shape[0]


advance_cycle = compiled(_advance)


def _advance_by_error(
    system, direct, stabilisation, applied, a, b, error, dense, error_order, control, clock, pose,
    velocity, memory, scratch, times, poses, velocities,
):  # fmt: skip
    """Steps as the error allows, dense output at times (k,) into poses and velocities.

    control: RELATIVE and ABSOLUTE tolerance, SMALLEST_STEP and END, s. clock: TIME and STEP, s, how
    many steps are DONE and REFUSED; advanced to the start of the step that contains the last time.
    Returns how many rows are written.
    """
    k = memory[0]
    row = 0
    weights = dense[:, 0].copy()
    while row < times.shape[0]:
        t = clock[TIME]
        h = min(clock[STEP], control[END] - t)
        stages_cycle(system, direct, stabilisation, applied, a, h, pose, velocity, memory, scratch)
        worst = 0.0
        for e in range(12):
            for i in range(pose.shape[0]):
                slip, largest = 0.0, 0.0
                for j in range(b.shape[0]):
                    slip += error[j] * k[j, i, e]
                    largest = max(largest, abs(k[j, i, e]))
                share = abs(h * slip) / (control[ABSOLUTE] + control[RELATIVE] * h * largest)
                if not share <= worst:
                    worst = share
        if worst <= 1.0:
            while row < times.shape[0] and times[row] <= t + h + 1e-12 * control[END]:
                s = (times[row] - t) / h
                for j in range(b.shape[0]):
                    power, weights[j] = s, 0.0
                    for d in range(dense.shape[1]):
                        weights[j] += dense[j, d] * power
                        power *= s
                    if s >= 1.0:
                        weights[j] = b[j]
                _advanced(direct, weights, h, pose, velocity, memory, poses[row], velocities[row])
                row += 1
            if row == times.shape[0]:
                return row  # the next call takes this step again, to what lies beyond
            _advanced(direct, b, h, pose, velocity, memory, pose, velocity)
            clock[TIME] = t + h
            clock[DONE] += 1.0
        else:
            clock[REFUSED] += 1.0
        clock[STEP] = h * step_factor(worst, error_order)
        if not clock[STEP] > control[SMALLEST_STEP]:
            return row
    return row


advance_by_error_cycle = compiled(_advance_by_error)


def _observe(
    system, direct, stabilisation, applied, poses, velocities, hybrid, scratch, rates, violations,
    reactions, accelerations,
):  # fmt: skip
    """At states (k, n, 12), (k, n, 6): the norm of the violation (k, joints), the wrench on the
    second body of each joint (k, joints, 6), and V' (k, n, 6). Returns the smallest rank."""
    _, _, _, _, joint_bodies, joints, row_joints, _, rows = system
    motion, work, values = scratch[0], scratch[1], scratch[2]
    smallest = rows.shape[0]
    for k in range(poses.shape[0]):
        rank = rates_cycle(
            system, direct, stabilisation, applied, poses[k], velocities[k], hybrid, scratch, rates
        )
        smallest = min(smallest, rank)
        accelerations[k] = rates
        for j in range(joints.shape[0]):
            violations[k, j] = 0.0
            for e in range(6):
                reactions[k, j, e] = 0.0
        for r in range(rows.shape[0]):
            j = row_joints[r]
            violations[k, j] += values[r, VIOLATION] ** 2
            for e in range(6):
                reactions[k, j, e] -= values[r, MULTIPLIER] * work[r, J_SECOND + e]
        for j in range(joints.shape[0]):
            violations[k, j] **= 0.5
            p = load_vector(joints, j, SECOND_FRAME + POSITION)
            _, lever, _, _, _ = point_motion(poses[k], motion, joint_bodies[j, 1], p)
            m, f = load_screw(reactions[k], j, 0)
            store_screw(reactions[k], j, 0, (subtract(m, cross(lever, f)), f))
    return smallest


observe_cycle = compiled(_observe)
