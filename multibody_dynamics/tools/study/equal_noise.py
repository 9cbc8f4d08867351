# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws at equal noise: for each law, the number that makes its motor torques as noisy as those of
the reference.

A faster law follows better and amplifies the noise of the encoders more, so laws are only
comparable at equal noise. The measure is the mean step of the motor torques from cycle to cycle
during the first half of the motion, with an exact model, in N m.
"""

from collections.abc import Callable
from math import inf, isfinite, log
from typing import NamedTuple

from .conditions import CONDITIONS, Condition
from .single_run import simulate
from .studied_laws import REFERENCE, STUDIED_LAWS, StudiedLaw
from .studied_robots import StudiedArm

EXACT = CONDITIONS["exact"]
TOLERANCE = 0.02
STRIDE = 1.6  # ratio of successive numbers that are tried first
FARTHEST = 5  # strides, the largest distance from the default
REFINEMENTS = 5


class EqualNoise(NamedTuple):
    """The `number` of a law, its `noise` in N m (N), and that of the reference, `wanted`."""

    number: float
    noise: float
    wanted: float

    @property
    def is_equal(self) -> bool:
        """Whether the noise of the reference was reached, within TOLERANCE."""
        return abs(self.noise / self.wanted - 1.0) <= TOLERANCE

    @property
    def note(self) -> str:
        """Why the noise differs from that of the reference, if it does."""
        if self.is_equal:
            return ""
        share = f"{self.noise / self.wanted:.2g} times the noise of the reference"
        if self.noise < self.wanted:
            return f"{share}: a faster law is refused, unstable, or no noisier"
        return f"{share}: a slower law is refused, unstable, or no less noisy"


def noise(arm: StudiedArm, law: StudiedLaw, seed: int = 0, condition: Condition = EXACT) -> float:
    """Mean step of the motor torques in N m (N); infinite if the arm is lost."""
    outcome = simulate(arm, law, condition, seed=seed, until=0.5 * arm.motion.end_time)
    return inf if outcome.lost else outcome.step


def reference_noise(arm: StudiedArm, seed: int = 0, condition: Condition = EXACT) -> float:
    """The noise of the reference law with its default number."""
    return noise(arm, STUDIED_LAWS[REFERENCE], seed, condition)


def at_equal_noise(
    arm: StudiedArm, law: StudiedLaw, wanted: float, seed: int = 0, condition: Condition = EXACT
) -> EqualNoise:
    """The number of the law whose noise is nearest to `wanted`, within TOLERANCE if possible; the
    reference keeps its own."""
    if law.key == REFERENCE:
        return EqualNoise(law.default, wanted, wanted)
    tried: dict[float, float] = {}

    def measured(number: float) -> float:
        if number not in tried:
            tried[number] = noise(arm, law.at(number), seed, condition)
        return tried[number]

    below, above = _bracket(measured, law.default, wanted)
    for _ in range(REFINEMENTS):
        is_met = any(abs(each / wanted - 1.0) <= 0.5 * TOLERANCE for each in tried.values())
        if below is None or above is None or is_met:
            break
        number = _between(below, above, measured(below), measured(above), wanted)
        if measured(number) < wanted:
            below = number
        else:
            above = number
    feasible = {number: found for number, found in tried.items() if isfinite(found)}
    if not feasible:
        return EqualNoise(law.default, inf, wanted)
    number = min(feasible, key=lambda each: abs(log(max(feasible[each], 1e-12) / wanted)))
    return EqualNoise(number, feasible[number], wanted)


def _bracket(
    measured: Callable[[float], float], default: float, wanted: float
) -> tuple[float | None, float | None]:
    """Numbers with less and with more noise than wanted; None where there is none in reach."""
    rises = measured(default) < wanted
    inside, number = default, default
    for _ in range(FARTHEST):
        number = inside * STRIDE if rises else inside / STRIDE
        found = measured(number)
        if rises and found >= wanted:
            return inside, number
        if not rises and found < wanted:
            return number, inside
        if not rises and not isfinite(found):
            return None, inside
        inside = number
    return (inside, None) if rises else (None, inside)


def _between(below: float, above: float, less: float, more: float, wanted: float) -> float:
    """The next number to try: interpolated in logarithms, or the middle if above is infeasible."""
    if not isfinite(more) or less <= 0.0:
        return (below * above) ** 0.5
    share = (log(wanted) - log(less)) / max(log(more) - log(less), 1e-9)
    return float(below * (above / below) ** min(max(share, 0.05), 0.95))
