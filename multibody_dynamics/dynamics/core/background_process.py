# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A process for slow computations alongside a control cycle.

Python code that takes milliseconds holds the interpreter's lock: in a thread of the controller's
process, it would delay the cycle by up to 5 ms again and again. The process starts with the first
computation, and ends with the one that created it. It leaves the processors to the control cycle:

- Its priority is lower (nice), and never a real-time one: from a controller started with SCHED_FIFO
  it would otherwise inherit that priority, and hold up the cycle on the same processor.
- If the controller is bound to some of the available processors (`taskset`, cgroups aside), the
  process runs on the others. Isolated processors (isolcpus) are left alone.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .independent_copies import NeverCopied

if TYPE_CHECKING:  # not imported before the first request: this takes 20 ms
    from concurrent.futures import Future, ProcessPoolExecutor

NICE = 5
ISOLATED = Path("/sys/devices/system/cpu/isolated")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class BackgroundProcess(NeverCopied):
    """One process, which runs one computation after another. If it has ended, the next computation
    starts a new one.

    Functions and arguments must be picklable. A program that uses this needs the guard
    `if __name__ == "__main__":`, as with multiprocessing, because the process imports its main
    module.

    nice : what is added to its niceness; a higher value means a lower priority.

    >>> process = BackgroundProcess()
    >>> future = process.submit(function, argument)  # returns immediately
    >>> process.close()
    """

    def __init__(self, nice: int = NICE) -> None:
        self.nice = nice
        self._pool: ProcessPoolExecutor | None = None
        self._is_closed = False
        self._lock = threading.Lock()  # close() may come from another thread

    def submit(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Future[Result]:
        """Compute function(*arguments, **options); the future raises what the function raises, and
        BrokenProcessPool if the process ends. The first call starts the process, which takes this
        thread about 20 ms; later calls take less than 1 ms. Raises RuntimeError after
        :meth:`close`.
        """
        from concurrent.futures.process import BrokenProcessPool

        with self._lock:
            if self._is_closed:
                raise RuntimeError("the process is closed")
            if self._pool is not None:
                with suppress(BrokenProcessPool):  # killed, for example for lack of memory
                    return self._pool.submit(function, *arguments, **options)
                self._pool.shutdown(wait=False)
            starter = threading.Thread(target=self._open)  # its priority is inherited
            starter.start()
            starter.join()
            assert self._pool is not None
            return self._pool.submit(function, *arguments, **options)

    def _open(self) -> None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        self.give_way()
        self._pool = ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_prepare, initargs=(self.nice,)
        )
        self._pool.submit(os.getpid)  # starts the process

    @staticmethod
    def give_way() -> None:
        """Give up any real-time priority of this thread and of all that it starts from now on."""
        with suppress(OSError, AttributeError):
            if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def close(self) -> None:
        """End the process, without waiting for results."""
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is None:
            return
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()


def _prepare(nice: int) -> None:
    """Set up the new process: it ignores Ctrl-C, lowers its priority, moves to other processors and
    ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    BackgroundProcess.give_way()
    with suppress(OSError, AttributeError):
        os.nice(nice)
    with suppress(OSError, AttributeError, ValueError):
        leave_processors_of(os.getppid())
    threading.Thread(target=_end_with_parent, daemon=True).start()


def leave_processors_of(controller: int) -> None:
    """Run on the available processors that the process `controller` (its id) does not use and that
    are not isolated; if there are none, on the same ones."""
    used, own = os.sched_getaffinity(controller), os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.sysconf("SC_NPROCESSORS_CONF")))  # beyond an inherited mask
    available = os.sched_getaffinity(0)
    os.sched_setaffinity(0, available - used - _isolated() or own)


def _isolated() -> set[int]:
    """The processors that the kernel keeps free, from a list such as 2-3,6."""
    found: set[int] = set()
    text = ISOLATED.read_text().strip() if ISOLATED.is_file() else ""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
