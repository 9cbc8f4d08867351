# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `identify-springs`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..base.arguments import add_recorded_motion, positive

HELP = "Identify the springs from a recorded motion: torque as a function of deflection"
DETAILS = (
    "A recording is a bag with joint states of the links (positions, and efforts of torque sensors"
    " if available) and of the motors (positions, torques); or a table with a header: t and for"
    " every joint 'q JOINT', 'theta JOINT', and 'Q JOINT' of a torque sensor or 'tau JOINT' of the"
    " motor (.csv); arrays t, q, theta, Q, tau, joint_names, or a recording of the demo (.npz). The"
    " units are s, rad (m) and N m (N), on the link side of the gear. A motor has the name of its"
    " joint; the two motors of an antagonistic joint append _agonist and _antagonist to it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_recorded_motion(parser)
    parser.add_argument("--urdf", metavar="ROBOT", type=Path,
                        help="URDF file, for the link torques")  # fmt: skip
    parser.add_argument("--elastic-joints", metavar="YAML", type=Path,
                        help="motor data, for the motor torques")  # fmt: skip
    parser.add_argument("--torque", choices=("sensor", "links", "motors"), default="",
                        help="source of the joint torque: %(choices)s (the sensor if recorded, else"
                        " the links)")  # fmt: skip
    parser.add_argument("--law", choices=("auto", "linear", "cubic", "polynomial", "table"),
                        default="auto",
                        help="spring law: %(choices)s; auto selects by BIC")  # fmt: skip
    parser.add_argument("--window", metavar="S", type=positive, default=0.03,
                        help="time window for smoothing and differentiating the motion, s"
                        " (%(default)s)")  # fmt: skip
    parser.add_argument("--rate", metavar="HZ", type=positive,
                        help="fitted samples per second (all that were recorded)")  # fmt: skip
    parser.add_argument("--robust", action="store_true", help="reject outliers")
    parser.add_argument("--no-bias", dest="bias", action="store_false",
                        help="assume that the torque has no constant error")  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("springs"),
                        help="folder for springs.yaml and springs.png (%(default)s)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ...dynamics import InputError, load_actuators, load_urdf
    from ...dynamics.core import read_yaml
    from ...reporting.progress import ProgressBar
    from ..recordings.spring_fits import draw_springs, identify, to_yaml
    from ..recordings.spring_recordings import read_motion

    model = None
    if options.urdf:
        model = load_urdf(options.urdf, (0.0, 0.0, -options.gravity))
    elif options.hold:
        raise InputError("--hold sets the position of a robot's joint and requires --urdf")
    if options.elastic_joints:
        read_yaml(options.elastic_joints)  # report a bad file before reading a long recording
    motion = read_motion(
        options.recording,
        model,
        topics=options.topic,
        motor_topic=options.motor_topic,
        prefix=options.prefix,
        held=dict(options.hold),
        progress=ProgressBar("messages"),
    )
    print(f"{options.recording}:", *motion.used, sep="\n  ")
    actuators = None
    if options.elastic_joints:
        joints = motion.joint_names
        known = dict(zip(model.joint_names, model.joint_types, strict=True)) if model else {}
        types = [known[joint] for joint in joints] if known.keys() >= set(joints) else None
        actuators = load_actuators(options.elastic_joints, joints, types)
    fits, reasons, samples = identify(
        motion,
        torque=options.torque,
        model=model,
        actuators=actuators,
        window=options.window,
        rate=options.rate,
        progress=ProgressBar("springs"),
        law=options.law,
        robust=options.robust,
        bias=options.bias,
    )
    for motor in samples:
        print(fits[motor].describe() if motor in fits else reasons[motor])
    options.output.mkdir(parents=True, exist_ok=True)
    springs, picture = options.output / "springs.yaml", options.output / "springs.png"
    springs.write_text(to_yaml(motion, fits, reasons), encoding="utf-8")
    draw_springs(fits, samples, picture)
    print(f"springs: {springs}, {picture}")
    if motion.problem:
        print(f"multibody_dynamics: {motion.problem}", file=sys.stderr)
    return 0 if fits and not motion.problem else 1
