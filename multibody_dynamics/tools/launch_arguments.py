# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Shared by the launch files: launch arguments, and how nodes start and end.

Only launch files import this module. It needs `launch` and `launch_ros`, which come with an
installed ROS 2 but are not on PyPI; nothing else in the package imports them. The nodes themselves
are described in live/launched_systems.py, from which the command `loop` starts them, too.
"""

from collections.abc import Callable, Sequence
from typing import Any

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from .live.launched_systems import Argument, NodeStart, System, Values

PACKAGE = "multibody_dynamics"
LAUNCH_PATIENCE = 10.0  # s; then launch kills a process by default


class NodeFailedError(RuntimeError):
    """A process ended with an error; it ends the launch, whose exit status is then 1."""


def launch_description(
    arguments: Sequence[Argument], start: Callable[[Values], list[Action]]
) -> LaunchDescription:
    """Declare the arguments, then run the actions that `start` creates from their values."""
    declared = [
        DeclareLaunchArgument(
            each.name,
            default_value=each.default,
            description=each.description,
            **({"choices": list(each.choices)} if each.choices else {}),
        )
        for each in arguments
    ]

    def run(context: LaunchContext) -> list[Action]:
        names = [each.name for each in arguments]
        return start(Values({name: LaunchConfiguration(name).perform(context) for name in names}))

    return LaunchDescription([*declared, OpaqueFunction(function=run)])


def system_description(system: System) -> LaunchDescription:
    """The nodes of a system; the launch ends, with exit status 1, as soon as one of them fails."""
    return launch_description(
        system.arguments,
        lambda values: ending_together([own_node(node) for node in system.nodes(values)]),
    )


def share(*path: str) -> PathJoinSubstitution:
    """A file below the package's share folder."""
    return PathJoinSubstitution([FindPackageShare(PACKAGE), *path])


def verbatim(text: str) -> ParameterValue:
    """A string parameter, unchanged: without the explicit type, launch would parse it as YAML."""
    return ParameterValue(text, value_type=str)


def own_node(node: NodeStart, **options: Any) -> LifecycleNode:
    """The launch action that starts a node of this package."""
    parameters = [each if isinstance(each, str) else dict(each) for each in node.parameters]
    for each in parameters:
        if isinstance(each, dict) and each.get("robot_description"):
            each["robot_description"] = verbatim(each["robot_description"])
    if node.patience > LAUNCH_PATIENCE:
        options["sigterm_timeout"] = str(node.patience)
    if node.log_level:
        options["arguments"] = ["--ros-args", "--log-level", node.log_level]
    return LifecycleNode(
        package=PACKAGE,
        executable=node.executable,
        name=node.name or node.executable,
        namespace=node.namespace,
        parameters=parameters,
        remappings=list(node.remappings),
        output="screen",
        emulate_tty=True,
        **options,
    )


def ending_together(processes: list[Action], *more: Action) -> list[Action]:
    """These processes, and a handler that ends the launch with exit status 1 if one of them fails.

    `ros2 launch` itself returns 0 whatever its processes return, and lets the others run on. During
    a shutdown, only status 1 counts, by which our programs report a failure of their own.
    """

    def on_exit(event: ProcessExited, context: LaunchContext) -> None:
        failed = event.returncode == 1 or (event.returncode and not context.is_shutdown)
        if failed and event.action in processes:
            raise NodeFailedError(f"{event.process_name} ended with status {event.returncode}")

    return [RegisterEventHandler(OnProcessExit(on_exit=on_exit)), *processes, *more]
