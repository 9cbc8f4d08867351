# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `study`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...simulation import PLANTS
from ..base.arguments import add_view, names, numbers, whole

if TYPE_CHECKING:
    from ..study.study_plan import Study
    from ..study.study_tables import StudyTables

HELP = "Study how robust the control laws are, and write a report"
DETAILS = (
    "Simulates the laws on three robots, or on your own, with equally noisy torques: with"
    " wrong models, delays, irregular periods, hits, a payload, coarse encoders, at 500 Hz and at"
    " lower speeds. A run that deviates by 0.2 rad from its reference or keeps oscillating is lost"
    " and yields no error."
    " The results do not depend on the number of processes. The whole study takes over an hour on"
    " two cores, --quick one to two minutes; after Ctrl-C, study.json has what was done."
)
CHOICES = ("robots", "urdf", "springs", "stiffnesses", "laws", "conditions", "plant", "draws",
           "seed", "is_quick")  # fmt: skip
"""The options that choose what to study: arguments of chosen_study."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("-o", "--output", metavar="DIR", type=Path, default=Path("study"),
        help="folder for report.html, study.json and study.csv (%(default)s)")
    add("--quick", dest="is_quick", action="store_true",
        help="a first look: the Panda with the given springs, the main laws, two draws, and the"
        " conditions exact, error, delay and contact")
    add("--results", metavar="JSON", type=Path, nargs="+",
        help="do not simulate: merge these study.json files, and write report and"
        " tables again")
    # what to study
    add("--robots", metavar="NAME", type=names, default=None,
        help="comma-separated: panda, six_joint_arm, antagonistic; or all (all)")
    add("--urdf", metavar="ROBOT.urdf", type=Path,
        help="your own robot instead, with --elastic-joints")
    add("--elastic-joints", dest="springs", metavar="YAML", type=Path,
        help="its springs and motors")
    add("--stiffness", dest="stiffnesses", metavar="FACTORS", type=numbers,
        help="comma-separated factors of the stiffness of all springs (0.5,1,5)")
    add("--laws", metavar="NAME", type=names,
        help="comma-separated names of laws, or of their variants (an unknown one lists them);"
        " main; or all (all). The default law is always included")
    add("--conditions", metavar="NAME", type=names,
        help="comma-separated: exact, error, parts, delay, jitter, contact, encoders, rate, speed,"
        " effects; or all (all)")
    add("--plant", choices=(*PLANTS, "both"), default="internal",
        help="simulator; with both, MuJoCo repeats exact, error and contact of the main laws"
        " (%(default)s)")
    add_view(parser, "write a page ROBOT.html that plays the motion of each studied robot")
    add("--draws", metavar="N", type=whole(1, 100_000),
        help="random models per row of the main laws with errors in all parameters; a fifth of"
        " this, but at least two, in other rows (20)")
    add("--seed", metavar="N", type=whole(0, 2**32 - 1), default=0,
        help="seed of all random numbers (%(default)s)")
    add("--workers", metavar="N", type=whole(1, 1024), default=os.cpu_count() or 1,
        help="processes (one per core)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ..study.study_files import read_tables, write_tables
    from ..study.study_page import summary, write_report

    if options.view:
        from ..view.viewing import require_viser

        require_viser()
    tables = read_tables(options.results) if options.results else _simulated(options)
    write_tables(tables, options.output)
    page = write_report(tables, options.output)
    print(*summary(tables), sep="\n")
    print(f"\nreport: {page}")
    if options.view:
        _write_motions(tables.study, options.output)
    return 0


def _write_motions(study: Study, folder: Path) -> None:
    """A page for the motion of each robot, with the springs for which most conditions are run."""
    from ..study.studied_robots import load_arm
    from ..view.viewed_motion import planned
    from ..view.viewer_page import write_motion

    for source in study.robots:
        arm = load_arm(source, study.given)
        motion = planned(source.title, arm.motion, arm.model, arm.actuators)
        page = write_motion(source.urdf, arm.model, motion, folder / f"{source.name}.html")
        print(f"motion: {page}")


def _simulated(options: argparse.Namespace) -> StudyTables:
    from time import monotonic

    from ..study.study_files import origin, write_tables
    from ..study.study_plan import StudyResults, chosen_study, planned_runs, run_study
    from ..study.study_tables import StudyTables

    study = chosen_study(**{name: getattr(options, name) for name in CHOICES})
    options.output.mkdir(parents=True, exist_ok=True)  # fail now, not after an hour
    count = len(planned_runs(study))
    print(f"{count} runs in {options.workers} processes", file=sys.stderr)
    results, began = StudyResults(), monotonic()

    def tables() -> StudyTables:
        return StudyTables(study, results, origin(monotonic() - began))

    try:
        run_study(study, options.workers, results)
    except KeyboardInterrupt:
        if not results.calibrations:
            raise
        write_tables(tables(), options.output)
        file = options.output / "study.json"
        raise KeyboardInterrupt(
            f"{len(results.runs)} of {count} runs are in {file}, and study --results {file} writes"
            " their report"
        ) from None
    return tables()
