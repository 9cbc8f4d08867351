# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""drift_node over the real middleware, with a simulated arm whose parts change."""

import math
from pathlib import Path
from signal import SIGINT

import pytest
import yaml
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from multibody_dynamics.nodes.base.messages import nanoseconds
from robots import CONFIG
from ros_harness import RELIABLE, RosHarness, ros

__all__ = ["ros"]  # the fixture

ARM = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
NAMES = ("shoulder", "elbow")
RATE = 100.0
SIMULATOR = {
    "autostart": True, "robot_file": str(ARM), "command_interface": "motor_command",
    "elastic_joints_file": str(SPRINGS), "command_joints": NAMES,
    "initial_positions": [0.0, 0.3], "update_rate": RATE, "step": 0.001,
    "publish_clock": True, "lockstep": True, "max_speed": 0.0, "command_timeout": 5.0,
    "torque_noise": 0.05, "link_encoder_resolution": 2e-5, "link_viscous_friction": [1.0],
}  # fmt: skip
BLOCK = 5.0  # s
WATCH = {
    "autostart": True, "robot_file": str(ARM), "elastic_joints_file": str(SPRINGS),
    "cutoff": 4.0, "segment": 1.0, "reference": 30.0, "block": BLOCK, "warm_up_time": 1.0,
}  # fmt: skip


class Motion:
    """Answers every state with the next point of a motion of the motors; it never repeats."""

    def __init__(self, ros: RosHarness) -> None:
        self.stamp = 0
        self._publisher = ros.peer.create_publisher(JointTrajectory, "motor_command", RELIABLE)
        ros.peer.create_subscription(JointState, "joint_states", self._on_state, RELIABLE)

    def _on_state(self, state: JointState) -> None:
        self.stamp = nanoseconds(state.header.stamp)
        t = 1e-9 * self.stamp
        rates = ((0.31, 1.3, 2.9), (0.4, 1.7, 3.3))
        sizes = (0.5, 0.25, 0.08)
        ease = min(t / 3.0, 1.0)
        position, velocity = [], []
        for start, own in zip((0.0, 0.3), rates, strict=True):
            terms = list(zip(sizes, own, strict=True))
            position.append(start + ease * sum(a * math.sin(w * t) for a, w in terms))
            velocity.append(ease * sum(a * w * math.cos(w * t) for a, w in terms))
        point = JointTrajectoryPoint(positions=position, velocities=velocity, effort=[0.0, 0.0])
        message = JointTrajectory(joint_names=NAMES, points=[point])
        message.header.stamp = state.header.stamp
        self._publisher.publish(message)


def judged(ros: RosHarness) -> int:
    return int(ros.diagnosis("drift_node: drift")[2].get("blocks judged", -1))


def named(ros: RosHarness, start: str, value: float, within: float) -> str:
    """Wait for a warning that begins with `start` and continues with a number near `value`.

    The first block after a fault still contains some of the time before it.
    """

    def found() -> str:
        level, text, _ = ros.diagnosis("drift_node: drift")
        if level != 1 or not text.startswith(start):
            return ""
        number = float(text.removeprefix(start).split(" ")[0])
        return text if abs(number - value) < within else ""

    try:
        return str(ros.until(found, start, patience=90.0))
    except pytest.fail.Exception as error:
        raise AssertionError(f"{ros.diagnosis('drift_node: drift')}\n{error}") from None


def test_faults_are_found_and_named(ros: RosHarness, tmp_path: Path):
    Motion(ros)
    memory = tmp_path / "memory" / "drift.npz"
    node = ros.start("drift_node", WATCH | {"state_file": str(memory)})
    ros.until(lambda: "configured for" in node.output, "the node", patience=90.0)
    arm = ros.start("elastic_robot_simulator_node", SIMULATOR)
    ros.until(lambda: judged(ros) >= 1, "a reference and a block", patience=120.0)
    assert ros.diagnosis("drift_node: drift")[:2] == (0, "agrees with the reference")

    assert all(r.successful for r in ros.set_parameters(arm, payload_link="forearm"))
    assert all(r.successful for r in ros.set_parameters(arm, payload_mass=1.0))
    named(ros, "payload of forearm changed by ", 1.0, 0.1)
    ros.leave(arm, SIGINT)
    ros.leave(node, SIGINT)
    assert "the robot has changed: payload of forearm" in node.output

    # The next day, with another fault. The node remembers the reference.
    tougher = {"link_viscous_friction": [1.0, 1.5]}
    arm = ros.start("elastic_robot_simulator_node", SIMULATOR | tougher)
    node = ros.start("drift_node", WATCH | {"state_file": str(memory)})
    ros.until(lambda: f"continuing from {memory}" in node.output, "the memory", patience=90.0)
    named(ros, "friction of elbow: viscous ", 50.0, 10.0)
    ros.leave(arm, SIGINT)

    springs = yaml.safe_load(SPRINGS.read_text())
    springs["joints"]["shoulder"]["spring"]["stiffness"]["value"] = 400.0
    soft = tmp_path / "soft.yaml"
    soft.write_text(yaml.safe_dump(springs))
    ros.start("elastic_robot_simulator_node", SIMULATOR | {"elastic_joints_file": str(soft)})
    text = named(ros, "spring of shoulder: stiffness ", -20.0, 0.5)
    assert ";" not in text  # nothing else has changed

    answer = ros.call(Trigger, "drift_node/reset_reference", Trigger.Request())
    assert answer.success
    ros.until(lambda: judged(ros) == 0, "a new reference")
    assert ros.diagnosis("drift_node: drift")[0] == 3
    assert ros.leave(node, SIGINT) == 0


def test_memory_of_another_robot_is_refused(ros: RosHarness, tmp_path: Path):
    memory = tmp_path / "drift.npz"
    memory.write_bytes(b"not a memory")
    node = ros.start("drift_node", WATCH | {"state_file": str(memory)})
    ros.until(lambda: "state_file: " in node.output, "the reason", patience=90.0)
    assert f"{memory}: not a NumPy archive" in node.output
    assert ros.exit_of(node) == 1
    assert memory.read_bytes() == b"not a memory"
