# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motors of joints, on the link side of their gears; see :mod:`.kinds` for their equation."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..core import InputError
from .friction_law import FRICTION_NAMES, Friction, check_friction, one_number


@dataclass(frozen=True)
class Motor:
    """Inertia of rotor and gear, friction and limits, on the link side of the gear.

    Units of a revolute joint; those of a prismatic one are kg, N s/m, N and m/s. The law of the
    friction is that of :class:`.Friction`, whose fields have the same names.
    Raises InputError for values that are not physical.
    """

    inertia: float  # kg m^2
    gear_ratio: float = 1.0  # motor travel per link travel
    viscous: float = 0.0  # N m s/rad
    coulomb: float = 0.0  # N m
    coulomb_velocity: float = 1.0  # rad/s, at which friction is 0.76 coulomb
    torque_limit: float = np.inf  # N m
    speed_limit: float = np.inf  # rad/s
    stribeck: float = field(default=0.0, kw_only=True)  # N m
    stribeck_velocity: float = field(default=1.0, kw_only=True)  # rad/s
    load_friction: float = field(default=0.0, kw_only=True)  # share of the load
    offset: float = field(default=0.0, kw_only=True)  # N m

    def __post_init__(self) -> None:
        for each in fields(self):
            what = f"{each.name} of the motor"
            value = one_number(what, getattr(self, each.name))
            object.__setattr__(self, each.name, value)
            if each.name in FRICTION_NAMES:
                check_friction(each.name, value, what)
                continue
            may_be_zero = each.name == "inertia"
            if not (value > 0.0 or (may_be_zero and value == 0.0)):
                right = "zero or greater" if may_be_zero else "greater than zero"
                raise InputError(f"{what} must be {right}, got {value:g}")
            if np.isinf(value) and not each.name.endswith("limit"):
                raise InputError(f"{what} must be finite, got {value:g}")

    @property
    def friction(self) -> Friction:
        """Its friction alone."""
        return Friction(**{name: getattr(self, name) for name in FRICTION_NAMES})

    @property
    def row(self) -> tuple[float, ...]:
        """The MOTOR row of :mod:`actuator_tables`."""
        return *self.friction.row, self.inertia, self.torque_limit


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


def check_motor(motor: Any, *, behind_spring: bool) -> None:
    """Raise InputError for anything else, and for a motor behind a spring without inertia."""
    if not isinstance(motor, Motor):
        raise InputError(f"expected a Motor, such as Motor(inertia), got {motor!r}")
    if behind_spring and motor.inertia == 0.0:
        raise InputError("inertia of a motor behind a spring must be greater than zero, got 0")
