# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The sampled closed loop of an arm near rest: plant, hold, delay, filters, observers and feedback
as one matrix.

    z_(k+1) = F z_k,    stable if all |eigenvalues of F| < 1

The state z contains everything that the loop remembers at sample k: the motion of links and motors,
the derivative filters of the state estimation, the low-passes of the
:class:`.DisturbanceCompensation`, integrals, deflections of damped springs in the feedforward, and
the torques still on their way. Continuous poles (:func:`.closed_loop_poles`) cover only the arm,
and may look stable where the sampled loop is not.

The arm is x' = A x + B tau near rest at q: mass matrix, tangent stiffness of the springs and of
gravity, dampers, viscous friction. A torque that acts `delay` = (j + f) h after its sample, with
the period h, whole j and 0 <= f < 1, and is then held for h gives exactly

    x_(k+1) = e^(A (1-f) h) (e^(A f h) x_k + int_0^(f h) e^(A s) ds B tau_(k-j-1))
              + int_0^((1-f) h) e^(A s) ds B tau_(k-j).

The cycle of a controller is linear near rest as well. For linear feedback and the law "hold", it is
evaluated here on signals that are matrices: row i of a signal is the gradient of its i-th component
with respect to z. For any other law, :mod:`law_gradient` determines the slopes. Coulomb friction,
limits of torques, and products of velocities are left out. The plant may differ from the model of
the controller (:class:`RobotErrors`), and stand on springs (:class:`.SoftBase`), which no
controller measures.

Source: K. Astrom, B. Wittenmark, Computer-Controlled Systems, 3rd ed., 1997, sections 2.3 and 3.2
(sampling with a held input and a delay).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from ...core import Array, InputError, as_array
from ...elastic import Actuators, LinearArm, MotorFeedforward, StateSpace, rigid_rotors
from ...elastic_arm import UNIT_INERTIA, SoftBase, mass_matrix_without_base, on_base
from ...model import MultibodyModel
from ...rigid import gravity_forces, gravity_gradient, mass_matrix, passive_slopes
from ..controllers.controllers import Controller, LinearFeedback
from ..controllers.hold_controller import HoldController
from ..gains.coupled_gains import held_response
from ..gains.joint_gains import ComplexArray, Rest, at_rest, viscous_friction
from ..observers.state_estimation import StateEstimation
from ..signals.derivative_filter import discretised
from ..signals.low_pass import ORDER, low_pass_step
from .law_gradient import LawGradient, law_gradient, memory_size

SMALL = 1e-5  # rad, rad/s: deflections from which the slopes of the flat map are taken


@dataclass(frozen=True, eq=False)
class RobotErrors:
    """Relative errors of a robot against its model: true value = model (1 + error).

    Attributes: `links` (n,), of all inertias and the mass of the bodies at each coordinate;
    `springs` (n,), of stiffness and damping at each joint; `motors` and `friction` (m,), of rotor
    inertias and viscous friction. Scalars apply to all. Raises InputError for errors of -1 or less.
    """

    links: Any = 0.0
    springs: Any = 0.0
    motors: Any = 0.0
    friction: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("links", "springs", "motors", "friction"):
            errors = np.asarray(getattr(self, name), dtype=np.float64)
            if not (np.isfinite(errors) & (errors > -1.0)).all():
                raise InputError(f"{name}: relative errors must be finite and greater than -1")

    @classmethod
    def corner(cls, actuators: Actuators, size: float, seed: int) -> RobotErrors:
        """A corner of the box in which every parameter is off by +-`size`, with random signs."""
        rng = np.random.default_rng(seed)
        n, m = actuators.n, len(actuators.motors)
        return cls(*(size * rng.choice((-1.0, 1.0), count) for count in (n, n, m, m)))


@dataclass(frozen=True, eq=False)
class SampledLoop:
    """A sampled closed loop near rest.

    Attributes
    ----------
    matrix : (N, N) F of z_(k+1) = F z_k.
    period : s from sample to sample.
    motion : (2 (n + m), N) matrix from z to the deviations of q, theta, q', theta' at a sample. The
        first states of z are those of the arm.
    coordinates : (n + m,), the joint of each row q, theta.
    """

    matrix: Array
    period: float
    motion: Array
    coordinates: tuple[str, ...]

    @cached_property
    def multipliers(self) -> ComplexArray:
        """(N,) eigenvalues of the matrix: the factor by which each mode changes per sample."""
        return np.asarray(np.linalg.eigvals(self.matrix), dtype=np.complex128)

    @property
    def spectral_radius(self) -> float:
        return float(np.abs(self.multipliers).max())

    @property
    def growth(self) -> float:
        """1/s, rate of the fastest growth; if negative, of the slowest decay."""
        return float(np.log(self.spectral_radius) / self.period)

    def growth_above(self, frequency: float) -> float:
        """1/s, the largest growth of a mode that oscillates faster than `frequency` in rad/s; -inf
        if there is none."""
        if frequency <= 0.0:
            return self.growth
        fast = self.poles[np.abs(self.poles.imag) > frequency]
        return float(fast.real.max()) if fast.size else -np.inf

    @property
    def poles(self) -> ComplexArray:
        """Poles in 1/s, ln(multiplier) / period, without modes that vanish within a sample."""
        z = self.multipliers
        return np.asarray(np.log(z[np.abs(z) > 1e-12]) / self.period)

    def worst(self) -> tuple[complex, str]:
        """The pole in 1/s with the largest growth, in the upper half plane, and the joint that
        moves most in its mode."""
        values, modes = np.linalg.eig(self.matrix)
        k = int(np.abs(values).argmax())
        moves = np.abs(self.motion[: len(self.coordinates)] @ modes[:, k])
        pole = complex(np.log(complex(values[k])) / self.period)
        return complex(pole.real, abs(pole.imag)), self.coordinates[int(moves.argmax())]


class _Signals(NamedTuple):
    """q, q' (n,), theta, theta' (m,) as rows over the state of the loop."""

    q: Array
    qd: Array
    theta: Array
    thetad: Array


def sampled_loop(
    controller: Controller,
    q: Any,
    *,
    delay: float = 0.0,
    estimation: StateEstimation | None = None,
    errors: RobotErrors | None = None,
    plants: RestingPlants | None = None,
    base: SoftBase | None = None,
) -> SampledLoop:
    """The loop of an arm at rest at q (n,) under a controller.

    controller : any law; its `period`, gains, second outputs and observers are those of the loop.
        Laws other than :class:`.LinearFeedback` and :class:`.HoldController` are reset and
        evaluated, so they must not be running, and Coulomb friction that they compensate counts.
    delay : s from a sample until its torque acts; the hold for one period is added to it.
    estimation : the filters of the state; None for a state that is known exactly.
    errors : relative differences between the robot and the model of the controller.
    plants : of this robot; those that it contains are not computed again.
    base : springs on which the robot stands; None: a rigid base.

    Raises InputError for the source "motor_encoders", whose observer is not part of this analysis,
    and where the springs cannot carry the arm.
    """
    if not 0.0 <= delay < np.inf:
        raise InputError(f"delay is {delay} s: must be zero or greater")
    names = controller.actuators.joint_names
    q = as_array("q", q, (controller.actuators.n,), names)
    plant = (plants or RestingPlants()).at(controller, q, errors or RobotErrors(), base)
    loop = _Assembly(controller, q, delay, estimation, plant)
    joint = controller.actuators.joint_of_motor
    return SampledLoop(
        loop.matrix(), controller.period, loop.motion, (*names, *(names[i] for i in joint))
    )


@dataclass(frozen=True, eq=False)
class RestingPlant:
    """The true arm near rest: what a loop contains besides its controller.

    Attributes: `rest`, of the model; `arm`, with the errors of the robot; `joint_torque` (n, 2 (n +
    m)), the gradient of the joint torques.
    """

    rest: Rest
    arm: StateSpace
    joint_torque: Array
    _held: dict[float, tuple[Array, Array]] = field(default_factory=dict)

    def held(self, time: float) -> tuple[Array, Array]:
        """exp(A t) and the response (2 k, m) to torques held for t in s."""
        if time not in self._held:
            self._held[time] = held_response(self.arm.A, self.arm.B, time)
        return self._held[time]


class RestingPlants:
    """The plants of one robot, each computed once for all controllers that are judged there."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], RestingPlant] = {}
        self._mounted: dict[MultibodyModel, MultibodyModel] = {}

    def at(
        self, controller: Controller, q: Array, errors: RobotErrors, base: SoftBase | None = None
    ) -> RestingPlant:
        """The plant at q (n,) on this base with the second outputs of the controller. Raises
        OverloadError where the springs cannot carry the arm."""
        second = controller.stiffness[0]
        sizes = (errors.links, errors.springs, errors.motors, errors.friction)
        key = (base, *(np.asarray(values).tobytes() for values in (q, second, *sizes)))
        if key not in self._known:
            model, mounted = controller.model, None
            if base is not None:
                mounted = self._mounted.setdefault(model, on_base(model, inertia=UNIT_INERTIA))
            rest = at_rest(model, controller.actuators, q, second)
            arm = _plant(model, controller.actuators, q, rest, errors, base, mounted)
            self._known[key] = RestingPlant(rest, *arm)
        return self._known[key]


def _plant(
    model: MultibodyModel,
    actuators: Actuators,
    q: Array,
    rest: Rest,
    errors: RobotErrors,
    base: SoftBase | None,
    mounted: MultibodyModel | None,
) -> tuple[StateSpace, Array]:
    """The true arm near rest at q, and (n, 2 (n + m)) the gradient of the joint torques.

    mounted : the robot with all directions of a base of UNIT_INERTIA, if it is soft.
    """
    n, joint = actuators.n, actuators.joint_of_motor
    own = slice(n + len(joint))
    scales = np.broadcast_to(1.0 + np.asarray(errors.links), (n,))[model.coordinates]
    is_scaled = bool(np.any(errors.links))
    if is_scaled:
        model = model.with_scaled_links(scales)
    if base is None or mounted is None:
        arm = LinearArm(actuators, mass_matrix(model, q))
        gravity = gravity_gradient(model, q)
    else:
        if is_scaled:
            mounted = mounted.with_scaled_links(np.concatenate((np.ones(6), scales)))
        position = np.concatenate((np.zeros(6), q))
        mass = mass_matrix_without_base(mounted, position)
        weight = gravity_gradient(mounted, position)
        springs = base.matrices(mass[:6, :6])
        kept = [*base.rows, *range(6, 6 + n)]
        b = len(base.rows)
        mass, gravity = mass[np.ix_(kept, kept)], weight[np.ix_(kept, kept)]
        mass[:b, :b] += springs.mass
        gravity[range(b), range(b)] += springs.stiffness
        arm = LinearArm(actuators, mass)
        arm.damping[arm.base, arm.base] += springs.damping
    links, motors = np.concatenate((arm.base, arm.links)), arm.motors
    off = np.broadcast_to(1.0 + np.asarray(errors.springs), (n,))
    off = off[np.concatenate((np.arange(n), joint))]
    arm.damping[own, own] *= off
    arm.stiffness[own, own] += rest.hessian * off
    torque = -np.hstack((arm.stiffness[:n, own], arm.damping[:n, own]))
    arm.stiffness[np.ix_(links, links)] += gravity
    arm.add_link_forces(0.0, passive_slopes(model, q)[1])
    arm.damping[motors, motors] += (1.0 + np.asarray(errors.friction)) * viscous_friction(actuators)
    arm.mass[motors, motors] *= 1.0 + np.asarray(errors.motors)
    return arm.state_space(), torque


class _Assembly:
    """Builds the matrix of the loop: every signal is an array of rows over the state."""

    def __init__(
        self,
        controller: Controller,
        q: Array,
        delay: float,
        estimation: StateEstimation | None,
        plant: RestingPlant,
    ) -> None:
        self.controller, self.actuators, self.q = controller, controller.actuators, q
        self.step = controller.period
        actuators = controller.actuators
        n, m = self.n, self.m = actuators.n, len(actuators.motors)
        self.dampers = LinearArm(actuators, np.zeros((n, n))).damping
        self.plant, self.rest, self.arm = plant, plant.rest, plant.arm
        self.joint_torque = plant.joint_torque
        self.estimation = estimation
        periods = delay / self.step
        self.late = int(periods + 1e-9)
        self.fraction = max(periods - self.late, 0.0)
        compensates = integrates = False
        remembered = 0
        self.gradient: LawGradient | None = None
        if not isinstance(controller, LinearFeedback | HoldController):
            self.gradient = law_gradient(controller, q, self.rest)
        if is_linear := isinstance(controller, LinearFeedback):
            self.gains = controller.gains_at(q)
            remembered = len(self.gains.past)
            compensates = controller.compensation is not None
            integrates = bool(controller.integral.any())
        self.damped = np.flatnonzero(actuators.is_damped)
        is_general = self.gradient is not None
        sent = max(self.late + (self.fraction > 1e-9), 2 * compensates, int(is_general))
        sizes = {
            "arm": len(self.arm.A),
            "estimate": (2 if estimation is None else estimation.order) * (n + m),
            "link_lags": ORDER * n * compensates,
            "motor_lags": ORDER * m * compensates,
            "bent": len(self.damped) * is_linear,
            "integral": m * integrates,
            "fed": remembered * m,
            "memory": memory_size(controller) * is_general,
            "sent": sent * m,
        }
        total = sum(sizes.values())
        ends = np.cumsum(list(sizes.values()))
        identity = np.eye(total)
        self.state: dict[str, Array] = {
            name: identity[end - size : end]
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        join = block_diag(self.arm.join, self.arm.join)
        self.motion: Array = join @ self.state["arm"]

    def matrix(self) -> Array:
        before = self._signals(self.state["estimate"])
        estimate = self._estimate()
        now = self._signals(estimate)
        after = dict(self.state, estimate=estimate)
        if self.gradient is not None:
            torque = self._general(self.gradient, now, after)
        elif isinstance(self.controller, HoldController):
            torque = self._hold(self.controller, now)
        else:
            assert isinstance(self.controller, LinearFeedback)
            torque = self._linear_feedback(self.controller, now, before, after)
        sent = np.vstack((torque, self.state["sent"]))
        after["arm"] = self._advance(sent)
        after["sent"] = sent[: len(self.state["sent"])]
        return np.vstack(list(after.values()))

    def _advance(self, sent: Array) -> Array:
        """States of the arm one period later; sent: torques of this and earlier cycles."""
        x, m = self.state["arm"], self.m
        for share, cycles in ((self.fraction, self.late + 1), (1.0 - self.fraction, self.late)):
            if share > 1e-9:
                transition, gain = self.plant.held(share * self.step)
                x = transition @ x + gain @ sent[cycles * m : (cycles + 1) * m]
        return np.asarray(x)

    # Measured state

    def _estimate(self) -> Array:
        """The estimated positions of links and motors, their rates, ..., after this sample."""
        total = self.n + self.m
        if self.estimation is None:
            return self.motion
        order = self.estimation.order
        transition, gain = discretised(order, 2.0 * np.pi * self.estimation.bandwidth, self.step)
        predicted = np.kron(transition, np.eye(total)) @ self.state["estimate"]
        innovation = self._measured() - predicted[:total]
        return np.asarray(predicted + np.kron(gain[:, None], np.eye(total)) @ innovation)

    def _measured(self) -> Array:
        """(n + m, N) positions of links and motors as the estimator obtains them."""
        n, actuators, positions = self.n, self.actuators, self.motion[: self.n + self.m]
        assert self.estimation is not None
        source = self.estimation.source
        if source == "motor_encoders":
            raise InputError(
                "estimation: the observer of the source motor_encoders is not part of the loop; "
                "laws that use only the motors may be judged with link_and_motor_encoders and the "
                "bandwidth of their motor filter"
            )
        by_torque = ~actuators.is_rigid
        if source == "link_and_motor_encoders":
            return positions
        if source == "as_described":
            by_torque &= actuators.has_torque_sensor
        if (by_torque & actuators.is_damped).any():
            raise InputError(
                f"estimation: link positions behind damped springs from torque sensors "
                f"({source}) are not part of the loop"
            )
        hessian = self.rest.hessian
        torque = -self.joint_torque @ self.motion - hessian[:n, n:] @ positions[n:]
        stiffness = np.where(by_torque, np.diag(hessian)[:n], 1.0)
        links = np.where(by_torque[:, None], torque / stiffness[:, None], positions[:n])
        return np.vstack((links, positions[n:]))

    def _signals(self, estimate: Array) -> _Signals:
        n, total = self.n, self.n + self.m
        position, rate = estimate[:total], estimate[total : 2 * total]
        return _Signals(position[:n], rate[:n], position[n:], rate[n:])

    # Controllers

    def _general(self, law: LawGradient, now: _Signals, after: dict[str, Array]) -> Array:
        """Any law, by its slopes; what it remembers goes to `after`."""
        motion = now.q, now.theta, now.qd, now.thetad
        inputs = np.vstack((*motion, self.state["sent"][: self.m], self.state["memory"]))
        after["memory"] = law.memory @ inputs
        return law.torque @ inputs

    def _hold(self, law: HoldController, now: _Signals) -> Array:
        """HoldController with its reference at rest."""
        n, joint, rigid = self.n, self.actuators.joint_of_motor, self.actuators.is_rigid
        gravity, hessian = gravity_gradient(law.model, self.q), self.rest.hessian
        balance = hessian[:n, :n] + gravity
        hanging = np.zeros((n, self.m))  # links by motors
        hanging[rigid, self.actuators.first_motor[rigid]] = 1.0
        free = ~rigid
        pull = hessian[:n, n:] + balance @ hanging
        hanging[free] = -np.linalg.solve(balance[np.ix_(free, free)], pull[free])
        load = hessian[n:, n:] + hessian[n:, :n] @ hanging
        load = np.where(rigid[joint][:, None], (gravity @ hanging)[joint], load)
        proportional, derivative = law.gains.values[2:, :, None]
        friction = (law.friction * viscous_friction(self.actuators))[:, None]
        return np.asarray(
            load @ now.theta - proportional * now.theta + (friction - derivative) * now.thetad
        )

    def _linear_feedback(
        self, law: LinearFeedback, now: _Signals, before: _Signals, after: dict[str, Array]
    ) -> Array:
        """LinearFeedback; its own states after the cycle go to `after`."""
        joint, size = self.actuators.joint_of_motor, self.motion.shape[1]
        link, rate = np.zeros((2, self.n, size))
        motor = np.zeros((self.m, size))
        if law.compensation is not None:
            link, rate, motor, lags = self._compensation(law, now, before)
            after.update(lags)
        bent = np.zeros((self.n, size))
        bent[self.damped] = self.state["bent"]
        *of_motors, of_deflection = _flat_slopes(law, self.q, self.rest)

        def commanded(slopes: Array, inputs: tuple[Array, Array, Array]) -> Array:
            terms = [slope[:, None] * row for slope, row in zip(slopes, inputs, strict=True)]
            return np.asarray(sum(terms))

        position, speed, torque = (
            commanded(slopes, (-link[joint], -rate[joint], bent[joint])) for slopes in of_motors
        )
        bending = commanded(of_deflection, (-link, -rate, bent))
        after["bent"] = bending[self.damped]
        on_motors = position - now.theta, speed - now.thetad
        gains, m = self.gains, self.m
        feedback = gains.values @ np.vstack((-now.q, -now.qd, *on_motors))
        for i, gain in enumerate(gains.past):
            feedback -= gain @ self.state["fed"][i * m : (i + 1) * m]
        if len(gains.past):
            after["fed"] = np.vstack((feedback, self.state["fed"][:-m]))
        torque = torque - motor + feedback
        if law.integral.any():
            source = -now.q[joint] if law.integrates == "link" else on_motors[0]
            after["integral"] = self.state["integral"] + self.step * law.integral[:, None] * source
            torque += after["integral"]
        return np.asarray(torque)

    def _compensation(
        self, law: LinearFeedback, now: _Signals, before: _Signals
    ) -> tuple[Array, Array, Array, dict[str, Array]]:
        """DisturbanceCompensation: low-passed momentum differences on both sides of the springs.

        Returns the rows of d, d' and d_m, and the low-passes after the cycle.
        """
        actuators, n, m, h = self.actuators, self.n, self.m, self.step
        rigid, joint, first = actuators.is_rigid, actuators.joint_of_motor, actuators.first_motor
        viscous = viscous_friction(actuators)
        mass = mass_matrix(law.model, self.q) + np.diag(rigid_rotors(actuators) * rigid)
        gravity = gravity_gradient(law.model, self.q)
        dampers = passive_slopes(law.model, self.q)[1]
        of_motor = np.where(rigid, viscous[first], 0.0)[:, None]
        sent = self.state["sent"][:m], self.state["sent"][m : 2 * m]
        sums = []
        for at, pushed in zip((now, before), sent, strict=True):
            position, rate = np.vstack((at.q, at.theta)), np.vstack((at.qd, at.thetad))
            loads = self.rest.hessian @ position + self.dampers @ rate
            driving = np.where(rigid[:, None], pushed[first], -loads[:n])
            bias = gravity @ at.q + dampers @ at.qd + of_motor * at.qd
            sums.append((driving, bias, loads[n:] + viscous[:, None] * at.thetad))
        share = np.where(rigid, 0.0, 0.5)[:, None]
        (driving, bias, load), (driving_before, bias_before, load_before) = sums
        external = mass @ (now.qd - before.qd) / h + 0.5 * (bias + bias_before)
        external -= (1.0 - share) * driving + share * driving_before
        inertia = actuators.motor_inertia[:, None]
        on_motors = (
            inertia * (now.thetad - before.thetad) / h - sent[0] + 0.5 * (load + load_before)
        )
        on_motors *= ~rigid[joint][:, None]
        lags = {}
        for name, value, bandwidth in (
            ("link_lags", external, law.link_disturbance_bandwidth),
            ("motor_lags", on_motors, law.disturbance_bandwidth),
        ):
            transition, gain = low_pass_step(bandwidth, h)
            eye = np.eye(len(value))
            lags[name] = np.kron(transition, eye) @ self.state[name] + np.kron(gain, value)
        link = lags["link_lags"]
        rate = law.link_disturbance_bandwidth * (link[-2 * n : -n] - link[-n:])
        return link[-n:], rate, lags["motor_lags"][-m:], lags


def _flat_slopes(law: LinearFeedback, q: Array, rest: Rest) -> tuple[Array, ...]:
    """Slopes of the feedforward with respect to Q, Q' and the deflection of damped springs.

    These are the three rows of each result: (3, m) for theta, theta' and tau_m, and (3, n) for the
    deflection one period later. From central differences of the compiled flat map; without Coulomb
    friction.
    """
    actuators, joint = law.actuators, law.actuators.joint_of_motor
    flat = MotorFeedforward(actuators, variant=law.variant)
    flat.state[0], flat.stiffness[:] = q, rest.second
    gravity = gravity_forces(law.model, q)
    flat.torque[0] = gravity
    flat.update()
    settled = flat.deflection.copy()
    stiffness = np.where(np.isfinite(rest.stiffness), rest.stiffness, 1.0)
    sizes = SMALL * np.array([stiffness, stiffness, np.ones_like(stiffness)])
    steps = np.eye(3)[:, :, None] * sizes  # one input at a time, for all joints
    viscous = law.friction * viscous_friction(actuators)
    found: list[list[NDArray[np.float64]]] = []
    for step in steps:
        sides = []
        for sign in (1.0, -1.0):
            flat.torque[:2] = gravity + sign * step[0], sign * step[1]
            flat.deflection[:] = settled + sign * step[2]
            command = flat.update()
            torque = command.torque - actuators.friction(command.velocity, flat.load)
            torque += viscous * command.velocity
            values = [command.position.copy(), command.velocity.copy(), torque]
            flat.advance(law.period)
            sides.append([*values, flat.deflection.copy()])
        size = 2.0 * step.sum(axis=0)
        found.append(
            [
                (up - down) / (size[joint] if len(values) > i else size)
                for i, (up, down) in enumerate(zip(*sides, strict=True))
            ]
        )
    return tuple(np.array(rows) for rows in zip(*found, strict=True))
