"""An arm with springs in Gazebo, through ros2_control, under our controller.

ros2 launch multibody_dynamics gazebo.launch.py
ros2 launch multibody_dynamics gazebo.launch.py robot:=ROBOT.urdf elastic_joints:=SPRINGS.yaml

Needs ros_gz_sim, ros_gz_bridge, gz_ros2_control, ros2_controllers and robot_state_publisher, see
docs/gazebo.md. Several robots: a launch each, with a namespace and a prefix; world:=none for all
but the first.
"""

import shlex
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode, Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from multibody_dynamics.tools.robot.gazebo import prepare

PACKAGE = "multibody_dynamics"
STATES = "joint_state_broadcaster/joint_states"
COMMANDS = "effort_controller/commands"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument("robot", default_value="", description="URDF file; '': the Panda"),
        DeclareLaunchArgument(
            "elastic_joints",
            default_value="",
            description="YAML of linear springs; '': the Panda's",
        ),
        DeclareLaunchArgument(
            "initial",
            default_value="",
            description="positions of the links, rad, with commas; '': ready for the Panda, else 0",
        ),
        DeclareLaunchArgument(
            "world",
            default_value=PathJoinSubstitution(
                [FindPackageShare(PACKAGE), "config", "gazebo", "world.sdf"]
            ),
            description="SDF file; none: Gazebo and the bridge of its clock run already",
        ),
        DeclareLaunchArgument(
            "gui", default_value="true", choices=["true", "false"], description="show Gazebo"
        ),
        DeclareLaunchArgument(
            "parameters",
            default_value=PathJoinSubstitution(
                [FindPackageShare(PACKAGE), "config", "gazebo", "nodes.yaml"]
            ),
            description="YAML file with the parameters of our nodes",
        ),
        DeclareLaunchArgument(
            "motion",
            default_value="rest_to_rest",
            choices=["rest_to_rest", "sum_of_sines", "none"],
            description="what trajectory_node sends; none leaves joint_trajectory to you",
        ),
        DeclareLaunchArgument("namespace", default_value="", description="of nodes and topics"),
        DeclareLaunchArgument(
            "prefix", default_value="", description="before the names of joints and links"
        ),
        DeclareLaunchArgument(
            "output", default_value="gazebo_robot", description="folder of the files made for it"
        ),
        DeclareLaunchArgument("x", default_value="0.0", description="place in the world, m"),
        DeclareLaunchArgument("y", default_value="0.0", description="place in the world, m"),
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list:
    """All of it; a function, since the robot is made for Gazebo first."""

    def value(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

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
        return LifecycleNode(
            package=PACKAGE,
            executable=name,
            name=name,
            namespace=namespace,
            parameters=[value("parameters"), simulated | {"autostart": True}, own],
            remappings=remappings,
            output="screen",
            emulate_tty=True,
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
        parameters=[
            simulated,
            # As it stands: without the type, launch would read it as YAML.
            {"robot_description": ParameterValue(robot.plant.read_text(), value_type=str)},
        ],
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


def gazebo(value) -> list:
    """The simulator and the bridge of its clock, unless they run already."""
    if value("world") == "none":
        return []
    options = "-r -v 2" if value("gui") == "true" else "-r -s -v 2"
    bridge = PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "gazebo", "bridge.yaml"])
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
