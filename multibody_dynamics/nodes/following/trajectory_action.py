# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The action ~/follow_joint_trajectory, as served by joint_trajectory_controller, for clients that
send a motion and wait for its result, such as MoveIt. Requires control_msgs.

trajectory_goal.py and the node decide which goals are acceptable and how they end; this module
takes care of the action's goal handles and messages.
"""

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from trajectory_msgs.msg import JointTrajectoryPoint

from ...dynamics.core import Array
from ..base.messages import SECOND, MessageError, set_stamp
from ..base.runtime import ManagedNode
from .trajectory_goal import REFUSALS, ErrorCode, GoalResult

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

NAME = "~/follow_joint_trajectory"


class _Server(ActionServer):
    """An action server whose goals are executed by the control cycle, with immediate results.

    rclpy runs a coroutine for each goal. EventsExecutor polls waiting coroutines continuously,
    which keeps a processor busy, and never runs the coroutine of a goal that ends with the node.
    """

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Run nothing; the control cycle executes the goal."""

    def send_result(self, goal_handle: Any, result: Any) -> None:
        """Send the result to present and future requests for it."""
        kind = self.action_type.Impl.GetResultService.Response
        future = self._result_futures[bytes(goal_handle.goal_id.uuid)]
        future._set_executor(None)  # the executor would wait until its next turn
        future.set_result(kind(status=goal_handle.status, result=result))


class TrajectoryAction:
    """Serves one goal at a time, from the first activation of a node until it is cleaned up.

    Every goal is accepted; if it is invalid, its result states the reason. The parameter
    action_monitor_rate is the rate of the feedback; if it is 0, the action is not served.
    """

    def __init__(self, node: ManagedNode[Any], joint_names: Sequence[str]) -> None:
        self._node, self._joint_names = node, list(joint_names)
        self._rate = node.parameters.action_monitor_rate
        self._reported = 0  # ns, stamp of the last feedback
        self._handle: Any = None  # of the current goal
        self._server: _Server | None = None

    def serve(self, follow: Callable[[Any], None], stop: Callable[[], None]) -> None:
        """Answer goals: while the node is inactive, too, since clients wait for an answer.

        follow: starts the motion of a new goal, which ends the current goal, or raises
        MessageError. stop: brings the motion to rest.
        """
        self._follow, self._stop = follow, stop
        if self._server is not None or not self._rate:
            return
        if FollowJointTrajectory is None:
            self._node.get_logger().info(
                "control_msgs is not installed: the action follow_joint_trajectory is not served;"
                " use the topic joint_trajectory"
            )
            return
        self._server = _Server(
            self._node,
            FollowJointTrajectory,
            NAME,
            execute_callback=FollowJointTrajectory.Result,  # never called, see _Server
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )
        self._node.configuration.callback(self._server.destroy)

    def report(self, stamp: int, desired: Array, position: Array, velocity: Array) -> None:
        """Publish feedback if due: desired (5, n) and measured (n,), for a state's stamp (ns)."""
        if self._handle is None or (stamp - self._reported) * self._rate < SECOND:
            return
        self._reported = stamp
        feedback = FollowJointTrajectory.Feedback(
            joint_names=self._joint_names,
            desired=_point(*desired[:3]),
            actual=_point(position, velocity),
            error=_point(desired[0] - position, desired[1] - velocity),
        )
        set_stamp(feedback.header.stamp, stamp)
        self._handle.publish_feedback(feedback)

    def end(self, verdict: GoalResult) -> None:
        """End the current goal, if any."""
        handle, self._handle = self._handle, None
        if handle is not None:
            reached = verdict.code == ErrorCode.SUCCESSFUL
            self._finish(handle, handle.succeed if reached else handle.abort, verdict)

    def _on_accepted(self, handle: Any) -> None:
        handle.execute()
        goal = handle.request
        try:
            if goal.multi_dof_trajectory.points:
                raise MessageError(
                    "multi_dof", "multi_dof_trajectory: the robot has no multi-DOF joints"
                )
            if not goal.trajectory.points:
                raise MessageError("empty", "no points; to stop a motion, cancel its goal")
            self._follow(goal)
        except MessageError as error:
            code = REFUSALS.get(error.reason, ErrorCode.INVALID_GOAL)
            self._finish(handle, handle.abort, GoalResult(code, str(error)))
        else:
            self._handle, self._reported = handle, 0

    def _on_cancel(self, handle: Any) -> CancelResponse:
        if handle is not self._handle:
            return CancelResponse.REJECT  # it has already ended
        self._handle = None
        self._stop()
        verdict = GoalResult(ErrorCode.SUCCESSFUL, "cancelled: stopping")
        # The goal can end as canceled only after this callback has returned.
        self._node.defer(lambda: self._finish(handle, handle.canceled, verdict))
        return CancelResponse.ACCEPT

    def _finish(self, handle: Any, conclude: Callable[[], None], verdict: GoalResult) -> None:
        conclude()
        code, text = verdict
        result = FollowJointTrajectory.Result(error_code=int(code), error_string=text)
        self._server.send_result(handle, result)


def _point(*rows: Array) -> JointTrajectoryPoint:
    """A point with those rows (positions, velocities, accelerations; (n,)) that are known."""
    fields = ("positions", "velocities", "accelerations")
    known = {
        field: row.tolist()
        for field, row in zip(fields, rows, strict=False)
        if not (row != row).any()  # NaN: not measured
    }
    return JointTrajectoryPoint(**known)
