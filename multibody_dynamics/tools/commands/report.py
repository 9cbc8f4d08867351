# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `report`."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "Write the report of recorded runs again"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="output folder of a demo")


def run(options: argparse.Namespace) -> int:
    from ..base.node_parameters import PARAMETERS
    from ..demo.preparation import CONTROL_FOLDER
    from ..demo.reports import print_results, write_again

    folders = [options.folder / CONTROL_FOLDER]
    if (options.folder / PARAMETERS).is_file() or not folders[0].is_dir():
        folders.insert(0, options.folder)
    return max(
        print_results(write_again(folder), folder)
        for folder in folders
        if folder.is_dir() or folder is folders[0]
    )
