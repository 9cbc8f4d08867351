# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The plan of a study and its execution."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics.tools.study.studied_laws import REFERENCE, chosen_laws
from multibody_dynamics.tools.study.studied_robots import built_in_robots
from multibody_dynamics.tools.study.study_plan import (
    Study,
    planned_runs,
    run_study,
)
from study_arms import TWO_LINKS

ALL = Study(
    robots=tuple(built_in_robots().values()),
    stiffnesses=(0.5, 1.0, 5.0),
    laws=chosen_laws(["all"]),
    groups=("exact", "error", "parts", "delay", "contact"),
)


def test_the_main_laws_have_all_draws_with_all_parameters_off():
    counts = {}
    for key in planned_runs(ALL):
        where = key.arm.stiffness, key.law, key.condition
        counts.setdefault(where, set()).add(key.draw)
    assert counts[1.0, REFERENCE, "all-30"] == set(range(20))
    assert counts[1.0, REFERENCE, "links-30"] == set(range(4))
    assert counts[1.0, "linearization", "all-30"] == set(range(4))
    assert counts[5.0, REFERENCE, "all-30"] == set(range(4))
    assert counts[1.0, REFERENCE, "hit"] == {0}
    assert (5.0, REFERENCE, "hit") not in counts
    assert (5.0, "linearization", "exact") not in counts
    assert (1.0, "linearization", "links-30") not in counts


def test_no_run_is_planned_twice():
    keys = planned_runs(replace(ALL, plant="both"))
    assert len(set(keys)) == len(keys)


def test_both_plants_repeat_the_key_rows_on_mujoco():
    keys = planned_runs(replace(ALL, plant="both"))
    repeated = {(key.arm.stiffness, key.condition) for key in keys if key.plant == "mujoco"}
    assert (1.0, "hit") in repeated
    assert (1.0, "delay-3-unknown") not in repeated
    assert {stiffness for stiffness, _ in repeated} == {1.0}
    alone = planned_runs(replace(ALL, plant="mujoco"))
    assert {key._replace(plant="internal") for key in alone} == set(planned_runs(ALL))


def test_results_do_not_depend_on_the_number_of_processes():
    study = Study(
        robots=(TWO_LINKS,),
        stiffnesses=(1.0,),
        laws=chosen_laws([REFERENCE]),
        groups=("error",),
        draws=1,
        poses=0,
    )
    one, two = (run_study(study, workers) for workers in (1, 2))
    assert [key for key, _ in one.runs] == planned_runs(study)
    assert one == two
    assert all(np.isfinite(outcome.rms) for _, outcome in one.runs)


def test_main_laws_are_judged_at_many_poses():
    study = Study(
        robots=(TWO_LINKS,),
        stiffnesses=(1.0,),
        laws=chosen_laws([REFERENCE]),
        groups=(),
        poses=20,
    )
    found = run_study(study).judgements
    assert [each.error for each in found] == [0.0, 0.1, 0.2, 0.3]
    assert found[0].unstable == 0.0
    assert found[0].growth < 0.0
    assert found[3].growth > found[0].growth


@pytest.mark.parametrize(("draws", "few"), [(1, 1), (2, 2), (10, 2), (20, 4)])
def test_other_rows_have_a_fifth_of_the_draws(draws, few):
    assert replace(ALL, draws=draws).few == few
