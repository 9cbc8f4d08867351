# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""trajectory_node follows a plan's motions from its files; the text names the parameters."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import identification as idn
from multibody_dynamics.nodes.base.robot import share_directory
from multibody_dynamics.nodes.trajectory_node import MOST_POINTS, TrajectoryParameters, read_file
from multibody_dynamics.reporting import figures
from multibody_dynamics.tools.motions import excitation_files
from multibody_dynamics.tools.motions.excitation_files import (
    DELAY_PER_POINT,
    LONGEST_DELAY,
    START_DELAY,
    describe_plan,
    refuse_existing,
    remove_plan,
    summary_of,
    write_plan,
)
from multibody_dynamics.tools.motions.excitation_plan import PlanOptions, make_plan
from rejections import assert_rejected

CONFIG = Path(share_directory()) / "config"
QUICK = PlanOptions(
    CONFIG / "robots" / "planar_two_link.urdf",
    form=idn.FourierForm(4.0, 2, 1.0, 0.5),
    acceleration=(8.0,),
    starts=1,
    iterations=8,
)


@pytest.fixture(scope="module")
def elastic():
    springs = CONFIG / "elastic_joints" / "planar_two_link.yaml"
    runs = ("fourier", "steps", "chirps")
    return make_plan(replace(QUICK, elastic_joints=springs, runs=runs, torque_rate=(5000.0,)))


def test_files_lead_trajectory_node_along_the_motion(tmp_path, elastic):
    write_plan(elastic, tmp_path)
    for name, run in elastic.runs.items():
        given = yaml.safe_load((tmp_path / f"{name}.yaml").read_text())
        parameters = given["trajectory_node"]["ros__parameters"]
        assert parameters["motion"] == "file"
        points = read_file(elastic.model, Path(parameters["trajectory_file"]))
        # The receiver must be able to plan before the motion starts, see docs/trajectory_node.md
        assert 6.0 + 4e-4 * len(points.times) - 0.1 < parameters["start_delay"] <= 60.0
        again = dyn.motion.interpolate(elastic.model.joint_names, *points)
        times = np.linspace(0.0, run.duration, 200)
        difference = again.sample(times) - run.sample(run.start_time + times)
        assert np.abs(difference[:, 0]).max() < 1e-6
        assert np.abs(difference[:, 2]).max() < 1e-2
    assert (tmp_path / "excitation.png").read_bytes()[:4] == b"\x89PNG"


def test_the_longest_motion_leaves_the_receiver_time_to_plan():
    """The delay that docs/trajectory_node.md recommends is possible for every motion."""
    delay = START_DELAY + DELAY_PER_POINT * MOST_POINTS
    assert delay <= LONGEST_DELAY
    field = TrajectoryParameters.__dataclass_fields__["start_delay"]
    assert field.metadata["bounds"][1] == LONGEST_DELAY


def test_a_plan_is_only_replaced_on_request_and_then_as_a_whole(tmp_path, elastic):
    refuse_existing(tmp_path)
    write_plan(elastic, tmp_path)
    (tmp_path / "recording.npz").touch()
    assert_rejected((lambda: refuse_existing(tmp_path), "already contains a plan --overwrite"))
    remove_plan(tmp_path)
    write_plan(replace(elastic, runs={"steps": elastic.runs["steps"]}), tmp_path)
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"steps.csv", "steps.yaml", "summary.json", "excitation.png", "recording.npz"}


def test_motors_and_springs_are_predicted(elastic):
    names = {error.name: error for error in elastic.errors}
    for motor in elastic.limits.motors.actuators.motor_names:
        for kind in ("inertia", "viscous", "spring"):
            assert names[f"{motor}.{kind}"].verdict in ("well", "roughly", "barely")
    text = "\n".join(describe_plan(elastic))
    assert "run chirps" in text
    assert "known" in text


def test_the_summary_contains_the_sum_of_sines(elastic):
    summary = json.loads(json.dumps(summary_of(elastic), allow_nan=False))
    given = summary["excitation"]["sum_of_sines"]
    motion = dyn.motion.exciting_motion(elastic.model, **given)
    run = elastic.runs["fourier"]
    for t in (0.3, 2.0, 4.4):
        np.testing.assert_allclose(motion(t), run(t), atol=1e-9)
    assert set(summary["runs"]) == {"fourier", "steps", "chirps"}


def test_the_picture_shows_every_joint_and_every_parameter(tmp_path, monkeypatch, elastic):
    drawn = []

    def keep(figure, file):
        drawn.append([(len(axis.lines), len(axis.patches)) for axis in figure.axes])
        figures.save(figure, file)

    monkeypatch.setattr(excitation_files, "save", keep)
    excitation_files.save_picture(elastic, tmp_path / "picture.png")
    *motions, path, errors = drawn[0]
    assert [lines for lines, _ in motions] == [elastic.model.n + 2] * 3  # joints and two limits
    assert path[0] == 2
    assert errors[1] == sum(error.verdict != "-" for error in elastic.errors)
    assert (tmp_path / "picture.png").stat().st_size > 10_000
