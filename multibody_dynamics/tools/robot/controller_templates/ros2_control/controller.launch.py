# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Start the controller manager, robot_state_publisher, the broadcasters and this controller.

Without arguments, the arm is simulated, with its springs and motors. The description of another
robot needs a tag <ros2_control> with the interfaces of controllers.yaml. Ends when the controller
manager ends.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

PACKAGE = "ROBOT_controller"
CONTROLLERS = ("joint_state_broadcaster", "motor_state_broadcaster", "ROBOT_controller")


def start(context):
    """The nodes, once the arguments are known."""
    with open(LaunchConfiguration("robot").perform(context), encoding="utf-8") as file:
        description = {"robot_description": file.read()}
    controllers = LaunchConfiguration("controllers")
    common = {"namespace": LaunchConfiguration("namespace")}
    time = {"use_sim_time": LaunchConfiguration("use_sim_time").perform(context) == "true"}
    return [
        Node(package="robot_state_publisher", executable="robot_state_publisher",
             parameters=[description, time], **common),
        Node(package="controller_manager", executable="ros2_control_node",
             parameters=[controllers, time], output="both", on_exit=Shutdown(), **common),
        Node(package="controller_manager", executable="spawner",
             arguments=[*CONTROLLERS, "--param-file", controllers], **common),
    ]  # fmt: skip


def generate_launch_description():
    """The arguments, and what they start."""
    share = [FindPackageShare(PACKAGE), "/config/"]
    hardware = LaunchConfiguration("hardware")
    return LaunchDescription([
        DeclareLaunchArgument("hardware", default_value="simulated_arm",
                              choices=["simulated_arm", "mock_hardware"],
                              description="simulated, or one that does not move"),
        DeclareLaunchArgument("robot", default_value=[*share, hardware, ".urdf"],
                              description="URDF with a tag <ros2_control>, in place of these"),
        DeclareLaunchArgument("controllers", default_value=[*share, "controllers.yaml"],
                              description="parameters of the controllers"),
        DeclareLaunchArgument("namespace", default_value="", description="of all nodes"),
        DeclareLaunchArgument("use_sim_time", default_value="false", choices=["true", "false"],
                              description="whether time comes from /clock"),
        OpaqueFunction(function=start),
    ])  # fmt: skip
