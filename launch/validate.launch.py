"""Recorded torques beside those of the model: a report, and an exit status.

ros2 launch multibody_dynamics validate.launch.py bag:=BAG robot:=/path/to/arm.urdf

The same as `ros2 run multibody_dynamics multibody_dynamics validate`, for launch files of others;
`options` are further ones of that command.
"""

import shlex

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.substitutions import ExecutableInPackage

PACKAGE = "multibody_dynamics"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument("bag", default_value="", description="rosbag2 folder or file"),
        DeclareLaunchArgument("robot", default_value="", description="URDF file"),
        DeclareLaunchArgument(
            "output", default_value="validation", description="folder of the report"
        ),
        DeclareLaunchArgument("options", default_value="", description="such as '--cutoff 10'"),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[ExecuteProcess]:
    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    command = [
        ExecutableInPackage(package=PACKAGE, executable="multibody_dynamics"),
        *("validate", value("bag"), "--urdf", value("robot"), "--output", value("output")),
        *shlex.split(value("options")),
    ]
    return [ExecuteProcess(cmd=command, output="screen")]
