"""The live table: rates by stamps, margins by the robot's limits, ages by the clock."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.tools.monitor import TORQUES, Monitor, Topic, find_torques
from multibody_dynamics.tools.processes import DemoError
from robots import PANDA, panda
from ros_harness import NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture


def row(monitor: Monitor, joint: str) -> list[str]:
    (line,) = (line for line in monitor.lines() if line.startswith(joint))
    return line.split()


def test_rates_and_margins():
    monitor = Monitor(panda())
    monitor.add_torques(["panda_joint2", "panda_joint1"], [80.0, 1.0], 10.0)
    monitor.add_torques(["panda_joint1", "panda_joint2"], [3.0, -43.5], 10.5)
    monitor.add_positions(["panda_joint1", "panda_joint4"], [2.8, -1.0])
    joint, torque, peak, rate, limit, left, position, room, *mark = row(monitor, "panda_joint1")
    assert (joint, torque, peak, rate, limit) == ("panda_joint1", "3", "3", "4", "87")
    assert left == "96.55%"
    assert (position, room) == ("2.8", "0.0973")
    assert not mark
    assert row(monitor, "panda_joint2")[1:6] == ["-43.5", "80", "-247", "87", "50%"]
    assert row(monitor, "panda_joint3")[1:4] == ["-", "-", "-"]


def test_what_is_near_its_limit_is_marked():
    monitor = Monitor(panda())
    monitor.add_torques(["panda_joint1"], [86.0], 0.0)
    monitor.add_positions(["panda_joint4"], [-0.07])
    assert row(monitor, "panda_joint1")[-1] == "!"
    assert row(monitor, "panda_joint4")[-1] == "!"
    assert row(monitor, "panda_joint5")[-1] != "!"


def test_without_a_robot_the_joints_are_those_that_came():
    monitor = Monitor()
    monitor.add_torques(["a"], [2.0], 1.0)
    monitor.add_torques(["a"], [3.0], 1.0)  # the same stamp: no rate
    assert row(monitor, "a")[:4] == ["a", "3", "3", "-"]


def test_periods_and_ages():
    topic = Topic("torque", 0.2)
    assert "nothing yet" in topic.line(0.0)
    for k in range(5):
        topic.add(0.01 * k)
    assert "every    10.00 ms, at most 10.00" in topic.line(0.05)
    assert "STALE" not in topic.line(0.05)
    assert "STALE" in topic.line(1.0)


def test_over_ros(ros: RosHarness):
    command = [sys.executable, "-m", "multibody_dynamics", "monitor", "--once", "--timeout", "30"]
    command += ["--urdf", PANDA, "--torques", "some/torque", "--namespace", NAMESPACE]
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=ros.environment,
    )
    torques = ros.publisher(JointState, "some/torque")
    states = ros.publisher(JointState, "joint_states")
    message = JointState(name=["panda_joint3"], position=[0.5], effort=[12.0])

    def finished() -> bool:
        torques.publish(message)
        states.publish(message)
        return process.poll() is not None

    ros.until(finished, "the table")
    said, _ = process.communicate()
    assert process.returncode == 0
    assert any(line.split()[:2] == ["panda_joint3", "12"] for line in said.splitlines())
    assert "some/torque" in said


@pytest.mark.parametrize("there", TORQUES)
def test_it_looks_for_the_torques_that_someone_publishes(there):
    coming: list[str] = []

    def spin() -> None:
        coming.append(there)

    assert find_torques(coming.count, spin, time.monotonic() + 10.0) == there


def test_it_names_the_topics_where_nobody_publishes_torques():
    with pytest.raises(DemoError, match=r"feedforward_node/torque; .*--torques"):
        find_torques(lambda topic: 0, lambda: None, time.monotonic() - 1.0)
