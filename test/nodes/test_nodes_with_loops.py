# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A five-bar linkage with springs at its motors: nodes that close its loop, and others."""

import time

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.nodes.base.messages import set_stamp
from multibody_dynamics.resources import share_directory
from ros_harness import ros

__all__ = ["ros"]  # the fixture

FIVE_BAR = {
    "robot_file": "config/mechanisms/five_bar.urdf",
    "elastic_joints_file": "config/mechanisms/five_bar.yaml",
    "autostart": True,
}
MODEL = load_robot(*(share_directory() / FIVE_BAR[key] for key in list(FIVE_BAR)[:2]))
MOTORS = {"command_joints": ["left_shoulder", "right_shoulder"]}
LOCKSTEP = {"time_source": "steady", "publish_clock": True, "lockstep": True}
TORQUES = ("-r", "motor_torque_stamped:=flatness_controller_node/motor_torque")


def test_a_five_bar_follows_the_motion_of_the_trajectory_node(ros):
    """Simulator, controller and motion over DDS, as `loop` starts them, in lockstep."""
    plant = LOCKSTEP | {"plant": "mujoco", "command_interface": "stamped_motor_torque"}
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
        return errors and np.abs(np.array(states[-1].position[:2]) - goal).max() < 1e-4

    ros.until(arrived, "the goal", patience=240.0)
    assert states[-1].name == list(MODEL.joint_names + MODEL.dependent_joints)
    q, qd = (
        np.array([getattr(state, row) for state in states]) for row in ("position", "velocity")
    )
    assert np.abs(q - q[0]).max() > 0.05
    elbows = MODEL.system.passive_indices
    for rows, of_tree in zip((q, qd), MODEL.tree_motion(q[:, :2], qd[:, :2]), strict=True):
        np.testing.assert_allclose(rows[:, 2:], of_tree[:, elbows], atol=1e-4 * abs(rows).max())
    assert np.abs(np.array([error.position for error in errors])).max() < 1e-3
    assert "fault" not in controller.output.lower()


def test_a_wrench_on_a_passive_link_is_carried_by_the_motors(ros):
    node = ros.start("feedforward_node", FIVE_BAR | MOTORS | {"wrench_timeout": 0.5})
    sensor = ros.publisher(WrenchStamped, "external_wrench")
    arm = ros.publisher(JointState, "joint_states")
    torques = ros.record(JointState, "feedforward_node/torque")
    q, zero = MODEL.home, np.zeros(2)

    def send():
        state = JointState(name=list(MODEL.joint_names), position=q.tolist(), velocity=[0.0, 0.0])
        wrench = WrenchStamped()
        wrench.header.frame_id = "right_lower"
        wrench.wrench.force.x, wrench.wrench.torque.y = 5.0, 0.3
        for publisher, message in ((sensor, wrench), (arm, state)):
            set_stamp(message.header.stamp, time.time_ns())
            publisher.publish(message)

    pose = dyn.frame_pose(MODEL, q, "right_lower")
    world = dyn.se3.coAd(pose) @ np.array([0.0, 0.3, 0.0, 5.0, 0.0, 0.0])
    wanted = dyn.inverse_dynamics(MODEL, q, zero, zero, wrenches={"right_lower": world}).tau
    assert np.abs(wanted - dyn.gravity_forces(MODEL, q)).max() > 0.5
    ros.until(
        lambda: torques and np.abs(torques[-1].effort - wanted).max() < 1e-9,
        "the wrench", patience=240.0, each=send,
    )  # fmt: skip
    assert "fault" not in node.output.lower()


def test_the_tip_of_a_five_bar_follows_a_straight_line(ros):
    """Simulator and task_space_node over DDS, as `loop task-space --plant internal` starts them, in
    lockstep."""
    offset = [0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    tip = dyn.tasks.Task("right_lower", "x z", dyn.se3.exp([0, 0, 0, *offset[:3]]))
    remapped = ("-r", "motor_command:=task_space_node/motor_command")
    ros.start("elastic_robot_simulator_node", FIVE_BAR | MOTORS | LOCKSTEP, *remapped)
    tool = {"tool": tip.body, "tool_offset": offset, "components": "x z", "path_shape": "line"}
    simulated = {"use_sim_time": True, "start_tolerance": 1.0}
    node = ros.start("task_space_node", FIVE_BAR | MOTORS | tool | simulated)
    states = ros.record(JointState, "joint_states")
    planned = ros.record(JointTrajectory, "joint_trajectory")
    target = ros.publisher(PoseStamped, "target_pose")
    ros.until(lambda: ros.diagnosis(": task")[2], "the node to hold", patience=240.0)

    def go(x, z):
        message = PoseStamped()
        message.header.frame_id = MODEL.base_name
        message.pose.position.x, message.pose.position.z = float(x), float(z)
        message.pose.orientation.w = 1.0
        target.publish(message)

    def tips(positions):
        return dyn.tasks.task_motion(MODEL, tip, np.array(positions)).pose[..., [0, 2], 3]

    start = tips(MODEL.home)
    goal = start + np.array([0.06, -0.04])
    go(*goal)
    ros.until(lambda: planned, "a plan", patience=240.0)
    way = tips([point.positions for point in planned[0].points]) - start
    assert np.ptp(way[:, 0]) == pytest.approx(0.06, abs=1e-3)
    assert np.abs(way @ [0.04, 0.06]).max() < 1e-6  # off the line, times its length
    ros.until(
        lambda: np.abs(tips(states[-1].position[:2]) - goal).max() < 1e-4,
        "the goal", patience=240.0,
    )  # fmt: skip
    go(5.0, 0.0)
    refused = "target_pose: unreachable"
    ros.until(lambda: refused in ros.diagnosis(": inputs")[2], "a refusal", patience=240.0)
    assert "fault" not in node.output.lower()


def test_recorded_motors_of_a_five_bar_are_compared_with_its_model(ros):
    """Efforts of its motors, with those joints that have none in the same messages."""
    node = ros.start("validation_node", FIVE_BAR | {"cutoff": 8.0, "output": ""})
    found = [
        ros.record(JointState, f"validation_node/{topic}")
        for topic in ("residual", "predicted_effort")
    ]
    arm = ros.publisher(JointState, "joint_states")
    t = np.arange(0.0, 4.0, 0.005)[:, None]
    rows = [
        MODEL.home * (k == 0) + 0.2 * np.pi**k * np.sin(np.pi * t + k * np.pi / 2 + [0.0, 1.0])
        for k in range(3)
    ]
    q, qd = MODEL.tree_motion(*rows[:2])
    efforts = np.zeros_like(q)
    efforts[:, MODEL.system.indices(MODEL.joint_names)] = dyn.inverse_dynamics(MODEL, *rows).tau
    for at, *state in zip(t[:, 0], q, qd, efforts, strict=True):
        position, velocity, effort = (row.tolist() for row in state)
        message = JointState(
            name=list(MODEL.tree.joint_names), position=position, velocity=velocity, effort=effort
        )
        set_stamp(message.header.stamp, round(1e9 * (1000.0 + at)))
        arm.publish(message)
        ros.spin(0.001)
    ros.until(lambda: len(found[0]) > 100, "residuals")
    residual, predicted = (np.array([list(each.effort) for each in topic]) for topic in found)
    assert residual.shape[1] == 2
    assert np.abs(residual).max() < 0.01 * np.abs(predicted).max()
    assert "fault" not in node.output.lower()


def test_drift_node_takes_a_five_bar(ros):
    node = ros.start("drift_node", FIVE_BAR | {"state_file": ""})
    ros.until(lambda: "configured for five_bar: left_shoulder, right_shoulder" in node.output, "it")
    assert "rejected" not in node.output
