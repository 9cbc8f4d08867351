# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Actuators of one joint: rigid, series elastic, variable stiffness and antagonistic.

Every motor obeys, on the link side of the gear,

    M_m theta'' + load + friction(theta') = tau_m,
    friction(v) = viscous v + coulomb tanh(v / coulomb_velocity),

and the deflections of the springs determine the joint torque Q and the loads of the motors:

    kind                 joint torque                            load of the motor
    rigid                theta = q                               Q
    series elastic       Q = s(phi) + d phi', phi = theta - q    Q
    variable stiffness   Q = k g(phi), phi = theta - q           Q; kappa G(phi) on the one that
                                                                 sets k = k_0 + kappa theta_k
    antagonistic         Q = s_a(theta_a - q) - s_b(q - theta_b) s_a; -s_b on the antagonist

where the laws s and g increase and G is the integral of g. A joint with two motors has a second
flat output: its stiffness sigma = -dQ/dq (motors held), or the pretension (s_a + s_b) / 2. See
G. Palli, C. Melchiorri, A. De Luca, ICRA 2008, and G. Buondonno, A. De Luca, RA-L 2016.

Damping d in the spring lowers the relative degree: Q = s(phi) + d phi' is then a first-order
filter for phi instead of an algebraic equation,

    phi' = (Q - s(phi)) / d,    theta'' = q'' + (Q' - s'(phi) phi') / d,

with a state phi that needs an initial value. The filter is stable forward in time (time
constant d / s'): an error of the initial value decays. The feedforward needs Q', but neither Q''
nor q''''.

Spong's simplification: the kinetic energy of a rotor is that of its own spin, M_m theta'^2 / 2, and
its mass belongs to the link that carries it. This neglects the motion of the rotor's axis, an error
of the order of 1 / gear ratio of the rotor's own torque (with a ratio of 100, 1 % of M_m times the
accelerations of the preceding joints). Direct drives (ratio near 1) need the complete model,
with inertial coupling of motors and links, whose feedforward needs derivatives of q beyond the
fourth (A. De Luca, P. Tomei, in Theory of Robot Control, Springer 1996).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, InputError, as_real, exactly
from . import flat_map
from .flat_map import SECOND_OUTPUT_CLIPPED
from .spring_tables import SpringTables, fitting, spring_tables
from .springs import Beyond, LinearSpring, Spring, solve_increasing

TORQUE_UNIT = "N m (N for a prismatic joint)"  # in messages: an actuator does not know its joint
STIFFNESS_UNIT = "N m/rad (N/m for a prismatic joint)"

Rows = Sequence[Array]
"""A quantity and its first and second time derivatives, (...) each."""


class MotorRows(NamedTuple):
    """One motor in the flat map, (...) each."""

    position: Array
    velocity: Array
    acceleration: Array
    load: Array
    deflection: Array
    torque: Array


class SpringRows(NamedTuple):
    """Response of one joint's springs: Q, Q', sigma; load and deflection of each motor, (...)."""

    torque: Array
    torque_rate: Array
    stiffness: Array
    loads: tuple[Array, ...]
    deflections: tuple[Array, ...]


@dataclass(frozen=True)
class Motor:
    """Inertia of rotor and gear, friction and limits, on the link side of the gear.

    Units of a revolute joint; those of a prismatic one are kg, N s/m, N and m/s.
    Raises InputError for values that are not physical.
    """

    inertia: float  # kg m^2
    gear_ratio: float = 1.0  # motor travel per link travel
    viscous: float = 0.0  # N m s/rad
    coulomb: float = 0.0  # N m
    coulomb_velocity: float = 1.0  # rad/s, at which friction is 0.76 coulomb
    torque_limit: float = np.inf  # N m
    speed_limit: float = np.inf  # rad/s

    def __post_init__(self) -> None:
        for each in fields(self):
            value = _number(f"{each.name} of the motor", getattr(self, each.name))
            object.__setattr__(self, each.name, value)
            may_be_zero = each.name in ("inertia", "viscous", "coulomb")
            may_be_infinite = each.name.endswith("limit")
            if not (value > 0.0 or (may_be_zero and value == 0.0)):
                right = "zero or greater" if may_be_zero else "greater than zero"
                raise InputError(f"{each.name} of the motor must be {right}, got {value:g}")
            if np.isinf(value) and not may_be_infinite:
                raise InputError(f"{each.name} of the motor must be finite, got {value:g}")

    @property
    def row(self) -> tuple[float, ...]:
        """The MOTOR row of :mod:`flat_map`."""
        return (
            self.inertia, self.viscous, self.coulomb, self.coulomb_velocity, self.torque_limit
        )  # fmt: skip


@dataclass(frozen=True)
class Actuator(ABC):
    """The actuator of one joint: its motors and the springs in front of them."""

    @property
    @abstractmethod
    def motors(self) -> tuple[Motor, ...]: ...

    @property
    def second_output(self) -> Literal["stiffness", "pretension"] | None:
        """The second output (stiffness or pretension) of the joint, or None."""
        return None

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes that turn the name of the joint into the names of its motors."""
        return ("",)

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        """The travel of the spring in front of each motor."""
        return ((-np.inf, np.inf),) * len(self.motors)

    @property
    def springs(self) -> tuple[Spring, ...]:
        """The springs of the joint, in front of its first motors."""
        return ()

    @cached_property
    def joint_row(self) -> Array:
        """The JOINT row of :mod:`flat_map` for a single actuator."""
        row = np.zeros(flat_map.JOINT_ROW)
        for column, value in self.columns().items():
            row[column] = value
        return row

    def columns(self) -> dict[int, float]:
        """The nonzero entries of its JOINT row."""
        raise InputError(f"{type(self).__name__} is not supported in the control cycle")

    @cached_property
    def _tables(self) -> SpringTables:
        return spring_tables(self.springs, own_laws=True)

    def _copies(self, count: int) -> tuple[Array, Array]:
        """JOINT and MOTOR rows of a robot with `count` such joints: a batch in one call."""
        joints = np.tile(self.joint_row, (count, 1))
        joints[:, flat_map.MOTOR] = len(self.motors) * np.arange(count)
        joints[:, flat_map.SECOND] = np.arange(count)
        return joints, np.tile([motor.row for motor in self.motors], (count, 1))

    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        """The motion of the motors that moves the joint along q under the torque Q.

        second: the second output, if the joint has one; deflection: the state of a damped spring.
        """
        chosen = second if self.second_output is not None else ()
        given = np.array(np.broadcast_arrays(*q, *Q, *chosen), dtype=np.float64)
        batch, m = given.shape[1:], len(self.motors)
        self._check_motion(given[3:6], given[6:], deflection, beyond)
        rows = given.reshape(len(given), -1)
        count = rows.shape[1]
        filtered = np.zeros(batch) if deflection is None else np.broadcast_to(deflection, batch)
        joints, motors = self._copies(count)
        joints[:, [flat_map.SOFTEST, flat_map.STIFFEST]] = 0.0, np.inf  # checked, never clipped
        links = rows[:3], rows[3:6], rows[6:], np.array(filtered, dtype=np.float64).reshape(-1)
        bent = np.zeros((count, m))
        bent[:, : len(self.springs)] = np.nan  # no guess
        load, result = np.zeros((count, m)), np.zeros((4, count, m))
        flags = np.zeros((count, m), dtype=np.int64)
        run = fitting(flat_map.compiled_feedforward, flat_map.feedforward_cycle, self._tables)
        written = bent.reshape(-1), load.reshape(-1), result.reshape(4, -1), flags.reshape(-1)
        run(joints, motors, *self._tables, np.ones(2), *links, *written)
        clipped = (flags[:, 0] & SECOND_OUTPUT_CLIPPED) > 0
        if beyond == "raise" and clipped.any():
            self._reject_second_output(rows[3, clipped], rows[6, clipped])
        found = np.concatenate((result[:3], [load, bent], result[3:])).reshape(6, *batch, m)
        return tuple(MotorRows(*found[..., j]) for j in range(m))

    def _check_motion(  # noqa: B027 (nothing to check unless overridden)
        self, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        """InputError for a motion that the springs cannot follow, unless `beyond` allows it."""

    def _reject_second_output(self, Q: Array, second: Array) -> None:  # noqa: B027
        """Raise InputError for second outputs that are infeasible at the torques Q, both (k,)."""

    def spring_rows(
        self, q: Array, qd: Array, theta: Rows, thetad: Rows, k: Rows, beyond: Beyond
    ) -> SpringRows:
        """Response of the springs to the link at q and the motors at theta, each with its rate.

        k: stiffness and its rate where it is an input that no motor sets.
        """
        m = len(self.motors)
        given = np.array(np.broadcast_arrays(q, qd, *theta, *thetad, *k), dtype=np.float64)
        batch = given.shape[1:]
        count = prod(batch)
        rotors = given[2 : 2 + 2 * m].reshape(2, m, count).transpose(0, 2, 1).reshape(2, -1)
        second = given[2 + 2 * m :].reshape(2, count) if len(k) else np.zeros((2, count))
        unknown = np.nan if not self.springs else 0.0
        of_joint = np.full((3, count), unknown)
        of_motors = np.full((2, count * m), unknown)
        if not self.springs:
            of_joint[2], of_motors[1] = np.inf, 0.0
        if self.joint_row[flat_map.DAMPING] > 0.0:
            of_joint[1] = np.nan
        run = fitting(flat_map.compiled_springs, flat_map.springs_recursion, self._tables)
        links = given[:2].reshape(2, count)
        joints, _ = self._copies(count)
        run(joints, *self._tables, *links, *rotors, second, *of_joint, *of_motors)
        loads, deflections = of_motors.reshape(2, *batch, m)
        for j, spring in enumerate(self.springs):
            spring.checked_deflection(deflections[..., j], beyond)
        torque, rate, stiffness = of_joint.reshape(3, *batch)
        columns = [tuple(rows[..., j] for j in range(m)) for rows in (loads, deflections)]
        return SpringRows(torque, rate, stiffness, *columns)

    @abstractmethod
    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        """Position of the link when the motors are at theta and the joint torque is Q.

        k: the stiffness, if it is an input that no motor sets; deflection: that of a damped spring.
        """

    def second_output_range(self, Q: Any, torque_share: float = np.inf) -> tuple[Array, Array]:
        """Smallest and largest feasible second output at the joint torque Q, a number or an array.

        torque_share : share of the motors' torque limits that is available to hold the joint at
        rest; infinite, the default, ignores the limits. The smallest exceeds the largest if Q
        itself is infeasible.
        """
        Q = np.asarray(Q, dtype=np.float64)
        return np.full_like(Q, -np.inf), np.full_like(Q, np.inf)


@dataclass(frozen=True)
class Rigid(Actuator):
    """A motor that moves the link without a spring. Its inertia may be zero if the model includes
    the rotor."""

    motor: Motor

    def __post_init__(self) -> None:
        _check_motor(self.motor)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    def columns(self) -> dict[int, float]:
        return {flat_map.KIND: flat_map.RIGID}

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        return theta[0]


@dataclass(frozen=True)
class SeriesElastic(Actuator):
    """A spring between motor and link, optionally with a damper (N m s/rad) in parallel."""

    motor: Motor
    spring: Spring
    damping: float = 0.0

    def __post_init__(self) -> None:
        damping = _number("damping of the spring", self.damping)
        if not 0.0 <= damping < np.inf:
            raise InputError(
                f"damping of the spring must be zero or greater and finite, got {damping}"
            )
        _check_parts(self.motor, self.spring)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)

    @property
    def springs(self) -> tuple[Spring, ...]:
        return (self.spring,)

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        return (self.spring.travel,)

    def columns(self) -> dict[int, float]:
        return {flat_map.KIND: flat_map.SERIES, flat_map.DAMPING: self.damping}

    def _check_motion(
        self, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        if self.damping == 0.0:
            self.spring.checked_torque(Q[0], beyond)
        elif deflection is None:
            raise InputError(
                "the deflection of a damped spring is a state of the feedforward; give `deflection`"
            )
        else:
            self.spring.checked_deflection(deflection, beyond)

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        if self.damping == 0.0:
            return np.asarray(theta[0] - self.spring.deflection(Q, beyond=beyond))
        if deflection is None:
            raise InputError("Q of a damped spring depends on the past; give its deflection")
        return np.asarray(theta[0] - deflection)

    def torque_rate(self, phi: Array, phid: Array, phidd: Array, beyond: Beyond) -> Array:
        """Q' = s' phi' + d phi''."""
        return self.spring.stiffness(phi, beyond=beyond) * phid + self.damping * phidd

    def settled_deflection(self, Q: Rows, *, beyond: Beyond = "raise") -> Array:
        """phi once the transient of the filter has decayed.

        Exact for a linear law and a torque quadratic in time; otherwise accurate to second order in
        the time constant.
        """
        self.spring.checked_torque(Q[0], beyond)
        settled = self._filtered(np.full_like(Q[0], np.nan), Q, 0.0)
        return self.spring.checked_deflection(settled, beyond)

    def deflection_after(
        self, phi: Array, Q: Rows, dt: float, *, beyond: Beyond = "raise"
    ) -> Array:
        """phi after dt in s under the torque Q + Q' t + Q'' t^2 / 2 (a Taylor polynomial).

        Exact for a linear law. For other laws the filter is linearised at phi and solved exactly,
        and three iterations feed the deviation of the law from its tangent back as a torque. The
        stiffness should change little within a step; the step may be far longer than d / s'.
        Without damping, phi itself is returned.
        """
        if self.damping == 0.0:
            return phi
        return self._filtered(self.spring.checked_deflection(phi, beyond), Q, dt)

    def _filtered(self, phi: Array, Q: Rows, dt: float) -> Array:
        """phi after dt, starting from the settled deflection where phi is NaN."""
        given = np.array(np.broadcast_arrays(phi, *Q), dtype=np.float64)
        rows = given.reshape(4, -1)
        joints, _ = self._copies(rows.shape[1])
        advance = fitting(flat_map.compiled_advance_filters, flat_map.advance_filters, self._tables)
        advance(joints, *self._tables, rows[1:], rows[0], float(dt))
        return given[0]


@dataclass(frozen=True)
class StiffnessDrive:
    """The motor that sets a stiffness k = k_0 + kappa theta_k, in N m/rad and N m/rad per rad."""

    motor: Motor
    offset: float = 0.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        _check_parts(self.motor)
        offset, gain = (_number(f"{x} of the drive", getattr(self, x)) for x in ("offset", "gain"))
        if not (np.isfinite(offset) and np.isfinite(gain) and gain != 0.0):
            raise InputError(
                f"stiffness drive: offset and gain of k = {self.offset} + {self.gain} theta_k must "
                f"be finite and the gain nonzero"
            )


@dataclass(frozen=True)
class VariableStiffness(Actuator):
    """Q = k g(phi): a spring whose stiffness k is a separate input, the second flat output.

    stiffness_range : smallest and largest k in N m/rad, positive. A drive may set k outside
        this range, but k is never taken below a tenth of the minimum.
    shape : the law g in rad, with the slope 1 at zero; LinearSpring(1.0) gives Q = k phi.
    drive : the motor that sets k; None if k is a free input that takes no motor torque.
    """

    motor: Motor
    stiffness_range: tuple[float, float]
    shape: Spring = field(default_factory=lambda: LinearSpring(1.0))
    drive: StiffnessDrive | None = None

    def __post_init__(self) -> None:
        least, greatest = exactly("stiffness_range", self.stiffness_range, (2,)).tolist()
        if not 0.0 < least < greatest:
            raise InputError(
                f"stiffness_range must be positive and increasing, got {least:g} to {greatest:g}"
            )
        if not isinstance(self.drive, StiffnessDrive | None):
            raise InputError(f"drive: expected a StiffnessDrive or None, got {self.drive!r}")
        _check_parts(self.motor, self.shape)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,) if self.drive is None else (self.motor, self.drive.motor)

    @property
    def suffixes(self) -> tuple[str, ...]:
        return ("",) if self.drive is None else ("", "_stiffness")

    @property
    def second_output(self) -> Literal["stiffness", "pretension"]:
        return "stiffness"

    @property
    def springs(self) -> tuple[Spring, ...]:
        return (self.shape,)

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        return (self.shape.travel, (-np.inf, np.inf))[: len(self.motors)]

    def columns(self) -> dict[int, float]:
        least, greatest = self.stiffness_range
        row = {
            flat_map.KIND: flat_map.VARIABLE,
            flat_map.SOFTEST: least,
            flat_map.STIFFEST: greatest,
        }
        if self.drive is not None:
            row |= {
                flat_map.DRIVEN: 1.0,
                flat_map.OFFSET: self.drive.offset,
                flat_map.GAIN: self.drive.gain,
            }
        return row

    def _check_motion(
        self, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        k = second[0]
        least, greatest = self.stiffness_range
        wrong = ~(k > 0.0) if beyond == "continue" else (k < least) | (k > greatest)
        if wrong.any():
            raise InputError(
                f"stiffness must be from {least:.6g} to {greatest:.6g} {STIFFNESS_UNIT}, got "
                f"{k[wrong][0]:.6g}"
            )
        self.shape.checked_torque(Q[0] / k, beyond)

    def driven(self, position: Array, velocity: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """k and k' at this position and velocity of the drive, and whether the drive sets them,
        which is False where k would be below LEAST_SHARE of the smallest stiffness."""
        assert self.drive is not None
        drive, softest = self.drive, self.stiffness_range[0]
        k, rate, sets = flat_map.driven_stiffness(
            drive.offset, drive.gain, softest, position, velocity
        )
        return np.asarray(k), np.asarray(rate), sets

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        if self.drive is not None:
            k = self.driven(theta[1], 0.0 * theta[1])[0]
        assert k is not None
        if not (k > 0.0).all():
            raise InputError(f"stiffness must be positive, got {np.min(k):.6g} {STIFFNESS_UNIT}")
        return np.asarray(theta[0] - self.shape.deflection(Q / k, beyond=beyond))

    def second_output_range(self, Q: Any, torque_share: float = np.inf) -> tuple[Array, Array]:
        """The range of k. The load kappa G(phi) of the stiffness drive decreases with k, so its
        torque limit bounds k from below."""
        Q = np.asarray(Q, dtype=np.float64)
        least, greatest = (np.full_like(Q, end) for end in self.stiffness_range)
        if self.drive is None or np.isinf(limit := torque_share * self.drive.motor.torque_limit):
            return least, greatest
        side = np.where(Q < 0.0, -1.0, 1.0)
        widest = np.abs(self.shape.deflection(Q / least, beyond="continue"))

        def energy(phi: Array) -> tuple[Array, Array]:
            g = self.shape.torque(side * phi, beyond="continue")
            return self.shape.energy(side * phi, beyond="continue"), side * g

        wanted = np.full_like(widest, limit / abs(self.drive.gain))
        phi = side * solve_increasing(energy, wanted, 0.0, widest)
        g = self.shape.torque(phi, beyond="continue")
        needed = np.divide(Q, g, out=least.copy(), where=g != 0.0)
        return np.maximum(least, needed), greatest


@dataclass(frozen=True)
class Antagonistic(Actuator):
    """Two motors that pull on opposite sides of the link: Q = s_a(theta_a - q) - s_b(q - theta_b).

    agonist, antagonist : the motors; the agonist pulls in the direction of positive joint torque.
    agonist_spring, antagonist_spring : spring laws over the extension, with finite travel. To
        regulate the stiffness they must harden (s'' > 0) over the whole travel, which makes
        sigma = s_a' + s_b' increase with the pretension.
    regulates : the second flat output, "stiffness", or "pretension" p = (s_a + s_b) / 2 in N m.
    """

    agonist: Motor
    antagonist: Motor
    agonist_spring: Spring
    antagonist_spring: Spring
    regulates: Literal["stiffness", "pretension"] = "stiffness"

    def __post_init__(self) -> None:
        if self.regulates not in ("stiffness", "pretension"):
            raise InputError(f"regulates must be stiffness or pretension, got '{self.regulates}'")
        for motor, spring in zip(self.motors, self.springs, strict=True):
            _check_parts(motor, spring)
            if not np.isfinite(spring.travel).all():
                raise InputError("an antagonistic spring requires a finite travel")
            inner = np.linspace(*spring.travel, 1002)[1:-1]
            bend = spring.derivatives(inner)[2]
            if self.regulates == "stiffness" and bend.min() <= 0.0:
                raise InputError(
                    f"an antagonistic spring must harden (s'' > 0) on its travel, or the stiffness "
                    f"cannot be set; at {inner[bend.argmin()]:.6g} s'' is {bend.min():.6g}"
                )

    @property
    def motors(self) -> tuple[Motor, ...]:
        return self.agonist, self.antagonist

    @property
    def suffixes(self) -> tuple[str, ...]:
        return "_agonist", "_antagonist"

    @property
    def springs(self) -> tuple[Spring, Spring]:
        return self.agonist_spring, self.antagonist_spring

    @property
    def second_output(self) -> Literal["stiffness", "pretension"]:
        return self.regulates

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        return self.agonist_spring.travel, self.antagonist_spring.travel

    def columns(self) -> dict[int, float]:
        by_stiffness = self.regulates == "stiffness"
        return {flat_map.KIND: flat_map.BY_STIFFNESS if by_stiffness else flat_map.BY_PRETENSION}

    def _check_motion(
        self, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
    ) -> None:
        if self.regulates == "pretension":
            self.agonist_spring.checked_torque(second[0] + 0.5 * Q[0], beyond)
            self.antagonist_spring.checked_torque(second[0] - 0.5 * Q[0], beyond)

    def _reject_second_output(self, Q: Array, second: Array) -> None:
        least, greatest = self._pretension_range(Q)
        if (none := least > greatest).any():
            raise InputError(
                f"joint torque of {Q[none][0]:.6g} {TORQUE_UNIT} is infeasible with the torque "
                f"ranges of the springs, {self.agonist_spring.torque_range} (agonist) and "
                f"{self.antagonist_spring.torque_range} (antagonist)"
            )
        low, high = (end[0] for end in self.second_output_range(Q))
        raise InputError(
            f"stiffness of {second[0]:.6g} is infeasible at a joint torque of {Q[0]:.6g} "
            f"{TORQUE_UNIT}; it must be from {low:.6g} to {high:.6g} {STIFFNESS_UNIT}"
        )

    def _laws(self, phi_a: Array, phi_b: Array) -> tuple[tuple[Array, ...], ...]:
        """s, s', s'', s''' of both springs, at the nearer end of the travel if beyond it."""
        return tuple(
            tuple(spring.derivatives(np.clip(phi, *spring.travel)))
            for spring, phi in zip(self.springs, (phi_a, phi_b), strict=True)
        )

    def _at_pretension(self, p: Array, half: Array) -> tuple[Array, Array]:
        """Extension of each spring at the pretension p and the joint torque 2 half."""
        a = self.agonist_spring.deflection(p + half, beyond="continue")
        return a, self.antagonist_spring.deflection(p - half, beyond="continue")

    def _pretension_range(self, Q: Array, torque_share: float = np.inf) -> tuple[Array, Array]:
        (a_low, a_high), (b_low, b_high) = (spring.torque_range for spring in self.springs)
        a_high, b_high = (
            min(high, torque_share * motor.torque_limit)
            for high, motor in zip((a_high, b_high), self.motors, strict=True)
        )
        half = 0.5 * Q
        return np.maximum(a_low - half, b_low + half), np.minimum(a_high - half, b_high + half)

    def link_position(
        self, theta: Rows, Q: Array, k: Array | None, deflection: Array | None, beyond: Beyond
    ) -> Array:
        """q from Q, which decreases with q. Beyond their travels both springs continue along their
        tangents, where one more step of Newton's method is exact."""
        (a_low, a_high), (b_low, b_high) = self.limits_of_springs

        def law(x: Array, beyond: Beyond = "continue") -> tuple[Array, Array]:
            a = self.agonist_spring.derivatives(theta[0] + x, beyond=beyond)
            b = self.antagonist_spring.derivatives(-x - theta[1], beyond=beyond)
            return a[0] - b[0], a[1] + b[1]

        lower = np.minimum(a_low - theta[0], -b_high - theta[1])
        upper = np.maximum(a_high - theta[0], -b_low - theta[1])
        x = solve_increasing(law, Q, lower, upper)
        torque, slope = law(x)
        x = x + (Q - torque) / slope
        law(x, beyond)
        return -x

    def second_output_range(self, Q: Any, torque_share: float = np.inf) -> tuple[Array, Array]:
        Q = np.asarray(Q, dtype=np.float64)
        ends = self._pretension_range(Q, torque_share)
        if self.regulates == "pretension":
            return ends
        least, greatest = (
            sum((law[1] for law in self._laws(*self._at_pretension(p, 0.5 * Q))), np.zeros_like(Q))
            for p in ends
        )
        return least, greatest


def _number(name: str, value: Any) -> float:
    number = as_real(name, value)
    if number.ndim:
        raise InputError(f"{name}: expected one number, got an array of shape {number.shape}")
    return float(number)


def _check_motor(motor: Any) -> None:
    if not isinstance(motor, Motor):
        raise InputError(f"expected a Motor, such as Motor(inertia), got {motor!r}")


def _check_parts(motor: Motor, *springs: Spring) -> None:
    _check_motor(motor)
    for spring in springs:
        if not isinstance(spring, Spring):
            raise InputError(f"expected a Spring, such as LinearSpring(stiffness), got {spring!r}")
    if motor.inertia == 0.0:
        raise InputError("inertia of a motor behind a spring must be greater than zero, got 0")
