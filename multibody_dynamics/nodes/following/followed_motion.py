# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion that a node follows: whether it may move, how motions begin, and how they end."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from rclpy.publisher import Publisher
from std_msgs.msg import Float64
from std_srvs.srv import SetBool

from ...dynamics.control import DesiredMotion, Planned, TrajectoryRequest
from ...dynamics.core import Array
from ...dynamics.motion import StreamLimits, distance_to_limits
from ..base.diagnostics import OK, EventCounter, Status
from ..base.messages import SECOND, MessageError
from ..base.qos import RELIABLE
from ..base.runtime import ManagedNode
from .trajectory_action import TrajectoryAction
from .trajectory_goal import ErrorCode, GoalResult, GoalTolerances, TrajectoryGoal

DISTANT = 60.0  # s until a trajectory begins, from which on its stamp is doubtful


class MotionInhibitor(Protocol):
    """Keeps a node from following motions, although they are enabled: a fault."""

    def present(self) -> str:
        """Why the node may not follow motions now; "" if it may."""

    def refusal(self) -> str:
        """Why ~/enable cannot clear this now; "" if it can."""

    def clear(self) -> None:
        """Follow motions again, because ~/enable was called."""


class FollowedMotion:
    """The desired motion of a node from activation on, its goal, and the service ~/enable.

    motion : of which `limits` are the soft position limits. position : returns (n,), as measured.
    events : counts what happens to motions.
    action : told how goals end, if there is one. obstacle : what else may forbid motions.
    on_enable : called when ~/enable allows motions.

    Attribute `enabled`: whether ~/enable allows motions.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        motion: DesiredMotion,
        position: Callable[[], Array],
        events: EventCounter,
        *,
        action: TrajectoryAction | None = None,
        inhibitor: MotionInhibitor | None = None,
        on_enable: Callable[[], object] = lambda: None,
    ) -> None:
        self._node, self.motion, self._position, self.events = node, motion, position, events
        self._action, self._inhibitor, self._on_enabled = action, inhibitor, on_enable
        self._goal: TrajectoryGoal | None = None  # of the current motion until that ends
        self.enabled = node.parameters.enable_at_activation
        self._stream_limits: StreamLimits | None = None  # if the node follows streams
        self._delay: Publisher[Float64] | None = None
        node.activation.service(SetBool, "~/enable", self._on_enable)

    @property
    def position(self) -> Array:
        """(n,) of the joints, as measured."""
        return self._position()

    # Beginnings

    def check_may_move(self) -> None:
        """Raise MessageError if the node may not follow motions now."""
        if not self.enabled:
            raise MessageError("not enabled", "motion is disabled by the service ~/enable")
        if self._inhibitor is not None and (why := self._inhibitor.present()):
            raise MessageError("fault", f"{why}; call ~/enable to clear the fault")

    def follow(
        self,
        request: TrajectoryRequest,
        tolerances: GoalTolerances | None = None,
        planned: Planned | None = None,
    ) -> None:
        """Follow a trajectory with points. If it raises MessageError, the current one continues."""
        p = self._node.parameters
        self.check_may_move()
        self.motion.follow(
            request, self.position,
            tolerance=p.start_tolerance, lead=p.splice_lead, shape=p.trajectory_shape,
            planned=planned,
        )  # fmt: skip
        if request.start and (wait := 1e-9 * (request.start - self.motion.time)) > DISTANT:
            self._node.get_logger().warning(
                f"the trajectory begins in {wait:.3g} s, by its stamp; is it that of another clock?"
            )
        self.begin_goal(tolerances)

    def allow_streams(self, limits: StreamLimits) -> None:
        """Follow streams within these limits, and publish their delay."""
        self._stream_limits = limits
        self._delay = self._node.create_publisher(Float64, "~/stream_delay", RELIABLE)
        self._node.activation.callback(self._node.destroy_publisher, self._delay)

    def stream(self, request: TrajectoryRequest) -> None:
        """Follow the points of a message as targets of a stream. If it raises MessageError, the
        motion goes on as before."""
        self.check_may_move()
        assert self._stream_limits is not None
        assert self._delay is not None
        had_begun = self.motion.streamed is not None
        self.motion.stream(
            request, self.position, self._stream_limits,
            tolerance=self._node.parameters.start_tolerance,
        )  # fmt: skip
        assert self.motion.streamed is not None
        self._delay.publish(Float64(data=self.motion.streamed.delay))
        if not had_begun:
            self.end_goal("replaced by a stream")

    def stop(self) -> None:
        """Come to rest."""
        self.motion.stop(self._node.parameters.stop_duration)
        self.begin_goal()

    def hold(self, position: Array, stamp: int) -> None:
        """Hold `position` (n,) from `stamp` (ns) on."""
        self.motion.hold(position, stamp)
        self.warn_outside(position)

    def warn_outside(self, position: Array) -> None:
        """Warn of joints whose `position` (n,) is outside their limits."""
        for k in np.flatnonzero(distance_to_limits(self.motion.limits, position) < 0.0):
            self._node.get_logger().warning(
                f"'{self.motion.joint_names[k]}' is at {position[k]:.4g}, outside its position"
                " limits: it may only move back inside"
            )

    def release(self, why: str) -> None:
        """Drop the motion and its goal."""
        self.end_goal(why)
        self.motion.release()

    # Goals

    @property
    def tolerances(self) -> GoalTolerances:
        """Those of motions that have none of their own."""
        p = self._node.parameters
        return GoalTolerances.of_parameters(
            len(self.motion.joint_names),
            path=p.path_tolerance,
            goal=p.goal_tolerance,
            stopped_velocity=p.stopped_velocity_tolerance,
            goal_time=p.goal_time_tolerance,
        )

    def begin_goal(self, tolerances: GoalTolerances | None = None) -> None:
        """Start to judge the motion or the stop that has just begun."""
        self.end_goal("replaced by another motion")
        tolerances = tolerances or self.tolerances
        self._goal = TrajectoryGoal(self.motion.joint_names, tolerances, self.motion.end)

    def end_goal(self, why: str, code: ErrorCode = ErrorCode.INVALID_GOAL) -> None:
        """End the goal of the current motion, if any."""
        self._goal = None
        if self._action is not None:
            self._action.end(GoalResult(code, why))

    def judge(self, stamp: int, desired: Array, velocity: Array) -> None:
        """Check that the robot follows `desired` (5, n) and arrives; velocity: (n,) measured or
        NaN. stamp: ns, of the measured state."""
        goal, p = self._goal, self._node.parameters
        if goal is None:
            return
        if self._action is not None:
            self._action.report(stamp, desired, self.position, velocity)
        time = stamp + int(SECOND * p.lookahead)
        verdict = goal.judge(time, desired, self.position, velocity)
        if verdict is None:
            return
        if verdict.code == ErrorCode.PATH_TOLERANCE_VIOLATED:
            self._node.get_logger().error(f"{verdict.text}: stopping")
            self.events.add("path tolerance", verdict.text)
            self.motion.stop(p.stop_duration)
        elif verdict.code == ErrorCode.GOAL_TOLERANCE_VIOLATED:
            self._node.get_logger().error(verdict.text)
            self.events.add("goal tolerance", verdict.text)
        self.end_goal(verdict.text, verdict.code)

    # Diagnostics

    def status(self, text: str, more: Mapping[str, object]) -> Status:
        """What is followed, and what has happened to motions, with more values."""
        _, values = self.events.report()
        topics = self._node.parameters.stream_topics
        values["topics of streams"] = ", ".join(topics) or "none: every message is a trajectory"
        if (streamed := self.motion.streamed) is not None:
            values |= {
                "follows": "a stream",
                "stream: interval [s]": streamed.interval,
                "stream: delay [s]": streamed.delay,
                "stream: messages": streamed.counts.messages,
                "stream: points without room or out of order": streamed.counts.points_refused,
            }
        if self.motion.is_active:
            error = np.abs(self.motion.desired[0] - self.position)
            k = int(error.argmax())
            values["largest tracking error"] = float(error[k])
            values["joint with the largest error"] = self.motion.joint_names[k]
        return Status("reference", OK, text, values | {"enabled": self.enabled} | more)

    # The service

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        inhibitor = self._inhibitor if request.data else None
        is_blocked = inhibitor is not None and bool(inhibitor.present())
        if is_blocked and (refusal := inhibitor.refusal()):
            response.success, response.message = False, refusal
            return response
        if self.motion.is_active and not request.data:
            self.motion.stop(self._node.parameters.stop_duration)
            self.end_goal("motion is disabled by the service ~/enable")
        self.enabled = request.data
        if request.data:
            self._on_enabled()
        response.success = True
        response.message = "following trajectories" if request.data else "stopping, then holding"
        self._node.get_logger().info(response.message, throttle_duration_sec=1.0)
        if is_blocked:
            inhibitor.clear()
        return response
