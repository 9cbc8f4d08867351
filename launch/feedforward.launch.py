"""The feedforward node, configured and activated; task_space.launch.py includes this file.

ros2 launch multibody_dynamics feedforward.launch.py robot:=/path/to/arm.urdf.xacro

With another robot, the package's parameters file contributes its tuning but none of the Panda's
data.
"""

from launch import Action, LaunchDescription

from multibody_dynamics.tools.launch_arguments import (
    Values,
    argument,
    launch_description,
    own_node,
    robot_parameters,
    share,
)


def generate_launch_description() -> LaunchDescription:
    arguments = [
        argument(
            "parameters",
            default_value=share("config", "feedforward.yaml"),
            description="YAML file with the node's parameters",
        ),
        argument("robot"),
        argument("xacro_arguments"),
        argument("elastic_joints"),
        argument("command_joints"),
        argument(
            "tool",
            default_value="",
            description="tool link of task_space_node; '' uses that of the parameters file",
        ),
        argument(
            "executable",
            default_value="feedforward_node",
            choices=["feedforward_node", "task_space_node"],
            description="node to start; set by task_space.launch.py",
        ),
        argument("namespace"),
        argument(
            "name",
            default_value="feedforward_node",
            description="node name; the names of its private topics begin with it",
        ),
        argument(
            "autostart",
            default_value="true",
            choices=["true", "false"],
            description="configure and activate at startup; false waits for a lifecycle manager",
        ),
        argument("use_sim_time"),
        argument(
            "log_level", default_value="info", description="debug, info, warn, error or fatal"
        ),
    ]
    return launch_description(arguments, start)


def start(value: Values) -> list[Action]:
    """The node, with parameters that depend on the robot."""
    links, motors, _ = robot_parameters(value)
    chosen = {
        "autostart": value.flag("autostart"),
        "use_sim_time": value.flag("use_sim_time"),
        **({"tool": value("tool")} if value("tool") else {}),
    }
    return [
        own_node(
            value("executable"),
            name=value("name"),
            namespace=value("namespace"),
            parameters=[value("parameters"), links, motors, chosen],
            arguments=["--ros-args", "--log-level", value("log_level")],
        )
    ]
