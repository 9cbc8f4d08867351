# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Work in a thread beside a control cycle.

Only one thread of Python code runs at a time, and a thread that computes gives way to others every
5 ms, which is several cycles. Work that calls `pause` more often lets a waiting cycle run at once.
The interpreter waits for its threads before it exits; `pause` then ends the work.
"""

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable

from ..core import NeverCopied


class Stopped(BaseException):
    """The program is ending."""


def pause() -> None:
    """Let another thread run; raises Stopped if the main thread has ended."""
    if not threading.main_thread().is_alive():
        raise Stopped
    time.sleep(0)


class Queue(NeverCopied):
    """Runs one job after the other in a thread, which lasts as long as there are jobs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: deque[tuple[Callable[[], object], threading.Event]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    def add(self, job: Callable[[], object]) -> threading.Event:
        """Run `job` later; the event is set when it has ended, with an exception or without."""
        ended = threading.Event()
        with self._lock:
            self._jobs.append((job, ended))
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name=self._name, daemon=False).start()
        return ended

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._is_running = False
                    return
                job, ended = self._jobs.popleft()
            try:
                pause()
                job()
            except Stopped:
                pass
            except Exception:
                traceback.print_exc()
            finally:
                ended.set()
