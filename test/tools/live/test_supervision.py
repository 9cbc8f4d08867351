# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Nodes started and supervised by `multibody_dynamics loop`, as by a launch file."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.tools.live.supervision import LogTail
from ros_harness import FIRST_START, RosHarness, ros

__all__ = ["ros"]  # the fixture

ROOT = Path(__file__).parents[3]
ROBOT = (
    "--urdf", "config/robots/planar_two_link.urdf",
    "--elastic-joints", "config/elastic_joints/planar_two_link.yaml",
)  # fmt: skip


def test_new_lines_are_shown_with_the_name_of_their_node(tmp_path, capsys):
    file = tmp_path / "log"
    file.touch()
    tail = LogTail("arm", file)
    for added, shown in (("one\ntw", "[arm] one\n"), ("o\n", "[arm] two\n"), ("end", "")):
        with file.open("a") as log:
            log.write(added)
        tail.show()
        assert capsys.readouterr().out == shown
    tail.show(is_last=True)
    assert capsys.readouterr().out == "[arm] end\n"


@pytest.fixture
def loop(ros: RosHarness, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command; its processes do not survive the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "multibody_dynamics", "loop"]
        process = subprocess.Popen(
            [*command, "--logs", str(tmp_path / "logs"), *words],
            cwd=ROOT,
            env=ros.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        for _ in range(2):  # it stops its nodes, or kills them
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(60.0)
        process.stdout.close()


def test_the_loop_is_closed_in_a_namespace_and_ends_with_ctrl_c(ros, loop, tmp_path):
    process = loop(*ROBOT, "--namespace", "test", "--motion", "none", "--use-sim-time", "true")
    torques = ros.record(JointState, "flatness_controller_node/motor_torque")
    ros.until(lambda: len(torques) > 100, "torques", patience=FIRST_START)
    assert list(torques[-1].name) == ["shoulder", "elbow"]
    process.send_signal(signal.SIGINT)
    ros.until(lambda: process.poll() is not None, "the end")
    printed, _ = process.communicate()
    assert process.returncode == 0, printed
    assert f"ROS domain {ros.environment['ROS_DOMAIN_ID']}" in printed
    assert "[flatness_controller_node] " in printed
    assert "waiting for flatness_controller_node to end\n" in printed
    assert (tmp_path / "logs" / "flatness_controller_node.log").stat().st_size


def test_a_second_ctrl_c_kills_a_node_that_does_not_end(ros, loop):
    process = loop("validate", "--namespace", "test")
    ros.until(
        lambda: "validation_node" in ros.peer.get_node_names(), "the node", patience=FIRST_START
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    (node,) = map(int, children)
    os.kill(node, signal.SIGSTOP)  # its patience is 10 minutes
    process.send_signal(signal.SIGINT)
    assert any("waiting for validation_node to end" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    ros.until(lambda: process.poll() is not None, "the end")
    assert process.returncode == 1
    assert "validation_node ended with status -9" in process.stdout.read()


def test_a_node_that_cannot_be_configured_ends_all_of_them(ros, loop):
    process = loop(*ROBOT, "--namespace", "test", "--command-joints", "shoulder,knee")
    ros.until(lambda: process.poll() is not None, "the end", patience=FIRST_START)
    printed, _ = process.communicate()
    assert process.returncode == 1, printed
    assert "knee" in printed
    assert "_node ended with status 1\n" in printed
    assert "stopping all nodes; Ctrl-C kills them at once\n" in printed
    assert "waiting for trajectory_node to end\n" in printed
    assert "Traceback" not in printed
