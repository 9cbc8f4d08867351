"""A watchdog on the steady clock, in its own thread: tells when input stops coming.

It goes by time of receipt, so a sender with a wrong clock cannot keep it quiet, and it does not
depend on the executor, whose timers stop with simulated time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Watchdog:
    """Calls `on_stale(age)` once when no `feed()` came for `timeout` seconds; `feed` re-arms it.

    simulated_time: reads the simulated clock, in ns. Where given, input is stale only when it is
    too old by the steady clock *and* by the simulated one: while the simulation is paused, or runs
    slowly, silence is no fault.

    `on_stale` runs in the watchdog's thread and must only hand over to the thread that owns the
    node (`ManagedNode.defer`): messages, model buffers and publishers are used without locks there.
    What runs there later must look at `stale` again, for input may have come in between.
    """

    def __init__(
        self,
        timeout: float,
        on_stale: Callable[[float], None],
        *,
        simulated_time: Callable[[], int] | None = None,
    ) -> None:
        self.timeout = timeout
        self._on_stale = on_stale
        self.simulated_time = simulated_time
        self._fed = 0
        self._fed_simulated = 0
        self._alarmed = 0  # for which `_fed` the alarm was given
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start watching; the first `feed` counts as come now."""
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
        """Input has come. Cheap, for the control cycle; single assignments need no lock."""
        if self.simulated_time is not None:
            self._fed_simulated = self.simulated_time()
        self._fed = time.monotonic_ns()

    @property
    def stale(self) -> bool:
        """Whether input is too old now."""
        return self.age() > self.timeout

    def age(self) -> float:
        """Seconds since the last input, by the clock that advanced less."""
        age = time.monotonic_ns() - self._fed
        read = self.simulated_time
        if read is not None:
            # A simulated clock that jumped back gives a negative age: the next input sets it right.
            age = min(age, read() - self._fed_simulated)
        return 1e-9 * age

    def _watch(self) -> None:
        # A late alarm is at most a quarter of the timeout late.
        while not self._stop.wait(min(self.timeout / 4, 0.25)):
            fed = self._fed
            if fed != self._alarmed and self.stale:
                self._alarmed = fed
                self._on_stale(self.age())
