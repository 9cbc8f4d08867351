# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `identify`."""

import argparse
from pathlib import Path

from ..base.arguments import add_reading, assignment, positive, whole

HELP = "Identify links, friction, motors and springs together from recordings"
DETAILS = (
    "Identifies what the recordings determine: inertias of the links, friction of links and motors,"
    " rotors, drive gains, spring laws, damping and delays, with standard errors. Motor torques,"
    " currents, spring torques, link and motor positions are used if they were recorded. A"
    " bag has joint states of the links and, with springs, of the motors; a table has columns t and"
    " for every joint 'q JOINT', 'qd JOINT', 'theta JOINT' of the motor, 'Q JOINT' of a torque"
    " sensor, 'tau JOINT' and 'current JOINT' of the motor (.csv), or arrays of these names and"
    " joint_names (.npz). --only springs fits the law of every spring alone, torque over"
    " deflection, to one recording with link and motor positions, which may also be one of the"
    " demo. Ctrl-C after the first fit ends the search with the results so far."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("recordings", metavar="RECORDING", type=Path, nargs="+",
        help="rosbag2 folders, .mcap, .db3, .csv or .npz files")
    add("--only", choices=("springs",), help="fit only the springs, each alone")
    add("--urdf", metavar="ROBOT", type=Path,
        help="URDF file; required, except with --only springs and torques of sensors"
        " or motors")
    add("--elastic-joints", metavar="YAML", type=Path,
        help="springs and motors as known so far (all joints are rigid)")
    add_reading(parser, "joint states of the links (all with joints of the robot; with --only"
                " springs, the one named joint_states)")
    add("-o", "--output", metavar="FOLDER", type=Path,
        help="folder for identified.json, covariance.npz, report.json and identification.png"
        " (identified), or for springs.yaml and springs.png (springs)")
    add = parser.add_argument_group("links, friction, motors and springs together").add_argument
    add("--effort", choices=("joint", "motor"), default="joint",
        help="side of the springs on which the efforts of a recording without motor positions were"
        " measured (%(default)s)")
    add("--payload", metavar="NAME=KG", type=assignment, action="append", default=[],
        help="mass of the load carried in the recording of this name, which determines drive gains;"
        " may be repeated")
    add("--payload-body", metavar="BODY", help="body that carries the load (the last one)")
    add("--gain", metavar="JOINT=K", type=assignment, action="append", default=[],
        help="known drive gain, N m/A (the one that explains the currents with the masses of the"
        " URDF); may be repeated")
    add("--held-out", metavar="N", type=whole(0, 10_000),
        help="number of recordings, counted from the last one, that are not fitted but used to test"
        " the result (1; for a single recording, its last quarter)")
    add("--cutoff", metavar="HZ", type=positive,
        help="highest frequency used (estimated from the data: where the motion is"
        " lost in noise)")
    add("--stribeck", action="store_true", help="add a Stribeck term to friction")
    add("--load-friction", action="store_true", help="let Coulomb friction grow with the torque")
    add("--no-links", action="store_true", help="keep the inertias of the URDF")
    add("--no-delays", action="store_true", help="assume that torques were recorded without delay")
    add("--prior", metavar="X", type=positive, default=0.5,
        help="expected relative error of the inertias in the URDF, as a standard deviation"
        " (%(default)s)")
    add("--mass-range", metavar="X", type=positive, default=0.5,
        help="keep the mass of each link within a factor of 1 + X of that in the URDF"
        " (%(default)s)")
    add("--spectral", action="store_true",
        help="weight every frequency by the inverse of the residuals' power there; for models that"
        " are exact up to noise")
    add("--keep-outliers", action="store_true",
        help="fit all samples, even those that do not follow the equations")
    add = parser.add_argument_group("--only springs").add_argument
    add("--torque", choices=("sensor", "links", "motors"), default="",
        help="source of the joint torque: %(choices)s (the sensor if recorded, else"
        " the links)")
    add("--law", choices=("auto", "linear", "cubic", "polynomial", "table"), default="auto",
        help="spring law: %(choices)s; auto selects by BIC")
    add("--window", metavar="S", type=positive,
        help="time window for smoothing and differentiating the motion, s (at least 0.03; from the"
        " noise of the positions)")
    add("--rate", metavar="HZ", type=positive,
        help="fitted samples per second (all that were recorded)")
    add("--robust", action="store_true", help="reject outliers")
    add("--no-bias", dest="bias", action="store_false",
        help="assume that the torque has no constant error")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    if options.only == "springs":
        from ..recordings.spring_fits import identify_springs

        return identify_springs(options)
    from ..recordings.joint_identification import identify_recordings

    return identify_recordings(options)
