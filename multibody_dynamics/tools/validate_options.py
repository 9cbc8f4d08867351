"""The options of `multibody_dynamics validate`; imports nothing, for --help to be at once there."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "recordings",
        metavar="BAG",
        type=Path,
        nargs="+",
        help="rosbag2 folders, .mcap, .db3, .csv or .npz files",
    )
    parser.add_argument("--urdf", metavar="ROBOT", type=Path, required=True, help="URDF file")
    parser.add_argument(
        "--data",
        metavar="YAML",
        type=Path,
        help="file of friction, rotor inertias, payload, other inertias",
    )
    parser.add_argument(
        "--elastic-joints",
        metavar="YAML",
        type=Path,
        help="file of springs and motors, for --effort motor",
    )
    parser.add_argument(
        "--effort",
        choices=("joint", "motor"),
        default="joint",
        help="on which side of the springs efforts were measured (%(default)s)",
    )
    parser.add_argument(
        "--gravity",
        metavar="G",
        type=float,
        default=9.81,
        help="gravity along -z of the base, m/s² (%(default)s)",
    )
    parser.add_argument(
        "--topic",
        metavar="NAME",
        action="append",
        default=[],
        help="topic with joint states (all that are there); may be repeated",
    )
    parser.add_argument(
        "--motor-topic",
        metavar="NAME",
        default="",
        help="topic with the efforts of motors, for --effort motor (that called motor_states)",
    )
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        default="",
        help="what recorded joint names have before those of the URDF",
    )
    parser.add_argument(
        "--hold",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        help="where a joint stood that was not recorded; may be repeated",
    )
    parser.add_argument(
        "--cutoff",
        metavar="HZ",
        type=float,
        help="cut-off of the zero-phase filter (from the data: where they sink into noise)",
    )
    parser.add_argument(
        "--rate",
        metavar="HZ",
        type=float,
        help="compared samples per second (eight times the cut-off)",
    )
    parser.add_argument(
        "--from-positions", action="store_true", help="leave recorded velocities aside"
    )
    parser.add_argument(
        "--identify",
        metavar="KINDS",
        default="",
        help="fit some of friction,payload,inertia on the first part, judge the rest",
    )
    parser.add_argument(
        "--train",
        metavar="SHARE",
        type=float,
        default=0.5,
        help="share of the recording that is fitted on (%(default)s)",
    )
    parser.add_argument(
        "--payload-body", metavar="BODY", help="body that carries the payload (the last one)"
    )
    parser.add_argument(
        "--max-nrms",
        metavar="X",
        type=float,
        help="exit status 1 if a joint has a larger normalised error of Q",
    )
    parser.add_argument(
        "--bag", action="store_true", help="write a bag of measured and predicted torques"
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="replay through the feedforward node over DDS, too, and check it against the library",
    )
    parser.add_argument(
        "--live-rate",
        metavar="X",
        type=float,
        default=1.0,
        help="replay so many times as fast as recorded (%(default)s)",
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=1,
        help="processes in parallel, for several recordings (%(default)s)",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        default="",
        help="scheduler of a Dask cluster, for several recordings",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        type=Path,
        default=Path("validation"),
        help="folder for report.html, .md, .json and pictures (%(default)s)",
    )
