# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""SIGINT and SIGTERM of a node: a flag, and exceptions that interrupt its configuration.

Configuring may compile or judge for a minute. Python runs a handler only when the main thread
returns to Python code, and optimising a large function with LLVM takes seconds. A node that is
being configured is inactive and has nothing to bring to a safe end, so its process may be ended.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import active_children
from types import FrameType

PATIENCE = 0.5  # s from a signal to the end of a process that does not react to it
RETRY = 0.02  # s, after a signal that came where it could not interrupt


class LeavingDuringCallback(BaseException):
    """The process received a shutdown signal while the node was being configured."""


class LeaveFlag:
    """Once set, it stays set. It has no lock, unlike threading.Event: a signal that arrives while
    the handler of another one holds that lock would wait for it forever.

    ends_process : whether this process has nothing to bring to a safe end while `interrupting`.
    """

    def __init__(self, *, ends_process: bool = False) -> None:
        self._ends_process = ends_process
        self._is_set = False
        self._interrupts = False

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """The first signal inside raises LeavingDuringCallback, wherever the main thread is."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        self._interrupts = in_main_thread
        try:
            with _ended_if_deaf() if in_main_thread and self._ends_process else nullcontext():
                yield
        finally:
            self._interrupts = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGINT and SIGTERM."""
        self.set()
        if not self._interrupts:
            return
        if _is_in_callback(frame):
            again = threading.Timer(RETRY, signal.raise_signal, (number,))
            again.daemon = True
            again.start()
            return
        self._interrupts = False  # the launcher's signal follows the terminal's
        raise LeavingDuringCallback

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set


def _is_in_callback(frame: FrameType | None) -> bool:
    """Whether the compiler has called Python, where an exception would be printed and ignored."""
    while frame is not None:
        if frame.f_code.co_name.startswith("_raw_object_cache"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def _ended_if_deaf() -> Iterator[None]:
    """End the process if it is still in this block PATIENCE after a signal. The interpreter writes
    the signal to a socket at once, whatever the main thread does."""
    read, written = socket.socketpair()
    written.setblocking(False)
    former = signal.set_wakeup_fd(written.fileno(), warn_on_full_buffer=False)
    is_over = threading.Event()

    def watch() -> None:
        with read:
            if read.recv(1) and not is_over.wait(PATIENCE):
                _end_now()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        signal.set_wakeup_fd(former)
        written.close()  # which ends the thread


def _end_now() -> None:
    """End the process as after a regular exit, while its main thread runs compiled code."""
    for child in active_children():
        child.terminate()
    print("stopped while compiling", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)
