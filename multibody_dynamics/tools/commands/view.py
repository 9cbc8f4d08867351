# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `view`."""

import argparse
from pathlib import Path

from ..base.arguments import add_reading, namespace, numbers, positive, whole

HELP = "Show a robot in the browser: a pose, a recording, a planned motion or running nodes"
DETAILS = (
    "SOURCE is a URDF file, whose joints sliders move; or a recording (bag, .csv, .npz), a"
    " trajectory (.csv, .yaml, bag) or the output folder of a demo, which are played. Without it,"
    " the topics of running nodes are shown. Links are solid, motors a transparent twin with"
    " magnified deflections; colours show the joint torques relative to their limits. Runs until"
    " Ctrl-C. Requires the extra `view`."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("source", metavar="SOURCE", type=Path, nargs="?",
        help="URDF file, recording, trajectory or folder of a demo (running nodes)")
    add("--urdf", metavar="ROBOT", type=Path,
        help="URDF file of the robot (that of the demo or, for running nodes, the topic"
        " robot_description)")
    add("--elastic-joints", metavar="YAML", type=Path, help="springs and motors, for the twin")
    add("--meshes", metavar="FOLDER", type=Path, action="append", default=[],
        help="folder with mesh files, or with packages that contain them; may be"
        " repeated")
    add("--configuration", metavar="Q1,Q2,...", type=numbers,
        help="where the sliders begin, rad or m, in the order of `inspect` (the middle of each"
        " range)")
    add("--page", metavar="FILE.html", type=Path,
        help="write the motion as a page that needs no server")
    add("--magnify", metavar="X", type=positive, default=10.0,
        help="factor on the deflections of the springs (%(default)g)")
    add("--cutoff", metavar="HZ", type=positive,
        help="of the filter that differentiates recorded positions, where Q, Q' and Q'' were not"
        " recorded (8)")
    add("--namespace", type=namespace, default="", help="namespace of the topics of running nodes")
    add("--timeout", metavar="S", type=positive, default=10.0,
        help="time to wait for a robot_description, s (%(default)g)")
    add("--host", default="127.0.0.1",
        help="address to serve; 0.0.0.0 lets other computers see it (%(default)s)")
    add("--port", metavar="N", type=whole(1, 65535), default=8080,
        help="port; the next free one is used (%(default)s)")
    # fmt: on
    add("--duration", metavar="S", type=positive, help="end after this time, s (with Ctrl-C)")
    add_reading(parser, "positions of the joints (those named joint_states)")


def run(options: argparse.Namespace) -> int:
    from ..view.viewing import view

    return view(options)
