# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of the reports."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...reporting.figures import BLUE, GREEN, ORANGE, SKY, VERMILION, legend_below, new_figure
from .analysis import ControlRun, Run
from .page import error_unit

TITLES = {
    "full": "full: Q, Q', Q''",
    "quasi_static": "without rates: Q only",
    "rigid": "rigid body",
}
# Curves differ in colour, and in line style or marker.
STYLES = {
    "full": {"color": BLUE, "ls": "-"},
    "quasi_static": {"color": ORANGE, "ls": "--"},
    "rigid": {"color": VERMILION, "ls": ":"},
}
MARKERS = {"full": "o", "quasi_static": "s", "rigid": "D"}
LAW_TITLES = {
    "motor_pd": "motor PD, quasi-static",
    "computed_torque": "rigid computed torque",
    "feedback_linearization": "feedback linearisation",
    "state_feedback": "flatness and state feedback",
}
LAW_STYLES = {
    "motor_pd": {"color": ORANGE, "ls": "--"},
    "computed_torque": {"color": VERMILION, "ls": ":"},
    "feedback_linearization": {"color": GREEN, "ls": "-."},
    "state_feedback": {"color": BLUE, "ls": "-"},
}
PLANT_TITLES = {"internal": "own plant", "mujoco": "MuJoCo"}


def draw_torques(run: Run) -> Any:
    """Q, Q', Q'' of every joint: published values on top of those computed offline."""
    n = run.model.n
    t = run.times("torque")
    shown = (t >= run.begin - 0.3) & (t <= run.end + 0.3)
    every = max(int(shown.sum()) // 70, 1)
    figure, axes = new_figure(
        n, 3, (10.5, 1.35 * n + 1.2), sharex=True, squeeze=False, gridspec_kw={"hspace": 0.02}
    )
    kinds = {"N" if kind == "prismatic" else "N m" for kind in run.model.joint_types}
    titles = {"torque Q": "", "torque rate Q'": "/s", "torque acceleration Q''": "/s²"}
    for k, (title, unit) in enumerate(titles.items()):
        for j, axis in enumerate(axes[:, k]):
            library, published = run.library[shown, k, j], run.published[shown, k, j]
            axis.plot(t[shown], library, color=SKY, lw=2.2, label="library, offline")
            label = f"published over ROS 2, one in {every}"
            axis.plot(t[shown][::every], published[::every], "k.", ms=3.2, label=label)
            axis.locator_params(axis="y", nbins=4)
            axis.yaxis.get_major_formatter().set_useOffset(False)
        axes[0, k].set_title(f"{title}  [{' or '.join(sorted(kinds))}{unit}]", fontsize=11)
        axes[-1, k].set_xlabel("time  [s]")
    for axis, name in zip(axes[:, 0], run.model.joint_names, strict=True):
        axis.set_ylabel(name, fontsize=9)
    legend_below(figure, axes[0, 0])
    return figure


def draw_tracking(runs: Sequence[Run]) -> Any:
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
        label = f"{TITLES[variant]}   ({1e3 * np.sqrt((run.error**2).mean()):.3g} {unit} rms)"
        t = run.times("joint_states")[run.motion]
        over_time.semilogy(t, error, **STYLES[variant], label=label)
        colour = STYLES[variant]["color"]
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
    legend_below(figure, over_time)
    return figure


def draw_control_errors(runs: Sequence[ControlRun]) -> Any:
    """Link tracking error of all laws over time, on a logarithmic scale, with axes per plant."""
    plants = list(dict.fromkeys(run.plant for run in runs))
    figure, axes = new_figure(1, len(plants), (10.5, 4.6), sharey=True, squeeze=False)
    unit = error_unit(runs[0].model.joint_types)
    low = []
    for run in runs:
        axis = axes[0, plants.index(run.plant)]
        worst = 1e3 * np.abs(run.error).max(axis=1)
        low.append(np.percentile(worst, 3))
        t, _ = run.moving("joint_states")
        label = f"{LAW_TITLES[run.law]}  ({1e3 * np.sqrt((run.error**2).mean()):.3g} {unit} rms)"
        axis.semilogy(t - run.begin, worst, **LAW_STYLES[run.law], label=label)
        axis.set_title(PLANT_TITLES[run.plant], fontsize=11)
        axis.set_xlim(0.0, run.end - run.begin)
        axis.set_xlabel("time  [s]")
    # The first instants, before anything moves, would stretch the scale down to rounding errors.
    axes[0, 0].set_ylim(0.5 * min(low))
    axes[0, 0].set_ylabel(f"link tracking error, worst joint  [{unit}]")
    for axis in axes[0]:
        _label_decades(axis.yaxis)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
        axis.legend(**below, fontsize=8, frameon=False)
    return figure


def draw_control_torques(runs: Sequence[ControlRun]) -> Any:
    """Motor torques of all laws, with a row per motor and a column per plant."""
    plants = list(dict.fromkeys(run.plant for run in runs))
    names, joints = runs[0].actuators.motor_names, runs[0].actuators.joint_of_motor
    m = len(names)
    figure, axes = new_figure(
        m, len(plants), (10.5, 1.35 * m + 1.2), sharex=True, sharey="row", squeeze=False
    )
    for run in runs:
        column = axes[:, plants.index(run.plant)]
        t, torque = run.moving("torque")
        for j, axis in enumerate(column):
            style = LAW_STYLES[run.law]
            axis.plot(t - run.begin, torque[:, 0, j], **style, label=LAW_TITLES[run.law])
        column[0].set_title(f"motor torque, {PLANT_TITLES[run.plant]}", fontsize=11)
        column[-1].set_xlabel("time  [s]")
    for axis, name, j in zip(axes[:, 0], names, joints, strict=True):
        kind = runs[0].model.joint_types[j]
        axis.set_ylabel(f"{name}  [{'N' if kind == 'prismatic' else 'N m'}]", fontsize=8)
        axis.locator_params(axis="y", nbins=4)
    legend_below(figure, axes[0, 0], ncols=4)
    return figure


def _label_decades(axis: Any) -> None:
    """Plain numbers at the decades of a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_major_locator(LogLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_formatter("")
