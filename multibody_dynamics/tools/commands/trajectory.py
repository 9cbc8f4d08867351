# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `trajectory`."""

import argparse
from pathlib import Path

from ..base.arguments import add_motion

HELP = "Compare the demo motion of a robot with its limits"
DETAILS = "trajectory_node sends this motion to a robot."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    add_motion(parser)
    parser.add_argument("--csv", metavar="FILE", type=Path,
                        help="write t and q..q'''' of every joint, every 10 ms")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_urdf
    from ..motions.demo_motion import demo_motion, describe, write_csv

    model = load_urdf(options.robot)
    motion = demo_motion(model, options.trajectory, options.duration or 8.0)
    print(*describe(model, motion), sep="\n")
    if options.csv:
        write_csv(model, motion, options.csv)
    return 0
