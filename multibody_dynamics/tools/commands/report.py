# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `report`."""

import argparse
from pathlib import Path

HELP = "Write the report of recorded runs again"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="output folder of a demo")


def run(options: argparse.Namespace) -> int:
    from ..base.node_parameters import CONTROLLER, PARAMETERS, read_parameters
    from ..demo.control_report import write_control_report
    from ..demo.page import print_results
    from ..demo.preparation import CONTROL_FOLDER
    from ..demo.report import write_report

    folders = [options.folder / CONTROL_FOLDER]
    if (options.folder / PARAMETERS).is_file() or not folders[0].is_dir():
        folders.insert(0, options.folder)
    statuses = []
    for folder in folders:
        if not folder.is_dir() and folder is not folders[0]:
            continue
        file = folder / PARAMETERS
        is_of_laws = file.is_file() and CONTROLLER in read_parameters(file)
        write = write_control_report if is_of_laws else write_report
        statuses.append(print_results(write(folder), folder))
    return max(statuses)
