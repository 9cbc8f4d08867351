# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `scale-time`."""

import argparse
import warnings
from pathlib import Path

from ..base.arguments import add_gravity, add_hold, assignment, numbers, whole

HELP = "Slow a trajectory down until torques, torque rates, speeds and deflections meet limits"
DETAILS = (
    "A trajectory is a table with a header: t and for every joint 'q JOINT' and, if known, 'qd"
    " JOINT' and 'qdd JOINT' (.csv); joint_names, times, positions and, if known, velocities and"
    " accelerations, or joint_names and points as in a message (.yaml); or a bag with a"
    " JointTrajectory. The units are s and rad (m). Writes the slower trajectory in the same"
    " format, a picture, and the utilisation of all limits before and after as JSON."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("trajectory", metavar="TRAJECTORY", type=Path,
        help=".csv or .yaml file, rosbag2 folder, .mcap or .db3 file")
    add("--urdf", metavar="ROBOT", type=Path, required=True,
        help="URDF file; its effort, velocity, acceleration and jerk are limits")
    add("--elastic-joints", "--springs", metavar="YAML", type=Path, required=True,
        help="springs and motors; torque and speed of the motors and travel of the springs are"
        " limits")
    add("--limit", metavar="QUANTITY[.JOINT]=VALUE", type=assignment, action="append", default=[],
        help="limit of joint_torque, torque_rate, joint_speed, joint_acceleration, joint_jerk,"
        " motor_torque, motor_speed or deflection, on the link side, in N m, rad and s (N, m); inf:"
        " none; may be repeated")
    add("--stiffness", metavar="K1,K2,...", type=numbers,
        help="stiffness, N m/rad, of the joints with variable stiffness, or the pretension that"
        " they regulate (the middle of its range)")
    add_hold(parser)
    add_gravity(parser)
    add("--topic", metavar="NAME", default="",
        help="topic with the trajectory in a bag (the only one)")
    add("--message", metavar="N", type=whole(1, 10**9),
        help="number of the message on that topic, counted from 1 (the only one)")
    add("-o", "--output", metavar="FOLDER", type=Path, default=Path("scaled"),
        help="folder for trajectory, scaled.json and scaled.png (%(default)s)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics import InputError, load_actuators
    from ...dynamics.control import scale_time
    from ...dynamics.mechanisms import load_robot
    from ...reporting.page import write_json
    from ...validation.trajectory_files import read_points, write_points
    from ..motions.scaled_trajectory import doubts, draw, figures, limits_of, motion_through
    from ..robot.spring_figures import assumed_second_outputs

    model = load_robot(options.urdf, options.elastic_joints, (0.0, 0.0, -options.gravity))
    actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    second, joints = options.stiffness, actuators.variable_joints
    if second is None:
        second, lines = assumed_second_outputs(model, actuators)
        print(*(f"{line} (--stiffness)" for line in lines), sep="\n", end="\n" * bool(lines))
    elif len(second) != len(joints):
        raise InputError(
            f"--stiffness: expected {len(joints)} comma-separated numbers, of {', '.join(joints)}: "
            "the stiffness, N m/rad, or, of an antagonistic joint that regulates it, the pretension"
        )
    points = read_points(options.trajectory, topic=options.topic, message=options.message)
    motion = motion_through(points, model, dict(options.hold))
    limits = limits_of(model, actuators, options.limit)
    for line in doubts(motion, model):
        warnings.warn(line, stacklevel=1)  # printed by the command line
    scaled = scale_time(motion, model, actuators, limits, stiffness=second)
    print(scaled.describe())
    file = write_points(points.slower(scaled.factor), options.output)
    write_json(figures(scaled), options.output / "scaled.json")
    draw(scaled, options.output / "scaled.png")
    print(f"written: {file}, {options.output / 'scaled.json'}, {options.output / 'scaled.png'}")
    return 0
