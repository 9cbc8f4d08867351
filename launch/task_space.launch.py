# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The task-space node, configured and activated: a tool motion in, joint torques out.

ros2 launch multibody_dynamics task_space.launch.py robot:=/path/to/arm.urdf.xacro tool:=hand

Without an installed ROS 2, `multibody_dynamics loop task-space` starts the same node.
"""

from launch import LaunchDescription

from multibody_dynamics.tools.launch_arguments import system_description
from multibody_dynamics.tools.live.launched_systems import TASK_SPACE


def generate_launch_description() -> LaunchDescription:
    return system_description(TASK_SPACE)
