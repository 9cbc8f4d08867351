# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The pictures of the report."""

from io import BytesIO

import numpy as np
import pytest

from multibody_dynamics.tools.study import study_pictures
from multibody_dynamics.tools.study.study_pictures import (
    draw_delays,
    draw_errors,
    draw_parts,
    draw_rates,
    gain_of_rates,
)
from study_arms import given, made_up


def test_the_gain_of_the_rates_is_a_ratio_of_medians():
    tables = made_up(lambda key: 4e-3 if "quasi" in key.law else 1e-3)
    for pair in ("", "-comp"):
        assert gain_of_rates(tables, given(tables), pair, "all-10") == pytest.approx(4.0)
    lost = made_up(lambda key: None if key.law == "pd-full" else 1e-3)
    assert np.isnan(gain_of_rates(lost, given(lost), "", "all-10"))
    assert gain_of_rates(lost, given(lost), "-comp", "all-10") == pytest.approx(1.0)


def test_lines_show_medians_and_lost_runs_as_crosses():
    tables = made_up(lambda key: None if key.condition == "all-30" else 2e-3)
    figure = draw_errors(tables, tables.given_arms())
    (axis,) = figure.axes
    points = {line.get_marker(): line.get_xydata() for line in axis.lines}
    assert np.allclose(points["o"][:3, 1], 2.0)
    assert np.isnan(points["o"][3, 1])
    assert points["x"][0, 0] == 30.0


PICTURES = [draw_errors, draw_delays, draw_parts, draw_rates]


@pytest.mark.parametrize("draw", PICTURES)
def test_every_picture_can_be_drawn(draw):
    tables = made_up(robots=("panda", "antagonistic"), stiffnesses=(1.0, 5.0))
    figure = draw(tables) if draw is draw_rates else draw(tables, tables.given_arms())
    figure.savefig(BytesIO(), format="png")
    assert all(axis.get_xlabel() or axis.get_ylabel() for axis in figure.axes)


def test_main_laws_have_colours():
    tables = made_up()
    assert {law.key for law in tables.study.laws} == set(study_pictures.COLOURS)
