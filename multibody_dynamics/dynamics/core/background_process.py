# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A process, or a thread, for slow computations alongside a control cycle.

Python code that takes milliseconds holds the interpreter's lock: in a thread of the controller's
process, it would delay the cycle by up to 5 ms again and again. The process starts with the first
computation, and ends with the one that created it. It leaves the processors to the control cycle:

- Its priority is lower (nice), and never a real-time one: from a controller started with SCHED_FIFO
  it would otherwise inherit that priority, and hold up the cycle on the same processor.
- If the controller is bound to some of the available processors (`taskset`, cgroups aside), the
  process runs on the others. Isolated processors (isolcpus) are left alone.

A thread is for what mostly waits, or needs the memory of the controller; many processes are for
many jobs where there is no cycle.
"""

from __future__ import annotations

import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ...linear_algebra import VARIABLES
from .errors import DynamicsError
from .independent_copies import NeverCopied

if TYPE_CHECKING:  # not imported before the first request: this takes 20 ms
    from concurrent.futures import Executor, Future

NICE = 5
ISOLATED = Path("/sys/devices/system/cpu/isolated")
MANY = 200  # with more jobs than this, several are sent to a process at once

CANNOT_START = (OSError, MemoryError, RuntimeError)  # "can't start new thread", out of memory

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Background(NeverCopied, ABC):
    """Runs one computation after another. `defer` calls a function in the thread that is to receive
    results: by default, the one in which they end. `is_busy`: whether the newest request of
    :meth:`replace` is still to be answered."""

    def __init__(
        self, defer: Callable[[Callable[[], object]], object] = lambda take: take()
    ) -> None:
        self._defer = defer
        self._is_closed = self.is_busy = False
        self._pool: Executor | None = None
        self._lock = threading.Lock()  # close() may come from another thread
        self._generation = 0
        self._newest: Future[Any] | None = None

    @abstractmethod
    def _opened(self) -> Executor:
        """A pool with one worker."""

    def submit(
        self,
        function: Callable[Arguments, Result],
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Future[Result]:
        """Compute function(*arguments, **options); the future raises what the function raises, or
        OSError, MemoryError or RuntimeError if there is no further thread or process. Raises
        RuntimeError after :meth:`close`."""
        from concurrent.futures import BrokenExecutor, Future

        with self._lock:
            if self._is_closed:
                raise RuntimeError("the background is closed")
            if self._pool is not None:
                with suppress(BrokenExecutor):  # killed, for example for lack of memory
                    return self._pool.submit(function, *arguments, **options)
                self._pool.shutdown(wait=False)
            self._pool = None
            try:
                self._pool = self._opened()
                return self._pool.submit(function, *arguments, **options)
            except CANNOT_START as error:
                failed: Future[Result] = Future()
                failed.set_exception(error)
                return failed

    def deliver(
        self, then: Callable[[Future[Any]], object], function: Callable[..., Any], *arguments: Any
    ) -> Future[Any]:
        """Compute, then call `then` with the future, even if that was cancelled."""
        future = self.submit(function, *arguments)
        future.add_done_callback(lambda done: self._defer(lambda: then(done)))
        return future

    def replace(
        self, then: Callable[[Future[Any]], object], function: Callable[..., Any], *arguments: Any
    ) -> None:
        """Compute what replaces the last such request: only for the newest one is `then` called."""
        self.drop()
        generation, self.is_busy = self._generation, True

        def take(done: Future[Any]) -> None:
            if generation == self._generation:
                self.is_busy = False
                then(done)

        self._newest = self.deliver(take, function, *arguments)

    def drop(self) -> bool:
        """Forget that request; whether there was one."""
        was_busy, self.is_busy = self.is_busy, False
        self._generation += 1
        if was_busy and self._newest is not None:
            self._newest.cancel()
        return was_busy

    def close(self, *, wait: bool = False) -> None:
        """Forget what has not begun, or `wait` until everything has ended."""
        self.drop()
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=wait, cancel_futures=not wait)


class BackgroundThread(Background):
    """One thread; `prepare` is called in it first, for its priority."""

    def __init__(self, name: str, prepare: Callable[[], object], **options: Any) -> None:
        super().__init__(**options)
        self._name, self._prepare = name, prepare

    def _opened(self) -> Executor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(1, self._name, self._prepare)


class BackgroundProcess(Background):
    """One process. If it has ended, what waited raises BrokenProcessPool, and the next computation
    starts a new one.

    Functions and arguments must be picklable. A program that uses this needs the guard
    `if __name__ == "__main__":`, as with multiprocessing, because the process imports its main
    module. Starting takes the calling thread about 20 ms, a later call less than 1 ms.

    nice : what is added to its niceness; a higher value means a lower priority.

    >>> process = BackgroundProcess()
    >>> future = process.submit(function, argument)  # returns immediately
    >>> process.close()
    """

    def __init__(self, nice: int = NICE, **options: Any) -> None:
        super().__init__(**options)
        self.nice = nice

    def _opened(self) -> Executor:
        from concurrent.futures import Future, ProcessPoolExecutor
        from multiprocessing import get_context

        opened: Future[Executor] = Future()

        def start() -> None:
            self.drop_realtime_priority()
            pool = ProcessPoolExecutor(1, get_context("spawn"), _prepare, (self.nice,))
            try:
                # The pool would do this in a thread of its own, and wait forever if it failed.
                pool._call_queue._start_thread()  # type: ignore[attr-defined]
                pool.submit(os.getpid)  # starts the process
            except CANNOT_START as error:
                for worker in (pool._processes or {}).values():
                    worker.terminate()
                opened.set_exception(error)
            else:
                opened.set_result(pool)

        starter = threading.Thread(target=start)  # the process inherits its priority
        starter.start()
        starter.join()
        return opened.result()

    @staticmethod
    def drop_realtime_priority() -> None:
        """Give up any real-time priority of this thread and of all that it starts from now on."""
        with suppress(OSError, AttributeError):
            if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def close(self, *, wait: bool = False) -> None:
        """End the process, without waiting for results unless told to `wait`."""
        with self._lock:
            self._is_closed = True
        workers = [] if wait else list((getattr(self._pool, "_processes", None) or {}).values())
        super().close(wait=wait)
        for worker in workers:
            worker.terminate()


def _prepare(nice: int) -> None:
    """Set up the new process: it ignores Ctrl-C, lowers its priority, moves to other processors and
    ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    BackgroundProcess.drop_realtime_priority()
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


def _begin(prepare: Any, *shared: Any) -> None:
    """Set up one of many processes, which ends with its parent, whatever ends that."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*shared)


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextmanager
def worker_processes(workers: int, prepare: Any = None, *shared: Any) -> Iterator[Executor | None]:
    """Processes with one thread each, in which prepare(*shared) is called first; None to work in
    the present process. What has not begun at the end is not computed; after an exception, such as
    Ctrl-C, nothing is waited for. Ctrl-C reaches only the present process. Raises DynamicsError if
    a process is killed, for example for lack of memory."""
    if workers <= 1:
        yield None
        return
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
    from multiprocessing import get_context

    before = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    executor = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (prepare, *shared))
    own = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited by the processes
    try:
        executor.submit(int)  # starts them
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, own)
    try:
        yield executor
    except BaseException as error:
        for process in [*(executor._processes or {}).values()]:
            process.terminate()
        if isinstance(error, BrokenExecutor):
            raise DynamicsError(
                f"one of {workers} processes ended early: killed, for lack of memory? Try fewer"
            ) from None
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        for name in VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)


def in_order(
    executor: Executor | None,
    function: Callable[[Any], Result],
    jobs: Sequence[Any],
    progress: Callable[[int, int], object] = lambda done, total: None,
    results: list[Result] | None = None,
) -> list[Result]:
    """function(job) of every job; `progress` is called with the number of jobs done and of all.

    results : a list that is filled instead of a new one; after Ctrl-C it has what was done.
    """
    chunk = 2 if len(jobs) > MANY else 1
    results = [] if results is None else results
    if jobs:
        progress(0, len(jobs))
    found = executor.map(function, jobs, chunksize=chunk) if executor else map(function, jobs)
    for result in found:
        results.append(result)
        progress(len(results), len(jobs))
    return results
