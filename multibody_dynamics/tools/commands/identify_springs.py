# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `identify-springs`, an alias of `identify --only springs`."""

import argparse

from . import identify

HELP = "Identify the springs from a recorded motion: torque as a function of deflection"
DETAILS = (
    "The same as identify --only springs. A recording is a bag with joint states of the links"
    " (positions, and efforts of torque sensors if available) and of the motors (positions,"
    " torques); a table with these signals; or a recording of the demo. A motor has the name of its"
    " joint; the two motors of an antagonistic joint append _agonist and _antagonist to it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    identify.add_arguments(parser)
    parser.set_defaults(only="springs")


def run(options: argparse.Namespace) -> int:
    return identify.run(options)
