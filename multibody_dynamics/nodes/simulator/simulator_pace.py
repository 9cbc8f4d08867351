# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The timing of the simulator: when the next cycle runs, and the time of its state."""

import threading
import time
from typing import NamedTuple, Protocol

from ..base.messages import SECOND

LONGEST_SLEEP = 0.1  # s; the longest delay of `leave`


class SimulationCycle(NamedTuple):
    """One cycle of the simulator."""

    due: int  # ns, steady clock
    stamp: int  # ns, of the state at the beginning of the cycle


class Pace(Protocol):
    """Decides when the next cycle runs."""

    lost: int
    """ns of real time lost since the start, because the simulator could not catch up."""

    def next(self, max_lag: float) -> SimulationCycle | None:
        """Wait for the next cycle; None after `leave`. max_lag: longest delay to catch up, s."""

    def leave(self) -> None:
        """End the current wait and all later ones."""


class SteadyPace:
    """One cycle per `period` ns of the steady clock; after a delay, several in quick succession to
    catch up.

    begin: simulated time before the first cycle, ns, if stamps are in simulated time; None if they
    are in system time. `speed`, the ratio of simulated to real time, may be set at any time; 0: do
    not wait.
    """

    def __init__(self, period: int, begin: int | None) -> None:
        self.lost = 0
        self.speed = 1.0
        self._period, self._time = period, begin
        self._leave = threading.Event()
        self._wake = time.monotonic_ns()
        self._to_system_time = time.time_ns() - self._wake

    def next(self, max_lag: float) -> SimulationCycle | None:
        while not self._leave.is_set():
            now = time.monotonic_ns()
            late = now - self._wake
            if late < 0:
                time.sleep(min(-1e-9 * late, LONGEST_SLEEP))
                continue
            limit = int(SECOND * max_lag)
            if self.speed == 0.0:
                self._wake = now
            elif late > limit:
                self.lost += late
                self._wake = now
            due = self._wake
            self._wake += round(self._period / self.speed) if self.speed else 0
            if self._time is not None:
                self._time += self._period
                return SimulationCycle(due, self._time)
            if abs(time.time_ns() - now - self._to_system_time) > limit:  # the clock was set
                self._to_system_time = time.time_ns() - now
            return SimulationCycle(due, due + self._to_system_time)
        return None

    def leave(self) -> None:
        self._leave.set()


class ClockPace:
    """One cycle per `period` ns by which an external clock advances.

    The first time received is the start. If the clock jumps back, the pace restarts from there;
    `restarts` counts how often.
    """

    def __init__(self, period: int) -> None:
        self.lost = 0
        self.restarts = 0
        self._period = period
        self._time: int | None = None
        self._target = self._received = 0
        self._is_left = False
        self._changed = threading.Condition()

    def advance_to(self, clock: int) -> bool:
        """Set the external clock to `clock` (ns); True if it jumped back."""
        with self._changed:
            went_back = self._time is not None and clock < self._target
            if self._time is None or went_back:
                self._time = clock
            self.restarts += went_back
            self._target, self._received = clock, time.monotonic_ns()
            self._changed.notify()
        return went_back

    def next(self, max_lag: float) -> SimulationCycle | None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_left or self._behind() >= self._period)
            if self._is_left or self._time is None:
                return None
            late = self._behind() - self._period
            if late > int(SECOND * max_lag):
                self.lost += late
                self._time += late
            self._time += self._period
            return SimulationCycle(self._received, self._time)

    def leave(self) -> None:
        with self._changed:
            self._is_left = True
            self._changed.notify()

    def _behind(self) -> int:
        return 0 if self._time is None else self._target - self._time
