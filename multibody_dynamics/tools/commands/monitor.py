# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `monitor`."""

import argparse
from pathlib import Path

from ..base.arguments import call, namespace, positive, topic

HELP = "Watch torques, rates, limits and periods of a running robot in the terminal"
DETAILS = (
    "A row marked with ! has less than a tenth of its effort limit left, or is within 0.05 rad (m)"
    " of a position limit."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--urdf", metavar="ROBOT", type=Path, help="URDF file, for its limits")
    # fmt: off
    add("--torques", metavar="TOPIC", type=topic,
        help="JointState with efforts (the first with a publisher of"
        " flatness_controller_node/motor_torque, task_space_node/torque,"
        " feedforward_node/torque)")
    add("--states", metavar="TOPIC", type=topic, default="joint_states",
        help="JointState with positions (%(default)s)")
    add("--namespace", type=namespace, default="", help="namespace of the topics")
    add("--stale-after", metavar="S", type=positive, default=0.2,
        help="mark a topic as stale after this time without messages, s (%(default)s)")
    add("--once", action="store_true", help="print one table and exit")
    add("--timeout", metavar="S", type=positive, default=10.0,
        help="with --once: exit with status 1 if no torques arrive within this time,"
        " s (10)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_urdf
    from ..live.table import JointTable, watch

    table = JointTable(load_urdf(options.urdf) if options.urdf else None)
    call(watch, options, table=table)
    return 0
