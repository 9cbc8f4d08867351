"""Laws judged in a process of their own, beside a running control cycle.

Judging takes seconds of Python code, which holds the interpreter's lock: in a thread of the
controller's process, it would delay the cycle by milliseconds again and again. The process has a
lower priority (nice 5), starts with the first request, and ends with the one that created it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process
from typing import Any, NamedTuple

from ...core import Array
from ...elastic import Actuators
from ...model import MultibodyModel
from ..stability.loop_judgement import LoopJudgement
from .flatness_law import FlatnessLaw, FlatnessSettings

NICE = 5


@dataclass(frozen=True, eq=False)
class JudgingRequest:
    """What to judge: the law `name` of these settings, designed for rest at q (n,).

    second : (v,) second outputs. lowered : settings of laws that were lowered before.
    conditions : of :meth:`.FlatnessLaw.judge`. lowers : whether bandwidths are lowered if
    necessary, see :meth:`.FlatnessLaw.stabilise`.
    """

    model: MultibodyModel
    actuators: Actuators
    settings: FlatnessSettings
    name: str
    q: Array
    second: Array
    lowered: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    lowers: bool = True


class Verdict(NamedTuple):
    """The `judgement` of a law, None if it cannot be judged, and the settings that were `lowered`
    for it."""

    name: str
    judgement: LoopJudgement | None
    lowered: dict[str, Any]


def judge_law(request: JudgingRequest) -> Verdict:
    """The verdict, in this process. Raises DynamicsError for a law that cannot be designed."""
    law = FlatnessLaw(request.model, request.actuators, request.settings)
    law.stiffness[0] = request.second
    law.lowered = dict(request.lowered)
    judge = law.stabilise if request.lowers else law.judge
    judgement = judge(request.name, request.q, **request.conditions)
    return Verdict(request.name, judgement, law.lowered.get(request.name, {}))


class JudgingProcess:
    """One process, which judges one law after the other.

    >>> process = JudgingProcess()
    >>> verdict = process.submit(request)  # a Future, at once
    >>> process.close()
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, request: JudgingRequest) -> Future[Verdict]:
        """Judge a law; the future raises what :func:`judge_law` raises."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_prepare
            )
        return self._pool.submit(judge_law, request)

    def close(self) -> None:
        """End the process, without waiting for verdicts."""
        if self._pool is None:
            return
        workers = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        self._pool = None


def _prepare() -> None:
    """In the new process: low priority, no reaction to Ctrl-C, and an end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
