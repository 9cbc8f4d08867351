"""An arm with elastic joints in Gazebo, driven by our controller through ros2_control.

ros2 launch multibody_dynamics gazebo.launch.py
ros2 launch multibody_dynamics gazebo.launch.py robot:=ROBOT.urdf elastic_joints:=SPRINGS.yaml

Requires ros_gz_sim, ros_gz_bridge, gz_ros2_control, ros2_controllers and robot_state_publisher; see
docs/gazebo.md. For several robots, launch each with its own namespace and prefix, and all but the
first with world:=none.
"""

import shlex
from pathlib import Path

from launch import Action, LaunchDescription
from launch.actions import IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.actions import LifecycleNode, Node
from launch_ros.substitutions import FindPackageShare

from multibody_dynamics.tools.launch_arguments import (
    Values,
    argument,
    launch_description,
    own_node,
    share,
    verbatim,
)
from multibody_dynamics.tools.robot.gazebo import prepare

STATES = "joint_state_broadcaster/joint_states"
COMMANDS = "effort_controller/commands"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        argument("robot", description="URDF file; '': the Panda"),
        argument(
            "elastic_joints", description="YAML file of linear springs; '': that of the Panda"
        ),
        argument(
            "initial",
            default_value="",
            description="initial link positions [rad], separated by commas; '': the Panda's ready"
            " pose, or zero for another robot",
        ),
        argument(
            "world",
            default_value=share("config", "gazebo", "world.sdf"),
            description="SDF file; none: Gazebo and its clock bridge are already running",
        ),
        argument(
            "gui",
            default_value="true",
            choices=["true", "false"],
            description="show the Gazebo window",
        ),
        argument(
            "parameters",
            default_value=share("config", "gazebo", "nodes.yaml"),
            description="YAML file with the parameters of our nodes",
        ),
        argument("motion"),
        argument("namespace"),
        argument("prefix", default_value="", description="prefix of the names of joints and links"),
        argument(
            "output", default_value="gazebo_robot", description="folder for the generated files"
        ),
        argument("x", default_value="0.0", description="x position in the world [m]"),
        argument("y", default_value="0.0", description="y position in the world [m]"),
    ]
    return launch_description(arguments, start)


def start(value: Values) -> list[Action]:
    """Gazebo, the robot and our nodes, once the robot's files have been generated."""
    namespace = value("namespace")
    robot = prepare(
        Path(value("output")),
        robot=value("robot"),
        elastic_joints=value("elastic_joints"),
        initial=value("initial"),
        namespace=namespace,
        prefix=value("prefix"),
    )
    simulated = {"use_sim_time": True}

    def ours(name: str, remappings: list[tuple[str, str]], own: dict) -> LifecycleNode:
        return own_node(
            name,
            namespace=namespace,
            parameters=[value("parameters"), simulated | {"autostart": True}, own],
            remappings=remappings,
        )

    model = {"robot_file": str(robot.links), "elastic_joints_file": str(robot.springs)}
    controller = {**model, "command_joints": robot.joints}
    nodes = [
        ours("series_joints_node", [("series_joint_states", STATES)], {"joints": robot.joints}),
        ours("flatness_controller_node", [("~/commands", COMMANDS)], controller),
    ]
    if value("motion") != "none":
        motion = {"robot_file": str(robot.links), "motion": value("motion")}
        nodes.append(ours("trajectory_node", [], motion))

    state_publisher = Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        namespace=namespace,
        parameters=[simulated, {"robot_description": verbatim(robot.plant.read_text())}],
        remappings=[("joint_states", STATES)],
    )
    spawn = Node(
        package="ros_gz_sim",
        executable="create",
        namespace=namespace,
        arguments=[
            *("-topic", "robot_description", "-name", robot.name),
            *("-x", value("x"), "-y", value("y")),
        ],
        output="screen",
    )
    controllers = Node(
        package="controller_manager",
        executable="spawner",
        namespace=namespace,
        arguments=[
            *("joint_state_broadcaster", "effort_controller"),
            *("--param-file", str(robot.controllers)),
            *("--controller-manager", "controller_manager"),
        ],
        output="screen",
    )
    after_spawn = RegisterEventHandler(OnProcessExit(target_action=spawn, on_exit=[controllers]))
    return [*gazebo(value), state_publisher, after_spawn, spawn, *nodes]


def gazebo(value: Values) -> list[Action]:
    """The simulator and its clock bridge, unless they are already running."""
    if value("world") == "none":
        return []
    options = "-r -v 2" if value.flag("gui") else "-r -s -v 2"
    bridge = share("config", "gazebo", "bridge.yaml")
    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(
                PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
            ),
            launch_arguments={
                "gz_args": f"{options} {shlex.quote(value('world'))}",
                "on_exit_shutdown": "true",
            }.items(),
        ),
        Node(
            package="ros_gz_bridge",
            executable="parameter_bridge",
            parameters=[{"config_file": bridge}],
            output="screen",
        ),
    ]
