# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reports of both kinds of demo: write one again from its recordings, and print its results."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.node_parameters import CONTROLLER, PARAMETERS, read_parameters
from .control_report import write_control_report
from .page import error_unit
from .report import write_report


def write_again(folder: Path) -> dict[str, Any]:
    """Write the report that fits the parameters in a folder, and return its contents."""
    file = folder / PARAMETERS
    is_of_laws = file.is_file() and CONTROLLER in read_parameters(file)
    return (write_control_report if is_of_laws else write_report)(folder)


def print_results(report: Mapping[str, Any], folder: Path) -> int:
    """Print the results in a few lines and return the exit status."""
    unit = error_unit(report["joint types"])
    for variant, run in report["runs"].items():
        if run["stopped"]:
            print(f"{variant:<32}stopped")
            continue
        ratio = report["ratios of rms errors"].get(variant)
        print(
            f"{variant:<32}rms {1e3 * run['tracking error rms']:9.5f}"
            f"   peak {1e3 * run['tracking error peak']:9.5f} {unit}"
            + (f"   {ratio:8,.1f} times the rms of full" if ratio else "")
        )
    for problem in report["problems"]:
        print(f"multibody_dynamics: {problem}", file=sys.stderr)
    print(f"report: {folder / 'report.md'}")
    return 1 if report["problems"] else 0
