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

from .base.messages import JointMatcher, JointStates
from .base.node_inputs import Inputs
from .base.outputs import Outputs
from .base.parameters import NodeParameters, ParameterError, parameter
from .base.qos import best_effort
from .base.runtime import ManagedNode

FIELDS = ("position", "velocity")


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
        names = [j + suffix for suffix in (p.motor_suffix, p.spring_suffix) for j in p.joints]
        self._matcher = JointMatcher(names)
        self._states = JointStates(names, FIELDS)
        self._outputs = Outputs(self)
        self._joint = self._outputs.joint_state("joint_states", p.joints, *FIELDS)
        self._motor = self._outputs.joint_state("motor_states", p.joints, *FIELDS)

    def activate(self) -> None:
        Inputs(self).listen(JointState, "series_joint_states", self._on_state, best_effort())
        self.get_logger().info(f"active; joints: {', '.join(self.parameters.joints)}")

    def _on_state(self, message: JointState) -> None:
        states = self._states
        self._matcher.match_all(message.name)
        states.restart()  # each message stands alone, also after a simulation has begun again
        states.accept(message, 0)
        values = states.position, states.velocity
        for joint, motor, value in zip(self._joint, self._motor, values, strict=True):
            motor[:], spring = np.split(value, 2)
            joint[:] = motor + spring
        self._outputs.publish_all(states.stamp)


main = SeriesJointsNode.main


if __name__ == "__main__":
    sys.exit(main())
