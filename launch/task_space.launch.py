"""The task-space node, configured and activated: a tool motion in, joint torques out.

ros2 launch multibody_dynamics task_space.launch.py robot:=/path/to/arm.urdf.xacro tool:=hand

Its other arguments are those of feedforward.launch.py, which it includes.
"""

from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from multibody_dynamics.tools.launch_arguments import argument, share


def generate_launch_description() -> LaunchDescription:
    arguments = [
        argument(
            "parameters",
            default_value=share("config", "task_space.yaml"),
            description="YAML file with the node's parameters",
        ),
        argument(
            "tool",
            default_value="",
            description="link that follows the paths; '' uses that of the parameters file",
        ),
        argument(
            "name",
            default_value="task_space_node",
            description="node name; the names of its private topics begin with it",
        ),
    ]
    included = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(share("launch", "feedforward.launch.py")),
        launch_arguments=[
            ("executable", "task_space_node"),
            ("parameters", LaunchConfiguration("parameters")),
            ("tool", LaunchConfiguration("tool")),
            ("name", LaunchConfiguration("name")),
        ],
    )
    return LaunchDescription([*arguments, included])
