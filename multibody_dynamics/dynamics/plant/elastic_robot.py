# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plant: an arm with actuators of any kind, its motors and their drives, integrated in time.

Link side and motor side of [M21] (2), (3), with friction and a limited motor torque:

    M(q) q'' + C(q, q') q' + g(q) = Q - d q' + J^T W,
    M_m theta'' + load + friction(theta') = tau_m,

where Q and the loads of the motors come from the springs and the dampers in parallel with them; see
`elastic.kinds`. At a rigid joint link and motor move as one: theta = q, and M_m adds to the
diagonal of M.

The integrator is the classical Runge-Kutta method of order 4 (RK4) with a fixed inner step h.
Coriolis and friction terms depend on velocity, so the symplectic methods that suit a pure spring
would be implicit, or of order 2 and no longer symplectic; RK4 is explicit and of high order, as
needed to test a feedforward. The price is the limit |lambda| h < 2.6 on the fastest mode lambda
(spring, motor, link and drive), and a numerical damping ratio of (|lambda| h)^5 / 144: 2e-4 at the
default |lambda| h <= 0.5, and far less on all slower modes.

With :class:`.DriveEffects`, their bristles and slip elements depend on the displacement since the
beginning of the inner step, so that RK4 keeps its order while nothing reverses or starts to slide.
"""

from math import ceil, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    Array,
    DynamicsError,
    IndependentCopies,
    InputError,
    as_array,
    compiled,
    inlined,
    writable,
)
from ..elastic import (
    Actuator,
    Actuators,
    LinearArm,
    MotorCommand,
    MotorFeedforward,
    actuator_tables,
    greatest_stiffness,
)
from ..elastic_arm import (
    UNIT_INERTIA,
    ArmScratch,
    ArmState,
    ArmTables,
    BaseMatrices,
    arm_accelerations,
    arm_slope,
    arm_springs,
    mass_matrix_without_base,
    on_base,
)
from ..model import MultibodyModel
from ..model.records import WRENCH
from ..rigid import (
    BaseMotion,
    base_rows,
    gravity_forces,
    kinetic_energy,
    mass_matrix,
    passive_slopes,
    passive_torques,
    potential_energy,
)
from .drive_effects import (
    BANDWIDTH,
    BRISTLE,
    COULOMB,
    ELEMENTS,
    GAP,
    RESOLUTION,
    SLIP_STIFFNESS,
    STATIC,
    STRIBECK,
    DriveEffects,
    EffectMemory,
    EffectTables,
    beyond_gap,
    bristle_friction,
    geared,
    slip_torque,
)
from .motor_drive import MotorDrive
from .plants import EndStops

COARSEST_STEP = 0.25e-3  # s
ACCURATE = 0.5  # |lambda| h of the default step
STABLE = 2.6  # radius of the largest half disc in the stability region of RK4

# Columns of the table of links, a row per joint.
LINK_VISCOUS = 0
LOWER_STOP = 1
UPPER_STOP = 2
STOP_STIFFNESS = 3
STOP_DAMPING = 4
LINK_ROW = 5

# Columns of the table of motors, after those of `actuator_tables`.
PROPORTIONAL = actuator_tables.MOTOR_ROW
DERIVATIVE = actuator_tables.MOTOR_ROW + 1


class Energy(NamedTuple):
    """Energies in J: kinetic, of base, links and rotors; potential, of gravity; elastic, of
    springs, end stops, base, bristles and slip elements."""

    kinetic: float
    potential: float
    elastic: float


@inlined
def _motor_torques(motors, feedforward, row, reference, t, theta, thetad, motor_torque):
    """Write the motor torques (m,): the feedforward and the drives' feedback to a reference that
    continues at its velocity, clipped to the torque limits."""
    for j in range(motors.shape[0]):
        lag = reference[0, j] + reference[1, j] * t - theta[j]
        lag_rate = reference[1, j] - thetad[j]
        torque = feedforward[row, j] + motors[j, PROPORTIONAL] * lag
        torque += motors[j, DERIVATIVE] * lag_rate
        limit = motors[j, actuator_tables.TORQUE_LIMIT]
        motor_torque[j] = min(max(torque, -limit), limit)


@inlined
def _stiffness_inputs(joints, profile, row, rate, t, second):
    """Write k of the joints whose stiffness no motor sets; it continues at its rate within its
    range."""
    for i in range(joints.shape[0]):
        if joints[i, actuator_tables.INPUT] == 1.0:
            v = int(joints[i, actuator_tables.SECOND])
            k = profile[row, v] + rate[v] * t
            second[0, v] = min(
                max(k, joints[i, actuator_tables.SOFTEST]), joints[i, actuator_tables.STIFFEST]
            )


@inlined
def _end_stop(links, i, q, qd):
    """The torque of the end stop on link i; zero while there is no contact."""
    if q > links[i, UPPER_STOP]:
        push = 1.0 + links[i, STOP_DAMPING] * qd
        return links[i, STOP_STIFFNESS] * (links[i, UPPER_STOP] - q) * max(push, 0.0)
    if q < links[i, LOWER_STOP]:
        push = 1.0 - links[i, STOP_DAMPING] * qd
        return links[i, STOP_STIFFNESS] * (links[i, LOWER_STOP] - q) * max(push, 0.0)
    return 0.0


class _Tables(NamedTuple):
    """Constants of the robot for compiled code."""

    arm: ArmTables  # its motors with the gains of the drives
    links: Array  # (n, LINK_ROW)


class _Effects(NamedTuple):
    """Effects of real drives, what they remember, and buffers."""

    tables: EffectTables
    memory: EffectMemory  # of the present state
    before: EffectMemory  # at the beginning of an inner step
    after: EffectMemory  # at a stage of it
    links: Array  # (2, n) q, q' as springs see them
    motors: Array  # (2, m) theta, theta' as springs see them
    slope: Array  # (m,) derivative of that theta
    net: Array  # (m,) torques less friction


class _Present(NamedTuple):
    """The current state of the robot, overwritten by each step."""

    state: Array  # (2 (b + n) + 2 m,)
    second: Array  # (2, v)
    motor_torque: Array  # (m,)
    outputs: Array  # (2, n) joint torques and q''


class _Inputs(NamedTuple):
    """The inputs during a step.

    feedforward: (1, m) held, or (2 steps + 1, m) at the half steps; reference: (2, m) position and
    velocity at the start; profile: of stiffnesses, (1, v) continuing at `rate` (v,), or at the half
    steps.
    """

    feedforward: Array
    reference: Array
    profile: Array
    rate: Array


@inlined
def _slope(tables, scratch, state, second, tau, dx, effects, start, t):
    """:func:`.arm_slope` with end stops and viscous friction of the links, and with effects, t s
    after an inner step began at the state `start`."""
    links = tables.links
    b = state.q.shape[0] - links.shape[0]
    for i in range(links.shape[0]):
        stop = _end_stop(links, i, state.q[b + i], state.qd[b + i])
        scratch.external[b + i] = stop - links[i, LINK_VISCOUS] * state.qd[b + i]
    if effects is None:
        return arm_slope(tables.arm, scratch, state, second, tau, dx)
    stiffness, damping, preload = effects.tables.base
    for k in range(b):
        scratch.external[k] = preload[k] - stiffness[k] * state.q[k] - damping[k] * state.qd[k]
    _lag(effects, tau, t)
    _springs_with_effects(tables.arm, scratch, state, second, effects, start)
    _friction_with_effects(tables.arm, scratch, state, tau, effects, start)
    return arm_accelerations(tables.arm, scratch, state, effects.net, dx)


@inlined
def _lag(effects, tau, t):
    """Replace commanded torques by those that a drive of finite resolution and bandwidth applies,
    t s after `effects.before`."""
    drives = effects.tables.drives
    for j in range(tau.shape[0]):
        if drives[j, RESOLUTION] > 0.0:
            tau[j] = drives[j, RESOLUTION] * np.round(tau[j] / drives[j, RESOLUTION])
        if isfinite(drives[j, BANDWIDTH]):
            tau[j] += (effects.before.torque[j] - tau[j]) * np.exp(-drives[j, BANDWIDTH] * t)
        effects.after.torque[j] = tau[j]


@inlined
def _springs_with_effects(arm, scratch, state, second, effects, start):
    """Torques of the springs and loads of the motors with gear errors, backlash and hysteresis."""
    joints, springs = arm.joints, effects.tables.springs
    q, qd, theta, thetad = state
    links, motors, slope = effects.links, effects.motors, effects.slope
    n, m = joints.shape[0], theta.shape[0]
    b = q.shape[0] - n
    first = 2 * (b + n)  # of theta in the state
    for i in range(n):
        links[0, i], links[1, i] = q[b + i], qd[b + i]
    for j in range(m):
        motors[0, j], slope[j] = geared(springs, j, theta[j])
        motors[1, j] = slope[j] * thetad[j]
    for i in range(n):
        j = int(joints[i, actuator_tables.MOTOR])
        if springs[j, GAP] > 0.0:
            bend = beyond_gap(springs, j, motors[0, j] - links[0, i])
            links[0, i] = motors[0, j] - bend
            if bend == 0.0:
                links[1, i] = motors[1, j]
    seen = ArmState(links[0], links[1], motors[0], motors[1])
    arm_springs(arm, scratch, seen, second)
    load = scratch.of_motors[0]
    for i in range(n):
        j = int(joints[i, actuator_tables.MOTOR])
        last = int(joints[i + 1, actuator_tables.MOTOR]) if i + 1 < n else m
        while j < last:
            if springs[j, SLIP_STIFFNESS] > 0.0:
                seen_before, _ = geared(springs, j, start[first + j])
                bend = beyond_gap(springs, j, motors[0, j] - q[b + i])
                travel = bend - beyond_gap(springs, j, seen_before - start[b + i])
                slip = slip_torque(springs, j, travel, effects.before.slip, effects.after.slip)
                if springs[j, GAP] == 0.0 or bend != 0.0:
                    scratch.torque[i] += slip
                    load[j] += slip
            load[j] *= slope[j]
            j += 1


@inlined
def _friction_with_effects(arm, scratch, state, tau, effects, start):
    """Add the friction of the links to the external torques, and write the torques of the motors
    less theirs to `effects.net`."""
    joints = arm.joints
    n, m = joints.shape[0], tau.shape[0]
    total = state.q.shape[0]
    b = total - n
    tables, before, after = effects.tables, effects.before, effects.after
    for j in range(m):
        load = scratch.of_motors[0, j]
        travel = state.theta[j] - start[2 * total + j]
        drag = bristle_friction(
            tables.motors, j, state.thetad[j], travel, load, before.motors, after.motors
        )
        effects.net[j] = tau[j] - drag
    for i in range(n):
        load = scratch.torque[i]
        if joints[i, actuator_tables.RIGID] == 1.0:
            load = tau[int(joints[i, actuator_tables.MOTOR])]
        travel = state.q[b + i] - start[b + i]
        scratch.external[b + i] -= bristle_friction(
            tables.links, i, state.qd[b + i], travel, load, before.links, after.links
        )


@inlined
def _remember(source, target):
    """Copy what effects remember."""
    for i in range(source.links.shape[0]):
        target.links[i] = source.links[i]
    for j in range(source.motors.shape[0]):
        target.motors[j], target.torque[j] = source.motors[j], source.torque[j]
        for k in range(ELEMENTS):
            target.slip[j, k] = source.slip[j, k]


@inlined
def _finish(tables, torque, x, dx, present):
    """Store x, its torques and accelerations as the present state; if x is not finite, return False
    and leave the state unchanged."""
    joints, motors = tables.joints, tables.motors
    state, outputs = present.state, present.outputs
    n, m, size = joints.shape[0], motors.shape[0], state.shape[0]
    first = size - 2 * m - n  # of q'' in dx
    for i in range(size):
        if not isfinite(x[i]):
            return False
    for i in range(n):
        outputs[0, i] = torque[i]
        outputs[1, i] = dx[first + i]
        if joints[i, actuator_tables.RIGID] == 1.0:
            outputs[0, i] -= (
                motors[int(joints[i, actuator_tables.MOTOR]), actuator_tables.INERTIA]
                * dx[first + i]
            )
    for i in range(size):
        state[i] = x[i]
    return True


def _advance(tables, buffers, present, inputs, effects, h, steps):
    """RK4 from `present.state` through `steps` steps of h; if that fails, return False and leave
    the state unchanged. buffers: those of the arm, and (4, 2 (b + n) + 2 m); effects: or None."""
    joints, motors = tables.arm.joints, tables.arm.motors
    state, second, tau, _ = present
    feedforward, reference, profile, rate = inputs
    m, size = motors.shape[0], state.shape[0]
    scratch, flat = buffers
    start, x, dx, total = flat[0], flat[1], flat[2], flat[3]
    total_q = (size - 2 * m) // 2
    theta, thetad = x[size - 2 * m : size - m], x[size - m :]
    parts = ArmState(x[:total_q], x[total_q : 2 * total_q], theta, thetad)
    held, drifts = feedforward.shape[0] == 1, profile.shape[0] == 1
    for i in range(size):
        start[i] = x[i] = state[i]
    if effects is not None:
        _remember(effects.memory, effects.before)
    for step in range(steps):
        for stage in range(4):
            half_steps = (stage + 1) // 2  # 0, 1, 1, 2
            row = 2 * step + half_steps
            t = (step + 0.5 * half_steps) * h
            now = 0 if held else row
            _motor_torques(motors, feedforward, now, reference, t, theta, thetad, tau)
            _stiffness_inputs(joints, profile, 0 if drifts else row, rate, t, second)
            since = 0.5 * half_steps * h
            if not _slope(tables, scratch, parts, second, tau, dx, effects, start, since):
                return False
            weight = h / 6.0 if stage in (0, 3) else h / 3.0
            reach = h if stage == 2 else 0.5 * h
            for i in range(size):
                if stage == 0:
                    total[i] = start[i]
                total[i] += weight * dx[i]
                x[i] = start[i] + reach * dx[i]
        for i in range(size):
            x[i] = total[i]
        if effects is not None:  # what they remember at the end of the step
            row, t = 2 * (step + 1), (step + 1) * h
            _motor_torques(
                motors, feedforward, 0 if held else row, reference, t, theta, thetad, tau
            )
            _slope(tables, scratch, parts, second, tau, dx, effects, start, h)
            _remember(effects.after, effects.before)
        for i in range(size):
            start[i] = x[i]

    t = steps * h
    _motor_torques(motors, feedforward, -1, reference, t, theta, thetad, tau)
    _stiffness_inputs(joints, profile, -1, rate, t, second)
    if not _slope(tables, scratch, parts, second, tau, dx, effects, start, 0.0):
        return False
    finished = _finish(tables.arm, scratch.torque, x, dx, present)
    if effects is not None and finished:
        _remember(effects.after, effects.memory)
    return finished


_compiled_advance = compiled(_advance)


class ElasticRobot(IndependentCopies):
    """An arm with actuators of any kind, stepped in time; deterministic. A :class:`.Plant`.

    Parameters
    ----------
    model : the links, without the rotors of `actuators` (`Actuators.refuse_counting_twice`).
    actuators : springs, motors, friction and the limits of the motor torques. Motor speeds are not
        limited here: controllers must observe the speed limits. Beyond their travel, springs
        continue along their tangents.
    step : inner step in s; default: at most 0.25 ms and |lambda| h <= 0.5.
    drive : position loops of the drives, for :meth:`follow`.
    link_viscous : (n,) or scalar d, link-side friction in N m s/rad, unknown to any feedforward.
    end_stops : end stops at the joint limits of the model; None: links move through their limits.
    effects : of real drives and of a soft base, which is described for the arm at q = 0 and at rest
        under gravity after each :meth:`reset`; None: none. Errors of encoders are left to sensors.

    Attributes: those of a :class:`.Plant`, and `state` (2 (b + n) + 2 m,), of which `base`, `based`
    (b,), `q`, `qd`, `theta` and `thetad` are views: positions and velocities of the directions of a
    soft base, of links and of motors. Every step overwrites them in place. `joint_torque` Q
    excludes link friction and end stops. The robot starts at rest at q = 0. Raises InputError for
    data that do not fit together and for an unstable step.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        *,
        step: float | None = None,
        drive: MotorDrive | None = None,
        link_viscous: Any = 0.0,
        end_stops: EndStops | None = None,
        effects: DriveEffects | None = None,
    ) -> None:
        actuators.refuse_other_joints(model)
        n, m = model.n, len(actuators.motors)
        self.effects = effects
        self._take_effects(model, actuators, effects)
        b = self._base.stiffness.size
        self.actuators, self.drive, self.end_stops = actuators, drive, end_stops
        self._sets_stiffness = actuators.torque_share == 0.0
        self._stiffness_inputs = [
            second for i, _, _, second in actuators.each() if actuators.needs_stiffness[i]
        ]
        self._at_rest = MotorFeedforward(actuators)
        self.stiffness: Array = self._at_rest.stiffness[:2].copy()
        self._links = np.zeros((n, LINK_ROW))
        self._links[:, LINK_VISCOUS] = _checked_viscous(link_viscous, model.joint_names)

        arm = ArmTables.of(self._on_base(model), actuators)
        self.applied_wrenches: Array = arm.applied[b:, :6]
        free = np.hstack((arm.motors, np.zeros((m, 2))))
        self._free, self._driven = (
            _Tables(arm._replace(motors=motors), self._links)
            for motors in (free, _driven(free, drive))
        )
        self._take(model)
        self.step_size = self._choose_step(step)

        self.state: Array = np.zeros(2 * (b + n) + 2 * m)
        ends = np.cumsum((b, n, b, n, m))
        self.base, self.q, self.based, self.qd, self.theta, self.thetad = np.split(self.state, ends)
        self.motor_torque: Array = np.zeros(m)
        outputs = np.zeros((2, n))
        self.joint_torque, self.qdd = outputs
        self._held_stiffness = self.stiffness[:1], self.stiffness[1]
        self._no_reference = np.zeros((2, m))
        self._present = _Present(self.state, self.stiffness.copy(), self.motor_torque, outputs)
        scratch = ArmScratch.of(self._whole, actuators)
        self._buffers = scratch, np.zeros((4, len(self.state)))
        self.reset(model.home)

    @property
    def n(self) -> int:
        return self.model.n

    def _take_effects(
        self, model: MultibodyModel, actuators: Actuators, effects: DriveEffects | None
    ) -> None:
        """Create the tables of the effects, and the base for the arm at q = 0."""
        n, m = model.n, len(actuators.motors)
        self._effects: _Effects | None = None
        self._directions: tuple[str, ...] = ()
        self._base = BaseMatrices(np.zeros((0, 0)), np.zeros(0), np.zeros(0))
        if effects is None:
            return
        tables = EffectTables.of(effects, actuators)
        if (base := effects.base) is not None:
            whole = on_base(model, inertia=UNIT_INERTIA)
            carried = mass_matrix_without_base(whole, np.zeros(whole.n))[:6, :6]
            self._base, self._directions = base.matrices(carried), base.directions
            stiffness, damping = self._base.stiffness, self._base.damping
            tables = tables._replace(base=np.stack((stiffness, damping, np.zeros_like(damping))))
            self._base_inertia = base.own_inertia(carried)
        now, before, after = (EffectMemory.of(n, m) for _ in range(3))
        rows = np.zeros((2, n)), np.zeros((2, m)), np.ones(m), np.zeros(m)
        self._effects = _Effects(tables, now, before, after, *rows)

    def _on_base(self, model: MultibodyModel) -> MultibodyModel:
        """The robot with the coordinates of its base."""
        if not self._directions:
            return model
        return on_base(model, self._directions, self._base_inertia)

    def _take(self, model: MultibodyModel) -> None:
        """Store the data of the links; InputError if a rotor would be counted twice, or if the end
        stops do not match the joints."""
        stops = self.end_stops
        self.actuators.refuse_counting_twice(model.reflected_inertia)
        self._links[:, LOWER_STOP], self._links[:, UPPER_STOP] = -np.inf, np.inf
        if stops is not None:
            for name, value in (("stiffness", stops.stiffness), ("damping", stops.damping)):
                if np.shape(value) not in ((), (model.n,)):
                    raise InputError(
                        f"end stops: {name} has shape {np.shape(value)}; expected a scalar or "
                        f"({model.n},), one per joint"
                    )
            columns = (model.limits.lower, model.limits.upper, stops.stiffness, stops.damping)
            for column, value in enumerate(columns, LOWER_STOP):
                self._links[:, column] = value
        self._whole = self._on_base(model)
        self._free.arm.set_model(self._whole, self.actuators)  # the driven arm has the same arrays
        self.model = model

    def set_model(self, model: MultibodyModel) -> None:
        """Continue from the current state with other inertias, gravity or joint limits.

        >>> robot.set_model(model.with_payload("hand", 1.5, (0, 0, 0.1), np.eye(3) * 0.01))

        The inner step is kept unless it would now be unstable. Raises InputError if the
        model does not have the same joints in the same places, and then changes nothing.
        """
        if model.joint_names != self.model.joint_names or not (
            np.array_equal(model.parents, self.model.parents)
            and np.array_equal(model.screws, self.model.screws)
            and np.array_equal(model.coordinates, self.model.coordinates)
        ):
            raise InputError(
                f"the joints of robot '{model.name}' differ from those of '{self.model.name}'; "
                f"make a new ElasticRobot for it"
            )
        before, step = self.model, self.step_size
        try:
            self._take(model)
            values, _ = self._stiffest_arm(self.q).modes()
            if np.abs(values).max() * self.step_size > STABLE:
                self.step_size = self._choose_step(None)
            self._compute_outputs()
        except DynamicsError:
            self._take(before)
            self.step_size = step
            self._compute_outputs()
            raise

    def _compute_outputs(self) -> None:
        """Compute the outputs of the present state."""
        self._advance(self._free, self.motor_torque[None].copy(), self._no_reference, 0.0, 0)

    def reset(self, q: Any, qd: Any = None, *, theta: Any = None, thetad: Any = None) -> None:
        """Put the robot at q (n,) with velocity qd (n,), zero by default.

        Without theta (m,) the springs are deflected as at rest under gravity, at the second outputs
        `stiffness`; without thetad (m,) the motors move with the links. `motor_torque` becomes the
        torque that holds them, without inertia, friction and rates.
        """
        actuators, names = self.actuators, self.actuators.joint_names
        n, m = self.n, len(actuators.motors)
        q = as_array("q", q, (n,), names)
        qd = np.zeros(n) if qd is None else as_array("qd", qd, (n,), names)
        position, _, _, hold = self._hold(q)
        if thetad is None:
            thetad = qd[actuators.joint_of_motor]
            thetad[self._sets_stiffness] = 0.0
        is_settled = theta is None
        theta = position if theta is None else theta
        theta = as_array("theta", theta, (m,), actuators.motor_names)
        thetad = as_array("thetad", thetad, (m,), actuators.motor_names)
        first = actuators.first_motor
        apart = actuators.is_rigid & ((theta[first] != q) | (thetad[first] != qd))
        for i in np.flatnonzero(apart):
            raise InputError(
                f"joint '{names[i]}' is rigid: theta must equal q, and thetad must equal qd"
            )
        still = np.zeros_like(self.base)
        if self._effects is not None:
            self._settle_effects(q, hold)
            theta, slope = self._before_effects(q, theta, is_settled)
            hold = hold * slope
        self.state[:] = np.concatenate((still, q, still, qd, theta, thetad))
        self._advance(self._free, hold[None].copy(), self._no_reference, 0.0, 0)

    def _settle_effects(self, q: Array, hold: Array) -> None:
        """Relax bristles and slip elements, and preload the base by the weight at q."""
        assert self._effects is not None
        for row in self._effects.memory:
            row[:] = 0.0
        self._effects.memory.torque[:] = hold
        b = len(self.base)
        position = np.concatenate((np.zeros(b), q))
        self._effects.tables.base[2] = gravity_forces(self._whole, position)[:b]

    def _before_effects(self, q: Array, theta: Array, is_seen: bool) -> tuple[Array, Array]:
        """(m,) motor positions, and the slopes of their gears there. If `is_seen`, `theta` are the
        positions that the springs see."""
        assert self._effects is not None
        springs, link = self._effects.tables.springs, q[self.actuators.joint_of_motor]
        wanted = theta + 0.5 * springs[:, GAP] * np.sign(theta - link)
        if is_seen:
            theta = wanted
        for _ in range(60):  # contracts, because the slopes of the gears are between 0 and 2
            rows = [geared(springs, j, theta[j]) for j in range(len(theta))]
            position, slope = np.array(rows).T
            if not is_seen:
                break
            theta = theta - (position - wanted)
        return theta, slope

    def move_base(self, pose: Array, rates: Array) -> None:
        """Let the base move, see :meth:`.Plant.move_base`; springs of a soft base are mounted on
        it."""
        row = base_rows(BaseMotion(pose, *rates), "spatial")
        self._buffers[0].bodies[1][0, :WRENCH] = row

    def step(self, motor_torque: Any, dt: float, *, stiffness: Any = None) -> None:
        """Advance by dt in s under motor torques in N m, link side of the gear.

        motor_torque: (m,), held throughout, or (2 k + 1, m) at the ends and middles of the k =
        :meth:`inner_steps` of dt, which keeps the order of the integrator. stiffness: (2 k + 1, v)
        at the same instants, for the joints whose stiffness no motor sets; during this step, it
        takes the place of both rows of the attribute `stiffness`. Raises InputError for a wrong
        shape, NaN or infinity, and DynamicsError where the motion diverges; the state is then
        unchanged.
        """
        steps = self.inner_steps(dt)
        m, v = len(self.actuators.motors), len(self.actuators.variable_joints)
        profile = as_array("motor_torque", motor_torque, (m,), self.actuators.motor_names)
        profile = np.atleast_2d(profile)
        if profile.shape not in ((1, m), (2 * steps + 1, m)):
            raise InputError(
                f"motor_torque: expected shape ({m},), or ({2 * steps + 1}, {m}) for the {steps} "
                f"inner steps in {dt} s; got {np.shape(motor_torque)}"
            )
        if stiffness is not None:
            names = self.actuators.variable_joints or None
            stiffness = as_array("stiffness", stiffness, (2 * steps + 1, v), names)
        self._advance(self._free, profile, self._no_reference, dt, steps, stiffness)

    def follow(self, position: Any, velocity: Any, feedforward: Any, dt: float) -> None:
        """Advance by dt in s while the drives track theta_ref and theta_ref' with a feedforward
        torque, each (m,).

        Within dt the reference continues at its velocity, as in drives that interpolate. Raises the
        errors of `step`, and InputError if the robot has no drive.
        """
        if self.drive is None:
            raise InputError(
                "this robot has no drive: pass `drive` when creating the ElasticRobot, or use step"
            )
        names = self.actuators.motor_names
        rows = (("position", position), ("velocity", velocity), ("feedforward", feedforward))
        theta, thetad, tau = (as_array(name, row, (len(names),), names) for name, row in rows)
        reference = np.stack([theta, thetad])
        self._advance(self._driven, tau[None].copy(), reference, dt, self.inner_steps(dt))

    def inner_steps(self, dt: float) -> int:
        """The number of inner steps in dt: as few as possible, none longer than `step_size`."""
        if not 0.0 < dt < np.inf:
            raise InputError(f"dt is {dt} s: must be positive and finite")
        return max(1, ceil(dt / self.step_size - 1e-9))

    def _hold(self, q: Array) -> MotorCommand:
        """The motor positions and torques that hold the links at q against gravity, at the second
        outputs `stiffness`."""
        rest = self._at_rest
        rest.state[0], rest.torque[0] = q, gravity_forces(self.model, q)
        rest.stiffness[0] = self.stiffness[0]
        rest.settle()
        return rest.update()

    def _input(self, actuator: Actuator, second: int) -> float:
        """The stiffness of a joint if that is an input, within its range; else 1."""
        if actuator.input_range is None:
            return 1.0
        return float(np.clip(self.stiffness[0, second], *actuator.input_range))

    def _depth(self) -> Array:
        """(n,) how far links are beyond their end stops, with the sign of the side."""
        return self.q - np.clip(self.q, self._links[:, LOWER_STOP], self._links[:, UPPER_STOP])

    def energy(self) -> Energy:
        """Kinetic, potential and elastic energy of the present state, J.

        Where no motor sets the stiffness of a spring, its rate k' adds a power k' G(phi), which is
        not accounted for here.
        """
        q, theta, stored = self.q, self.theta, 0.0
        if self._effects is not None:
            q, theta = self._effects.links[0], self._effects.motors[0]
            stored = self._stored()
        rotors = self.actuators.motor_inertia @ self.thetad**2
        springs = sum(
            float(actuator.energy(q[i], theta[motors], self._input(actuator, second)))
            for i, actuator, motors, second in self.actuators.each()
        )
        position = np.concatenate((self.base, self.q))
        velocity = np.concatenate((self.based, self.qd))
        stops = 0.5 * float(self._links[:, STOP_STIFFNESS] @ self._depth() ** 2)
        return Energy(
            kinetic=float(kinetic_energy(self._whole, position, velocity) + 0.5 * rotors),
            potential=float(potential_energy(self._whole, position)),
            elastic=springs + stops + stored,
        )

    def _stored(self) -> float:
        """Energy in J of base, bristles and slip elements."""
        assert self._effects is not None
        tables, memory = self._effects.tables, self._effects.memory
        stiffness, _, preload = tables.base
        energy = 0.5 * stiffness @ self.base**2 - preload @ self.base
        for rows, bristles in ((tables.links, memory.links), (tables.motors, memory.motors)):
            energy += 0.5 * (rows[:, STATIC] / rows[:, BRISTLE]) @ bristles**2
        return float(energy + 0.5 * tables.springs[:, SLIP_STIFFNESS] @ (memory.slip**2).sum(1))

    def dissipation(self) -> float:
        """The power in W that friction, dampers and end stops currently dissipate, without effects
        of drives; never negative."""
        qd, links = self.qd, self._links
        motors = self.actuators.friction(self.thetad) @ self.thetad
        joint = self.actuators.joint_of_motor
        dampers = self.actuators.damping[joint] @ (self.thetad - qd[joint]) ** 2
        stops = [_end_stop(links, i, self.q[i], qd[i]) for i in range(self.n)]
        lost = -(stops + links[:, STOP_STIFFNESS] * self._depth()) @ qd
        lost += passive_torques(self.model, self.q, qd)[1, 0] @ qd
        if self.actuators.has_link_friction.any():
            still = np.zeros(self.n)
            rows = [self.q, qd, still, still], [self.joint_torque, still, still]
            lost += self.actuators.link_friction(*rows)[0] @ qd
        return float(motors + dampers + links[:, LINK_VISCOUS] @ qd**2 + lost)

    def modes(self, q: Any) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Eigenvalues lambda in 1/s and modes of springs, motors, friction and drives near rest at
        q (n,).

        Springs and friction enter with their slopes at rest at q under gravity, at the second
        outputs `stiffness`. Gravity itself, which is much softer, is left out, and stiffness drives
        are decoupled. Columns of the second array: deflections of n links, then of m motors
        (zero for the motors of rigid joints).
        """
        q = as_array("q", q, (self.n,), self.actuators.joint_names)
        return self._linear_arm(q, self._slopes_at_rest(q)).modes()

    def _slopes_at_rest(self, q: Array) -> Array:
        """(s,) slopes of the springs at rest at q, N m/rad."""
        theta = self._hold(q).position
        slopes = []
        for i, actuator, motors, second in self.actuators.each():
            factor, _ = actuator.factor(theta[motors], self._input(actuator, second))
            bends = actuator.deflections(q[i], theta[motors])
            for spring, phi in zip(actuator.springs, bends, strict=True):
                slopes.append(factor * float(spring.stiffness(phi, beyond="continue")))
        return np.array(slopes)

    def _stiffest(self, q: Array) -> Array:
        """(s,) largest stiffness of the springs on their travel, or under the largest torque of
        their motors; if neither is limited, their stiffness at rest at q."""
        slopes = self._slopes_at_rest(q)
        springs = (
            (spring, limit, each.factor_range)
            for each in self.actuators.actuators
            for spring, limit in zip(each.springs, each.greatest_torques, strict=True)
        )
        for k, (spring, limit, (softest, stiffest)) in enumerate(springs):
            slopes[k] = max(slopes[k], stiffest * greatest_stiffness(spring, limit / softest))
        return slopes

    def _linear_arm(self, q: Array, slopes: Array) -> LinearArm:
        """The arm near rest at q (n,), with springs of the slopes (s,) and without gravity."""
        position = np.concatenate((np.zeros(len(self._directions)), q))
        arm = LinearArm(self.actuators, mass_matrix(self._whole, position))
        arm.stiffness[arm.base, arm.base] += self._base.stiffness
        arm.damping[arm.base, arm.base] += self._base.damping
        motors, links = arm.motors, arm.links
        along = self.actuators.spring_directions
        own = along.shape[1]
        arm.stiffness[:own, :own] += along.T * slopes @ along
        arm.stiffness[motors, motors] += self._driven.arm.motors[:, PROPORTIONAL]
        arm.damping[motors, motors] += self._driven.arm.motors[:, DERIVATIVE]
        arm.damping[motors, motors] += self.actuators.friction_slope(np.zeros(len(motors)))
        arm.damping[links, links] += self._links[:, LINK_VISCOUS]
        arm.damping[links, links] += self.actuators.link_friction_slope
        arm.add_link_forces(*passive_slopes(self.model, q))
        return arm

    def _stiffest_arm(self, q: Array) -> LinearArm:
        """The same with springs as stiff as they get, and every end stop in contact."""
        arm = self._linear_arm(q, self._stiffest(q))
        arm.stiffness[arm.links, arm.links] += self._links[:, STOP_STIFFNESS]
        if self._effects is not None:
            tables = self._effects.tables
            for at, rows in ((arm.links, tables.links), (arm.motors, tables.motors)):
                arm.stiffness[at, at] += rows[:, STATIC] / rows[:, BRISTLE]
                arm.damping[at, at] += rows[:, COULOMB] / rows[:, STRIBECK]
            arm.stiffness += arm.between(ELEMENTS * tables.springs[:, SLIP_STIFFNESS])
        return arm

    def _choose_step(self, wanted: float | None) -> float:
        """The inner step, from the fastest mode at q = 0 and at configurations within the joint
        limits, with springs as stiff as they get on their travel or under the motor torque limits.
        """
        limits = self.model.limits
        rng = np.random.default_rng(0)
        lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
        samples = rng.uniform(lower, np.maximum(lower, upper), size=(32, self.n))
        fastest, stiffest = 0.0, 0
        for q in (self.model.home, *samples[self.model.reaches(samples)]):
            values, shapes = self._stiffest_arm(q).modes()
            k = int(np.argmax(np.abs(values)))
            if abs(values[k]) > fastest:
                fastest = float(abs(values[k]))
                stiffest = int(np.argmax(np.abs(shapes[:, k])))
        owner = (*range(self.n), *self.actuators.joint_of_motor)[stiffest]
        name = self.actuators.joint_names[owner]
        finest = 1e-3 * COARSEST_STEP
        if fastest * finest > ACCURATE:
            raise InputError(
                f"joint '{name}': a mode of {fastest:.3g} rad/s is too fast to integrate; model a "
                f"joint with such a stiff spring as rigid"
            )
        if wanted is None:
            # a whole number of steps in COARSEST_STEP, and so in any usual control period
            return COARSEST_STEP / max(1, ceil(fastest * COARSEST_STEP / ACCURATE))
        if not 0.0 < wanted < np.inf:
            raise InputError(f"step is {wanted} s: must be positive and finite")
        if fastest * wanted > STABLE:
            raise InputError(
                f"a step of {wanted:.3g} s is unstable: the fastest mode, of joint '{name}', is at "
                f"{fastest:.4g} rad/s; steps up to {STABLE / fastest:.2g} s are stable, up to "
                f"{ACCURATE / fastest:.2g} s accurate"
            )
        return float(wanted)

    def _advance(
        self,
        tables: _Tables,
        feedforward: Array,
        reference: Array,
        dt: float,
        steps: int,
        stiffness: Array | None = None,
    ) -> None:
        profile, rate = self._held_stiffness
        if stiffness is not None:
            profile, rate = writable(stiffness), np.zeros_like(rate)
        inputs = _Inputs(writable(feedforward), reference, profile, rate)
        present, before = self._present, self.motor_torque.copy()
        h = dt / max(steps, 1)
        if not _compiled_advance(tables, self._buffers, present, inputs, self._effects, h, steps):
            self.motor_torque[:] = before
            blocked = self.model.obstacle(self.q + dt * self.qd)
            raise DynamicsError(
                f"robot '{self.model.name}': the motion diverges within {dt} s (step "
                f"{self.step_size:.3g} s, q' = {self.qd}); "
                f"{blocked or 'use smaller torques or a smaller step'}"
            )
        for v in self._stiffness_inputs:
            self.stiffness[0, v] = present.second[0, v]


def _checked_viscous(link_viscous: Any, names: tuple[str, ...]) -> Array:
    viscous = as_array("link_viscous", np.full(len(names), link_viscous), (len(names),), names)
    if (viscous < 0.0).any():
        j = int(np.argmin(viscous))
        raise InputError(
            f"joint '{names[j]}': link_viscous is {viscous[j]:g} N m s/rad: must be zero or greater"
        )
    return viscous


def _driven(motors: Array, drive: MotorDrive | None) -> Array:
    """A copy of the table of motors with the gains of the drive."""
    driven = motors.copy()
    if drive is not None:
        for column, gain in ((PROPORTIONAL, drive.proportional), (DERIVATIVE, drive.derivative)):
            if gain.shape not in ((), (len(motors),)):
                raise InputError(
                    f"drive: the gains have shape {gain.shape}; expected a scalar or "
                    f"({len(motors)},), one per motor"
                )
            driven[:, column] = gain
    return driven
