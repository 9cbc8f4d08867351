"""Recorded torques beside those of the model: a report, and an exit status.

ros2 launch multibody_dynamics validate.launch.py bag:=BAG robot:=/path/to/arm.urdf
ros2 launch multibody_dynamics validate.launch.py live:=true robot:=/path/to/arm.urdf
ros2 launch multibody_dynamics validate.launch.py live:=true bag:=BAG parameters:=validation.yaml

The first is the same as `ros2 run multibody_dynamics multibody_dynamics validate`, for launch files
of others. With live:=true, validation_node says the same while a robot moves, or a bag is played:
the one that is given, after which all ends with the report; or your own `ros2 bag play`.
"""

import shlex

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.substitutions import ExecutableInPackage

PACKAGE = "multibody_dynamics"
DISCOVERY = "3"  # s that the player has to find the node, and be found
REPORT_TIME = "600"  # s that a report may take in the end; the launch default kills after ten


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument("bag", default_value="", description="rosbag2 folder or file"),
        DeclareLaunchArgument(
            "robot",
            default_value="",
            description="URDF file; with live, '' leaves it to the parameters file or to the topic"
            " robot_description",
        ),
        DeclareLaunchArgument(
            "output", default_value="validation", description="folder of the report"
        ),
        DeclareLaunchArgument(
            "options",
            default_value="",
            description="of the command, such as '--cutoff 10'; not with live",
        ),
        DeclareLaunchArgument(
            "live",
            default_value="false",
            choices=["true", "false"],
            description="compare joint_states as they come, in validation_node",
        ),
        DeclareLaunchArgument(
            "parameters", default_value="", description="YAML file of the node; with live"
        ),
        DeclareLaunchArgument(
            "joint_states", default_value="joint_states", description="the topic; with live"
        ),
        DeclareLaunchArgument(
            "namespace", default_value="", description="of the node's topics; with live"
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[Action]:
    """The command, or the node and what it listens to."""

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    if value("live") == "false":
        command = [
            ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
            *("validate", value("bag"), "--urdf", value("robot"), "--output", value("output")),
            *shlex.split(value("options")),
        ]
        return [ExecuteProcess(cmd=command, output="screen")]
    chosen = {"autostart": True, "output": value("output")}
    if value("robot"):
        chosen["robot_file"] = value("robot")
    node = LifecycleNode(
        package=PACKAGE,
        executable="validation_node",
        name="validation_node",
        namespace=value("namespace"),
        parameters=[*filter(None, [value("parameters")]), chosen],
        remappings=[("joint_states", value("joint_states"))],
        sigterm_timeout=REPORT_TIME,
        output="screen",
        emulate_tty=True,
    )
    if not value("bag"):
        return [node]
    play = ExecuteProcess(
        cmd=[
            *("ros2", "bag", "play", value("bag"), "--delay", DISCOVERY),
            "--disable-keyboard-controls",
        ],
        output="screen",
        # the last states are still on their way
        on_exit=[TimerAction(period=1.0, actions=[Shutdown(reason="the bag is over")])],
    )
    ready = OnStateTransition(target_lifecycle_node=node, goal_state="active", entities=[play])
    return [RegisterEventHandler(ready), node]
