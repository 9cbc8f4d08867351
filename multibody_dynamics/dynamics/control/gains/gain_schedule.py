# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Gains as a function of the pose, for laws whose gains follow the arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import InputError
from ...elastic import Actuators
from ...model import MultibodyModel
from .coupled_gains import CoupledGains, coupled_gains, whole_arm_poles
from .modal_gains import modal_gains

GAIN_DESIGNS = ("joint", "coupled", "modal")
"""Designs of the gains of state feedback: joint by joint for one pose, or for the whole arm and
every pose, by :func:`.coupled_gains` or :func:`.modal_gains`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GainSchedule:
    """The gains of the whole arm at any pose.

    >>> schedule = GainSchedule(model=model, actuators=actuators, bandwidth=60.0)
    >>> gains = schedule.at(q)

    Attributes: `bandwidth` in 1/s, a scalar or (n,); `design`, "coupled" or "modal"; `stiffness`
    (v,), second outputs at rest; `period` and `delay` in s, for which "coupled" is designed.
    """

    model: MultibodyModel
    actuators: Actuators
    bandwidth: Any
    design: str = "coupled"
    stiffness: Any = None
    period: float = 1e-3
    delay: float = 0.0

    def __post_init__(self) -> None:
        if self.design not in GAIN_DESIGNS[1:]:
            raise InputError(
                f"design '{self.design}': expected one of {', '.join(GAIN_DESIGNS[1:])}"
            )

    @property
    def motor_names(self) -> tuple[str, ...]:
        return self.actuators.motor_names

    @property
    def late_cycles(self) -> int:
        """Number of past torques that the gains use."""
        return int(np.ceil(self.delay / self.period - 1e-6)) if self.design == "coupled" else 0

    def at(self, q: Any) -> CoupledGains:
        """The gains at q (n,). Raises InputError where the springs cannot carry the arm, and
        DynamicsError where the design has no solution."""
        robot = self.model, self.actuators, q, self.bandwidth, self.stiffness
        if self.design == "modal":
            return modal_gains(*robot)
        return coupled_gains(*robot, period=self.period, delay=self.delay)

    def checked_at(self, q: Any) -> CoupledGains:
        """The gains at q (n,). Also raises InputError if the whole arm, without sampling and delay,
        would be unstable with them."""
        gains = self.at(q)
        if self.late_cycles:
            return gains  # they also use past torques, which continuous poles ignore
        poles = whole_arm_poles(self.model, self.actuators, gains, q, self.stiffness)
        worst = poles[poles.real.argmax()]
        if worst.real >= 0.0:
            raise InputError(
                f"robot '{self.model.name}': with these gains the whole arm has a pole at "
                f"{worst:.4g} 1/s; use a lower bandwidth"
            )
        return gains
