"""Nodes started and supervised by `multibody_dynamics loop`, as by a launch file."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import StringIO
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


def test_new_lines_are_shown_with_the_name_of_their_node(tmp_path):
    file, stream = tmp_path / "log", StringIO()
    file.touch()
    tail = LogTail("arm", file, stream)
    for added, shown in (("one\ntw", "[arm] one\n"), ("o\n", "[arm] two\n"), ("end", "")):
        with file.open("a") as log:
            log.write(added)
        stream.seek(stream.truncate(0))
        tail.show()
        assert stream.getvalue() == shown
    stream.seek(stream.truncate(0))
    tail.show(is_last=True)
    assert stream.getvalue() == "[arm] end\n"


@pytest.fixture
def loop(ros: RosHarness, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command; its processes do not survive the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "multibody_dynamics", "loop", *ROBOT]
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
        if process.poll() is None:  # it stops its nodes
            process.send_signal(signal.SIGINT)
            process.wait(60.0)
        process.stdout.close()


def test_the_loop_is_closed_in_a_namespace_and_ends_with_ctrl_c(ros, loop, tmp_path):
    process = loop("--namespace", "test", "--motion", "none", "--use-sim-time", "true")
    torques = ros.record(JointState, "flatness_controller_node/motor_torque")
    ros.until(lambda: len(torques) > 100, "torques", patience=FIRST_START)
    assert list(torques[-1].name) == ["shoulder", "elbow"]
    process.send_signal(signal.SIGINT)
    ros.until(lambda: process.poll() is not None, "the end")
    printed, _ = process.communicate()
    assert process.returncode == 0, printed
    assert f"ROS domain {ros.environment['ROS_DOMAIN_ID']}" in printed
    assert "[flatness_controller_node] " in printed
    assert (tmp_path / "logs" / "flatness_controller_node.log").stat().st_size


def test_a_node_that_cannot_be_configured_ends_all_of_them(ros, loop):
    process = loop("--namespace", "test", "--command-joints", "shoulder,knee")
    ros.until(lambda: process.poll() is not None, "the end", patience=FIRST_START)
    printed, _ = process.communicate()
    assert process.returncode == 1, printed
    assert "knee" in printed
    assert "ended with status 1; stopping all nodes" in printed
    assert "Traceback" not in printed
