"""Nodes as processes of their own, started as `ros2 launch` would, and ended by their ids."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PATIENCE = 5.0  # s that a node has to leave after a signal


@contextmanager
def uninterrupted() -> Iterator[None]:
    """SIGINT and SIGTERM wait until the block is done (in the main thread: they arrive there)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {n: signal.signal(n, lambda number, frame: pending.append(number)) for n in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            signal.raise_signal(number)


class DemoError(RuntimeError):
    """The nodes ran, but not as they should."""


class NodeEndedError(DemoError):
    """A node ended on its own; the text has its exit status and last words."""


def refuse_company(node: Any) -> None:
    """Raise DemoError if others than our one simulator publish joint_states where `node` is."""
    count = node.count_publishers("joint_states")
    if count > 1:
        raise DemoError(
            f"{count} nodes publish joint_states on ROS domain {node.context.get_domain_id()}:"
            " another run is under way there; choose another domain, demos by --domain-id"
        )


class NodeProcess:
    """`multibody_dynamics.nodes.<name>` as a process, its output in the file `log`.

    It is not in our process group: Ctrl-C in a terminal reaches us alone, and we say in which order
    the nodes leave.
    """

    def __init__(
        self,
        name: str,
        parameters: Path,
        *,
        log: Path,
        overrides: Mapping[str, str] | None = None,
        remappings: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        command = [sys.executable, "-m", f"multibody_dynamics.nodes.{name}", "--ros-args"]
        command += ["--params-file", str(parameters)]
        for option, pairs in (("-p", overrides), ("-r", remappings)):
            for key, value in (pairs or {}).items():
                command += [option, f"{key}:={value}"]
        self.command = tuple(command)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if environ is None else dict(environ),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the number of the signal that ended it."""
        return self._process.poll()

    def cpu_seconds(self) -> float:
        """Processor time used so far, user and system; 0 once it has ended."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def last_words(self, lines: int = 8) -> str:
        """The end of what it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> int:
        """Ask it to leave, insist after `PATIENCE` seconds; the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self.exit_code is None:
                self._process.send_signal(number)
            try:
                return self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                continue
        raise DemoError(f"process {self.pid} of {self.name} cannot be ended")


class NodeProcesses:
    """Nodes that live as long as a `with` block; the last one started is the first to leave."""

    def __init__(self) -> None:
        self._nodes: list[NodeProcess] = []

    def __enter__(self) -> NodeProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self, name: str, parameters: Path, **options: Any) -> NodeProcess:
        """Start a node, see NodeProcess; there is no moment at which it could be left behind."""
        with uninterrupted():
            self._nodes.append(NodeProcess(name, parameters, **options))
        return self._nodes[-1]

    def check(self, may_leave: Sequence[NodeProcess] = ()) -> None:
        """Raise NodeEndedError if a node has ended: badly, or at all unless it `may_leave`."""
        for node in self._nodes:
            code = node.exit_code
            if code is not None and (code != 0 or node not in may_leave):
                raise NodeEndedError(
                    f"{node.name} ended with status {code}; the end of {node.log}:\n"
                    f"{node.last_words()}"
                )

    def cpu_seconds(self) -> dict[str, float]:
        """Processor time so far of the nodes that still run."""
        return {n.name: n.cpu_seconds() for n in self._nodes if n.exit_code is None}

    def stop(self) -> dict[str, int]:
        """End all that still run, whatever signals come meanwhile; exit codes by node."""
        with uninterrupted():
            codes = {node.name: node.stop() for node in reversed(self._nodes)}
            self._nodes.clear()
        return codes
