# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joint and motor states of a simulated robot whose joints consist of a motor and a spring in
series.

A simulator such as Gazebo publishes JOINT_motor (theta) and JOINT_spring (q - theta); see
tools/robot/gazebo.py. This node converts each message into two with the same stamp, as the other
nodes expect them: `joint_states` with q = theta + spring, and `motor_states` with theta.
"""

import sys
from dataclasses import dataclass

import numpy as np
from sensor_msgs.msg import JointState

from .base.messages import nanoseconds
from .base.outputs import Outputs
from .base.parameters import NodeParameters, ParameterError, parameter
from .base.qos import best_effort
from .base.runtime import ManagedNode


@dataclass(frozen=True)
class SeriesJointsParameters(NodeParameters):
    """The parameters of series_joints_node; docs/series_joints_node.md has them as a table."""

    joints: tuple[str, ...] = parameter((), "names of the joints, without the suffixes")
    motor_suffix: str = parameter("_motor", "suffix that turns a joint's name into its motor's")
    spring_suffix: str = parameter("_spring", "suffix that turns a joint's name into its spring's")

    def check(self) -> None:
        super().check()
        self._require_unique("joints")
        if self.motor_suffix == self.spring_suffix:
            raise ParameterError(
                f"motor_suffix and spring_suffix are both '{self.motor_suffix}'; they must differ"
            )


class SeriesJointsNode(ManagedNode[SeriesJointsParameters]):
    """The node; see the module and docs/series_joints_node.md."""

    def __init__(self) -> None:
        super().__init__("series_joints_node", SeriesJointsParameters)

    def configure(self) -> None:
        p = self.parameters
        if not p.joints:
            raise ParameterError("joints is empty; name the robot's joints")
        self._names: list[str] = []  # of the last message
        self._outputs = Outputs(self)
        self._joint = self._outputs.joint_state("joint_states", p.joints, "position", "velocity")
        self._motor = self._outputs.joint_state("motor_states", p.joints, "position", "velocity")

    def activate(self) -> None:
        self.activation.subscribe(JointState, "series_joint_states", self._on_state, best_effort())
        self.get_logger().info(f"active; joints: {', '.join(self.parameters.joints)}")

    def _on_state(self, message: JointState) -> None:
        if message.name != self._names and not self._read_names(message.name):
            return
        if not len(message.position) == len(message.velocity) == len(message.name):
            self.get_logger().warning(
                "ignored series_joint_states without position and velocity",
                throttle_duration_sec=5.0,
            )
            return
        rows = np.array([message.position, message.velocity])
        theta, spring = rows[:, self._motor_at], rows[:, self._spring_at]
        stamp = nanoseconds(message.header.stamp)
        if not (np.isfinite(theta).all() and np.isfinite(spring).all()):
            self.get_logger().warning(
                "ignored series_joint_states with values that are not finite",
                throttle_duration_sec=5.0,
            )
            return
        for k in range(2):
            self._motor[k][:] = theta[k]
            self._joint[k][:] = theta[k] + spring[k]
        self._outputs.publish_all(stamp)

    def _read_names(self, names: list[str]) -> bool:
        """Find our joints in the message; False if some are missing."""
        p = self.parameters
        place = {name: k for k, name in enumerate(names)}
        motors = [joint + p.motor_suffix for joint in p.joints]
        springs = [joint + p.spring_suffix for joint in p.joints]
        missing = [name for name in motors + springs if name not in place]
        if missing:
            text = f"ignored series_joint_states without {', '.join(missing)}"
            self.get_logger().warning(text, throttle_duration_sec=5.0)
            return False
        self._motor_at = [place[name] for name in motors]
        self._spring_at = [place[name] for name in springs]
        self._names = list(names)
        return True


main = SeriesJointsNode.main


if __name__ == "__main__":
    sys.exit(main())
