"""Actuators in the control cycle: motor feedforward and springs, compiled, all kinds mixed.

The relations are those of :mod:`actuator_kinds`, where they are written for arrays and checked;
here they run over flat rows of numbers, one state at a time. What cannot be had does not stop the
cycle: a spring goes on along its tangents beyond its travel, a stiffness or pretension stays at the
nearest one that can be had, and `flags` say so.

``JOINT`` row: one actuator
    KIND                     RIGID, SERIES, VARIABLE, BY_PRETENSION or BY_STIFFNESS (antagonistic)
    MOTOR, SPRING, SECOND    its first motor, first spring, second output
    DAMPING                  beside the spring
    SOFTEST, STIFFEST        the range of a variable stiffness
    DRIVEN, OFFSET, GAIN     1 if a motor sets it, k = OFFSET + GAIN theta_k

``MOTOR`` row: INERTIA, friction (VISCOUS, COULOMB, COULOMB_VELOCITY) and TORQUE_LIMIT of one motor
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import expm1, isnan, tanh
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, compiled, inlined
from .actuator_kinds import (
    LEAST_SHARE,
    Actuator,
    Antagonistic,
    Rigid,
    SeriesElastic,
    VariableStiffness,
)
from .actuators import Actuators
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
    spring_tables,
)
from .springs import Spring

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
"""Flag of the motors of a joint: its stiffness or pretension cannot be had."""

VARIANTS: Mapping[str, tuple[float, float]] = {
    "full": (1.0, 1.0),
    "quasi_static": (1.0, 0.0),
    "rigid": (0.0, 0.0),
}
"""What bends the springs in the feedforward: Q, and its rates. `full` is exact. `quasi_static`
knows the deflection but not its rates (theta = q + phi, theta' = q', theta'' = q''), as does the
usual motor-side controller with gravity or inverse-dynamics feedforward. `rigid` is that of a robot
without springs, or with springs bent as without load: theta = q and its rates, tau_m = Q + M_m q''.
All three compensate friction, at their theta'."""


class MotorCommand(NamedTuple):
    """theta, theta', theta'' and tau_m on the link side of the gear, each (m,)."""

    position: Array
    velocity: Array
    acceleration: Array
    torque: Array


class ActuatorRows(NamedTuple):
    """All numbers of the actuators: JOINT rows, MOTOR rows, and the tables of the springs."""

    joints: Array
    motors: Array
    laws: Array
    pieces: Array


def actuator_rows(actuators: Actuators) -> ActuatorRows:
    joints = np.zeros((actuators.n, JOINT_ROW))
    springs: list[Spring] = []
    for i, actuator, own, second in actuators.each():
        joints[i, :DAMPING] = _kind(actuator), own[0], len(springs), second
        if isinstance(actuator, SeriesElastic):
            joints[i, DAMPING] = actuator.damping
            springs.append(actuator.spring)
        elif isinstance(actuator, VariableStiffness):
            joints[i, SOFTEST : STIFFEST + 1] = actuator.stiffness_range
            if actuator.drive is not None:
                joints[i, DRIVEN:] = 1.0, actuator.drive.offset, actuator.drive.gain
            springs.append(actuator.shape)
        elif isinstance(actuator, Antagonistic):
            springs += [actuator.agonist_spring, actuator.antagonist_spring]
    columns = ("inertia", "viscous", "coulomb", "coulomb_velocity", "torque_limit")
    motors = np.array([[getattr(each, name) for name in columns] for each in actuators.motors])
    return ActuatorRows(joints, motors.reshape(-1, MOTOR_ROW), *spring_tables(springs))


def _kind(actuator: Actuator) -> float:
    if isinstance(actuator, Antagonistic):
        return BY_STIFFNESS if actuator.regulates == "stiffness" else BY_PRETENSION
    for kind, code in ((Rigid, RIGID), (SeriesElastic, SERIES), (VariableStiffness, VARIABLE)):
        if isinstance(actuator, kind):
            return code
    raise InputError(f"{type(actuator).__name__}: not known to the control cycle")


def resting_second_outputs(actuators: Actuators) -> Array:
    """(v,) the middle of what can be had without load."""
    ranges = [
        each.second_output_range(np.zeros(()))
        for each in actuators.actuators
        if each.second_output is not None
    ]
    return np.array([0.5 * float(low + high) for low, high in ranges])


@inlined
def friction(motors, j, velocity):
    """Torque that friction takes from motor j."""
    torque = motors[j, VISCOUS] * velocity
    if motors[j, COULOMB] > 0.0:
        torque += motors[j, COULOMB] * tanh(velocity / motors[j, COULOMB_VELOCITY])
    return torque


# The filter of a damped spring; see SeriesElastic.deflection_after


@inlined
def _relaxed(P, Pd, Pdd, stiffness, damping, t):
    """x(t) of d x' + K x = P + P' t + P'' t^2 / 2, x(0) = 0."""
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
def _deflection_after(laws, pieces, k, damping, phi, Q, Qd, Qdd, dt):
    s, slope, _, _ = spring_law(laws, pieces, k, phi)
    if laws[k, DEGREE] == 1.0:
        return phi + _relaxed(Q - s, Qd, Qdd, slope, damping, dt)
    middle, end = 0.0, 0.0
    for _ in range(4):
        half = spring_law(laws, pieces, k, phi + middle)[0] - s - slope * middle
        full = spring_law(laws, pieces, k, phi + end)[0] - s - slope * end
        first, second = (4.0 * half - full) / dt, 4.0 * (full - 2.0 * half) / (dt * dt)
        middle = _relaxed(Q - s, Qd - first, Qdd - second, slope, damping, 0.5 * dt)
        end = _relaxed(Q - s, Qd - first, Qdd - second, slope, damping, dt)
    return phi + end


@inlined
def _settled_deflection(laws, pieces, k, damping, Q, Qd, Qdd):
    phi, _, phidd = spring_deflection_motion(laws, pieces, k, Q, Qd, Qdd, 0.0)
    slope = spring_law(laws, pieces, k, phi)[1]
    phid = (Qd - damping * phidd) / slope
    return spring_deflection(laws, pieces, k, Q - damping * phid, phi)


# Antagonistic springs k and k + 1; see Antagonistic._extensions


@inlined
def _newton(laws, pieces, k, Q, sigma, a, b):
    """The extensions from the guess a, b; whether they were found."""
    a_low, a_high = laws[k, LOWER], laws[k, UPPER]
    b_low, b_high = laws[k + 1, LOWER], laws[k + 1, UPPER]
    if not (a_low <= a <= a_high and b_low <= b <= b_high):
        a, b = 0.5 * (a_low + a_high), 0.5 * (b_low + b_high)
    for _ in range(20):
        s_a, a1, a2, _ = law_on_travel(laws, pieces, k, a)
        s_b, b1, b2, _ = law_on_travel(laws, pieces, k + 1, b)
        torque, bend = Q - s_a + s_b, sigma - a1 - b1
        det = a1 * b2 + b1 * a2
        if not det > 0.0:
            return a, b, False
        da, db = (b2 * torque + b1 * bend) / det, (a1 * bend - a2 * torque) / det
        a = min(max(a + da, a_low), a_high)
        b = min(max(b + db, b_low), b_high)
        if abs(da) < 1e-8 * (a_high - a_low) and abs(db) < 1e-8 * (b_high - b_low):
            return a, b, True
    return a, b, False


@inlined
def _bracketed(laws, pieces, k, Q, sigma):
    """The extensions by way of the pretension; whether they give Q and sigma."""
    half = 0.5 * Q
    low = max(laws[k, LEAST] - half, laws[k + 1, LEAST] + half)
    greatest = min(laws[k, GREATEST] - half, laws[k + 1, GREATEST] + half)
    high = max(low, greatest)
    possible = low <= greatest
    resolution = 4e-16 * max(abs(low), abs(high))
    p, a, b = 0.5 * (low + high), 0.0, 0.0
    for _ in range(200):
        a = spring_deflection(laws, pieces, k, p + half, a)
        b = spring_deflection(laws, pieces, k + 1, p - half, b)
        _, a1, a2, _ = law_on_travel(laws, pieces, k, a)
        _, b1, b2, _ = law_on_travel(laws, pieces, k + 1, b)
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
    a = spring_deflection(laws, pieces, k, p + half, a)
    b = spring_deflection(laws, pieces, k + 1, p - half, b)
    found = law_on_travel(laws, pieces, k, a)[1] + law_on_travel(laws, pieces, k + 1, b)[1]
    return a, b, possible and abs(found - sigma) <= 1e-9 * abs(sigma)


@inlined
def _extensions(laws, pieces, k, Q, Qd, Qdd, sigma, sigmad, sigmadd, a, b):
    """Both extensions, their rates and second rates; whether sigma can be had."""
    a, b, found = _newton(laws, pieces, k, Q, sigma, a, b)
    if not found:
        a, b, found = _bracketed(laws, pieces, k, Q, sigma)
    _, a1, a2, a3 = law_on_travel(laws, pieces, k, a)
    _, b1, b2, b3 = law_on_travel(laws, pieces, k + 1, b)
    det = a1 * b2 + b1 * a2
    if not det > 0.0:  # at the end of a travel where the springs no longer harden: p stays
        return a, b, 0.5 * Qd / a1, -0.5 * Qd / b1, 0.5 * Qdd / a1, -0.5 * Qdd / b1, found
    da, db = (b2 * Qd + b1 * sigmad) / det, (a1 * sigmad - a2 * Qd) / det
    torque = Qdd - a2 * da * da + b2 * db * db
    bend = sigmadd - a3 * da * da - b3 * db * db
    dda, ddb = (b2 * torque + b1 * bend) / det, (a1 * bend - a2 * torque) / det
    return a, b, da, db, dda, ddb, found


# The flat map


@inlined
def _command(motors, laws, j, k, state, i, side, phi, phid, phidd, load, outputs):
    """Motor j, with the spring k bent by phi between itself and joint i; side: -1 antagonist."""
    bent, loads, result, flags = outputs
    velocity, acceleration = state[1, i] + side * phid, state[2, i] + side * phidd
    result[0, j] = state[0, i] + side * phi
    result[1, j] = velocity
    result[2, j] = acceleration
    result[3, j] = motors[j, INERTIA] * acceleration + load + friction(motors, j, velocity)
    bent[j], loads[j] = phi, load
    if not laws[k, LOWER] <= phi <= laws[k, UPPER]:
        flags[j] |= BEYOND_TRAVEL


def _feedforward(joints, motors, laws, pieces, bending, state, torque, second, filtered, outputs):
    """The flat map of all joints; bending is that of VARIANTS.

    outputs: bent (m,), also the guess for the next time, loads (m,), result (4, m), flags (m,).
    """
    bent, loads, result, flags = outputs
    bends, moves = bending[0], bending[1]
    for i in range(joints.shape[0]):
        kind = joints[i, KIND]
        j, k, v = int(joints[i, MOTOR]), int(joints[i, SPRING]), int(joints[i, SECOND])
        Q, Qd, Qdd = torque[0, i], torque[1, i], torque[2, i]
        flags[j] = 0
        if kind == RIGID:
            result[0, j] = state[0, i]
            result[1, j] = state[1, i]
            result[2, j] = state[2, i]
            inertial = motors[j, INERTIA] * state[2, i]
            result[3, j] = inertial + Q + friction(motors, j, state[1, i])
            loads[j] = Q
        elif kind == SERIES:
            damping = joints[i, DAMPING]
            if damping > 0.0 and moves != 0.0:
                if isnan(filtered[i]):
                    filtered[i] = _settled_deflection(laws, pieces, k, damping, Q, Qd, Qdd)
                phi = filtered[i]
                s, slope, _, _ = spring_law(laws, pieces, k, phi)
                phid = (Q - s) / damping
                phidd = (Qd - slope * phid) / damping
            else:
                phi, phid, phidd = spring_deflection_motion(
                    laws, pieces, k, bends * Q, moves * Qd, moves * Qdd, bent[j]
                )
            _command(motors, laws, j, k, state, i, 1.0, phi, phid, phidd, Q, outputs)
        elif kind == VARIABLE:
            stiffness, kd, kdd = second[0, v], second[1, v], second[2, v]
            possible = joints[i, SOFTEST] <= stiffness <= joints[i, STIFFEST]
            if not possible:
                stiffness = min(max(stiffness, joints[i, SOFTEST]), joints[i, STIFFEST])
                kd, kdd = 0.0, 0.0
            u = bends * Q / stiffness
            ud = moves * (Qd - kd * u) / stiffness
            udd = moves * (Qdd - 2.0 * kd * ud - kdd * u) / stiffness
            phi, phid, phidd = spring_deflection_motion(laws, pieces, k, u, ud, udd, bent[j])
            _command(motors, laws, j, k, state, i, 1.0, phi, phid, phidd, Q, outputs)
            if joints[i, DRIVEN] == 1.0:
                gain = joints[i, GAIN]
                load = gain * spring_energy(laws, pieces, k, phi)
                velocity, acceleration = kd / gain, kdd / gain
                result[0, j + 1] = (stiffness - joints[i, OFFSET]) / gain
                result[1, j + 1] = velocity
                result[2, j + 1] = acceleration
                inertial = motors[j + 1, INERTIA] * acceleration
                result[3, j + 1] = inertial + load + friction(motors, j + 1, velocity)
                loads[j + 1] = load
                flags[j + 1] = 0 if possible else SECOND_OUTPUT_CLIPPED
            elif not possible:
                flags[j] |= SECOND_OUTPUT_CLIPPED
        else:
            bend, bendd, benddd = bends * Q, moves * Qd, moves * Qdd
            p, pd, pdd = second[0, v], moves * second[1, v], moves * second[2, v]
            flags[j + 1] = 0
            if kind == BY_PRETENSION:
                a, da, dda = spring_deflection_motion(
                    laws, pieces, k, p + 0.5 * bend, pd + 0.5 * bendd, pdd + 0.5 * benddd, bent[j]
                )
                b, db, ddb = spring_deflection_motion(
                    laws, pieces, k + 1, p - 0.5 * bend, pd - 0.5 * bendd, pdd - 0.5 * benddd,
                    bent[j + 1],
                )  # fmt: skip
            else:
                a, b, da, db, dda, ddb, possible = _extensions(
                    laws, pieces, k, bend, bendd, benddd, p, pd, pdd, bent[j], bent[j + 1]
                )
                if not possible:
                    flags[j] = flags[j + 1] = SECOND_OUTPUT_CLIPPED
            rest = 0.5 * (Q - bend)  # the load that a rigid feedforward does not bend springs by
            load_a = spring_law(laws, pieces, k, a)[0] + rest
            load_b = -spring_law(laws, pieces, k + 1, b)[0] + rest
            _command(motors, laws, j, k, state, i, 1.0, a, da, dda, load_a, outputs)
            _command(motors, laws, j + 1, k + 1, state, i, -1.0, b, db, ddb, load_b, outputs)


def _advance_filters(joints, laws, pieces, torque, filtered, dt):
    for i in range(joints.shape[0]):
        damping, k = joints[i, DAMPING], int(joints[i, SPRING])
        if damping > 0.0:
            Q, Qd, Qdd = torque[0, i], torque[1, i], torque[2, i]
            phi = filtered[i]
            if isnan(phi):
                phi = _settled_deflection(laws, pieces, k, damping, Q, Qd, Qdd)
            filtered[i] = _deflection_after(laws, pieces, k, damping, phi, Q, Qd, Qdd, dt)


_compiled_feedforward = compiled(_feedforward)
_compiled_advance_filters = compiled(_advance_filters)


class MotorFeedforward:
    """:func:`.motor_motion` for the control cycle: in place, compiled, nothing allocated.

    Fill `state`, `torque` and `stiffness`, call `update()`, read `command`.

    Parameters
    ----------
    state, torque : (5, n) and (3, n) arrays to read from at every update, such as an
        InverseDynamicsSolver's `state` and `result`; own zeros if not given.
    variant : how springs enter, see VARIANTS.

    Attributes
    ----------
    stiffness : (3, v) the second outputs of `actuators.variable_joints` with two rates, stiffness
        or pretension; written by the caller, at first at rest in the middle of what can be had.
    deflection : (n,) state of the damped joints; NaN, as at first, settles at the next update.
    result : (4, m), with the rows `command`.
    bent : (m,) deflection of the spring in front of each motor.
    load : (m,) what that spring, or a rigid joint, asks of it: tau_m less rotor and friction.
    flags : (m,) integers, sums of BEYOND_TRAVEL and SECOND_OUTPUT_CLIPPED; see `problems`.

    The caller answers for finite numbers. An instance is for one thread.
    """

    def __init__(
        self,
        actuators: Actuators,
        state: Array | None = None,
        torque: Array | None = None,
        *,
        variant: str = "full",
    ) -> None:
        if variant not in VARIANTS:
            raise InputError(f"variant '{variant}': expected one of {', '.join(VARIANTS)}")
        n, m = actuators.n, len(actuators.motors)
        self.actuators = actuators
        self.variant = variant
        self.state = np.zeros((5, n)) if state is None else state
        self.torque = np.zeros((3, n)) if torque is None else torque
        self.stiffness = np.zeros((3, len(actuators.variable_joints)))
        self.stiffness[0] = resting_second_outputs(actuators)
        self.deflection = np.where(actuators.is_damped, np.nan, 0.0)
        self.result = np.zeros((4, m))
        self.command = MotorCommand(*self.result)
        self.bent = np.zeros(m)
        self.load = np.zeros(m)
        self.flags = np.zeros(m, dtype=np.int64)
        rows = actuator_rows(actuators)
        self._update = partial(
            _compiled_feedforward,
            *rows,
            np.array(VARIANTS[variant]),
            self.state,
            self.torque,
            self.stiffness,
            self.deflection,
            (self.bent, self.load, self.result, self.flags),
        )
        tables = (rows.joints, rows.laws, rows.pieces)
        self._advance = partial(_compiled_advance_filters, *tables, self.torque, self.deflection)
        self._has_filters = bool(actuators.is_damped.any())

    def update(self) -> MotorCommand:
        """Compute `result` from `state`, `torque`, `stiffness` and `deflection`; its rows."""
        self._update()
        return self.command

    def advance(self, dt: float) -> None:
        """The damped deflections dt in s later, under the present `torque` with its rates."""
        if self._has_filters:
            self._advance(dt)

    def settle(self) -> None:
        """Let the damped deflections settle at the next update: a new motion begins."""
        self.deflection[self.actuators.is_damped] = np.nan

    def problems(self) -> tuple[str, ...]:
        """What could not be had at the last update, by motor; empty if nothing."""
        texts = {
            BEYOND_TRAVEL: "spring beyond its travel",
            SECOND_OUTPUT_CLIPPED: "stiffness or pretension cannot be had",
        }
        return tuple(
            f"{self.actuators.motor_names[j]}: {text}"
            for j in np.flatnonzero(self.flags)
            for flag, text in texts.items()
            if self.flags[j] & flag
        )


# What the springs do


@inlined
def springs_recursion(
    joints, laws, pieces, q, qd, theta, thetad, second, torque, rate, felt, load, deflection
):
    """Q, Q', stiffness of the joints (n,), load and deflection of the motors (m,), of one state.

    The entries of rigid joints, and Q' of damped ones, are left as they are.
    """
    for i in range(joints.shape[0]):
        kind = joints[i, KIND]
        if kind == RIGID:
            continue
        j, k = int(joints[i, MOTOR]), int(joints[i, SPRING])
        phi, phid = theta[j] - q[i], thetad[j] - qd[i]
        s, s1, _, _ = spring_law(laws, pieces, k, phi)
        deflection[j] = phi
        if kind == SERIES:
            load[j] = torque[i] = s + joints[i, DAMPING] * phid
            felt[i] = s1
            if joints[i, DAMPING] == 0.0:
                rate[i] = s1 * phid
        elif kind == VARIABLE:
            if joints[i, DRIVEN] == 1.0:
                gain = joints[i, GAIN]
                stiffness = joints[i, OFFSET] + gain * theta[j + 1]
                stiffness_rate = gain * thetad[j + 1]
                load[j + 1] = gain * spring_energy(laws, pieces, k, phi)
                if stiffness < LEAST_SHARE * joints[i, SOFTEST]:
                    stiffness = LEAST_SHARE * joints[i, SOFTEST]
                    stiffness_rate = load[j + 1] = 0.0
                deflection[j + 1] = 0.0
            else:
                v = int(joints[i, SECOND])
                stiffness, stiffness_rate = second[0, v], second[1, v]
            load[j] = torque[i] = stiffness * s
            rate[i] = stiffness_rate * s + stiffness * s1 * phid
            felt[i] = stiffness * s1
        else:
            phi_b, phid_b = q[i] - theta[j + 1], qd[i] - thetad[j + 1]
            s_b, b1, _, _ = spring_law(laws, pieces, k + 1, phi_b)
            deflection[j + 1] = phi_b
            torque[i] = s - s_b
            rate[i] = s1 * phid - b1 * phid_b
            felt[i] = s1 + b1
            load[j], load[j + 1] = s, -s_b


_compiled_springs = compiled(springs_recursion)


class SpringSolver:
    """:meth:`.Actuators.springs` for the control cycle: in place, compiled, nothing allocated.

    Fill q, qd (n,), theta, thetad (m,), and `stiffness` (2, v) where no motor tells it; call
    `update()`; read `torque`, `torque_rate`, `stiffness_felt` (n,), `load`, `deflection` (m,) and
    `beyond_travel` (m,). NaN for what deflections do not tell, as there; beyond the travel the laws
    go on along their tangents. Rows that are not given are own zeros.
    """

    def __init__(
        self,
        actuators: Actuators,
        q: Array | None = None,
        qd: Array | None = None,
        theta: Array | None = None,
        thetad: Array | None = None,
    ) -> None:
        n, m = actuators.n, len(actuators.motors)
        self.actuators = actuators
        self.q, self.qd = (np.zeros(n) if row is None else row for row in (q, qd))
        self.theta, self.thetad = (np.zeros(m) if row is None else row for row in (theta, thetad))
        self.stiffness = np.zeros((2, len(actuators.variable_joints)))
        self.stiffness[0] = resting_second_outputs(actuators)
        rigid = actuators.is_rigid
        self.torque = np.where(rigid, np.nan, 0.0)
        self.torque_rate = np.where(rigid | actuators.is_damped, np.nan, 0.0)
        self.stiffness_felt = np.where(rigid, np.inf, 0.0)
        self.load = np.where(rigid[actuators.joint_of_motor], np.nan, 0.0)
        self.deflection = np.zeros(m)
        joints, _, laws, pieces = actuator_rows(actuators)
        self.update = partial(
            _compiled_springs,
            joints,
            laws,
            pieces,
            self.q,
            self.qd,
            self.theta,
            self.thetad,
            self.stiffness,
            self.torque,
            self.torque_rate,
            self.stiffness_felt,
            self.load,
            self.deflection,
        )
        self._lower, self._upper = actuators.spring_travel.T
        self.update()

    @property
    def beyond_travel(self) -> NDArray[np.bool_]:
        """(m,) mask of the motors whose springs are beyond their travel."""
        return (self.deflection < self._lower) | (self.deflection > self._upper)
