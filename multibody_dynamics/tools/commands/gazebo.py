# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `gazebo`."""

import argparse
from pathlib import Path

from ..base.arguments import call, namespace

HELP = "Convert a robot with springs for Gazebo and ros2_control"
DETAILS = (
    "Each joint becomes a motor and a spring in series, see docs/gazebo.md. Writes plant.urdf with"
    " its ros2_control tags, links.urdf and springs.yaml for the controller, and controllers.yaml."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    # fmt: off
    add("--elastic-joints", metavar="YAML", type=Path, required=True,
        help="file of linear springs and motors")
    add("--initial", metavar="Q1,Q2,...", default="",
        help="initial link positions, rad (0, or the nearest position within the"
        " limits)")
    add("--lock", metavar="JOINT=POSITION,...", default="",
        help="joints to fix, such as those of a gripper, rad or m; joints that follow them are"
        " fixed, too")
    add("--namespace", type=namespace, default="", help="namespace of the controller manager")
    add("--prefix", default="", help="prefix for the names of joints and links")
    add("-o", "--output", metavar="FOLDER", type=Path, default=Path("gazebo_robot"),
        help="folder for the files (%(default)s)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ..robot.gazebo import prepare

    files = call(prepare, options, folder=options.output)
    print("written:", files.plant, files.links, files.springs, files.controllers)
    return 0
