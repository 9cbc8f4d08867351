# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a study consists of, as the user chose it, its runs, and their execution on all cores.

Every run is determined by its arguments, so the results do not depend on the number of processes or
on their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.control import Arm
from ...dynamics.core import DynamicsError, InputError, in_order, worker_processes
from ...reporting.progress import ProgressBar
from ...simulation.mujoco_robot import import_mujoco
from .conditions import (
    CONDITIONS,
    KEY_GROUPS,
    MAIN_GROUPS,
    OTHER_STIFFNESS_GROUPS,
    Condition,
    chosen_groups,
)
from .equal_noise import EqualNoise, at_equal_noise, reference_noise
from .single_run import Outcome, simulate
from .studied_laws import STUDIED_LAWS, StudiedLaw, chosen_laws
from .studied_robots import (
    STIFFNESSES,
    RobotSource,
    StudiedArm,
    built_in_robots,
    load_arm,
    own_robot,
)

FEW = 5  # the share of draws outside the main rows is 1 / FEW
FEWEST = 2
JUDGED_DELAY = 1e-3  # s, as the node judges
JUDGED_ERRORS = (0.0, 0.1, 0.2, 0.3)
POSES = 100


@dataclass(frozen=True)
class Study:
    """What is to be studied.

    draws : of the main laws with all parameters of the model off; other rows have a fifth of them,
        but at least FEWEST.
    plant : one of PLANTS, or "both": the internal one, and KEY_GROUPS on MuJoCo as well.
    """

    robots: tuple[RobotSource, ...]
    stiffnesses: tuple[float, ...]
    laws: tuple[StudiedLaw, ...]
    groups: tuple[str, ...]
    plant: str = "internal"
    draws: int = 20
    seed: int = 0
    poses: int = POSES

    @property
    def few(self) -> int:
        """Draws outside the main rows."""
        return min(self.draws, max(FEWEST, self.draws // FEW))

    @property
    def given(self) -> float:
        """The stiffness for which all conditions are studied: the given springs, if chosen."""
        return 1.0 if 1.0 in self.stiffnesses else self.stiffnesses[0]


class ArmKey(NamedTuple):
    """A robot with a stiffness of its springs."""

    source: RobotSource
    stiffness: float


class RunKey(NamedTuple):
    """A run: what to simulate."""

    arm: ArmKey
    plant: str
    law: str
    condition: str
    draw: int


class Calibration(NamedTuple):
    """The number of a law for one arm."""

    arm: ArmKey
    law: str
    result: EqualNoise


class Judgement(NamedTuple):
    """Stability of a law at many poses with a wrong model: the share of unstable poses, and the
    fastest growth in 1/s, negative if all are stable; NaN if the law cannot be designed."""

    arm: ArmKey
    law: str
    error: float
    unstable: float
    growth: float


@dataclass
class StudyResults:
    """The results of a study so far, in the order of its plan."""

    calibrations: list[Calibration] = field(default_factory=list)
    runs: list[tuple[RunKey, Outcome]] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)


# What the user chose

WHOLE = {"robots": ("all",), "stiffnesses": STIFFNESSES, "laws": ("all",), "conditions": ("all",),
         "draws": 20, "poses": POSES}  # fmt: skip
QUICK = {"robots": ("panda",), "stiffnesses": (1.0,), "laws": ("main",),
         "conditions": ("exact", "error", "delay", "contact"), "draws": 2, "poses": 30}  # fmt: skip


def chosen_study(
    *,
    urdf: Path | None = None,
    springs: Path | None = None,
    plant: str = "internal",
    seed: int = 0,
    is_quick: bool = False,
    **chosen: Any,
) -> Study:
    """The study with these options; those of WHOLE have its values or, with `is_quick`, those of
    QUICK, unless they are given and not None.

    Raises InputError for names and combinations that do not exist, and DynamicsError if MuJoCo is
    needed and not installed.
    """
    if plant != "internal":
        import_mujoco()
    given = {name: value for name, value in chosen.items() if value}
    options = (QUICK if is_quick else WHOLE) | given
    stiffnesses = tuple(options["stiffnesses"])
    for factor in stiffnesses:
        if not 0.01 <= factor <= 100.0:
            raise InputError(f"--stiffness {factor:g}: must be from 0.01 to 100")
        if stiffnesses.count(factor) > 1:
            raise InputError(f"--stiffness: {factor:g} is given twice")
    if seed < 0:
        raise InputError(f"--seed {seed}: must be zero or greater")
    return Study(
        robots=_robots(options["robots"], given.get("robots"), urdf, springs),
        stiffnesses=stiffnesses,
        laws=chosen_laws(options["laws"]),
        groups=chosen_groups(options["conditions"]),
        plant=plant,
        draws=options["draws"],
        seed=seed,
        poses=options["poses"],
    )


def _robots(
    names: Sequence[str], given: Sequence[str] | None, urdf: Path | None, springs: Path | None
) -> tuple[RobotSource, ...]:
    if urdf is not None or springs is not None:
        if urdf is None or springs is None:
            raise InputError("--urdf and --elastic-joints: your own robot needs both")
        if given:
            raise InputError("--robots and --urdf: choose one of them")
        return (own_robot(urdf, springs),)
    built_in = built_in_robots()
    for name in names:
        if name not in built_in and name != "all":
            raise InputError(f"robot '{name}': expected all or some of {', '.join(built_in)}")
    return tuple(robot for name, robot in built_in.items() if name in names or "all" in names)


# The plan


def arms_of(study: Study) -> list[ArmKey]:
    """The robots with their stiffnesses."""
    return [ArmKey(robot, factor) for robot in study.robots for factor in study.stiffnesses]


def planned_laws(study: Study, arm: ArmKey) -> list[StudiedLaw]:
    """The laws that are studied on an arm."""
    return [law for law in study.laws if arm.stiffness == study.given or law.is_main]


def planned_runs(study: Study) -> list[RunKey]:
    """All runs, in the order of the results."""
    runs: list[RunKey] = []
    for arm in arms_of(study):
        is_given = arm.stiffness == study.given
        for law in planned_laws(study, arm):
            for condition in _conditions(study, arm, law):
                plants = [study.plant] if study.plant != "both" else ["internal"]
                is_key = law.is_main and condition.group in KEY_GROUPS and is_given
                if study.plant == "both" and is_key:
                    plants.append("mujoco")
                draws = _draws(study, arm, law, condition)
                runs += [
                    RunKey(arm, plant, law.key, condition.key, draw)
                    for plant in plants
                    for draw in range(draws if plant == plants[0] else min(draws, study.few))
                ]
    return runs


def _conditions(study: Study, arm: ArmKey, law: StudiedLaw) -> list[Condition]:
    is_given = arm.stiffness == study.given
    return [
        each
        for each in CONDITIONS.values()
        if each.group in study.groups
        and (is_given or each.group in OTHER_STIFFNESS_GROUPS)
        and (law.is_main or each.group not in MAIN_GROUPS)
    ]


def _draws(study: Study, arm: ArmKey, law: StudiedLaw, condition: Condition) -> int:
    if not condition.is_random:
        return 1
    is_main_row = law.is_main and condition.group == "error" and arm.stiffness == study.given
    return study.draws if is_main_row else study.few


def run_study(study: Study, workers: int = 1, results: StudyResults | None = None) -> StudyResults:
    """Calibrate all laws, simulate all runs and judge the main laws, in `workers` processes.

    results : filled as the results come, so that Ctrl-C loses none of them.
    """
    study_results = results or StudyResults()
    arms = arms_of(study)
    for arm in arms:
        load_arm(*arm)  # raises errors of files here, and compiles once
    with worker_processes(workers) as executor:

        def work(function: Any, jobs: list[Any], what: str, done: list[Any]) -> None:
            in_order(executor, function, jobs, ProgressBar(what), done)

        noises: list[float] = []
        work(_reference, [(arm, study.seed) for arm in arms], "robots", noises)
        jobs = [
            (arm, law.key, noise, study.seed)
            for arm, noise in zip(arms, noises, strict=True)
            for law in planned_laws(study, arm)
        ]
        work(_calibrate, jobs, "laws", study_results.calibrations)
        numbers = {(each.arm, each.law): each.result.number for each in study_results.calibrations}
        tasks = [(key, numbers[key.arm, key.law], study.seed) for key in planned_runs(study)]
        work(_run, tasks, "runs", study_results.runs)
        judged = [
            (each.arm, each.law, each.result.number, error, study.poses)
            for each in study_results.calibrations
            if each.arm.stiffness == study.given and STUDIED_LAWS[each.law].is_main
            for error in JUDGED_ERRORS
            if study.poses
        ]
        work(_judge, judged, "judgements", study_results.judgements)
    return study_results


# Executed in the processes


def _reference(job: tuple[ArmKey, int]) -> float:
    arm, seed = job
    return reference_noise(load_arm(*arm), seed)


def _calibrate(job: tuple[ArmKey, str, float, int]) -> Calibration:
    arm, law, wanted, seed = job
    return Calibration(arm, law, at_equal_noise(load_arm(*arm), STUDIED_LAWS[law], wanted, seed))


def _run(job: tuple[RunKey, float, int]) -> tuple[RunKey, Outcome]:
    key, number, seed = job
    arm, law = load_arm(*key.arm), STUDIED_LAWS[key.law].at(number)
    condition = CONDITIONS[key.condition]
    return key, simulate(arm, law, condition, plant=key.plant, seed=seed, draw=key.draw)


def _judge(job: tuple[ArmKey, str, float, float, int]) -> Judgement:
    key, name, number, error, poses = job
    return Judgement(
        key, name, error, *judge(load_arm(*key), STUDIED_LAWS[name].at(number), error, poses)
    )


def judge(arm: StudiedArm, law: StudiedLaw, error: float, poses: int) -> tuple[float, float]:
    """The share of unstable poses and the fastest growth in 1/s, as in a Judgement."""
    try:
        settings = law.flatness_settings(arm, CONDITIONS["exact"])
        controller = Arm(arm.model, arm.actuators, settings)
        controller.second.rows[0] = arm.outputs
        found = controller.laws.judge(
            law.law, arm.start, delay=JUDGED_DELAY, model_error=error, poses=poses
        )
    except DynamicsError:
        return nan, nan
    assert found is not None
    return found.unstable_share, float(np.nanmax(found.growth))
