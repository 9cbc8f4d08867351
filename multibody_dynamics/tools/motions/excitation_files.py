# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The files, the text and the picture of an excitation plan."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ...dynamics import forward_kinematics
from ...dynamics import identification as idn
from ...dynamics.core import InputError
from ...dynamics.motion import Reference, reproduction_error, sampled
from ...reporting.figures import BLUE, GREEN, ORANGE, VERMILION, new_figure, save
from ...reporting.page import finite, write_json
from ...reporting.tables import text_table
from ...validation.trajectory_files import Form, Points, write_points
from .excitation_plan import RUNS, ExcitationPlan

SUMMARY = "summary.json"
COUNT = 1500  # samples of a run
QUANTITIES = ("position", "velocity", "acceleration")
COLOURS = {"well": GREEN, "roughly": BLUE, "barely": ORANGE, "no": VERMILION, "-": BLUE}
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


def write_plan(plan: ExcitationPlan, folder: Path) -> list[Path]:
    """Write the trajectories, the parameters of trajectory_node, summary.json and a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, run in plan.runs.items():
        files += _write_run(plan, name, run, folder)
    summary = folder / SUMMARY
    write_json(summary_of(plan), summary)
    picture = folder / "excitation.png"
    save_picture(plan, picture)
    return [*files, summary, picture]


def _write_run(plan: ExcitationPlan, name: str, run: Reference, folder: Path) -> list[Path]:
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


def summary_of(plan: ExcitationPlan) -> dict[str, Any]:
    """The plan as plain data; what cannot be known, and unlimited values, are null."""
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
        "parameters": {
            error.name: {
                "value": error.value,
                "standard error": error.error,
                "known": error.verdict,
            }
            for error in plan.errors
        },
        "without effect on the torques": list(plan.unobservable),
        "notes": list(plan.notes),
    }
    if plan.excitation is not None:
        tree["excitation"] = _fourier(plan.excitation, plan.options.criterion)
    return dict(finite(tree))


def _fourier(excitation: idn.Excitation, kind: str) -> dict[str, Any]:
    """The criterion, and the parameters of trajectory_node for its motion sum_of_sines."""
    form, c = excitation.form, excitation.coefficients
    count = int(form.harmonics)
    return {
        "criterion": kind,
        "value": excitation.criterion,
        "starts": [start.criterion for start in excitation.starts],
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


def describe_plan(plan: ExcitationPlan) -> list[str]:
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
    rows = []
    for error in plan.errors:
        words = error.name.split()
        short = words[0] + (f" (+{len(words) // 2} others)" if len(words) > 1 else "")
        value = "?" if np.isnan(error.value) else f"{error.value:.4g}"
        relative = f"{100.0 * error.relative:.2g} %" if np.isfinite(error.relative) else "-"
        deviation = "-" if np.isinf(error.error) else f"{error.error:.2g}"
        rows.append((short, value, deviation, relative, error.verdict))
    heads = ("parameter", "value", "std error", "relative", "known")
    lines += text_table(heads, rows, indent="")
    lost = [error.name for error in plan.errors if error.verdict == "no"]
    lines += ["", "Cannot be known from these runs: " + (", ".join(lost) or "none")]
    unseen = ", ".join(plan.unobservable) or "none"
    lines.append(f"Without effect on the torques in any motion: {unseen}")
    return lines


def save_picture(plan: ExcitationPlan, file: Path) -> None:
    """Joint motions of the first run as shares of their limits, the tool's path and the errors."""
    run = next(iter(plan.runs.values()))
    times = np.linspace(run.start_time, run.end_time, COUNT)
    states = run.sample(times)
    figure, axes = new_figure(5, 1, (10.0, 17.0), height_ratios=(1, 1, 1, 1.4, 1.6))
    _motions(plan, axes[:3], times, states)
    axes[0].set_title(f"{plan.model.name}: run '{next(iter(plan.runs))}'")
    _path(plan, axes[3], states)
    _errors(plan, axes[4])
    save(figure, file)


def _motions(plan: ExcitationPlan, axes: Any, times: Any, states: Any) -> None:
    limits = plan.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    rows = [(states[:, 0] - middle) / half]
    for order, limit in ((1, limits.velocity), (2, limits.acceleration)):
        peak = np.maximum(np.abs(states[:, order]).max(axis=0), 1e-9)
        rows.append(states[:, order] / np.where(np.isfinite(limit), limit, peak))
    for axis, name, values in zip(axes, QUANTITIES, rows, strict=True):
        for j, joint in enumerate(plan.model.joint_names):
            axis.plot(times, values[:, j], label=joint)
        for side in (-1.0, 1.0):
            axis.axhline(side, color="black", linewidth=0.8, linestyle="--")
        axis.set_ylabel(f"{name} / limit")
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
    axes[2].set_xlabel("time (s)")


def _path(plan: ExcitationPlan, axis: Any, states: Any) -> None:
    """Side view and top view of the last bodies."""
    model = plan.model
    pose = forward_kinematics(model, states[:, 0]).pose
    tips = sorted(set(range(model.n)) - set(model.parents.tolist()))
    for body, colours in zip(tips, ((BLUE, ORANGE), (GREEN, VERMILION)), strict=False):
        x, y, z = pose[:, body, :3, 3].T
        axis.plot(np.hypot(x, y), z, color=colours[0], linewidth=0.8,
                  label=f"{model.body_names[body]}: height over radius")  # fmt: skip
        axis.plot(x, y, color=colours[1], linewidth=0.8,
                  label=f"{model.body_names[body]}: top view")  # fmt: skip
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xlabel("radius, or x in the top view  [m]")
    axis.set_ylabel("height, or y in the top view  [m]")
    axis.legend(fontsize=7)


def _errors(plan: ExcitationPlan, axis: Any) -> None:
    """Relative standard errors in ascending order; the highest bars, at the end, are infinite."""
    shown = [error for error in plan.errors if error.verdict != "-"]
    shown.sort(key=lambda error: error.relative if np.isfinite(error.relative) else np.inf)
    finite = [e.relative for e in shown if np.isfinite(e.relative)]
    top = max([1.0, *finite]) * 3.0
    heights = [e.relative if np.isfinite(e.relative) else top for e in shown]
    axis.bar(
        range(len(shown)),
        np.maximum(heights, 1e-6),
        color=[COLOURS[error.verdict] for error in shown],
    )
    axis.set_yscale("log")
    axis.set_xticks(range(len(shown)), [e.name.split()[0] for e in shown], rotation=90, fontsize=5)
    axis.set_ylabel("predicted standard error / value")
