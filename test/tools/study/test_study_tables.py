# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Medians and worst cases."""

from math import inf

import pytest

from multibody_dynamics.tools.study.studied_laws import REFERENCE
from multibody_dynamics.tools.study.study_tables import Cell, figure
from study_arms import given, made_up


def test_median_worst_and_peak_in_mrad():
    tables = made_up(lambda key: 1e-3 * (key.draw + 1))
    cell = tables.cell(given(tables), REFERENCE, "all-10")
    assert cell == Cell(pytest.approx(3.0), pytest.approx(5.0), pytest.approx(15.0), 0, 5)
    assert str(cell) == "3 / 5"
    assert str(tables.cell(given(tables), REFERENCE, "hit")) == "1"


@pytest.mark.parametrize(
    ("lost", "text"),
    [({4}, "3 / lost (1 of 5)"), ({0, 1, 2}, "lost / lost (3 of 5)"), (set(range(5)), "lost")],
)
def test_lost_runs_never_become_numbers(lost, text):
    tables = made_up(lambda key: None if key.draw in lost else 1e-3 * (key.draw + 1))
    cell = tables.cell(given(tables), REFERENCE, "all-20")
    assert str(cell) == text
    assert cell.worst == inf
    assert cell.lost == len(lost)


def test_a_median_is_lost_if_half_of_the_draws_are():
    tables = made_up(lambda key: None if key.draw < 2 else 1e-3, draws=4)
    assert tables.cell(given(tables), REFERENCE, "all-20").median == inf


def test_what_was_not_studied_has_no_cell():
    tables = made_up(groups=("exact",))
    assert tables.cell(given(tables), REFERENCE, "all-20") is None
    assert tables.cell(given(tables), "computed-torque", "exact") is None
    assert tables.conditions("error") == []


def test_plants_are_compared_over_the_draws_that_both_have():
    tables = made_up(lambda key: 1e-3 * (key.draw + 1), plant="both", draws=10)
    internal, mujoco = tables.on_both(given(tables), REFERENCE, "all-10")
    assert internal == mujoco
    assert internal.draws == 2
    assert tables.cell(given(tables), REFERENCE, "all-10").draws == 10
    assert tables.on_both(given(tables), REFERENCE, "delay-3-unknown") is None


@pytest.mark.parametrize(
    ("value", "text"), [(0.0181, "0.018"), (12.3, "12"), (234.5, "234"), (inf, "lost")]
)
def test_figures(value, text):
    assert figure(value) == text
