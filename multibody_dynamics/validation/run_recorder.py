# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Collects the samples of a recording for an identification, bounded in memory.

Of a long recording, evenly spread pieces are kept.
"""

from typing import NamedTuple

import numpy as np

from ..dynamics.core import Array
from ..dynamics.identification import MeasuredRun
from .alignment import Keys, runs_of, seconds_of
from .survey import Survey

LIMIT = 600_000  # samples kept
PIECE = 60.0  # s, of a long recording that are kept together


class Recorded(NamedTuple):
    """A run, and the times (k,) s of its samples."""

    run: MeasuredRun
    times: Array


class RunRecorder:
    """Collects the samples of a recording on the grid.

    used : (m,) indices of the recorded joints in the model. signal : the kind of the efforts,
    "sensor" or "motor_torque".
    """

    def __init__(self, look: Survey, used: Array, signal: str, limit: int = LIMIT) -> None:
        self._look, self._used, self._signal = look, used, signal
        self._motors = look.motors
        expected = int(1.02 * look.duration * look.rate) + 1000
        self._every = max(-(-expected // limit), 1)
        n = look.background.shape[1]
        self._times = np.zeros(min(expected, limit))
        self._rows = np.zeros((len(self._times), 3, n))
        self._count = 0
        self._starts: list[int] = []
        self._next: int | None = None  # key that continues the samples so far

    def push(self, keys: Keys, rows: Array) -> None:
        """Add samples (k, 3, n) with their keys."""
        for part in runs_of(keys):
            times = seconds_of(keys[part], self._look.period)
            kept = np.flatnonzero(np.floor(times / PIECE).astype(np.int64) % self._every == 0)
            kept = kept[: len(self._times) - self._count]
            for piece in np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1):
                self._add(keys[part][piece], times[piece], rows[part][piece])

    def _add(self, keys: Keys, times: Array, rows: Array) -> None:
        """Add samples without gaps."""
        if not len(keys):
            return
        if keys[0] != self._next:
            self._starts.append(self._count)
        self._next = int(keys[-1]) + 1
        place = slice(self._count, self._count + len(keys))
        self._times[place], self._rows[place] = times, rows
        self._count += len(keys)

    def result(self) -> Recorded:
        """The samples so far. Joints that were not recorded rest, and have no effort."""
        times, rows = self._times[: self._count], self._rows[: self._count]
        known = np.isfinite(self._look.background)
        q, qd = (np.where(known[k], self._look.background[k], rows[:, k]) for k in range(2))
        qd[:, list(self._look.derived)] = np.nan
        if self._motors is None:
            torques = {self._signal: np.full_like(q, np.nan)}
            torques[self._signal][:, self._used] = rows[:, 2, self._used]
        else:
            n = self._motors.actuators.n
            theta, effort = (self._motors.at_motors(rows[:, k, n:], np.nan) for k in (0, 2))
            q, qd, torques = q[:, :n], qd[:, :n], {"theta": theta, "motor_torque": effort}
        run = MeasuredRun(
            "recording",
            self._look.rate,
            q=q,
            qd=qd if self._look.velocity else None,
            **torques,
            starts=tuple(self._starts) or (0,),
            start=float(times[0]) if self._count else 0.0,
        )
        return Recorded(run, times)
