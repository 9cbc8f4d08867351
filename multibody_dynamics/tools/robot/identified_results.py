# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reads the results of all commands that identify parameters of a robot.

    identified.json   of `identify` and `validate --identify`: links, friction, motors and springs,
                      each number with its standard error
    springs.yaml      of `identify-springs`

All quantities are in SI units, on the link side of the gear.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...dynamics.core import InputError, file_reader, read_yaml
from ...dynamics.identification import leaves, read_identified
from .urdf_text import MATRIX

JSON, REPORT, SPRINGS = "identified.json", "report.json", "springs.yaml"
BESIDE = (REPORT, "identified.yaml")  # contain the same numbers in other forms
CERTAIN = 1.96  # standard errors
TEN = ("mass", *(f"com.{name}" for name in "xyz"), *(f"inertia.{name}" for name in MATRIX))
FRICTION = ("viscous", "coulomb", "coulomb_velocity", "offset")


class Figure(NamedTuple):
    """An identified number. error : standard error, NaN if unknown. determined : by the recordings;
    otherwise the value is the one that was known before."""

    value: float
    error: float = math.nan
    determined: bool = True


Figures = dict[str, Figure]


def rounded(value: float) -> float:
    """A number as it is written into files: no standard error is as small as its tenth digit."""
    return float(f"{value:.10g}")


def not_negative(what: str, figure: Figure, notes: list[str]) -> Figure:
    """Zero in place of negative friction or damping, which would drive the joint; with a note if it
    is negative by more than its error."""
    if figure.value >= 0.0:
        return figure
    if figure.value + CERTAIN * figure.error < 0.0 or math.isnan(figure.error):
        notes.append(
            f"{what} {figure.value:.4g} +- {figure.error:.2g} is negative: zero is written; if it "
            "is large, check the signs of the torques, and whether friction has this form"
        )
    return figure._replace(value=0.0)


@dataclass(frozen=True, eq=False)
class Results:
    """Identified numbers by the name of their body, joint or motor.

    bodies : TEN numbers of each moving body with everything fixed to it, in the axes of its link;
    the inertia is about the centre of mass. laws : springs as in an actuator file, which replace
    those of the joint. sources : the files that were read.
    """

    bodies: dict[str, Figures] = field(default_factory=dict)
    joints: dict[str, Figures] = field(default_factory=dict)
    motors: dict[str, Figures] = field(default_factory=dict)
    springs: dict[str, Figures] = field(default_factory=dict)
    laws: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


@file_reader
def read_results(path: Path) -> Results:
    """The results in a folder, or in one of these files.

    Raises InputError if there are none, or if an entry is invalid; the message names the file and
    the entry.
    """
    files = [path] if path.is_file() else [path / name for name in (JSON, SPRINGS)]
    files = [file.with_name(JSON) if file.name in BESIDE else file for file in files]
    files = [file for file in files if file.is_file()]
    if not files:
        raise InputError(f"{path}: has none of the files {JSON}, {SPRINGS}")
    results = Results()
    sources: list[Path] = []
    notes: list[str] = []
    for file in files:
        sources.append(file)
        if file.suffix == ".json":
            notes += _read_json(file, results)
            report = file.with_name(REPORT)
            sources += [report] if report.is_file() and file.name == JSON else []
        else:
            results.laws.update(_spring_laws(file))
    _check(results, sources)
    return Results(
        results.bodies, results.joints, results.motors, results.springs, results.laws,
        tuple(dict.fromkeys(sources)), tuple(notes),
    )  # fmt: skip


def _read_json(file: Path, found: Results) -> list[str]:
    """Add all parameters; returns those that have no place in the robot's files."""
    content = read_identified(file)
    parts = {"links": found.bodies, "joints": found.joints, "motors": found.motors,
             "springs": found.springs}  # fmt: skip
    for part, target in parts.items():
        for name, values in content[part].items():
            if not isinstance(values, Mapping):
                raise InputError(f"{file}: {part}.{name}: expected a mapping from names to values")
            target[name] = {key: Figure(*value) for key, value in leaves(values)}
    return [
        f"{file.name}: {part}.{name} = {value.value:.6g} +- {value.error:.2g} is not part of a URDF"
        for part in ("gains", "delays", "payloads")
        for name, value in leaves(content[part])
        if value.determined
    ]


def _spring_laws(file: Path) -> dict[str, dict[str, Any]]:
    content = read_yaml(file)
    joints = content.get("joints") if isinstance(content, Mapping) else None
    if not isinstance(joints, Mapping):
        raise InputError(f"{file}: expected the springs of `identify-springs`")
    laws = {}
    for joint, entry in joints.items():
        if entry is not None and not isinstance(entry, Mapping):
            raise InputError(f"{file}: joints.{joint}: expected a mapping, got {entry!r}")
        for key, value in (entry or {}).items():
            if key == "spring":
                laws[joint] = value
            elif isinstance(value, Mapping) and "spring" in value:
                laws[f"{joint}_{key}"] = value["spring"]
    return laws


def _check(found: Results, sources: list[Path]) -> None:
    where = ", ".join(map(str, sources))
    for part in (found.bodies, found.joints, found.motors, found.springs):
        for name, figures in part.items():
            for key, figure in figures.items():
                if not math.isfinite(figure.value):
                    raise InputError(f"{where}: {name}: {key} is {figure.value}, not finite")
    for body, figures in found.bodies.items():
        missing = [key for key in TEN if key not in figures]
        if missing:
            raise InputError(f"{where}: link '{body}': {', '.join(missing)} is missing")
