# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of the report of the road."""

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
    VERMILION,
    grid_of_axes,
    label_edges,
    legend_below,
    new_figure,
)
from ..robot.changes_table import Change
from ..study.studied_laws import STUDIED_LAWS
from .held_out import HeldOut
from .predicted_control import CASES, HIGH, Prediction

CERTAIN = 1.96  # standard errors
CASE_COLOURS = {"stated": ORANGE, "sheet": VERMILION, "identified": GREEN}
MILLI = 1e3


def draw_changes(changes: Sequence[Change]) -> Any | None:
    """Relative changes from the data sheet with 95 % intervals; None if nothing was determined."""
    shown = [
        each for each in changes
        if each.after.determined and isfinite(each.percent) and isfinite(each.after.error)
        and each.quantity.rpartition(" ")[2] in DRIVE_QUANTITIES
    ]  # fmt: skip
    if not shown:
        return None
    quantities = list(dict.fromkeys(each.quantity for each in shown))
    names = list(dict.fromkeys(each.name for each in shown))
    figure, axes = new_figure(
        1, len(quantities), (max(6.5, 2.6 * len(quantities)), 1.2 + 0.28 * len(names)),
        sharey=True, squeeze=False,
    )  # fmt: skip
    for axis, quantity in zip(axes[0], quantities, strict=True):
        rows = [each for each in shown if each.quantity == quantity]
        at = [names.index(each.name) for each in rows]
        spread = [100.0 * CERTAIN * each.after.error / abs(each.before or 1.0) for each in rows]
        axis.errorbar(
            [each.percent for each in rows], at, xerr=spread, fmt="o", ms=4, color=BLUE, capsize=3
        )
        axis.axvline(0.0, color="black", lw=0.8)
        axis.set_title(quantity, fontsize=9)
        axis.set_xlabel("change  [%]", fontsize=9)
    axes[0, 0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0, 0].invert_yaxis()
    return figure


DRIVE_QUANTITIES = ("inertia", "viscous", "coulomb", "stiffness", "cubic_stiffness", "scale")


def draw_torques(held: HeldOut) -> Any:
    """Measured torques of a recording, and the errors of both models."""
    before, after = held.before.trace, held.after.trace
    names = held.after.joint_names
    figure, axes = grid_of_axes(len(names), 3, (4.4, 1.9))
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        measured = after.measured[0][:, k]
        axis.plot(after.times, measured, color=GREY, lw=0.9, label="measured")
        axis.plot(before.times, before.predicted[0][:, k] - before.measured[0][:, k],
                  color=ORANGE, lw=0.9, label="error of the data sheet")  # fmt: skip
        axis.plot(after.times, after.predicted[0][:, k] - measured, color=BLUE, lw=0.9,
                  label="error of the identified model")  # fmt: skip
        axis.set_title(name, fontsize=9)
    label_edges(axes, "time  [s]", f"torque  [{held.unit}]")
    legend_below(figure, axes[0])
    return figure


def draw_prediction(prediction: Prediction) -> Any:
    """Errors of all laws: every drawn robot, median, and the HIGH quantile."""
    laws = list(prediction.numbers)
    figure, axis = new_figure(1, 1, (max(6.5, 1.7 * len(laws)), 4.2))
    for c, case in enumerate(CASES):
        for k, law in enumerate(laws):
            row = prediction.row(case, law)
            at = k + 0.25 * (c - 1)
            errors = MILLI * row.errors[np.isfinite(row.errors)]
            axis.plot(np.full(len(errors), at), errors, ".", color=CASE_COLOURS[case], alpha=0.5)
            for value, mark in ((row.median, "_"), (row.high, "_")):
                if isfinite(value):
                    size = 16 if value == row.median else 9
                    axis.plot(at, MILLI * value, mark, ms=size, mew=2, color=CASE_COLOURS[case])
            if row.lost:
                axis.plot(at, MILLI * 0.2, "x", color=CASE_COLOURS[case])
    axis.set_yscale("log")
    axis.set_xticks(
        range(len(laws)), [STUDIED_LAWS[law].title for law in laws], fontsize=8, rotation=12
    )
    axis.set_ylabel("rms error of the links  [mrad]")
    for case, title in CASES.items():
        axis.plot([], [], "o", color=CASE_COLOURS[case], label=title)
    axis.plot([], [], "_", ms=16, mew=2, color="black", label="median")
    axis.plot([], [], "_", ms=9, mew=2, color="black", label=f"{100 * HIGH:.0f} % of the robots")
    legend_below(figure, axis, ncols=2)
    return figure
