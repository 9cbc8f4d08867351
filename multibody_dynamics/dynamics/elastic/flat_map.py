# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The flat map of elastic joints over scalars, in both directions, for all kinds of actuators.

`feedforward` computes theta, theta', theta'' and tau_m of the motors from q, q', q'', Q, Q', Q''
and the second outputs; `springs_recursion` computes Q, Q' and the loads from links and motors.
:mod:`actuator_kinds` gives the relations. The functions run over the joints of a robot in the
control cycle (:mod:`actuator_cycle`), or over a batch of states of one actuator. They never raise:
a spring continues along its tangents beyond its travel (where an infeasible pretension takes it),
an infeasible stiffness is clipped to the nearest feasible value, and flags report both.

``JOINT`` row: one actuator
    KIND                     RIGID, SERIES, VARIABLE, BY_PRETENSION or BY_STIFFNESS (antagonistic)
    MOTOR, SPRING, SECOND    index of its first motor, first spring, second output
    DAMPING                  of the damper in parallel with the spring
    SOFTEST, STIFFEST        the range of a variable stiffness
    DRIVEN, OFFSET, GAIN     1 if a motor sets the stiffness, k = OFFSET + GAIN theta_k

``MOTOR`` row: INERTIA, friction (VISCOUS, COULOMB, COULOMB_VELOCITY) and TORQUE_LIMIT of one motor
"""

from __future__ import annotations

from math import expm1, isnan
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, compiled, inlined
from .spring_tables import (
    DEGREE,
    GREATEST,
    LEAST,
    LOWER,
    UPPER,
    law_on_travel,
    spring_deflection,
    spring_deflection_motion,
    spring_energy,
    spring_law,
)

RIGID, SERIES, VARIABLE, BY_PRETENSION, BY_STIFFNESS = (float(kind) for kind in range(5))

KIND = 0
MOTOR = 1
SPRING = 2
SECOND = 3
DAMPING = 4
SOFTEST = 5
STIFFEST = 6
DRIVEN = 7
OFFSET = 8
GAIN = 9
JOINT_ROW = 10

INERTIA = 0
VISCOUS = 1
COULOMB = 2
COULOMB_VELOCITY = 3
TORQUE_LIMIT = 4
MOTOR_ROW = 5

BEYOND_TRAVEL = 1
"""Flag of a motor: the spring in front of it is beyond its travel."""
SECOND_OUTPUT_CLIPPED = 2
"""Flag of the motors that set a stiffness, or of the joint's motor if none does: the requested
stiffness was infeasible. An infeasible pretension sets BEYOND_TRAVEL."""

LEAST_SHARE = 0.1
"""A driven stiffness is never taken below this share of the minimum of its range."""


class LinkRows(NamedTuple):
    """Inputs of the feedforward: state (3 or more, n), torque (3, n), second outputs (3, v)."""

    state: Array
    torque: Array
    second: Array


class MotorArrays(NamedTuple):
    """Outputs of the feedforward: deflection (m,) of the spring in front of each motor, also read
    as the initial guess; load (m,); theta, theta', theta'' and tau_m (4, m); flags (m,)."""

    bent: Array
    load: Array
    result: Array
    flags: NDArray[np.int64]


# Motors


@inlined
def smooth_friction(velocity, viscous, coulomb, coulomb_velocity):
    """Viscous and smoothed Coulomb friction torque, for scalars or arrays."""
    return viscous * velocity + coulomb * np.tanh(velocity / coulomb_velocity)


@inlined
def friction(motors, j, velocity):
    """Friction torque of motor j."""
    if motors[j, COULOMB] == 0.0:  # saves the tanh
        return motors[j, VISCOUS] * velocity
    return smooth_friction(
        velocity, motors[j, VISCOUS], motors[j, COULOMB], motors[j, COULOMB_VELOCITY]
    )


@inlined
def _drive(motors, j, motion, load, outputs):
    """Write motor j at `motion` = (theta, theta', theta'') to `outputs`, with its torque
    tau_m = M_m theta'' + load + friction."""
    position, velocity, acceleration = motion
    result = outputs.result
    result[0, j] = position
    result[1, j] = velocity
    result[2, j] = acceleration
    result[3, j] = motors[j, INERTIA] * acceleration + load + friction(motors, j, velocity)
    outputs.load[j] = load
    outputs.flags[j] = 0


@inlined
def _drive_spring(motors, laws, j, k, motion, phi, load, outputs):
    """`_drive` for motor j with the spring k in front of it, deflected by phi."""
    _drive(motors, j, motion, load, outputs)
    outputs.bent[j] = phi
    if not laws[k, LOWER] <= phi <= laws[k, UPPER]:
        outputs.flags[j] = BEYOND_TRAVEL


@inlined
def driven_stiffness(offset, gain, softest, position, velocity):
    """k and k' of a stiffness drive, never below LEAST_SHARE of `softest`, and whether the drive
    sets them; for scalars or arrays."""
    k = offset + gain * position
    sets = k >= LEAST_SHARE * softest
    return np.maximum(k, LEAST_SHARE * softest), gain * velocity * sets, sets


# The filter of a damped spring: see SeriesElastic.deflection_after


@inlined
def _relaxed(push, stiffness, damping, t):
    """x(t) of d x' + K x = P + P' t + P'' t^2 / 2, x(0) = 0, with phi-functions of z = -K t / d:

    x = t / d (P phi_1(z) + P' t phi_2(z) + P'' t^2 phi_3(z)),  phi_k+1 = (phi_k - 1 / k!) / z.
    """
    P, Pd, Pdd = push
    z = -stiffness * t / damping
    if z > -1.0:
        three, term = 0.0, 1.0 / 6.0
        for j in range(18):
            three += term
            term *= z / (j + 4)
        two = z * three + 0.5
        one = z * two + 1.0
    else:
        one = expm1(z) / z
        two = (one - 1.0) / z
        three = (two - 0.5) / z
    return t / damping * (P * one + Pd * t * two + Pdd * t * t * three)


@inlined
def _deflection_after(laws, pieces, own, k, damping, phi, torque, dt):
    Q, Qd, Qdd = torque
    s, slope, _, _ = spring_law(laws, pieces, own, k, phi)
    if laws[k, DEGREE] == 1.0:
        return phi + _relaxed((Q - s, Qd, Qdd), slope, damping, dt)
    middle, end = 0.0, 0.0
    for _ in range(4):
        half = spring_law(laws, pieces, own, k, phi + middle)[0] - s - slope * middle
        full = spring_law(laws, pieces, own, k, phi + end)[0] - s - slope * end
        first, second = (4.0 * half - full) / dt, 4.0 * (full - 2.0 * half) / (dt * dt)
        push = Q - s, Qd - first, Qdd - second
        middle = _relaxed(push, slope, damping, 0.5 * dt)
        end = _relaxed(push, slope, damping, dt)
    return phi + end


@inlined
def _settled_deflection(laws, pieces, own, k, damping, torque):
    phi, _, phidd = spring_deflection_motion(laws, pieces, own, k, torque, 0.0)
    slope = spring_law(laws, pieces, own, k, phi)[1]
    phid = (torque[1] - damping * phidd) / slope
    return spring_deflection(laws, pieces, own, k, torque[0] - damping * phid, phi)


@inlined
def advance_filters(joints, laws, pieces, own, torque, filtered, dt):
    """Advance the deflections `filtered` (n,) of damped springs by dt in s under `torque` (3, n).

    NaN is first replaced by the settled deflection; with dt = 0 nothing else happens.
    """
    for i in range(joints.shape[0]):
        damping, k = joints[i, DAMPING], int(joints[i, SPRING])
        if damping > 0.0:
            Q = torque[0, i], torque[1, i], torque[2, i]
            if isnan(filtered[i]):
                filtered[i] = _settled_deflection(laws, pieces, own, k, damping, Q)
            if dt != 0.0:
                filtered[i] = _deflection_after(laws, pieces, own, k, damping, filtered[i], Q, dt)


# Antagonistic springs k and k + 1, of extensions a and b:
#
#     s_a(a) - s_b(b) = Q,    s_a'(a) + s_b'(b) = sigma


@inlined
def _solved(a1, a2, b1, b2, torque, bend):
    """x and y of a1 x - b1 y = torque, a2 x + b2 y = bend."""
    det = a1 * b2 + b1 * a2
    return (b2 * torque + b1 * bend) / det, (a1 * bend - a2 * torque) / det


@inlined
def _newton(laws, pieces, own, k, Q, sigma, a, b):
    """The extensions by Newton's method from the guess a, b, and whether it converged."""
    a_low, a_high = laws[k, LOWER], laws[k, UPPER]
    b_low, b_high = laws[k + 1, LOWER], laws[k + 1, UPPER]
    if not (a_low <= a <= a_high and b_low <= b <= b_high):
        a, b = 0.5 * (a_low + a_high), 0.5 * (b_low + b_high)
    for _ in range(20):
        s_a, a1, a2, _ = law_on_travel(laws, pieces, own, k, a)
        s_b, b1, b2, _ = law_on_travel(laws, pieces, own, k + 1, b)
        if not a1 * b2 + b1 * a2 > 0.0:
            return a, b, False
        da, db = _solved(a1, a2, b1, b2, Q - s_a + s_b, sigma - a1 - b1)
        a = min(max(a + da, a_low), a_high)
        b = min(max(b + db, b_low), b_high)
        # the next step would be below 1e-15
        if abs(da) < 1e-8 * (a_high - a_low) and abs(db) < 1e-8 * (b_high - b_low):
            return a, b, True
    return a, b, False


@inlined
def _at_pretension(laws, pieces, own, k, p, half, a, b):
    """Extensions at the pretension p and the joint torque 2 half, from the guess a, b."""
    return (
        spring_deflection(laws, pieces, own, k, p + half, a),
        spring_deflection(laws, pieces, own, k + 1, p - half, b),
    )


@inlined
def _bracketed(laws, pieces, own, k, Q, sigma):
    """The extensions by a search for the pretension, which increases with the stiffness, and
    whether they give Q and sigma. Slower than `_newton`, but guaranteed to converge."""
    half = 0.5 * Q
    low = max(laws[k, LEAST] - half, laws[k + 1, LEAST] + half)
    greatest = min(laws[k, GREATEST] - half, laws[k + 1, GREATEST] + half)
    high = max(low, greatest)
    possible = low <= greatest
    resolution = 4e-16 * max(abs(low), abs(high))
    p, a, b = 0.5 * (low + high), 0.0, 0.0
    for _ in range(200):
        a, b = _at_pretension(laws, pieces, own, k, p, half, a, b)
        _, a1, a2, _ = law_on_travel(laws, pieces, own, k, a)
        _, b1, b2, _ = law_on_travel(laws, pieces, own, k + 1, b)
        error = a1 + b1 - sigma
        if error >= 0.0:
            high = p
        if error <= 0.0:
            low = p
        slope = a2 / a1 + b2 / b1
        better = p - error / slope if slope > 0.0 else 0.5 * (low + high)
        if not low <= better <= high:
            better = 0.5 * (low + high)
        step = abs(better - p)
        p = better
        if step <= resolution:
            break
    a, b = _at_pretension(laws, pieces, own, k, p, half, a, b)
    found = (
        law_on_travel(laws, pieces, own, k, a)[1] + law_on_travel(laws, pieces, own, k + 1, b)[1]
    )
    return a, b, possible and abs(found - sigma) <= 1e-9 * abs(sigma)


@inlined
def _extensions(laws, pieces, own, k, torque, stiffness, a, b):
    """Both extensions with two rates, from the guess a, b, and whether the stiffness is feasible.

    The equations above, differentiated once and twice, are linear in a', b' and a'', b''.
    """
    Q, Qd, Qdd = torque
    sigma, sigmad, sigmadd = stiffness
    a, b, found = _newton(laws, pieces, own, k, Q, sigma, a, b)
    if not found:
        a, b, found = _bracketed(laws, pieces, own, k, Q, sigma)
    _, a1, a2, a3 = law_on_travel(laws, pieces, own, k, a)
    _, b1, b2, b3 = law_on_travel(laws, pieces, own, k + 1, b)
    if not a1 * b2 + b1 * a2 > 0.0:  # springs stop hardening at an end of travel: keep p
        half, halfd = 0.5 * Qd, 0.5 * Qdd
        return (a, half / a1, halfd / a1), (b, -half / b1, -halfd / b1), found
    da, db = _solved(a1, a2, b1, b2, Qd, sigmad)
    torque_rest = Qdd - a2 * da * da + b2 * db * db
    dda, ddb = _solved(a1, a2, b1, b2, torque_rest, sigmadd - a3 * da * da - b3 * db * db)
    return (a, da, dda), (b, db, ddb), found


# From the links to the motors


@inlined
def _ahead(link, side, deflection):
    """theta = q + side phi, with two rates."""
    return (
        link[0] + side * deflection[0],
        link[1] + side * deflection[1],
        link[2] + side * deflection[2],
    )


@inlined
def _damped(laws, pieces, own, k, damping, torque, filtered, i):
    """phi, phi' and phi'' of a damped spring, whose state is filtered[i]."""
    if isnan(filtered[i]):
        filtered[i] = _settled_deflection(laws, pieces, own, k, damping, torque)
    phi = filtered[i]
    s, slope, _, _ = spring_law(laws, pieces, own, k, phi)
    phid = (torque[0] - s) / damping
    return phi, phid, (torque[1] - slope * phid) / damping


@inlined
def _reduced(torque, stiffness):
    """u = Q / k with two rates."""
    k, kd, kdd = stiffness
    u = torque[0] / k
    ud = (torque[1] - kd * u) / k
    return u, ud, (torque[2] - 2.0 * kd * ud - kdd * u) / k


# wide: flat arrays; tuples of arrays cost time when they are passed on
@inlined
def _variable(joints, motors, laws, pieces, own, i, moves, given, bend, outputs):
    """`feedforward` for joint i, of variable stiffness, whose spring the torque `bend` deflects."""
    j, k, v = int(joints[i, MOTOR]), int(joints[i, SPRING]), int(joints[i, SECOND])
    stiffness, kd, kdd = given.second[0, v], given.second[1, v], given.second[2, v]
    possible = joints[i, SOFTEST] <= stiffness <= joints[i, STIFFEST]
    if not possible:
        stiffness = min(max(stiffness, joints[i, SOFTEST]), joints[i, STIFFEST])
        kd, kdd = 0.0, 0.0
    u = _reduced(bend, (stiffness, moves * kd, moves * kdd))
    deflection = spring_deflection_motion(laws, pieces, own, k, u, outputs.bent[j])
    link = given.state[0, i], given.state[1, i], given.state[2, i]
    motion, phi = _ahead(link, 1.0, deflection), deflection[0]
    _drive_spring(motors, laws, j, k, motion, phi, given.torque[0, i], outputs)
    if joints[i, DRIVEN] == 1.0:
        gain = joints[i, GAIN]
        motion = (stiffness - joints[i, OFFSET]) / gain, kd / gain, kdd / gain
        j += 1
        _drive(motors, j, motion, gain * spring_energy(laws, pieces, own, k, phi), outputs)
    if not possible:
        outputs.flags[j] |= SECOND_OUTPUT_CLIPPED


# wide: as above
@inlined
def _antagonistic(joints, motors, laws, pieces, own, i, moves, given, bend, outputs):
    """`feedforward` for the antagonistic joint i, whose springs the torque `bend` deflects."""
    j, k, v = int(joints[i, MOTOR]), int(joints[i, SPRING]), int(joints[i, SECOND])
    bent, flags = outputs.bent, outputs.flags
    second = given.second[0, v], moves * given.second[1, v], moves * given.second[2, v]
    possible = True
    if joints[i, KIND] == BY_PRETENSION:
        pull = (
            second[0] + 0.5 * bend[0], second[1] + 0.5 * bend[1], second[2] + 0.5 * bend[2]
        )  # fmt: skip
        back = (
            second[0] - 0.5 * bend[0], second[1] - 0.5 * bend[1], second[2] - 0.5 * bend[2]
        )  # fmt: skip
        a = spring_deflection_motion(laws, pieces, own, k, pull, bent[j])
        b = spring_deflection_motion(laws, pieces, own, k + 1, back, bent[j + 1])
    else:
        a, b, possible = _extensions(laws, pieces, own, k, bend, second, bent[j], bent[j + 1])
    rest = 0.5 * (given.torque[0, i] - bend[0])  # a load that deflects no spring in this variant
    load_a = spring_law(laws, pieces, own, k, a[0])[0] + rest
    load_b = -spring_law(laws, pieces, own, k + 1, b[0])[0] + rest
    link = given.state[0, i], given.state[1, i], given.state[2, i]
    _drive_spring(motors, laws, j, k, _ahead(link, 1.0, a), a[0], load_a, outputs)
    _drive_spring(motors, laws, j + 1, k + 1, _ahead(link, -1.0, b), b[0], load_b, outputs)
    if not possible:
        flags[j] |= SECOND_OUTPUT_CLIPPED
        flags[j + 1] |= SECOND_OUTPUT_CLIPPED


# wide: as above
@inlined
def _single(joints, motors, laws, pieces, own, i, moves, given, bend, filtered, outputs):
    """`feedforward` for joint i, rigid or with one spring that the torque `bend` deflects."""
    state, j, k = given.state, int(joints[i, MOTOR]), int(joints[i, SPRING])
    Q = given.torque[0, i], given.torque[1, i], given.torque[2, i]
    link = state[0, i], state[1, i], state[2, i]
    if joints[i, KIND] == RIGID:
        _drive(motors, j, link, Q[0], outputs)
        return
    damping = joints[i, DAMPING]
    if damping > 0.0 and moves != 0.0:
        deflection = _damped(laws, pieces, own, k, damping, Q, filtered, i)
    else:
        deflection = spring_deflection_motion(laws, pieces, own, k, bend, outputs.bent[j])
    motion = _ahead(link, 1.0, deflection)
    _drive_spring(motors, laws, j, k, motion, deflection[0], Q[0], outputs)


@inlined
def _bend(bending, torque, i):
    """The torque that deflects the springs of joint i, with its rates."""
    moves = bending[1]
    return bending[0] * torque[0, i], moves * torque[1, i], moves * torque[2, i]


# wide: as above
@inlined
def feedforward(joints, motors, laws, pieces, own, bending, given, filtered, outputs):
    """Write to `outputs`, a MotorArrays, the motors that move all joints along `given`, a LinkRows.

    bending: (2,) as in `VARIANTS`. filtered: (n,) deflections of damped springs; NaN settles first.
    """
    moves = bending[1]
    for i in range(joints.shape[0]):
        kind, bend = joints[i, KIND], _bend(bending, given.torque, i)
        if kind < VARIABLE:
            _single(joints, motors, laws, pieces, own, i, moves, given, bend, filtered, outputs)
        elif kind == VARIABLE:
            _variable(joints, motors, laws, pieces, own, i, moves, given, bend, outputs)
        else:
            _antagonistic(joints, motors, laws, pieces, own, i, moves, given, bend, outputs)


# From links and motors to the joint torques


# wide: the plant passes the rows of its packed state one by one; a tuple of arrays costs time
@inlined
def springs_recursion(
    joints, laws, pieces, own, q, qd, theta, thetad, second, torque, rate, felt, load, deflection
):
    """Write Q, Q' and stiffness of the joints (n,), load and deflection of the motors (m,) for
    links at q, q' (n,) and motors at theta, theta' (m,).

    second: (2, v) stiffness and rate, read where no motor sets it. The entries of rigid joints, and
    Q' of damped ones, are left unchanged.
    """
    for i in range(joints.shape[0]):
        kind = joints[i, KIND]
        if kind == RIGID:
            continue
        j, k = int(joints[i, MOTOR]), int(joints[i, SPRING])
        phi, phid = theta[j] - q[i], thetad[j] - qd[i]
        s, s1, _, _ = spring_law(laws, pieces, own, k, phi)
        deflection[j] = phi
        if kind == SERIES:
            load[j] = torque[i] = s + joints[i, DAMPING] * phid
            felt[i] = s1
            if joints[i, DAMPING] == 0.0:
                rate[i] = s1 * phid
        elif kind == VARIABLE:
            if joints[i, DRIVEN] == 1.0:
                gain = joints[i, GAIN]
                stiffness, stiffness_rate, sets = driven_stiffness(
                    joints[i, OFFSET], gain, joints[i, SOFTEST], theta[j + 1], thetad[j + 1]
                )
                load[j + 1] = sets * gain * spring_energy(laws, pieces, own, k, phi)
                deflection[j + 1] = 0.0
            else:
                v = int(joints[i, SECOND])
                stiffness, stiffness_rate = second[0, v], second[1, v]
            load[j] = torque[i] = stiffness * s
            rate[i] = stiffness_rate * s + stiffness * s1 * phid
            felt[i] = stiffness * s1
        else:
            phi_b, phid_b = q[i] - theta[j + 1], qd[i] - thetad[j + 1]
            s_b, b1, _, _ = spring_law(laws, pieces, own, k + 1, phi_b)
            deflection[j + 1] = phi_b
            torque[i] = s - s_b
            rate[i] = s1 * phid - b1 * phid_b
            felt[i] = s1 + b1
            load[j], load[j + 1] = s, -s_b


# wide: a call unpacks an array in 0.07 us; a tuple of arrays takes several times as long
def feedforward_cycle(
    joints, motors, laws, pieces, own, bending, state, torque, second, filtered,
    bent, load, result, flags,
):  # fmt: skip
    """`feedforward` with plain arrays as arguments."""
    given, outputs = LinkRows(state, torque, second), MotorArrays(bent, load, result, flags)
    feedforward(joints, motors, laws, pieces, own, bending, given, filtered, outputs)


# wide: as above
def single_feedforward_cycle(
    joints, motors, laws, pieces, own, bending, state, torque, second, filtered,
    bent, load, result, flags,
):  # fmt: skip
    """`feedforward_cycle` for a robot without second outputs; compiled in half the time."""
    given, outputs = LinkRows(state, torque, second), MotorArrays(bent, load, result, flags)
    for i in range(joints.shape[0]):
        bend = _bend(bending, torque, i)
        _single(joints, motors, laws, pieces, own, i, bending[1], given, bend, filtered, outputs)


compiled_feedforward = compiled(feedforward_cycle)
compiled_single_feedforward = compiled(single_feedforward_cycle)
compiled_advance_filters = compiled(advance_filters)
compiled_springs = compiled(springs_recursion)
