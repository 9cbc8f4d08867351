# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Labels of joints in a picture of a robot in space: beside their joints, apart from each other.

Joints of an arm often share a point, or lie behind each other in the picture. Each label is
therefore placed in the picture, not in space: at the nearest place that is free, with a line to its
joint. If the picture is turned, labels follow their joints.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.text import Annotation
from matplotlib.textpath import TextPath

from ...dynamics.core import Array

FONT = 8.0  # points
DISTANCES = (11.0, 17.0, 25.0, 35.0, 47.0, 61.0, 80.0, 100.0)  # points
DIRECTIONS = 16
NEAR = 14.0  # points; no line to labels that are closer
MARGIN = 1.5  # points around each label
OVERLAP, COVERED, OUTSIDE = 10.0, 1.0, 20.0  # costs relative to DISTANCES[-1]


class JointLabel(Annotation):
    """A text at a fixed offset, in points, from the projection of a point in space."""

    def __init__(
        self, axis: Any, text: str, place: Array, offset: tuple[float, float], colour: str
    ) -> None:
        from matplotlib.patheffects import withStroke

        far = float(np.hypot(*offset)) > NEAR
        line = {"arrowstyle": "-", "color": colour, "lw": 0.6, "shrinkA": 0.0, "shrinkB": 3.0}
        super().__init__(
            text, projected(axis, place[None])[0], xytext=offset, textcoords="offset points",
            color=colour, fontsize=FONT, ha="center", va="center", zorder=100,
            annotation_clip=False, arrowprops=line if far else None,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
        self.place = place

    def draw(self, renderer: Any) -> None:
        self.xy = tuple(projected(self.axes, self.place[None])[0])
        super().draw(renderer)


def projected(axis: Any, places: Array) -> Array:
    """(k, 2) data coordinates of the picture for points (k, 3) in space."""
    rows = np.column_stack([places, np.ones(len(places))]) @ axis.get_proj().T
    return np.asarray(rows[:, :2] / rows[:, 3:])


def add_labels(
    axis: Any,
    texts: Sequence[str],
    places: Array,
    colours: Sequence[str],
    obstacles: Array,
    window: tuple[float, float, float, float],
) -> None:
    """Label the points `places` (k, 3); obstacles (m, 3): what labels should not cover; window: x,
    y, width and height in the figure, in which they should be.

    The view and the limits of the axes must be final.
    """
    axis.apply_aspect()
    scale = 72.0 / axis.figure.dpi
    points, avoided = (
        scale * axis.transData.transform(projected(axis, rows)) for rows in (places, obstacles)
    )
    x, y, width, height = window
    corners = axis.figure.transFigure.transform([(x, y), (x + width, y + height)])
    sizes = np.array([_size(text) for text in texts])
    offsets = label_offsets(points, sizes, np.vstack([points, avoided]), scale * corners)
    for text, place, offset, colour in zip(texts, places, offsets, colours, strict=True):
        axis.add_artist(JointLabel(axis, text, place, (offset[0], offset[1]), colour))


def _size(text: str) -> tuple[float, float]:
    """Width and height in points, with a margin."""
    box = TextPath((0, 0), text, size=FONT).get_extents()
    return float(box.width) + 2.0 * MARGIN, FONT + 2.0 * MARGIN


def label_offsets(points: Array, sizes: Array, avoided: Array, window: Array) -> Array:
    """Offsets (k, 2) of the centres of boxes with `sizes` (k, 2) from `points` (k, 2).

    One box after the other gets the place with the lowest cost: near its point, apart from the
    boxes before it, covering few of the points `avoided` (m, 2), within the window [[x0, y0], [x1,
    y1]]. All in the same unit.
    """
    angles = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS + 0.35
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    lower: Array = np.empty((0, 2))
    upper: Array = np.empty((0, 2))
    offsets = np.empty_like(points)
    for k, (point, size) in enumerate(zip(points, sizes, strict=True)):
        # A wide box is further from its point than a high one, in the direction of its width.
        reach = np.abs(directions) @ (0.5 * size)
        candidates = np.concatenate([directions * (d + reach - 6.0)[:, None] for d in DISTANCES])
        low, high = point + candidates - 0.5 * size, point + candidates + 0.5 * size
        sides = np.minimum(high[:, None], upper) - np.maximum(low[:, None], lower)
        overlaps = (sides > 0.0).all(axis=2).sum(axis=1)
        inside = (avoided >= low[:, None]) & (avoided <= high[:, None])
        covered = inside.all(axis=2).sum(axis=1)
        outside = (low < window[0]).any(axis=1) | (high > window[1]).any(axis=1)
        cost = np.repeat(DISTANCES, DIRECTIONS) / DISTANCES[-1]
        cost = cost + OVERLAP * overlaps + COVERED * covered + OUTSIDE * outside
        best = int(cost.argmin())
        offsets[k] = candidates[best]
        lower, upper = np.vstack([lower, low[best]]), np.vstack([upper, high[best]])
    return offsets
