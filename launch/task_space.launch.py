"""The task space node, from unconfigured to active: a motion of the tool in, torques out.

ros2 launch multibody_dynamics task_space.launch.py robot:=/path/to/arm.urdf.xacro tool:=hand

Its other arguments are those of feedforward.launch.py, which starts it.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

PACKAGE = "multibody_dynamics"


def generate_launch_description() -> LaunchDescription:
    share = FindPackageShare(PACKAGE)
    arguments = [
        DeclareLaunchArgument(
            "parameters",
            default_value=PathJoinSubstitution([share, "config", "task_space.yaml"]),
            description="YAML file with the node's parameters",
        ),
        DeclareLaunchArgument(
            "tool",
            default_value="",
            description="link that is led along the path; '' leaves it to the parameters file",
        ),
        DeclareLaunchArgument(
            "name", default_value="task_space_node", description="of the node, and of its topics"
        ),
    ]
    return LaunchDescription(
        [
            *arguments,
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(
                    PathJoinSubstitution([share, "launch", "feedforward.launch.py"])
                ),
                launch_arguments=[
                    ("executable", "task_space_node"),
                    ("parameters", LaunchConfiguration("parameters")),
                    ("tool", LaunchConfiguration("tool")),
                    ("name", LaunchConfiguration("name")),
                ],
            ),
        ]
    )
