# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A five-bar linkage with springs at its motors: nodes that close its loop, and others."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ros_harness import ros

__all__ = ["ros"]  # the fixture

FIVE_BAR = {
    "robot_file": "config/mechanisms/five_bar.urdf",
    "elastic_joints_file": "config/mechanisms/five_bar.yaml",
    "autostart": True,
}
MOTORS = {"command_joints": ["left_shoulder", "right_shoulder"]}
TORQUES = ("-r", "motor_torque_stamped:=flatness_controller_node/motor_torque")


def test_a_five_bar_follows_the_motion_of_the_trajectory_node(ros):
    """Simulator, controller and motion over DDS, as `loop` starts them, in lockstep."""
    plant = {
        "command_interface": "stamped_motor_torque",
        "time_source": "steady",
        "publish_clock": True,
        "lockstep": True,
    }
    simulated = {"use_sim_time": True, "judged_poses": 3, "start_tolerance": 1.0}
    ros.start("elastic_robot_simulator_node", FIVE_BAR | MOTORS | plant, *TORQUES)
    controller = ros.start("flatness_controller_node", FIVE_BAR | MOTORS | simulated)
    motion = {"motion": "rest_to_rest", "duration": 2.0, "patience": 200.0, "use_sim_time": True}
    motion["ready_topic"] = "flatness_controller_node/motor_command"
    ros.start("trajectory_node", FIVE_BAR | motion)
    errors = ros.record(JointState, "flatness_controller_node/tracking_error")
    states = ros.record(JointState, "joint_states")
    sent = ros.record(JointTrajectory, "joint_trajectory")
    ros.until(lambda: sent and states, "a motion", patience=240.0)
    goal = np.array(sent[-1].points[-1].positions)

    def arrived():
        return errors and np.abs(np.array(states[-1].position) - goal).max() < 1e-4

    ros.until(arrived, "the goal", patience=240.0)
    assert states[-1].name == ["left_shoulder", "right_shoulder"]
    start = np.array(states[0].position)
    assert np.abs(np.array([state.position for state in states]) - start).max() > 0.05
    assert np.abs(np.array([error.position for error in errors])).max() < 1e-3
    assert "fault" not in controller.output.lower()


def test_the_feedforward_node_publishes_torques_of_the_motors(ros):
    node = ros.start("feedforward_node", FIVE_BAR | MOTORS)
    ros.until(lambda: "active" in node.output, "activation", patience=240.0)
    assert "ERROR" not in node.output


@pytest.mark.parametrize("node", ["task_space_node", "validation_node", "drift_node"])
def test_a_node_for_trees_names_the_loops(ros, node):
    motors = MOTORS | {"tool": "right_lower"} if node == "task_space_node" else {}
    process = ros.start(node, FIVE_BAR | motors)
    ros.until(lambda: "loops tip: only feedforward_node" in process.output, "a refusal")
