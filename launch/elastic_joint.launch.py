# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm with elastic joints under control: simulated or real robot, controller, and motion.

ros2 launch multibody_dynamics elastic_joint.launch.py
ros2 launch multibody_dynamics elastic_joint.launch.py plant:=mujoco law:=state_feedback
ros2 launch multibody_dynamics elastic_joint.launch.py plant:=none parameters:=robot.yaml
ros2 launch multibody_dynamics elastic_joint.launch.py robot:=R.urdf elastic_joints:=S.yaml

With another robot, the package's parameters file contributes its tuning but none of the Panda's
data. With plant:=none, the robot's driver publishes joint_states and motor_states and receives
flatness_controller_node/commands. The parameters file describes the motion of trajectory_node.
Without an installed ROS 2, `multibody_dynamics loop` starts the same nodes.
"""

from launch import LaunchDescription

from multibody_dynamics.tools.launch_arguments import system_description
from multibody_dynamics.tools.live.launched_systems import ELASTIC_JOINT


def generate_launch_description() -> LaunchDescription:
    return system_description(ELASTIC_JOINT)
