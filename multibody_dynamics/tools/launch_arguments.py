"""Shared by the launch files: launch arguments, the selection of a robot, and how nodes start.

Only launch files import this module. It needs `launch` and `launch_ros`, which come with an
installed ROS 2 but are not on PyPI; nothing else in the package imports them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from ..nodes.base.robot import chosen_robot

PACKAGE = "multibody_dynamics"

SHARED = {
    "robot": {
        "default_value": "",
        "description": "URDF or xacro file; '' uses the robot of the parameters file",
    },
    "xacro_arguments": {
        "default_value": "",
        "description": "arguments for a xacro file: name:=value ...",
    },
    "elastic_joints": {
        "default_value": "",
        "description": "YAML file of springs and motors; '' uses that of the parameters file or,"
        " if robot is set, makes every joint rigid",
    },
    "command_joints": {
        "default_value": "",
        "description": "motors in the order of ~/commands and other arrays without names, separated"
        " by commas; '' uses the order of the parameters file or, if robot or elastic_joints is"
        " set, that of the robot's joints",
    },
    "motion": {
        "default_value": "rest_to_rest",
        "choices": ["rest_to_rest", "sum_of_sines", "none"],
        "description": "motion sent by trajectory_node; none: publish joint_trajectory yourself",
    },
    "namespace": {"default_value": "", "description": "namespace of the nodes and their topics"},
    "use_sim_time": {
        "default_value": "false",
        "choices": ["true", "false"],
        "description": "take the time from /clock",
    },
}
"""Defaults, choices and descriptions of the arguments that several launch files share."""


class Values:
    """The values of the launch arguments: `value("robot")` returns that of `robot` as a string."""

    def __init__(self, context: LaunchContext) -> None:
        self.context = context

    def __call__(self, name: str) -> str:
        return LaunchConfiguration(name).perform(self.context)

    def flag(self, name: str) -> bool:
        """The value of an argument whose choices are true and false."""
        return self(name) == "true"

    def items(self, name: str) -> list[str]:
        """The items of a comma-separated value."""
        return [item.strip() for item in self(name).split(",") if item.strip()]


def argument(name: str, **options: Any) -> DeclareLaunchArgument:
    """Declare a launch argument; options that are not given come from `SHARED`."""
    return DeclareLaunchArgument(name, **{**SHARED.get(name, {}), **options})


def launch_description(
    arguments: Sequence[DeclareLaunchArgument], start: Callable[[Values], list[Action]]
) -> LaunchDescription:
    """Declare the arguments, then run the actions that `start` creates from their values."""
    opaque = OpaqueFunction(function=lambda context: start(Values(context)))
    return LaunchDescription([*arguments, opaque])


def share(*path: str) -> PathJoinSubstitution:
    """A file below the package's share folder."""
    return PathJoinSubstitution([FindPackageShare(PACKAGE), *path])


def verbatim(text: str) -> ParameterValue:
    """A string parameter, unchanged: without the explicit type, launch would parse it as YAML."""
    return ParameterValue(text, value_type=str)


def robot_parameters(
    value: Values, initial_positions: Sequence[float] = ()
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The node parameters for the selected robot, see `chosen_robot`; runs xacro if necessary."""
    description = ""
    if value("robot").endswith(".xacro"):
        command = Command(["xacro '", value("robot"), "' ", value("xacro_arguments")])
        description = command.perform(value.context)
    links, motors, start_there = chosen_robot(
        value("parameters"),
        value("robot"),
        value("elastic_joints"),
        value.items("command_joints"),
        initial_positions,
        description,
    )
    if description:
        links["robot_description"] = verbatim(description)
    return links, motors, start_there


def own_node(executable: str, name: str = "", namespace: str = "", **options: Any) -> LifecycleNode:
    """A node of this package; its name is that of the executable unless given."""
    return LifecycleNode(
        package=PACKAGE,
        executable=executable,
        name=name or executable,
        namespace=namespace,
        output="screen",
        emulate_tty=True,
        **options,
    )
