# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The feedforward node, configured and activated.

ros2 launch multibody_dynamics feedforward.launch.py robot:=/path/to/arm.urdf.xacro
ros2 launch multibody_dynamics feedforward.launch.py plant:=internal use_sim_time:=true

With another robot, the package's parameters file contributes its tuning but none of the Panda's
data. Without an installed ROS 2, `multibody_dynamics loop feedforward` starts the same node.
"""

from launch import LaunchDescription

from multibody_dynamics.tools.launch_arguments import system_description
from multibody_dynamics.tools.live.launched_systems import FEEDFORWARD


def generate_launch_description() -> LaunchDescription:
    return system_description(FEEDFORWARD)
