# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `excite`."""

import argparse
import os
from pathlib import Path

from ..base.arguments import call, names, not_negative, numbers, positive, whole

HELP = "Plan motions from which a robot's parameters can be identified well"
DETAILS = (
    "Optimises Fourier series within position, speed, acceleration and torque limits, inside a"
    " box and without self-collisions, and adds runs of single joints. Prints how well each"
    " parameter will be known and writes the trajectories, which trajectory_node sends, with a"
    " summary and a picture. Ctrl-C ends the search with the best motion so far. Exit status 2 if"
    " no motion within the limits was found."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    add("-o", "--output", metavar="DIR", type=Path, required=True,
        help="folder for the trajectories, summary.json and excitation.png")
    add("--overwrite", action="store_true", help="replace the plan in this folder")
    add("--elastic-joints", metavar="YAML", type=Path,
        help="springs and motors: their torque and speed limits then apply, through"
        " the flat map")
    add("--data", metavar="YAML", type=Path,
        help="friction, rotor inertias, payload and corrected inertias, as for"
        " validate")
    add("--runs", metavar="NAME,...", default=(), type=names,
        help="any of fourier, friction, steps, chirps (fourier,friction, and chirps with"
        " --elastic-joints)")
    add("--one-file", action="store_true",
        help="join all runs to one trajectory, with moves in between")
    # motion
    add("--criterion", choices=("log_det", "condition"), default="log_det",
        help="smallest confidence ellipsoid, or smallest condition number"
        " (%(default)s)")
    add("--period", metavar="S", type=positive, default=10.0,
        help="period of the first harmonic, s (%(default)s)")
    add("--harmonics", metavar="N", type=whole(1, 100), default=5,
        help="number of harmonics (%(default)s)")
    add("--repetitions", metavar="N", type=positive, default=2.0,
        help="number of periods (%(default)s)")
    add("--ramp", metavar="S", type=positive, default=1.0,
        help="time to speed up, and to slow down, s (%(default)s)")
    add("--pose", metavar="Q1,Q2,...", type=numbers, default=[],
        help="configuration about which single joints move, rad or m (the middle of the ranges, if"
        " it is free)")
    add("--sample-period", metavar="S", type=positive, default=0.01,
        help="time between the points of a trajectory, s (%(default)s)")
    # limits
    add("--margin", metavar="SHARE", type=float, default=0.1,
        help="share of every limit that is left unused (%(default)s)")
    for name, unit in (("acceleration", "rad/s^2"), ("torque", "N m"), ("torque-rate", "N m/s")):
        add(f"--{name}", metavar="X,...", type=numbers, default=[],
            help=f"one limit for all joints, or one for each, {unit}"
            + (" (effort of the URDF)" if name == "torque" else ""))
    add("--box", metavar="X,Y,Z,X,Y,Z", type=numbers, default=[],
        help="lower and upper corner of a box that links and tool must not leave, m, in the frame"
        " of the base")
    add("--clearance", metavar="M", type=not_negative, default=0.02,
        help="minimum distance between links, m (%(default)s)")
    add("--link-radius", metavar="M", dest="radius", type=positive, default=0.06,
        help="radius of the capsules around links without collision geometry, m"
        " (%(default)s)")
    add("--meshes", metavar="DIR", type=Path, action="append", default=[],
        help="folder that contains packages with collision meshes; may be repeated")
    # noise
    add("--noise", metavar="X,...", type=numbers, default=[],
        help="standard deviation of the measured torques, one for all joints or one for each, N m"
        " (0.5 %% of the torque limit)")
    add("--bits", metavar="N", type=whole(1, 40), default=18,
        help="encoder bits per turn of the joint (%(default)s)")
    add("--rate", metavar="HZ", type=positive, default=100.0,
        help="independent samples per second (%(default)s)")
    # search
    add("--starts", metavar="N", type=whole(1, 100_000), default=8,
        help="number of random starts (%(default)s)")
    add("--iterations", metavar="N", type=whole(1, 1_000_000), default=200,
        help="iterations of each start (%(default)s)")
    add("--seconds", metavar="S", type=positive,
        help="time limit of the optimisation; the result then depends on the speed of"
        " the computer")
    add("--seed", metavar="N", type=whole(0, 2**32 - 1), default=0,
        help="seed of the first start (%(default)s)")
    add("--processes", metavar="N", type=whole(1, 1024), default=os.cpu_count() or 1,
        help="number of processes (all cores)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from math import pi, sqrt

    from ...dynamics.identification import FourierForm
    from ..motions.excitation_files import describe_plan, refuse_existing, remove_plan, write_plan
    from ..motions.excitation_plan import PlanOptions, make_plan

    if not options.overwrite:
        refuse_existing(options.output)
    form = FourierForm(options.period, options.harmonics, options.repetitions, options.ramp)
    encoder = 2.0 * pi / 2**options.bits / sqrt(12.0)
    plan = make_plan(call(PlanOptions, options, form=form, encoder=encoder))
    print(*describe_plan(plan), sep="\n")
    remove_plan(options.output)
    for file in write_plan(plan, options.output):
        print(f"wrote {file}")
    return 130 if plan.excitation is not None and not plan.excitation.is_complete else 0
