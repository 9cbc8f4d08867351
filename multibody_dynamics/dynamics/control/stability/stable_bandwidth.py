# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The largest bandwidth with which a sampled loop is stable in the whole joint range, and the
slowest filter of the state.

Faster controllers demand more of the model: with the robot's parameters off by a stated share, they
become unstable at some poses first. The boundary is not monotonic, so the bandwidth is lowered in
steps of STEP from the largest one, instead of by bisection. A lowered bandwidth has a margin: the
loop must also be stable with STEP times this bandwidth, and that value is used. This matters
because every pose is judged with one set of wrong parameters; a margin covers most of the others.

The search takes little longer than judging two or three controllers: the poses at which earlier
ones were unstable come first, and reject most of the others after a single loop.

Velocities from encoders are filtered, and the filter lags. Above the frequency of
:func:`.lag_limit`, dampers at the motors excite the arm. Where a resonance is faster, as it often
is for a small last link, a lower bandwidth of the law excites it less, but never damps it; a faster
filter does. Its price is noise: that of the velocities grows with the bandwidth to the power 1.5.
The bandwidth of the filter is therefore raised in steps, again with a margin of one step. Slower
instabilities are left to the laws.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, repeat, takewhile
from operator import mul, truediv
from typing import NamedTuple

from ...core import DynamicsError
from ..controllers.controllers import Controller
from .loop_judgement import LoopJudge

STEP = 0.85
"""Ratio of a bandwidth to the one tried before it."""

FASTEST_FILTER = 4.0  # times the given bandwidth


class StableBandwidth(NamedTuple):
    """A bandwidth and its `controller`."""

    bandwidth: float
    controller: Controller


def stable_bandwidth(
    make: Callable[[float], Controller], largest: float, smallest: float, judge: LoopJudge
) -> StableBandwidth | None:
    """The largest bandwidth whose loop is stable at all poses, see the module; None if there is
    none from `largest` down to `smallest`.

    make : returns the controller with a given bandwidth. A design that raises DynamicsError or
        InputError counts as unstable.
    judge : judges all these controllers.
    """
    critical: list[int] = []
    made: list[Controller] = []

    def is_stable(bandwidth: float) -> bool:
        try:
            made[:] = [make(bandwidth)]
        except DynamicsError:
            return False
        return _is_stable(judge, made[0], critical)

    lowered = accumulate(repeat(STEP), mul, initial=largest)
    tried = takewhile(lambda bandwidth: bandwidth >= smallest * (1.0 - 1e-9), lowered)
    found = _with_margin(tried, is_stable, has_margin=True)
    return None if found is None else StableBandwidth(found, *made)


def faster_filter(laws: Sequence[tuple[Controller, LoopJudge]]) -> float | None:
    """The bandwidth in Hz; None if none up to FASTEST_FILTER times the given one is fast enough.

    laws : controllers, each with the poses, errors and filters with which it is judged; the
        returned bandwidth is meant to replace that of these filters.
    """
    given = [judge.estimation for _, judge in laws]
    if not laws or given[0] is None:
        return None
    cases = [(law, judge, judge.lag_limit, list[int]()) for law, judge in laws]

    def is_stable(bandwidth: float) -> bool:
        for _, judge in laws:
            assert judge.estimation is not None
            judge.estimation = replace(judge.estimation, bandwidth=bandwidth)
        return all(_is_stable(judge, law, order, limit) for law, judge, limit, order in cases)

    least = given[0].bandwidth
    raised = accumulate(repeat(STEP), truediv, initial=least / STEP)
    tried = takewhile(lambda bandwidth: bandwidth <= FASTEST_FILTER * least, raised)
    try:
        return _with_margin(tried, is_stable, has_margin=False)
    finally:
        for (_, judge), estimation in zip(laws, given, strict=True):
            judge.estimation = estimation


def _is_stable(
    judge: LoopJudge, controller: Controller, critical: list[int], above: float = 0.0
) -> bool:
    """Whether the loop is stable; a pose where it is not becomes the first of the critical ones."""
    k = judge.unstable_pose(controller, critical, above)
    if k is not None:
        critical[:] = dict.fromkeys((k, *critical))
    return k is None


def _with_margin(
    tried: Iterable[float], is_stable: Callable[[float], bool], *, has_margin: bool
) -> float | None:
    """The first of these bandwidths that is stable, as the one before it was; `has_margin` says
    whether this counts as true of the very first."""
    for bandwidth in tried:
        found = is_stable(bandwidth)
        if found and has_margin:
            return bandwidth
        has_margin = found
    return None
