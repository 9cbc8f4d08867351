# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The results of a study as medians and worst cases."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf, isfinite
from statistics import median
from typing import NamedTuple

from ...simulation import PLANTS
from .conditions import CONDITIONS, Condition
from .equal_noise import EqualNoise
from .single_run import Outcome
from .studied_laws import StudiedLaw
from .study_plan import ArmKey, Judgement, Study, StudyResults

MILLI = 1e3


class Cell(NamedTuple):
    """The draws of one law under one condition: median and worst of the rms errors in mrad (mm),
    infinite where the run was lost; the largest peak; and how many of the `draws` were lost."""

    median: float
    worst: float
    peak: float
    lost: int
    draws: int

    def __str__(self) -> str:
        if self.draws == 1:
            return figure(self.median)
        text = f"{figure(self.median)} / {figure(self.worst)}"
        if 0 < self.lost < self.draws:
            return f"{figure(self.median)} / lost ({self.lost} of {self.draws})"
        return text if self.lost < self.draws else "lost"


def figure(value: float) -> str:
    """A number with two significant digits; infinity is "lost"."""
    if not isfinite(value):
        return "lost"
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


class StudyTables:
    """Results by arm, plant, law and condition; `origin`: versions, processor and duration."""

    def __init__(self, study: Study, results: StudyResults, origin: Mapping[str, str]) -> None:
        self.study, self.results, self.origin = study, results, origin
        self._draws: dict[tuple[ArmKey, str, str, str], dict[int, Outcome]] = defaultdict(dict)
        for key, outcome in results.runs:
            self._draws[key.arm, key.plant, key.law, key.condition][key.draw] = outcome
        self.cells = {where: cell_of(list(found.values())) for where, found in self._draws.items()}

    @property
    def plant(self) -> str:
        """The plant of all runs; with "both", the one on which all were made."""
        return "internal" if self.study.plant == "both" else self.study.plant

    @cached_property
    def calibrations(self) -> Mapping[tuple[ArmKey, str], EqualNoise]:
        """By arm and key of the law."""
        return {(each.arm, each.law): each.result for each in self.results.calibrations}

    @cached_property
    def judgements(self) -> Mapping[tuple[ArmKey, str, float], Judgement]:
        """By arm, key of the law and error of the model."""
        return {(each.arm, each.law, each.error): each for each in self.results.judgements}

    def cell(self, arm: ArmKey, law: str, condition: str) -> Cell | None:
        """The result of a law under a condition; None if it was not studied."""
        return self.cells.get((arm, self.plant, law, condition))

    def on_both(self, arm: ArmKey, law: str, condition: str) -> tuple[Cell, Cell] | None:
        """The results on the internal plant and on MuJoCo, of the draws that both have; None if
        there are none."""
        pair = [self._draws.get((arm, plant, law, condition), {}) for plant in PLANTS]
        shared = sorted(set(pair[0]) & set(pair[1]))
        if not shared:
            return None
        internal, mujoco = (cell_of([draws[k] for k in shared]) for draws in pair)
        return internal, mujoco

    def given_arms(self) -> list[ArmKey]:
        """The robots with the springs for which all conditions were studied."""
        return [ArmKey(robot, self.study.given) for robot in self.study.robots]

    def conditions(self, *groups: str) -> list[Condition]:
        """The conditions of these groups that were studied."""
        return [
            each
            for each in CONDITIONS.values()
            if each.group in groups and each.group in self.study.groups
        ]

    def laws(self, arm: ArmKey) -> list[StudiedLaw]:
        """The laws studied on an arm, without the variants of the group `front`."""
        return [law for law in self.study.laws if (arm, law.key) in self.calibrations]


def cell_of(outcomes: Sequence[Outcome]) -> Cell:
    """The cell of the draws of one row."""
    rms = [inf if each.lost else MILLI * each.rms for each in outcomes]
    peaks = [inf if each.lost else MILLI * each.peak for each in outcomes]
    lost = sum(bool(each.lost) for each in outcomes)
    return Cell(_median(rms), max(rms), max(peaks), lost, len(outcomes))


def _median(values: list[float]) -> float:
    """The median; lost if half of the values or more are."""
    lost = sum(not isfinite(value) for value in values)
    return inf if 2 * lost >= len(values) else float(median(values))
