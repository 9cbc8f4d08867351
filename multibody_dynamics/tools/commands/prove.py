# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `prove`."""

import argparse
import os
from pathlib import Path

from ..base.arguments import add_plant, add_reading, call, names, positive, selection_of, whole

HELP = "Prove an identified model: validation, predicted control errors, and one report"
DETAILS = (
    "Compares the data sheet and the identified model with recordings that were not used for the"
    " fit, draws robots from the remaining uncertainty of the identified parameters, and lets the"
    " control laws of the study drive them along a motion. report.html covers the whole procedure:"
    " excitation, recordings, every parameter, validation, predicted errors, a recommended law, and"
    " the files from which all this follows. Steps that are missing are named, with the command to"
    " run. Exit status 1 if, on average over the joints, the identified model does not agree better"
    " with the recordings than the data sheet."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("recordings", metavar="RECORDING", type=Path, nargs="*",
        help="recordings that were not used for the fit, in the formats of validate")
    add("--urdf", metavar="ROBOT", type=Path, required=True,
        help="URDF file that was given to identify")
    add("--elastic-joints", metavar="YAML", type=Path,
        help="file of springs and motors that was given to identify")
    add("--identified", metavar="FOLDER", type=Path, default=Path("identified"),
        help="output folder of identify (%(default)s)")
    add("--excitation", metavar="FOLDER", type=Path, action="append", default=[],
        help="output folder of excite, for the report; may be repeated")
    add("--written", metavar="FOLDER", type=Path,
        help="output folder of write-back, for the report")
    # what to simulate
    add("--initial-error", dest="stated", metavar="SHARE", type=positive, default=0.2,
        help="relative error of every parameter of the data sheet, for the case before the"
        " identification (%(default)s)")
    add("--motion", metavar="FILE", type=Path,
        help="trajectory to follow, .csv, .yaml or a bag, from rest to rest (a fast motion within"
        " the limits)")
    add("--laws", metavar="NAME,...", type=names,
        help="laws of the command study; the default law is always included"
        " (pd-full-comp,pd-full,pd-integral,sf-full-comp,sf-full)")
    add("--draws", metavar="N", type=whole(0, 100_000), default=20,
        help="number of robots drawn for each case; 0: no simulation (%(default)s)")
    add_plant(parser)
    add("--bits", metavar="N", type=whole(1, 40), default=18,
        help="encoder bits per turn of the joint (%(default)s)")
    add("--rate", metavar="HZ", type=positive, default=1000.0,
        help="control cycles per second (%(default)s)")
    add("--seed", metavar="N", type=whole(0, 2**32 - 1), default=0,
        help="seed of all random numbers (%(default)s)")
    add("--workers", metavar="N", type=whole(1, 1024), default=os.cpu_count() or 1,
        help="processes (one per core)")
    # how to read the recordings
    add("--effort", choices=("joint", "motor"), default="",
        help="side of the springs on which the efforts to compare were measured"
        " (motor for a robot with springs, else joint)")
    add_reading(parser, "joint states (all in the bag)", "motor efforts")
    add("--cutoff", metavar="HZ", type=positive,
        help="cut-off of the zero-phase filter (estimated from the"
        " data)")
    add("-o", "--output", metavar="FOLDER", type=Path, default=Path("proof"),
        help="folder for report.html and proof.json (%(default)s)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ..proof.known_robots import RobotFiles
    from ..proof.predicted_control import LAWS, Proof
    from ..proof.proof import prove

    files = RobotFiles(options.urdf, options.elastic_joints, options.identified, options.gravity)
    options.laws = options.laws or LAWS
    reading = {"effort": options.effort, "cutoff": options.cutoff, **vars(selection_of(options))}
    found = call(
        prove,
        options,
        files=files,
        proof=call(Proof, options, files=files) if options.draws else None,
        reading=reading,
        plans=tuple(options.excitation),
        folder=options.output,
    )
    print(*found.lines, sep="\n")
    print(f"\nreport: {found.page}")
    return 0 if found.is_better else 1
