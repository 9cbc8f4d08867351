# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Goals for the default law."""

import pytest

from multibody_dynamics.tools.study.studied_laws import REFERENCE
from multibody_dynamics.tools.study.study_goals import GOALS, met_goals
from study_arms import made_up


def test_goals_are_compared_with_the_default_and_the_best_law():
    tables = made_up(lambda key: 1e-3 if key.law == REFERENCE else 0.1e-3)
    found = {met.goal.title: met for met in met_goals(tables)}
    assert len(found) == len(GOALS)
    assert all(met.value == pytest.approx(1.0) for met in found.values())
    assert all(met.best_value == pytest.approx(0.1) for met in found.values())
    assert found["hit of 100 N for 20 ms"].holds
    assert not found["exact model"].holds


def test_the_worst_draw_has_a_goal_of_its_own():
    tables = made_up(lambda key: None if key.draw == 4 else 1e-4)
    found = {met.goal.title: met for met in met_goals(tables)}
    assert found["all parameters 10 % off, median"].holds
    assert not found["all parameters 10 % off, worst"].holds


def test_there_are_goals_for_the_panda_with_the_given_springs_only():
    assert met_goals(made_up(robots=("antagonistic",))) == []
    assert met_goals(made_up(stiffnesses=(5.0,))) == []
    assert len(met_goals(made_up(groups=("exact",)))) == 1
