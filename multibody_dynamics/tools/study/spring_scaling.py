# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs with scaled axes: s(phi) becomes a s(b phi).

A torque factor a makes a spring that pulls a times as hard at the same deflection: an error of the
model. A deflection factor b makes one that carries the same torques at 1/b of the deflection: a
stiffer spring of the same strength. Both multiply the stiffness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...dynamics.core import Array
from ...dynamics.elastic import (
    Actuator,
    Antagonistic,
    LinearSpring,
    SeriesElastic,
    Spring,
    VariableStiffness,
)


@dataclass(frozen=True)
class ScaledSpring(Spring):
    """The law `torque` s(`deflection` phi) of a `base` spring s, with its travel to match."""

    base: Spring
    by_torque: float = 1.0
    by_deflection: float = 1.0

    def law(self, phi: Array) -> tuple[Array, ...]:
        rows = self.base.law(self.by_deflection * phi)
        return tuple(
            self.by_torque * self.by_deflection**order * row for order, row in enumerate(rows)
        )

    def potential(self, phi: Array) -> Array:
        return self.by_torque / self.by_deflection * self.base.potential(self.by_deflection * phi)

    def polynomials(self) -> tuple[Array, Array] | None:
        pieces = self.base.polynomials()
        if pieces is None:
            return None
        starts, coefficients = pieces
        powers = self.by_deflection ** np.arange(coefficients.shape[1])
        return starts / self.by_deflection, self.by_torque * powers * coefficients


def scaled_spring(spring: Spring, *, torque: float = 1.0, deflection: float = 1.0) -> Spring:
    """The spring with the law torque s(deflection phi); the factors are positive."""
    if torque == deflection == 1.0:
        return spring
    lower, upper = spring.travel
    travel = lower / deflection, upper / deflection
    if isinstance(spring, LinearSpring):
        return LinearSpring(torque * deflection * spring.K, travel=travel)
    return ScaledSpring(spring, torque, deflection, travel=travel)


def with_springs(actuator: Actuator, change: Callable[[Spring], Spring]) -> Actuator:
    """The actuator with each of its springs replaced by `change` of it."""
    if isinstance(actuator, SeriesElastic):
        return replace(actuator, spring=change(actuator.spring))
    if isinstance(actuator, VariableStiffness):
        return replace(actuator, shape=change(actuator.shape))
    if isinstance(actuator, Antagonistic):
        return replace(
            actuator,
            agonist_spring=change(actuator.agonist_spring),
            antagonist_spring=change(actuator.antagonist_spring),
        )
    return actuator


def stiffened(actuator: Actuator, factor: float) -> Actuator:
    """The actuator with `factor` times the stiffness, for the same torques of springs and motors.

    Dampers become `factor` times as strong, which keeps their time constant.
    """
    if isinstance(actuator, VariableStiffness):
        least, greatest = actuator.stiffness_range
        drive = actuator.drive
        if drive is not None:
            drive = replace(drive, offset=factor * drive.offset, gain=factor * drive.gain)
        shape = scaled_spring(actuator.shape, torque=1.0 / factor, deflection=factor)
        return replace(
            actuator,
            stiffness_range=(factor * least, factor * greatest),
            shape=shape,
            drive=drive,
        )
    actuator = with_springs(actuator, lambda spring: scaled_spring(spring, deflection=factor))
    if isinstance(actuator, SeriesElastic):
        return replace(actuator, damping=factor * actuator.damping)
    return actuator
