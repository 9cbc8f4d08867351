# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The joint identification of a robot: `multibody_dynamics identify`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.core import InputError
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
from ...dynamics.model import MultibodyModel, load_urdf
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
from ...reporting.progress import ProgressBar
from ...reporting.tables import text_table
from .identification_recordings import read_run

HELD_SHARE = 0.25  # of a single recording, to judge the result on
FIGURES = 4  # significant digits
WIDTH = 26


def identify_recordings(options: argparse.Namespace) -> int:
    """Run `multibody_dynamics identify`; returns the exit status."""
    model = load_urdf(options.urdf, (0.0, 0.0, -options.gravity))
    actuators = None
    if options.elastic_joints:
        actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    settings = settings_of(options, actuators.motor_names if actuators else model.joint_names)
    runs = in_sequence(_read(options, model, actuators))
    fitted, held = split(runs, options.held_out)
    found = identify_robot(model, fitted, actuators, held_out=held, settings=settings)
    print("\n".join(lines(found, fitted, held)))
    options.output.mkdir(parents=True, exist_ok=True)
    written = found.robot.write(options.output)
    covariance = found.covariance.write(options.output)
    report = options.output / "report.json"
    report.write_text(
        json.dumps(figures(found, fitted, held), indent=2, allow_nan=False) + "\n", encoding="utf-8"
    )
    picture = options.output / "identification.png"
    draw(found, picture)
    print(f"\nidentified: {written}, {covariance}, {report}, {picture}")
    return 0


def settings_of(options: argparse.Namespace, motors: Sequence[str]) -> IdentificationSettings:
    """The settings from the options. Raises InputError for unknown motors."""
    gains = dict(options.gain)
    for joint, value in gains.items():
        if joint not in motors:
            raise InputError(f"--gain {joint}={value:g}: the motors are {', '.join(motors)}")
        if not value > 0.0:
            raise InputError(f"--gain {joint}={value:g}: must be positive, in N m/A")
    return IdentificationSettings(
        cutoff=options.cutoff,
        links=not options.no_links,
        delays=not options.no_delays,
        prior=options.prior,
        mass_range=options.mass_range,
        stribeck=options.stribeck,
        load_friction=options.load_friction,
        gains=gains,
        robust=not options.keep_outliers,
        spectral=options.spectral,
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
    runs = []
    for path in paths:
        payload = None
        if path.stem in payloads:
            mass = payloads[path.stem]
            # Recordings with the same mass are assumed to carry the same load.
            payload = CarriedPayload(f"{mass:g} kg", mass, options.payload_body or "")
        runs.append(
            read_run(
                path,
                model,
                elastic=actuators is not None and not bool(actuators.is_rigid.all()),
                motors=() if actuators is None else actuators.motor_names,
                effort=options.effort,
                topics=options.topic,
                motor_topic=options.motor_topic,
                prefix=options.prefix,
                held=dict(options.hold),
                payload=payload,
                progress=ProgressBar("messages"),
            )
        )
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
    found: RobotIdentification, fitted: Sequence[MeasuredRun], held: Sequence[MeasuredRun]
) -> dict[str, Any]:
    """All results as plain numbers, for JSON."""
    return {
        "identification": {
            "fitted": [run.name for run in fitted],
            "held out": [run.name for run in held],
            "recordings": [_facts(run) for run in (*fitted, *held)],
            "cutoff": found.cutoff,
            "rejected share": found.rejected,
            "largest bias by position noise, before correction": found.bias,
            "notes": list(found.notes),
            "residuals": [
                {name: value for name, value in each._asdict().items() if value == value}
                for each in found.residuals
            ],
            "parameters": reported(found.robot.estimates()),
            "combinations": reported(found.combinations),
        }
    }


def _facts(run: MeasuredRun) -> dict[str, Any]:
    """Duration in s, rate in Hz, number of stretches between gaps, and signals of a recording."""
    names = ("q", "qd", "theta", "sensor", "motor_torque", "current", "stiffness")
    return {
        "name": run.name,
        "duration": len(run.position) / run.rate,
        "rate": run.rate,
        "stretches": len(run.starts),
        "signals": [name for name in names if getattr(run, name) is not None],
        "payload": run.payload.name if run.payload else None,
    }


def lines(
    found: RobotIdentification, fitted: Sequence[MeasuredRun], held: Sequence[MeasuredRun]
) -> Iterator[str]:
    """The report as text."""
    yield f"fitted: {', '.join(_described(run) for run in fitted)}"
    if held:
        yield f"held out: {', '.join(_described(run) for run in held)}"
    yield f"equations below {found.cutoff:.3g} Hz; +-: one standard error; (..): not determined"
    robot = found.robot
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
        yield f"links: {sum(x.determined for x in found.combinations.values())} of " + (
            f"{len(found.combinations)} base parameters are determined"
        )
    yield ""
    yield "rms of the residuals"
    heads = ["equation", "", "unit", "torque", "before", "after"]
    columns = ["joint", "kind", "unit", "size", "before", "after"]
    if held:
        heads += ["held out: torque", "before", "after"]
        columns += ["held_size", "held_before", "held_after"]
    yield from text_table(
        heads, ([getattr(each, name) for name in columns] for each in found.residuals), digits=3
    )
    for note in found.notes:
        yield f"note: {note}"


def _described(run: MeasuredRun) -> str:
    carried = f" with {run.payload.name}" if run.payload else ""
    return f"{run.name}{carried} ({len(run.position) / run.rate:.3g} s at {run.rate:.4g} Hz)"


def _written(x: IdentifiedValue) -> str:
    if not x.determined:
        return f"({x.value:.4g})"
    return f"{x.value:.4g} +- {x.error:.2g}"


def draw(found: RobotIdentification, file: Path) -> None:
    """Plot the left-hand sides of all equations over the last run, and their residuals."""
    course = found.course
    if course is None:
        return
    count = course.measured.shape[1]
    figure, axes = grid_of_axes(count, 3, (4.6, 2.1))
    every = max(len(course.times) // 3000, 1)
    t, sides = with_gaps(
        course.times[::every] - course.times[0],
        np.stack([course.measured, course.predicted], axis=-1)[::every],
    )
    units = " or ".join(sorted({each.unit for each in found.residuals}, reverse=True))
    for axis, residual, (measured, predicted) in zip(
        axes, found.residuals, np.moveaxis(sides, 0, -1), strict=True
    ):
        axis.plot(t, measured, color=GREY, lw=1.0, label="measured")
        axis.plot(t, predicted, color=BLUE, lw=1.0, label="model")
        axis.plot(t, measured - predicted, color=VERMILION, lw=0.8, label="difference")
        axis.set_title(f"{residual.joint}, {residual.kind}", fontsize=9)
    label_edges(axes, "time  [s]", f"torque  [{units}]")
    legend_below(figure, axes[0])
    save(figure, file)
