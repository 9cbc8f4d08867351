# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The files and the text of an excitation plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ...dynamics import identification as idn
from ...dynamics.core import InputError
from ...dynamics.motion import Reference, reproduction_error, sampled
from ...validation.trajectory_files import Form, Points, write_points
from .excitation_picture import save_picture
from .excitation_plan import RUNS, Plan

SUMMARY = "summary.json"
# Time for the receiver to plan in the background, as docs/trajectory_node.md states it
START_DELAY, DELAY_PER_POINT, LONGEST_DELAY = 6.0, 4e-4, 120.0  # s


def refuse_existing(folder: Path) -> None:
    """InputError if the folder contains a plan: recordings may belong to it."""
    if (folder / SUMMARY).exists():
        raise InputError(
            f"{folder} already contains a plan, to which recordings may belong: choose another "
            "folder, or give --overwrite"
        )


def remove_plan(folder: Path) -> None:
    """Remove the files of an earlier plan, whose runs may have other names."""
    try:
        names = json.loads((folder / SUMMARY).read_text("utf-8"))["runs"]
    except (OSError, ValueError, KeyError):
        return
    for name in names if set(names) <= {"all", *RUNS} else ():
        for suffix in (".csv", ".yaml"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)


def write_plan(plan: Plan, folder: Path) -> list[Path]:
    """Write the trajectories, the parameters of trajectory_node, summary.json and a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, run in plan.runs.items():
        files += _write_run(plan, name, run, folder)
    summary = folder / SUMMARY
    summary.write_text(json.dumps(summary_of(plan), indent=1, allow_nan=False) + "\n", "utf-8")
    picture = folder / "excitation.png"
    save_picture(plan, picture)
    return [*files, summary, picture]


def _write_run(plan: Plan, name: str, run: Reference, folder: Path) -> list[Path]:
    points = sampled(run, plan.options.sample_period)
    data = np.stack([points.positions, points.velocities, points.accelerations])
    form = Form("csv", ("q", "qd", "qdd"))
    table = Points(folder, plan.model.joint_names, points.times, data, form)
    file = write_points(table, folder).rename(folder / f"{name}.csv")
    count = len(points.times)
    parameters = {
        "robot_file": str(plan.options.robot.resolve()),
        "motion": "file",
        "trajectory_file": str(file.resolve()),
        "start_delay": round(min(START_DELAY + DELAY_PER_POINT * count, LONGEST_DELAY), 1),
        "autostart": True,
    }
    settings = folder / f"{name}.yaml"
    tree = {"trajectory_node": {"ros__parameters": parameters}}
    settings.write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")
    return [file, settings]


def summary_of(plan: Plan) -> dict[str, Any]:
    """The plan as plain data; what cannot be known, and unlimited values, are null."""
    errors = {
        error.name: {
            "value": _number(error.value),
            "standard error": _number(error.error),
            "known": error.verdict,
        }
        for error in plan.errors
    }
    tree: dict[str, Any] = {
        "robot": plan.model.name,
        "joints": list(plan.model.joint_names),
        "seed": plan.options.seed,
        "runs": {
            name: {
                "duration": run.duration,
                "largest error of interpolated points": reproduction_error(
                    run, sampled(run, plan.options.sample_period)
                ).tolist(),
                "limits": [use._asdict() for use in _worst_uses(plan.limits, run)],
            }
            for name, run in plan.runs.items()
        },
        "noise": {
            "torque": plan.noise.torque.tolist(),
            "encoder": plan.noise.encoder,
            "rate": plan.noise.rate,
        },
        "parameters": errors,
        "without effect on the torques": list(plan.unobservable),
        "notes": list(plan.notes),
    }
    if plan.excitation is not None:
        tree["excitation"] = _fourier(plan.excitation, plan.options.criterion)
    return tree


def _fourier(excitation: idn.Excitation, kind: str) -> dict[str, Any]:
    """The criterion, and the parameters of trajectory_node for its motion sum_of_sines."""
    form, c = excitation.form, excitation.coefficients
    count = int(form.harmonics)
    return {
        "criterion": kind,
        "value": excitation.criterion,
        "starts": [_number(start.criterion) for start in excitation.starts],
        "sum_of_sines": {
            "offset": c[0].tolist(),
            "cosine": c[1 : count + 1].T.ravel().tolist(),
            "sine": c[count + 1 :].T.ravel().tolist(),
            "frequency": 2.0 * np.pi / form.period,
            "ramp": form.ramp,
            "duration": form.period * form.repetitions,
        },
    }


def _worst_uses(limits: idn.ExcitationLimits, run: Reference) -> list[idn.LimitUse]:
    times = np.linspace(run.start_time, run.end_time, int(np.ceil(run.duration / 2e-3)) + 1)
    return limits.uses(times, run.sample(times))[:8]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def describe_plan(plan: Plan) -> list[str]:
    """The table of the predicted errors, and the limits that each run uses most."""
    lines = [f"{plan.model.name}: {plan.model.n} joints"]
    lines += [f"- {note}" for note in plan.notes]
    motors = plan.limits.motors
    joints = motors.actuators.joint_of_motor if motors else np.arange(plan.model.n)
    torque = ", ".join(
        f"{x:.3g} {'N' if plan.model.joint_types[j] == 'prismatic' else 'N m'}"
        for x, j in zip(plan.noise.torque, joints, strict=True)
    )
    lines += [
        f"- noise assumed: torque {torque}, encoders {plan.noise.encoder:.2g} rad,"
        f" white at {plan.noise.rate:g} Hz",
        "",
    ]
    for name, run in plan.runs.items():
        uses = [u for u in _worst_uses(plan.limits, run) if np.isfinite(u.used)][:3]
        lines.append(f"run {name}: {run.duration:.1f} s; most used limits:")
        lines += [f"    {use} ({use.used:.0%})" for use in uses]
    lines += ["", "Predicted after these runs:", ""]
    rows = [("parameter", "value", "std error", "relative", "known")]
    for error in plan.errors:
        words = error.name.split()
        short = words[0] + (f" (+{len(words) // 2} others)" if len(words) > 1 else "")
        value = "?" if np.isnan(error.value) else f"{error.value:.4g}"
        deviation = "-" if np.isinf(error.error) else f"{error.error:.2g}"
        relative = f"{100.0 * error.relative:.2g} %" if np.isfinite(error.relative) else "-"
        rows.append((short, value, deviation, relative, error.verdict))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        cells = (f"{row[k]:>{w}}" for k, w in enumerate(widths) if k)
        lines.append(f"{row[0]:<{widths[0]}}  " + "  ".join(cells))
    lost = [error.name for error in plan.errors if error.verdict == "no"]
    lines += ["", "Cannot be known from these runs: " + (", ".join(lost) or "none")]
    unseen = ", ".join(plan.unobservable) or "none"
    lines.append(f"Without effect on the torques in any motion: {unseen}")
    return lines
