# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What all kinds of actuators have in common, and what each of them says about itself.

A kind is one file in :mod:`.kinds`: a subclass of :class:`Actuator` with the functions over scalars
that relate links, springs and motors. It describes its springs by their laws, by the directions in
which they deflect, by their deflections at zero and by the factor on their laws,

    U(q, theta, sigma) = factor(theta, sigma) sum_k S_k(phi_k),
    phi_k = directions_k . (q, theta_1, ...) + offsets_k,

where S_k is the integral of the law s_k. Gains, plants and energies follow from this description,
and what identification and its files need is declared as well, so none of them asks for the kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..core import Array, InputError
from ..core.quantities import Dimension
from .actuator_tables import (
    DAMPING,
    HAS_LINK_FRICTION,
    INPUT,
    KIND,
    LINK_FRICTION,
    MOTOR,
    OWN,
    PRESLIDING,
    RIGID,
    SECOND,
    SECOND_OUTPUT_CLIPPED,
    SOFTEST,
    STIFFEST,
)
from .damped_springs import advance_filters, compiled_advance_filters
from .friction_law import Friction, friction_motion
from .motor import Motor, StiffnessDrive, check_motor
from .spring_columns import JointSprings
from .spring_tables import SpringTables, fitting, spring_tables
from .springs import Beyond, Spring

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


class MotorEntry(NamedTuple):
    """Where the entry of a joint in YAML describes one of its motors.

    path : keys that lead from the entry to that of the motor and of the spring beside it.
    side : the direction in which the motor deflects this spring: 1, -1 for an antagonist, or 0 for
        a motor that deflects no spring of the link.
    """

    path: tuple[str, ...] = ()
    side: float = 1.0


class IdentifiedQuantity(NamedTuple):
    """Where the entry of a joint in YAML describes an identified parameter of `JointSprings`.

    path : keys that lead from the entry to it. dimension : as in :mod:`.quantities`.
    suffix : of the motor to whose gear its sides refer. is_positive : a negative value is noise,
        and becomes zero.
    """

    path: tuple[str, ...]
    dimension: Dimension
    suffix: str = ""
    is_positive: bool = False


class Identified(NamedTuple):
    """Identified parts of a joint: its motors, the new law of a spring from the suffix of its
    owner, and by name other parameters of the joint."""

    motors: Sequence[Motor]
    spring: Callable[[str, Spring], Spring]
    values: Mapping[str, float]


def described_parts(values: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Values with names "LIST.ITEM.KEY", such as "hysteresis.1.torque", by list and item."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, value in values.items():
        parts = name.split(".")
        if len(parts) == 3:
            found.setdefault(parts[0], {}).setdefault(parts[1], {})[parts[2]] = value
    return found


@dataclass(frozen=True)
class Actuator(ABC):
    """The actuator of one joint: its motors and the springs that it pulls.

    A kind defines the functions over scalars below, from the same source for the compiled control
    cycle, for batches in planning and for C; `motors`, `columns` and `link_position`; `springs`,
    with everything in which they differ from springs in front of their motors and relaxed at zero;
    its keys in YAML, and `read`. All other methods have defaults, some of which refuse:
    `virtual_spring` is None for a kind without elastic structure preserving control, and
    `identification` raises InputError.

    link_friction : of the link against its base, which its springs or its motor carry.

    feedforward(joints, motors, laws, pieces, own, i, variant, given, Qs, filtered, outputs)
        writes the motors of joint i along `given`, a LinkRows, to `outputs`, a MotorArrays: see
        :func:`.flat_map.feedforward_cycle`. The variant is in `Qs`, the torque with two rates as
        far as it deflects the springs, and in the factors `variant` on other torques and on their
        rates.
    spring_torques(joints, laws, pieces, own, i, q, qd, theta, thetad, second,
        torque, rate, K, load, deflection) writes what links and motors feel: see
        :func:`.flat_map.springs_recursion`. A rigid joint changes nothing.
    virtual_spring(joints, laws, pieces, own, i, second, unloaded, force, force_rate,
        x, rate, slope, rest): see :mod:`.virtual_springs`.
    """

    link_friction: Friction = field(default=Friction(), kw_only=True)

    code: ClassVar[float | None] = None  # in the column KIND; set by the registry
    feedforward: ClassVar[Callable[..., None]]
    spring_torques: ClassVar[Callable[..., None]]
    virtual_spring: ClassVar[Callable[..., None] | None] = None
    may_have_second_output: ClassVar[bool] = False
    may_be_damped: ClassVar[bool] = False  # by `damping` in its `spring`
    has_storage: ClassVar[bool] = True  # a storage function is claimed for laws on such joints
    stiffness_word: ClassVar[str] = "nonlinear"  # of a joint without a `series_spring`

    # Its YAML description

    required_keys: ClassVar[tuple[str, ...]]
    optional_keys: ClassVar[tuple[str, ...]] = ()
    motor_entries: ClassVar[Mapping[str, MotorEntry]] = MappingProxyType({"": MotorEntry()})
    """By the suffix of each motor that it may have."""

    @classmethod
    def is_described(cls, keys: Mapping[str, Any]) -> bool:
        """Whether an entry with these keys describes this kind; newer kinds are asked first."""
        return cls.required_keys[0] in keys

    @classmethod
    @abstractmethod
    def read(cls, entry: Mapping[str, Any], where: str, motion: str) -> Actuator:
        """The actuator of an entry with the right keys; `motion` of the link, revolute or
        prismatic. Raises InputError that begins with `where`."""

    @classmethod
    def identified_quantities(cls, motion: str) -> Mapping[str, IdentifiedQuantity]:
        """The parameters of `identification`, by name without owner, that `write-back` finds in its
        entry outside of a `spring`; `motion` of the link, revolute or prismatic."""
        return {}

    # Its motors

    @property
    @abstractmethod
    def motors(self) -> tuple[Motor, ...]: ...

    @property
    def is_rigid(self) -> bool:
        """Whether its motor and the link move as one."""
        return False

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes that turn the name of the joint into the names of its motors."""
        return ("",)

    @property
    def torque_shares(self) -> tuple[float, ...]:
        """The share of the joint's torque that each motor takes; zero if it sets a stiffness."""
        return (1.0, 0.0)[: len(self.motors)]

    @property
    def own_torque_source(self) -> Literal["spring_deflection", "motor_torque"]:
        """What the joint torque is measured by without a torque sensor."""
        return "motor_torque" if self.is_rigid else "spring_deflection"

    def with_motors(self, motors: Sequence[Motor]) -> Actuator:
        """The actuator with other motors."""
        new = iter(motors)
        changes: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Motor):
                changes[each.name] = next(new)
            elif isinstance(value, StiffnessDrive):
                changes[each.name] = replace(value, motor=next(new))
        return replace(self, **changes)

    # Its second output

    @property
    def second_output(self) -> Literal["stiffness", "pretension"] | None:
        """The second output (stiffness or pretension) of the joint, or None."""
        return None

    @property
    def drive(self) -> StiffnessDrive | None:
        """The drive of its second motor, if that sets the second output and moves no link."""
        return None

    @property
    def input_range(self) -> tuple[float, float] | None:
        """The range of the second output if that is an input, which no motor sets."""
        return None

    def second_output_range(self, Q: Any, torque_share: float = np.inf) -> tuple[Array, Array]:
        """Smallest and largest feasible second output at the joint torque Q, a number or an array.

        torque_share : share of the motors' torque limits that is available to hold the joint at
        rest; infinite, the default, ignores the limits. The smallest exceeds the largest if Q
        itself is infeasible.
        """
        Q = np.asarray(Q, dtype=np.float64)
        return np.full_like(Q, -np.inf), np.full_like(Q, np.inf)

    def measured_second_output(
        self, q: float, qd: float, theta: Any, thetad: Any
    ) -> tuple[float, float] | None:
        """The second output and its rate at this state; None if no motor sets it."""
        return None

    # Its springs

    @property
    def springs(self) -> tuple[Spring, ...]:
        """The springs of the joint; by default in front of its first motors."""
        return ()

    @cached_property
    def directions(self) -> Array:
        """(s, 1 + m) derivatives of the deflections of the springs by (q, theta_1, ...); by default
        phi_k = theta_k - q. A spring between link and base has a row of (1, 0, ...)."""
        rows = np.eye(len(self.springs), 1 + len(self.motors), 1)
        rows[:, 0] = -1.0
        return rows

    @property
    def offsets(self) -> tuple[float, ...]:
        """(s,) deflections of the springs with link and motors at zero: -q_0 for a spring between
        link and base that is relaxed at q_0."""
        return (0.0,) * len(self.springs)

    @property
    def factor_range(self) -> tuple[float, float]:
        """Smallest and largest `factor`."""
        return 1.0, 1.0

    def factor(self, theta: Any, k: Any) -> tuple[Any, Array]:
        """The factor on the laws of the springs, and its derivatives (m,) by the motor positions;
        k is the second output."""
        return 1.0, np.zeros(len(self.motors))

    @property
    def damping(self) -> float:
        """Of the damper in parallel with the first spring, N m s/rad; the two carry all of Q, so a
        joint with a damper has no other spring."""
        return 0.0

    @property
    def slip_count(self) -> int:
        """How many states its hysteresis has."""
        return 0

    @property
    def series_spring(self) -> Spring | None:
        """The spring if it is the only one, between the only motor and the link, and constant."""
        return None

    @property
    def has_base_springs(self) -> bool:
        """Whether some springs do not end at a motor, but at the base of the joint."""
        return not self.directions[:, 1:].any(axis=1).all()

    @property
    def limits_of_springs(self) -> tuple[tuple[float, float], ...]:
        """The travel of the spring in front of each motor."""
        ends = [(-np.inf, np.inf)] * len(self.motors)
        for row, spring in zip(self.directions, self.springs, strict=True):
            for j in np.flatnonzero(row[1:]).tolist():
                ends[j] = spring.travel
        return tuple(ends)

    @property
    def greatest_torques(self) -> tuple[float, ...]:
        """(s,) torque limits of the motors that pull the springs; infinite where none does."""
        limits = np.array([motor.torque_limit for motor in self.motors])
        return tuple(min(limits[row != 0.0], default=np.inf) for row in self.directions[:, 1:])

    @property
    def sides(self) -> tuple[float, ...]:
        """The direction in which each motor deflects its spring: 1, or -1 for an antagonist."""
        along = self.directions[:, 1:].sum(axis=0)
        return tuple(np.where(along < 0.0, -1.0, 1.0).tolist())

    def deflections(self, q: Any, theta: Any) -> list[Any]:
        """The deflection of each spring."""
        deflections = []
        for row, offset in zip(self.directions, self.offsets, strict=True):
            terms = [side * x for side, x in zip(row, (q, *theta), strict=True) if side]
            deflections.append(sum(terms[1:], terms[0]) + offset)
        return deflections

    def energy(self, q: Any, theta: Any, k: Any = 1.0) -> Any:
        """U in J; k is the second output."""
        bends = zip(self.springs, self.deflections(q, theta), strict=True)
        stored = sum(spring.energy(phi, beyond="continue") for spring, phi in bends)
        return self.factor(theta, k)[0] * stored

    def energy_hessian(self, q: float, theta: Any, k: float = 1.0) -> Array:
        """(1 + m, 1 + m) second derivatives of U by (q, theta); the factor is linear in theta."""
        factor, slope = self.factor(theta, k)
        result = np.zeros((1 + len(self.motors),) * 2)
        for row, spring, phi in self._bent(q, theta):
            result += factor * float(spring.stiffness(phi, beyond="continue")) * np.outer(row, row)
            cross = float(spring.torque(phi, beyond="continue")) * np.outer(row, (0.0, *slope))
            result += cross + cross.T
        return result

    def _bent(self, q: float, theta: Any) -> zip[tuple[Array, Spring, Any]]:
        return zip(self.directions, self.springs, self.deflections(q, theta), strict=True)

    def with_springs(self, change: Callable[[Spring], Spring]) -> Actuator:
        """The actuator with each of its springs replaced by `change` of it."""
        changes: dict[str, Any] = {
            each.name: change(value)
            for each in fields(self)
            if isinstance(value := getattr(self, each.name), Spring)
        }
        return replace(self, **changes) if changes else self

    def stiffened(self, factor: float) -> Actuator:
        """The actuator with `factor` times the stiffness, for the same torques of springs and
        motors. Dampers become `factor` times as strong, which keeps their time constant."""
        return self.with_springs(lambda spring: spring.scaled(deflection=factor))

    # Identification

    def identification(self, joint: str) -> JointSprings:
        """Its springs as columns and coefficients. Raises InputError if they cannot be
        identified."""
        raise InputError(f"joint '{joint}': {type(self).__name__} cannot be identified")

    def identified(self, found: Identified) -> Actuator:
        """The actuator with identified parts; what is missing in `found.values` stays."""
        raise InputError(f"nothing is known about the errors of a {type(self).__name__}")

    # The flat map of one joint, over arrays

    @cached_property
    def joint_row(self) -> Array:
        """The JOINT row of :mod:`actuator_tables` for a single actuator."""
        if self.code is None:
            raise InputError(f"{type(self).__name__} is not one of the registered kinds, KINDS")
        entries = {KIND: self.code, DAMPING: self.damping, RIGID: self.is_rigid} | self.columns()
        if self.input_range is not None:
            entries |= {INPUT: 1.0}
        row = np.zeros(max(OWN, *(column + 1 for column in entries)))
        for column, value in entries.items():
            row[column] = value
        row[HAS_LINK_FRICTION] = not self.link_friction.is_zero
        row[LINK_FRICTION:OWN] = self.link_friction.row
        row[PRESLIDING] = self.link_friction.presliding
        return row

    def columns(self) -> dict[int, float]:
        """The entries of its JOINT row besides the common ones: its range of stiffnesses, and all
        of its own columns, from OWN on."""
        return {}

    @cached_property
    def _tables(self) -> SpringTables:
        return spring_tables(self.springs, own_laws=True)

    def _copies(self, count: int) -> tuple[Array, Array]:
        """JOINT and MOTOR rows of a robot with `count` such joints: a batch in one call."""
        joints = np.tile(self.joint_row, (count, 1))
        joints[:, MOTOR] = len(self.motors) * np.arange(count)
        joints[:, SECOND] = np.arange(count)
        return joints, np.tile([motor.row for motor in self.motors], (count, 1))

    def motor_rows(
        self, q: Rows, Q: Rows, second: Rows, deflection: Array | None, beyond: Beyond
    ) -> tuple[MotorRows, ...]:
        """The motion of the motors that moves the joint along q under the torque Q, to which the
        friction of the link adds; q has a third rate if there is any.

        second: the second output, if the joint has one; deflection: the state of a damped spring.
        """
        from . import flat_map  # which is made of all kinds

        chosen = second if self.second_output is not None else ()
        given = np.array(
            np.broadcast_arrays(*self._with_link_friction(q, Q), *chosen), dtype=np.float64
        )
        batch, m = given.shape[1:], len(self.motors)
        self._check_motion(given[:3], given[3:6], given[6:], deflection, beyond)
        rows = given.reshape(len(given), -1)
        count = rows.shape[1]
        filtered = np.zeros(batch) if deflection is None else np.broadcast_to(deflection, batch)
        joints, motors = self._copies(count)
        joints[:, [SOFTEST, STIFFEST]] = 0.0, np.inf  # checked, never clipped
        joints[:, HAS_LINK_FRICTION] = 0.0  # in these rows already
        links = (
            rows[:3],
            rows[3:6],
            rows[3:6],
            rows[6:],
            np.array(filtered, dtype=np.float64).reshape(-1),
        )
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

    def _with_link_friction(self, q: Rows, Q: Rows) -> tuple[Array, ...]:
        """q, q', q'' and Q, Q', Q'' with the friction of the link."""
        if self.link_friction.is_zero:
            return *q[:3], *Q
        if len(q) < 4:
            if np.any(q[1]) or np.any(q[2]):
                raise InputError(
                    "the friction of the link has rates: give the third derivative of q as well"
                )
            q = *q, np.zeros_like(q[0])
        friction = friction_motion(self.link_friction.row, q[1:4], Q)
        return *q[:3], *(own + more for own, more in zip(Q, friction, strict=True))

    def _check_motion(  # noqa: B027 (nothing to check unless overridden)
        self, q: Array, Q: Array, second: Array, deflection: Array | None, beyond: Beyond
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
        from . import flat_map  # which is made of all kinds

        m = len(self.motors)
        given = np.array(np.broadcast_arrays(q, qd, *theta, *thetad, *k), dtype=np.float64)
        batch = given.shape[1:]
        count = prod(batch)
        rotors = given[2 : 2 + 2 * m].reshape(2, m, count).transpose(0, 2, 1).reshape(2, -1)
        second = given[2 + 2 * m :].reshape(2, count) if len(k) else np.zeros((2, count))
        unknown = np.nan if self.is_rigid else 0.0
        of_joint = np.full((3, count), unknown)
        of_motors = np.full((2, count * m), unknown)
        if self.is_rigid:
            of_joint[2], of_motors[1] = np.inf, 0.0
        if self.damping > 0.0:
            of_joint[1] = np.nan
        run = fitting(flat_map.compiled_springs, flat_map.springs_recursion, self._tables)
        links = given[:2].reshape(2, count)
        joints, _ = self._copies(count)
        run(joints, *self._tables, *links, *rotors, second, *of_joint, *of_motors)
        for spring, phi in zip(
            self.springs, self.deflections(given[0], given[2 : 2 + m]), strict=True
        ):
            spring.checked_deflection(phi, beyond)
        loads, deflections = of_motors.reshape(2, *batch, m)
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

    # Its damper: the first spring obeys Q = s(phi) + d phi'

    def torque_rate(self, phi: Array, phid: Array, phidd: Array, beyond: Beyond) -> Array:
        """Q' = s' phi' + d phi''."""
        return self.springs[0].stiffness(phi, beyond=beyond) * phid + self.damping * phidd

    def settled_deflection(self, Q: Rows, *, beyond: Beyond = "raise") -> Array:
        """phi once the transient of the filter has decayed.

        Exact for a linear law and a torque quadratic in time; otherwise accurate to second order in
        the time constant.
        """
        self.springs[0].checked_torque(Q[0], beyond)
        settled = self._filtered(np.full_like(Q[0], np.nan), Q, 0.0)
        return self.springs[0].checked_deflection(settled, beyond)

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
        return self._filtered(self.springs[0].checked_deflection(phi, beyond), Q, dt)

    def _filtered(self, phi: Array, Q: Rows, dt: float) -> Array:
        """phi after dt, starting from the settled deflection where phi is NaN."""
        given = np.array(np.broadcast_arrays(phi, *Q), dtype=np.float64)
        rows = given.reshape(4, -1)
        joints, _ = self._copies(rows.shape[1])
        advance = fitting(compiled_advance_filters, advance_filters, self._tables)
        advance(joints, *self._tables, rows[1:], rows[0], float(dt))
        return given[0]


def check_parts(motor: Any, *springs: Any) -> None:
    """Raise InputError unless these are a motor with inertia and springs."""
    check_motor(motor, behind_spring=False)
    for spring in springs:
        if not isinstance(spring, Spring):
            raise InputError(f"expected a Spring, such as LinearSpring(stiffness), got {spring!r}")
    check_motor(motor, behind_spring=True)
