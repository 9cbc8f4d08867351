# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The proof of the planar arm: report, numbers, and pictures."""

import json
import re
import signal
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import yaml

from identified_arms import identified_tendon_arm, motion_file, planar_arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.proof.predicted_control import Proof
from multibody_dynamics.tools.proof.proof import prove
from multibody_dynamics.tools.study.studied_laws import REFERENCE


@cache
def proven():
    folder = Path(mkdtemp())
    files = planar_arm().files
    proof = Proof(files, laws=(REFERENCE,), draws=1, motion=motion_file(), rate=500.0)
    written = files.identified.parent / "new"
    return prove(files, proof, recordings=(planar_arm().held_out,), written=written, folder=folder)


def test_the_report_shows_the_whole_road():
    text = proven().page.read_text(encoding="utf-8")
    for section in ("Excitation", "Recordings", "Identification", "Validation", "Predicted control",
                    "Provenance"):  # fmt: skip
        assert re.search(f"<h2>{section}", text), section
    assert text.count("data:image/png;base64,") == 4  # changes, fit, torques, control errors
    assert '<td class="no">missing</td>' in text  # excite
    assert "multibody_dynamics excite" in text
    assert "covariance.npz" in text
    assert "spring stiffness" in text


def test_the_parameters_of_the_recommended_law_are_those_of_the_node():
    from multibody_dynamics.nodes.following.flatness_controller_parameters import (
        FlatnessControllerParameters,
    )

    text = proven().page.read_text(encoding="utf-8")
    (block,) = re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)
    parameters = yaml.safe_load(block)["flatness_controller_node"]["ros__parameters"]
    assert set(parameters) <= {*FlatnessControllerParameters.__dataclass_fields__}
    assert parameters["law"] == "motor_pd"


def test_the_numbers_are_those_of_the_report():
    content = json.loads((proven().page.parent / "proof.json").read_text())
    assert proven().is_better
    (found,) = content["validation"].values()
    assert all(each["after"] < 0.5 * each["before"] for each in found.values())
    rows = {(each["case"], each["law"]): each for each in content["control"]}
    row = rows["identified", REFERENCE]
    assert row["median"] == pytest.approx(np.median(row["errors"]))
    assert row["worst"] == max(row["errors"])
    assert content["recommended"]["law"] == REFERENCE
    assert any("Recommended" in line for line in proven().lines)


def test_the_road_of_an_arm_whose_stiffness_changes(tmp_path):
    planar_arm = identified_tendon_arm()
    new = planar_arm.files.identified.parent / "new"
    written = dyn.load_actuators(new / "antagonistic.yaml", planar_arm.model.joint_names).actuators[
        1
    ]
    real = planar_arm.actuators.actuators[1]
    for phi in (0.3, 0.5, 0.7):  # rad, extensions during the motion
        for found, true in zip(written.springs, real.springs, strict=True):
            assert found.torque(phi) == pytest.approx(float(true.torque(phi)), rel=0.02)
    for found, true in zip(written.motors, real.motors, strict=True):
        assert found.inertia == pytest.approx(true.inertia, rel=0.02)
    proof = Proof(planar_arm.files, laws=(REFERENCE,), draws=1, motion=motion_file(), rate=500.0)
    found = prove(
        planar_arm.files, proof, recordings=(planar_arm.held_out,), written=new, folder=tmp_path
    )
    assert found.is_better
    content = json.loads((tmp_path / "proof.json").read_text())
    errors = {each["case"]: each["worst"] for each in content["control"]}
    assert errors["identified"] < 0.5 * errors["sheet"]
    equations = {(each["joint"], each["kind"]): each for each in content["equations"]}
    assert len(equations) == 5  # of three motors and two links
    for joint in ("elbow_agonist", "elbow_antagonist"):
        assert equations[joint, "motor"]["after"] < 0.5 * equations[joint, "motor"]["before"]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "elbow_agonist" in text
    with pytest.raises(dyn.InputError, match=r"fitted\.npz: the stiffness of elbow can change"):
        prove(planar_arm.files, None, recordings=(planar_arm.fitted,), folder=tmp_path)


def test_without_recordings_and_simulation_the_steps_are_named_as_missing(tmp_path):
    found = prove(planar_arm().files, None, folder=tmp_path)
    text = found.page.read_text(encoding="utf-8")
    assert text.count('<td class="no">missing</td>') == 4
    assert json.loads((tmp_path / "proof.json").read_text()) == {"validation": {}}
    assert found.lines == ()


def test_ctrl_c_keeps_the_validation(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "multibody_dynamics.tools.proof.predicted_control.simulate",
        lambda *given, **options: signal.raise_signal(signal.SIGINT),
    )
    proof = Proof(planar_arm().files, laws=(REFERENCE,), draws=1, motion=motion_file(), rate=500.0)
    with pytest.raises(KeyboardInterrupt, match=r"proof\.json has what was done"):
        prove(planar_arm().files, proof, recordings=(planar_arm().held_out,), folder=tmp_path)
    content = json.loads((tmp_path / "proof.json").read_text())
    whole = json.loads((proven().page.parent / "proof.json").read_text())
    assert content["validation"] == whole["validation"]
    assert content["control"] == []
    assert content["recommended"] is None


def test_the_command(tmp_path, capsys):
    from multibody_dynamics.tools import cli

    files = planar_arm().files
    given = ["prove", str(planar_arm().held_out), "--urdf", str(files.urdf), "--elastic-joints",
             str(files.elastic_joints), "--identified", str(files.identified), "--draws", "0",
             "-o", str(tmp_path / "proof")]  # fmt: skip
    assert cli.main(given) == 0
    printed = capsys.readouterr().out
    assert "torque residual on 1 recording(s) not used" in printed
    assert (tmp_path / "proof" / "report.html").is_file()
