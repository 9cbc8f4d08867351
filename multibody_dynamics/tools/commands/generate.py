"""The command `generate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import add_gravity

HELP = "Write C99 source of the dynamics of a robot, for controllers without Python"
DETAILS = (
    "Writes a library with inverse dynamics, their time derivatives and forward dynamics, a"
    " self-test with recorded values, an example and CMakeLists.txt. The code allocates nothing,"
    " has no state and needs only math.h."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", metavar="ROBOT.urdf", type=Path, help="URDF file")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True,
                        help="folder for the files, which replace older ones")  # fmt: skip
    parser.add_argument("--name", metavar="NAME", default="",
                        help="prefix of all names in C (default: the name of the"
                        " robot)")  # fmt: skip
    parser.add_argument("--order", type=int, choices=(0, 1, 2), default=2,
                        help="highest time derivative of the torques (%(default)s)")  # fmt: skip
    parser.add_argument("--precision", choices=("double", "float"), default="double",
                        help="type of all numbers (%(default)s)")  # fmt: skip
    parser.add_argument("--payload", metavar="LINK", default="",
                        help="take a payload on this link as an input of every call")  # fmt: skip
    parser.add_argument("--wrench", metavar="LINK", action="append", default=[],
                        help="take the external wrench on this link as an input of every call; may"
                        " be repeated")  # fmt: skip
    parser.add_argument("--gravity-input", action="store_true",
                        help="take the gravity vector as an input of every call")  # fmt: skip
    add_gravity(parser)


def run(options: argparse.Namespace) -> int:
    from ...dynamics import load_urdf
    from ..robot.c_package import Options, c_package, write

    model = load_urdf(options.robot, gravity=(0.0, 0.0, -options.gravity))
    files = c_package(
        model,
        Options(
            options.name,
            options.order,
            options.precision,
            options.payload,
            tuple(options.wrench),
            options.gravity_input,
        ),
    )
    write(files, options.output)
    for name in files:
        print(options.output / name)
    return 0
