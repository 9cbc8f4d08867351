# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The components of `following` as one base class, for nodes that are not composed of them yet."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

from std_srvs.srv import SetBool

from ...dynamics.control import DesiredMotion, StiffnessReference
from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ..base.cyclic import CyclicNode
from ..base.diagnostics import EventCounter, Status
from ..base.external_wrench import ExternalWrench
from ..base.outputs import Outputs
from ..base.position_check import position_checks
from .controlled_robot import controlled_robot
from .followed_motion import FollowedMotion
from .following_parameters import FollowingParameters
from .motor_limits import MotorLimits
from .stiffness_input import StiffnessInput
from .trajectory_action import TrajectoryAction
from .trajectory_input import TrajectoryInput
from .wrench_input import WrenchInput


class Law(Protocol):
    """The part of a subclass's law that this module uses."""

    @property
    def desired(self) -> Array:
        """(5, n) desired position in this cycle, with four derivatives."""

    @property
    def joint_torque(self) -> Array:
        """(n,) torque of the springs, which bounds the feasible stiffness."""


class _Followed(FollowedMotion):
    """Asks the node, which may add conditions."""

    def check_may_move(self) -> None:
        self._node._check_may_move()

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        return self._node._on_enable(request, response)


class FollowingNode(CyclicNode):
    """A cyclic node that follows `joint_trajectory`."""

    Parameters = FollowingParameters
    _position: Array
    _law: Law

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._outputs: Outputs | None = None

    @abstractmethod
    def _make(self, model: MultibodyModel, actuators: Actuators) -> Outputs:
        """Create whatever `configure` needs besides the robot, and finally the publishers."""

    @abstractmethod
    def _publish_safe_output(self) -> None:
        """Publish the safe output, if the node has published anything yet."""

    def _make_motion(self) -> DesiredMotion:
        """The object that holds the desired motion from `activate` on."""
        return DesiredMotion(self._model.joint_names, self._soft_limits)

    # Life cycle

    def configure(self) -> None:
        self.configuration.callback(lambda: self.cleanup())
        p = self.parameters
        self._robot = robot = controlled_robot(self._load_model(), p)
        self._model, self._actuators, self._soft_limits, self._order = (
            robot.model, robot.actuators, robot.soft_limits, robot.command_order,
        )  # fmt: skip
        self._position_checks = position_checks(robot.model, robot.actuators)
        self._stiffness = StiffnessReference(robot.actuators)
        self._motor_limits = MotorLimits(robot, p)
        self._action = TrajectoryAction(self, robot.model.joint_names)
        self._outputs = self._make(robot.model, robot.actuators)
        self.reconfigure(p)
        names = robot.model.joint_names
        self.get_logger().info(f"configured for {robot.model.name}: {', '.join(names)}")

    def activate(self) -> None:
        self._motion = self._make_motion()
        self._motor_limits = MotorLimits(self._robot, self.parameters)
        self._limit_speed, self._count_cuts = (
            self._motor_limits.limit_speed, self._motor_limits.count,
        )  # fmt: skip
        self.activation.callback(self.deactivate)  # is called last
        super().activate()
        self._followed = _Followed(
            self, self._motion, self._position, self._events, action=self._action
        )
        self._hold_at, self._end_goal = self._followed.hold, self._followed.end_goal
        TrajectoryInput(self, self._messages, self._followed, self._action)
        StiffnessInput(
            self,
            self._messages,
            self._stiffness,
            self._followed,
            self._motor_limits,
            lambda: self._law.joint_torque,
        )
        self._wrenches = WrenchInput(self, self._model, self._messages, self._supervisor)
        self._newest_wrench = self._wrenches.newest

    def deactivate(self) -> None:
        self._end_goal("the node was deactivated")
        self._publish_safe_output()

    def cleanup(self) -> None:
        self._outputs = None

    def reconfigure(self, values: FollowingParameters) -> None:
        for check in self._position_checks.values():
            check.factor = values.state_speed_factor
        self._stiffness.torque_scale = values.torque_limit_scale
        self._motor_limits.set(values)

    def _restart(self, why: str) -> None:
        """Reset everything that depends on time; the next state starts a new hold."""
        super()._restart(why)
        self._followed.release(why)
        self._stiffness.release()
        self._wrench.restart()

    # Parts of the components

    @property
    def _limits(self) -> Any:
        return self._motor_limits.limits

    @property
    def _limited(self) -> EventCounter:
        return self._motor_limits.cuts

    @property
    def _wrench(self) -> ExternalWrench:
        return self._wrenches.wrench

    @property
    def _enabled(self) -> bool:
        return self._followed.enabled

    @property
    def _wanted(self) -> Array:
        """(5, n) the desired motion in this cycle, against which goals are judged."""
        return self._law.desired

    def _check_may_move(self) -> None:
        FollowedMotion.check_may_move(self._followed)

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        return FollowedMotion._on_enable(self._followed, request, response)

    def _notice_leap(self, stamp: int) -> None:
        """Restart if stamps jump ahead, without waiting for the watchdog."""
        if self._motion.is_there and (gap := self._supervisor.leap(stamp)):
            self._restart(gap)

    def _judge_goal(self, stamp: int, velocity: Array) -> None:
        self._followed.judge(stamp, self._wanted, velocity)

    def _stiffness_values(self) -> dict[str, object]:
        return self._stiffness.report(self._law.joint_torque)

    def _limits_status(self) -> Status:
        return self._motor_limits.status()
