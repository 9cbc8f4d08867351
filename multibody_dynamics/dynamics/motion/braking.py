# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Paths to rest in bounded time: the stop of a controller that has to answer within its cycle.

`stop` in :mod:`trajectories` tries 240 durations; `brake` finds a path of the same family, the
minimum-jerk polynomial of degree 9 from any q..q'''' to rest, with at most TRIALS durations. The
path is continuous to q'''' at both ends. No joint should exceed

    max(limit, |q''| at the start),

checked at POINTS instants. The first duration is T_0, the shortest in which every joint stops from
its velocity alone. LONGER durations are tried, T_0 included, each GROWTH times the one before; then
shorter ones, down from T_0, which keep the effect of the present jerk small. The first without
excess is taken, or the one with the least: every state is accepted.

The tables are those that the generated C controller (``multibody_dynamics generate --law``) uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Array, TrajectoryError, as_array, exactly, read_only, refused_as
from .trajectories import _JERK, _TABLES, Trajectory, _checked_names, hermite_basis, hold

TRIALS = 16
LONGER = 6
GROWTH = 1.25
POINTS = 16
SHORTEST_BRAKING = 0.01
"""s; also the duration from a state that moves too slowly to need more."""

BRAKING_TRAVEL: Array = read_only(-_JERK[:, 5] @ _JERK[:, 1:5] / (_JERK[:, 5] @ _JERK[:, 5]))
"""(4,) distance to the point of rest on [0, 1] from q' .. q'''' at its start."""

_BASIS = hermite_basis(2, np.arange(1.0, POINTS + 1.0) / (POINTS + 1.0))
BRAKING_RESPONSE: Array = read_only(_BASIS[:, 1:5] + np.outer(_BASIS[:, 5], BRAKING_TRAVEL))
"""(POINTS, 4) q'' at inner points of [0, 1] from q' .. q'''' at the start."""

BRAKING_PEAK = float(np.abs(BRAKING_RESPONSE[:, 0]).max())
"""The largest |q''| on [0, 1] of a stop from q' = 1."""

SEGMENT_TABLES: Array = read_only(_TABLES)
"""(5, 10, 10) Bernstein coefficients of q..q'''' on [0, 1] from q..q'''' at both ends."""


def brake(joint_names: Sequence[str], state: Any, t: float, acceleration: Any) -> Trajectory:
    """The path to rest from `state` (5, n) at time t in s; acceleration: limits (n,), positive.

    Raises TrajectoryError for wrong shapes, NaN, and limits that are not positive.
    """
    with refused_as(TrajectoryError):
        names, t = _checked_names(joint_names), float(exactly("t", t, ()))
        state = as_array("state", state, (5, len(names)), names)
        limits = as_array("acceleration", acceleration, (len(names),), names)
    if not limits.min() > 0.0:
        raise TrajectoryError(f"brake: acceleration limits must be positive, got {limits}")
    if not state[1:].any():
        return hold(names, state[0], t)
    duration = _duration(state, limits)
    states = np.zeros((2, 5, len(names)))
    states[0] = state
    rates = state[1:] * np.multiply.accumulate(np.full(4, duration))[:, None]
    states[1, 0] = state[0] + (BRAKING_TRAVEL[:, None] * rates).sum(axis=0)  # term by term, as in C
    return Trajectory(names, np.array([t, t + duration]), states)


def _duration(state: Array, limits: Array) -> float:
    allowed = np.maximum(limits, np.abs(state[2]))
    first = max(SHORTEST_BRAKING, float((BRAKING_PEAK * np.abs(state[1]) / allowed).max()))
    best, least = first, np.inf
    for k in range(TRIALS):
        duration = first * GROWTH**k if k < LONGER else first / GROWTH ** (k - LONGER + 1)
        if duration < SHORTEST_BRAKING:
            break
        rates = state[1:] * duration ** np.arange(-1.0, 3.0)[:, None]
        excess = float((np.abs(BRAKING_RESPONSE @ rates).max(axis=0) / allowed).max())
        if excess < least:
            best, least = duration, excess
        if least <= 1.0 + 1e-9:
            break
    return best
