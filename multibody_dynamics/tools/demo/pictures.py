# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of the reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.figures import BLUE, GREEN, ORANGE, SKY, VERMILION, new_figure, save
from .analysis import Run
from .control_analysis import ControlRun
from .page import error_unit

TITLES = {
    "full": "full: Q, Q', Q''",
    "quasi_static": "without rates: Q only",
    "rigid": "rigid body",
}
# Curves differ in colour, and in line style or marker.
COLOURS = {"full": BLUE, "quasi_static": ORANGE, "rigid": VERMILION}
STYLES = {"full": "-", "quasi_static": "--", "rigid": ":"}
MARKERS = {"full": "o", "quasi_static": "s", "rigid": "D"}
LAW_TITLES = {
    "motor_pd": "motor PD, quasi-static",
    "computed_torque": "rigid computed torque",
    "feedback_linearization": "feedback linearisation",
    "state_feedback": "flatness and state feedback",
}
LAW_COLOURS = {
    "motor_pd": ORANGE,
    "computed_torque": VERMILION,
    "feedback_linearization": GREEN,
    "state_feedback": BLUE,
}
LAW_STYLES = {
    "motor_pd": "--",
    "computed_torque": ":",
    "feedback_linearization": "-.",
    "state_feedback": "-",
}
PLANT_TITLES = {"internal": "own plant", "mujoco": "MuJoCo"}


def draw_torques(run: Run, file: Path) -> None:
    """Q, Q', Q'' of every joint: published values on top of those computed offline."""
    from matplotlib.lines import Line2D

    n = run.model.n
    t = run.times("torque")
    shown = (t >= run.begin - 0.3) & (t <= run.end + 0.3)
    figure, axes = new_figure(
        n, 3, (10.5, 1.35 * n + 1.2), sharex=True, squeeze=False, gridspec_kw={"hspace": 0.02}
    )
    every = max(int(shown.sum()) // 70, 1)
    for k, (title, unit) in enumerate(
        (("torque Q", ""), ("torque rate Q'", "/s"), ("torque acceleration Q''", "/s²"))
    ):
        for j in range(n):
            axis = axes[j, k]
            axis.plot(t[shown], run.library[shown, k, j], color=SKY, lw=2.2)
            axis.plot(
                t[shown][::every],
                run.published[shown, k, j][::every],
                ".",
                color="black",
                ms=3.2,
            )
            axis.locator_params(axis="y", nbins=4)
            axis.yaxis.get_major_formatter().set_useOffset(False)
            if k == 0:
                axis.set_ylabel(run.model.joint_names[j], fontsize=9)
        kinds = {"N" if kind == "prismatic" else "N m" for kind in run.model.joint_types}
        axes[0, k].set_title(f"{title}  [{' or '.join(sorted(kinds))}{unit}]", fontsize=11)
        axes[-1, k].set_xlabel("time  [s]")
    label = f"published over ROS 2, one in {every}"
    handles = [
        Line2D([], [], color=SKY, lw=2.2, label="library, offline"),
        Line2D([], [], color="black", marker=".", ls="", label=label),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    save(figure, file)


def draw_tracking(runs: Sequence[Run], file: Path) -> None:
    """Link tracking error of all variants, over time and per joint, on logarithmic scales."""
    figure, (over_time, per_joint) = new_figure(
        1, 2, (10.5, 4.2), gridspec_kw={"width_ratios": [1.7, 1.0]}
    )
    unit = error_unit(runs[0].model.joint_types)
    names = runs[0].model.joint_names
    worst = [1e3 * np.abs(run.error).max(axis=1) for run in runs]
    each = np.array([1e3 * np.sqrt((run.error**2).mean(axis=0)) for run in runs])
    for run, error, rms in reversed(list(zip(runs, worst, each, strict=True))):
        variant = run.recording.variant
        colour = COLOURS[variant]
        label = f"{TITLES[variant]}   ({1e3 * np.sqrt((run.error**2).mean()):.3g} {unit} rms)"
        t = run.times("joint_states")[run.motion]
        over_time.semilogy(t, error, STYLES[variant], color=colour, label=label)
        per_joint.semilogx(rms, range(len(names)), MARKERS[variant], color=colour, ms=7)
    over_time.set_xlim(runs[0].begin, runs[0].end)
    # The first instants, before anything moves, would stretch the scale down to rounding errors.
    over_time.set_ylim(0.5 * min(np.percentile(error, 5) for error in worst))
    over_time.set_xlabel("time  [s]")
    over_time.set_ylabel(f"link tracking error, worst joint  [{unit}]")
    per_joint.set_xlim(0.5 * each.min(), 2.0 * each.max())
    per_joint.set_yticks(range(len(names)), names)
    per_joint.set_ylim(len(names) - 0.5, -0.5)
    per_joint.set_xlabel(f"rms error of the joint  [{unit}]")
    for axis in (over_time.yaxis, per_joint.xaxis):
        _label_decades(axis)
    figure.legend(loc="outside upper center", ncols=len(runs), frameon=False)
    save(figure, file)


def draw_control_errors(runs: Sequence[ControlRun], file: Path) -> None:
    """Link tracking error of all laws over time, on a logarithmic scale, with axes per plant."""
    plants = list(dict.fromkeys(run.plant for run in runs))
    figure, axes = new_figure(1, len(plants), (10.5, 4.2), sharey=True, squeeze=False)
    unit = error_unit(runs[0].model.joint_types)
    low = []
    for run in runs:
        axis = axes[0, plants.index(run.plant)]
        worst = 1e3 * np.abs(run.error).max(axis=1)
        low.append(np.percentile(worst, 3))
        rms = 1e3 * np.sqrt((run.error**2).mean())
        t, _ = run.moving("joint_states")
        axis.semilogy(
            t - run.begin,
            worst,
            LAW_STYLES[run.law],
            color=LAW_COLOURS[run.law],
            label=f"{LAW_TITLES[run.law]}  ({rms:.3g} {unit} rms)",
        )
        axis.set_title(PLANT_TITLES[run.plant], fontsize=11)
        axis.set_xlim(0.0, run.end - run.begin)
        axis.set_xlabel("time  [s]")
    # The first instants, before anything moves, would stretch the scale down to rounding errors.
    axes[0, 0].set_ylim(0.05 * min(low))  # with room for the legend
    axes[0, 0].set_ylabel(f"link tracking error, worst joint  [{unit}]")
    for axis in axes[0]:
        _label_decades(axis.yaxis)
        axis.legend(loc="lower right", fontsize=8, framealpha=0.9)
    save(figure, file)


def draw_control_torques(runs: Sequence[ControlRun], file: Path) -> None:
    """Motor torques of all laws, with a row per joint and a column per plant."""
    from matplotlib.lines import Line2D

    plants = list(dict.fromkeys(run.plant for run in runs))
    names, n = runs[0].model.joint_names, runs[0].model.n
    figure, axes = new_figure(
        n, len(plants), (10.5, 1.35 * n + 1.2), sharex=True, sharey="row", squeeze=False
    )
    for run in runs:
        column = plants.index(run.plant)
        t, torque = run.moving("torque")
        for j in range(n):
            axes[j, column].plot(
                t - run.begin, torque[:, 0, j], LAW_STYLES[run.law], color=LAW_COLOURS[run.law]
            )
        axes[0, column].set_title(f"motor torque, {PLANT_TITLES[run.plant]}", fontsize=11)
        axes[-1, column].set_xlabel("time  [s]")
    for j in range(n):
        unit = "N" if runs[0].model.joint_types[j] == "prismatic" else "N m"
        axes[j, 0].set_ylabel(f"{names[j]}  [{unit}]", fontsize=8)
        axes[j, 0].locator_params(axis="y", nbins=4)
    handles = [
        Line2D([], [], color=LAW_COLOURS[k], ls=LAW_STYLES[k], label=LAW_TITLES[k])
        for k in LAW_TITLES
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    save(figure, file)


def _label_decades(axis: Any) -> None:
    """Plain numbers at the decades of a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_major_locator(LogLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter("")
