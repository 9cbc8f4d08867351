# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Several nodes in one process all work, and shut down cleanly."""

import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from multibody_dynamics.tools.live.composition import NODES, compose, node_class
from rejections import assert_rejected
from ros_harness import NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture

ROOT = Path(__file__).parents[3]


def test_every_node_can_be_composed():
    assert len({node_class(name) for name in NODES}) == len(NODES)


@pytest.mark.parametrize("name", NODES)
def test_every_node_has_help(capsys, name):
    module = import_module(f"multibody_dynamics.nodes.{name}")
    assert module.main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{name}, a ROS 2 lifecycle node\n\n{module.__doc__}")
    assert f"docs/{name}.md" in printed
    assert "--params-file" in printed


def test_unknown_and_duplicate_nodes_are_rejected():
    assert_rejected(
        (lambda: compose(["x"], []), "unknown node 'x'"),
        (lambda: compose(["trajectory_node"] * 2, []), "duplicate 'trajectory_node'"),
    )


def test_two_nodes_in_one_process(ros: RosHarness, tmp_path: Path):
    """trajectory_node sends its motion once series_joints_node has published joint states."""
    names = [f"panda_joint{k}" for k in range(1, 8)]
    settings = tmp_path / "robot.yaml"
    settings.write_text(
        f"/**/series_joints_node:\n  ros__parameters:\n    joints: {names}\n"
        "/**/trajectory_node:\n  ros__parameters:\n    robot_file: config/robots/panda.urdf\n"
        "    motion: rest_to_rest\n    duration: 5.0\n"
    )
    command = [sys.executable, "-m", "multibody_dynamics", "compose", "series_joints_node"]
    command += ["trajectory_node", "--ros-args", "-r", f"__ns:={NAMESPACE}"]
    command += ["--params-file", str(settings)]
    process = subprocess.Popen(command, env=ros.environment, cwd=ROOT)
    try:
        sender = ros.publisher(JointState, "series_joint_states")
        motions = ros.record(JointTrajectory, "joint_trajectory")
        both = [name + kind for name in names for kind in ("_motor", "_spring")]
        message = JointState(name=both, position=[-0.5, 0.0] * 7, velocity=[0.0] * 14)

        def answered() -> bool:
            message.header.stamp = ros.peer.get_clock().now().to_msg()
            sender.publish(message)
            return bool(motions)

        ros.until(answered, "a motion")
        assert list(motions[0].joint_names) == names
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=100) == 0
    finally:
        process.kill()
        process.wait()
