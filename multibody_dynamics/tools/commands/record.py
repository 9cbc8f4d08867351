# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `record`."""

import argparse
from pathlib import Path

from ..base.arguments import call, namespace, positive

HELP = "Record topics of a running robot in a bag, and count lost messages"
DETAILS = (
    "Writes a rosbag2 folder in MCAP format. Without TOPICS: joint_states, motor_states,"
    " motor_torque, robot_description, and all topics called commands or motor_torque in any node."
    " Ends after --duration or with Ctrl-C; exits with status 1 if a message was lost, a topic was"
    " not published, or the disk could not be written."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("topics", metavar="TOPICS", nargs="*",
        help="names, or patterns such as '*/commands', relative to the namespace")
    add("-o", "--output", metavar="BAG", type=Path, required=True,
        help="folder of the bag, which must not exist yet")
    add("--duration", metavar="S", type=positive,
        help="end after this long, counted from the first message, s")
    add("--all", action="store_true", help="record all topics in the namespace")
    add("--namespace", type=namespace, default="", help="namespace of the topics")
    add("--timeout", metavar="S", type=positive, default=10.0,
        help="give up if nothing was published within this time, s (%(default)g)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics.core import InputError
    from ..live.recording_session import record

    if options.all and options.topics:
        raise InputError("give either TOPICS or --all")
    return call(record, options, folder=options.output, everything=options.all)
