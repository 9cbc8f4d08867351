# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of a node that follows trajectories, as its parameters describe it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...dynamics.elastic import Actuators
from ...dynamics.model import JointLimits, MultibodyModel
from ..base.parameters import ParameterError
from ..base.robot import load_actuators
from .following_parameters import FollowingParameters


@dataclass(frozen=True, eq=False)
class ControlledRobot:
    """Links, springs and motors, and what the parameters say about them.

    soft_limits: of the joints, with position_margin. command_order: indices of the motors in the
    order of command_joints.
    """

    model: MultibodyModel
    actuators: Actuators
    soft_limits: JointLimits
    command_order: NDArray[np.intp]


def controlled_robot(model: MultibodyModel, p: FollowingParameters) -> ControlledRobot:
    """The robot with these links. Raises ParameterError, and InputError for the springs' file."""
    if not p.command_joints:
        raise ParameterError("command_joints is empty; name the joints of ~/commands in order")
    actuators = load_actuators(p, model)
    motors = actuators.motor_names
    for name in p.command_joints:
        if name not in motors:
            raise ParameterError(
                f"command_joints: no joint '{name}'; the robot has {', '.join(motors)}"
            )
    if p.wrench_link and model.frame(p.wrench_link).body < 0:
        raise ParameterError(f"wrench_link '{p.wrench_link}' does not move; name a moving link")
    soft_limits = model.limits._replace(
        lower=model.limits.lower + p.position_margin, upper=model.limits.upper - p.position_margin
    )
    for k in np.flatnonzero(soft_limits.lower > soft_limits.upper):
        raise ParameterError(
            f"position_margin {p.position_margin} leaves no range for '{model.joint_names[k]}'"
        )
    variable = actuators.variable_joints
    if len(p.initial_stiffness) not in (0, len(variable)):
        raise ParameterError(
            f"initial_stiffness has {len(p.initial_stiffness)} values; expected none or"
            f" {len(variable)}"
        )
    order = np.array([motors.index(name) for name in p.command_joints], dtype=np.intp)
    return ControlledRobot(model, actuators, soft_limits, order)
