# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of the report."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from ..base.figures import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, new_figure
from .conditions import DELAYS, ERRORS
from .model_errors import PARTS
from .studied_laws import StudiedLaw
from .study_plan import ArmKey
from .study_tables import StudyTables

BROWN = "#7A4B1E"
COLOURS = {
    "pd-full-comp": VERMILION,
    "pd-quasi-comp": ORANGE,
    "pd-full": BLUE,
    "pd-quasi": SKY,
    "sf-full-comp": PURPLE,
    "sf-full": GREEN,
    "sf-coupled": BROWN,
}
GREY = "#999999"
NARROW = 9.0  # inches: narrower pictures have fewer columns in the legend
LOST_MARK = 1.6  # times the last finite error: where lost runs are marked


def _size(count: int) -> tuple[float, float]:
    """The size in inches of a picture with this many axes."""
    return max(6.5, 4.6 * count), 4.5


def style_of(law: StudiedLaw) -> dict[str, Any]:
    """Colour and line of a law: the main laws in colour, the others in grey."""
    if law.key in COLOURS:
        return {"color": COLOURS[law.key], "lw": 1.8, "zorder": 3}
    return {"color": GREY, "lw": 0.9, "zorder": 2}


def draw_errors(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """rms error over the error of the model: median, and worst draw dotted."""
    figure, axes = new_figure(1, len(arms), _size(len(arms)), sharey=True, squeeze=False)
    keys = ["exact", *(f"all-{100 * e:g}" for e in ERRORS)]
    x = [0.0, *(100 * e for e in ERRORS)]
    for axis, arm in zip(axes[0], arms, strict=True):
        for law in tables.laws(arm):
            cells = [tables.cell(arm, law.key, key) for key in keys]
            medians = [np.nan if cell is None else cell.median for cell in cells]
            worst = [np.nan if cell is None else cell.worst for cell in cells]
            _line(axis, x, medians, law)
            if law.key in COLOURS:
                shown = [y if isfinite(y) else np.nan for y in worst]
                axis.plot(x, shown, ":", color=COLOURS[law.key], lw=1.0)
        axis.set_yscale("log")
        axis.set_title(arm.source.title, fontsize=9)
        axis.set_xlabel("error of all parameters  [%]")
    axes[0, 0].set_ylabel("rms error of the links  [mrad]")
    _legend(figure, tables)
    return figure


def draw_delays(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """rms error over the delay: unknown (lines) and known (dashed)."""
    figure, axes = new_figure(1, len(arms), _size(len(arms)), sharey=True, squeeze=False)
    x = [0.0, *(1e3 * d for d in DELAYS)]
    for axis, arm in zip(axes[0], arms, strict=True):
        for known, dashes in (("unknown", "-"), ("known", "--")):
            keys = ["exact", *(f"delay-{1e3 * d:g}-{known}" for d in DELAYS)]
            for law in tables.laws(arm):
                if law.key not in COLOURS:
                    continue
                cells = [tables.cell(arm, law.key, key) for key in keys]
                values = [np.nan if cell is None else cell.median for cell in cells]
                _line(axis, x, values, law, ls=dashes)
        axis.set_yscale("log")
        axis.set_title(arm.source.title, fontsize=9)
        axis.set_xlabel("delay of the torque  [ms]")
    axes[0, 0].set_ylabel("rms error of the links  [mrad]")
    _legend(figure, tables, only=COLOURS)
    return figure


def draw_parts(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """Bars: the median error with one group of parameters off by 30 %."""
    figure, axes = new_figure(1, len(arms), _size(len(arms)), sharey=True, squeeze=False)
    kinds = [*PARTS, "all"]
    for axis, arm in zip(axes[0], arms, strict=True):
        laws = [law for law in tables.laws(arm) if law.is_main]
        width = 0.8 / max(len(laws), 1)
        for k, law in enumerate(laws):
            cells = [tables.cell(arm, law.key, f"{kind}-30") for kind in kinds]
            heights = [
                cell.median if cell is not None and isfinite(cell.median) else np.nan
                for cell in cells
            ]
            places = np.arange(len(kinds)) + (k + 0.5) * width - 0.4
            axis.bar(places, heights, width, color=COLOURS.get(law.key, GREY))
        axis.set_yscale("log")
        axis.set_xticks(range(len(kinds)), kinds, fontsize=8)
        axis.set_title(arm.source.title, fontsize=9)
    axes[0, 0].set_ylabel("rms error of the links  [mrad]")
    _legend(figure, tables, only=COLOURS)
    return figure


def draw_rates(tables: StudyTables) -> Any:
    """What Q' and Q'' contribute: the error of quasi-static over that of full feedforward."""
    robots, factors = tables.study.robots, tables.study.stiffnesses
    figure, axes = new_figure(1, len(robots), _size(len(robots)), sharey=True, squeeze=False)
    marks = dict(zip(sorted(factors), ("o", "s", "^", "D", "v"), strict=False))
    x = [0.0, *(100 * e for e in ERRORS)]
    for axis, robot in zip(axes[0], robots, strict=True):
        for factor in factors:
            arm = ArmKey(robot, factor)
            for pair, colour in (("-comp", VERMILION), ("", BLUE)):
                ratios = [
                    gain_of_rates(tables, arm, pair, key)
                    for key in ["exact", *(f"all-{100 * e:g}" for e in ERRORS)]
                ]
                label = f"springs x {factor:g}, {'' if pair else 'not '}compensated"
                axis.plot(x, ratios, marks.get(factor, "o") + "-", color=colour, label=label)
        axis.axhline(1.0, color="black", lw=0.8)
        axis.set_yscale("log")
        axis.set_title(robot.title, fontsize=9)
        axis.set_xlabel("error of all parameters  [%]")
    axes[0, 0].set_ylabel("error without rates / with rates")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


def gain_of_rates(tables: StudyTables, arm: ArmKey, pair: str, condition: str) -> float:
    """Median error of motor PD with the quasi-static feedforward over that with the full one, both
    compensated (`pair` "-comp") or not (""); NaN if one was lost or not studied."""
    cells = [tables.cell(arm, f"pd-{kind}{pair}", condition) for kind in ("quasi", "full")]
    if any(cell is None or not isfinite(cell.median) for cell in cells):
        return float("nan")
    slow, full = (cell.median for cell in cells if cell is not None)
    return slow / full


def _line(axis: Any, x: Sequence[float], y: Sequence[float], law: StudiedLaw, **own: Any) -> None:
    """A line through the finite values; a cross above the last of them where the arm was lost."""
    shown = [value if isfinite(value) else np.nan for value in y]
    axis.plot(x, shown, marker="o", ms=3, **style_of(law) | own)
    known = [value for value in shown if value == value]
    lost = [at for at, value in zip(x, y, strict=True) if value == np.inf]
    if lost and known:
        axis.plot(lost[:1], [LOST_MARK * known[-1]], "x", **style_of(law))


def _legend(figure: Any, tables: StudyTables, only: Any = None) -> None:
    from matplotlib.lines import Line2D

    laws = [law for law in tables.study.laws if law.key in COLOURS]
    handles = [Line2D([], [], label=law.title, **style_of(law)) for law in laws]
    if only is None and len(laws) < len(tables.study.laws):
        handles.append(Line2D([], [], label="other laws, see the table", color=GREY, lw=0.9))
    columns = 2 if figure.get_figwidth() < NARROW else 3
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8)
