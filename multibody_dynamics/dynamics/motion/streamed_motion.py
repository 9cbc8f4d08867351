# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A reference that follows a stream of targets (:mod:`.streams`) while they arrive."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, TrajectoryError, record_fields
from . import streams
from .streams import TAKE_OVER, Stream, StreamLimits, Ticks
from .trajectories import Reference, Trajectory


class StreamCounts(NamedTuple):
    """What has arrived: messages, and points without room or out of order."""

    messages: int
    points_refused: int


class StreamedMotion(Reference):
    """The motion that a stream of targets makes of its own accord: evaluate it at increasing times,
    and :meth:`add` targets between. Unlike other references, it changes while it runs.

    time : s, at which it begins in the state (5, n), which it continues to q''''. Without targets
    it comes to rest. A state later than all evaluated ones, as for `splice`, is a forecast without
    further targets.
    """

    def __init__(
        self, joint_names: Sequence[str], limits: StreamLimits, time: float, state: Array
    ) -> None:
        check_stream_limits(limits, len(joint_names))
        q = state[0]
        self.limits = limits._replace(
            lower=np.minimum(limits.lower, q), upper=np.maximum(limits.upper, q)
        )
        n = len(joint_names)
        self._ticks = record_fields.zeros(Ticks, n=n, rows=streams.ROWS)
        self._stream = record_fields.zeros(Stream, n=n, points=streams.POINTS)
        self._is_over = False
        super().__init__(joint_names, time, time)
        streams.compiled_begin(
            self._ticks, self._stream, self.limits, time, q.copy(), state[1].copy()
        )
        self._fading: Trajectory | None = None
        if state[2:].any():
            rows = np.zeros((2, 5, n))
            rows[0, 2:] = state[2:]
            self._fading = Trajectory(joint_names, np.array([time, time + TAKE_OVER]), rows)
        self._first = state.copy()
        self._refused = 0
        self._messages = 0
        self._inside(time)  # compiles

    @property
    def end_time(self) -> float:
        """s, of the newest tick if the motion is at rest and expects no message; else infinite."""
        fades = self._fading is not None and self._ticks.time[0] < self._fading.end_time
        rests = self._stream.still[0] > streams.TICKS and not fades
        return float(self._ticks.time[0]) if rests else np.inf

    @end_time.setter
    def end_time(self, value: float) -> None:
        """The base class sets it; it follows from the motion."""

    def add(
        self,
        now: float,
        times: Array,
        positions: Array,
        velocities: Array | None = None,
        *,
        start: float | None = None,
    ) -> None:
        """Take over a message that arrived at `now`: points due at `times` (k,) after `start`, or
        after the message; they replace all targets from the first of them on.

        positions (k, n); velocities (k, n), NaN rows where they are not given. One point is a
        sample of a motion that goes on, and zero not its velocity; several are a motion that ends
        at the last one.
        """
        rates = np.full_like(positions, np.nan) if velocities is None else velocities
        self._refused += streams.compiled_take_message(
            self._stream, self.limits, now, 0.0 if start is None else start, start is not None,
            np.ascontiguousarray(times), np.ascontiguousarray(positions),
            np.ascontiguousarray(rates), len(times),
        )  # fmt: skip
        self._messages += 1

    @property
    def interval(self) -> float:
        """s, between messages; 0 if not known."""
        return float(self._stream.interval[0])

    @property
    def delay(self) -> float:
        """s, by which this motion follows the targets later than they are due."""
        return float(self._stream.delay[0])

    @property
    def counts(self) -> StreamCounts:
        return StreamCounts(self._messages, self._refused)

    def evaluate(self, t: float, out: Array) -> None:
        streams.compiled_follow(self._ticks, self._stream, self.limits, t, out)
        if self._fading is not None and t < self._fading.end_time:
            out += self._fading(max(t, self.start_time))

    @property
    def is_at_rest_at_end(self) -> bool:
        return bool(np.isfinite(self.end_time))

    def _outside(self, t: float) -> Array:
        return self._inside(t)

    def _inside(self, t: float) -> Array:
        """The state at t; of a copy, as a forecast must not decide ticks."""
        if not np.isfinite(t):
            raise TrajectoryError(f"a trajectory has no state at t = {t}")
        state = np.empty((5, self.n))
        if t < self.start_time:
            state[:] = 0.0
            state[0] = self._first[0]
            return state
        ticks, stream = self._ticks, self._stream
        self._ticks = record_fields.copied(ticks)
        self._stream = record_fields.copied(stream)
        try:
            self.evaluate(t, state)
        finally:
            self._ticks, self._stream = ticks, stream
        return state

    def extremes(self) -> tuple[Array, Array]:
        """Bounds, not values that are reached."""
        p = self.limits
        greatest = np.stack([
            p.upper, p.velocity, p.acceleration,
            streams.JERK_FACTOR * p.acceleration / p.smoothing,
            streams.JOUNCE_FACTOR * p.acceleration / p.smoothing**2,
        ])  # fmt: skip
        return np.concatenate([p.lower[None], -greatest[1:]]), greatest


@cache
def compile_streams() -> None:
    """Compile what a stream needs, before a control cycle follows one."""
    one = np.ones(1)
    motion = StreamedMotion(
        ["q"], StreamLimits(-one, one, one, one, 0.1, 1.0), 0.0, np.zeros((5, 1))
    )
    motion.add(0.0, np.zeros(1), np.zeros((1, 1)))
    motion.evaluate(0.1, np.zeros((5, 1)))


def check_stream_limits(limits: StreamLimits, n: int) -> None:
    """Raise InputError, which names the limit, for arrays of other shapes and for values outside
    their intervals."""
    for name in ("lower", "upper", "velocity", "acceleration"):
        value: Any = getattr(limits, name)
        if np.shape(value) != (n,):
            raise InputError(f"{name}: expected ({n},), got shape {np.shape(value)}")
    if name := record_fields.outside(limits):
        raise InputError(f"{name} is {getattr(limits, name)}, outside its range")
    if not (limits.lower <= limits.upper).all():
        raise InputError(f"lower {limits.lower} is not below upper {limits.upper}")
