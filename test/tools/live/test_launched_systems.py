# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The systems of nodes that launch files and the command `loop` start."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from multibody_dynamics.dynamics import load_actuators, load_urdf
from multibody_dynamics.dynamics.control import LAWS, ControllerSettings
from multibody_dynamics.dynamics.control.laws.controller_settings import LawName
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.commands.loop import chosen_nodes
from multibody_dynamics.tools.live import launched_systems
from multibody_dynamics.tools.live.launched_systems import ELASTIC_JOINT, SYSTEMS, NodeStart

TWO_LINKS = "config/robots/planar_two_link.urdf"
SPRINGS = "config/elastic_joints/planar_two_link.yaml"


def nodes(*words: str) -> list[NodeStart]:
    return chosen_nodes(cli.make_parser().parse_args(["loop", *words]))


def settings(node: NodeStart) -> dict[str, object]:
    """The parameters that are set in addition to a file."""
    return {k: v for each in node.parameters if not isinstance(each, str) for k, v in each.items()}


def test_every_law_may_be_chosen_and_is_known_to_type_checkers():
    assert tuple(LAWS) == launched_systems.LAWS == get_args(LawName)
    assert get_type_hints(ControllerSettings)["law"] == LawName


def test_every_system_has_a_launch_file():
    files = {file.name for file in (share_directory() / "launch").iterdir()}
    assert {f"{name.replace('-', '_')}.launch.py" for name in SYSTEMS} <= files


@pytest.mark.parametrize(
    ("words", "is_simulated"),
    [
        ((), True),
        (("--namespace", "left"), False),
        (("--plant", "none"), False),
        (("--use-sim-time", "false"), False),
    ],
)
def test_a_single_simulated_robot_waits_for_its_torques(words, is_simulated):
    """Two robots would publish two clocks."""
    for node in nodes("--urdf", TWO_LINKS, *words):
        leads = node.executable == "elastic_robot_simulator_node"
        assert settings(node)["use_sim_time"] == (is_simulated and not leads)
        assert not leads or settings(node)["lockstep"] == is_simulated


def test_a_simulated_robot_without_data_gets_motors(capsys):
    found = nodes("--urdf", TWO_LINKS, "--motion", "none")
    (file,) = {settings(node)["elastic_joints_file"] for node in found}
    model = load_urdf(share_directory() / TWO_LINKS)
    actuators = load_actuators(file, model.joint_names)
    assert actuators.is_rigid.all()
    assert (actuators.motor_inertia > 0.0).all()
    assert "assumed" in capsys.readouterr().out
    again = nodes("--urdf", TWO_LINKS, "--motion", "none")
    assert {settings(node)["elastic_joints_file"] for node in again} == {file}
    (real,) = nodes("--urdf", TWO_LINKS, "--motion", "none", "--plant", "none")
    assert settings(real)["elastic_joints_file"] == ""


def test_options_become_parameters_of_the_nodes():
    robot = ("--urdf", TWO_LINKS, "--elastic-joints", SPRINGS)
    found = {
        node.executable: node
        for node in nodes(*robot, "--law", "esp", "--namespace", "left", "--motion", "none")
    }
    assert set(found) == {"flatness_controller_node", "elastic_robot_simulator_node"}
    assert all(node.namespace == "left" for node in found.values())
    controller = settings(found["flatness_controller_node"])
    assert controller["law"] == "esp"
    assert controller["robot_file"] == TWO_LINKS
    assert controller["elastic_joints_file"] == SPRINGS
    assert controller["command_joints"] == ["shoulder", "elbow"]
    plant = settings(found["elastic_robot_simulator_node"])
    assert plant["initial_positions"] == [0.0, 0.0]
    assert not plant["publish_clock"]


def test_the_law_of_a_parameter_file_stays_in_force_unless_another_is_given():
    controller, *_ = nodes("--parameters", "mine.yaml")
    assert controller.parameters[0] == "mine.yaml"
    assert "law" not in settings(controller)
    controller, *_ = nodes("--parameters", "mine.yaml", "--law", "hold")
    assert settings(controller)["law"] == "hold"


def test_a_real_robot_needs_no_simulator():
    assert [node.executable for node in nodes("--plant", "none", "--motion", "none")] == [
        "flatness_controller_node"
    ]


def test_one_node_may_have_another_name_and_a_log_level():
    (node,) = nodes("task-space", "--name", "tool", "--log-level", "warn", "--tool", "hand")
    assert (node.executable, node.name, node.log_level) == ("task_space_node", "tool", "warn")
    assert settings(node)["tool"] == "hand"
    (node,) = nodes("validate", "--joint-states", "arm/joint_states")
    assert node.remappings == (("joint_states", "arm/joint_states"),)


def test_a_tool_may_move_a_simulated_robot():
    robot = ("--urdf", TWO_LINKS, "--elastic-joints", SPRINGS, "--tool", "forearm")
    words = (*robot, "--components", "x z", "--plant", "internal", "--initial-positions", "0.3,0.6")
    plant, node = nodes("task-space", *words, "--use-sim-time", "true", "--namespace", "left")
    assert settings(node)["components"] == "x z"
    assert "initial_positions" not in settings(node)
    assert plant.executable == "elastic_robot_simulator_node"
    assert plant.remappings == (("motor_command", "task_space_node/motor_command"),)
    assert plant.namespace == node.namespace == "left"
    assert settings(plant)["initial_positions"] == [0.3, 0.6]
    assert settings(plant)["command_joints"] == settings(node)["command_joints"]
    assert settings(plant)["lockstep"]


def test_the_output_of_a_parameter_file_stays_in_force_unless_another_is_given():
    (node,) = nodes("validate", "--parameters", "mine.yaml")
    assert "output" not in settings(node)
    (node,) = nodes("validate", "--parameters", "mine.yaml", "--output", "reports")
    assert settings(node)["output"] == "reports"


def test_an_option_of_another_system_is_refused_by_name(capsys):
    assert cli.main(["loop", "feedforward", "--law", "hold"]) == 2
    assert "--law is not an argument of feedforward" in capsys.readouterr().err


def test_positions_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="initial_positions are '0,x'"):
        ELASTIC_JOINT.nodes(ELASTIC_JOINT.values({"initial_positions": "0,x"}))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("", r"arm\.urdf\.xacro is a xacro file, but the program xacro was not found"),
        ("#!/bin/sh\necho broken >&2\nexit 3\n", r"arm\.urdf\.xacro: xacro failed .* 3: broken"),
    ],
)
def test_what_is_wrong_with_xacro_is_said_in_one_line(
    tmp_path: Path, monkeypatch, capsys, program, message
):
    if program:
        (tmp_path / "xacro").write_text(program)
        (tmp_path / "xacro").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["loop", "--urdf", "arm.urdf.xacro"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert re.search(message, printed)
