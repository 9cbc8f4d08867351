# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `collision-thresholds`."""

import argparse
import sys
from pathlib import Path

from ..base.arguments import add_reading, call, positive, selection_of

HELP = "Learn the thresholds of collision detection from a recorded motion without contacts"
DETAILS = (
    "Writes a YAML file for the parameter collision_thresholds of flatness_controller_node, and"
    " prints how close the residuals come to thresholds learned from other parts of the recording,"
    " and the smallest contacts that would be found. The recording is one of those that"
    " identify-springs reads: a bag with joint states of links and motors, .csv or .npz. It should"
    " contain the speeds, poses and loads of the later task; a minute is enough if it does. Exit"
    " status 1 if held-out parts would have given false alarms."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("recording", metavar="RECORDING", type=Path,
        help="rosbag2 folder, .mcap, .db3, .csv or .npz file")
    add_reading(parser, "joint states of the links (the one named joint_states)")
    add("--urdf", metavar="ROBOT", type=Path, required=True, help="URDF file")
    add("--elastic-joints", metavar="YAML", type=Path, required=True, help="springs and motors")
    add("-o", "--output", metavar="YAML", type=Path, default=Path("collision_thresholds.yaml"),
        help="file to write (%(default)s)")
    add("--margin", metavar="X", type=positive, default=2.0,
        help="ratio of the threshold to the largest residual (%(default)s)")
    add("--bandwidth", metavar="RAD/S", type=positive, default=250.0,
        help="bandwidth of the smoothed external torques (%(default)s)")
    add("--high-pass", metavar="RAD/S", type=positive, default=10.0,
        help="lower frequencies do not count as hits (%(default)s)")
    add("--filter-bandwidth", metavar="HZ", type=positive, default=100.0,
        help="bandwidth of the velocity filter, as in the node (%(default)s)")
    add("--filter-order", metavar="N", type=int, default=3,
        help="order of the velocity filter, as in the node (%(default)s)")
    add("--state-source", dest="source", metavar="SOURCE", default="link_and_motor_encoders",
        help="source of the state, as in the node (%(default)s)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics.control import DetectionSettings
    from ...dynamics.elastic import load_actuators
    from ...dynamics.mechanisms import load_robot
    from ..recordings.collision_thresholds_report import learn_from, lines
    from ..recordings.spring_recordings import read_motion

    settings = call(DetectionSettings, options)
    model = load_robot(options.urdf, options.elastic_joints, (0.0, 0.0, -options.gravity))
    actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    motion = read_motion(options.recording, model, selection_of(options))
    learned = learn_from(options.recording, motion, model, actuators, settings)
    print(*motion.used, "", *lines(learned, model, motion.q), sep="\n")
    options.output.write_text(learned.thresholds.to_yaml(model.joint_types), encoding="utf-8")
    print(f"\nthresholds: {options.output}")
    if motion.problem:
        print(f"multibody_dynamics: {motion.problem}", file=sys.stderr)
    return 1 if motion.problem or learned.held_out.max() >= 1.0 else 0
