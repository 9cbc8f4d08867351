# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs cycles on the newest pair of states, although messages may have queued up. Uses no ROS."""

import threading
import time
from collections.abc import Callable

from ...dynamics.core import SECOND

BURST = 0.01  # s, in which the messages that queued up while the process was suspended arrive
BACKLOG = 0.25  # share of a period; a pair that is read sooner after a cycle was queued


class NewestPair:
    """Runs a cycle on every pair at once, or, if pairs have queued up, on the last of them, once
    all queued messages have been read.

    After a silence, a cycle waits for the newest pair: if this process was suspended, the queue
    fills while it is read, and cycles on part of it would hide the gap in the stamps.

    defer: calls a function in the executor's thread, after the queued messages.
    cycle: called with the stamp of the newest pair, and its arrival in ns of the `clock`.
    """

    def __init__(
        self,
        defer: Callable[[Callable[[], None]], None],
        cycle: Callable[[int, int], None],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.skipped = 0  # pairs that were queued behind a newer one
        self._defer, self._cycle, self._clock = defer, cycle, clock
        self._due: int | None = None  # arrival of the pair that the next cycle will use, if any
        self._arrival = self._stamp = 0  # of the last pair, if any
        self._ended = 0  # the last cycle, at this time

    @property
    def is_due(self) -> bool:
        """Whether a pair waits for its cycle."""
        return self._due is not None

    def take(self, arrival: int, stamp: int, timeout: float) -> None:
        """Run a cycle on a pair with this arrival and stamp (ns), or soon; if none arrived for more
        than `timeout` s before it, wait a moment first."""
        since, period = arrival - self._arrival, stamp - self._stamp
        is_first, self._arrival, self._stamp = not self._arrival, arrival, stamp
        if self._due is not None:
            self.skipped += 1
            self._due = arrival
        elif is_first or (arrival - self._ended >= BACKLOG * period and since <= SECOND * timeout):
            self._run_on(arrival)
        else:
            self._due = arrival
            if since > SECOND * timeout:
                threading.Timer(BURST, self._defer, [self._run]).start()
            else:
                self._defer(self._run)

    def cancel(self) -> None:
        """Drop the pair that waits for its cycle."""
        self._due = None

    def _run(self) -> None:
        arrival, self._due = self._due, None
        if arrival is not None:
            self._run_on(arrival)

    def _run_on(self, arrival: int) -> None:
        self._cycle(self._stamp, arrival)
        self._ended = self._clock()
