# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The results of a study in files: study.json with everything, from which reports can be written
again and merged, and study.csv with the tables."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

from ... import __version__
from ...dynamics.core import InputError
from .conditions import CONDITIONS, GROUPS
from .equal_noise import TOLERANCE, EqualNoise
from .single_run import CHECKED, ENDING, LOST, SWING, Outcome
from .studied_laws import FRONT_LAWS, STUDIED_LAWS, law_of
from .studied_robots import RobotSource, built_in_robots
from .study_plan import ArmKey, Calibration, Judgement, RunKey, Study, StudyResults
from .study_tables import StudyTables

FORMAT = 1
PACKAGES = ("numpy", "scipy", "numba", "mujoco")
CSV_COLUMNS = ("robot", "stiffness", "plant", "law", "number", "condition", "draws", "lost",
               "median rms [mrad]", "worst rms [mrad]", "worst peak [mrad]")  # fmt: skip


def origin(seconds: float) -> dict[str, str]:
    """Versions, processor and duration of a study that took `seconds`."""
    found = {"multibody_dynamics": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    cores = {"processor": processor(), "cores": str(os.cpu_count())}
    return found | cores | {"minutes": f"{seconds / 60.0:.1f}"}


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


# Writing


def write_tables(tables: StudyTables, folder: Path) -> None:
    """Write study.json, with everything, and study.csv, one row per law and condition."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_dict(tables), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "study.json").write_text(text + "\n", encoding="utf-8")
    with (folder / "study.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_COLUMNS)
        writer.writerows(_csv_rows(tables))


def as_dict(tables: StudyTables) -> dict[str, Any]:
    """Everything, for JSON; None where not finite."""
    study, results = tables.study, tables.results
    keys = dict.fromkeys(each.law for each in results.calibrations)
    return {
        "format": FORMAT,
        "origin": dict(tables.origin),
        "study": {
            "plant": study.plant,
            "draws": study.draws,
            "few draws": study.few,
            "seed": study.seed,
            "poses": study.poses,
            "stiffnesses": list(study.stiffnesses),
            "conditions": list(study.groups),
            "lost beyond [rad]": LOST,
            "unstable beyond a swing of [rad rms]": SWING,
            "at the end, for [s]": ENDING,
            "if it does not decay within [s]": CHECKED,
            "tolerance of equal noise": TOLERANCE,
        },
        "robots": [_robot(robot) for robot in study.robots],
        "laws": {key: {"title": law_of(key).title, "law": law_of(key).law} for key in keys},
        "conditions": {
            each.key: {"title": each.title, "group": each.group} for each in CONDITIONS.values()
        },
        "equal noise": [_calibration(each) for each in results.calibrations],
        "runs": [_run(key, outcome) for key, outcome in results.runs],
        "stability": [_judgement(each) for each in results.judgements],
    }


def _calibration(each: Calibration) -> dict[str, Any]:
    return {
        **_arm(each.arm),
        "law": each.law,
        "number": each.result.number,
        "unit": law_of(each.law).unit,
        "noise [N m]": _finite(each.result.noise),
        "noise of the reference [N m]": each.result.wanted,
        "note": each.result.note,
    }


def _run(key: RunKey, outcome: Outcome) -> dict[str, Any]:
    return {
        **_arm(key.arm),
        "plant": key.plant,
        "law": key.law,
        "condition": key.condition,
        "draw": key.draw,
        "rms [rad]": _finite(outcome.rms),
        "peak [rad]": _finite(outcome.peak),
        "step [N m]": _finite(outcome.step),
        "lost": outcome.lost,
    }


def _judgement(each: Judgement) -> dict[str, Any]:
    return {
        **_arm(each.arm),
        "law": each.law,
        "error": each.error,
        "unstable share": _finite(each.unstable),
        "growth [1/s]": _finite(each.growth),
    }


def _robot(robot: RobotSource) -> dict[str, Any]:
    is_built_in = robot == built_in_robots().get(robot.name)
    files = {"urdf": str(robot.urdf), "springs": str(robot.springs)}
    return {"name": robot.name, "built in": is_built_in} | ({} if is_built_in else files)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _arm(arm: ArmKey) -> dict[str, Any]:
    return {"robot": arm.source.name, "stiffness": arm.stiffness}


def _csv_rows(tables: StudyTables) -> list[tuple[Any, ...]]:
    rows = []
    for (arm, plant, law, condition), cell in tables.cells.items():
        number = tables.calibrations[arm, law].number
        values = (f"{x:.6g}" if isfinite(x) else "lost" for x in cell[:3])
        head = (arm.source.name, arm.stiffness, plant, law, f"{number:.4g}", condition)
        rows.append((*head, cell.draws, cell.lost, *values))
    return rows


# Reading


def read_tables(files: Sequence[Path]) -> StudyTables:
    """The results of one or more studies, merged. Where several have the same run, the first
    counts.

    Raises InputError for files that are not results of this version of the study, and for studies
    with different seeds.
    """
    found = [_read(file) for file in files]
    merged = found[0]
    for each, file in zip(found[1:], files[1:], strict=True):
        if each.study.seed != merged.study.seed:
            raise InputError(f"{file}: seed {each.study.seed} differs from {merged.study.seed}")
        merged = _merged(merged, each)
    return merged


def _read(file: Path) -> StudyTables:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise InputError(f"{file}: format {content['format']}, expected {FORMAT}")
        return _tables(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file}: not the results of a study ({error!r})") from None


def _tables(content: Mapping[str, Any]) -> StudyTables:
    robots = {each["name"]: _source(each) for each in content["robots"]}
    about = content["study"]

    def arm(each: Mapping[str, Any]) -> ArmKey:
        return ArmKey(robots[each["robot"]], float(each["stiffness"]))

    keys = [key for key in content["laws"] if key not in FRONT_LAWS]
    study = Study(
        robots=tuple(robots.values()),
        stiffnesses=tuple(about["stiffnesses"]),
        laws=tuple(STUDIED_LAWS[key] for key in keys),
        groups=tuple(about["conditions"]),
        plant=about["plant"],
        draws=about["draws"],
        seed=about["seed"],
        poses=about["poses"],
    )
    calibrations = [
        Calibration(
            arm(each),
            each["law"],
            EqualNoise(
                each["number"],
                _number(each["noise [N m]"], inf),
                each["noise of the reference [N m]"],
            ),
        )
        for each in content["equal noise"]
    ]
    runs = [
        (
            RunKey(arm(each), each["plant"], each["law"], each["condition"], each["draw"]),
            Outcome(
                *(_number(each[name], nan) for name in ("rms [rad]", "peak [rad]", "step [N m]")),
                lost=each["lost"],
            ),
        )
        for each in content["runs"]
    ]
    judgements = [
        Judgement(
            arm(each),
            each["law"],
            each["error"],
            _number(each["unstable share"], nan),
            _number(each["growth [1/s]"], nan),
        )
        for each in content["stability"]
    ]
    results = StudyResults(tuple(calibrations), tuple(runs), tuple(judgements))
    return StudyTables(study, results, content["origin"])


def _number(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)


def _source(robot: Mapping[str, Any]) -> RobotSource:
    if robot["built in"]:
        return built_in_robots()[robot["name"]]
    name = robot["name"]
    return RobotSource(name, name, Path(robot["urdf"]), Path(robot["springs"]))


def _merged(one: StudyTables, other: StudyTables) -> StudyTables:
    a, b = one.study, other.study
    groups = {*a.groups, *b.groups}
    laws = {law.key for law in (*a.laws, *b.laws)}
    study = replace(
        a,
        robots=_union(a.robots, b.robots),
        stiffnesses=tuple(sorted({*a.stiffnesses, *b.stiffnesses})),
        laws=tuple(law for law in STUDIED_LAWS.values() if law.key in laws),
        groups=tuple(group for group in GROUPS if group in groups),
        plant=a.plant if a.plant == b.plant else "both",
        draws=max(a.draws, b.draws),
    )
    calibrations = {(each.arm, each.law): each for each in _last_first(one, other, "calibrations")}
    runs = {**dict(other.results.runs), **dict(one.results.runs)}
    judgements = {
        (each.arm, each.law, each.error): each for each in _last_first(one, other, "judgements")
    }
    results = StudyResults(
        tuple(calibrations.values()), tuple(runs.items()), tuple(judgements.values())
    )
    minutes = float(one.origin["minutes"]) + float(other.origin["minutes"])
    return StudyTables(study, results, {**one.origin, "minutes": f"{minutes:.1f}"})


def _last_first(one: StudyTables, other: StudyTables, name: str) -> Iterable[Any]:
    return (*getattr(other.results, name), *getattr(one.results, name))


def _union(one: Sequence[RobotSource], other: Sequence[RobotSource]) -> tuple[RobotSource, ...]:
    return tuple(dict.fromkeys((*one, *other)))
