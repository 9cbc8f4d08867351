# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Judges laws in a separate process while the control cycle runs, because judging takes seconds.

See :class:`.BackgroundProcess` for what keeps the process from holding up the cycle.
"""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...core import Array, BackgroundProcess, NeverCopied
from ...elastic import Actuators
from ...model import MultibodyModel
from ..observers.state_estimation import StateEstimator
from ..stability.loop_judgement import LoopJudgement
from .designed_laws import DesignedLaws
from .flatness_settings import FlatnessSettings

NICE = 10


@dataclass(frozen=True, eq=False)
class JudgingRequest:
    """What to judge: the law `name` of these settings, designed for rest at q (n,).

    second : (v,) second outputs. lowered : settings of laws that were lowered before.
    conditions : of :meth:`.DesignedLaws.judge`. lowers : whether bandwidths are lowered if
    necessary, see :meth:`.DesignedLaws.stabilise`.
    here : (n,) present position, at which the law is judged as well, with an exact model; None: it
    is not known.
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
    here: Array | None = None


class Verdict(NamedTuple):
    """The `judgement` of a law, None if it cannot be judged, the settings that were `lowered` for
    it, and the judgement at the present position alone, `here`, if this was asked for."""

    name: str
    judgement: LoopJudgement | None
    lowered: dict[str, Any]
    here: LoopJudgement | None = None


def judge_law(request: JudgingRequest) -> Verdict:
    """Judge a law in the calling process.

    Raises DynamicsError for a law that cannot be designed.
    """
    robot = request.model, request.actuators
    signals = StateEstimator(*robot, request.settings.estimation).signals
    laws = DesignedLaws(*robot, request.settings, signals, request.second)
    laws.lowered = dict(request.lowered)
    judge = laws.stabilise if request.lowers else laws.judge
    judgement = judge(request.name, request.q, **request.conditions)
    here = None
    if request.here is not None and judgement is not None:
        alone = {**request.conditions, "poses": 0, "model_error": 0.0}
        here = laws.judge(request.name, request.q, at=request.here, **alone)
    return Verdict(request.name, judgement, laws.lowered.get(request.name, {}), here)


class JudgingProcess(NeverCopied):
    """One process, which judges one law after the other.

    >>> process = JudgingProcess()
    >>> verdict = process.submit(request)  # a Future, at once
    >>> process.close()
    """

    drop_realtime_priority = staticmethod(BackgroundProcess.drop_realtime_priority)

    def __init__(self) -> None:
        self._process = BackgroundProcess(NICE)

    def submit(self, request: JudgingRequest) -> Future[Verdict]:
        """Judge a law; the future raises what :func:`judge_law` raises, and BrokenProcessPool if
        the process ends. Raises RuntimeError after :meth:`close`."""
        return self._process.submit(judge_law, request)

    def close(self) -> None:
        """End the process, without waiting for verdicts."""
        self._process.close()
