# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report on torque sources: its numbers in every form, and arms of every kind."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, mixed_panda, shipped, variable_arm
from multibody_dynamics.dynamics.control import TORQUE_DESIGNS, LoopTiming
from multibody_dynamics.reporting.tables import cell
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.robot.torque_page import write_torque_report
from multibody_dynamics.tools.robot.torque_report import (
    as_dict,
    design_row,
    limit_row,
    lines,
    torque_report,
)
from robots import CONFIG

TIMING = LoopTiming(delay=1e-3, velocity_filter=(3, 100.0))
URDF = str(CONFIG / "robots" / "planar_two_link.urdf")
YAML = str(CONFIG / "elastic_joints" / "planar_two_link.yaml")


def made(arm, **settings):
    return torque_report(*arm, TIMING, resolution=2.4e-5, **settings)


def test_the_page_and_the_file_have_the_numbers_of_the_table(tmp_path: Path):
    report = made(shipped("planar_two_link"))
    page = write_torque_report(report, tmp_path / "new")
    text = page.read_text()
    data = json.loads((page.parent / "report.json").read_text())
    table = "\n".join(lines(report))
    for joint, limits in zip(report.joints, report.limits, strict=True):
        assert (page.parent / f"{joint.name}.png").stat().st_size > 10_000
        found = data["joints"][joint.name]
        assert found["stiffness [N m/rad]"] == joint.joint.stiffness
        for value in limit_row(joint, limits)[1:]:
            assert f"{value:.3g}" in table
            assert f">{cell(value, 3)}</td>" in text
        assert set(found["designs"]) == set(TORQUE_DESIGNS)
    for result in report.evaluations:
        one = data["joints"][result.joint]["designs"][result.design]
        assert one["locked [Hz]"] == result.bandwidth
        np.testing.assert_array_equal(one["impedance [N m s/rad]"]["imaginary"],
                                      result.impedance.imag)  # fmt: skip
        for value in design_row(result)[2:]:
            assert f">{cell(value, 3)}</td>" in text
    assert text.count("data:image/png;base64,") == 2


@pytest.mark.parametrize("make", [mixed_panda, antagonistic_arm, variable_arm])
def test_arms_of_every_kind(make):
    arm = make()
    report = made(arm)
    assert not report.refused
    rigid = int(arm.actuators.is_rigid.sum())
    assert len(report.rigid) == rigid
    assert len(report.evaluations) == 3 * (arm.model.n - rigid)
    for result in report.evaluations:
        assert 0.0 < result.bandwidth < 500.0
        assert (result.noise > 0.0).all()
    json.dumps(as_dict(report), allow_nan=False)


def test_two_motors_deliver_the_torque_of_their_joint_together():
    arm = shipped("antagonistic_elbow")
    report = made(arm)
    elbow = report.limits[1]
    motors = arm.actuators.motors[1:]
    assert elbow.motor.torque_limit == sum(motor.torque_limit for motor in motors)
    assert elbow.motor.speed_limit == min(motor.speed_limit for motor in motors)


def test_the_command_prints_and_writes(tmp_path, capsys):
    arguments = ["torque-report", URDF, "--elastic-joints", YAML]
    assert cli.main([*arguments, "-o", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "planar_two_link: 1000 Hz, 1 ms from measurement to torque" in printed
    assert re.search(r"^elbow +torque_observer +13\.1 +341 ", printed, re.MULTILINE)
    assert f"report: {tmp_path / 'report.html'}" in printed


def test_a_design_that_would_be_unstable_is_reported(tmp_path, capsys):
    arguments = ["torque-report", URDF, "--elastic-joints", YAML, "--delay", "4"]
    assert cli.main([*arguments, "--bandwidth", "400", "-o", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "refused: joint 'shoulder': the torque loop 'inertia_shaping'" in printed
    assert "Problem: refused: joint" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--friction", "2"], "--friction is 2: must be from 0 to 1"),
        (["--delay", "100"], "delay is 0.1 s: must be from 0 to 20 periods"),
        (["--position", "0.1"], "q: expected shape"),
    ],
)
def test_wrong_arguments_are_refused(capsys, wrong, message):
    assert cli.main(["torque-report", URDF, "--elastic-joints", YAML, *wrong]) == 2
    assert message in capsys.readouterr().err
