# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the steps of the road left behind, for the report: plan, identification, provenance."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...dynamics.core import InputError, reading
from ..base.provenance import digest_of
from .known_robots import RobotFiles

SUMMARY, PLAN_PICTURE = "summary.json", "excitation.png"
REPORT, FIT_PICTURE = "report.json", "identification.png"
VERDICTS = ("well", "roughly", "barely", "no")


class Step(NamedTuple):
    """A step of the road: its files if it was taken, and the command that takes it."""

    name: str
    done: str
    command: str

    @property
    def is_missing(self) -> bool:
        return not self.done


class Source(NamedTuple):
    """A file or folder from which a result was computed."""

    path: Path
    written: str
    digest: str


@dataclass(frozen=True)
class Artefacts:
    """plans : summaries of `excite` by folder. report : the content of report.json of `identify`.
    pictures : files by what they show. steps : all steps in order. sources : the files used.
    """

    plans: dict[Path, dict[str, Any]]
    report: dict[str, Any]
    steps: tuple[Step, ...]
    sources: tuple[Source, ...]
    pictures: dict[str, Path] = field(default_factory=dict)


def collect(
    files: RobotFiles,
    plans: Sequence[Path] = (),
    written: Path | None = None,
    recordings: Sequence[Path] = (),
) -> Artefacts:
    """Read what the steps left behind. Raises InputError, naming the file, if one is invalid."""
    urdf, elastic_joints, identified, _ = files
    summaries = {folder: _json(folder / SUMMARY) for folder in plans}
    report = _json(identified / REPORT).get("identification")
    if not isinstance(report, dict):
        raise InputError(f"{identified / REPORT}: not a report of `identify`")
    robot = [urdf, *filter(None, [elastic_joints])]
    results = [
        file
        for folder in filter(None, (identified, written))
        for file in sorted(folder.iterdir())
        if file.is_file()
    ]
    pictures = {f"plan {folder}": folder / PLAN_PICTURE for folder in plans}
    pictures["fit"] = identified / FIT_PICTURE
    springs = f" --elastic-joints {elastic_joints}" if elastic_joints else ""
    steps = (
        Step("excite", ", ".join(map(str, plans)),
             f"multibody_dynamics excite {urdf}{springs} -o plan; then --excitation plan"),
        Step("record", ", ".join(report.get("fitted", ())),
             "multibody_dynamics record -o RECORDING"),
        Step("identify", str(identified), "multibody_dynamics identify RECORDING ..."),
        Step("write back", str(written or ""),
             f"multibody_dynamics write-back {identified} --urdf {urdf}{springs} -o new;"
             " then --written new"),
        Step("validate", ", ".join(path.name for path in recordings),
             "a recording that was not used for the fit, as an argument of prove"),
    )  # fmt: skip
    used = (*robot, *(folder / SUMMARY for folder in plans), *results, *recordings)
    return Artefacts(
        summaries,
        report,
        steps,
        tuple(map(_source, used)),
        {name: file for name, file in pictures.items() if file.is_file()},
    )


def _source(path: Path) -> Source:
    if not path.exists():
        raise InputError(f"{path}: no such file")
    when = datetime.fromtimestamp(path.stat().st_mtime).isoformat(" ", "seconds")
    return Source(path, when, digest_of(path))


def _json(file: Path) -> dict[str, Any]:
    with reading(file, "a JSON file"):
        content = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise InputError(f'{file}: expected a JSON object, {{"name": ...}}, got a {kind}')
    return content
