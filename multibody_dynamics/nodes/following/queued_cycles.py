# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Starts one cycle for all state pairs that are queued, so that the newest is used. Uses no ROS."""

from __future__ import annotations

import threading
from collections.abc import Callable

SECOND = 1_000_000_000  # ns
BURST = 0.01  # s, in which the messages that queued up while the process was suspended arrive


class QueuedCycles:
    """Runs a cycle once all queued messages have been read; in lockstep, at most one is queued.

    After a silence, a cycle waits for the newest pair: if this process was suspended, the queue
    fills while it is read, and cycles on part of it would hide the gap in the stamps.

    defer: calls a function in the executor's thread, after the queued messages.
    cycle: called with the arrival of the newest pair, `time.monotonic_ns()`.
    """

    def __init__(
        self, defer: Callable[[Callable[[], None]], None], cycle: Callable[[int], None]
    ) -> None:
        self.skipped = 0  # pairs that were queued behind a newer one
        self._defer, self._cycle = defer, cycle
        self._due: int | None = None  # arrival of the pair that the next cycle will use, if any
        self._arrival = 0  # of the last pair, if any

    @property
    def is_due(self) -> bool:
        """Whether a pair waits for its cycle."""
        return self._due is not None

    def request(self, arrival: int, timeout: float) -> None:
        """Run a cycle on a pair with this arrival; if none arrived for more than `timeout` s before
        it, wait a moment first."""
        is_silence = bool(self._arrival) and arrival - self._arrival > int(SECOND * timeout)
        self._arrival = arrival
        if self._due is not None:
            self.skipped += 1
        elif is_silence:
            threading.Timer(BURST, self._defer, [self._run]).start()
        else:
            self._defer(self._run)
        self._due = arrival

    def cancel(self) -> None:
        """Drop the pair that waits for its cycle."""
        self._due = None

    def _run(self) -> None:
        arrival, self._due = self._due, None
        if arrival is not None:
            self._cycle(arrival)
