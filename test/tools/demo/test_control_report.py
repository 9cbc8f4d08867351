# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report on the control laws, for synthetic runs with known results."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.arm.desired_motion import TrajectoryRequest
from multibody_dynamics.dynamics.motion.trajectories import hold, splice
from multibody_dynamics.nodes.base.messages import SECOND
from multibody_dynamics.simulation import PLANTS
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.recording import CONTROL_TOPICS, Recording, Series
from multibody_dynamics.tools.demo.analysis import LAWS, load_control_runs, run_name
from multibody_dynamics.tools.demo.control_report import OUTPUTS, write_control_report
from multibody_dynamics.tools.demo.preparation import controllers, prepare
from rejections import assert_rejected

START = 1_700_000_000 * SECOND
ERRORS = dict(zip(LAWS, (1e-3, 4e-3, 2e-5, 1e-5), strict=True))  # rad
TORQUE = 87.0  # N m, the robot's effort limit of the first joint, in every tenth cycle


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a demo of the Panda, without the report."""
    folder = tmp_path_factory.mktemp("demo")
    demo = prepare(folder, controllers())
    demo.write()
    for plant in PLANTS:
        for law in LAWS:
            recorded(demo.model.joint_names, plant, law).save(
                folder / f"{run_name(plant, law)}.npz"
            )
    return folder


def recorded(names, plant: str, law: str, error: float | None = None) -> Recording:
    n = len(names)
    points = np.outer([0.0, 0.3, 0.0], np.ones(n))
    request = TrajectoryRequest(START, np.array([0.3, 0.8, 1.3]), points, None, None)
    motion = splice(hold(names, points[0]), 0.0, request.times, points)
    stamp = START + np.arange(-50, 150, dtype=np.int64) * (SECOND // 100)
    state = np.zeros((len(stamp), 3, n))
    state[:, 0] = motion.sample(1e-9 * (stamp - START))[:, 0]
    state[:, 0] += ERRORS[law] if error is None else error
    motors = np.zeros_like(state)
    motors[:, 1] = 1.0  # rad/s
    torque = np.zeros((len(stamp), 1, n))
    torque[::10, 0, 0] = TORQUE

    def series(values, late=0):
        return Series(stamp, stamp + late, values, len(stamp))

    rows = {"joint_states": series(state), "motor_states": series(motors)}
    rows["torque"] = series(torque, 400_000)
    assert rows.keys() == CONTROL_TOPICS.keys()
    return Recording(run_name(plant, law), tuple(names), rows, request)


def test_figures_of_a_run(folder):
    run = load_control_runs(folder)[3]
    assert (run.plant, run.law) == ("internal", "state_feedback")
    figures = run.figures()
    assert figures["tracking error rms"] == pytest.approx(1e-5, rel=1e-6)
    assert figures["tracking error peak"] == pytest.approx(1e-5, rel=1e-6)
    assert figures["peak torque, share of limit"] == 1.0
    assert figures["cycles at a torque limit"] == 14  # of 1.3 s, both ends included
    slowest = run.actuators.speed_limit.min()
    assert figures["peak motor speed, share of limit"] == pytest.approx(1.0 / slowest)
    assert figures["cycles beyond a motor speed limit"] == 0
    assert figures["latency [ms]"]["max"] == pytest.approx(0.4)


def test_the_report(folder, capsys):
    report = write_control_report(folder)
    assert report["problems"] == []
    ratios = report["ratios of rms errors"]
    assert list(ratios) == list(PLANTS)
    assert ratios["mujoco"]["motor_pd"] == pytest.approx(
        {"feedback_linearization": 50.0, "state_feedback": 100.0}
    )
    for name in OUTPUTS:
        assert (folder / name).stat().st_size > 1000
    assert json.loads((folder / "report.json").read_text()) == report
    page = (folder / "report.md").read_text()
    assert "MuJoCo: rigid computed torque has 400.0 times the rms error of flatness and" in page
    assert "14 of 131" in page
    assert "nan" not in page.lower()
    assert cli.main(["report", str(folder)]) == 0
    assert "mujoco_motor_pd" in capsys.readouterr().out


def test_a_law_that_is_not_clearly_better_is_a_problem(folder, tmp_path, capsys):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    names = load_control_runs(folder)[0].model.joint_names
    bad = recorded(names, "mujoco", "state_feedback", error=5e-4)
    bad.save(tmp_path / "mujoco_state_feedback.npz")
    (problem,) = write_control_report(tmp_path)["problems"]
    assert problem == "mujoco: motor_pd has only 2.00 times the rms error of state_feedback"
    assert cli.main(["report", str(tmp_path)]) == 1
    assert problem in capsys.readouterr().err


def test_a_law_that_stopped_the_arm_has_no_ratio(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    names = load_control_runs(folder)[0].model.joint_names
    status = {"stamp": START, "name": "/flatness_controller_node: cycle", "level": 2}
    status |= {"message": "tracking error: 'panda_joint1' is 0.3 from the reference", "values": {}}
    for law in ("motor_pd", "state_feedback"):
        run = recorded(names, "mujoco", law)
        if law == "motor_pd":  # before the motion began
            torque = run.series["torque"]
            early = Series(torque.stamp[:50], torque.sent[:50], torque.values[:50], 50)
            run = replace(run, series={**run.series, "torque": early})
        replace(run, diagnostics=[status]).save(tmp_path / f"mujoco_{law}.npz")
    report = write_control_report(tmp_path)
    ratios = report["ratios of rms errors"]["mujoco"]
    assert {law: list(row) for law, row in ratios.items()} == {
        "computed_torque": ["feedback_linearization"]
    }
    assert report["problems"] == [
        f"mujoco_{law}: the motion was stopped: {status['message']}"
        for law in ("motor_pd", "state_feedback")
    ]
    assert report["runs"]["mujoco_motor_pd"]["cycles"] == 0
    assert "nan" not in (tmp_path / "report.md").read_text().lower()
    json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail)


def test_a_folder_without_a_run_is_an_error(tmp_path):
    prepare(tmp_path, controllers()).write()
    assert_rejected((lambda: load_control_runs(tmp_path), "has no recording such as"))
