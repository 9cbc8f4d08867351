# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes as child processes: started as `ros2 launch` would start them, and stopped in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ...parent_process import child_environment

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
LOGGED = 8  # last lines of the log of a node that failed
PATIENCE = 5.0  # s for a node to exit after a signal


@contextmanager
def signals_call(handler: Callable[[int], object]) -> Iterator[None]:
    """Call `handler` with the number of each SIGINT and SIGTERM that arrives during the block."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {n: signal.signal(n, lambda number, frame: handler(number)) for n in numbers}
    try:
        yield
    finally:
        for number, former in previous.items():
            signal.signal(number, former)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer SIGINT and SIGTERM to the end of the block, in the main thread, which receives them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    try:
        with signals_call(pending.append):
            yield
    finally:
        for number in pending[:1]:
            signal.raise_signal(number)


def sigterm_as_interrupt() -> AbstractContextManager[None]:
    """Treat SIGTERM like Ctrl-C, which keeps partial results and stops nodes and workers, in the
    main thread, which receives them."""
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return signals_call(lambda number: signal.default_int_handler(number, None))


class RunError(RuntimeError):
    """The nodes did not run as expected."""


class NodeEndedError(RunError):
    """A node exited unexpectedly; the message contains its exit status and the end of its log."""


class NodeProcess:
    """`multibody_dynamics.nodes.<name>` as a process that writes its output to the file `log`.

    parameters : one file, or several of which later ones override earlier ones
    patience : s that it may take to exit after a signal

    It runs in its own process group: Ctrl-C in a terminal then reaches only the parent process,
    which stops the nodes in order; if that is killed, they end with it (parent_process).
    """

    def __init__(
        self,
        name: str,
        parameters: Path | Sequence[Path],
        *,
        log: Path,
        overrides: Mapping[str, str] | None = None,
        remappings: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        log_level: str = "",
        patience: float = PATIENCE,
    ) -> None:
        self.name = name
        self.patience = patience
        self.log = log
        command = [sys.executable, "-m", f"multibody_dynamics.nodes.{name}", "--ros-args"]
        for file in [parameters] if isinstance(parameters, Path) else parameters:
            command += ["--params-file", str(file)]
        for option, pairs in (("-p", overrides), ("-r", remappings)):
            for key, value in (pairs or {}).items():
                command += [option, f"{key}:={value}"]
        if log_level:
            command += ["--log-level", log_level]
        self.command = tuple(command)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=child_environment(environ),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the signal number if a signal killed it."""
        return self._process.poll()

    def cpu_seconds(self) -> float:
        """CPU time used so far, user and system, s; 0 after the node has exited."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def stop(self) -> int:
        """Stop the node, with a stronger signal every `patience` s; return its exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.exit_code is None:
                self._process.send_signal(number)
            try:
                return self._process.wait(self.patience)
            except subprocess.TimeoutExpired:
                continue
        raise RunError(f"process {self.pid} of {self.name} cannot be stopped")

    def kill(self) -> None:
        """Kill the node, which does not shut down; does nothing if it has exited."""
        self._process.kill()


class NodeProcesses:
    """Nodes that live as long as a `with` block; they are stopped in reverse order."""

    def __init__(self) -> None:
        self._nodes: list[NodeProcess] = []

    def __enter__(self) -> NodeProcesses:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self, name: str, parameters: Path | Sequence[Path], **options: Any) -> NodeProcess:
        """Start a node, see NodeProcess. A signal during the start cannot leave it running."""
        with uninterrupted():
            self._nodes.append(NodeProcess(name, parameters, **options))
        return self._nodes[-1]

    def check(self, may_leave: Sequence[NodeProcess] = ()) -> None:
        """Raise NodeEndedError if a node failed, or exited although it is not in `may_leave`."""
        for node in self._nodes:
            code = node.exit_code
            if code is not None and (code != 0 or node not in may_leave):
                lines = node.log.read_text(errors="replace").splitlines()[-LOGGED:]
                end = "\n".join(lines)
                raise NodeEndedError(
                    f"{node.name} ended with status {code}; the end of {node.log}:\n{end}"
                )

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time used so far by each node that is still running, s."""
        return {n.name: n.cpu_seconds() for n in self._nodes if n.exit_code is None}

    def kill(self) -> None:
        """Kill all nodes. May be called by a signal handler while they are being stopped."""
        for node in self._nodes:
            node.kill()

    def stop(self) -> dict[NodeProcess, int]:
        """Stop all nodes, deferring signals to this process; return the exit codes by node.

        Raises RunError, after all others were stopped, if a node cannot be stopped.
        """
        codes, failures = {}, []
        with uninterrupted():
            for node in reversed(self._nodes):
                try:
                    codes[node] = node.stop()
                except RunError as error:
                    failures.append(error)
            self._nodes.clear()
        if failures:
            raise failures[0]
        return codes

    def stop_cleanly(self) -> None:
        """Stop all nodes. Raises RunError if one of them exits with an error."""
        for node, code in self.stop().items():
            if code != 0:
                raise RunError(f"{node.name} exited with status {code}; see {node.log}")
