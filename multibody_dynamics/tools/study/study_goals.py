# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Goals for the default law, and whether a study meets them."""

from __future__ import annotations

from typing import NamedTuple

from .studied_laws import REFERENCE
from .study_plan import ArmKey
from .study_tables import Cell, StudyTables, figure

GOALS_ROBOT = "panda"


class Goal(NamedTuple):
    """The rms error in mrad under a condition that the default law should not exceed; `worst` :
    whether it is for the worst draw instead of the median. `before` : the error of the default law
    against which these goals were set (state feedback at 40 rad/s, quasi-static or full)."""

    title: str
    condition: str
    limit: float
    before: float | None
    worst: bool = False

    def is_met(self, error: float) -> bool:
        """Whether an error in mrad meets the goal, to the digits in which the goal is stated."""
        return error <= 1.05 * self.limit


GOALS = (
    Goal("exact model", "exact", 0.02, 0.024),
    Goal("all parameters 10 % off, median", "all-10", 0.4, 1.35),
    Goal("all parameters 10 % off, worst", "all-10", 0.8, 2.45, worst=True),
    Goal("all parameters 30 % off, median", "all-30", 1.5, 5.2),
    Goal("unknown delay of 3 ms", "delay-3-unknown", 0.15, 1.9),
    Goal("hit of 100 N for 20 ms", "hit", 1.0, 2.3),
    Goal("payload of 2 kg, with observer", "payload-observer", 1.4, 2.3),
)
"""Set for the Panda with the given springs, on the motion of the demo."""


class Met(NamedTuple):
    """A goal, the error of the default law, and the law with the smallest error."""

    goal: Goal
    value: float
    best: str
    best_value: float

    @property
    def holds(self) -> bool:
        """Whether the default law meets the goal."""
        return self.goal.is_met(self.value)


def met_goals(tables: StudyTables) -> list[Met]:
    """The goals that this study can judge; none without the Panda and its given springs."""
    arm = goals_arm(tables)
    found: list[Met] = []
    for goal in GOALS if arm else ():
        assert arm is not None
        values = {}
        for law in tables.laws(arm):
            cell = tables.cell(arm, law.key, goal.condition)
            if cell is not None:
                values[law.key] = _value(cell, goal)
        if REFERENCE in values:
            best = min(values, key=lambda key: values[key])
            found.append(Met(goal, values[REFERENCE], best, values[best]))
    return found


def goals_arm(tables: StudyTables) -> ArmKey | None:
    """The arm for which the goals were set."""
    for arm in tables.given_arms():
        if arm.source.name == GOALS_ROBOT and arm.stiffness == 1.0:
            return arm
    return None


def missed_goals(tables: StudyTables, arm: ArmKey, law: str) -> list[str]:
    """The goals that a law misses on this arm, each with its error, of those that were studied."""
    missed = []
    for goal in GOALS:
        cell = tables.cell(arm, law, goal.condition)
        if cell is not None and not goal.is_met(_value(cell, goal)):
            missed.append(f"{goal.title} ({figure(_value(cell, goal))} mrad)")
    return missed


def _value(cell: Cell, goal: Goal) -> float:
    return cell.worst if goal.worst else cell.median
