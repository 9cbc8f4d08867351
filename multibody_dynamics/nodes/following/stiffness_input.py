# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The topic `stiffness_reference`: second outputs that the joints with variable stiffness are to
have."""

from collections.abc import Callable
from typing import Any

from trajectory_msgs.msg import JointTrajectory

from ...dynamics.control import StiffnessReference
from ...dynamics.core import Array
from ..base.messages import JointMatcher, read_trajectory
from ..base.node_inputs import Inputs
from ..base.qos import RELIABLE
from ..base.runtime import ManagedNode
from .followed_motion import FollowedMotion
from .motor_limits import MotorLimits


class StiffnessInput:
    """Listens to `stiffness_reference` from activation on, if there are such joints.

    followed: whether the robot may move. limits: count what is clipped. joint_torque: reads the
    torques of the springs (n,), which bound the feasible stiffness.
    """

    def __init__(  # wide: where requests come from, and what they depend on
        self,
        node: ManagedNode[Any],
        inputs: Inputs,
        reference: StiffnessReference,
        followed: FollowedMotion,
        limits: MotorLimits,
        joint_torque: Callable[[], Array],
    ) -> None:
        self._node, self._reference, self._followed = node, reference, followed
        self._limits, self._joint_torque = limits, joint_torque
        self._matcher = JointMatcher(reference.joint_names)
        if reference.joint_names:
            inputs.listen(JointTrajectory, "stiffness_reference", self._on_request, RELIABLE)

    def _on_request(self, message: JointTrajectory) -> None:
        p = self._node.parameters
        request = read_trajectory(message, self._matcher)
        if request.times.size == 0:
            self._reference.stop(p.stop_duration)
            return
        self._followed.check_may_move()
        self._limits.count(self._reference.follow(request, self._joint_torque(), p.splice_lead))
