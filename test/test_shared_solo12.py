# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The solo12 with springs in its joints squats on the floor of MuJoCo, as example 23 does."""

import runpy
from pathlib import Path

from conftest import SHARED

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "23_squatting_quadruped.py"


def test_a_squat_follows_its_plan_with_rates_and_does_not_slip(capsys):
    program = runpy.run_path(str(EXAMPLE))
    ratios = program["main"](["--urdf", str(SHARED / "cases" / "solo12.urdf")])
    assert 0.0 < ratios["squat"] < 0.1
    assert 0.0 < ratios["sway"] < 0.1
    assert capsys.readouterr().out.count("the feet move by 0.03") == 2
