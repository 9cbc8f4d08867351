"""The command `record`."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "Record nodes that were started elsewhere, and write the report"
DETAILS = "Used by launch/demo.launch.py."
VARIANTS = ("full", "quasi_static", "rigid")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path,
                        help="folder with the parameters.yaml of the nodes")  # fmt: skip
    parser.add_argument("--variant", choices=VARIANTS, default="full",
                        help="variant of the running feedforward (%(default)s)")  # fmt: skip
    parser.add_argument("--namespace", default="", help="namespace of the nodes")


def run(options: argparse.Namespace) -> int:
    from ..demo.reports import print_results
    from ..demo.runs import record_launched

    report = record_launched(options.folder, options.variant, options.namespace)
    return print_results(report, options.folder)
