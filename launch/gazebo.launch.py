# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

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

from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.launch_arguments import (
    ending_together,
    launch_description,
    own_node,
    share,
    verbatim,
)
from multibody_dynamics.tools.live.launched_systems import (
    FLAG,
    MOTION,
    NAMESPACE,
    Argument,
    NodeStart,
    Values,
)
from multibody_dynamics.tools.robot.gazebo import prepare

STATES = "joint_state_broadcaster/joint_states"
COMMANDS = "effort_controller/commands"


def generate_launch_description() -> LaunchDescription:
    arguments = [
        Argument("robot", "", "URDF file; '': the Panda"),
        Argument("elastic_joints", "", "YAML file of linear springs; '': that of the Panda"),
        Argument(
            "initial",
            "",
            "initial link positions [rad], separated by commas; '': the Panda's ready pose, or zero"
            " for another robot",
        ),
        Argument("lock", "", "joints to fix, JOINT=POSITION, separated by commas [rad, m]"),
        Argument(
            "world",
            str(share_directory() / "config" / "gazebo" / "world.sdf"),
            "SDF file; none: Gazebo and its clock bridge are already running",
        ),
        Argument("gui", "true", "show the Gazebo window", FLAG),
        Argument(
            "parameters",
            str(share_directory() / "config" / "gazebo" / "nodes.yaml"),
            "YAML file with the parameters of our nodes",
        ),
        MOTION,
        NAMESPACE,
        Argument("prefix", "", "prefix of the names of joints and links"),
        Argument("output", "gazebo_robot", "folder for the generated files"),
        Argument("x", "0.0", "x position in the world [m]"),
        Argument("y", "0.0", "y position in the world [m]"),
    ]
    return launch_description(arguments, start)


def start(values: Values) -> list[Action]:
    """Gazebo, the robot and our nodes, once the robot's files have been generated."""
    namespace = values["namespace"]
    robot = prepare(
        Path(values["output"]),
        robot=values["robot"],
        elastic_joints=values["elastic_joints"],
        initial=values["initial"],
        lock=values["lock"],
        namespace=namespace,
        prefix=values["prefix"],
    )
    simulated = {"use_sim_time": True}

    def ours(name: str, remappings: list[tuple[str, str]], own: dict) -> LifecycleNode:
        return own_node(
            NodeStart(
                name,
                namespace=namespace,
                parameters=(values["parameters"], simulated | {"autostart": True}, own),
                remappings=tuple(remappings),
            )
        )

    model = {"robot_file": str(robot.links), "elastic_joints_file": str(robot.springs)}
    controller = {**model, "command_joints": robot.joints}
    nodes = [
        ours("series_joints_node", [("series_joint_states", STATES)], {"joints": robot.joints}),
        ours("flatness_controller_node", [("~/commands", COMMANDS)], controller),
    ]
    if values["motion"] != "none":
        motion = {"robot_file": str(robot.links), "motion": values["motion"]}
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
            *("-x", values["x"], "-y", values["y"]),
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
    return [*gazebo(values), state_publisher, after_spawn, spawn, *ending_together(nodes)]


def gazebo(values: Values) -> list[Action]:
    """The simulator and its clock bridge, unless they are already running."""
    if values["world"] == "none":
        return []
    options = "-r -v 2" if values.flag("gui") else "-r -s -v 2"
    bridge = share("config", "gazebo", "bridge.yaml")
    return [
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(
                PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"])
            ),
            launch_arguments={
                "gz_args": f"{options} {shlex.quote(values['world'])}",
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
