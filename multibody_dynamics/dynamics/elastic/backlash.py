# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs behind a gear with backlash, as one smooth and increasing law.

The gap between the teeth adds to the deflection psi of the spring itself,

    phi = psi + gap / 2 tanh(s(psi) / Q_b),    Q_b = s'(0) gap / 2,

so the law carries s(psi) at phi. Q_b is the torque that deflects the spring by half the gap; within
it the joint has half its stiffness, beyond 3 Q_b the flanks touch. No motor can cross a gap in no
time, so a sharper law would only ask for torques that the motor does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..core import Array, InputError
from .friction_law import one_number
from .sampled_spring import SampledSpring
from .spring_tables import FARTHEST
from .springs import PiecewisePolynomial, Spring, solve_increasing

CONTACT = 12.0  # Q_b, where tanh is 1 to 1e-10


@dataclass(frozen=True)
class _Gap(Spring):
    """The law near zero, for sampling."""

    whole: BacklashSpring

    def law(self, phi: Array) -> tuple[Array, ...]:
        whole = self.whole
        s, s1, s2, s3 = whole.base.derivatives(whole.deflection_of_spring(phi), beyond="continue")
        t = np.tanh(s / whole.contact_torque)
        a, b = whole.gap / (2.0 * whole.contact_torque) * (1.0 - t**2), 1.0 / whole.contact_torque
        # derivatives of phi by the torque, and from these those of the torque by phi
        p1 = 1.0 / s1 + a
        p2 = -s2 / s1**3 - 2.0 * a * b * t
        p3 = (3.0 * s2**2 - s1 * s3) / s1**5 + a * b**2 * (6.0 * t**2 - 2.0)
        return s, 1.0 / p1, -p2 / p1**3, (3.0 * p2**2 - p1 * p3) / p1**5

    def potential(self, phi: Array) -> Array:
        """The spring's own, and the integral of s over the travel of the gap."""
        whole = self.whole
        psi = whole.deflection_of_spring(phi)
        x = whole.base.derivatives(psi, beyond="continue")[0] / whole.contact_torque
        log_cosh = np.logaddexp(x, -x) - np.log(2.0)
        of_gap = whole.gap / 2.0 * whole.contact_torque * (x * np.tanh(x) - log_cosh)
        return np.asarray(whole.base.potential(psi) + of_gap)


@dataclass(frozen=True)
class BacklashSpring(PiecewisePolynomial):
    """The law of a `base` spring behind a `gap` (rad, the whole one); the gap adds to its travel,
    which is finite.

    Raises InputError unless the base is a piecewise polynomial and the gap is greater than zero.
    """

    base: Spring
    gap: float
    travel: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        gap = one_number("backlash of the spring", self.gap)
        if not 0.0 < gap < np.inf:
            raise InputError(f"backlash of the spring must be greater than zero, got {gap:g}")
        if self.base.polynomials() is None:
            raise InputError(
                f"backlash requires a law that is a piecewise polynomial, such as the "
                f"SampledSpring of this {type(self.base).__name__}"
            )
        lower, upper = np.clip(self.base.travel, -FARTHEST, FARTHEST)
        object.__setattr__(self, "gap", gap)
        object.__setattr__(self, "travel", (lower - gap / 2.0, upper + gap / 2.0))
        super().__post_init__()

    @cached_property
    def contact_torque(self) -> float:
        """Q_b in N m."""
        return float(self.base.stiffness(0.0)) * self.gap / 2.0

    def deflection_of_spring(self, phi: Array) -> Array:
        """psi at the deflections phi (...)."""

        def law(psi: Array) -> tuple[Array, Array]:
            s, s1 = self.base.derivatives(psi, beyond="continue")[:2]
            t = np.tanh(s / self.contact_torque)
            share = self.gap / (2.0 * self.contact_torque)
            return psi + self.gap / 2.0 * t, 1.0 + share * (1.0 - t**2) * s1

        phi = np.asarray(phi, dtype=np.float64)
        return solve_increasing(law, phi, phi - self.gap, phi + self.gap)

    @cached_property
    def _pieces(self) -> tuple[Array, Array]:
        """The base at both ends, moved by half the gap, and a sampled law in between."""
        starts, coefficients = self.base.polynomials() or (np.zeros(1), np.zeros((1, 1)))
        torque = CONTACT * self.contact_torque
        reach = self.base.deflection([-torque, torque], beyond="continue")
        half = self.gap / 2.0
        low, high = np.clip(reach, self.travel[0] + half, self.travel[1] - half)
        middle = SampledSpring(_Gap(self, travel=(low - half, high + half)))
        degree = max(7, coefficients.shape[1] - 1)
        rows = [
            *((x - half, c) for x, c in zip(starts, coefficients, strict=True) if x < low - 1e-9),
            *zip(middle.starts, middle.coefficients, strict=True),
            (high + half, _moved(starts, coefficients, high)),
            *((x + half, c) for x, c in zip(starts, coefficients, strict=True) if x > high),
        ]
        if rows[0][0] == middle.starts[0]:  # the first piece of a law extends to minus infinity
            rows.insert(0, (low - half - 1.0, _moved(starts, coefficients, low - 1.0)))
        padded = [np.pad(c, (0, degree + 1 - len(c))) for _, c in rows]
        return np.array([x for x, _ in rows]), np.array(padded)

    def polynomials(self) -> tuple[Array, Array]:
        return self._pieces

    @property
    def parameters(self) -> dict[str, float]:
        return self.base.parameters

    @property
    def powers(self) -> tuple[int, ...]:
        return self.base.powers

    def terms(self, phi: Array) -> Array:
        return self.base.terms(self.deflection_of_spring(phi))

    def with_parameters(self, values: Sequence[float]) -> Spring:
        return BacklashSpring(self.base.with_parameters(values), self.gap)

    def description(self, force: str, angle: str) -> list[tuple[str, str]]:
        gap = f"backlash: {{value: {self.gap:.6g}, unit: {angle}, side: link}}"
        return [*self.base.description(force, angle), (gap, "")]


def _moved(starts: Array, coefficients: Array, place: float) -> Array:
    """Coefficients in powers of phi - place of the piece there."""
    k = max(int(np.searchsorted(starts, place, side="right")) - 1, 0)
    polynomial = np.polynomial.Polynomial(coefficients[k])
    moved = polynomial(np.polynomial.Polynomial([place - starts[k], 1.0]))
    return np.asarray(moved.coef)
