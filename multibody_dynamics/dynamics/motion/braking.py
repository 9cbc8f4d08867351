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
excess is taken, or the one with the least: every state is accepted. No path is shorter than
SHORTEST_BRAKING: at low speeds, the accelerations alone would allow paths of a few milliseconds,
whose q'''' asks elastic joints for torques beyond their limits.

The tables are those that the generated C controller (``multibody_dynamics generate --law``) uses.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from ..core import (
    Array,
    TrajectoryError,
    as_array,
    compiled_exactly,
    exactly,
    inlined_exactly,
    read_only,
    refused_as,
)
from .trajectories import _JERK, _TABLES, Trajectory, _checked_names, hermite_basis, hold

TRIALS = 16
LONGER = 6
GROWTH = 1.25
POINTS = 16
SHORTEST_BRAKING = 0.1
"""s, of any path to rest."""

BRAKING_TRAVEL: Array = read_only(-_JERK[:, 5] @ _JERK[:, 1:5] / (_JERK[:, 5] @ _JERK[:, 5]))
"""(4,) distance to the point of rest on [0, 1] from q' .. q'''' at its start."""

_BASIS = hermite_basis(2, np.arange(1.0, POINTS + 1.0) / (POINTS + 1.0))
BRAKING_RESPONSE: Array = read_only(_BASIS[:, 1:5] + np.outer(_BASIS[:, 5], BRAKING_TRAVEL))
"""(POINTS, 4) q'' at inner points of [0, 1] from q' .. q'''' at the start."""

BRAKING_PEAK = float(np.abs(BRAKING_RESPONSE[:, 0]).max())
"""The largest |q''| on [0, 1] of a stop from q' = 1."""

SEGMENT_TABLES: Array = read_only(_TABLES)
"""(5, 10, 10) Bernstein coefficients of q..q'''' on [0, 1] from q..q'''' at both ends."""


@inlined_exactly
def _excess(state, duration, acceleration):
    """The largest acceleration on a path to rest of this duration, relative to the allowed one."""
    excess = 0.0
    for j in range(acceleration.shape[0]):
        allowed = max(acceleration[j], abs(state[2, j]))
        for p in range(POINTS):
            value = BRAKING_RESPONSE[p, 0] * (state[1, j] * (1.0 / duration))
            value += BRAKING_RESPONSE[p, 1] * state[2, j]
            value += BRAKING_RESPONSE[p, 2] * (state[3, j] * duration)
            value += BRAKING_RESPONSE[p, 3] * (state[4, j] * (duration * duration))
            excess = max(excess, abs(value) / allowed)
    return excess


@inlined_exactly
def braking_duration(state, acceleration):
    """Duration in s of the path to rest; the shorter ones are tried last."""
    first = SHORTEST_BRAKING
    for j in range(acceleration.shape[0]):
        allowed = max(acceleration[j], abs(state[2, j]))
        first = max(first, BRAKING_PEAK * abs(state[1, j]) / allowed)
    best = first
    least = inf
    factor = 1.0
    for k in range(TRIALS):
        if k == LONGER:
            factor = GROWTH
        duration = first * factor if k < LONGER else first / factor
        if duration < SHORTEST_BRAKING or least <= 1.0 + 1e-9:
            break
        excess = _excess(state, duration, acceleration)
        if excess < least:
            best = duration
            least = excess
        factor *= GROWTH
    return best


@inlined_exactly
def braking_travel(state, j, duration):
    """The distance that joint j goes on the path to rest."""
    power = duration
    travel = 0.0
    for k in range(4):
        travel += BRAKING_TRAVEL[k] * (state[k + 1, j] * power)
        power *= duration
    return travel


compiled_braking_duration = compiled_exactly(braking_duration)


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
    duration = float(compiled_braking_duration(state.copy(), limits.copy()))
    states = np.zeros((2, 5, len(names)))
    states[0] = state
    states[1, 0] = state[0] + [braking_travel(state, j, duration) for j in range(len(names))]
    return Trajectory(names, np.array([t, t + duration]), states)
