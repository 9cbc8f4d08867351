"""The task space node, from unconfigured to active: a motion of the tool in, torques out.

ros2 launch multibody_dynamics task_space.launch.py robot:=/path/to/arm.urdf.xacro tool:=hand
"""

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "multibody_dynamics"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "parameters",
            default_value=PathJoinSubstitution(
                [FindPackageShare(PACKAGE), "config", "task_space.yaml"]
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
            description="YAML file of springs and motors; '' leaves it to the parameters file",
        ),
        DeclareLaunchArgument(
            "command_joints",
            default_value="",
            description="joints of ~/commands in their order, separated by commas; '' leaves them"
            " to the parameters file, which has those of the Panda",
        ),
        DeclareLaunchArgument(
            "tool",
            default_value="",
            description="link that is led along the path; '' leaves it to the parameters file",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="of the node's topics"),
        DeclareLaunchArgument(
            "name", default_value="task_space_node", description="of the node, and of its topics"
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
    """The node; a function, since a xacro file needs a command and a URDF file does not."""

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    chosen = {}
    if value("robot").endswith(".xacro"):
        command = Command(["xacro '", value("robot"), "' ", value("xacro_arguments")])
        chosen["robot_file"] = ""
        chosen["robot_description"] = ParameterValue(command, value_type=str)
    elif value("robot"):
        chosen["robot_file"] = value("robot")
    if value("robot"):  # the springs of the parameters file belong to another one
        chosen["elastic_joints_file"] = ""
    if value("tool"):
        chosen["tool"] = value("tool")
    if value("command_joints"):
        chosen["command_joints"] = [name.strip() for name in value("command_joints").split(",")]
    if value("elastic_joints"):
        chosen["elastic_joints_file"] = value("elastic_joints")
    return [
        LifecycleNode(
            package=PACKAGE,
            executable="task_space_node",
            name=value("name"),
            namespace=value("namespace"),
            parameters=[
                value("parameters"),
                chosen,
                {
                    "autostart": value("autostart") == "true",
                    "use_sim_time": value("use_sim_time") == "true",
                },
            ],
            arguments=["--ros-args", "--log-level", value("log_level")],
            output="screen",
            emulate_tty=True,
        )
    ]
