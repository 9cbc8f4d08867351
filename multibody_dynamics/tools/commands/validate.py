# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `validate`."""

import argparse
from pathlib import Path

from ..base.arguments import add_reading, add_view, names, positive, whole

HELP = "Compare recorded torques with those of the robot's model, and write a report"
DETAILS = (
    "Filters and differentiates the recorded motion without lag, predicts Q, Q' and Q'', and"
    " reports their deviation from the measured efforts. A table has columns t, and for every joint"
    " 'q JOINT', 'tau JOINT' and, if known, 'qd JOINT' (.csv), or arrays t, q, tau, qd, joint_names"
    " (.npz)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("recordings", metavar="BAG", type=Path, nargs="+",
        help="rosbag2 folders, .mcap, .db3, .csv or .npz files")
    add("--urdf", metavar="ROBOT", type=Path, required=True, help="URDF file")
    add("--data", metavar="YAML", type=Path,
        help="friction, rotor inertias, payload and corrected inertias")
    add("--elastic-joints", metavar="YAML", type=Path,
        help="springs and motors, for --effort motor")
    # how to read the recordings
    add("--effort", choices=("joint", "motor"), default="joint",
        help="side of the springs on which efforts were measured"
        " (%(default)s)")
    add_reading(parser, "joint states (all in the bag)", "motor efforts, for --effort motor")
    # how to filter and compare
    add("--cutoff", metavar="HZ", type=positive,
        help="cut-off of the zero-phase filter (estimated from the data: up to where the motion is"
        " well above the noise)")
    add("--rate", metavar="HZ", type=positive,
        help="compared samples per second (eight times the cut-off)")
    add("--from-positions", action="store_true", help="ignore recorded velocities")
    # which parameters to fit first
    add("--identify", metavar="KINDS", default=(), type=names,
        help="comma-separated list of friction, payload, inertia: fit these on the first part, then"
        " evaluate the rest")
    add("--train", metavar="SHARE", type=float, default=0.5,
        help="share of the recording used for fitting (%(default)s)")
    add("--payload-body", metavar="BODY", help="body that carries the payload (the last one)")
    # what to write, when to fail, and where to compute
    add("--max-nrms", metavar="X", type=positive,
        help="exit with status 1 if the normalised error of Q is larger for any joint")
    add_view(parser, "write pages that play the recordings")
    add("--bag", action="store_true", help="write a bag of measured and predicted torques")
    add("--live", action="store_true",
        help="also replay the recording through the feedforward node over DDS, and compare the node"
        " with the library")
    add("--live-rate", metavar="X", type=positive, default=1.0,
        help="speed of the replay relative to the recording (%(default)s)")
    add("--processes", metavar="N", type=whole(1, 1024), default=1,
        help="number of parallel processes for several recordings (%(default)s)")
    add("--dask", metavar="ADDRESS", default="",
        help="scheduler of a Dask cluster, for several recordings")
    add("-o", "--output", metavar="FOLDER", type=Path, default=Path("validation"),
        help="folder for report.html, .md, .json and pictures (%(default)s)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ..recordings.torque_comparison import compare

    if options.view:
        from ..view.viewing import require_viser

        require_viser()
    status = compare(options)
    if options.view:
        from ..view.viewing import write_recordings

        write_recordings(options)
    return status
