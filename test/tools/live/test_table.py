# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The live table: rates from stamps, margins from the robot's limits, ages from the clock."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.tools.base.processes import RunError
from multibody_dynamics.tools.live.table import TORQUES, JointTable, TopicTiming, find_torques
from robots import PANDA, panda
from ros_harness import NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture


def row(table: JointTable, joint: str) -> list[str]:
    (line,) = (line for line in table.lines() if line.startswith(joint))
    return line.split()


def test_rates_and_margins():
    table = JointTable(panda())
    table.add_torques(["panda_joint2", "panda_joint1"], [80.0, 1.0], 10.0)
    table.add_torques(["panda_joint1", "panda_joint2"], [3.0, -43.5], 10.5)
    table.add_positions(["panda_joint1", "panda_joint4"], [2.8, -1.0])
    joint, torque, peak, rate, limit, left, position, room, *mark = row(table, "panda_joint1")
    assert (joint, torque, peak, rate, limit) == ("panda_joint1", "3", "3", "4", "87")
    assert left == "96.55%"
    assert (position, room) == ("2.8", "0.0973")
    assert not mark
    assert row(table, "panda_joint2")[1:6] == ["-43.5", "80", "-247", "87", "50%"]
    assert row(table, "panda_joint3")[1:4] == ["-", "-", "-"]


def test_joints_near_their_limits_are_marked():
    table = JointTable(panda())
    table.add_torques(["panda_joint1"], [86.0], 0.0)
    table.add_positions(["panda_joint4"], [-0.07])
    assert row(table, "panda_joint1")[-1] == "!"
    assert row(table, "panda_joint4")[-1] == "!"
    assert row(table, "panda_joint5")[-1] != "!"


def test_without_a_robot_the_table_has_the_received_joints():
    table = JointTable()
    table.add_torques(["a"], [2.0], 1.0)
    table.add_torques(["a"], [3.0], 1.0)  # the same stamp: no rate
    assert row(table, "a")[:4] == ["a", "3", "3", "-"]


def test_motors_that_are_no_joints_of_the_robot_follow_its_joints():
    table = JointTable(panda())
    table.add_torques(["panda_joint7_agonist", "panda_joint1"], [2.0, 1.0], 1.0)
    assert row(table, "panda_joint7_agonist")[:3] == ["panda_joint7_agonist", "2", "2"]
    assert [line.split()[0] for line in table.lines()[1:]] == [
        *panda().joint_names,
        "panda_joint7_agonist",
    ]


def test_periods_and_ages():
    topic = TopicTiming("torque", 0.2)
    assert "no message yet" in topic.line(0.0)
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
        cwd=Path(__file__).parents[3],
        env=ros.environment,
    )
    torques = ros.publisher(JointState, "some/torque")
    states = ros.publisher(JointState, "joint_states")
    message = JointState(name=["panda_joint3"], position=[0.5], effort=[12.0])

    sent = 0

    def finished() -> bool:
        nonlocal sent
        sent += 1
        torques.publish(message)
        if sent > 50:  # positions may come later: the table waits for them
            states.publish(message)
        return process.poll() is not None

    ros.until(finished, "the table")
    printed, _ = process.communicate()
    assert process.returncode == 0
    (line,) = (line for line in printed.splitlines() if line.startswith("panda_joint3"))
    assert line.split()[1] == "12"
    assert line.split()[6] == "0.5"
    assert "some/torque" in printed


@pytest.mark.parametrize("there", TORQUES)
def test_the_topic_with_a_publisher_is_found(there):
    coming: list[str] = []

    def spin() -> None:
        coming.append(there)

    assert find_torques(coming.count, spin, time.monotonic() + 10.0) == there


def test_missing_publishers_are_reported_with_the_topics():
    with pytest.raises(RunError, match=r"feedforward_node/torque; .*--torques"):
        find_torques(lambda topic: 0, lambda: None, time.monotonic() - 1.0)
