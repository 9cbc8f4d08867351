# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Hysteresis, backlash and kinematic error of a series elastic joint, as columns of its equations.

With the deflection phi = theta - q as measured, a stiffness K, and theta in turns of the shaft,

    Q    = s(phi) + sum k_r e_r - sum c_h clip(phi / h, -1, 1) + sum a sin(n theta) + b cos(n theta)
    load = Q + phi sum n (a cos(n theta) - b sin(n theta)),

all linear in the parameters k_r, c_h >= 0, a and b. e_r is the deflection of a Maxwell element that
slips at r: e_r follows phi and is clipped to +- r. The limits r and the half gaps h are tabulated;
the fit weights them. The torque of all sliding elements is sum k_r r, the gap 2 sum c_h / K, and
the amplitude of a harmonic sqrt(a^2 + b^2) / K. By the power that it transmits, the gear changes
the load by dtheta_s/dtheta = 1 + (a n cos(n theta) - ...) / K; the load is K phi here, to the first
order. What an element carries at the beginning of a stretch is unknown, and forgotten once phi has
swept 2 r; the equations of a joint are used from then on.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core import Array, compiled

LIMITS = tuple(2.0**-k for k in (6, 5, 4.2, 3.5, 2.8, 2.1, 1.4, 0.8))
"""r of the slip elements, as shares of half the travel of phi; larger ones hardly ever slip."""
HALF_GAPS = (1 / 128, 1 / 64, 1 / 32, 1 / 16)  # h, as shares of half the travel
ORDERS = (1, 2)  # periods per turn of the motor's shaft: its eccentricity, and a strain wave gear
SLIP, GAP, GEAR = "hysteresis", "backlash", "kinematic error"
EVERY = frozenset({(SLIP, 0), (GAP, 0), *((GEAR, n) for n in ORDERS)})


@dataclass(frozen=True)
class SpringEffects:
    """The columns of one joint. travel : half the range of phi in the recordings, rad. gear_ratio :
    turns of the motor's shaft per turn of theta. kinds : the effects, each with the order of its
    harmonic, or 0. is_sought : they are tried beside a damper, which resembles hysteresis at one
    frequency; once found, hysteresis takes its place."""

    joint: str
    travel: float
    gear_ratio: float
    kinds: Set[tuple[str, int]] = EVERY
    is_sought: bool = True

    @cached_property
    def limits(self) -> Array:
        """r of the slip elements, rad."""
        return self.travel * np.array(LIMITS)

    @cached_property
    def groups(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """The names of the parameters of each effect; of the kinematic error, by its order."""
        slips = tuple(f"{self.joint}.slip stiffness {k}" for k in range(len(LIMITS)))
        gaps = tuple(f"{self.joint}.gap torque {k}" for k in range(len(HALF_GAPS)))
        found = {(SLIP, 0): slips, (GAP, 0): gaps}
        for n in ORDERS:
            found[GEAR, n] = f"{self.joint}.sine of order {n}", f"{self.joint}.cosine of order {n}"
        return {kind: names for kind, names in found.items() if kind in self.kinds}

    @property
    def slips(self) -> bool:
        """Whether there is hysteresis."""
        return (SLIP, 0) in self.kinds

    def only(self, kinds: Set[tuple[str, int]]) -> "SpringEffects":
        """The same with these effects alone, which were found."""
        return replace(self, kinds=frozenset(kinds), is_sought=False)

    @property
    def allows_damper(self) -> bool:
        """Whether the spring may have a damper, too."""
        return self.is_sought or not self.slips

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all parameters, in the order of the columns."""
        return tuple(name for names in self.groups.values() for name in names)

    def slip(self, deflection: Array) -> Array:
        """The deflections (k, elements) of the slip elements along a stretch (k,) of phi."""
        found = np.zeros((len(deflection), len(LIMITS)))
        _SLIP(np.ascontiguousarray(deflection), self.limits, found)
        return found

    def settled(self, deflection: Array) -> int:
        """The first sample at which no element depends on its state at the beginning: phi has swept
        twice the largest limit. 0 without such elements, or if it does so late or never."""
        if not self.slips:
            return 0
        swept = np.maximum.accumulate(deflection) - np.minimum.accumulate(deflection)
        first = int(np.argmax(swept >= 2.0 * self.limits.max()))
        return first if first < len(deflection) / 2 else 0

    def columns(self, theta: Array, deflection: Array, slip: Array, *, of_load: bool) -> Array:
        """Columns (k, names) of the joint torque, or of the load of the motor."""
        rows = [slip] if self.slips else []
        if (GAP, 0) in self.kinds:
            half = self.travel * np.array(HALF_GAPS)
            rows.append(-np.clip(deflection[:, None] / half, -1.0, 1.0))
        orders = self.gear_ratio * np.array([n for n in ORDERS if (GEAR, n) in self.kinds])
        angle = theta[:, None] * orders
        s, c = np.sin(angle), np.cos(angle)
        if of_load:
            slope = deflection[:, None] * orders
            s, c = s + slope * c, c - slope * s
        rows.append(np.stack([s, c], axis=-1).reshape(len(theta), -1))
        return np.concatenate(rows, axis=1)


def slip_elements(deflection, limits, slip):
    """Write the deflections of elements that slip at `limits` (m,) along `deflection` (k,) to
    `slip` (k, m)."""
    for e in range(limits.shape[0]):
        at = 0.0
        for k in range(1, deflection.shape[0]):
            at = min(max(at + deflection[k] - deflection[k - 1], -limits[e]), limits[e])
            slip[k, e] = at


_SLIP = compiled(slip_elements)
