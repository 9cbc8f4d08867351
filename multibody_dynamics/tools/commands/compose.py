# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `compose`."""

import argparse

HELP = "Run several nodes in one process, on one executor"
DETAILS = (
    "Configures and activates the nodes in the given order. Arguments after --ros-args apply to all"
    " nodes."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "nodes", metavar="NODE", nargs="+", help="name of a node, such as feedforward_node"
    )
    parser.add_argument("--executor", choices=("events", "single"), default="events",
                        help="run loop: %(choices)s (%(default)s)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from ..live.composition import compose

    return compose(options.nodes, options.ros_arguments, options.executor)
