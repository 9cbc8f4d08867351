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

from multibody_dynamics.tools.launch_arguments import (
    PACKAGE,
    Values,
    argument,
    launch_description,
    own_node,
)

DISCOVERY = "3"  # s for the player and the node to discover each other
REPORT_TIME = "600"  # s for the final report; by default, launch kills a process after ten


def generate_launch_description() -> LaunchDescription:
    arguments = [
        argument("bag", default_value="", description="rosbag2 folder or file"),
        argument(
            "robot",
            description="URDF file; with live, '' uses the parameters file or the topic"
            " robot_description",
        ),
        argument("output", default_value="validation", description="folder of the report"),
        argument(
            "options",
            default_value="",
            description="options of the command, such as '--cutoff 10'; not with live",
        ),
        argument(
            "live",
            default_value="false",
            choices=["true", "false"],
            description="compare joint_states as they arrive, in validation_node",
        ),
        argument(
            "parameters",
            default_value="",
            description="YAML file with the node's parameters; only with live",
        ),
        argument(
            "joint_states",
            default_value="joint_states",
            description="topic of the states; only with live",
        ),
        argument("namespace", description="namespace of the node's topics; only with live"),
    ]
    return launch_description(arguments, start)


def start(value: Values) -> list[Action]:
    """The command, or the node and the player of its bag."""
    if not value.flag("live"):
        command = [
            ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
            *("validate", value("bag"), "--urdf", value("robot"), "--output", value("output")),
            *shlex.split(value("options")),
        ]
        return [ExecuteProcess(cmd=command, output="screen")]
    chosen = {"autostart": True, "output": value("output")}
    if value("robot"):
        chosen["robot_file"] = value("robot")
    node = own_node(
        "validation_node",
        namespace=value("namespace"),
        parameters=[*filter(None, [value("parameters")]), chosen],
        remappings=[("joint_states", value("joint_states"))],
        sigterm_timeout=REPORT_TIME,
    )
    if not value("bag"):
        return [node]
    play = ExecuteProcess(
        cmd=[
            *("ros2", "bag", "play", value("bag"), "--delay", DISCOVERY),
            "--disable-keyboard-controls",
        ],
        output="screen",
        # The last states may still be in transit.
        on_exit=[TimerAction(period=1.0, actions=[Shutdown(reason="the bag has ended")])],
    )
    ready = OnStateTransition(target_lifecycle_node=node, goal_state="active", entities=[play])
    return [RegisterEventHandler(ready), node]
