# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Figures in one style."""

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.image import imread

from multibody_dynamics.reporting import figures


def test_figures_have_the_style_and_leave_that_of_others_alone():
    before = dict(rcParams)
    _, axis = figures.new_figure(1, 1, (2.0, 2.0))
    _, named = figures.new_mosaic([["a", "b"]], (4.0, 2.0))
    assert set(named) == {"a", "b"}
    for each in (axis, *named.values()):
        assert not each.spines["top"].get_visible()
    assert dict(rcParams) == before


@pytest.mark.parametrize(
    ("count", "labelled_x", "labelled_y"), [(2, [0, 1], [0]), (5, [2, 3, 4], [0, 3])]
)
def test_axes_in_a_grid_are_labelled_at_its_edges(count, labelled_x, labelled_y):
    figure, axes = figures.grid_of_axes(count, 3, (2.0, 2.0))
    assert list(figure.axes) == axes
    assert len(axes) == count
    figures.label_edges(axes, "time", "torque")
    assert [k for k, axis in enumerate(axes) if axis.get_xlabel() == "time"] == labelled_x
    assert [k for k, axis in enumerate(axes) if axis.get_ylabel() == "torque"] == labelled_y


def test_a_legend_is_below_the_axes(tmp_path):
    figure, axis = figures.new_figure(1, 1, (4.0, 3.0))
    axis.plot([0.0, 1.0], label="measured")
    figures.legend_below(figure, axis)
    figures.save(figure, tmp_path / "new" / "figure.png")
    assert imread(tmp_path / "new" / "figure.png").shape[:2] == (330, 440)
    (legend,) = figure.legends
    assert legend.get_texts()[0].get_text() == "measured"
    assert legend.get_window_extent().y1 < axis.get_window_extent().y0


def test_lines_break_in_gaps_and_at_steps_back_in_time():
    t = np.array([0.0, 0.1, 0.2, 1.0, 1.1, 0.5, 0.6])
    rows = np.arange(14.0).reshape(7, 2)
    times, values = figures.with_gaps(t, rows)
    gaps = np.isnan(times)
    assert np.flatnonzero(gaps).tolist() == [3, 6]
    assert np.isnan(values[gaps]).all()
    np.testing.assert_array_equal(values[~gaps], rows)
    assert figures.with_gaps(t[:1], rows[:1])[0].tolist() == [0.0]
