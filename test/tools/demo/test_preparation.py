# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Preparing a demo: everything is checked before anything is written or deleted."""

from pathlib import Path

import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.node_parameters import PARAMETERS, read_parameters
from multibody_dynamics.tools.demo.preparation import (
    FEEDFORWARDS,
    OUTPUTS,
    SPRINGS,
    controllers,
    prepare,
)

ROBOT = str(share_directory() / "config" / "robots" / "planar_two_link.urdf")
ELBOW = "config/robots/antagonistic_elbow.urdf"
TENDONS = "config/elastic_joints/antagonistic.yaml"


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A folder with the results of an earlier demo."""
    for name in (*OUTPUTS, "full.npz"):
        (tmp_path / name).write_text("earlier")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["--urdf", "absent.urdf"],
        ["--elastic-joints", "absent.yaml"],
        ["--urdf", ROBOT, "--elastic-joints", "config/elastic_joints/panda.yaml"],
    ],
)
def test_wrong_arguments_leave_earlier_results_alone(earlier, capsys, words):
    before = {file: file.read_bytes() for file in earlier.iterdir()}
    assert cli.main(["demo", "--output", str(earlier), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert {file: file.read_bytes() for file in earlier.iterdir()} == before


def test_a_plant_that_is_not_installed_is_named_first(earlier, capsys, monkeypatch):
    monkeypatch.setattr(
        "multibody_dynamics.tools.demo.preparation.available_plants", lambda: ("internal",)
    )
    words = ["demo", "--output", str(earlier), "--compare", "controllers", "--plant", "mujoco"]
    assert cli.main(words) == 2
    assert "--plant mujoco is not installed" in capsys.readouterr().err
    assert (earlier / "full.npz").is_file()


def test_a_plant_is_only_for_the_comparison_of_controllers(earlier, capsys):
    words = ["demo", "--output", str(earlier), "--compare", "feedforwards", "--plant", "internal"]
    assert cli.main(words) == 2
    assert "--plant internal: has no effect with --compare feedforwards" in capsys.readouterr().err
    assert (earlier / "full.npz").is_file()


@pytest.mark.parametrize(("compare", "is_named"), [("feedforwards", False), ("controllers", True)])
def test_a_missing_plant_is_named_only_where_it_matters(
    tmp_path, capsys, monkeypatch, compare, is_named
):
    place = "multibody_dynamics.tools.demo"
    monkeypatch.setattr(f"{place}.preparation.available_plants", lambda: ("internal",))
    monkeypatch.setattr(f"{place}.runs.run_demo", lambda demo, domain_id: {})
    monkeypatch.setattr(f"{place}.page.print_results", lambda results, folder: 0)
    words = ["demo", "--output", str(tmp_path), "--compare", compare, "--urdf", ROBOT]
    assert cli.main(words) == 0
    assert ("MuJoCo is not installed" in capsys.readouterr().out) == is_named


@pytest.mark.parametrize("keep", [False, True])
def test_a_new_demo_replaces_earlier_results_unless_they_are_kept(earlier, keep):
    demo = prepare(earlier, robot=ROBOT)
    assert (earlier / "report.json").is_file()
    demo.write(keep=keep)
    assert not (earlier / "report.json").exists()
    assert (earlier / "full.npz").is_file() == keep
    written = read_parameters(earlier / PARAMETERS)
    assert written == demo.parameters
    for node in demo.comparison.nodes[:2]:
        assert written[node]["elastic_joints_file"] == str(earlier / SPRINGS)
    assert (earlier / SPRINGS).read_text() == demo.springs


def test_springs_that_do_not_fit_are_named(tmp_path):
    with pytest.raises(InputError, match=r"panda\.yaml"):
        prepare(tmp_path, robot=ROBOT, elastic_joints="config/elastic_joints/panda.yaml")


@pytest.mark.parametrize("real_time", [False, True])
def test_only_in_real_time_a_late_controller_is_not_waited_for(tmp_path, real_time):
    parameters = prepare(tmp_path, robot=ROBOT, real_time=real_time).parameters
    (simulator,) = (each for each in parameters.values() if "lockstep" in each)
    assert simulator["lockstep"] is not real_time
    assert simulator["command_timeout"] == (1.0 if real_time else 10.0)


@pytest.mark.parametrize("comparison", [FEEDFORWARDS, controllers()])
def test_joints_with_two_motors_are_commanded_by_the_names_of_their_motors(tmp_path, comparison):
    demo = prepare(tmp_path, comparison, robot=ELBOW, elastic_joints=TENDONS)
    assert demo.motor_names == ["shoulder", "elbow_agonist", "elbow_antagonist"]
    for node in comparison.nodes[:2]:
        assert demo.parameters[node]["command_joints"] == demo.motor_names
    assert len(demo.parameters[comparison.nodes[0]]["initial_positions"]) == demo.model.n
