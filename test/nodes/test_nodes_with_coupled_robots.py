# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Every node that loads a robot runs with a transmission, and with a part of a robot."""

import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ros_harness import ros

__all__ = ["ros"]  # the fixture

WRIST = {
    "robot_file": "config/robots/differential_wrist.urdf",
    "elastic_joints_file": "config/elastic_joints/differential_wrist.yaml",
    "autostart": True,
}
MOTORS = {"command_joints": ["elbow", "left", "right"]}
HELD = {"locked_joints": ["elbow=0.2"], "command_joints": ["left", "right"]}
PART = {"root_link": "forearm", "tip_link": "hand", "command_joints": ["left", "right"]}
OF_TOOL = {"tool": "tip", "components": "z"}


# One function loads the robot of all nodes: each node once, the control node with every part.
@pytest.mark.parametrize(
    ("node", "more", "part"),
    [
        ("feedforward_node", {}, HELD),
        ("flatness_controller_node", {"judged_poses": 2}, MOTORS),
        ("flatness_controller_node", {"judged_poses": 2}, HELD),
        ("flatness_controller_node", {"judged_poses": 2}, PART),
        ("elastic_robot_simulator_node", {}, PART),
        ("trajectory_node", {"patience": 60.0}, HELD),
        ("validation_node", {}, PART),
        ("drift_node", {"state_file": ""}, MOTORS),
        ("task_space_node", OF_TOOL, MOTORS),
    ],
)
def test_a_node_starts_with_the_motors_of_a_differential(ros, node, more, part):
    own = dict(part)
    if node in ("trajectory_node", "validation_node", "drift_node"):
        own.pop("command_joints")
    process = ros.start(node, WRIST | more | own)
    ros.until(lambda: "differential_wrist" in process.output, "configuration")
    assert "ERROR" not in process.output


def test_the_simulated_wrist_follows_a_trajectory_of_the_trajectory_node(ros):
    """The simulator publishes joints and motors; the demo's nodes agree on the motors' names."""
    ros.start("elastic_robot_simulator_node", WRIST | MOTORS)
    ros.start("trajectory_node", WRIST | {"motion": "rest_to_rest", "patience": 60.0})
    sent = ros.record(JointTrajectory, "joint_trajectory")
    states = ros.record(JointState, "joint_states")
    ros.until(lambda: states and sent, "states and a trajectory")
    assert states[-1].name == ["elbow", "left", "right", "pitch", "roll"]
    at = dict(zip(states[-1].name, states[-1].position, strict=True))
    assert at["pitch"] == pytest.approx((at["left"] + at["right"]) / 2, abs=1e-9)
    assert at["roll"] == pytest.approx((at["left"] - at["right"]) / 2, abs=1e-9)
    assert sent[-1].joint_names == ["elbow", "left", "right"]
