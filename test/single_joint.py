# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A single joint with a linear spring, for tests of torque control."""

from functools import cache

import numpy as np

from elastic_arms import Arm
from multibody_dynamics.dynamics.elastic import Actuators, LinearSpring, Motor, SeriesElastic
from multibody_dynamics.dynamics.model import parse_urdf

LOCKED = 1e7  # kg m^2: a link that does not move
URDF = """<robot name="one"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="{0}" iyy="{0}" izz="{0}" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
</joint></robot>"""


@cache
def single_joint(link: float, motor: Motor, stiffness: float, damping: float = 0.0) -> Arm:
    """A link of inertia `link` in kg m^2 without gravity, behind a spring."""
    model = parse_urdf(URDF.format(link), gravity=(0.0, 0.0, 0.0))
    joint = SeriesElastic(motor, LinearSpring(stiffness), damping)
    return Arm(model, Actuators(model.joint_names, (joint,)), np.zeros(1))
