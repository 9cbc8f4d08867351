# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The largest bandwidth with which a sampled loop is stable in the whole joint range.

Faster controllers demand more of the model: with the robot's parameters off by a stated share, they
become unstable at some poses first. The boundary is not monotonic, so the bandwidth is lowered in
steps of STEP from the largest one, instead of by bisection. A lowered bandwidth has a margin: the
loop must also be stable with STEP times this bandwidth, and that value is used. This matters
because every pose is judged with one set of wrong parameters; a margin covers most of the others.

The search takes little longer than judging two or three controllers: the poses at which earlier
ones were unstable come first, and reject most of the others after a single loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...core import DynamicsError
from ..controllers.controllers import Controller
from .loop_judgement import LoopJudge

STEP = 0.85
"""Ratio of a bandwidth to the one tried before it."""


class StableBandwidth(NamedTuple):
    """A bandwidth and its `controller`."""

    bandwidth: float
    controller: Controller


def stable_bandwidth(
    make: Callable[[float], Controller],
    largest: float,
    smallest: float,
    judge: LoopJudge,
) -> StableBandwidth | None:
    """The largest bandwidth whose loop is stable at all poses, see the module; None if there is
    none from `largest` down to `smallest`.

    make : returns the controller with a given bandwidth. A design that raises DynamicsError or
        InputError counts as unstable.
    judge : judges all these controllers.
    """
    critical: list[int] = []
    is_margin = False
    for bandwidth in _descending(largest, smallest):
        try:
            controller = make(bandwidth)
        except DynamicsError:
            is_margin = False
            continue
        k = judge.unstable_pose(controller, critical)
        if k is not None:
            critical = list(dict.fromkeys((k, *critical)))
        elif is_margin or bandwidth == largest:
            return StableBandwidth(bandwidth, controller)
        is_margin = k is None
    return None


def _descending(largest: float, smallest: float) -> Iterator[float]:
    value = largest
    while value >= smallest * (1.0 - 1e-9):
        yield value
        value *= STEP
