# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A pose from the command line moves the tool of a simulated robot, or the node says why not."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from trajectory_msgs.msg import JointTrajectory

from multibody_dynamics.dynamics.lie import se3
from multibody_dynamics.nodes.base.pose_messages import pose_message, read_pose
from ros_harness import FIRST_START, NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "multibody_dynamics"]
ARM = ("--urdf", "config/robots/planar_two_link.urdf", "--tool", "tip", "--components", "x z",
       "--elastic-joints", "config/elastic_joints/planar_two_link.yaml",
       "--plant", "internal", "--initial-positions", "0.5,0.8",
       "--use-sim-time", "true", "--log-level", "error")  # fmt: skip


@pytest.fixture
def arm(ros: RosHarness, tmp_path: Path) -> Iterator[None]:
    """The simulated arm and its node, in lockstep: a busy computer delays no states. The node logs
    no warnings, so a rejection has its reason from the diagnostics alone."""
    words = [*COMMAND, "loop", "task-space", *ARM, "--namespace", NAMESPACE, "--logs", tmp_path]
    process = subprocess.Popen(words, cwd=ROOT, env=ros.environment, stdout=subprocess.DEVNULL)
    try:
        commands = ros.record(JointTrajectory, "task_space_node/motor_command")
        ros.until(lambda: commands, "commands", patience=FIRST_START)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def send(ros: RosHarness, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "send-pose", *words]
    return subprocess.run(command, cwd=ROOT, env=ros.environment, capture_output=True, text=True)


@pytest.mark.usefixtures("arm")
def test_a_pose_in_the_frame_of_the_tool_is_accepted_or_rejected_with_the_reason(ros):
    motions = ros.record(JointTrajectory, "joint_trajectory")
    where = ("--frame", "tip", "--namespace", NAMESPACE, "--timeout", "300")
    found = send(ros, "0.03", "0", "-0.02", *where)
    assert found.stdout == "target_pose accepted: the tool moves\n", found.stderr
    assert found.returncode == 0
    ros.until(lambda: motions, "a motion")
    far = send(ros, "9", "0", "0", *where)
    assert far.returncode == 1
    assert "rejected target_pose: " in far.stderr
    assert "pose 1 of 1" in far.stderr
    assert len(motions) == 1


def test_without_a_node_the_topic_is_named(ros):
    found = send(ros, "0", "0", "0", "--frame", "tip", "--namespace", "nobody", "--timeout", "0.5")
    assert found.returncode == 1
    assert "no node listens on /nobody/target_pose within 0.5 s" in found.stderr
    assert "--timeout" in found.stderr
    assert "compiles" in found.stderr


def test_each_node_on_the_topic_has_counts_of_its_own(ros):
    """Two nodes that have counted poses of others before; one of them answers, or none."""
    before = {"a": {"target_pose: wrong frame": "3"}, "b": {"target_pose accepted": "1"}}
    says = {
        "target_pose accepted: the tool moves": {"b": {"target_pose accepted": "2"}},
        "rejected target_pose: no such frame": {
            "a": {"target_pose: wrong frame": "4", "last rejected target_pose": "no such frame"}
        },
        "its reason is in the log of test/b": {"b": {"target_pose: too far": "1"}},
        "the node plans, without an answer": {},
    }
    reported: dict[str, dict[str, str]] = {}
    answer: dict[str, dict[str, str]] = {}
    diagnostics = ros.peer.create_publisher(DiagnosticArray, "/diagnostics", 10)
    nodes = [rclpy.create_node(name, namespace=NAMESPACE, context=ros.context) for name in before]
    for node in nodes:
        ros.executor.add_node(node)
        node.create_subscription(PoseStamped, "target_pose", lambda _: reported.update(answer), 10)

    def report() -> None:
        for node, counts in reported.items():
            values = [KeyValue(key=key, value=value) for key, value in counts.items()]
            status = DiagnosticStatus(name=f"test/{node}: inputs", values=values)
            diagnostics.publish(DiagnosticArray(status=[status]))

    def sender_says() -> str:
        reported.update(before)
        words = ["0", "0", "0", "--frame", "tip", "--namespace", NAMESPACE]
        words += ["--timeout", "60" if answer else "10"]
        sender = subprocess.Popen(
            [*COMMAND, "send-pose", *words], cwd=ROOT, env=ros.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        ros.until(
            lambda: sender.poll() is not None, "the end", report, patience=FIRST_START, every=0.05
        )
        return sender.communicate()[0]

    for text, given in says.items():
        answer.clear()
        answer.update(given)
        assert text in sender_says()
    for node in nodes:
        ros.executor.remove_node(node)
        node.destroy_node()


def test_a_pose_survives_its_message():
    pose = se3.exp([0.3, -0.2, 2.9, 0.1, 0.2, 0.3])
    message = pose_message(pose, "tip")
    assert message.header.frame_id == "tip"
    np.testing.assert_allclose(read_pose(message.pose), pose, atol=1e-14)
