# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `multibody_dynamics`: parse the arguments, run one command, report its errors.

The commands are in `commands/`. Exit status: 0 on success; 1 if a run, a check or a comparison
found problems; 2 for invalid arguments or files, with a one-line message; 130 after Ctrl-C or
SIGTERM.
"""

import argparse
import errno
import os
import re
import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from .. import __version__
from ..linear_algebra import use_one_thread
from ..parent_process import end_with_parent
from ..process_limits import insufficient_limit
from .base.processes import RunError, sigterm_as_interrupt
from .commands import COMMANDS, load

ROS_ARGUMENTS = "--ros-args"
NEGATIVE_NUMBERS = re.compile(r"-\.?\d")  # also -1,2 and -1e-3, as argparse of Python 3.14
NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # errors that name no file
DEFAULTS = "A value in parentheses is the default."


class CommandParser(argparse.ArgumentParser):
    """Names an unknown option, whose value argparse would take for another argument."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known = self._option_string_actions
        for name in (word.partition("=")[0] for word in args or ()):
            if name == "--":
                break
            if name.startswith("--") and not any(option.startswith(name) for option in known):
                near = get_close_matches(name, known, n=1, cutoff=0.8)
                self.error(f"unknown option {name}{f'; is it {near[0]}?' if near else ''}")
        return super().parse_known_args(args, namespace)


def make_parser() -> argparse.ArgumentParser:
    """The parser with all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="multibody_dynamics",
        description="Joint torques and their rates for robots with elastic joints.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for name in COMMANDS:
        command = load(name)
        description = f"{command.HELP}. {command.DETAILS}"
        sub = commands.add_parser(
            name.replace("_", "-"), help=command.HELP, description=description, epilog=DEFAULTS
        )
        sub._negative_number_matcher = NEGATIVE_NUMBERS
        command.add_arguments(sub)
        sub.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    end_with_parent()
    _watch_files()
    words = list(sys.argv[1:] if arguments is None else arguments)
    ros = len(words)
    if words[:1] == ["compose"] and ROS_ARGUMENTS in words:  # the command that starts nodes
        ros = words.index(ROS_ARGUMENTS)
    options = make_parser().parse_args(words[:ros])
    options.ros_arguments = words[ros:]
    if problem := insufficient_limit("node" if words[0] == "compose" else "command"):
        _say(problem)
        return 1
    use_one_thread()

    try:
        with sigterm_as_interrupt():
            return _run(options)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as error:
        print("\nstopped", *error.args, sep="; ", file=sys.stderr)
        return 130
    except RunError as error:
        print(f"\nmultibody_dynamics: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "rclpy":
            raise
        _say(
            "this command requires ROS 2, but rclpy was not found: source"
            " /opt/ros/DISTRO/setup.bash first, or run it in a checkout with scripts/environment.sh"
        )
        return 2


def _run(options: argparse.Namespace) -> int:
    """Run the command; invalid arguments and files are reported in one line."""
    from ..dynamics.core import DynamicsError, when_compiling  # slow; --help does not need it

    try:
        with warnings.catch_warnings(), when_compiling(_say):
            warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
            status = int(options.run(options))
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        raise
    except (DynamicsError, OSError) as error:
        _say(_in_one_line(error))
        return 2


_written = ""  # the file that was last opened for writing


@cache
def _watch_files() -> None:
    """Remember which file is written: the error of a full disk does not name it."""

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        global _written
        if event != "open" or not isinstance(arguments[0], str | bytes):
            return
        if isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            _written = os.fsdecode(arguments[0])

    sys.addaudithook(watch)


def _unfinished() -> str:
    """The name of what could not be written. Half a file is removed: it could be taken for one."""
    try:
        sys.stdout.flush()
    except OSError:
        return "standard output"
    if os.path.isfile(_written):  # not a device
        os.remove(_written)
    return _written


def _say(message: str) -> None:
    """Print one line; for a warning, without the source location that `warnings` would add."""
    print(f"multibody_dynamics: {message}", file=sys.stderr)


def _in_one_line(error: Exception) -> str:
    """The message on one line, beginning with the file: YAML errors span several lines."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
        if isinstance(error, FileExistsError):
            text += ", but is not a folder"
    elif isinstance(error, OSError) and error.errno in NOT_WRITTEN:
        text = f"{_unfinished()}: {error.strerror}"
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
