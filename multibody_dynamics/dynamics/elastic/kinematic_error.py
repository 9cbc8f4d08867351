# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematic error of gears: the spring feels theta + sum a sin(order x + phase), where x is the
turn of the motor's shaft or of the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..core import InputError, check_choice
from .friction_law import one_number

Turning = Literal["motor", "link"]


@dataclass(frozen=True)
class GearHarmonic:
    """One harmonic of the kinematic error: `amplitude` (rad on the link side) at `order` periods
    per turn of the motor's shaft, or of the link, and `phase` in rad."""

    order: float
    of: Turning
    amplitude: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        check_choice("of", self.of, get_args(Turning))
        for name in ("order", "amplitude", "phase"):
            what = f"{name} of the kinematic error"
            value = one_number(what, getattr(self, name))
            object.__setattr__(self, name, value)
            if not np.isfinite(value) or (name == "order" and value <= 0.0):
                right = "greater than zero and finite" if name == "order" else "finite"
                raise InputError(f"{what} must be {right}, got {value:g}")
