# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `torque-report`."""

import argparse
from math import pi
from pathlib import Path

from ..base.arguments import call, not_negative, numbers, positive

HELP = "Report how well the joints with springs can act as torque sources"
DETAILS = (
    "Designs three torque controllers for every joint with a spring (inertia shaping, disturbance"
    " observer, LQR), compares bandwidth, impedance at the link, passivity, noise and delay margin"
    " for the given sampling, delay and filters, and shows how large a torque the motor can deliver"
    " at each frequency. Exit status 1 if a design would be unstable."
)
BITS = 18


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    add("--elastic-joints", metavar="YAML", type=Path, required=True, help="springs and motors")
    # fmt: off
    add("-o", "--output", metavar="DIR", type=Path,
        help="write report.html, report.json and a picture per joint")
    add("--rate", metavar="HZ", type=positive, default=1000.0,
        help="rate of the torque loop (%(default)s)")
    add("--delay", metavar="MS", type=not_negative, default=1.0,
        help="delay from a measurement to its torque, ms (%(default)s)")
    add("--filter", metavar="HZ", type=positive, default=100.0,
        help="bandwidth of the velocity filter of order 3 (%(default)s)")
    add("--resolution", metavar="RAD", type=positive, default=2.0 * pi / 2**BITS,
        help="resolution of link and motor encoders, link side, rad or m"
        f" ({BITS} bits per turn)")
    add("--bandwidth", metavar="RAD/S", type=positive,
        help="bandwidth of all designs (as high as springs, delay and filter allow)")
    add("--friction", metavar="SHARE", type=not_negative, default=1.0,
        help="share of the viscous friction that is compensated (%(default)s)")
    add("--position", metavar="Q", type=numbers,
        help="position of all joints, comma-separated, rad or m (the middle of the"
        " joint limits)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_actuators
    from ...dynamics.control import LoopTiming
    from ...dynamics.core import InputError
    from ..robot import inspection
    from ..robot.torque_page import write_torque_report
    from ..robot.torque_report import lines, torque_report

    model, _ = inspection.load(options.robot, options.elastic_joints)
    actuators = load_actuators(options.elastic_joints, model.joint_names, model.joint_types)
    if options.friction > 1.0:
        raise InputError(f"--friction is {options.friction:g}: must be from 0 to 1")
    timing = LoopTiming(
        period=1.0 / options.rate, delay=1e-3 * options.delay, velocity_filter=(3, options.filter)
    )
    position = model.limits.middle if options.position is None else options.position
    report = call(
        torque_report, options, model=model, actuators=actuators, position=position, timing=timing
    )
    print(*lines(report), sep="\n")
    if options.output:
        print(f"\nreport: {write_torque_report(report, options.output)}")
    return 1 if report.refused else 0
