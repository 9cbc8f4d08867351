# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `record-demo`."""

import argparse
from pathlib import Path

from ..base.arguments import namespace

HELP = "Record the nodes of launch/demo.launch.py, and write the report"
DETAILS = "The launch file runs it; to record a robot, use `record`."
VARIANTS = ("full", "quasi_static", "rigid")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, help="folder with the parameters.yaml of the nodes")
    add("--variant", choices=VARIANTS, default="full",
        help="variant of the running feedforward (%(default)s)")  # fmt: skip
    add("--namespace", type=namespace, default="", help="namespace of the nodes")


def run(options: argparse.Namespace) -> int:
    from ..demo.page import print_results
    from ..demo.runs import record_launched

    report = record_launched(options.folder, options.variant, options.namespace)
    return print_results(report, options.folder)
