"""A process for long computations beside a running control cycle.

In a thread of the controller's process, Python code would hold the interpreter's lock and delay the
cycle by milliseconds again and again. The process has a lower priority, starts with the first
request, and ends with the one that created it. It never has a real-time priority: a controller
started with SCHED_FIFO would otherwise pass on its own.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:  # not imported before the first request: this takes 20 ms
    from concurrent.futures import Future, ProcessPoolExecutor

NICE = 5

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class BackgroundProcess:
    """One process, which answers one request after the other. If it ended, the next request starts
    another one.

    The process inherits the scheduling of the thread that submits: see :meth:`give_way`.

    >>> process = BackgroundProcess()
    >>> result = process.submit(function, argument)  # a Future, at once
    >>> process.close()
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._is_closed = False
        self._lock = threading.Lock()  # requests may come from another thread than the end

    def submit(
        self,
        function: Callable[Parameters, Result],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Future[Result]:
        """Call a function of a module in the process. The future raises what the function raises,
        and BrokenProcessPool if the process ends. Raises RuntimeError after :meth:`close`."""
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        with self._lock:
            if self._is_closed:
                raise RuntimeError("the process is closed")
            if self._pool is not None:
                with suppress(BrokenProcessPool):  # killed, for example for lack of memory
                    return self._pool.submit(function, *arguments, **options)
                self._pool.shutdown(wait=False)
            self._pool = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_prepare
            )
            return self._pool.submit(function, *arguments, **options)

    @staticmethod
    def give_way() -> None:
        """Give up a real-time priority of this thread, and of all that it starts from now on."""
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


def _prepare() -> None:
    """In the new process: low priority, no reaction to Ctrl-C, and an end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    BackgroundProcess.give_way()
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
