# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A process that tries one input after the other, and may hang, crash or run out of memory."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .judgement import Finding, attempt, source
from .kinds import ALL

COMPILING = 600.0  # s, until a process that does not get as far as its input is killed
PATIENCE = 20.0  # times the allowed CPU time, until a process that gives no answer is killed
WARM = range(-3, 0)  # numbers of the inputs with which machine code is compiled beforehand

Trial = Callable[[str, int, int], Finding | None]
"""Tries the input of a kind, a seed and a number."""


def try_input(kind: str, seed: int, number: int) -> Finding | None:
    """Write, read and judge one input in this process."""
    with TemporaryDirectory(prefix="fuzz_") as outer:
        folder = Path(outer, "of", "one", "input")  # commands also write to ../..
        folder.mkdir(parents=True)
        read = ALL[kind].prepare(source(kind, seed, number), folder)
        return attempt(read, ALL[kind].seconds)


@dataclass(frozen=True)
class Limits:
    """What an input may take beyond its CPU time.

    memory : bytes more than the idle process has. answer : s until the process is killed; by
    default PATIENCE times the CPU time.
    """

    memory: int = 2**30
    answer: float | None = None


class Worker:
    """Tries inputs in a process, which is replaced when it ends or hangs.

    trial : a function of a module; machine code is compiled before the first input of a kind.
    """

    def __init__(self, limits: Limits | None = None, trial: Trial = try_input) -> None:
        self._limits = limits or Limits()
        self._trial = trial
        self._process: Any = None
        self._pipe: Any = None

    def attempt(self, kind: str, seed: int, number: int) -> Finding | None:
        """Try one input; None if it was read, or refused as it should be."""
        if self._process is None or not self._process.is_alive():
            self._start()
        allowed = self._limits.answer or PATIENCE * ALL[kind].seconds
        try:
            self._pipe.send((kind, seed, number))
            for limit in (COMPILING, allowed):  # "ready", then what it found
                if not self._pipe.poll(limit):
                    break
                found = self._pipe.recv()
            else:
                return found if isinstance(found, Finding) else None
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            self.close()
            return Finding(f"the process ended with status {code}", "")
        self.close()
        return Finding("hangs", f"no answer within {limit:g} s")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def _start(self) -> None:
        context = get_context("spawn")
        self._pipe, other = context.Pipe()
        arguments = other, self._limits.memory, self._trial
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        other.close()


def _serve(pipe: Any, memory: int, trial: Trial) -> None:
    warm: set[str] = set()
    while True:
        try:
            kind, seed, number = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if kind not in warm and trial is try_input:  # late imports and compilation, unlimited
            for each in WARM:
                trial(kind, 0, each)
            warm.add(kind)
        pipe.send("ready")
        with _bounded_memory(memory):
            found = trial(kind, seed, number)
        pipe.send(found)


class _bounded_memory:  # noqa: N801 - used like a function
    """Limits the address space of this process to its present size plus `more` bytes."""

    def __init__(self, more: int) -> None:
        self._more = more

    def __enter__(self) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        limit = pages * resource.getpagesize() + self._more
        resource.setrlimit(resource.RLIMIT_AS, (limit, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_AS, self._before)
