# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The proof of an identified model: all of its steps, the report, and the numbers as JSON."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...reporting.page import write_json
from .held_out import HeldEquation, HeldOut, compare_held_out, held_equations, overall
from .known_robots import RobotFiles, load_known
from .predicted_control import Prediction, Proof, predict
from .proof_artefacts import collect
from .proof_page import ProofReport, summary, write_report

FILE = "proof.json"


class Proven(NamedTuple):
    """The result in a few lines, the page, and whether the model is better than the data sheet."""

    lines: tuple[str, ...]
    page: Path
    is_better: bool


def prove(
    files: RobotFiles,
    proof: Proof | None,
    *,
    recordings: Sequence[Path] = (),
    reading: Mapping[str, Any] = MappingProxyType({}),
    plans: tuple[Path, ...] = (),
    written: Path | None = None,
    folder: Path,
    workers: int = 1,
) -> Proven:
    """Validate, predict if a `proof` is given, and write report.html and proof.json.

    reading : how recordings are read, see :func:`.compare_held_out`. plans : folders of `excite`;
    written : folder of `write-back`; both only for the report.

    After Ctrl-C, proof.json has the validation and the laws that were simulated on all robots.
    Raises InputError, naming the file, if one is missing, invalid, or belongs to another robot.
    """
    artefacts = collect(files, plans, written, recordings)
    known = load_known(files)
    equations = held_equations(recordings, known, artefacts.report)
    compared = () if equations else recordings
    held = compare_held_out(compared, files, known, **reading)
    write_json(figures(held, None, equations), folder / FILE)
    prediction = predict(proof, workers) if proof else None
    write_json(figures(held, prediction, equations), folder / FILE)
    if prediction is not None and not prediction.is_complete:
        raise KeyboardInterrupt(f"{folder / FILE} has what was done")
    report = ProofReport(known, artefacts, held, prediction, equations)
    page = write_report(report, folder)
    is_better = True
    if held:
        before, after = overall(held)
        is_better = bool(np.log(after / before).mean() < 0.0)
    elif equations:
        is_better = bool(np.mean([np.log(each.after / each.before) for each in equations]) < 0.0)
    return Proven(tuple(summary(report)), page, is_better)


def figures(
    held: Sequence[HeldOut],
    prediction: Prediction | None,
    equations: Sequence[HeldEquation] = (),
) -> dict[str, Any]:
    """The results as plain numbers; the error of a lost robot is infinite."""
    content: dict[str, Any] = {
        "validation": {
            str(each.path): {
                joint: {"before": float(before), "after": float(after)}
                for joint, before, after in zip(each.after.joint_names, *each.rms, strict=True)
            }
            for each in held
        }
    }
    if equations:
        content["equations"] = [each._asdict() for each in equations]
    if prediction is not None:
        content["control"] = [
            {
                "case": each.case,
                "law": each.law,
                "number": each.number,
                "median": each.median,
                "high": each.high,
                "worst": each.worst,
                "errors": each.errors.tolist(),
                "lost": list(each.lost),
            }
            for each in prediction.rows
        ]
        best = prediction.recommended if prediction.is_complete else None
        content["recommended"] = best and {"law": best.law, "number": best.number}
    return content
