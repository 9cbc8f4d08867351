# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot of nodes that compare states with a model: parameters, and the measured joints."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sensor_msgs.msg import JointState

from ...dynamics.model import MultibodyModel, motor_columns
from ...validation.settings import Robot, equipped
from ..base.messages import JointStates
from ..base.parameters import ParameterError, parameter
from ..base.robot import DynamicRobotParameters, find_file


@dataclass(frozen=True)
class ComparedRobotParameters(DynamicRobotParameters):
    """What is known of the robot, which of its joints are measured, and how states are filtered."""

    # fmt: off
    data_file: str = parameter("",
        meaning="YAML file of friction, rotor inertias, payloads and inertias, as for `validate"
        " --data`, found like robot_file; empty: none")
    elastic_joints_file: str = parameter("",
        meaning="YAML file of springs and motors, found like robot_file, for motor efforts or to"
        " watch the springs; empty: none")
    prefix: str = parameter("", "prefix that precedes the robot's joint names in the messages")
    held_joints: tuple[str, ...] = parameter((),
        meaning="joints of the robot that are not in joint_states, such as the fingers of a hand")
    held_positions: tuple[float, ...] = parameter((), unit="rad or m",
        meaning="fixed positions of the held_joints, in their order")
    from_positions: bool = parameter(False,
        meaning="ignore measured velocities; otherwise they are used if the first state has them")
    # fmt: on

    def check(self) -> None:
        super().check()
        if len(self.held_joints) != len(self.held_positions):
            raise ParameterError(
                f"held_positions has {len(self.held_positions)} values for"
                f" {len(self.held_joints)} held_joints"
            )
        self._require_unique("held_joints")

    @property
    def held(self) -> Mapping[str, float]:
        """The positions of the held joints."""
        return dict(zip(self.held_joints, self.held_positions, strict=True))

    def robot(self, model: MultibodyModel) -> Robot:
        """The robot with the data of these files. Raises ParameterError and InputError."""
        files = (find_file(x) if x else None for x in (self.data_file, self.elastic_joints_file))
        return equipped(model, *files)

    def measured(self, model: MultibodyModel) -> list[int]:
        """The indices of the measured joints. Raises ParameterError if there are none."""
        used = [i for i, name in enumerate(model.joint_names) if name not in self.held_joints]
        if not used:
            raise ParameterError("held_joints lists all joints of the robot: nothing to compare")
        return used

    def states(
        self, first: JointState, names: list[str], model: MultibodyModel
    ) -> tuple[JointStates, bool]:
        """For a stream of states of these joints, and whether all must have velocities, as they
        must if the first one does."""
        columns = motor_columns(first.name, model.transmissions, self.prefix)
        velocity = dict(zip(columns.names, first.velocity, strict=False))
        has_velocity = not self.from_positions and 0 < len(first.name) == len(first.velocity)
        has_velocity &= all(np.isfinite(velocity.get(name, 0.0)) for name in names)
        fields = ("position", "velocity", "effort") if has_velocity else ("position", "effort")
        return JointStates(
            names, fields, transmissions=model.transmissions, prefix=self.prefix
        ), has_velocity
