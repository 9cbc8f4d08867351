# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A quadruped with springs squats on four feet over DDS: planned, fed forward, and simulated."""

import time

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import set_stamp
from multibody_dynamics.nodes.base.pose_messages import cartesian_trajectory_message
from ros_harness import ros
from studies.standing import FEET, MODEL, STANDING, perform, plan

__all__ = ["ros"]  # the fixture


def test_torque_rates_carry_the_trunk_along_its_plan(ros, tmp_path):
    """As the study prints it: in lockstep, whatever else the computer does."""
    motion = plan()
    full, height, (omega, force) = perform(motion, "full", tmp_path)
    assert height < 1e-4
    assert np.abs(omega).max() < 1e-3
    assert np.abs(force + MODEL.gravity).max() < 0.05
    quasi_static, _, _ = perform(motion, "quasi_static", tmp_path)
    assert full <= 0.2 * quasi_static
    assert full < 3e-5


def test_feet_that_would_slide_are_named_and_nothing_is_sent(ros):
    """The base is said to lean, while the legs stay."""
    files = "config/mechanisms/quadruped"
    robot = {
        "robot_file": f"{files}.urdf", "elastic_joints_file": f"{files}.yaml", "autostart": True,
        "command_joints": list(MODEL.joint_names), "contact_frames": list(FEET),
        "base_motion": "trajectory",
    }  # fmt: skip
    ros.start("feedforward_node", robot)
    commands = ros.record(JointTrajectory, "feedforward_node/motor_command")
    states = ros.publisher(JointState, "joint_states", 1)
    bases = ros.publisher(MultiDOFJointTrajectory, "base_trajectory", 1)

    def stand():
        message = JointState(name=list(MODEL.joint_names), position=STANDING)
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
