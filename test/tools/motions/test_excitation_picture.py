# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The picture of a plan shows the motion of every joint and the error of every parameter."""

from __future__ import annotations

import pytest

from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.nodes.base.robot import share_directory
from multibody_dynamics.reporting import figures
from multibody_dynamics.tools.motions import excitation_picture
from multibody_dynamics.tools.motions.excitation_plan import PlanOptions, make_plan


def test_curves_and_bars(tmp_path, monkeypatch):
    robot = share_directory() / "config" / "robots" / "planar_two_link.urdf"
    plan = make_plan(
        PlanOptions(
            robot, form=idn.FourierForm(4.0, 2, 1.0, 0.5), starts=1, iterations=4, runs=("fourier",)
        )
    )
    drawn = []

    def keep(figure, file):
        drawn.append([(len(axis.lines), len(axis.patches)) for axis in figure.axes])
        figures.save(figure, file)

    monkeypatch.setattr(excitation_picture, "save", keep)
    file = tmp_path / "picture.png"
    excitation_picture.save_picture(plan, file)
    motions, path, errors = drawn[0][:3], drawn[0][3], drawn[0][4]
    assert [lines for lines, _ in motions] == [plan.model.n + 2] * 3  # joints and two limits
    assert path[0] == 2
    assert errors[1] == sum(error.verdict != "-" for error in plan.errors)
    assert file.stat().st_size > 10_000
    assert plan.excitation.criterion == pytest.approx(
        min(start.criterion for start in plan.excitation.starts), abs=5.0
    )
