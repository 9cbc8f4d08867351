# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The picture of an excitation plan: joint motions, the path of the tool, expected errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics import forward_kinematics
from ...reporting.figures import BLUE, GREEN, ORANGE, VERMILION, new_figure, save
from .excitation_plan import Plan

COUNT = 1500  # samples of a run
QUANTITIES = ("position", "velocity", "acceleration")
COLOURS = {"well": GREEN, "roughly": BLUE, "barely": ORANGE, "no": VERMILION, "-": BLUE}


def save_picture(plan: Plan, file: Path) -> None:
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


def _motions(plan: Plan, axes: Any, times: Any, states: Any) -> None:
    limits = plan.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    peak = np.maximum(np.abs(states[:, 2]).max(axis=0), 1e-9)
    acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, peak)
    velocity = np.where(
        np.isfinite(limits.velocity),
        limits.velocity,
        np.maximum(np.abs(states[:, 1]).max(axis=0), 1e-9),
    )
    rows = (
        (states[:, 0] - middle) / half,
        states[:, 1] / velocity,
        states[:, 2] / acceleration,
    )
    for axis, name, values in zip(axes, QUANTITIES, rows, strict=True):
        for j, joint in enumerate(plan.model.joint_names):
            axis.plot(times, values[:, j], label=joint)
        for side in (-1.0, 1.0):
            axis.axhline(side, color="black", linewidth=0.8, linestyle="--")
        axis.set_ylabel(f"{name} / limit")
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
    axes[2].set_xlabel("time (s)")


def _path(plan: Plan, axis: Any, states: Any) -> None:
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


def _errors(plan: Plan, axis: Any) -> None:
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
