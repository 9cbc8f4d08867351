# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits of joint commands and motions; rates are per second, never per cycle.

Revolute joints: rad, N m, N m/s. Prismatic joints: m, N, N/s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    Array,
    IndependentCopies,
    InputError,
    as_array,
    as_real,
    compiled_exactly,
    inlined_exactly,
    read_only,
)
from ..model import JointLimits
from .trajectories import Reference

TORQUE_LIMITED = 1
RATE_LIMITED = 2


class LimitEvent(NamedTuple):
    """Record of a joint exceeding a limit: the quantity, its value and the limit."""

    joint: str
    quantity: str  # "torque", "torque rate", "motor speed", "position", "velocity"
    wanted: float
    allowed: float

    def __str__(self) -> str:
        return f"{self.joint}: {self.quantity} {self.wanted:.6g}, limit {self.allowed:.6g}"


@inlined_exactly
def limit_torque(wanted, before, limit, rate, dt, torque):
    """The permitted torques, `dt` after those `before`; returns the sum of TORQUE_LIMITED, if any
    torque was limited, and RATE_LIMITED. NaN stays NaN: it must not become a torque."""
    limited = 0
    for j in range(wanted.shape[0]):
        step = rate[j] * dt
        bounded = min(max(wanted[j], -limit[j]), limit[j])
        permitted = min(max(bounded, before[j] - step), before[j] + step)
        if bounded != wanted[j]:
            limited |= TORQUE_LIMITED
        if permitted != bounded:
            limited |= RATE_LIMITED
        torque[j] = permitted
    return limited


_LIMIT = compiled_exactly(limit_torque)


@dataclass(frozen=True, eq=False)
class JointCommandLimits(IndependentCopies):
    """Limits of the commands to the drives, each (n,) and positive; None or inf for no limit.

    torque (N m), torque_rate (N m/s), motor_speed (rad/s), on the same side of the gear as the
    commands. Raises InputError for other values.
    """

    joint_names: tuple[str, ...]
    torque: Any = None
    torque_rate: Any = None
    motor_speed: Any = None

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        object.__setattr__(self, "joint_names", names)
        for quantity in ("torque", "torque_rate", "motor_speed"):
            given = getattr(self, quantity)
            limit = np.full(len(names), np.inf) if given is None else as_real(quantity, given)
            if limit.shape != (len(names),):
                raise InputError(f"{quantity}: expected {len(names)} limits, got {limit.shape}")
            for j in np.flatnonzero(~(limit > 0.0)).tolist():
                raise InputError(
                    f"{quantity} of joint '{names[j]}': limit {limit[j]} is not positive"
                )
            object.__setattr__(self, quantity, read_only(limit))

    def apply(
        self, torque: Array, previous: Array, dt: float
    ) -> tuple[Array, tuple[LimitEvent, ...]]:
        """The permitted torque (n,) dt seconds after `previous` (n,), and an event for each clip.

        The torque is clipped to its limit first, then its change to the rate limit, so a limit that
        is lowered during operation is approached without a jump. Raises InputError if a number is
        not finite or dt is not positive.
        """
        torque = self._vector("torque", torque)
        previous = self._vector("previous torque", previous)
        if not (isfinite(dt) and dt > 0.0):
            raise InputError(f"dt is {dt} s; the time since the previous torque must be positive")
        if not isfinite(torque.dot(torque) + previous.dot(previous)):
            as_array("torque", torque, torque.shape, self.joint_names)
            as_array("previous torque", previous, torque.shape, self.joint_names)
        limited = np.empty(len(torque))
        which = _LIMIT(
            np.ascontiguousarray(torque), np.ascontiguousarray(previous), self.torque,
            self.torque_rate, float(dt), limited,
        )  # fmt: skip
        if not which:
            return limited, ()
        bounded = np.minimum(np.maximum(torque, -self.torque), self.torque)
        rate = (bounded - previous) / dt
        allowed = np.copysign(self.torque_rate, rate)
        return limited, (
            *_events(self.joint_names, "torque", torque, bounded, bounded != torque),
            *_events(self.joint_names, "torque rate", rate, allowed, limited != bounded),
        )

    def apply_speed(self, speed: Array) -> tuple[Array, tuple[LimitEvent, ...]]:
        """The motor speed (n,) clipped to its limit, and an event for each clip."""
        speed = as_array("motor speed", speed, (len(self.joint_names),), self.joint_names)
        limited = np.minimum(np.maximum(speed, -self.motor_speed), self.motor_speed)
        if (limited == speed).all():
            return limited, ()
        return limited, _events(self.joint_names, "motor speed", speed, limited, limited != speed)

    def _vector(self, name: str, value: Array) -> Array:
        """`value` as float64 (n,); checked for NaN only if it has to be converted."""
        n = len(self.joint_names)
        if type(value) is np.ndarray and value.shape == (n,) and value.dtype == np.float64:
            return value
        array = as_array(name, value, (n,), self.joint_names)
        if array.ndim != 1:
            raise InputError(f"{name}: expected shape ({n},), got {array.shape}")
        return array


def check_motion(
    joint_names: Sequence[str], limits: JointLimits, state: Array
) -> tuple[LimitEvent, ...]:
    """Joints outside their position and velocity limits; `state` (2 or more, n) begins with q, q'.

    NaN counts as outside.
    """
    q, qd = state[0], state[1]
    bound = np.where(q < limits.lower, limits.lower, limits.upper)
    outside = ~((q >= limits.lower) & (q <= limits.upper))
    speed = np.copysign(limits.velocity, qd)
    return (
        *_events(joint_names, "position", q, bound, outside),
        *_events(joint_names, "velocity", qd, speed, ~(np.abs(qd) <= limits.velocity)),
    )


def check_reference(limits: JointLimits, reference: Reference) -> tuple[LimitEvent, ...]:
    """`check_motion` for the whole reference, with the extreme values of each joint."""
    least, greatest = (
        check_motion(reference.joint_names, limits, state) for state in reference.extremes()
    )
    return tuple(dict.fromkeys((*least, *greatest)))


def distance_to_limits(limits: JointLimits, q: Array) -> Array:
    """Distance (n,) to the nearer position limit; negative outside, infinite without limits."""
    return np.minimum(q - limits.lower, limits.upper - q)


def _events(
    joint_names: Sequence[str], quantity: str, wanted: Array, allowed: Array, which: Any
) -> tuple[LimitEvent, ...]:
    return tuple(
        LimitEvent(joint_names[j], quantity, float(wanted[j]), float(allowed[j]))
        for j in np.flatnonzero(which).tolist()
    )
