# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameter tables; test_runtime.py tests them on a running node."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter

from multibody_dynamics.nodes.base import parameters
from multibody_dynamics.nodes.base.robot import PHYSICS, DynamicRobotParameters
from multibody_dynamics.nodes.following.following_parameters import FeedforwardParameters


@dataclass(frozen=True)
class Example(parameters.NodeParameters):
    gain: float = parameters.parameter(0.5, "how much", unit="1/s", bounds=(0.0, 2.0), live=True)
    joints: tuple[str, ...] = parameters.parameter((), "whose")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"robot_file": "a.urdf", "robot_description": "<robot/>"}, "choose one"),
        ({"gravity": (0.0, -9.81)}, "gravity has 2 values"),
        ({"command_joints": ("a", "a")}, "command_joints has duplicate names"),
        ({"command_joints": ("a", "b", "c"), "torque_rate_limits": (1.0, 2.0)}, "has 2 values"),
        ({"torque_rate_limits": (0.0,)}, "must be positive"),
        ({"update_rate": 2.0}, "shorter than one cycle"),
        ({"contact_frames": ("a",), "gravity_compensated_by_robot": True}, "exclude each other"),
        ({"contact_frames": ("a",), "base_motion": "imu"}, "measured base"),
        ({"contact_frames": ("a", "a")}, "contact_frames has duplicate names"),
    ],
)
def test_parameters_of_the_feedforward_node_are_checked_against_each_other(changes, says):
    with pytest.raises(parameters.ParameterError, match=says):
        FeedforwardParameters(**changes).check()


@pytest.mark.ros
@pytest.mark.parametrize(
    ("name", "value"),
    [("contact_frames", ["foot"]), ("base_motion", "imu"), ("gravity_compensated_by_robot", True)],
)
def test_a_parameter_of_another_node_that_changes_the_dynamics_is_refused(name, value):
    without_effect, owners = PHYSICS[name]
    context = Context()
    rclpy.init(context=context)
    given = [Parameter(name, value=value)]
    node = rclpy.create_node("arm", context=context, parameter_overrides=given)
    says = f"/arm has no parameter '{name}'.* a node that has it: {', '.join(owners)}"
    with pytest.raises(parameters.ParameterError, match=says):
        parameters.ParameterServer(node, DynamicRobotParameters)
    node.destroy_node()
    if without_effect != []:  # ROS gives empty lists no type
        given = [Parameter(name, value=without_effect)]
        node = rclpy.create_node("arm", context=context, parameter_overrides=given)
        parameters.ParameterServer(node, DynamicRobotParameters)
        node.destroy_node()


@pytest.mark.ros
@pytest.mark.parametrize("distribution", ["humble", "jazzy"])
def test_accepted_changes_take_effect_and_are_announced(distribution, monkeypatch):
    """In ROS 2 Humble, rclpy has no callback after parameters were set."""
    if distribution == "humble":
        monkeypatch.delattr(Node, "add_post_set_parameters_callback")
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("example", context=context)
    changes = []
    server = parameters.ParameterServer(node, Example, on_change=changes.append)
    accepted, refused = node.set_parameters([Parameter("gain", value=g) for g in (1.5, 3.0)])
    assert (accepted.successful, refused.successful) == (True, False)
    assert [values.gain for values in changes] == [server.values.gain] == [1.5]
    assert node.get_parameter("gain").value == 1.5
    node.destroy_node()
    rclpy.try_shutdown(context=context)


@dataclass(frozen=True)
class Layered(Example):
    """The parameters of a kind are listed if it is chosen."""

    kind: str = parameters.parameter("soft", "which", choices=("soft", "hard"), live=True)
    softness: float = parameters.parameter(0.1, "of soft", bounds=(0.0, 1.0))
    hardness: float = parameters.parameter(0.2, "of hard", bounds=(0.0, 1.0), live=True)
    rows: tuple[float, ...] = parameters.parameter((), "rarely used")

    def listed(self) -> set[str]:
        return {"autostart", "gain", "kind", "softness" if self.kind == "soft" else "hardness"}


@pytest.fixture
def layered(
    ros_domain_id: int,
) -> Iterator[Callable[..., tuple[Node, parameters.ParameterServer[Layered]]]]:
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain_id)
    nodes = []

    def start(**given: object) -> tuple[Node, parameters.ParameterServer[Layered]]:
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        nodes.append(rclpy.create_node("layered", context=context, parameter_overrides=overrides))
        return nodes[-1], parameters.ParameterServer(nodes[-1], Layered)

    yield start
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown(context=context)


def listed(node: Node) -> set[str]:
    return set(node.list_parameters([], 0).names) & {*Layered.__dataclass_fields__}


@pytest.mark.ros
def test_what_was_given_and_what_belongs_to_the_choice_is_listed(layered):
    always = {"autostart", "gain", "kind"}
    assert listed(layered()[0]) == {*always, "softness"}
    node, server = layered(kind="hard", rows=[1.0])
    assert listed(node) == {*always, "hardness", "rows"}
    assert (server.values.kind, server.values.rows) == ("hard", (1.0,))


@pytest.mark.ros
def test_other_parameters_are_declared_when_they_are_set_or_chosen(layered):
    node, server = layered()
    changes = []
    server._on_change = changes.append
    (done,) = node.set_parameters([Parameter("rows", value=[1.0, 2.0])])
    assert done.successful
    assert [values.rows for values in changes] == [server.values.rows] == [(1.0, 2.0)]
    assert "rows" in listed(node)
    (done,) = node.set_parameters([Parameter("kind", value="hard")])
    assert done.successful
    assert node.get_parameter("hardness").value == 0.2
    assert len(changes) == 2  # declaring the parameters of a choice is no change
    (refused,) = node.set_parameters([Parameter("processors", value=[1])])
    assert "fixed at startup" in refused.reason
    (refused,) = node.set_parameters([Parameter("hardness", value="very")])
    assert "Wrong parameter type" in refused.reason
    assert server.values.hardness == 0.2


@pytest.mark.ros
def test_an_unknown_parameter_is_refused_with_a_proposal(layered):
    node, _ = layered()
    with pytest.raises(parameters.UnknownParameter, match="'hardnes'; did you mean 'hardness'"):
        node.set_parameters([Parameter("hardnes", value=0.5)])
    assert not node.has_parameter("hardnes")


def test_every_number_of_the_feedforward_node_has_a_range_that_contains_its_default():
    FeedforwardParameters().check()
    for field in dataclasses.fields(FeedforwardParameters):
        assert field.metadata["description"]
        if isinstance(field.default, float):
            low, high = field.metadata["bounds"]
            assert low <= field.default <= high
    assert parameters.field_types(FeedforwardParameters).keys() == {
        field.name for field in dataclasses.fields(FeedforwardParameters)
    }
