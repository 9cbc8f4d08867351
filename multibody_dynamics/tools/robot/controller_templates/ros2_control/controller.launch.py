# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Start the controller manager, robot_state_publisher, the broadcaster and this controller.

The description of the robot needs a tag <ros2_control> with the interfaces of controllers.yaml; the
default one has ideal hardware that does not move.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

PACKAGE = "ROBOT_controller"


def start(context):
    """The nodes, once the arguments are known."""
    with open(LaunchConfiguration("robot").perform(context), encoding="utf-8") as file:
        description = {"robot_description": file.read()}
    controllers = LaunchConfiguration("controllers")
    return [
        Node(package="robot_state_publisher", executable="robot_state_publisher",
             parameters=[description]),
        Node(package="controller_manager", executable="ros2_control_node",
             parameters=[controllers], output="both"),
        Node(package="controller_manager", executable="spawner",
             arguments=["joint_state_broadcaster", "ROBOT_controller",
                        "--param-file", controllers]),
    ]  # fmt: skip


def generate_launch_description():
    """The arguments, and what they start."""
    share = [FindPackageShare(PACKAGE), "/config/"]
    return LaunchDescription([
        DeclareLaunchArgument("robot", default_value=[*share, "mock_hardware.urdf"],
                              description="URDF with a tag <ros2_control>"),
        DeclareLaunchArgument("controllers", default_value=[*share, "controllers.yaml"],
                              description="parameters of the controllers"),
        OpaqueFunction(function=start),
    ])  # fmt: skip
