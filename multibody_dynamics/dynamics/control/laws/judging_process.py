"""Laws judged in a process of their own, beside a running control cycle.

Judging takes seconds of Python code, which holds the interpreter's lock: in a thread of the
controller's process, it would delay the cycle by milliseconds again and again. The process has a
lower priority (nice 5), starts with the first request, and ends with the one that created it. It
never has a real-time priority: a controller started with SCHED_FIFO would otherwise pass on its
own, and seconds of judging would hold up the cycle on the same processor.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
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
    """One process, which judges one law after the other. If it ended, the next request starts
    another one.

    The process inherits the scheduling of the thread that submits: see :meth:`give_way`.

    >>> process = JudgingProcess()
    >>> verdict = process.submit(request)  # a Future, at once
    >>> process.close()
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._is_closed = False
        self._lock = threading.Lock()  # requests come from another thread than the end

    def submit(self, request: JudgingRequest) -> Future[Verdict]:
        """Judge a law; the future raises what :func:`judge_law` raises, and BrokenProcessPool if
        the process ends. Raises RuntimeError after :meth:`close`."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the process that judges laws is closed")
            if self._pool is not None:
                with suppress(BrokenProcessPool):  # killed, for example for lack of memory
                    return self._pool.submit(judge_law, request)
                self._pool.shutdown(wait=False)
            self._pool = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_prepare
            )
            return self._pool.submit(judge_law, request)

    @staticmethod
    def give_way() -> None:
        """Give up a real-time priority of this thread, and of all that it starts from now on."""
        with suppress(OSError, AttributeError):
            if os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def close(self) -> None:
        """End the process, without waiting for verdicts."""
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is None:
            return
        workers = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()


def _prepare() -> None:
    """In the new process: low priority, no reaction to Ctrl-C, and an end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    JudgingProcess.give_way()
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
