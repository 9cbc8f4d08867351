# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Processes that begin with everything loaded: `python -m MODULE`, or a program, in a fork of a
process that has loaded what nodes need (warmed_nodes.py), which takes each of them two seconds
otherwise."""

import ctypes
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver, get_context
from pathlib import Path

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["warmed_nodes"])
HERE = str(Path(__file__).parent)


def _start_server() -> None:
    """Start the process that is forked, which must find its module in this folder."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (HERE, before)))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _run(
    what: str | Path, arguments: Sequence[str], environment: Mapping[str, str], log: str
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.argv = [str(what), *arguments]
    code: object = 0
    try:
        if isinstance(what, Path):
            runpy.run_path(str(what), run_name="__main__")
        else:
            runpy.run_module(what, run_name="__main__", alter_sys=True)
    except SystemExit as leave:
        code = leave.code
    # Forked processes skip the end of the interpreter, in which DDS says that the node has left.
    ctypes.pythonapi.Py_Exit(code if isinstance(code, int) else int(code is not None))


class ForkedProcess:
    """A running module, or program (a path), with what tests use of subprocess.Popen."""

    def __init__(
        self, what: str | Path, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        _start_server()
        self._process = CONTEXT.Process(
            target=_run, args=(what, list(arguments), dict(environment), str(log))
        )
        self._process.start()
        self.pid = int(self._process.pid or 0)

    def poll(self) -> int | None:
        return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
