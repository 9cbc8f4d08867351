# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""`record` with real publishers: nothing is lost, or it is counted."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from multibody_dynamics.tools.base.subscriptions import QUEUE
from multibody_dynamics.validation.recordings.bags import Bag
from ros_harness import NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture

RELIABLE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)


class Recording:
    """The command in a process of its own."""

    def __init__(self, ros: RosHarness, bag: Path, *arguments: str) -> None:
        self.ros, self.bag = ros, bag
        command = [sys.executable, "-m", "multibody_dynamics", "record", *arguments]
        self.process = subprocess.Popen(
            [*command, "-o", str(bag), "--namespace", NAMESPACE, "--timeout", "60"],
            env=ros.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def end(self, number: signal.Signals = signal.SIGINT) -> str:
        """End the recording as Ctrl-C does; returns what it printed."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[0]


def state(k):
    message = JointState(name=["a", "b"], position=[0.001 * k, 1.0])
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(k * 1_000_000, 1_000_000_000)
    return message


def content(bag):
    with Reader(bag) as reader:
        topics = {name: each.msgcount for name, each in reader.topics.items()}
        return topics, [(each.topic, raw) for each, _, raw in reader.messages()]


def test_everything_is_recorded(ros, tmp_path):
    latched = ros.peer.create_publisher(String, "robot_description", LATCHED)
    latched.publish(String(data="<robot/>"))  # before the recording
    recording = Recording(ros, tmp_path / "bag")
    states = ros.publisher(JointState, "joint_states", qos=RELIABLE)
    commands = ros.publisher(Float64MultiArray, "controller/commands", qos=BEST_EFFORT)
    other = ros.peer.create_publisher(String, "not_named", RELIABLE)
    for k in range(500):
        states.publish(state(k))
        commands.publish(Float64MultiArray(data=[float(k)]))
        other.publish(String())
        ros.spin(0.001)
    ros.spin(1.0)
    printed = recording.end()
    assert recording.process.returncode == 0, printed
    topics, messages = content(tmp_path / "bag")
    names = [f"{NAMESPACE}/{n}" for n in ("controller/commands", "joint_states")]
    assert topics == dict.fromkeys(names, 500) | {f"{NAMESPACE}/robot_description": 1}
    assert len(messages) == 1001
    (samples,) = Bag(tmp_path / "bag").read([f"{NAMESPACE}/joint_states"])
    assert samples.rows[:, 0, 0].tolist() == [0.001 * k for k in range(500)]
    assert printed.splitlines()[-1].endswith("none lost")
    file = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())
    information = file["rosbag2_bagfile_information"]
    policies = {
        each["topic_metadata"]["name"].rpartition("/")[2]: each["topic_metadata"][
            "offered_qos_profiles"
        ][0]
        for each in information["topics_with_message_count"]
    }
    assert policies["commands"]["reliability"] == "best_effort"
    assert policies["joint_states"]["reliability"] == "reliable"
    assert policies["robot_description"]["durability"] == "transient_local"


def test_losses_are_counted(ros, tmp_path):
    """A recorder that the computer stops for a while misses what its queue cannot hold."""
    recording = Recording(ros, tmp_path / "bag", "states", "absent")
    publisher = ros.publisher(JointState, "states", qos=BEST_EFFORT)
    publisher.publish(state(0))
    ros.until(lambda: (tmp_path / "bag").exists(), "the bag")
    ros.spin(0.5)
    recording.process.send_signal(signal.SIGSTOP)
    count = 3 * QUEUE.depth
    for k in range(1, count):
        publisher.publish(state(k))
        if k % 20 == 0:
            time.sleep(0.001)
    recording.process.send_signal(signal.SIGCONT)
    ros.spin(1.0)
    publisher.publish(state(count))
    ros.spin(1.0)
    printed = recording.end()
    assert recording.process.returncode == 1
    topics, _ = content(tmp_path / "bag")
    recorded = topics[f"{NAMESPACE}/states"]
    assert recorded < count
    assert f"LOST: {count + 1 - recorded} not received" in printed
    assert f"{NAMESPACE}/absent: no publisher" in printed


def test_duration_and_all(ros, tmp_path):
    recording = Recording(ros, tmp_path / "bag", "--all", "--duration", "0.5")
    of_another_robot = ros.peer.create_publisher(String, "/another_robot/anything", RELIABLE)
    publisher = ros.publisher(String, "anything", qos=RELIABLE)

    def publish():
        of_another_robot.publish(String(data="x"))
        publisher.publish(String(data="x"))

    ros.until(lambda: recording.process.poll() is not None, "the end", each=publish, patience=60.0)
    assert recording.process.returncode == 0
    topics, _ = content(tmp_path / "bag")
    assert topics[f"{NAMESPACE}/anything"] > 0
    assert all(name.startswith(f"{NAMESPACE}/") for name in topics)


def test_nothing_to_record(ros, tmp_path):
    recording = Recording(ros, tmp_path / "bag", "absent")
    ros.until((tmp_path / "bag").exists, "the bag")
    ros.spin(0.3)
    printed = recording.end(signal.SIGTERM)
    assert recording.process.returncode == 1
    assert "no message was recorded" in printed
    assert (tmp_path / "bag" / "metadata.yaml").exists()
