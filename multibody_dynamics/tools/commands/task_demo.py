# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `task-demo`."""

import argparse
from pathlib import Path

from ..base.arguments import add_domain

HELP = "Move the hand of an arm with elastic joints through a sequence of poses, over ROS 2"
DETAILS = (
    "Simulator and task_space_node run as separate processes. Writes task_space.png with the path,"
    " its error and the torques, and the key figures to task_space.json."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FOLDER", type=Path, default=Path("task_demo"),
                        help="folder for picture and key figures (%(default)s)")  # fmt: skip
    add_domain(parser)


def run(options: argparse.Namespace) -> int:
    from ...reporting.tables import text_table
    from ..demo.task_demo import run_task_demo

    print("panda, 7 joints; the very first start takes a minute to compile")
    figures = run_task_demo(options.output, domain_id=options.domain_id)
    print("\n".join(text_table(("", "result"), figures.items())))
    print(f"picture: {options.output / 'task_space.png'}")
    return 0
