"""States of a recording for an identification: finer in time than those of the comparison.

Friction changes within a few ms where a velocity reverses. Its effect on the filtered torque
follows only from states that are close in time, so they are kept at several hundred Hz, filtered at
twice the cut-off. Memory is bounded: of a long recording, evenly spread stretches are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array
from ..dynamics.identification import HIGHEST
from .alignment import Keys
from .smoothed_states import SmoothedStates
from .survey import Survey

WIDER = 2.0  # cut-off of the states, relative to that of the comparison
FINEST = 250.0  # Hz, at least, of the states
PER_CUTOFF = 10.0  # states, at least, per period of the cut-off
LIMIT = 600_000  # states kept
STRETCH = 60.0  # s, of a long recording that are kept in one piece


@dataclass(frozen=True, eq=False)
class Recorded:
    """States at times (k,) s: state (3, k, n) q, q', q'' and torque (k, n).

    rate : Hz. cutoff : Hz, of the filter that the equations of motion still have to pass.
    starts : indices of the states at which a stretch without gaps begins.
    """

    times: Array
    state: Array
    torque: Array
    rate: float
    cutoff: float
    starts: NDArray[np.int64]

    def until(self, count: int) -> Recorded:
        """The first `count` states."""
        starts = self.starts[self.starts < count]
        state, torque = self.state[:, :count], self.torque[:count]
        return Recorded(self.times[:count], state, torque, self.rate, self.cutoff, starts)


class FineStates:
    """Collects the states of a recording from its samples on the grid.

    used : (m,) indices of the recorded joints in the model.
    """

    def __init__(self, look: Survey, used: Array, limit: int = LIMIT) -> None:
        wide = min(WIDER * look.cutoff, HIGHEST * look.rate)
        rate = max(FINEST, PER_CUTOFF * look.cutoff)
        self._states = SmoothedStates(look, used, wide, rate, (3, 1))
        self._rate, self._cutoff = look.rate / self._states.step, look.cutoff
        expected = int(1.02 * look.duration * self._rate) + 1000
        self._every = max(-(-expected // limit), 1)
        n = look.background.shape[1]
        self._times = np.zeros(min(expected, limit))
        self._rows = np.zeros((4, len(self._times), n))
        self._count = 0

    def push(self, keys: Keys, rows: Array) -> None:
        """Add samples (k, 3, n) with their keys."""
        for found in self._states.push(keys, rows):
            stretch = np.floor(found.times / STRETCH).astype(np.int64)
            kept = np.flatnonzero(stretch % self._every == 0)
            kept = kept[: len(self._times) - self._count]
            place = slice(self._count, self._count + len(kept))
            self._times[place] = found.times[kept]
            self._rows[:3, place] = found.state[:, kept]
            self._rows[3, place] = found.efforts[0, kept]
            self._count += len(kept)

    def result(self) -> Recorded:
        """The states so far."""
        times, rows = self._times[: self._count], self._rows[:, : self._count]
        gaps = np.flatnonzero(np.abs(np.diff(times) * self._rate - 1.0) > 0.5) + 1
        starts = np.append(0, gaps)
        return Recorded(times, rows[:3], rows[3], self._rate, self._cutoff, starts)
