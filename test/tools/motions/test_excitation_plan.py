# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Plans of an identification: their joined runs and their predictions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.dynamics.core import DynamicsError
from multibody_dynamics.nodes.base.robot import share_directory
from multibody_dynamics.tools.motions.excitation_plan import PlanOptions, make_plan

CONFIG = Path(share_directory()) / "config"
QUICK = PlanOptions(
    CONFIG / "robots" / "planar_two_link.urdf",
    form=idn.FourierForm(4.0, 2, 1.0, 0.5),
    acceleration=(8.0,),
    starts=1,
    iterations=8,
)


def test_one_file_contains_all_runs_and_the_moves_between_them():
    separate = make_plan(QUICK)
    joined = make_plan(replace(QUICK, one_file=True))
    (run,) = joined.runs.values()
    total = sum(each.duration for each in separate.runs.values())
    assert run.duration > total
    first = separate.runs["fourier"]
    for t in (0.5, 2.0, 4.9):
        np.testing.assert_allclose(run(t)[:3], first(t)[:3], atol=1e-4)
    assert idn.exceeded_limit(joined.limits, run, 0.02) is None
    assert not run(run.end_time)[1:].any()


def test_friction_of_the_data_file_counts_in_torques_and_errors(tmp_path):
    data = tmp_path / "data.yaml"
    data.write_text(yaml.safe_dump({"friction": {"shoulder": {"viscous": 0.5, "coulomb": 1.0}}}))
    plan = make_plan(replace(QUICK, data=data, runs=("friction",)))
    found = {error.name: error for error in plan.errors}
    assert found["shoulder.coulomb"].value == 1.0
    assert found["shoulder.coulomb"].verdict == "well"
    assert plan.limits.friction is not None


def test_a_box_without_room_is_reported():
    box = (2.0, 2.0, 2.0, 3.0, 3.0, 3.0)
    with pytest.raises(DynamicsError, match="no exciting motion within the limits"):
        make_plan(replace(QUICK, box=box))
