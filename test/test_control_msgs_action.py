# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The action follow_joint_trajectory over the real middleware.

Requires control_msgs, which is not on PyPI: collected only where it is installed, see conftest.py.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.action import ActionClient
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from feedforward_arm import NAMES, Q0, Arm, settings
from flatness_arm import NODE
from flatness_arm import Arm as FlatnessArm
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

Result = FollowJointTrajectory.Result
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6  # of action_msgs/msg/GoalStatus
GOAL = Q0 + np.array([0.3, -0.2, 0.25])


class Client:
    """Sends goals to the node while the arm keeps publishing joint states."""

    def __init__(self, ros: RosHarness, arm: Any, node: str = "feedforward_node") -> None:
        self.ros, self.arm = ros, arm
        self._client = ActionClient(
            ros.peer, FollowJointTrajectory, f"{node}/follow_joint_trajectory"
        )
        self.feedback: list[Any] = []

    def send(self, position: Any = GOAL, time: float = 0.4, **fields: Any) -> Any:
        """Send a goal of one point with these fields; return its handle once it is accepted."""
        names = fields.pop("names", NAMES)
        stamp = fields.pop("stamp", 0)
        goal = FollowJointTrajectory.Goal(**fields)
        goal.trajectory = JointTrajectory(joint_names=list(names))
        set_stamp(goal.trajectory.header.stamp, stamp)
        if position is not None:
            point = JointTrajectoryPoint(positions=[float(x) for x in position])
            set_stamp(point.time_from_start, round(SECOND * time))
            goal.trajectory.points = [point]
        self._drive(self._client.server_is_ready, "the action")
        sent = self._client.send_goal_async(goal, lambda m: self.feedback.append(m.feedback))
        self._drive(sent.done, "the goal's acceptance")
        assert sent.result().accepted
        return sent.result()

    def outcome(self, handle: Any) -> tuple[int, int, str]:
        """Status, error code and error text with which a goal ended."""
        answer = handle.get_result_async()
        self._drive(answer.done, "the goal's end")
        result = answer.result().result
        return answer.result().status, result.error_code, result.error_string

    def cancel(self, handle: Any) -> int:
        """Cancel a goal; return how many goals the node cancels."""
        answer = handle.cancel_goal_async()
        self._drive(answer.done, "an answer to the cancellation")
        return len(answer.result().goals_canceling)

    def _drive(self, condition: Any, what: str) -> None:
        self.arm.drive(condition, what)


def client(ros: RosHarness, folder: Any, **changes: Any) -> Client:
    node = ros.start("feedforward_node", settings(folder, **changes))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    made = Client(ros, arm)
    made.node = node
    return made


def seconds(time: float) -> Duration:
    return Duration(sec=int(time), nanosec=round(1e9 * (time % 1)))


def near(position: float) -> list[JointTolerance]:
    return [JointTolerance(name=name, position=position) for name in NAMES]


def processor_time(node: Any) -> float:
    """Processor time that the node has used so far, s."""
    fields = Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def speed(arm: Arm) -> float:
    return float(np.abs(arm.motor[-1].points[0].velocities).max())


def test_invalid_goals_are_rejected_with_the_reason(ros, tmp_path):
    action = client(ros, tmp_path)
    old = nanoseconds(ros.peer.get_clock().now().to_msg()) - 10 * SECOND
    wrong = {
        "unknown joint 'knee'; expected": (Result.INVALID_JOINTS, {"names": (*NAMES[:2], "knee")}),
        "missing joint 'shoulder', 'elbow'": (Result.INVALID_JOINTS, {"names": NAMES[:1]}),
        "goal_tolerance: 'knee' is not": (
            Result.INVALID_JOINTS,
            {"goal_tolerance": [JointTolerance(name="knee")]},
        ),
        "position of 'turret' is -2": (Result.INVALID_GOAL, {"path_tolerance": near(-2.0)}),
        "the last point was due": (Result.OLD_HEADER_TIMESTAMP, {"stamp": old}),
        "no points": (Result.INVALID_GOAL, {"position": None}),
        "shoulder: position 9, limit": (
            Result.INVALID_GOAL,
            {"position": (0.0, 9.0, 0.0), "time": 20.0},
        ),
    }
    for text, (code, fields) in wrong.items():
        status, found, why = action.outcome(action.send(**fields))
        assert (status, found) == (ABORTED, code)
        assert text in why
    assert speed(action.arm) == 0.0


def test_a_goal_is_reached_with_feedback_on_the_way_or_missed(ros, tmp_path):
    action = client(ros, tmp_path)
    arm = action.arm
    handle = action.send(goal_tolerance=near(0.05), goal_time_tolerance=seconds(5.0))
    arm.drive(lambda: len(action.feedback) > 4, "feedback")
    arm.position[:] = GOAL  # the robot arrives early
    assert action.outcome(handle) == (SUCCEEDED, Result.SUCCESSFUL, "goal reached")
    moved = set()
    for feedback in action.feedback:
        assert feedback.joint_names == list(NAMES)
        desired, actual, error = feedback.desired, feedback.actual, feedback.error
        np.testing.assert_array_equal(
            error.positions, np.array(desired.positions) - actual.positions
        )
        assert len(desired.accelerations) == 3
        assert not len(actual.velocities)  # not measured
        moved.add(desired.positions[0])
    assert len(moved) > 4
    stamps = np.array([nanoseconds(feedback.header.stamp) for feedback in action.feedback])
    assert np.diff(stamps).min() >= 0.05 * SECOND  # at most 20 per second

    arm.position[:] = Q0
    handle = action.send(Q0, goal_tolerance=near(0.05), goal_time_tolerance=seconds(0.2))
    arm.position[:] = GOAL
    status, code, text = action.outcome(handle)
    assert (status, code) == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert text.startswith("'turret' is 0.3 from the goal; allowed: 0.05; the last point was")

    handle = action.send(Q0, time=2.0, path_tolerance=near(0.1))
    status, code, text = action.outcome(handle)
    assert (status, code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert "from the motion; allowed: 0.1" in text
    arm.drive(lambda: speed(arm) == 0.0, "the stop")


def test_a_goal_ends_with_its_motion_for_every_reason(ros, tmp_path):
    action = client(ros, tmp_path, stop_duration=0.2, state_timeout=0.5)
    arm = action.arm

    def begin() -> Any:
        handle = action.send(GOAL, time=10.0)
        arm.drive(lambda: speed(arm) > 0.0, "motion")
        return handle

    handle = begin()
    assert action.cancel(handle) == 1
    assert action.outcome(handle)[0] == CANCELED
    arm.drive(lambda: speed(arm) == 0.0, "the stop")
    assert action.cancel(handle) == 0  # already over

    first = begin()
    second = begin()
    assert action.outcome(first)[:2] == (ABORTED, Result.INVALID_GOAL)
    arm.move()
    assert action.outcome(second) == (ABORTED, Result.INVALID_GOAL, "replaced by another motion")
    arm.drive(lambda: speed(arm) == 0.0, "the stop")

    def enable(value: bool) -> None:
        ros.call(SetBool, "feedforward_node/enable", SetBool.Request(data=value))

    handle = begin()
    enable(False)
    assert "motion is disabled" in action.outcome(handle)[2]
    assert "motion is disabled" in action.outcome(action.send())[2]
    arm.drive(lambda: speed(arm) == 0.0, "the stop")
    enable(True)

    handle = begin()
    answer = handle.get_result_async()
    used = processor_time(action.node)
    ros.until(answer.done, "the end of the goal")  # without joint states
    assert processor_time(action.node) - used < 0.25  # of 0.5 s: a waiting goal is idle
    assert answer.result().result.error_string.startswith("no complete joint state for")

    count = len(arm.motor)
    arm.drive(lambda: len(arm.motor) > count + 5, "torques again")
    handle = begin()
    assert ros.transition(action.node, "deactivate")
    assert "deactivated" in action.outcome(handle)[2]
    assert "not active" in action.outcome(action.send())[2]

    assert ros.transition(action.node, "activate")
    count = len(arm.motor)
    arm.drive(lambda: len(arm.motor) > count, "torques again")
    answer = begin().get_result_async()
    assert ros.transition(action.node, "shut down active")
    ros.until(answer.done, "the result")
    assert "deactivated" in answer.result().result.error_string


def test_the_controller_judges_by_its_estimate_and_a_fault_ends_the_goal(ros):
    arm = FlatnessArm(ros, tracking_tolerance=0.1)
    arm.start()
    arm.drive = lambda condition, what: ros.until(condition, what, each=arm.step)
    action = Client(ros, arm, NODE)
    names = arm.model.joint_names
    wanted = [JointTolerance(name=name, position=0.01, velocity=0.02) for name in names]
    handle = action.send((0.1, -0.2), time=1.0, names=names, goal_tolerance=wanted)
    assert action.outcome(handle) == (SUCCEEDED, Result.SUCCESSFUL, "goal reached")
    np.testing.assert_allclose(arm.plant.q, (0.1, -0.2), atol=0.01)
    assert np.abs(arm.plant.qd).max() < 0.03
    assert all(len(feedback.actual.velocities) == 2 for feedback in action.feedback)

    handle = action.send((0.6, -0.6), names=names, time=1.0)
    arm.is_stuck = True
    status, code, text = action.outcome(handle)
    assert (status, code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert text.startswith("tracking error: '")
    text = action.outcome(action.send((0.1, 0.1), names=names))[2]
    assert "call ~/enable to clear the fault" in text
