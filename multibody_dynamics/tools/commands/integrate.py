# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `integrate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import positive, whole

HELP = "Integrate rigid bodies in absolute coordinates on SE(3) and on SO(3) x R^3"
DETAILS = (
    "SYSTEM is a YAML file, see docs/lie_group_integration.md, or one of the examples heavy_top,"
    " spherical_double_pendulum, floating_bodies, three_bar_linkage. Plots the violation of the"
    " constraints and the drift of the energy, both groups in one figure, and writes the states of"
    " each group."
)
METHODS = ("euler", "rk2", "heun", "rk3", "rk4", "dormand_prince", "generalized_alpha")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="YAML file, or name of an example")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, default=Path("integration"),
                        help="folder for all files (%(default)s)")  # fmt: skip
    parser.add_argument("--group", choices=("SE3", "SO3xR3", "both"), default="both",
                        help="configuration space of the bodies: %(choices)s"
                        " (%(default)s)")  # fmt: skip
    parser.add_argument("--duration", metavar="S", type=positive, default=1.0,
                        help="duration of the motion, s (%(default)s)")  # fmt: skip
    parser.add_argument("--step", metavar="S", type=positive, default=1e-3,
                        help="step size, s (%(default)s)")  # fmt: skip
    parser.add_argument("--method", choices=METHODS, default="rk4",
                        help="integration method: %(choices)s (%(default)s)")  # fmt: skip
    parser.add_argument("--tolerance", metavar="E", type=positive,
                        help="relative error tolerance of the adaptive step size (dormand_prince);"
                        " --step is then the interval of the output")  # fmt: skip
    parser.add_argument("--every", metavar="N", type=whole(1, 10**9), default=1,
                        help="keep one step in N (%(default)s)")  # fmt: skip
    parser.add_argument("--baumgarte", metavar="RATE", type=positive,
                        help="stabilise the constraints at this rate, 1/s (none)")  # fmt: skip
    parser.add_argument("--project", action="store_true",
                        help="project onto the constraints after every step")  # fmt: skip
    parser.add_argument("--project-start", action="store_true",
                        help="start from the nearest state that satisfies the"
                        " constraints")  # fmt: skip
    parser.add_argument("--format", choices=("npz", "csv"), default="npz",
                        help="file format of the states: %(choices)s (%(default)s)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ..motions.integration import GROUPS, Scheme, draw, find_system, integrate, write_states

    results = integrate(
        find_system(options.system),
        GROUPS if options.group == "both" else (options.group,),
        options.duration,
        Scheme(
            options.method,
            options.step,
            relative_tolerance=options.tolerance,
            every=options.every,
            baumgarte=options.baumgarte,
            project=options.project,
        ),
        project_start=options.project_start,
    )
    options.output.mkdir(parents=True, exist_ok=True)
    files = [options.output / f"states_{group}.{options.format}" for group in results]
    for file, result in zip(files, results.values(), strict=True):
        write_states(result, file)
    print("written:", *files, *draw(results, options.output))
    return 0
