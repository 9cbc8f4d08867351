# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Raises the bandwidth of the state filter until no torque comes too late to damp the arm.

Velocities from encoders are filtered, and the filter lags. Above the frequency of
:func:`.lag_limit`, dampers at the motors excite the arm. Where a resonance is faster, as it often
is for a small last link, a lower bandwidth of the law excites it less, but never damps it; a faster
filter does. Its price is noise: that of the velocities grows with the bandwidth to the power 1.5.

The bandwidth is raised in steps, as :func:`.stable_bandwidth` lowers that of a law, with a margin
of one step. Slower instabilities are left to the laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..controllers.controllers import Controller
from ..stability.loop_judgement import LoopJudge
from ..stability.stable_bandwidth import STEP

FASTEST_FILTER = 4.0  # times the given bandwidth


def faster_filter(laws: Sequence[tuple[Controller, LoopJudge]]) -> float | None:
    """The bandwidth in Hz; None if none up to FASTEST_FILTER times the given one is fast enough.

    laws : controllers, each with the poses, errors and filters with which it is judged; the
        returned bandwidth is meant to replace that of these filters.
    """
    given = [judge.estimation for _, judge in laws]
    if not laws or given[0] is None:
        return None
    limits = [judge.lag_limit for _, judge in laws]
    critical: list[list[int]] = [[] for _ in laws]

    def is_stable(bandwidth: float) -> bool:
        for (law, judge), limit, order in zip(laws, limits, critical, strict=True):
            assert judge.estimation is not None
            judge.estimation = replace(judge.estimation, bandwidth=bandwidth)
            k = judge.unstable_pose(law, order, above=limit)
            if k is not None:
                order.insert(0, k)
                return False
        return True

    try:
        return _raised(is_stable, given[0].bandwidth)
    finally:
        for (_, judge), estimation in zip(laws, given, strict=True):
            judge.estimation = estimation


def _raised(is_stable: Callable[[float], bool], given: float) -> float | None:
    has_margin = False
    bandwidth = given / STEP
    while bandwidth <= FASTEST_FILTER * given:
        found = is_stable(bandwidth)
        if found and has_margin:
            return bandwidth
        has_margin = found
        bandwidth /= STEP
    return None
