"""The feedforward node, from unconfigured to active; or, by task_space.launch.py, its sibling.

ros2 launch multibody_dynamics feedforward.launch.py robot:=/path/to/arm.urdf.xacro

Another robot takes the tuning of the package's parameters file, but nothing in it that is the
Panda's.
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from multibody_dynamics.nodes.base.robot import chosen_robot

PACKAGE = "multibody_dynamics"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "parameters",
            default_value=PathJoinSubstitution(
                [FindPackageShare(PACKAGE), "config", "feedforward.yaml"]
            ),
            description="YAML file with the node's parameters",
        ),
        DeclareLaunchArgument(
            "robot",
            default_value="",
            description="URDF or xacro file; '' leaves it to the parameters file",
        ),
        DeclareLaunchArgument(
            "xacro_arguments", default_value="", description="for a xacro file: name:=value ..."
        ),
        DeclareLaunchArgument(
            "elastic_joints",
            default_value="",
            description="YAML file of springs and motors; '' leaves it to the parameters file, or"
            " with robot: every joint is rigid",
        ),
        DeclareLaunchArgument(
            "command_joints",
            default_value="",
            description="motors in the order of ~/commands, separated by commas; '' leaves them to"
            " the parameters file, or with robot or elastic_joints: in the order of the joints",
        ),
        DeclareLaunchArgument(
            "tool",
            default_value="",
            description="of task_space_node: link that is led along the path",
        ),
        DeclareLaunchArgument(
            "executable",
            default_value="feedforward_node",
            choices=["feedforward_node", "task_space_node"],
            description="what task_space.launch.py sets",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="of the node's topics"),
        DeclareLaunchArgument(
            "name", default_value="feedforward_node", description="of the node, and of its topics"
        ),
        DeclareLaunchArgument(
            "autostart",
            default_value="true",
            choices=["true", "false"],
            description="configure and activate at start; false waits for a lifecycle manager",
        ),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="false",
            choices=["true", "false"],
            description="take time from /clock",
        ),
        DeclareLaunchArgument(
            "log_level", default_value="info", description="debug, info, warn, error or fatal"
        ),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=node)])


def node(context: LaunchContext) -> list[LifecycleNode]:
    """The node; a function, since what is set depends on the robot."""

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    description = ""
    if value("robot").endswith(".xacro"):
        command = Command(["xacro '", value("robot"), "' ", value("xacro_arguments")])
        description = command.perform(context)
    links, motors, _ = chosen_robot(
        value("parameters"),
        value("robot"),
        value("elastic_joints"),
        [name.strip() for name in value("command_joints").split(",") if name.strip()],
        robot_description=description,
    )
    if description:  # as it stands: without the type, launch reads it as YAML
        links["robot_description"] = ParameterValue(description, value_type=str)
    chosen = {
        "autostart": value("autostart") == "true",
        "use_sim_time": value("use_sim_time") == "true",
        **({"tool": value("tool")} if value("tool") else {}),
    }
    return [
        LifecycleNode(
            package=PACKAGE,
            executable=value("executable"),
            name=value("name"),
            namespace=value("namespace"),
            parameters=[value("parameters"), links, motors, chosen],
            arguments=["--ros-args", "--log-level", value("log_level")],
            output="screen",
            emulate_tty=True,
        )
    ]
