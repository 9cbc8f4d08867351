# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The style of all figures. They need no display, no pyplot and no closing."""

from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.core import Array

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, PURPLE = "#E69F00", "#D55E00", "#CC79A7"
GREY = "#999999"
HOUSE_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
}


def new_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """A figure of `size` inches and its axes; `options` are those of `Figure.subplots`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(HOUSE_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(rows, columns, **options)


def new_mosaic(layout: Any, size: tuple[float, float], **options: Any) -> Any:
    """A figure of `size` inches and its axes by name, as `Figure.subplot_mosaic` lays them out."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(HOUSE_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplot_mosaic(layout, **options)


def grid_of_axes(count: int, columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    """A figure with `count` axes of `size` inches each, in at most `columns` columns; the axes on
    the left, and those with none below them, are where its labels belong."""
    columns = min(count, columns)
    rows = -(-count // columns)
    figure, axes = new_figure(
        rows, columns, (size[0] * columns, size[1] * rows + 0.6), squeeze=False
    )
    for axis in axes.flat[count:]:
        axis.remove()
    return figure, list(axes.flat[:count])


def label_edges(axes: list[Any], x: str, y: str) -> None:
    """Label the axes at the left and lower edges of a :func:`grid_of_axes`."""
    for k, axis in enumerate(axes):
        columns = axis.get_gridspec().ncols
        if k % columns == 0:
            axis.set_ylabel(y, fontsize=9)
        if k >= len(axes) - columns:
            axis.set_xlabel(x, fontsize=9)


def legend_below(figure: Any, axis: Any, **options: Any) -> None:
    """The legend of an axis below all axes, where it hides no curve."""
    handles, labels = axis.get_legend_handles_labels()
    settings = {"loc": "outside lower center", "ncols": 3, "fontsize": 8, "frameon": False}
    figure.legend(handles, labels, **settings | options)


def with_gaps(t: Array, values: Array) -> tuple[Array, Array]:
    """The signal with NaN in gaps and at steps back in time, where its line then breaks."""
    steps = np.diff(t)
    if not len(steps):
        return t, values
    cuts = np.flatnonzero((steps > 3.0 * np.median(np.abs(steps))) | (steps < 0.0)) + 1
    return np.insert(t, cuts, np.nan), np.insert(values, cuts, np.nan, axis=0)


def save(figure: Any, file: Path) -> None:
    """Write the figure in the format of the suffix of the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
