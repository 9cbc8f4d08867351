# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""How large the effects of springs and gears are that a fit has found, and how certain.

The size of an effect is the torque of all sliding elements of the hysteresis, the gap of the
backlash, and the amplitude of each harmonic of the kinematic error. The stiffness, which turns
torques into angles, counts as known: it is always known much better than these.
"""

import numpy as np

from ...core import Array
from .fitted_model import FittedModel
from .identified_robot import IdentifiedValue
from .spring_effects import GAP, GEAR, SLIP

SIGNIFICANT = 5.0  # standard errors, above which an effect becomes part of the model
DOUBTFUL = 1.96  # standard errors, below which it leaves again: its interval contains zero
LEAST_SHARE = 2e-3  # of the torque or deflection over the travel of the spring, and above this
STEEPEST = 0.5  # slope of a harmonic of a gear; two of them would turn the joint back
KEYS = {SLIP: "hysteresis_torque", GAP: "backlash", GEAR: "kinematic_error"}


class EffectSizes:
    """The effects of one joint in a fit."""

    def __init__(self, found: FittedModel, joint: int) -> None:
        self._effects, self._found = found.equations.effects[joint], found
        self.stiffness = found.coefficients.stiffness(joint, found.fit.theta)[0]

    def size(self, kind: str, order: int = 0) -> IdentifiedValue:
        """That of one effect: N m of a hysteresis, otherwise rad."""
        names = self._effects.groups[kind, order]
        if kind == GEAR:
            values = self._found.values(names)
            size = float(np.hypot(*values))
            return self._sum(names, values / max(size, 1e-300) / self.stiffness)
        return self._sum(names, self._weights(kind))

    def significant(self) -> set[tuple[str, int]]:
        """The effects that are larger than their errors, large enough to matter, and no larger than
        gears can have them: friction may resemble a steep harmonic."""
        return {key for key in self._effects.groups if self._matters(*key)}

    def doubtful(self) -> set[tuple[str, int]]:
        """The effect that is least certain, if it is doubtful; otherwise none."""
        sizes = {key: self.size(*key) for key in self._effects.groups}
        shares = {key: each.value / max(each.error, 1e-300) for key, each in sizes.items()}
        least = min(shares, key=shares.__getitem__)
        return {least} if shares[least] < DOUBTFUL else set()

    def found(self) -> dict[str, IdentifiedValue]:
        """The sizes of the effects in the model, with what describes them in an actuator file: each
        slip element with its stiffness and torque, each harmonic with amplitude and phase."""
        found: dict[str, IdentifiedValue] = {}
        for (kind, order), names in self._effects.groups.items():
            size, key = self.size(kind, order), KEYS[kind]
            if not size.value > 0.0:  # the last fit has left none of it
                continue
            if kind == GEAR:
                sine, cosine = self._found.values(names)
                found[f"{key}.{order}.amplitude"] = size
                phase = float(np.arctan2(cosine, sine))
                error = size.error / max(size.value, 1e-300)
                found[f"{key}.{order}.phase"] = IdentifiedValue(phase, error, size.determined)
                continue
            found[key] = size
            if kind == SLIP:
                for k, (name, limit) in enumerate(zip(names, self._effects.limits, strict=True)):
                    each = self._sum((name,), np.ones(1))
                    if each.value > 0.0:
                        torque = IdentifiedValue(
                            float(limit) * each.value, float(limit) * each.error, each.determined
                        )
                        found[f"hysteresis.{k + 1}.stiffness"] = each
                        found[f"hysteresis.{k + 1}.torque"] = torque
        return found

    def _weights(self, kind: str) -> Array:
        if kind == SLIP:
            return self._effects.limits
        names = self._effects.groups[kind, 0]
        return np.full(len(names), 2.0 / self.stiffness)

    def _matters(self, kind: str, order: int) -> bool:
        size, travel = self.size(kind, order), self._effects.travel
        if kind == GEAR and size.value * order * self._effects.gear_ratio > STEEPEST:
            return False
        least = LEAST_SHARE * travel * (self.stiffness if kind == SLIP else 1.0)
        return size.value > max(SIGNIFICANT * size.error, least)

    def _sum(self, names: tuple[str, ...], weights: Array) -> IdentifiedValue:
        """weights . parameters; elements that are at zero count as known."""
        _, solver, fit = self._found
        row = np.zeros(len(fit.theta))
        row[self._found.indices(names)] = weights
        (each,) = solver.uncertainties(fit, (row * (np.abs(fit.theta) > 0.0))[None])
        return IdentifiedValue(float(row @ fit.theta), each.error, each.determined)
