# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A small study for tests: the planar two-link arm on a short motion, and made-up results."""

from functools import cache

from multibody_dynamics.tools.study.conditions import GROUPS
from multibody_dynamics.tools.study.equal_noise import EqualNoise
from multibody_dynamics.tools.study.single_run import Outcome
from multibody_dynamics.tools.study.studied_laws import REFERENCE, chosen_laws
from multibody_dynamics.tools.study.studied_robots import RobotSource, built_in_robots, load_arm
from multibody_dynamics.tools.study.study_plan import (
    JUDGED_ERRORS,
    ArmKey,
    Calibration,
    Judgement,
    Study,
    StudyResults,
    arms_of,
    planned_laws,
    planned_runs,
)
from multibody_dynamics.tools.study.study_tables import StudyTables
from robots import CONFIG

TWO_LINKS = RobotSource(
    "two_links",
    "two links",
    CONFIG / "robots" / "planar_two_link.urdf",
    CONFIG / "elastic_joints" / "planar_two_link.yaml",
    ((0.2, 0.4), (0.35, 0.2), (0.2, 0.4)),
)
EVERY_KIND = ("linear", "cubic", "polynomial", "table", "variable", "driven", "antagonistic",
              "slide", "stiff")  # fmt: skip
"""The joints of config/elastic_joints/every_kind.yaml."""
ORIGIN = {"multibody_dynamics": "0", "minutes": "1.0"}


@cache
def panda():
    return load_arm(built_in_robots()["panda"])


@cache
def two_links():
    return load_arm(TWO_LINKS)


def made_up(error=None, *, robots=("panda",), laws=("main",), **changes):
    """The tables of a study whose outcomes are `error`(key) in rad; None stands for a lost run."""
    sources = tuple(built_in_robots()[name] for name in robots)
    study = Study(
        robots=sources, stiffnesses=changes.pop("stiffnesses", (1.0,)), laws=chosen_laws(laws),
        groups=changes.pop("groups", tuple(GROUPS)), draws=changes.pop("draws", 5), **changes,
    )  # fmt: skip
    calibrations = [
        Calibration(arm, law.key, EqualNoise(law.default, 0.26, 0.26))
        for arm in arms_of(study)
        for law in planned_laws(study, arm)
    ]
    runs = []
    for key in planned_runs(study):
        rms = 1e-3 if error is None else error(key)
        outcome = Outcome(lost="made up") if rms is None else Outcome(rms, 3.0 * rms, 0.26)
        runs.append((key, outcome))
    judgements = [
        Judgement(each.arm, each.law, error, error, 10.0 * error - 1.0)
        for each in calibrations
        if each.law == REFERENCE
        for error in JUDGED_ERRORS
    ]
    results = StudyResults(tuple(calibrations), tuple(runs), tuple(judgements))
    return StudyTables(study, results, ORIGIN)


def given(tables):
    """The first arm of a study."""
    return ArmKey(tables.study.robots[0], tables.study.given)
