# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the steps left behind: missing steps are named, sources are identified by their content."""

import json

import pytest

from identified_arms import SPRINGS, URDF, planar_arm
from multibody_dynamics.tools.proof.known_robots import RobotFiles
from multibody_dynamics.tools.proof.proof_artefacts import collect
from rejections import assert_rejected


def collected(identified=None, **more):
    files = RobotFiles(URDF, SPRINGS, identified or planar_arm().files.identified)
    return collect(files, **more)


def test_missing_steps_are_named_with_their_commands():
    found = {step.name: step for step in collected().steps}
    assert [name for name, step in found.items() if step.is_missing] == [
        "excite", "write back", "validate"
    ]  # fmt: skip
    assert f"excite {URDF} --elastic-joints {SPRINGS}" in found["excite"].command
    assert "write-back" in found["write back"].command
    assert found["record"].done == "fitted"


def test_all_steps(tmp_path):
    plan = {"runs": {"fourier": {"duration": 20.0}}, "parameters": {}}
    (tmp_path / "summary.json").write_text(json.dumps(plan), encoding="utf-8")
    written = planar_arm().files.identified.parent / "new"
    found = collected(plans=(tmp_path,), written=written, recordings=(planar_arm().held_out,))
    assert not any(step.is_missing for step in found.steps)
    assert found.plans[tmp_path] == plan
    assert set(found.pictures) == {"fit"}  # that of the plan does not exist
    names = [each.path.name for each in found.sources]
    assert {"changes.md", "covariance.npz", "summary.json", URDF.name, "held_out.npz"} <= set(names)


@pytest.mark.parametrize("text", ["not json", "[]", "{}"])
def test_other_reports_are_refused_by_name(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    assert_rejected(
        (lambda: collected(identified=tmp_path), "report.json"),
        (lambda: collected(plans=(tmp_path,)), "summary.json"),
    )
