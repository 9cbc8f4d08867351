# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the user chose to study, the plan of the runs, and their execution."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.study.conditions import GROUPS
from multibody_dynamics.tools.study.studied_laws import REFERENCE, STUDIED_LAWS, chosen_laws
from multibody_dynamics.tools.study.studied_robots import built_in_robots
from multibody_dynamics.tools.study.study_plan import Study, chosen_study, planned_runs, run_study
from robots import CONFIG
from study_arms import TWO_LINKS

URDF = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
ALL = Study(
    robots=tuple(built_in_robots().values()),
    stiffnesses=(0.5, 1.0, 5.0),
    laws=chosen_laws(["all"]),
    groups=("exact", "error", "parts", "delay", "contact"),
)


def test_by_default_everything_is_studied():
    study = chosen_study()
    assert [robot.name for robot in study.robots] == ["panda", "six_joint_arm", "antagonistic"]
    assert study.stiffnesses == (0.5, 1.0, 5.0)
    assert len(study.laws) == len(STUDIED_LAWS)
    assert study.draws == 20
    assert study.groups == tuple(GROUPS)


def test_a_quick_study_is_small_and_can_be_extended():
    study = chosen_study(is_quick=True)
    assert [robot.name for robot in study.robots] == ["panda"]
    assert study.stiffnesses == (1.0,)
    assert study.draws == 2
    more = chosen_study(is_quick=True, robots=["antagonistic"], conditions=["hit"][:0], draws=3)
    assert [robot.name for robot in more.robots] == ["antagonistic"]
    assert more.draws == 3


def test_ones_own_robot_takes_the_place_of_the_built_in_ones():
    study = chosen_study(urdf=URDF, springs=SPRINGS, laws=["pd-full"])
    assert [robot.name for robot in study.robots] == ["planar_two_link"]
    assert [law.key for law in study.laws] == [REFERENCE, "pd-full"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robots": ["r2d2"]}, "robot 'r2d2': expected all or some of panda, six_joint_arm"),
        ({"urdf": URDF}, "your own robot needs both"),
        ({"urdf": URDF, "springs": SPRINGS, "robots": ["panda"]}, "choose one of them"),
        ({"stiffnesses": [0.0]}, "--stiffness 0: must be from 0.01 to 100"),
        ({"stiffnesses": [1.0, 1.0]}, "--stiffness: 1 is given twice"),
        ({"seed": -1}, "--seed -1: must be zero or greater"),
        ({"laws": ["pid"]}, "law 'pid'"),
        ({"conditions": ["storm"]}, "conditions 'storm'"),
    ],
)
def test_wrong_choices_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        chosen_study(**options)


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
        robots=(TWO_LINKS,), stiffnesses=(1.0,), laws=chosen_laws([REFERENCE]), groups=(), poses=20
    )
    found = run_study(study).judgements
    assert [each.error for each in found] == [0.0, 0.1, 0.2, 0.3]
    assert found[0].unstable == 0.0
    assert found[0].growth < 0.0
    assert found[3].growth > found[0].growth
