# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compares measured torques with those of the model, and yields a report and an exit status.

ros2 launch multibody_dynamics validate.launch.py bag:=BAG robot:=/path/to/arm.urdf
ros2 launch multibody_dynamics validate.launch.py live:=true robot:=/path/to/arm.urdf
ros2 launch multibody_dynamics validate.launch.py live:=true bag:=BAG parameters:=validation.yaml

The first runs `ros2 run multibody_dynamics multibody_dynamics validate`, for use in other launch
files. With live:=true, validation_node makes the same comparison while a robot moves or a bag is
played: either the bag given here, in which case the launch ends with the report, or one that you
play with `ros2 bag play`.
"""

import shlex

from launch import Action, LaunchDescription
from launch.actions import ExecuteProcess, RegisterEventHandler, Shutdown, TimerAction
from launch_ros.event_handlers import OnStateTransition
from launch_ros.substitutions import ExecutableInPackage

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.launch_arguments import (
    PACKAGE,
    ending_together,
    launch_description,
    own_node,
)
from multibody_dynamics.tools.live.launched_systems import FLAG, VALIDATION, Argument, Values

DISCOVERY = "3"  # s for the player and the node to discover each other


def generate_launch_description() -> LaunchDescription:
    arguments = [
        Argument("bag", "", "rosbag2 folder or file; required unless live"),
        *VALIDATION.arguments,
        Argument("options", "", "options of the command, such as '--cutoff 10'; not with live"),
        Argument("live", "false", "compare joint_states as they arrive, in validation_node", FLAG),
    ]
    return launch_description(arguments, start)


def start(values: Values) -> list[Action]:
    """The command, or the node and the player of its bag."""
    if not values.flag("live"):
        missing = [name for name in ("bag", "robot") if not values[name]]
        if missing:
            raise InputError(f"{' and '.join(missing)} not given; or set live:=true")
        command = [
            ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
            *("validate", values["bag"], "--urdf", values["robot"]),
            *(("--output", values["output"]) if values["output"] else ()),
            *shlex.split(values["options"]),
        ]
        return ending_together([ExecuteProcess(cmd=command, output="screen")])
    node = own_node(VALIDATION.nodes(values)[0])
    if not values["bag"]:
        return ending_together([node])
    play = ExecuteProcess(
        cmd=[
            *("ros2", "bag", "play", values["bag"], "--delay", DISCOVERY),
            "--disable-keyboard-controls",
        ],
        output="screen",
        # The last states may still be in transit.
        on_exit=[TimerAction(period=1.0, actions=[Shutdown(reason="the bag has ended")])],
    )
    ready = OnStateTransition(target_lifecycle_node=node, goal_state="active", entities=[play])
    return [RegisterEventHandler(ready), *ending_together([node])]
