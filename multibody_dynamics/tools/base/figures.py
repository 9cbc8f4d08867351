# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The style of all figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
ORANGE, VERMILION, PURPLE = "#E69F00", "#D55E00", "#CC79A7"
HOUSE_STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
}


def styled_pyplot() -> Any:
    """Return pyplot, set up to draw into files in the style of this package."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(HOUSE_STYLE)
    return pyplot


def new_figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> Any:
    """A figure of `size` inches and its axes; `options` are passed to `pyplot.subplots`."""
    return styled_pyplot().subplots(rows, columns, figsize=size, layout="constrained", **options)


def save(figure: Any, file: Path) -> None:
    """Write the figure and free its memory."""
    from matplotlib import pyplot

    figure.savefig(file, dpi=110)
    pyplot.close(figure)
