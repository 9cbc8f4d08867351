# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Start the nodes of a system as child processes, show their output, and supervise them.

This is what `ros2 launch` does with the package's launch files, for computers without `launch`.
"""

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..base.processes import NodeProcess, NodeProcesses, signals_call
from .launched_systems import NodeStart

POLL_PERIOD = 0.05  # s


class LogTail:
    """The lines that a node adds to its log, each printed after the node's name."""

    def __init__(self, title: str, file: Path) -> None:
        self._title, self._file = title, file
        self._read = 0  # bytes
        self._rest = b""

    def show(self, *, is_last: bool = False) -> None:
        """Print what has been added; the unfinished last line only if nothing will follow."""
        with self._file.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        self._read += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        if is_last and self._rest:
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            print(f"[{self._title}] {line.decode(errors='replace')}")
        if lines:
            sys.stdout.flush()


def supervise(nodes: Sequence[NodeStart], *, logs: Path | None = None) -> int:
    """Run the nodes until all have ended, one of them fails, or SIGINT or SIGTERM arrives.

    As soon as one fails, the others are stopped, in reverse order, each through its shutdown
    transition. A node that ends with status 0, such as a finished trajectory_node, leaves the
    others running. A signal that arrives while nodes are being stopped kills those that are left.

    logs : folder for the output of each node; by default, it is only shown

    Returns the exit status: 0, or 1 if a node failed or was killed.
    """
    leave = threading.Event()
    processes = NodeProcesses()

    def on_signal(number: int) -> None:
        if leave.is_set():
            processes.kill()
        leave.set()

    with ExitStack() as stack:
        stack.enter_context(signals_call(on_signal))
        folder = logs
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="loop_")))
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(processes)
        started = [_start(processes, node, folder) for node in nodes]
        return _run(started, leave)


def _run(started: Sequence[NodeProcess], leave: threading.Event) -> int:
    tails = [LogTail(process.name, process.log) for process in started]
    failed = _watch(started, tails, leave)
    for process in failed:
        print(f"{process.name} ended with status {process.exit_code}", flush=True)
    leave.set()  # from now on, a signal kills
    with _shown(tails):
        codes = _stop(started)
    for name, code in codes.items():
        if code and not failed:
            print(f"{name} ended with status {code}")
    return int(any(codes.values()))


def _stop(started: Sequence[NodeProcess]) -> dict[str, int]:
    """Stop the nodes in reverse order, and name each one that is awaited; the exit codes by
    node."""
    running = [process for process in reversed(started) if process.exit_code is None]
    if running:
        print("stopping all nodes; Ctrl-C kills them at once", flush=True)
    for process in running:
        print(f"waiting for {process.name} to end", flush=True)
        process.stop()
    return {process.name: process.stop() for process in started}


@contextmanager
def _shown(tails: Sequence[LogTail]) -> Iterator[None]:
    """Show the output during the block, and then the rest of it."""
    over = threading.Event()

    def show() -> None:
        while not over.wait(POLL_PERIOD):
            for tail in tails:
                tail.show()

    thread = threading.Thread(target=show)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for tail in tails:
            tail.show(is_last=True)


def _watch(
    started: Sequence[NodeProcess], tails: Sequence[LogTail], leave: threading.Event
) -> list[NodeProcess]:
    """Show the output until a node fails, all have ended, or `leave` is set; the failed nodes."""
    while not leave.wait(POLL_PERIOD):
        codes = [process.exit_code for process in started]
        for tail in tails:
            tail.show()
        failed = [process for process, code in zip(started, codes, strict=True) if code]
        if failed or None not in codes:
            return failed
    return []


def _start(processes: NodeProcesses, node: NodeStart, folder: Path) -> NodeProcess:
    name = node.name or node.executable
    namespace = "/" + node.namespace.strip("/") if node.namespace.strip("/") else ""
    files = []
    for number, each in enumerate(node.parameters):
        file = Path(each) if isinstance(each, str) else folder / f"{name}_{number}.yaml"
        if not isinstance(each, str):
            if not each:
                continue
            file.write_text(json.dumps({f"{namespace}/{name}": {"ros__parameters": dict(each)}}))
        files.append(file)
    remappings = {"__node": name, **dict(node.remappings)}
    if namespace:
        remappings["__ns"] = namespace
    return processes.start(
        node.executable,
        files,
        log=folder / f"{name}.log",
        remappings=remappings,
        log_level=node.log_level,
        patience=node.patience,
    )
