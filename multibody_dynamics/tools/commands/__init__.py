# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The commands, one file each. A command `scale-time` is a module `scale_time` with

    HELP                   one line for `multibody_dynamics --help`, without a full stop
    DETAILS                sentences that follow it in `multibody_dynamics scale-time --help`
    add_arguments(parser)  declares its arguments
    run(options)           does the work and returns the exit status

To add one, write its module and add the module's name to COMMANDS. Anything slow to import (NumPy,
ROS, Matplotlib, the dynamics) is imported inside `run`, which keeps --help fast and free of ROS.
"""

import argparse
from importlib import import_module
from typing import Protocol, cast

COMMANDS = (  # in the order of --help
    "demo",
    "task_demo",
    "report",
    "inspect",
    "torque_report",
    "study",
    "gazebo",
    "loop",
    "compose",
    "send_pose",
    "monitor",
    "plot",
    "view",
    "generate",
    "trajectory",
    "excite",
    "record",
    "record_demo",
    "validate",
    "identify",
    "identify_springs",
    "write_back",
    "prove",
    "collision_thresholds",
    "scale_time",
    "stream",
)


class Command(Protocol):
    """The interface of every module in this package."""

    HELP: str
    DETAILS: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


def load(name: str) -> Command:
    """Import the module of a command."""
    return cast(Command, import_module(f"{__name__}.{name}"))
