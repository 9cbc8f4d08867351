# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Processes that begin with the imports done: `python -m MODULE` in a fork of a process that has
imported what all nodes need, which takes each of them more than a second otherwise."""

from __future__ import annotations

import ctypes
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

from multibody_dynamics import nodes

CONTEXT = get_context("forkserver")


def _imports() -> list[str]:
    """Every module of the nodes but those that run as __main__."""
    modules = pkgutil.walk_packages(nodes.__path__, f"{nodes.__name__}.")
    return [each.name for each in modules if each.name.count(".") > 2]  # those in folders


CONTEXT.set_forkserver_preload(_imports())


def _run(module: str, arguments: Sequence[str], environment: Mapping[str, str], log: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    output = os.open(log, os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.argv = [module, *arguments]
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as leave:
        code = leave.code
    # Forked processes skip the end of the interpreter, in which DDS says that the node has left.
    ctypes.pythonapi.Py_Exit(code if isinstance(code, int) else int(code is not None))


class ForkedProcess:
    """A running module, with the part of the interface of subprocess.Popen that tests use."""

    def __init__(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self._process = CONTEXT.Process(
            target=_run, args=(module, list(arguments), dict(environment), str(log))
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
