# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A quadruped with springs squats on four feet over DDS: planned, fed forward, and simulated."""

import time

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.motion import Points
from multibody_dynamics.nodes.base.messages import (
    SECOND,
    nanoseconds,
    set_stamp,
    trajectory_message,
)
from multibody_dynamics.nodes.base.pose_messages import (
    cartesian_trajectory_message,
    read_imu,
    read_pose,
)
from multibody_dynamics.resources import share_directory
from ros_harness import ros

__all__ = ["ros"]  # the fixture

FILES = share_directory() / "config" / "mechanisms"
FEET = ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]
KNEES_INWARDS = [0.0, 0.75, -1.5] * 2 + [0.0, -0.75, 1.5] * 2  # rad
MODEL = dyn.load_urdf(FILES / "quadruped.urdf")
ROBOT = {
    "robot_file": str(FILES / "quadruped.urdf"),
    "elastic_joints_file": str(FILES / "quadruped.yaml"),
    "command_joints": list(MODEL.joint_names),
    "contact_frames": FEET,
    "contact_friction": 0.6,
    "autostart": True,
}
SIMULATED = ROBOT | {
    "plant": "mujoco", "base_motion": "floating", "initial_positions": KNEES_INWARDS,
    "drive_bandwidth": 40.0, "update_rate": 1000.0, "publish_clock": True, "lockstep": True,
}  # fmt: skip
FED_FORWARD = ROBOT | {"base_motion": "trajectory", "use_sim_time": True, "ramp_time": 0.0}
COMMANDS = ("-r", "motor_command:=feedforward_node/motor_command")
SWAY = [0.04, 0.0, 0.02, 0.01, 0.01, -0.03]  # rad and m
TIMES = np.arange(0.0, 1.0001, 0.01)


def plan():
    """Down and to the side within half a second, and back; the base begins at the origin."""
    there = dyn.interpolate(["s"], [0.0, 0.5, 1.0], [[0.0], [1.0], [0.0]])
    path = dyn.tasks.line(np.eye(4), dyn.se3.exp(SWAY), there)
    feet = [dyn.tasks.Contact(foot, friction=0.6) for foot in FEET]
    return dyn.tasks.stance_motion(MODEL, feet, TIMES, path.sample(TIMES), KNEES_INWARDS)


def squat(ros, motion, variant):
    """Rms error of the trunk, m; farthest that a foot leaves the ground; and what the IMU of the
    robot at rest says."""
    simulator = ros.start("elastic_robot_simulator_node", SIMULATED, *COMMANDS)
    node = ros.start("feedforward_node", FED_FORWARD | {"variant": variant})
    topics = {"base_odometry": Odometry, "base_imu": Imu, "joint_states": JointState}
    odometry, imu, states = (ros.record(kind, topic) for topic, kind in topics.items())
    commands = ros.record(JointTrajectory, "feedforward_node/motor_command")
    joints = ros.publisher(JointTrajectory, "joint_trajectory", 1)
    bases = ros.publisher(MultiDOFJointTrajectory, "base_trajectory", 1)
    ros.until(lambda: len(commands) > 200, "commands", patience=240.0)
    start, at_rest = nanoseconds(states[-1].header.stamp) + SECOND, len(imu)
    base = motion.base
    rates = dyn.convert_twist(base.pose, [base.twist, base.acceleration], "spatial", "hybrid")
    bases.publish(cartesian_trajectory_message(MODEL.base_name, start, TIMES, base.pose, *rates))
    rows = np.moveaxis(motion.states, 1, 0)[:3]
    joints.publish(trajectory_message(MODEL.joint_names, start, Points(TIMES, *rows)))
    end = start + SECOND
    ros.until(lambda: nanoseconds(states[-1].header.stamp) > end, "the motion", patience=120.0)
    assert "rejected" not in node.output, node.output
    for each in (node, simulator):
        ros.leave(each)
    order = [states[0].name.index(name) for name in MODEL.joint_names]
    positions = {nanoseconds(each.header.stamp): each.position for each in states}
    poses = {nanoseconds(each.header.stamp): read_pose(each.pose.pose) for each in odometry}
    standing, off, heights = poses[min(poses)], [], []
    for t, planned in zip(TIMES, base.pose, strict=True):
        stamp = start + round(SECOND * t)
        if stamp in poses and stamp in positions:
            pose, q = poses[stamp], np.array(positions[stamp])[order]
            off.append(pose[:3, 3] - (standing @ planned)[:3, 3])
            moved = dyn.BaseMotion(pose)
            heights += [dyn.frame_pose(MODEL, q, foot, base=moved)[2, 3] for foot in FEET]
    assert len(off) > 90
    return np.sqrt(np.mean(np.square(off))), np.abs(heights).max(), read_imu(imu[at_rest - 1])


def test_torque_rates_carry_the_trunk_along_its_plan(ros):
    motion = plan()
    full, height, (omega, force) = squat(ros, motion, "full")
    assert height < 1e-4
    assert np.abs(omega).max() < 1e-3
    assert np.abs(force + MODEL.gravity).max() < 0.05
    quasi_static, _, _ = squat(ros, motion, "quasi_static")
    assert full <= 0.2 * quasi_static
    assert full < 3e-5


def test_feet_that_would_slide_are_named_and_nothing_is_sent(ros):
    """The base is said to lean, while the legs stay."""
    ros.start("feedforward_node", ROBOT | {"base_motion": "trajectory"})
    commands = ros.record(JointTrajectory, "feedforward_node/motor_command")
    states = ros.publisher(JointState, "joint_states", 1)
    bases = ros.publisher(MultiDOFJointTrajectory, "base_trajectory", 1)

    def stand():
        message = JointState(name=list(MODEL.joint_names), position=KNEES_INWARDS)
        set_stamp(message.header.stamp, time.time_ns())
        states.publish(message)

    ros.until(lambda: len(commands) > 20, "commands", stand, patience=240.0)
    leaning = np.array([np.eye(4), dyn.se3.exp([0.9, 0.0, 0.0, 0.0, 0.0, 0.0])])
    rest = np.zeros((2, 6))
    bases.publish(
        cartesian_trajectory_message(
            MODEL.base_name, time.time_ns(), np.array([0.0, 2.0]), leaning, rest, rest
        )
    )
    ros.until(lambda: "cannot stand" in ros.diagnosis("cycle")[1], "the reason", stand)
    assert "_FOOT' moves by" in ros.diagnosis("cycle")[1]
    assert np.isfinite([each.points[0].effort for each in commands]).all()
