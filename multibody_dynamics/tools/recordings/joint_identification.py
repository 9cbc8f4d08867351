# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joint identification of a robot: `multibody_dynamics identify`."""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.core import InputError, reading
from ...dynamics.elastic import Actuators, load_actuators
from ...dynamics.identification import (
    CarriedPayload,
    IdentificationSettings,
    IdentifiedValue,
    MeasuredRun,
    RobotIdentification,
    identify_robot,
    reported,
)
from ...dynamics.mechanisms import load_robot
from ...dynamics.model import MultibodyModel
from ...reporting.figures import (
    BLUE,
    GREY,
    VERMILION,
    grid_of_axes,
    label_edges,
    legend_below,
    save,
    with_gaps,
)
from ...reporting.page import write_json
from ...reporting.progress import ProgressBar
from ...reporting.tables import text_table
from ...validation.doubtful_signals import doubtful_run
from ..base.arguments import call, selection_of
from .identification_recordings import read_run

HELD_SHARE = 0.25  # of a single recording, to judge the result on
WIDTH = 26


def identify_recordings(options: argparse.Namespace) -> int:
    """Run `multibody_dynamics identify`; returns the exit status: 130 if Ctrl-C ended the search,
    whose results so far are then written."""
    if options.urdf is None:
        raise InputError("--urdf is missing: the robot's URDF file, except with --only springs")
    model = load_robot(options.urdf, options.elastic_joints, (0.0, 0.0, -options.gravity))
    actuators = None
    if options.elastic_joints:
        actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    settings = settings_of(options, actuators.motor_names if actuators else model.joint_names)
    runs = in_sequence(_read(options, model, actuators))
    fitted, held = split(runs, options.held_out)
    with reading(", ".join(map(str, options.recordings)), "recordings of this robot"):
        fit = identify_robot(
            model, fitted, actuators, held_out=held, settings=settings,
            progress=ProgressBar("steps"),
        )  # fmt: skip
    print(*lines(fit, fitted, held), sep="\n")
    output = options.output or Path("identified")
    report, picture = output / "report.json", output / "identification.png"
    written = (fit.robot.write(output), fit.covariance.write(output), report, picture)
    write_json(figures(fit, fitted, held), report)
    draw(fit, picture)
    print(f"\nidentified: {', '.join(map(str, written))}")
    if not fit.is_complete:
        print("multibody_dynamics: stopped; these are the results so far", file=sys.stderr)
    return 0 if fit.is_complete else 130


def settings_of(options: argparse.Namespace, motors: Sequence[str]) -> IdentificationSettings:
    """The settings from the options. Raises InputError for unknown motors."""
    gains = dict(options.gain)
    for joint, value in gains.items():
        if joint not in motors:
            raise InputError(f"--gain {joint}={value:g}: the motors are {', '.join(motors)}")
        if not value > 0.0:
            raise InputError(f"--gain {joint}={value:g}: must be positive, in N m/A")
    return call(
        IdentificationSettings,
        options,
        links=not options.no_links,
        delays=not options.no_delays,
        robust=not options.keep_outliers,
        gains=gains,
    )


def _read(
    options: argparse.Namespace, model: MultibodyModel, actuators: Actuators | None
) -> list[MeasuredRun]:
    paths: list[Path] = options.recordings
    payloads = dict(options.payload)
    unknown = set(payloads) - {path.stem for path in paths}
    if unknown:
        raise InputError(
            f"--payload {sorted(unknown)[0]}=...: no recording has this name; they are "
            f"{', '.join(path.stem for path in paths)}"
        )
    # Recordings with the same mass are assumed to carry the same load.
    loads = {
        name: CarriedPayload(f"{mass:g} kg", mass, options.payload_body or "")
        for name, mass in payloads.items()
    }
    runs = [
        read_run(
            path,
            model,
            selection_of(options),
            elastic=actuators is not None and not bool(actuators.is_rigid.all()),
            motors=() if actuators is None else actuators.motor_names,
            effort=options.effort,
            payload=loads.get(path.stem),
            progress=ProgressBar("messages"),
        )
        for path in paths
    ]
    for path, run in zip(paths, runs, strict=True):
        for note in doubtful_run(run, model, actuators):
            warnings.warn(f"{path}: {note}", stacklevel=2)
    return runs


def in_sequence(runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
    """The runs as if each began when the one before it ended."""
    begin, found = 0.0, []
    for run in runs:
        found.append(replace(run, start=begin))
        begin += len(run.position) / run.rate
    return found


def split(
    runs: Sequence[MeasuredRun], held_out: int | None
) -> tuple[list[MeasuredRun], list[MeasuredRun]]:
    """Split the runs into those to fit and those to judge the result on: the last `held_out`, by
    default the last one; of a single recording, its last quarter."""
    if held_out is None and len(runs) == 1:
        (run,) = runs
        cut = round((1.0 - HELD_SHARE) * len(run.position))
        return [run.part(0, cut)], [run.part(cut, len(run.position))]
    count = 1 if held_out is None else held_out
    if count >= len(runs):
        raise InputError(
            f"--held-out {count}: leaves none of {len(runs)} recordings to identify from"
        )
    return [*runs[: len(runs) - count]], [*runs[len(runs) - count :]]


def figures(
    fit: RobotIdentification, fitted: Sequence[MeasuredRun], held: Sequence[MeasuredRun]
) -> dict[str, Any]:
    """All results as plain numbers, for JSON."""
    content = {
        "fitted": [run.name for run in fitted],
        "held out": [run.name for run in held],
        "recordings": [_facts(run) for run in (*fitted, *held)],
        "cutoff": fit.cutoff,
        "rejected share": fit.rejected,
        "largest bias by position noise, before correction": fit.bias,
        "complete": fit.is_complete,
        "notes": list(fit.notes),
        "residuals": [
            {name: value for name, value in each._asdict().items() if value == value}
            for each in fit.residuals
        ],
        "parameters": reported(fit.robot.estimates()),
        "combinations": reported(fit.combinations),
    }
    return {"identification": content}


def _facts(run: MeasuredRun) -> dict[str, Any]:
    """Duration in s, rate in Hz, number of stretches between gaps, and signals of a recording."""
    return {
        "name": run.name,
        "duration": len(run.position) / run.rate,
        "rate": run.rate,
        "stretches": len(run.starts),
        "signals": [
            each.name for each in fields(run) if isinstance(getattr(run, each.name), np.ndarray)
        ],
        "payload": run.payload.name if run.payload else None,
    }


def lines(
    fit: RobotIdentification, fitted: Sequence[MeasuredRun], held: Sequence[MeasuredRun]
) -> Iterator[str]:
    """The report as text."""
    yield f"fitted: {', '.join(_described(run) for run in fitted)}"
    if held:
        yield f"held out: {', '.join(_described(run) for run in held)}"
    yield f"equations below {fit.cutoff:.3g} Hz; +-: one standard error; (..): not determined"
    robot = fit.robot
    gain_unit = "N m/A" if "prismatic" not in robot.model.joint_types else "N m/A (N/A)"
    parts = {
        "friction of the links": robot.joints,
        "motors": robot.motors,
        "springs": robot.springs,
        f"drive gains, {gain_unit}": robot.gains,
        "delays, s": robot.delays,
    }
    for title, values in parts.items():
        if values:
            yield ""
            yield title
            for name, numbers in values.items():
                cells = (f"{key} {_written(x)}" for key, x in numbers.items())
                yield f"  {name:{WIDTH}}{'  '.join(cells)}"
    for name, payload in robot.payloads.items():
        com = ", ".join(_written(x) for x in payload["com"].values())
        yield ""
        yield f"payload of {name}: centre of mass {com} m"
    if robot.links:
        yield ""
        yield f"links: {sum(x.determined for x in fit.combinations.values())} of " + (
            f"{len(fit.combinations)} base parameters are determined"
        )
    yield ""
    yield "rms of the residuals"
    heads = ["equation", "", "unit", "torque", "before", "after"]
    columns = ["joint", "kind", "unit", "size", "before", "after"]
    if held:
        heads += ["held out: torque", "before", "after"]
        columns += ["held_size", "held_before", "held_after"]
    yield from text_table(
        heads, ([getattr(each, name) for name in columns] for each in fit.residuals), digits=3
    )
    for note in fit.notes:
        yield f"note: {note}"


def _described(run: MeasuredRun) -> str:
    carried = f" with {run.payload.name}" if run.payload else ""
    return f"{run.name}{carried} ({len(run.position) / run.rate:.3g} s at {run.rate:.4g} Hz)"


def _written(x: IdentifiedValue) -> str:
    if not x.determined:
        return f"({x.value:.4g})"
    return f"{x.value:.4g} +- {x.error:.2g}"


def draw(fit: RobotIdentification, file: Path) -> None:
    """Plot the left-hand sides of all equations over the last run, and their residuals."""
    course = fit.course
    figure, axes = grid_of_axes(course.measured.shape[1], 3, (4.6, 2.1))
    every = max(len(course.times) // 3000, 1)
    sides = np.stack([course.measured, course.predicted], axis=-1)[::every]
    t, sides = with_gaps(course.times[::every] - course.times[0], sides)
    units = " or ".join(sorted({each.unit for each in fit.residuals}, reverse=True))
    for axis, residual, (measured, predicted) in zip(
        axes, fit.residuals, np.moveaxis(sides, 0, -1), strict=True
    ):
        axis.plot(t, measured, color=GREY, lw=1.0, label="measured")
        axis.plot(t, predicted, color=BLUE, lw=1.0, label="model")
        axis.plot(t, measured - predicted, color=VERMILION, lw=0.8, label="difference")
        axis.set_title(f"{residual.joint}, {residual.kind}", fontsize=9)
    label_edges(axes, "time  [s]", f"torque  [{units}]")
    legend_below(figure, axes[0])
    save(figure, file)
