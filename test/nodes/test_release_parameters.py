# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of release 1.0.0, from its documentation and its parameter files, as they were."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from rcl_interfaces.srv import DescribeParameters
from rclpy.node import Node
from rclpy.parameter import Parameter

from multibody_dynamics.nodes.base import parameters
from page_scripts import reference
from ros_harness import ros

__all__ = ["ros"]  # the fixture

FOLDER = Path(__file__).parent / "release_1_0_0"
OF_ALL_NODES = {  # files with a section for every node, and the node that reads them
    "feedforward": "feedforward_node",
    "franka_feedforward": "feedforward_node",
    "flatness_controller": "flatness_controller_node",
    "simulator": "elastic_robot_simulator_node",
    "task_space": "task_space_node",
}
CHOICES_ADDED = {"law"}  # new choices may come before old ones


def table_of(node: str) -> type[parameters.NodeParameters]:
    found: type[parameters.NodeParameters] = getattr(
        import_module(f"multibody_dynamics.nodes.{node}"), reference.NODES[node]
    )
    return found


def rows(table: str) -> dict[str, list[str]]:
    """By parameter: type, default, unit, range, and when it may be set."""
    lines = [line.strip("| \n").split("|") for line in table.splitlines() if line.startswith("| `")]
    return {name.strip(" `"): [cell.strip() for cell in rest[:5]] for name, *rest in lines}


def sections() -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """The parameters of every file, node by node."""
    for file in sorted(FOLDER.glob("*.yaml")):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        general = content.get("/**", {}).get("ros__parameters", {})
        nodes = {name.rpartition("/")[2]: name for name in content}
        for node in sorted({*nodes, OF_ALL_NODES.get(file.stem, "")} & {*reference.NODES}):
            own = content.get(nodes.get(node, ""), {}).get("ros__parameters", {})
            yield file, node, general | own


Start = Callable[..., tuple[Node, parameters.ParameterServer[Any]]]


@pytest.fixture
def start(ros_domain_id: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Creates a node with these ROS arguments, and declares its parameters. It meets no others:
    Fast DDS has deadlocked when one was destroyed while it was discovered."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    context = rclpy.Context()
    nodes = []

    def create(node: str, *words: str) -> tuple[Node, parameters.ParameterServer[Any]]:
        rclpy.init(args=["--ros-args", *words], context=context, domain_id=ros_domain_id)
        nodes.append(Node(node, context=context))
        return nodes[0], parameters.ParameterServer(nodes[0], table_of(node))

    yield create
    for node in nodes:
        node.destroy_node()
    context.shutdown()


@pytest.mark.parametrize("node", reference.NODES)
def test_parameters_keep_name_type_default_range_and_liveness(node):
    text = (FOLDER / "parameters.md").read_text(encoding="utf-8")
    released = rows(re.split(rf"^## {node}$", text, flags=re.MULTILINE)[1].partition("\n## ")[0])
    now = rows(reference.parameters_table(node))
    for name, row in released.items():
        if name in CHOICES_ADDED:
            assert {*row.pop(3).split(", ")} <= {*now[name].pop(3).split(", ")}
        assert now[name] == row, name


@pytest.mark.ros
@pytest.mark.parametrize(
    ("file", "node", "values"), [*sections()], ids=lambda each: str(each)[-30:]
)
def test_every_value_of_a_file_arrives(file, node, values, start):
    made, found = start(node, "--params-file", str(file))
    given = {name: value for name, value in values.items() if name != "use_sim_time"}
    assert given
    for name, value in given.items():
        expected = tuple(value) if isinstance(value, list) else value
        assert getattr(found.values, name) == expected, name
        ros_value = made.get_parameter(name).value
        assert (list(ros_value) if isinstance(value, list) else ros_value) == value, name


@pytest.mark.parametrize("node", reference.NODES)
def test_what_a_node_lists_exists(node):
    table = table_of(node)
    assert {"autostart"} <= table().listed() <= {*table.__dataclass_fields__}


@pytest.mark.ros
def test_a_node_lists_the_parameters_of_the_chosen_law_and_about_25_others(start):
    words = ("-p", "law:=hold", "-p", "learn:=false")
    made, found = start("flatness_controller_node", *words)
    listed = set(made.list_parameters([], 0).names)
    assert {"robot_file", "law", "stop_time", "hold_bandwidth", "learn"} <= listed
    assert not {"motor_bandwidth", "esp_damping", "recovery_limit", "payload_mass"} & listed
    assert len(listed) < 32
    changes = [Parameter("recovery_limit", value=7), Parameter("esp_damping", value=0.4)]
    changes += [Parameter("law", value="torque_control")]
    assert all(each.successful for each in made.set_parameters(changes))
    assert (found.values.recovery_limit, found.values.esp_damping) == (7, 0.4)
    assert {"recovery_limit", "esp_damping", "torque_design"} <= {*made._parameters}
    (refused,) = made.set_parameters([Parameter("impedance_damping", value=3.0)])
    assert "out of range" in refused.reason
    with pytest.raises(parameters.UnknownParameter, match="did you mean 'stiffness_time'"):
        made.set_parameters([Parameter("stifness_time", value=3.0)])


@pytest.mark.ros
def test_services_know_parameters_that_are_not_listed(ros):
    node = ros.start("flatness_controller_node", {"law": "hold"})
    assert ros.get_parameters(node, "payload_mass", "recovery_limit") == [3.0, 5]
    request = DescribeParameters.Request(names=["esp_damping"])
    (found,) = ros.call(DescribeParameters, f"{node.name}/describe_parameters", request).descriptors
    assert found.floating_point_range[0].to_value == 2.0
    accepted, refused = ros.set_parameters(node, judged_poses=7, jugded_poses=8)
    assert accepted.successful
    assert "did you mean 'judged_poses'" in refused.reason
