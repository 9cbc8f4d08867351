# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `plot`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import numbers

HELP = "Draw a robot: frames, joint axes, masses, and its kinematic tree"
DETAILS = (
    "Shows the robot at the given configuration or, by default, with each joint in the middle of"
    " the part of its range between -1 and 1 rad (m)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, default=Path("model.png"),
                        help="picture file; the suffix selects the format"
                        " (%(default)s)")  # fmt: skip
    parser.add_argument("--configuration", metavar="Q1,Q2,...", type=numbers,
                        help="joint positions, rad or m, in the order of `inspect`")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_urdf
    from ..robot.plot_model import save_picture

    save_picture(load_urdf(options.robot), options.output, options.configuration)
    return 0
