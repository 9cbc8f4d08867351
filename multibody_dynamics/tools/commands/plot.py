# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `plot`."""

import argparse
from pathlib import Path

from ..base.arguments import numbers

HELP = "Draw a robot: frames, joint axes, masses, and its kinematic tree"
DETAILS = (
    "Shows the robot at the given configuration or, by default, with each joint in the middle of"
    " the part of its range between -1 and 1 rad (m)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    # fmt: off
    add("-o", "--output", metavar="FILE", type=Path, default=Path("model.png"),
        help="picture file; the suffix selects the format (%(default)s)")
    add("--configuration", metavar="Q1,Q2,...", type=numbers,
        help="joint positions, rad or m, in the order of `inspect`")
    add("--view", metavar="ELEVATION,AZIMUTH", type=numbers,
        help="in degrees (that from which the joints are farthest apart)")
    add("--root", metavar="LINK",
        help="draw only what this link carries, with its other joints locked")
    # fmt: on
    add("--tip", metavar="LINK", help="draw only the chain to this link")


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_urdf
    from ...dynamics.core import InputError
    from ..robot.plot_model import save_picture

    model = load_urdf(options.robot, root=options.root, tip=options.tip)
    if options.view is not None and len(options.view) != 2:
        raise InputError(f"--view: expected elevation and azimuth, got {len(options.view)} numbers")
    view = None if options.view is None else (options.view[0], options.view[1])
    save_picture(model, options.output, options.configuration, view=view)
    return 0
