# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Launch files: everything that they name must exist. `ros2 launch` itself is not on PyPI.

They are run with stand-ins for `launch` and `launch_ros`.
"""

import ast
import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from launch_files import EXECUTABLES, FILES, HELPER_NAME, described, parsed, stand_ins
from multibody_dynamics.dynamics.core import InputError, ModelError, ModelWarning
from multibody_dynamics.nodes.base.robot import chosen_robot
from multibody_dynamics.resources import NAME, share_directory
from page_scripts import reference

NODES = {name for name in EXECUTABLES if name.endswith("_node")}
# Executables of other packages that launch/gazebo.launch.py starts; docs/gazebo.md names sources.
OTHERS = {
    "controller_manager": {"spawner"},
    "robot_state_publisher": {"robot_state_publisher"},
    "ros_gz_bridge": {"parameter_bridge"},
    "ros_gz_sim": {"create"},
}


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def launched(file: Path) -> Iterator[Any]:
    """Run a launch file with some arguments; returns its actions."""

    def run(**given: str) -> list[Any]:
        declared, start = described(file)
        assert given.keys() <= declared.keys()
        values = {name: options["default_value"] for name, options in declared.items()}
        return start(values | given)

    with stand_ins(file):
        yield run


@pytest.fixture
def arguments(file: Path) -> dict[str, dict[str, Any]]:
    with stand_ins(file):
        return described(file)[0]


def text(node: ast.expr) -> str:
    """A string constant, or the constant PACKAGE of the launch files."""
    if isinstance(node, ast.Name) and node.id == "PACKAGE":
        return NAME
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_there_are_launch_files():
    assert {file.name for file in FILES} >= {"demo.launch.py", "feedforward.launch.py"}
    assert NODES


def test_its_docstring_shows_how_to_call_it(file):
    assert f"ros2 launch {NAME} {file.name}" in (ast.get_docstring(parsed(file)) or "")


def test_no_command_gives_an_empty_argument():
    """`ros2 launch` rejects NAME:='', which the shell reduces to NAME:=."""
    pages = [*FILES, *(share_directory() / "docs").glob("*.md"), share_directory() / "README.md"]
    assert [page.name for page in pages if re.search(r":=(''|\"\")", page.read_text())] == []


def test_every_argument_has_a_description_and_a_default_among_its_choices(arguments):
    assert arguments
    for name, options in arguments.items():
        assert options["description"], name
        assert options["default_value"] in options.get("choices", [options["default_value"]]), name


def test_files_named_exist(file, arguments):
    for options in arguments.values():
        if options["default_value"].startswith("/"):
            assert Path(options["default_value"]).is_file()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "share":
            assert share_directory().joinpath(*map(text, node.args)).is_file()


def test_executables_exist(file):
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Node", "ExecutableInPackage"):
            options = {each.arg: text(each.value) for each in node.keywords}
            known = EXECUTABLES if options["package"] == NAME else OTHERS[options["package"]]
            assert options["executable"] in known


def nodes_of(actions: list[Any]) -> dict[str, dict[str, Any]]:
    """For each node of this package: its name, and the parameters set in addition to a file."""
    nodes = [action.options for action in actions if type(action).__name__ == "LifecycleNode"]
    assert all(node["package"] == NAME for node in nodes)
    assert {node["executable"] for node in nodes} <= NODES
    tables = [[p for p in node["parameters"] if isinstance(p, dict)] for node in nodes]
    return {
        node["executable"]: {k: v for table in own for k, v in table.items()}
        for node, own in zip(nodes, tables, strict=True)
    }


NEEDED = {"validate.launch.py": {"bag": "a_bag", "robot": "arm.urdf"}}


def test_it_runs_with_its_defaults(launched, tmp_path, file, arguments):
    folder = {"output": str(tmp_path / "out")} if "output" in arguments else {}
    actions = launched(**folder, **NEEDED.get(file.name, {}))
    assert actions
    for name, parameters in nodes_of(actions).items():
        table = getattr(import_module(f"{NAME}.nodes.{name}"), reference.NODES[name])
        known = {field.name for field in dataclasses.fields(table)} | {"use_sim_time"}
        assert parameters.keys() <= known, name


def only(name: str) -> Any:
    """The test runs with this launch file only."""
    chosen = [file for file in FILES if file.name == f"{name}.launch.py"]
    return pytest.mark.parametrize("file", chosen, indirect=True, ids=lambda file: file.name)


@only("elastic_joint")
def test_the_output_of_xacro_is_passed_on_unchanged(launched, tmp_path, monkeypatch):
    urdf = share_directory() / "config" / "robots" / "planar_two_link.urdf"
    xacro = tmp_path / "xacro"
    xacro.write_text(f'#!/bin/sh\n[ "$*" = "arm.urdf.xacro prefix:=left_" ] && cat {urdf}\n')
    xacro.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    actions = launched(robot="arm.urdf.xacro", xacro_arguments="prefix:=left_")
    assert nodes_of(actions)
    for parameters in nodes_of(actions).values():
        assert parameters["robot_file"] == ""
        assert parameters["robot_description"].args == (urdf.read_text(),)
        assert parameters["robot_description"].options == {"value_type": str}


@only("elastic_joint")
def test_of_two_robots_in_simulated_time_one_publishes_the_clock(launched):
    roles = {}
    for clock in ("lockstep", "external"):
        actions = launched(use_sim_time="true", clock=clock, namespace=clock)
        roles[clock] = nodes_of(actions)["elastic_robot_simulator_node"]
    names = ("publish_clock", "lockstep", "time_source", "use_sim_time")
    assert [roles["lockstep"][name] for name in names] == [True, True, "steady", False]
    assert [roles["external"][name] for name in names] == [False, False, "clock", True]


@only("validate")
def test_validation_of_a_bag_that_is_played(launched):
    actions = launched(live="true", bag="a_bag", robot="arm.urdf")
    assert nodes_of(actions)["validation_node"]["robot_file"] == "arm.urdf"
    kinds = [type(action).__name__ for action in actions]
    assert kinds == ["RegisterEventHandler", "RegisterEventHandler", "LifecycleNode"]


@only("validate")
def test_validation_names_the_arguments_that_are_missing(launched):
    with pytest.raises(InputError, match="bag and robot not given"):
        launched()


@only("elastic_joint")
@pytest.mark.parametrize(
    ("code", "is_shutdown", "ends"),
    [(0, False, False), (1, False, True), (2, False, True), (-9, False, True), (-2, True, False),
     (1, True, True)],
)  # fmt: skip
def test_a_node_that_fails_ends_the_launch_with_an_error(launched, code, is_shutdown, ends):
    handler, *nodes = launched()
    (on_exit,) = handler.args
    event = SimpleNamespace(action=nodes[0], returncode=code, process_name="it")
    context = SimpleNamespace(is_shutdown=is_shutdown)
    if not ends:
        on_exit.options["on_exit"](event, context)
        return
    failed = import_module(HELPER_NAME).NodeFailedError
    with pytest.raises(failed, match=f"it ended with status {code}"):
        on_exit.options["on_exit"](event, context)


# the robot that the arguments select

OWN = str(share_directory() / "config" / "elastic_joint.yaml")


def test_every_node_knows_the_parameters_in_the_file():
    """A node warns about unknown parameters."""
    sections = yaml.safe_load(Path(OWN).read_text())
    everybody = sections.pop("/**")["ros__parameters"]
    assert len(sections) == 3
    for key, section in sections.items():
        name = key.removeprefix("/**/")
        table = getattr(import_module(f"{NAME}.nodes.{name}"), reference.NODES[name])
        known = {field.name for field in dataclasses.fields(table)}
        assert everybody.keys() | section["ros__parameters"].keys() <= known


def test_without_a_robot_the_parameters_file_decides():
    assert chosen_robot(OWN) == ({}, {}, {})


TWO_LINKS = "planar_two_link", "planar_two_link", ["shoulder", "elbow"]
PAIR = "antagonistic_elbow", "antagonistic", ["shoulder", "elbow_agonist", "elbow_antagonist"]


@pytest.mark.parametrize(
    ("own", "robot", "springs", "motors"),
    [("elastic_joint", *TWO_LINKS), ("feedforward", *PAIR), ("task_space", *TWO_LINKS)],
)
def test_another_robot_keeps_none_of_the_data_of_the_panda(own, robot, springs, motors):
    files = f"config/robots/{robot}.urdf", f"config/elastic_joints/{springs}.yaml"
    own = str(share_directory() / "config" / f"{own}.yaml")
    assert chosen_robot(own, *files) == (
        {"robot_file": files[0]},
        {"elastic_joints_file": files[1], "command_joints": motors},
        {"initial_positions": [0.0, 0.0]},
    )
    given = chosen_robot(own, *files, motors[:1], [-0.3, 0.2])
    assert given[1]["command_joints"] == motors[:1]
    assert given[2] == {"initial_positions": [-0.3, 0.2]}


def test_another_robot_without_springs_does_not_get_those_of_the_panda():
    _, motors, _ = chosen_robot(OWN, "config/robots/planar_two_link.urdf")
    assert motors == {"elastic_joints_file": "", "command_joints": ["shoulder", "elbow"]}


WEAK = """<robot name="weak">
  <link name="base"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="10"/>
  </joint>
  <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2.5"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="wrist" type="revolute">
    <parent link="arm"/><child link="hand"/><origin xyz="0.5 0 0"/><axis xyz="1 0 0"/>
    <limit lower="0.3" upper="1" velocity="{velocity}" effort="5"/>
  </joint>
  <link name="hand"><inertial><mass value="0.1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
</robot>"""


def test_a_simulated_robot_begins_where_its_efforts_hold_it():
    """The arm needs 2.5 kg * 9.81 * 0.5 m + 0.1 kg * 9.81 * 0.5 m = 12.8 N m at zero, and has 10:
    it begins where the cosine of the angle is at most 8 / 12.8."""
    text = WEAK.format(velocity=1)
    with pytest.warns(ModelWarning, match=r"'shoulder' takes 12.8 N m .* limit of 10"):
        _, _, start = chosen_robot(OWN, "weak.urdf.xacro", robot_description=text)
    shoulder, wrist = start["initial_positions"]
    assert np.arccos(0.8 * 10.0 / 12.753) < abs(shoulder) < 1.2
    assert 0.3 <= wrist <= 1.0


def test_joints_that_cannot_move_are_held_where_motors_are_assumed():
    text = WEAK.format(velocity=0).replace('effort="10"', 'effort="50"')
    with pytest.warns(ModelWarning, match="held, because they are without range, .*: wrist"):
        links, motors, _ = chosen_robot(
            OWN, "weak.urdf.xacro", robot_description=text, assumes_motors=True
        )
    assert links["locked_joints"] == ["wrist=0.3"]
    assert motors["command_joints"] == ["shoulder"]
    stuck = text.replace('velocity="1"', 'velocity="0"')
    with pytest.raises(ModelError, match="weak: every joint is without range"):
        chosen_robot(OWN, "weak.urdf.xacro", robot_description=stuck, assumes_motors=True)


def test_a_copy_of_the_parameters_file_counts_as_the_original(tmp_path):
    """`ros2 launch` uses the copy in the share folder of the installation."""
    (tmp_path / "copy.yaml").write_text(Path(OWN).read_text())
    assert chosen_robot(str(tmp_path / "copy.yaml"), "config/robots/planar_two_link.urdf")[1]


def test_the_output_of_xacro_replaces_the_robot_file():
    text = (share_directory() / "config" / "robots" / "planar_two_link.urdf").read_text()
    links, motors, _ = chosen_robot(OWN, "two_link.urdf.xacro", robot_description=text)
    assert links == {"robot_file": "", "robot_description": text}
    assert motors["command_joints"] == ["shoulder", "elbow"]


def test_a_parameters_file_of_the_user_is_left_alone(tmp_path):
    own = tmp_path / "own.yaml"
    own.touch()
    robot = "config/robots/planar_two_link.urdf"
    assert chosen_robot(str(own), robot) == ({"robot_file": robot}, {}, {})
