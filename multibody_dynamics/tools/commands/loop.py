# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `loop`."""

import argparse
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from ..base.arguments import add_view, domain, namespace
from ..live.launched_systems import SYSTEMS, Argument, NodeStart

HELP = "Start and supervise the nodes of a launch file, without an installed ROS 2"
DETAILS = (
    "SYSTEM is a launch file, whose arguments are options: NAME:=VALUE becomes --NAME VALUE, and"
    " robot:=FILE becomes --urdf FILE. The nodes run until Ctrl-C; if one of them fails, the others"
    " are stopped and the exit status is 1. Systems: "
    + "; ".join(f"{name} ({system.purpose})" for name, system in SYSTEMS.items())
    + "."
)
RENAMED = {"robot": "urdf"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("system", metavar="SYSTEM", nargs="?", choices=tuple(SYSTEMS), default=next(iter(SYSTEMS)),
        help="%(choices)s (%(default)s)")
    users: dict[str, list[tuple[str, Argument]]] = {}
    for system, each in SYSTEMS.items():
        for argument in each.arguments:
            users.setdefault(argument.name, []).append((system, argument))
    for name, uses in users.items():
        _, argument = uses[0]
        only = "" if len(uses) == len(SYSTEMS) else f"{', '.join(use for use, _ in uses)}: "
        default = f" ({argument.default})" if argument.choices and argument.default else ""
        choices = tuple(filter(None, argument.choices))
        metavar = f"{{{','.join(choices)}}}" if choices else name.upper()
        add(_option(name), dest=name, metavar=metavar, choices=choices or None,
            type=namespace if name == "namespace" else str,
            help=only + argument.description + default)
    # fmt: on
    add("--logs", metavar="FOLDER", type=Path, help="keep the output of every node in this folder")
    add_view(parser, "show the robot in the browser")
    add("--domain-id", metavar="N", type=domain, help="ROS domain (ROS_DOMAIN_ID, else 0)")


def chosen_nodes(options: argparse.Namespace) -> list[NodeStart]:
    """The nodes to start. Raises InputError for an option that the system does not have."""
    from ...dynamics.core import InputError

    system = SYSTEMS[options.system]
    known = {argument.name for argument in system.arguments}
    every = {argument.name for each in SYSTEMS.values() for argument in each.arguments}
    given = {name: value for name in every if (value := getattr(options, name)) is not None}
    for name in sorted(given.keys() - known):
        raise InputError(f"{_option(name)} is not an argument of {options.system}; see --help")
    return system.nodes(system.values(given))


def _option(name: str) -> str:
    return "--" + RENAMED.get(name, name).replace("_", "-")


def run(options: argparse.Namespace) -> int:
    from ..live.supervision import supervise

    nodes = chosen_nodes(options)
    if options.domain_id is not None:
        os.environ["ROS_DOMAIN_ID"] = str(options.domain_id)
    names = ", ".join(node.name or node.executable for node in nodes)
    number = os.environ.get("ROS_DOMAIN_ID") or 0
    print(f"ROS domain {number}: {names}; Ctrl-C stops all of them", flush=True)
    with _viewed(nodes) if options.view else nullcontext():
        return supervise(nodes, logs=options.logs)


def _viewed(nodes: list[NodeStart]) -> AbstractContextManager[None]:
    """A view of the robot that the parameters of the nodes name, in the namespace of the first."""
    from ...nodes.base.robot import find_file
    from ..base.node_parameters import read_parameters
    from ..view.viewing import live_view

    found: dict[str, str] = {}
    for each in (parameters for node in nodes for parameters in node.parameters):
        sets = read_parameters(Path(each)).values() if isinstance(each, str) else [each]
        for values in sets:
            for key in ("robot_file", "elastic_joints_file"):
                if values.get(key):
                    found[key] = str(find_file(str(values[key])))
    return live_view(
        found.get("robot_file", ""), found.get("elastic_joints_file", ""), nodes[0].namespace
    )
