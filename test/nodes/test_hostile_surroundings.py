# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Faults around a controller on the real middleware: no processor time, other robots, floods of
messages, no permissions, folders that cannot be written. As in test_fault_injection.py, a separate
process judges every torque."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flatness_arm import NODE, STEP, trajectory
from judged_arm import JudgedArm
from multibody_dynamics.nodes.base.messages import SECOND, set_stamp
from multibody_dynamics.resources import share_directory
from permissions import without_real_time
from ros_harness import FIRST_START, ros

__all__ = ["ros"]  # the fixture

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BUSY = 20  # programs on the controller's only processor
POINTS = 100_000
ROBOT = (share_directory() / "config" / "robots" / "planar_two_link.urdf").read_text()


@contextmanager
def busy_processor(number: int) -> Iterator[None]:
    """Programs that compute without end on one processor."""
    words = ["/bin/sh", "-c", "while :; do :; done"]
    started = []
    try:
        for _ in range(BUSY):
            started.append(subprocess.Popen(words))
            os.sched_setaffinity(started[-1].pid, {number})
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def test_a_controller_without_processor_time_stops_the_arm_and_recovers(ros, tmp_path):
    """It shares one processor with 20 busy programs, while the arm does not wait for it."""
    last = max(os.sched_getaffinity(0))
    arm = JudgedArm(ros, tmp_path, processors=[last])
    assert f"running with processors {last}" in arm.node.output
    arm.move(arm.plant.q + 0.3, 1.0)
    arm.run(0.3)
    steps, count = 0, len(arm.answers)

    def starved() -> None:
        nonlocal steps
        steps += 1
        arm.tick()
        arm.send_links()
        arm.send_motors()
        arm.silent = 0 if arm.wait(0.002) else arm.silent + 1
        arm.engage_brakes_if_silent()
        arm.plant.step(arm.torque, 1e-9 * STEP)

    with busy_processor(last):
        ros.until(lambda: "stopping" in arm.node.output and steps > 200, "the stop", each=starved)
    assert len(arm.answers) - count < steps  # it had too little time
    arm.recover()
    arm.until_at_rest(0.02)  # the fault is over before the stop is: it follows again at rest
    here = arm.plant.q.copy()
    arm.run(0.2)
    assert np.abs(arm.plant.q - here).max() < 0.01
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert "Traceback" not in arm.node.output


def test_a_joint_that_disappears_from_the_states_stops_the_arm(ros, tmp_path):
    arm = JudgedArm(ros, tmp_path)
    arm.move(arm.plant.q + 0.2, 1.0)
    arm.run(0.3)

    def without_the_elbow(patience: float = 0.01) -> None:
        r = arm.plant
        arm.tick()
        arm.send(arm.links, ("shoulder",), (r.q[:1], r.qd[:1], r.joint_torque[:1]))
        arm.send_motors()
        arm.wait(patience)
        r.step(arm.torque, 1e-9 * STEP)

    arm.until_says("link states missing", without_the_elbow)
    for _ in range(400):
        without_the_elbow(patience=0.1)  # now, every state of the motors is answered
    assert np.abs(arm.plant.qd).max() < 0.05
    arm.recover()
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert verdict["safe_outputs"] == []


def test_another_robot_description_while_active_changes_nothing_until_the_node_is_configured(
    ros, tmp_path
):
    topic = ros.publisher(String, "robot_description", readers=0, qos=LATCHED)
    topic.publish(String(data=ROBOT))
    arm = JudgedArm(ros, tmp_path, robot_file="", records=["errors"])
    note = "received a new robot_description; it takes effect when the node is next configured"
    begin = len(arm.answers)
    arm.move(arm.plant.q + 0.2, 1.0)
    others = ("<robot", "", ROBOT.replace('name="elbow"', 'name="knee"'))
    for number, text in enumerate(others, 1):
        topic.publish(String(data=text))
        arm.until_shown(lambda n=number: arm.node.output.count(note) >= n, "the note")
        arm.run(0.1)
    arm.run(0.8)
    assert len(arm.answers) - begin > 500
    assert arm.error(10) < 1e-3
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert verdict["safe_outputs"] == []

    # From here on without the arm: what was received last is not the robot of the springs.
    assert ros.transition(arm.node, "deactivate")
    assert ros.transition(arm.node, "cleanup")
    assert not ros.transition(arm.node, "configure")
    assert "knee" in arm.node.output
    topic.publish(String(data=ROBOT))
    ros.until(lambda: ros.state(arm.node) == "active", "the start")
    assert "Traceback" not in arm.node.output


def test_a_late_robot_description_that_is_invalid_ends_a_node_that_starts_by_itself(ros):
    settings = {"autostart": True, "elastic_joints_file": "", "robot_file": ""}
    node = ros.start("feedforward_node", settings)
    ros.until(lambda: "waiting for a robot_description" in node.output, "the wait")
    topic = ros.publisher(String, "robot_description", qos=LATCHED)
    topic.publish(String(data="<robot name='x'><link/></robot>"))
    assert ros.exit_of(node, patience=FIRST_START) == 1
    assert "cannot configure: " in node.output
    assert "autostart failed" in node.output
    assert "Traceback" not in node.output


def test_a_trajectory_of_100000_points_does_not_hold_up_the_cycle(ros, tmp_path):
    arm = JudgedArm(ros, tmp_path)
    here = arm.plant.q.copy()
    t = 0.01 * np.arange(1, POINTS + 1)
    rows = here + 0.1 * np.sin(0.05 * t)[:, None]
    points = dict(zip(t, rows.tolist(), strict=True))
    arm.trajectory.publish(trajectory(arm.model.joint_names, points))

    def answered() -> None:
        assert arm.step()

    moving = lambda: ros.diagnosis(": reference")[1] == "moving"  # noqa: E731
    ros.until(moving, "the motion", each=answered, patience=FIRST_START, every=0.02)
    for _ in range(100):
        answered()
    arm.trajectory.publish(JointTrajectory())
    arm.until(lambda: ros.diagnosis(": reference")[1] == "holding", "the stop")
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert verdict["old_answers"] == 0
    assert verdict["safe_outputs"] == []


def test_torque_rates_hold_with_motor_encoders_after_lost_states_and_after_an_absurd_wrench(
    ros, tmp_path
):
    arm = JudgedArm(
        ros, tmp_path, state_source="motor_encoders", law="state_feedback", state_speed_factor=0.0
    )
    arm.move(arm.plant.q + 0.3, 1.0)
    arm.run(0.4)
    arm.run(0.1, links=False, motors=False)
    arm.recover()
    contact = ros.publisher(WrenchStamped, "external_wrench")
    wrench = WrenchStamped()
    wrench.header.frame_id = arm.model.body_names[-1]
    for value in (5000.0, 1e8, 1e308):
        wrench.wrench.force.x = wrench.wrench.torque.y = value

        def touched() -> None:
            set_stamp(wrench.header.stamp, arm.now)
            contact.publish(wrench)
            arm.step()

        for _ in range(30):
            touched()
    arm.run(0.3)
    verdict = arm.verdict()
    assert verdict["violations"] == {}
    assert "Traceback" not in arm.node.output


def test_repeated_faults_and_requests_are_logged_once_a_second(ros, tmp_path):
    arm = JudgedArm(ros, tmp_path)
    points = [JointTrajectoryPoint(positions=[0.0])]
    unknown_joint = JointTrajectory(joint_names=["knee"], points=points)
    begin = time.monotonic()
    before = arm.node.output
    for k in range(60):
        arm.now += (-1) ** k * 20 * SECOND  # the clock jumps ahead and back
        arm.step()
        request = SetBool.Request(data=bool(k % 2))
        ros.call(SetBool, f"{NODE}/enable", request)
        arm.send(arm.links, ("shoulder",), ([np.nan], [0.0], [0.0]))
        arm.trajectory.publish(unknown_joint)
        arm.step()
    arm.run(0.1)
    most = time.monotonic() - begin + 2.0
    output = arm.node.output.removeprefix(before)
    for texts in (
        ("resetting reference, filters and statistics",),
        ("stopping, then holding", "following trajectories"),
        ("rejected joint_states",),
        ("rejected joint_trajectory",),
    ):
        assert 1 <= sum(output.count(text) for text in texts) <= most, texts
    assert "Traceback" not in output


@pytest.mark.parametrize("places", [{"ROS_LOG_DIR": "/proc/logs"}, {"HOME": "/proc/home"}])
def test_a_log_folder_that_cannot_be_written_is_named_with_what_to_set(ros, places):
    places = {"ROS_LOG_DIR": "", "ROS_HOME": "", **places}
    node = ros.start("feedforward_node", {}, variables=places, before=without_real_time)
    assert ros.exit_of(node, patience=FIRST_START) == 1
    assert "set ROS_LOG_DIR to a folder that can be written" in node.output
    assert "Traceback" not in node.output
    assert len(node.output.splitlines()) <= 2
