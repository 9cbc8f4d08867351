# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motors of joints, on the link side of their gears; see :mod:`.kinds` for their equation."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..core import InputError, as_real


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
            value = one_number(f"{each.name} of the motor", getattr(self, each.name))
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
        """The MOTOR row of :mod:`actuator_tables`."""
        return (
            self.inertia, self.viscous, self.coulomb, self.coulomb_velocity, self.torque_limit
        )  # fmt: skip


@dataclass(frozen=True)
class StiffnessDrive:
    """The motor that sets a stiffness k = k_0 + kappa theta_k, in N m/rad and N m/rad per rad."""

    motor: Motor
    offset: float = 0.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        check_motor(self.motor, behind_spring=True)
        offset, gain = (
            one_number(f"{x} of the drive", getattr(self, x)) for x in ("offset", "gain")
        )
        if not (np.isfinite(offset) and np.isfinite(gain) and gain != 0.0):
            raise InputError(
                f"stiffness drive: offset and gain of k = {self.offset} + {self.gain} theta_k must "
                f"be finite and the gain nonzero"
            )


def one_number(name: str, value: Any) -> float:
    """A number, or InputError."""
    number = as_real(name, value)
    if number.ndim:
        raise InputError(f"{name}: expected one number, got an array of shape {number.shape}")
    return float(number)


def check_motor(motor: Any, *, behind_spring: bool) -> None:
    """Raise InputError for anything else, and for a motor behind a spring without inertia."""
    if not isinstance(motor, Motor):
        raise InputError(f"expected a Motor, such as Motor(inertia), got {motor!r}")
    if behind_spring and motor.inertia == 0.0:
        raise InputError("inertia of a motor behind a spring must be greater than zero, got 0")
