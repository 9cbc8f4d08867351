# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types of command-line arguments, and options shared by several commands."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from ...simulation import PLANTS
from .ros_settings import LAST_DOMAIN

if TYPE_CHECKING:
    from ...validation.recordings import JointSelection

Result = TypeVar("Result")
NAMES = re.compile(r"[A-Za-z_]\w*(/[A-Za-z_]\w*)*", re.ASCII)
MOTIONS = ("sum_of_sines", "rest_to_rest")


def finite(text: str) -> float:
    """A finite number."""
    return _number(text, "a finite number", least=-sys.float_info.max)


def positive(text: str) -> float:
    """A positive, finite number."""
    return _number(text, "a positive number", least=5e-324)


def not_negative(text: str) -> float:
    """A finite number, zero or greater."""
    return _number(text, "a number, zero or greater", least=0.0)


def _number(text: str, what: str, least: float) -> float:
    with suppress(ValueError):
        value = float(text)
        if least <= value < inf:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not {what}")


def whole(least: int, most: int) -> Callable[[str], int]:
    """A whole number from `least` to `most`, both included."""

    def number(text: str) -> int:
        if not (text.isdecimal() and len(text) < 19 and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text} is not a whole number, {least} to {most}")
        return int(text)

    return number


def assignment(text: str) -> tuple[str, float]:
    """NAME=VALUE."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE") from None


def numbers(text: str) -> list[float]:
    """Numbers, separated by commas or spaces."""
    try:
        return [float(number) for number in re.split(r"\s*,\s*|\s+", text.strip())]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text} is not a list of numbers, separated by commas or spaces"
        ) from None


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names."""
    return tuple(filter(None, text.split(",")))


def namespace(text: str) -> str:
    """A ROS namespace, without the slashes around it."""
    inner = text.strip("/")
    if inner:
        _require_names(text, inner, "a namespace")
    return inner


def topic(text: str) -> str:
    """The name of a ROS topic, absolute or relative."""
    _require_names(text, text.removeprefix("/"), "a topic")
    return text


def _require_names(text: str, inner: str, what: str) -> None:
    if not NAMES.fullmatch(inner):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not {what}: names of letters, digits and _, not beginning with a digit,"
            " separated by /"
        )


def domain(text: str) -> int:
    """A ROS domain."""
    if not (text.isdecimal() and int(text) <= LAST_DOMAIN):
        raise argparse.ArgumentTypeError(f"{text} is not a ROS domain from 0 to {LAST_DOMAIN}")
    return int(text)


def call(function: Callable[..., Result], options: argparse.Namespace, **own: Any) -> Result:
    """Call a function or a class with the options that have the names of its parameters, except for
    `own`."""
    names = signature(function).parameters.keys() & vars(options).keys()
    return function(**{name: getattr(options, name) for name in names} | own)


def add_domain(parser: argparse.ArgumentParser) -> None:
    """--domain-id."""
    parser.add_argument("--domain-id", metavar="N", type=domain,
                        help="ROS domain (a private one)")  # fmt: skip


def add_view(parser: argparse.ArgumentParser, what: str) -> None:
    """--view, which shows `what`."""
    parser.add_argument("--view", action="store_true",
                        help=f"{what}; requires the extra `view`")  # fmt: skip


def add_motion(parser: argparse.ArgumentParser) -> None:
    """--trajectory and --duration, of a demo motion."""
    parser.add_argument("--trajectory", choices=MOTIONS, default="",
                        help=f"kind of motion ({MOTIONS[0]})")  # fmt: skip
    parser.add_argument("--duration", metavar="S", type=positive,
                        help="duration of the motion, s (8)")  # fmt: skip


def add_plant(parser: argparse.ArgumentParser) -> None:
    """--plant."""
    parser.add_argument("--plant", choices=PLANTS, default=PLANTS[0],
                        help="simulator (%(default)s)")  # fmt: skip


def add_gravity(parser: argparse.ArgumentParser) -> None:
    """--gravity."""
    parser.add_argument("--gravity", metavar="G", type=float, default=9.81,
                        help="gravity along -z of the base, m/s² (%(default)s)")  # fmt: skip


def add_hold(parser: argparse.ArgumentParser) -> None:
    """--hold."""
    parser.add_argument("--hold", metavar="JOINT=VALUE", type=assignment, action="append",
                        default=[],
                        help="constant position of a joint that is not in the file, rad or m; may"
                        " be repeated")  # fmt: skip


def add_reading(
    parser: argparse.ArgumentParser, links: str, motors: str = "joint states of the motors"
) -> None:
    """How to read a recording: --topic has `links`, and --motor-topic has `motors`."""
    add = parser.add_argument
    # fmt: off
    add("--topic", metavar="NAME", action="append", default=[],
        help=f"topic with {links}; may be repeated")
    add("--motor-topic", metavar="NAME", default="",
        help=f"topic with {motors} (the one named motor_states)")
    add("--prefix", metavar="TEXT", default="",
        help="prefix of the joint names in the recording that is not in the URDF")
    # fmt: on
    add_hold(parser)
    add_gravity(parser)


def selection_of(options: argparse.Namespace) -> JointSelection:
    """The options of `add_reading` except gravity."""
    from ...validation.recordings import JointSelection  # slow

    return call(JointSelection, options, topics=tuple(options.topic), held=dict(options.hold))
