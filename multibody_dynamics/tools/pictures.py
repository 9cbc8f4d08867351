"""The pictures of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .analysis import Run

TITLES = {
    "full": "full: Q, Q', Q''",
    "quasi_static": "without rates: Q only",
    "rigid": "rigid body",
}
# Okabe and Ito's colours, told apart by everybody; lines and marks differ, too.
COLOURS = {"full": "#0072B2", "quasi_static": "#E69F00", "rigid": "#D55E00"}
STYLES = {"full": "-", "quasi_static": "--", "rigid": ":"}
MARKERS = {"full": "o", "quasi_static": "s", "rigid": "D"}
HOUSE_STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
}


def _figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(HOUSE_STYLE)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, layout="constrained", **options)
    return figure, axes


def draw_torques(run: Run, file: Path) -> None:
    """Q, Q', Q'' of every joint: what came over the topics on what the library says."""
    from matplotlib import pyplot

    n = run.model.n
    t = run.times("torque")
    shown = (t >= run.begin - 0.3) & (t <= run.end + 0.3)
    figure, axes = _figure(
        n, 3, (10.5, 1.35 * n + 1.2), sharex=True, squeeze=False, gridspec_kw={"hspace": 0.02}
    )
    every = max(int(shown.sum()) // 70, 1)
    for k, (title, unit) in enumerate(
        (("torque Q", ""), ("torque rate Q'", "/s"), ("torque acceleration Q''", "/s²"))
    ):
        for j in range(n):
            axis = axes[j, k]
            axis.plot(t[shown], run.library[shown, k, j], color="#56B4E9", lw=2.2)
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
    handles = [
        pyplot.Line2D([], [], color="#56B4E9", lw=2.2, label="library, offline"),
        pyplot.Line2D(
            [], [], color="black", marker=".", ls="", label=f"published over ROS 2, one in {every}"
        ),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def draw_tracking(runs: Sequence[Run], file: Path) -> None:
    """Link tracking error of all variants, over time and per joint, on logarithmic scales."""
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator

    figure, (over_time, per_joint) = _figure(
        1, 2, (10.5, 4.2), gridspec_kw={"width_ratios": [1.7, 1.0]}
    )
    prismatic = "prismatic" in runs[0].model.joint_types
    unit = "mrad or mm" if prismatic else "mrad"
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
    # The first instants, where nothing moves yet, would stretch the scale to rounding.
    over_time.set_ylim(0.5 * min(np.percentile(error, 5) for error in worst))
    over_time.set_xlabel("time  [s]")
    over_time.set_ylabel(f"link tracking error, worst joint  [{unit}]")
    per_joint.set_xlim(0.5 * each.min(), 2.0 * each.max())
    per_joint.set_yticks(range(len(names)), names)
    per_joint.set_ylim(len(names) - 0.5, -0.5)
    per_joint.set_xlabel(f"rms error of the joint  [{unit}]")
    for axis in (over_time.yaxis, per_joint.xaxis):
        axis.set_major_locator(LogLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set_minor_formatter("")
    figure.legend(loc="outside upper center", ncols=len(runs), frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
