# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `identify`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import (
    add_gravity,
    add_hold,
    add_prefix,
    add_topics,
    assignment,
    positive,
    whole,
)

HELP = "Identify links, friction, motors and springs together from recordings"
DETAILS = (
    "Identifies what the recordings determine: inertias of the links, friction of links and motors,"
    " rotors, drive gains, spring laws, damping and delays, with standard errors. Motor torques,"
    " currents, spring torques, link and motor positions are used if they were recorded. A"
    " bag has joint states of the links and, with springs, of the motors; a table has columns t and"
    " for every joint 'q JOINT', 'qd JOINT', 'theta JOINT' of the motor, 'Q JOINT' of a torque"
    " sensor, 'tau JOINT' and 'current JOINT' of the motor (.csv), or arrays of these names and"
    " joint_names (.npz)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recordings", metavar="RECORDING", type=Path, nargs="+",
                        help="rosbag2 folders, .mcap, .db3, .csv or .npz files")  # fmt: skip
    parser.add_argument("--urdf", metavar="ROBOT", type=Path, required=True, help="URDF file")
    parser.add_argument("--elastic-joints", metavar="YAML", type=Path,
                        help="springs and motors as known so far (all joints are"
                        " rigid)")  # fmt: skip
    parser.add_argument("--effort", choices=("joint", "motor"), default="joint",
                        help="side of the springs on which the efforts of a recording without motor"
                        " positions were measured (%(default)s)")  # fmt: skip
    parser.add_argument("--payload", metavar="NAME=KG", type=assignment, action="append",
                        default=[],
                        help="mass of the load carried in the recording of this name, which"
                        " determines drive gains; may be repeated")  # fmt: skip
    parser.add_argument("--payload-body", metavar="BODY",
                        help="body that carries the load (the last one)")  # fmt: skip
    parser.add_argument("--gain", metavar="JOINT=K", type=assignment, action="append", default=[],
                        help="known drive gain, N m/A (the one that explains the currents with the"
                        " masses of the URDF); may be repeated")  # fmt: skip
    parser.add_argument("--held-out", metavar="N", type=whole(0, 10_000),
                        help="number of recordings, counted from the last one, that are not fitted"
                        " but used to test the result (1; for a single recording, its last"
                        " quarter)")  # fmt: skip
    _add_recording(parser)
    _add_model(parser)
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("identified"),
                        help="folder for identified.json, covariance.npz, report.json and"
                        " identification.png (%(default)s)")  # fmt: skip


def _add_recording(parser: argparse.ArgumentParser) -> None:
    """How to read the recordings."""
    add_gravity(parser)
    add_topics(parser, "joint states of the links (all with joints of the robot)")
    add_prefix(parser)
    add_hold(parser)
    parser.add_argument("--cutoff", metavar="HZ", type=positive,
                        help="highest frequency used (estimated from the data: where the motion is"
                        " lost in noise)")  # fmt: skip


def _add_model(parser: argparse.ArgumentParser) -> None:
    """Which parameters there are, and what is known about them."""
    parser.add_argument("--stribeck", action="store_true", help="add a Stribeck term to friction")
    parser.add_argument("--load-friction", action="store_true",
                        help="let Coulomb friction grow with the torque")  # fmt: skip
    parser.add_argument("--no-links", action="store_true",
                        help="keep the inertias of the URDF")  # fmt: skip
    parser.add_argument("--no-delays", action="store_true",
                        help="assume that torques were recorded without delay")  # fmt: skip
    parser.add_argument("--prior", metavar="X", type=positive, default=0.5,
                        help="expected relative error of the inertias in the URDF, as a standard"
                        " deviation (%(default)s)")  # fmt: skip
    parser.add_argument("--mass-range", metavar="X", type=positive, default=0.5,
                        help="keep the mass of each link within a factor of 1 + X of that in the"
                        " URDF (%(default)s)")  # fmt: skip
    parser.add_argument("--spectral", action="store_true",
                        help="weight every frequency by the inverse of the residuals' power there;"
                        " for models that are exact up to noise")  # fmt: skip
    parser.add_argument("--keep-outliers", action="store_true",
                        help="fit all samples, even those that do not follow the"
                        " equations")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ..recordings.joint_identification import identify_recordings

    return identify_recordings(options)
