# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Base class of nodes that make a robot follow a trajectory: robot, desired motion and stiffness,
their requests, goals and tolerances, external wrench, and motor limits.

A subclass adds the control law. It implements `_make` (whatever `configure` needs besides the
robot), `_cycle`, `_publish_safe_output` and `_statuses`, and extends `activate`, where it
subscribes to states.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from ...dynamics.control import DesiredMotion, Planned, StiffnessReference, TrajectoryRequest
from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import JointCommandLimits, LimitEvent, distance_to_limits
from ..base.cyclic import CyclicNode
from ..base.diagnostics import OK, WARN, EventCounter
from ..base.external_wrench import ExternalWrench
from ..base.messages import (
    SECOND,
    JointMatcher,
    MessageError,
    nanoseconds,
    read_trajectory,
)
from ..base.outputs import Outputs
from ..base.parameters import ParameterError
from ..base.position_check import position_checks
from ..base.qos import RELIABLE, best_effort
from ..base.robot import load_actuators
from .following_parameters import FollowingParameters
from .large_trajectories import LARGE, LargeTrajectories, LargeTrajectory
from .trajectory_action import TrajectoryAction
from .trajectory_goal import Code, Tolerances, TrajectoryGoal, Verdict


class Law(Protocol):
    """The part of a subclass's law that this module uses."""

    @property
    def desired(self) -> Array:
        """(5, n) desired position in this cycle, with four derivatives."""

    @property
    def joint_torque(self) -> Array:
        """(n,) torque of the springs, which bounds the feasible stiffness."""


class FollowingNode(CyclicNode):
    """A cyclic node that follows `joint_trajectory`.

    From `configure` on, it has `_model`, `_actuators`, `_order` (indices of the motors in the order
    of command_joints), `_limits`, `_position_checks` of links and motors, `_stiffness` of the
    joints with variable stiffness, and `_law`, which `_make` sets. From `activate` on, it has
    `_motion`, `_motor_torque` (m,), the last one published, and `_position` (n,), the position of
    the robot.
    """

    Parameters = FollowingParameters
    _position: Array
    _law: Law

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._outputs: Outputs | None = None
        self._goal: TrajectoryGoal | None = None  # of the current motion until that ends
        self._action: TrajectoryAction | None = None

    # For subclasses

    @abstractmethod
    def _make(self, model: MultibodyModel, actuators: Actuators) -> Outputs:
        """Create whatever `configure` needs besides the robot, and finally the publishers."""

    @abstractmethod
    def _publish_safe_output(self) -> None:
        """Publish the safe output, if the node has published anything yet."""

    def _make_motion(self) -> DesiredMotion:
        """The object that holds the desired motion from `activate` on."""
        return DesiredMotion(self._model.joint_names, self._soft_limits)

    def _listen_to_motions(self) -> None:
        """Subscribe to the desired motions, and serve the action."""
        assert self._activation is not None
        self._large = LargeTrajectories(self.defer)
        self._activation.callback(self._large.close)
        self._activation.subscribe(
            JointTrajectory, "joint_trajectory", self._on_trajectory, RELIABLE, raw=True
        )
        rate = self.parameters.action_monitor_rate
        if self._action is not None or not rate:
            return  # served until `cleanup`: goals that arrive while inactive get an answer
        if not TrajectoryAction.is_installed():
            self.get_logger().info(
                "control_msgs is not installed: the action follow_joint_trajectory is not served;"
                " use the topic joint_trajectory"
            )
            return
        self._action = TrajectoryAction(
            self, self._model.joint_names, self._on_goal, self._on_cancel, rate
        )

    # Life cycle

    def configure(self) -> None:
        p = self.parameters
        if not p.command_joints:
            raise ParameterError("command_joints is empty; name the joints of ~/commands in order")
        model = self._load_model()
        actuators = load_actuators(p, model)
        motors = actuators.motor_names
        for name in p.command_joints:
            if name not in motors:
                raise ParameterError(
                    f"command_joints: no joint '{name}'; the robot has {', '.join(motors)}"
                )
        if p.wrench_link and model.body_index(p.wrench_link) < 0:
            raise ParameterError(f"wrench_link '{p.wrench_link}' does not move; name a moving link")
        soft_limits = model.limits._replace(
            lower=model.limits.lower + p.position_margin,
            upper=model.limits.upper - p.position_margin,
        )
        for k in np.flatnonzero(soft_limits.lower > soft_limits.upper):
            raise ParameterError(
                f"position_margin {p.position_margin} leaves no range for '{model.joint_names[k]}'"
            )
        self._model, self._actuators, self._soft_limits = model, actuators, soft_limits
        self._order = np.array([motors.index(name) for name in p.command_joints], dtype=np.intp)
        variable = actuators.variable_joints
        if len(p.initial_stiffness) not in (0, len(variable)):
            raise ParameterError(
                f"initial_stiffness has {len(p.initial_stiffness)} values; expected none or"
                f" {len(variable)}"
            )
        self._matcher, self._variable = JointMatcher(model.joint_names), JointMatcher(variable)
        self._position_checks = position_checks(model, actuators)
        self._stiffness = StiffnessReference(actuators)
        self._outputs = self._make(model, actuators)
        self.reconfigure(p)
        self.get_logger().info(f"configured for {model.name}: {', '.join(model.joint_names)}")

    def activate(self) -> None:
        p = self.parameters
        self._motion = self._make_motion()
        self._motor_torque: Array = np.zeros(len(self._actuators.motors))
        self._enabled = p.enable_at_activation
        self._wrench = ExternalWrench(self._model, p.wrench_link)
        self._limited = EventCounter()
        super().activate()
        self._listen_to_motions()
        if self._stiffness.joint_names:
            self._listen(JointTrajectory, "stiffness_reference", self._on_stiffness, RELIABLE)
        self._listen(WrenchStamped, "external_wrench", self._on_wrench, best_effort(1))
        self._activation.service(SetBool, "~/enable", self._on_enable)

    def deactivate(self) -> None:
        if not self._is_running:
            return
        super().deactivate()
        self._end_goal("the node was deactivated")
        self._publish_safe_output()

    def cleanup(self) -> None:
        if self._action is not None:
            self._action.close()
            self._action = None
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None

    def reconfigure(self, values: FollowingParameters) -> None:
        super().reconfigure(values)
        if self._outputs is None:
            return
        for check in self._position_checks.values():
            check.factor = values.state_speed_factor
        actuators = self._actuators
        self._stiffness.torque_scale = values.torque_limit_scale
        rates = np.full(len(actuators.motors), np.inf)
        if values.torque_rate_limits:
            rates[self._order] = values.torque_rate_limits
        limit = actuators.torque_limit_within(self._model.limits.effort)
        self._torque_limited_by = {
            name: "the robot's effort limit" if is_robot else "the motor's torque limit"
            for name, is_robot in zip(
                actuators.motor_names, limit < actuators.torque_limit, strict=True
            )
        }
        self._limits = JointCommandLimits(
            actuators.motor_names,
            torque=values.torque_limit_scale * limit,
            torque_rate=rates,
            motor_speed=actuators.speed_limit,
        )

    def _restart(self, why: str) -> None:
        """Reset everything that depends on time; the next state starts a new hold."""
        super()._restart(why)
        self._end_goal(why)
        self._motion.release()
        self._stiffness.release()
        self._wrench.restart()

    # Inputs

    def _on_trajectory(self, data: bytes) -> None:
        p, large = self.parameters, self._large
        if large.drop():
            newer = MessageError("superseded", "a newer one arrived while it was being planned")
            self._reject("joint_trajectory", newer)
        try:
            if len(data) > LARGE and large.has_time(data, self._motion):
                self._check_may_move()
                large.plan(
                    data, self._motion, tolerance=p.start_tolerance, lead=p.splice_lead,
                    then=self._on_planned,
                )  # fmt: skip
                return
            message = deserialize_message(data, JointTrajectory)
            request = read_trajectory(message, self._matcher)
            if request.times.size == 0:
                self._motion.stop(p.stop_duration)
                self._on_new_motion()
            else:
                self._follow(request, self._tolerances())
        except MessageError as error:
            self._reject("joint_trajectory", error)
        else:
            self._events.add("trajectories accepted")

    def _on_planned(self, found: LargeTrajectory | MessageError) -> None:
        try:
            if isinstance(found, MessageError):
                raise found
            self._follow(found.request, self._tolerances(), found.planned)
        except MessageError as error:
            self._reject("joint_trajectory", error)
        else:
            self._events.add("trajectories accepted")

    def _follow(
        self, request: TrajectoryRequest, tolerances: Tolerances, planned: Planned | None = None
    ) -> None:
        """Follow a trajectory with points. If it raises MessageError, the current one continues."""
        p = self.parameters
        self._check_may_move()
        self._motion.follow(
            request, self._position,
            tolerance=p.start_tolerance, lead=p.splice_lead, planned=planned,
        )  # fmt: skip
        self._on_new_motion(tolerances)

    def _tolerances(self) -> Tolerances:
        p = self.parameters
        return Tolerances.of_parameters(
            self._model.n,
            path=p.path_tolerance,
            goal=p.goal_tolerance,
            stopped_velocity=p.stopped_velocity_tolerance,
            goal_time=p.goal_time_tolerance,
        )

    def _on_goal(self, goal: Any) -> None:
        """Follow a goal of the action, or raise MessageError."""
        try:
            if not self._is_running:
                raise MessageError("not active", "the node is not active")
            request = read_trajectory(goal.trajectory, self._matcher)
            time = goal.goal_time_tolerance
            tolerances = self._tolerances().changed(
                self._model.joint_names,
                goal.path_tolerance,
                goal.goal_tolerance,
                time.sec + 1e-9 * time.nanosec,
            )
            self._follow(request, tolerances)
        except MessageError as error:
            self._reject("follow_joint_trajectory", error)
            raise
        self._events.add("goals accepted")

    def _on_cancel(self) -> None:
        self._motion.stop(self.parameters.stop_duration)
        self._on_new_motion()

    def _on_stiffness(self, message: JointTrajectory) -> None:
        p = self.parameters
        try:
            request = read_trajectory(message, self._variable)
            if request.times.size == 0:
                self._stiffness.stop(p.stop_duration)
                return
            self._check_may_move()
            torque = self._law.joint_torque
            self._count_cuts(self._stiffness.follow(request, torque, p.splice_lead))
        except MessageError as error:
            self._reject("stiffness_reference", error)

    def _check_may_move(self) -> None:
        """Raise MessageError if the node may not follow trajectories now."""
        if not self._enabled:
            raise MessageError("not enabled", "motion is disabled by the service ~/enable")

    def _on_new_motion(self, tolerances: Tolerances | None = None) -> None:
        """Start to monitor the motion or the stop that has just begun."""
        self._end_goal("replaced by another motion")
        tolerances = tolerances or self._tolerances()
        self._goal = TrajectoryGoal(self._model.joint_names, tolerances, self._motion.end)

    def _end_goal(self, why: str, code: Code = Code.INVALID_GOAL) -> None:
        """End the goal of the current motion, if any."""
        self._goal = None
        if self._action is not None:
            self._action.end(Verdict(code, why))

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            self._check_stamp(nanoseconds(message.header.stamp))
            self._wrench.accept(message)
        except MessageError as error:
            self._reject("external_wrench", error)

    def _newest_wrench(self, stamp: int, step: float, state: Array) -> tuple[int, Array] | None:
        """The body, and W, W', W'' (3, 6) in inertial axes; None before the first message."""
        wrench, p = self._wrench, self.parameters
        if wrench.body is None:
            return None
        if wrench.expire(stamp, p.wrench_timeout):
            self._reject(
                "external_wrench",
                MessageError("stale", "none arrived within wrench_timeout; set to zero"),
            )
        return wrench.body, wrench.advance(step, p.wrench_filter_time, state)

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._motion.is_there and not request.data:
            self._motion.stop(self.parameters.stop_duration)
            self._end_goal("motion is disabled by the service ~/enable")
        self._enabled = request.data
        response.success = True
        response.message = "following trajectories" if request.data else "stopping, then holding"
        self.get_logger().info(response.message, throttle_duration_sec=1.0)
        return response

    # The cycle

    @property
    def _wanted(self) -> Array:
        """(5, n) the desired motion in this cycle, against which goals are judged."""
        return self._law.desired

    def _notice_leap(self, stamp: int) -> None:
        """Restart if stamps jump ahead, without waiting for the watchdog."""
        gap = stamp - self._last_stamp if self._last_stamp else 0
        if gap > int(SECOND * self.parameters.state_timeout) and self._motion.is_there:
            self._restart(f"gap of {1e-9 * gap:.3f} s between two stamps")

    def _hold_at(self, position: Array, stamp: int) -> None:
        """Hold `position` from now on."""
        self._motion.hold(position, stamp)
        for k in np.flatnonzero(distance_to_limits(self._soft_limits, position) < 0.0):
            self.get_logger().warning(
                f"'{self._model.joint_names[k]}' is at {position[k]:.4g}, outside its position"
                " limits: it may only move back inside"
            )

    def _judge_goal(self, stamp: int, velocity: Array) -> None:
        """Check that the robot follows the motion and arrives; velocity: (n,) measured or NaN."""
        goal, desired = self._goal, self._wanted
        if goal is None:
            return
        if self._action is not None:
            self._action.report(stamp, desired, self._position, velocity)
        p = self.parameters
        time = stamp + int(SECOND * p.lookahead)
        verdict = goal.judge(time, desired, self._position, velocity)
        if verdict is None:
            return
        if verdict.code == Code.PATH_TOLERANCE_VIOLATED:
            self.get_logger().error(f"{verdict.text}: stopping")
            self._events.add("path tolerance", verdict.text)
            self._motion.stop(p.stop_duration)
        elif verdict.code == Code.GOAL_TOLERANCE_VIOLATED:
            self.get_logger().error(verdict.text)
            self._events.add("goal tolerance", verdict.text)
        self._end_goal(verdict.text, verdict.code)

    def _limit_torque(self, wanted: Array, step: float) -> None:
        """Set `_motor_torque` to the torque, limited `step` s after the last; count the cuts."""
        # The first cycle has no step: with a tiny one, limited rates allow almost no change.
        self._motor_torque, cuts = self._limits.apply(wanted, self._motor_torque, step or 1e-9)
        self._count_cuts(cuts)

    def _limit_speed(self, speed: Array) -> None:
        """Limit the motor speeds (m,) in place; count the cuts."""
        speed[:], cuts = self._limits.apply_speed(speed)
        self._count_cuts(cuts)

    def _count_cuts(self, cuts: Iterable[LimitEvent]) -> None:
        for cut in cuts:
            by = self._torque_limited_by.get(cut.joint) if cut.quantity == "torque" else None
            self._limited.add(f"{cut.quantity} of {cut.joint}", f"{cut}, {by}" if by else str(cut))

    # Diagnostics

    def _stiffness_values(self) -> dict[str, object]:
        return self._stiffness.report(self._law.joint_torque)

    def _limits_status(self) -> DiagnosticStatus:
        recent, values = self._limited.report()
        text = f"limited {recent} times in the last second" if recent else "nothing limited"
        return self._status("limits", WARN if recent else OK, text, values)
