# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint friction as a smooth function of the velocity, with time derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import expit

from ...core import Array, InputError, as_array, exactly, read_only

COULOMB_VELOCITY = 0.05  # rad/s, by default
KEYS = ("viscous", "offset", "coulomb", "coulomb_velocity", "logistic")


@dataclass(frozen=True, eq=False)
class JointFriction:
    """friction(v) = viscous v + offset + amplitude (L(steepness (v + shift)) - L(steepness shift))

    with the logistic function L(x) = 1 / (1 + exp(-x)): that of C. Gaz et al., "Dynamic
    identification of the Franka Emika Panda robot", IEEE RA-L 4(4), 2019. Smooth Coulomb friction,
    c tanh(v / v0), is the same with amplitude 2 c, steepness 2 / v0 and shift 0.

    All (n,): viscous in N m s/rad, offset and amplitude in N m, steepness in s/rad, shift in rad/s;
    N and m for a translation.
    """

    viscous: Array
    offset: Array
    amplitude: Array
    steepness: Array
    shift: Array

    def __post_init__(self) -> None:
        shape = np.shape(self.viscous)[-1:]
        for field in fields(self):
            row = as_array(field.name, getattr(self, field.name), shape)
            object.__setattr__(self, field.name, read_only(row))

    @classmethod
    def none(cls, n: int) -> JointFriction:
        """No friction, on n joints."""
        return cls(*np.zeros((5, n)))

    @classmethod
    def smooth_coulomb(
        cls, viscous: Any, coulomb: Any, offset: Any, velocity: float = COULOMB_VELOCITY
    ) -> JointFriction:
        """viscous v + coulomb tanh(v / velocity) + offset; velocity in rad/s."""
        c = as_array("coulomb", coulomb, ())
        return cls(viscous, offset, 2.0 * c, np.full(c.shape, 2.0 / velocity), np.zeros(c.shape))

    @classmethod
    def from_mapping(cls, joints: Mapping[str, Any], names: tuple[str, ...]) -> JointFriction:
        """From {joint: {viscous, offset, and coulomb with coulomb_velocity, or logistic:
        [amplitude, steepness, shift]}}. All keys are optional; joints not listed have no friction.

        Raises InputError that names the joint for unknown keys and non-numeric values.
        """
        rows = np.zeros((5, len(names)))
        for name, given in joints.items():
            if name not in names:
                raise InputError(f"friction of joint '{name}': the joints are {', '.join(names)}")
            unknown = set(given) - set(KEYS) if isinstance(given, Mapping) else {str(given)}
            if unknown:
                raise InputError(
                    f"friction of joint '{name}': {', '.join(sorted(unknown))}: expected a mapping "
                    f"with some of the keys {', '.join(KEYS)}"
                )
            if "logistic" in given and "coulomb" in given:
                raise InputError(
                    f"friction of joint '{name}': has both coulomb and logistic; give only one"
                )
            pair = (given.get("coulomb", 0.0), given.get("coulomb_velocity", COULOMB_VELOCITY))
            logistic = given.get("logistic")
            try:
                coulomb, velocity = exactly("coulomb, coulomb_velocity", pair, (2,)).tolist()
                if logistic is None:
                    logistic = (2.0 * coulomb, 2.0 / velocity, 0.0)
                column = (given.get("viscous", 0.0), given.get("offset", 0.0), *logistic)
                rows[:, names.index(name)] = as_array("numbers", column, (5,))
            except (InputError, TypeError, ZeroDivisionError) as error:
                raise InputError(f"friction of joint '{name}': {error}") from None
        return cls(*rows)

    def without(self, joints: Any) -> JointFriction:
        """No friction on the joints of a mask (n,)."""
        rows = [np.where(joints, 0.0, getattr(self, each.name)) for each in fields(self)]
        return JointFriction(*rows)

    def torque(self, qd: Any) -> Array:
        """Friction torque (..., n) in N m at velocities (..., n) in rad/s."""
        v = as_array("qd", qd, self.viscous.shape)
        level = expit(self.steepness * (v + self.shift)) - expit(self.steepness * self.shift)
        return np.asarray(self.viscous * v + self.offset + self.amplitude * level)

    def rates(self, qd: Any, qdd: Any, qddd: Any) -> tuple[Array, Array]:
        """First and second time derivative of the torque, (..., n), for q', q'', q''' (..., n)."""
        v, a, j = (
            as_array(name, row, self.viscous.shape)
            for name, row in (("qd", qd), ("qdd", qdd), ("qddd", qddd))
        )
        level = expit(self.steepness * (v + self.shift))
        bend = self.amplitude * self.steepness * level * (1.0 - level)
        slope = self.viscous + bend
        return slope * a, slope * j + bend * self.steepness * (1.0 - 2.0 * level) * a**2
