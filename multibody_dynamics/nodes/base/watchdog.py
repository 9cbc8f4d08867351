# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A watchdog on the steady clock, in its own thread, that detects missing input.

It uses the time of receipt, so a sender with a wrong clock cannot silence it, and does not depend
on the executor, whose timers stop with simulated time.
"""

import threading
import time
from collections.abc import Callable

from .scheduling import lower_thread_priority


class Watchdog:
    """Calls `on_stale(age)` once if `feed()` is not called for `timeout()` s; `feed` re-arms it.

    timeout: reads the time limit, a live parameter. simulated_time: reads the simulated clock, in
    ns; None while time is not simulated. Input is stale only when it is too old on both the steady
    clock and the simulated one: silence is not a fault while the simulation is paused or slow.

    `on_stale` runs in the watchdog's thread and must only defer to the thread that owns the node
    (`ManagedNode.defer`), which uses messages, model buffers and publishers without locks. The
    deferred function must check `stale` again, since input may have arrived in between.
    """

    def __init__(
        self,
        timeout: Callable[[], float],
        on_stale: Callable[[float], None],
        *,
        simulated_time: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._timeout = timeout
        self._on_stale = on_stale
        self._simulated_time = simulated_time
        self._fed = 0
        self._fed_simulated = 0
        self._alarmed = 0  # the value of `_fed` for which the alarm was raised
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start watching, as if input had arrived now."""
        self.feed()
        self._stop.clear()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and wait for the thread."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def feed(self) -> None:
        """Record that input arrived. Cheap, for the control cycle; an assignment needs no lock."""
        self._fed_simulated = self._simulated_time() or 0
        self._fed = time.monotonic_ns()

    @property
    def stale(self) -> bool:
        """Whether input is too old now."""
        return self.age() > self._timeout()

    def age(self) -> float:
        """Seconds since the last input, on whichever clock advanced less."""
        age = time.monotonic_ns() - self._fed
        simulated = self._simulated_time()
        if simulated is not None:
            # If the simulated clock jumped back, the age is negative until the next input.
            age = min(age, simulated - self._fed_simulated)
        return 1e-9 * age

    def _watch(self) -> None:
        lower_thread_priority()
        # The alarm is late by at most a quarter of the timeout.
        while not self._stop.wait(min(self._timeout() / 4, 0.25)):
            fed = self._fed
            if fed != self._alarmed and self.stale:
                self._alarmed = fed
                self._on_stale(self.age())
