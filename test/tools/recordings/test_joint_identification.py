# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `identify`, from recordings to identified.json, report and picture."""

import json

import numpy as np
import pytest
from matplotlib.image import imread

from drive_runs import RATE, elastic_run, motion, real_planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.recordings import joint_identification
from multibody_dynamics.tools.recordings.joint_identification import in_sequence, split
from rejections import assert_rejected
from robots import CONFIG, sprung_five_bar

ROBOT = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"


def written(folder, name, run):
    file = folder / f"{name}.npz"
    np.savez(
        file,
        t=np.arange(len(run.q)) / run.rate,
        q=run.q,
        theta=run.theta,
        tau=run.motor_torque,
        joint_names=np.array(["shoulder", "elbow"]),
    )
    return str(file)


def test_recordings_become_a_robot_with_errors_and_a_picture(tmp_path, capsys):
    files = [written(tmp_path, f"run{k}", elastic_run(12.0, seed=k)) for k in range(2)]
    options = ["--urdf", str(ROBOT), "--elastic-joints", str(SPRINGS), "-o", str(tmp_path / "out")]
    assert cli.main(["identify", *files, *options]) == 0
    text = capsys.readouterr().out
    assert "fitted: run0 (12 s at 500 Hz)" in text
    assert "held out: run1" in text
    found = dyn.identification.read_identified(tmp_path / "out")
    _, real = real_planar()
    for j, joint in enumerate(real.joint_names):
        K = found["springs"][joint]["stiffness"]
        assert K.determined
        assert abs(K.value - real.actuators[j].spring.K) < 5.0 * K.error
    report = json.loads((tmp_path / "out" / "report.json").read_text())["identification"]
    viscous = report["parameters"]["motor shoulder.viscous"]
    assert abs(viscous["value"] - 0.8) < 5.0 * viscous["standard error"]
    assert report["parameters"]["forearm.com.y"] == {"value": None, "standard error": None}
    assert all(each["held_after"] < each["held_before"] for each in report["residuals"])
    assert imread(tmp_path / "out" / "identification.png").std() > 0.01


def test_the_drives_of_a_five_bar_are_identified_and_written_back(tmp_path, capsys):
    """Springs and dampers at its elbows are known."""
    urdf, springs = CONFIG / "mechanisms" / "five_bar.urdf", sprung_five_bar(tmp_path)
    model = load_robot(urdf, springs)
    drives = [
        dyn.elastic.SeriesElastic(
            dyn.elastic.Motor(J, viscous=0.8, coulomb=0.7, coulomb_velocity=0.02),
            dyn.elastic.LinearSpring(K),
        )
        for J, K in ((0.06, 230.0), (0.045, 180.0))
    ]
    real = dyn.elastic.Actuators(model.joint_names, drives)
    files = []
    for seed in range(2):
        rows = 0.35 * motion(model, 8.0, seed)
        rows[0] += model.home - rows[0].mean(axis=0)
        Q = np.stack(dyn.inverse_dynamics(model, *rows), axis=-2)
        moved = dyn.elastic.motor_motion(real, np.moveaxis(rows, 0, -2), Q)
        noise = 1e-5 * np.random.default_rng(seed + 9).normal(size=(3, *rows[0].shape))
        files.append(str(tmp_path / f"run{seed}.npz"))
        np.savez(
            files[-1], t=np.arange(len(rows[0])) / RATE, q=rows[0] + noise[0],
            theta=moved.position + noise[1], tau=moved.torque + 2e3 * noise[2],
            joint_names=np.array(model.joint_names),
        )  # fmt: skip
    robot = ["--urdf", str(urdf), "--elastic-joints", str(springs)]
    out = tmp_path / "identified"
    assert cli.main(["identify", *files, *robot, "-o", str(out)]) == 0
    found = dyn.identification.read_identified(out)
    for joint, drive in zip(model.joint_names, drives, strict=True):
        for part, name, value in (
            ("springs", "stiffness", drive.spring.K),
            ("motors", "inertia", drive.motor.inertia),
            ("motors", "viscous", 0.8),
            ("motors", "coulomb", 0.7),
        ):
            estimate = found[part][joint][name]
            assert estimate.value == pytest.approx(value, rel=0.05), (joint, name)
            assert abs(estimate.value - value) < 5.0 * estimate.error
    assert "base parameters are determined" in capsys.readouterr().out
    assert cli.main(["write-back", str(out), *robot, "-o", str(tmp_path / "back")]) == 0
    again = dyn.load_actuators(tmp_path / "back" / springs.name, model.joint_names)
    assert load_robot(urdf, tmp_path / "back" / springs.name).passive_springs == (
        model.passive_springs
    )
    assert [each.spring.K for each in again.actuators] == pytest.approx([230.0, 180.0], rel=0.02)
    only = ["--only", "springs", "-o", str(tmp_path / "springs")]
    assert cli.main(["identify", files[0], *robot, *only]) == 0
    assert "left_shoulder" in (tmp_path / "springs" / "springs.yaml").read_text()


def test_ctrl_c_writes_the_results_so_far(tmp_path, capsys, monkeypatch):
    def bar(items):
        def show(done, total):
            if items == "steps" and done == total // 2:  # after the first fits
                raise KeyboardInterrupt

        return show

    monkeypatch.setattr(joint_identification, "ProgressBar", bar)
    file, output = written(tmp_path, "run", elastic_run(10.0)), tmp_path / "out"
    options = ["--urdf", str(ROBOT), "--elastic-joints", str(SPRINGS), "-o", str(output)]
    assert cli.main(["identify", file, *options]) == 130
    assert "these are the results so far" in capsys.readouterr().err
    report = json.loads((output / "report.json").read_text())["identification"]
    assert report["complete"] is False
    assert dyn.identification.read_identified(output)["springs"]["elbow"]["stiffness"].determined


def test_the_last_recording_or_quarter_is_held_out():
    runs = in_sequence([elastic_run(2.0), elastic_run(2.0, seed=1)])
    assert [run.start for run in runs] == [0.0, 2.0]
    fitted, held = split(runs, None)
    assert (fitted, held) == ([runs[0]], [runs[1]])
    (fitted,), (held,) = split(runs[:1], None)
    assert (len(fitted.q), len(held.q), held.start) == (750, 250, 1.5)
    assert split(runs, 0) == (runs, [])
    assert_rejected((lambda: split(runs, 2), "--held-out 2: leaves none of 2"))


def test_names_that_are_not_there_are_refused(tmp_path, capsys):
    file = written(tmp_path, "run", elastic_run(1.0))
    for option, says in (
        (["--payload", "other=2"], "--payload other=...: no recording has this name"),
        (["--gain", "wrist=9"], "wrist"),
        (["--gain", "elbow=-1"], "--gain elbow=-1: must be positive"),
    ):
        assert cli.main(["identify", file, "--urdf", str(ROBOT), *option]) != 0
        assert says in capsys.readouterr().err
    assert cli.main(["identify", file]) == 2
    assert "--urdf is missing" in capsys.readouterr().err
    assert cli.main(["identify", "--only", "springs", file, file]) == 2
    assert "expected one recording" in capsys.readouterr().err
