# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of the report."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from ...reporting.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_below,
    new_figure,
)
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
NARROW = 9.0  # inches: narrower pictures have fewer columns in the legend
LOST_MARK = 1.6  # times the last finite error: where lost runs are marked


def _axes_of(titles: Sequence[str], x: str, y: str = "", *, log: bool = True) -> tuple[Any, Any]:
    """A figure with axes side by side, which share a logarithmic scale of the errors."""
    size = max(6.5, 4.6 * len(titles)), 4.5
    figure, axes = new_figure(1, len(titles), size, sharey=log, squeeze=False)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(x)
        if log:
            axis.set_yscale("log")
    axes[0, 0].set_ylabel(y or "rms error of the links  [mrad]")
    return figure, axes[0]


def _titles(arms: Sequence[ArmKey]) -> list[str]:
    return [arm.source.title for arm in arms]


def _median(tables: StudyTables, arm: ArmKey, law: str, condition: str) -> float:
    """The median error; NaN if it was not studied."""
    cell = tables.cell(arm, law, condition)
    return np.nan if cell is None else cell.median


def style_of(law: StudiedLaw) -> dict[str, Any]:
    """Colour and line of a law: the main laws in colour, the others in grey."""
    if law.key in COLOURS:
        return {"color": COLOURS[law.key], "lw": 1.8, "zorder": 3}
    return {"color": GREY, "lw": 0.9, "zorder": 2}


def draw_errors(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """rms error over the error of the model: median, and worst draw dotted."""
    figure, axes = _axes_of(_titles(arms), "error of all parameters  [%]")
    keys = ["exact", *(f"all-{100 * e:g}" for e in ERRORS)]
    x = [0.0, *(100 * e for e in ERRORS)]
    for axis, arm in zip(axes, arms, strict=True):
        for law in tables.laws(arm):
            _line(axis, x, [_median(tables, arm, law.key, key) for key in keys], law)
            if law.key in COLOURS:
                cells = [tables.cell(arm, law.key, key) for key in keys]
                worst = [np.nan if c is None or not isfinite(c.worst) else c.worst for c in cells]
                axis.plot(x, worst, ":", color=COLOURS[law.key], lw=1.0)
    _legend(figure, tables)
    return figure


def draw_delays(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """rms error over the delay: unknown (lines) and known (dashed)."""
    figure, axes = _axes_of(_titles(arms), "delay of the torque  [ms]")
    x = [0.0, *(1e3 * d for d in DELAYS)]
    for axis, arm in zip(axes, arms, strict=True):
        for known, dashes in (("unknown", "-"), ("known", "--")):
            keys = ["exact", *(f"delay-{1e3 * d:g}-{known}" for d in DELAYS)]
            for law in tables.laws(arm):
                if law.key in COLOURS:
                    values = [_median(tables, arm, law.key, key) for key in keys]
                    _line(axis, x, values, law, ls=dashes)
    _legend(figure, tables, only=COLOURS)
    return figure


def draw_parts(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """Bars: the median error with one group of parameters off by 30 %."""
    figure, axes = _axes_of(_titles(arms), "parameters that are off")
    kinds = [*PARTS, "all"]
    for axis, arm in zip(axes, arms, strict=True):
        laws = [law for law in tables.laws(arm) if law.is_main]
        width = 0.8 / max(len(laws), 1)
        for k, law in enumerate(laws):
            heights = [_median(tables, arm, law.key, f"{kind}-30") for kind in kinds]
            places = np.arange(len(kinds)) + (k + 0.5) * width - 0.4
            shown = np.where(np.isfinite(heights), heights, np.nan)
            axis.bar(places, shown, width, color=COLOURS.get(law.key, GREY))
        axis.set_xticks(range(len(kinds)), kinds, fontsize=8)
    _legend(figure, tables, only=COLOURS)
    return figure


def draw_rates(tables: StudyTables) -> Any:
    """What Q' and Q'' contribute: the error of quasi-static over that of full feedforward."""
    robots, factors = tables.study.robots, tables.study.stiffnesses
    titles = [robot.title for robot in robots]
    figure, axes = _axes_of(titles, "error of all parameters  [%]",
                            "error without rates / with rates")  # fmt: skip
    marks = dict(zip(sorted(factors), ("o", "s", "^", "D", "v"), strict=False))
    keys = ["exact", *(f"all-{100 * e:g}" for e in ERRORS)]
    x = [0.0, *(100 * e for e in ERRORS)]
    for axis, robot in zip(axes, robots, strict=True):
        for factor in factors:
            for pair, colour in (("-comp", VERMILION), ("", BLUE)):
                arm = ArmKey(robot, factor)
                ratios = [gain_of_rates(tables, arm, pair, key) for key in keys]
                label = f"springs x {factor:g}, {'' if pair else 'not '}compensated"
                axis.plot(x, ratios, marks.get(factor, "o") + "-", color=colour, label=label)
        axis.axhline(1.0, color="black", lw=0.8)
    legend_below(figure, axes[0], ncols=2)
    return figure


def gain_of_rates(tables: StudyTables, arm: ArmKey, pair: str, condition: str) -> float:
    """Median error of motor PD with the quasi-static feedforward over that with the full one, both
    compensated (`pair` "-comp") or not (""); NaN if one was lost or not studied."""
    slow, full = (_median(tables, arm, f"pd-{kind}{pair}", condition) for kind in ("quasi", "full"))
    return slow / full if isfinite(slow) and isfinite(full) else float("nan")


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
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
