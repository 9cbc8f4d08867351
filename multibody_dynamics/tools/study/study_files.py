# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The results of a study in files: study.json with everything, from which reports can be written
again and merged, and study.csv with the tables."""

import csv
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

from ...dynamics.core import InputError
from ...reporting.page import finite, write_json
from ..base.provenance import versions
from .conditions import CONDITIONS, GROUPS
from .equal_noise import TOLERANCE, EqualNoise
from .single_run import CHECKED, ENDING, LOST, SWING, Outcome
from .studied_laws import STUDIED_LAWS
from .studied_robots import RobotSource, built_in_robots
from .study_plan import ArmKey, Calibration, Judgement, RunKey, Study, StudyResults
from .study_tables import StudyTables

FORMAT = 1
PACKAGES = ("numpy", "scipy", "numba", "mujoco")
CSV_COLUMNS = ("robot", "stiffness", "plant", "law", "number", "condition", "draws", "lost",
               "median rms [mrad]", "worst rms [mrad]", "worst peak [mrad]")  # fmt: skip


def origin(seconds: float) -> dict[str, str]:
    """Versions, processor and duration of a study that took `seconds`."""
    cores = {"processor": processor(), "cores": str(os.cpu_count())}
    return versions(PACKAGES) | cores | {"minutes": f"{seconds / 60.0:.1f}"}


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
    write_json(as_dict(tables), folder / "study.json")
    with (folder / "study.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_COLUMNS)
        writer.writerows(_csv_rows(tables))


def as_dict(tables: StudyTables) -> dict[str, Any]:
    """Everything, for JSON; None where not finite."""
    study, results = tables.study, tables.results
    laws = [STUDIED_LAWS[key] for key in dict.fromkeys(each.law for each in results.calibrations)]
    content = {
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
        "laws": {law.key: {"title": law.title, "law": law.law} for law in laws},
        "conditions": {
            each.key: {"title": each.title, "group": each.group} for each in CONDITIONS.values()
        },
        "equal noise": [
            _arm(each.arm)
            | {"law": each.law, "unit": STUDIED_LAWS[each.law].unit, "note": each.result.note}
            | _named(each.result, NOISE)
            for each in results.calibrations
        ],
        "runs": [
            _arm(key.arm) | _named(key, RUN) | _named(outcome, OUTCOME)
            for key, outcome in results.runs
        ],
        "stability": [_arm(each.arm) | _named(each, JUDGEMENT) for each in results.judgements],
    }
    return dict(finite(content))


# Names in the files, and of the fields
NOISE = {"number": "number", "noise [N m]": "noise", "noise of the reference [N m]": "wanted"}
RUN = {name: name for name in ("plant", "law", "condition", "draw")}
OUTCOME = {"rms [rad]": "rms", "peak [rad]": "peak", "step [N m]": "step", "lost": "lost"}
JUDGEMENT = {"law": "law", "error": "error", "unstable share": "unstable", "growth [1/s]": "growth"}


def _named(value: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a value."""
    return {name: getattr(value, field) for name, field in names.items()}


def _fields(row: Mapping[str, Any], names: Mapping[str, str], missing: float = nan) -> Any:
    """The fields from a row of the file."""
    return {field: missing if row[name] is None else row[name] for name, field in names.items()}


def _robot(robot: RobotSource) -> dict[str, Any]:
    is_built_in = robot == built_in_robots().get(robot.name)
    files = {"urdf": str(robot.urdf), "springs": str(robot.springs)}
    return {"name": robot.name, "built in": is_built_in} | ({} if is_built_in else files)


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
    """The results in a file, without laws and conditions that this version does not have."""
    robots = {each["name"]: _source(each) for each in content["robots"]}
    about = content["study"]
    study = Study(
        robots=tuple(robots.values()),
        stiffnesses=tuple(about["stiffnesses"]),
        laws=tuple(STUDIED_LAWS[key] for key in content["laws"] if key in STUDIED_LAWS),
        groups=tuple(group for group in about["conditions"] if group in GROUPS),
        **{name: about[name] for name in ("plant", "draws", "seed", "poses")},
    )

    def rows(name: str) -> Iterator[tuple[ArmKey, Mapping[str, Any]]]:
        for each in content[name]:
            if each["law"] in STUDIED_LAWS:
                yield ArmKey(robots[each["robot"]], float(each["stiffness"])), each

    results = StudyResults(
        [
            Calibration(arm, row["law"], EqualNoise(**_fields(row, NOISE, missing=inf)))
            for arm, row in rows("equal noise")
        ],
        [
            (RunKey(arm, **_fields(row, RUN)), Outcome(**_fields(row, OUTCOME)))
            for arm, row in rows("runs")
        ],
        [Judgement(arm, **_fields(row, JUDGEMENT)) for arm, row in rows("stability")],
    )
    return StudyTables(study, results, content["origin"])


def _source(robot: Mapping[str, Any]) -> RobotSource:
    if robot["built in"]:
        return built_in_robots()[robot["name"]]
    name = robot["name"]
    return RobotSource(name, name, Path(robot["urdf"]), Path(robot["springs"]))


def _merged(one: StudyTables, other: StudyTables) -> StudyTables:
    a, b = one.study, other.study
    study = replace(
        a,
        robots=tuple(dict.fromkeys((*a.robots, *b.robots))),
        stiffnesses=tuple(sorted({*a.stiffnesses, *b.stiffnesses})),
        laws=tuple(law for law in STUDIED_LAWS.values() if law in (*a.laws, *b.laws)),
        groups=tuple(group for group in GROUPS if group in (*a.groups, *b.groups)),
        plant=a.plant if a.plant == b.plant else "both",
        draws=max(a.draws, b.draws),
    )
    calibrations = {
        each[:2]: each for each in other.results.calibrations + one.results.calibrations
    }
    judgements = {each[:3]: each for each in other.results.judgements + one.results.judgements}
    runs = dict(other.results.runs + one.results.runs)
    results = StudyResults([*calibrations.values()], [*runs.items()], [*judgements.values()])
    minutes = float(one.origin["minutes"]) + float(other.origin["minutes"])
    return StudyTables(study, results, {**one.origin, "minutes": f"{minutes:.1f}"})
