# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits of an exciting motion, and how much of them a motion uses.

The drive of a rigid joint supplies the torque Q of the inverse dynamics and the friction of the
joint; the motors of a joint with springs supply what the flat map demands (`motor_motion`), which
contains Q' and Q''. The rate of a torque is a difference over the control period, as a drive sees
it.

Near a singular pose of its loops, joints without a motor move ever faster than the motors, and the
loops open beyond: a motion stays where none moves more than STEEP times as fast as a motor, or as
in the assembled pose.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, InputError, as_array, read_only
from ...elastic import Actuators, MotorMotion, motor_motion
from ...mechanisms import ClosedChainModel
from ...model import MultibodyModel, finite_range
from ...rigid import inverse_dynamics
from ..bodies.joint_friction import JointFriction
from .link_capsules import Capsules, box_distances, distances

TINY = 1e-9  # m
STEEP = 10.0
NAMES = ("velocity", "acceleration", "torque", "torque_rate")
DISTANCES = CLEARANCE, INSIDE = ("clearance", "distance to its side")  # must not be smaller


class LimitUse(NamedTuple):
    """How much of a limit a motion uses: `used` is 1 at the limit; `value` the worst value."""

    name: str  # of the joint, the motor, the pair of bodies, or the side of the box
    quantity: str
    value: float
    limit: float
    used: float

    def __str__(self) -> str:
        limit = "at least" if self.quantity in DISTANCES else "limit"
        return f"{self.name}: {self.quantity} {self.value:.4g}, {limit} {self.limit:.4g}"


@dataclass(frozen=True, eq=False)
class MotorLimits:
    """The motors and springs of a robot, and what a motion may use of them.

    stiffness (v,) : constant second outputs of joints with variable stiffness.
    torque, torque_rate, speed (m,) and travel (m, 2) : on the link side of the gear.
    """

    actuators: Actuators
    stiffness: Array
    torque: Array
    torque_rate: Array
    speed: Array
    travel: Array

    def motor_motion(self, rows: Array, torque: Array) -> MotorMotion:
        """The motion of the motors (k, m) for rows q, q', q'' (and further ones) and Q, Q', Q'',
        (k, 3, n); of the friction of links, F'' without the third derivative of q neglects it."""
        deflection = None
        if rows.shape[-2] == 3:
            rows = np.concatenate([rows, np.zeros_like(rows[..., :1, :])], axis=-2)
        if self.actuators.is_damped.any():
            deflection = self.actuators.settled_deflection(torque, beyond="continue")
        return motor_motion(
            self.actuators,
            rows,
            torque,
            self.second_outputs(3),
            deflection=deflection,
            beyond="continue",
        )

    def second_outputs(self, rows: int) -> Array | None:
        """The constant second outputs with their rates, (rows, v), or None."""
        if not len(self.stiffness):
            return None
        second = np.zeros((rows, len(self.stiffness)))
        second[0] = self.stiffness
        return second

    def uses(self, times: Array, states: Array, torque: Array) -> list[LimitUse]:
        """How much of every finite limit a motion uses; torque (k, 3, n) rows Q, Q', Q''."""
        names = self.actuators.motor_names
        moved = self.motor_motion(states, torque)
        rate = np.diff(moved.torque, axis=0) / np.diff(times)[:, None]
        middle, half = middle_and_half(self.travel)
        uses = _uses(names, "motor torque", moved.torque, self.torque)
        uses += _uses(names, "torque rate", rate, self.torque_rate)
        uses += _uses(names, "motor speed", moved.velocity, self.speed)
        return uses + _uses(names, "deflection", moved.deflection - middle, half, middle)


@dataclass(frozen=True, eq=False)
class ExcitationLimits:
    """What a motion of a robot may use. Infinite: no limit. Raises InputError for limits of a wrong
    shape or that are not positive, an empty range, and an invalid box.

    lower, upper, velocity, acceleration (n,) : rad or m and per s^k.
    torque, torque_rate : (n,) N m and N m/s of the joints. With `motors`, which have their own
        limits, torque limits Q, and torque_rate is not used.
    capsules, clearance : distance in m that the capsules keep from each other; None: no check.
    box : (2, 3) lower and upper corner in which links and tool stay, m, inertial axes; or None.
    friction : of the joints, which their drives overcome, or None.
    motors : of a robot with elastic joints, and their limits, or None.
    dependent : (3, d) lower and upper position and velocity of the joints that loops determine;
        without it, there is no limit.
    """

    model: MultibodyModel
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    torque: Array
    torque_rate: Array
    capsules: Capsules | None = None
    clearance: float = 0.02
    box: Array | None = None
    friction: JointFriction | None = None
    motors: MotorLimits | None = None
    dependent: Array = field(default_factory=lambda: np.zeros((3, 0)))

    def __post_init__(self) -> None:
        n = self.model.n
        for name in ("lower", "upper", *NAMES):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if given.shape not in ((), (n,)):
                raise InputError(
                    f"{name}: expected a number or {n} values, one for each joint, got shape"
                    f" {given.shape}"
                )
            object.__setattr__(self, name, read_only(np.broadcast_to(given, (n,))))
        for j in np.flatnonzero(~(self.lower < self.upper)).tolist():
            raise InputError(
                f"position of joint '{self.model.joint_names[j]}': no room between"
                f" {self.lower[j]:g} and {self.upper[j]:g}"
            )
        for name in NAMES:
            for j in np.flatnonzero(~(getattr(self, name) > 0.0)).tolist():
                raise InputError(
                    f"{name} of joint '{self.model.joint_names[j]}': limit"
                    f" {getattr(self, name)[j]} is not positive"
                )
        if isinstance(self.model, ClosedChainModel) and not self.dependent.size:
            free = np.tile([[-np.inf], [np.inf], [np.inf]], len(self.model.dependent_joints))
            object.__setattr__(self, "dependent", read_only(free))
        if self.box is not None:
            corners = as_array("box", self.box, (2, 3))
            if not (corners[0] < corners[1]).all():
                raise InputError(f"box: the lower corner {corners[0]} is not below {corners[1]}")
            object.__setattr__(self, "box", read_only(corners))

    @classmethod
    def of(
        cls,
        model: MultibodyModel,
        *,
        margin: float = 0.1,
        acceleration: Any = None,
        torque: Any = None,
        torque_rate: Any = None,
        actuators: Actuators | None = None,
        stiffness: Any = None,
        **others: Any,
    ) -> ExcitationLimits:
        """The limits of a robot, less a margin, a share from 0 to below 1 of each.

        Positions and deflections keep margin / 2 of their range from both ends; unlimited joints
        have a range of 2 pi rad or 0.4 m. Speeds and torques come from the model and the actuators;
        acceleration, torque and torque_rate, numbers or (n,), replace or complete them.
        """
        if not 0.0 <= margin < 1.0:
            raise InputError(f"margin is {margin}; expected a share from 0 to below 1")
        lower, upper = finite_range(model)
        room = 0.5 * margin * (upper - lower)
        given: dict[str, Any] = {
            "velocity": model.limits.velocity,
            "acceleration": model.limits.acceleration if acceleration is None else acceleration,
            "torque": model.limits.effort if torque is None else torque,
            "torque_rate": np.inf if torque_rate is None else torque_rate,
        }
        share = 1.0 - margin
        less: dict[str, Any] = {name: share * np.asarray(x) for name, x in given.items()}
        if isinstance(model, ClosedChainModel):
            low, high, speed = model.dependent_limits[:3]
            centre, half = middle_and_half(np.stack([low, high], axis=1))
            others["dependent"] = np.stack(
                [centre - share * half, centre + share * half, share * speed]
            )
        limits = cls(model, lower + room, upper - room, **less, **others)
        if actuators is None:
            return limits
        actuators.refuse_other_joints(model)
        actuators.refuse_counting_twice(model.reflected_inertia)
        middle, half = middle_and_half(actuators.spring_travel)
        motors = MotorLimits(
            actuators,
            middle_stiffness(actuators) if stiffness is None else np.asarray(stiffness),
            share * actuators.torque_limit,
            limits.torque_rate[actuators.joint_of_motor],
            share * actuators.speed_limit,
            np.stack([middle - share * half, middle + share * half], axis=-1),
        )
        return replace(limits, motors=motors)

    def uses(self, times: Array, states: Array) -> list[LimitUse]:
        """How much of every finite limit a motion uses, (k,) s and (k, 5, n), the most used first.

        The torque rates are differences between the given times.
        """
        names = self.model.joint_names
        q, qd, qdd = states[:, 0], states[:, 1], states[:, 2]
        half = 0.5 * (self.upper - self.lower)
        middle = 0.5 * (self.upper + self.lower)
        uses = _uses(names, "position", q - middle, half, middle)
        uses += _uses(names, "velocity", qd, self.velocity)
        uses += _uses(names, "acceleration", qdd, self.acceleration)
        if isinstance(self.model, ClosedChainModel):
            others, dependent = self.model.dependent_joints, self.model.dependent_motion(q, qd)
            centre, width = middle_and_half(self.dependent[:2].T)
            uses += _uses(others, "position", dependent[0] - centre, width, centre)
            uses += _uses(others, "velocity", dependent[1], self.dependent[2])
            steepest = np.full(len(others), self.steepest)
            ratios = self.dependent_ratios(q)
            uses += _uses(others, "speed ratio to a motor", ratios, steepest)
        uses += self._drive_uses(times, states)
        if self.capsules is not None and len(self.capsules.pairs):
            uses += self._clearance_uses(q)
        if self.box is not None and self.capsules is not None:
            inside = float(box_distances(self.model, self.capsules, q, self.box).min())
            uses.append(LimitUse("box", INSIDE, inside, 0.0, 1.0 - inside))
        return sorted(uses, key=lambda use: -use.used)

    def dependent_ratios(self, q: Array) -> Array:
        """(k, d) how fast the joints that the loops determine move at most, over the motors."""
        assert isinstance(self.model, ClosedChainModel)
        G = self.model.reduction(q)[0]
        return np.abs(G[:, self.model.system.passive_indices]).max(axis=-1)

    @cached_property
    def steepest(self) -> float:
        """The largest of these ratios that a motion may have."""
        return STEEP * max(1.0, float(self.dependent_ratios(self.model.home[None]).max()))

    def at_rest(self, q: Array) -> Array:
        """The greatest use (k,) of a limit at rest at configurations (k, n); infinite where the
        loops do not close."""
        used = np.full(len(q), np.inf)
        reached = self.model.reaches(q)
        if reached.any():
            used[reached] = self._closed_at_rest(q[reached])
        return used

    def _closed_at_rest(self, q: Array) -> Array:
        still = np.zeros_like(q)
        Q = inverse_dynamics(self.model, q, still, still).tau
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        shares = [np.abs(q - middle) / half, np.abs(Q) / self.torque]
        if isinstance(self.model, ClosedChainModel):
            place, width = middle_and_half(self.dependent[:2].T)
            shares.append(np.abs(self.model.dependent_motion(q, still)[0] - place) / width)
            shares.append(self.dependent_ratios(q) / self.steepest)
        if self.motors is not None:
            rows = np.stack([q, still, still], axis=1)
            moved = self.motors.motor_motion(rows, np.stack([Q, still, still], axis=1))
            centre, width = middle_and_half(self.motors.travel)
            shares.append(np.abs(moved.torque) / self.motors.torque)
            shares.append(np.abs(moved.deflection - centre) / width)
        if self.capsules is not None and len(self.capsules.pairs):
            apart = distances(self.model, self.capsules, q)
            shares.append(self.clearance / np.maximum(apart, TINY))
        if self.box is not None and self.capsules is not None:
            shares.append(1.0 - box_distances(self.model, self.capsules, q, self.box))
        return np.asarray(np.concatenate(shares, axis=1).max(axis=1))

    def _drive_uses(self, times: Array, states: Array) -> list[LimitUse]:
        rows, names = states.swapaxes(0, 1), self.model.joint_names
        if self.motors is None:
            Q = inverse_dynamics(self.model, *rows[:3]).tau
            if self.friction is not None:
                Q = Q + self.friction.torque(rows[1])
            rate = np.diff(Q, axis=0) / np.diff(times)[:, None]
            uses = _uses(names, "torque", Q, self.torque)
            return uses + _uses(names, "torque rate", rate, self.torque_rate)
        torque = link_torques(self.model, states)
        uses = _uses(names, "joint torque", torque[:, 0], self.torque)
        return uses + self.motors.uses(times, states, torque)

    def _clearance_uses(self, q: Array) -> list[LimitUse]:
        assert self.capsules is not None
        least = distances(self.model, self.capsules, q).min(axis=0)
        labels = (self.model.base_name, *self.model.body_names)
        uses = []
        for (a, b), distance in zip(self.capsules.pairs.tolist(), least.tolist(), strict=True):
            one, other = (labels[self.capsules.bodies[c] + 1] for c in (a, b))
            used = self.clearance / distance if distance > 0.0 else np.inf
            uses.append(LimitUse(f"{one} - {other}", CLEARANCE, distance, self.clearance, used))
        return uses


def link_torques(model: MultibodyModel, states: Array) -> Array:
    """Q, Q' and Q'' (k, 3, n) of the links along states (k, 5, n)."""
    return np.stack([np.asarray(row) for row in inverse_dynamics(model, *states.swapaxes(0, 1))], 1)


def middle_stiffness(actuators: Actuators) -> Array:
    """(v,) the middle of the feasible second outputs of joints with variable stiffness, at rest."""
    values = []
    for _, actuator, _, _ in actuators.each():
        if actuator.second_output is not None:
            low, high = (float(end) for end in actuator.second_output_range(np.zeros(()), 1.0))
            values.append(0.5 * (low + high) if np.isfinite(high) else 2.0 * low)
    return np.array(values)


def middle_and_half(ends: Array) -> tuple[Array, Array]:
    """Middle and half width (m,) of intervals (m, 2); zero and infinity where they are open."""
    closed = np.isfinite(ends[:, 0]) & np.isfinite(ends[:, 1])
    lower, upper = np.where(closed[:, None], ends, 0.0).T
    return 0.5 * (lower + upper), np.where(closed, 0.5 * (upper - lower), np.inf)


def _uses(
    names: tuple[str, ...], quantity: str, values: Array, limit: Array, middle: Any = 0.0
) -> list[LimitUse]:
    """The worst value of each column of `values` (k, m) against +-limit (m,), where finite."""
    middle = np.broadcast_to(middle, limit.shape)
    uses = []
    for j in np.flatnonzero(np.isfinite(limit)).tolist():
        worst = values[np.abs(values[:, j]).argmax(), j]
        used = float(abs(worst) / limit[j])
        bound = float(middle[j] + np.copysign(limit[j], worst))
        uses.append(LimitUse(names[j], quantity, float(middle[j] + worst), bound, used))
    return uses
