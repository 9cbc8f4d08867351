#!/usr/bin/env python3
# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Generate the tables in docs/ from the code: symbols, packages, laws, faults, parameters of nodes.

Run `python scripts/reference.py`. It rewrites the text of docs/*.md between the comments
`begin NAME` and `end NAME`; a test fails if a table is out of date.
"""

import argparse
import json
import re
from dataclasses import fields
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import get_type_hints

from multibody_dynamics import dynamics
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control import FAULTS, law_list
from multibody_dynamics.dynamics.lie import SYMBOLS
from multibody_dynamics.dynamics.plant import DriveEffects

DOCS = Path(__file__).resolve().parents[1] / "docs"
NODES = {
    "feedforward_node": "FeedforwardParameters",
    "flatness_controller_node": "FlatnessControllerParameters",
    "task_space_node": "TaskSpaceParameters",
    "elastic_robot_simulator_node": "SimulatorParameters",
    "trajectory_node": "TrajectoryParameters",
    "series_joints_node": "SeriesJointsParameters",
    "validation_node": "ValidationParameters",
    "drift_node": "DriftParameters",
}
ROS_TYPES = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    tuple[str, ...]: "string[]",
    tuple[float, ...]: "double[]",
    tuple[int, ...]: "int[]",
}


def generate(name: str) -> str:
    """The generated text between the comments of a name."""
    if name == "symbols":
        head = "| symbol | name in the code | shape | unit | frame |\n|---|---|---|---|---|\n"
        return head + "".join(
            f"| {s.symbol} | `{s.name}` | {s.shape} | {s.unit} | {s.frame} |\n" for s in SYMBOLS
        )
    if name == "packages":
        return packages_table()
    if name == "laws":
        return laws_table()
    if name == "settings of laws":
        return settings_table()
    if name == "parameters of laws":
        return law_parameters_table()
    if name == "faults":
        return faults_table()
    if name == "effects":
        return effects_table()
    return parameters_table(name.removesuffix(" parameters"))


def parameters_table(node: str) -> str:
    """The parameters of a node."""
    table = getattr(import_module(f"multibody_dynamics.nodes.{node}"), NODES[node])
    lines = [
        "| parameter | type | default | unit | range | when | listed | description |",
        "|---|---|---|---|---|---|---|---|",
    ]
    types, listed = get_type_hints(table), table().listed()
    for field in fields(table):
        data, default = field.metadata, field.default
        allowed = ", ".join(data["choices"]) or (
            "{:g} ... {:g}".format(*data["bounds"]) if data["bounds"] else ""
        )
        cells = (
            f"`{field.name}`",
            ROS_TYPES[types[field.name]],
            f"`{json.dumps(default)}`",
            data["unit"],
            allowed,
            "live" if data["live"] else "startup" if data["startup"] else "unconfigured",
            "yes" if field.name in listed else "with its law" if data.get("laws") else "",
            data["description"],
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def faults_table() -> str:
    """The rows of FAULTS."""
    head = "| fault | mode | within | ended by |\n|---|---|---|---|\n"
    return head + "".join(
        f"| {fault.text} | {fault.mode.name} | {fault.within} | {fault.end} |\n"
        for fault in FAULTS[1:]
    )


def effects_table() -> str:
    """The effects of real drives in the simulated arm."""
    head = "| effect | default | unit | meaning |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{each.name}` | `{each.default}` | {each.metadata['unit']} |"
        f" {each.metadata['description'].replace('|', chr(92) + '|')} |\n"
        for each in fields(DriveEffects)
    )


def laws_table() -> str:
    """What each law does, and the class of its controller."""
    head = "| `law` | feedforward and feedback | settings | in the code |\n|---|---|---|---|\n"
    lines = []
    for name, law in control.LAWS.items():
        common = {each.name for each in fields(control.ControllerSettings)}
        own = ", ".join(f"`{each.name}`" for each in fields(law) if each.name not in common)
        title = f"`{name}` (default)" if name == control.DEFAULT_LAW else f"`{name}`"
        what = " ".join((getdoc(law) or "").split())
        more = f" [More]({law.page})" if law.page else ""
        made = get_type_hints(law.design)["return"].__name__
        lines.append(f"| {title} | {what}{more} | {own} | `{made}` |\n")
    return head + "".join(lines)


def settings_table() -> str:
    """Every setting of the laws, once for each declaration."""
    head = "| setting | laws | default | unit | meaning |\n|---|---|---|---|---|\n"
    laws: dict[tuple[str, ...], list[str]] = {}
    for name, law in control.LAWS.items():
        for each in fields(law):
            if each.metadata:
                data = each.metadata
                row = (each.name, str(each.default), data["unit"], data["description"])
                laws.setdefault(row, []).append(name)
    return head + "".join(
        f"| `{name}` | {law_list(of)} | `{default}` | {unit} | {meaning} |\n"
        for (name, default, unit, meaning), of in sorted(laws.items())
    )


def law_parameters_table() -> str:
    """The parameters of each law in flatness_controller_node."""
    from multibody_dynamics.nodes.following.law_parameters import parameters_of

    lines = (
        f"| `{law}` | {', '.join(f'`{each.name}`' for each in parameters_of(law))} |\n"
        for law in control.LAWS
    )
    return "| `law` | parameters |\n|---|---|\n" + "".join(lines)


def packages() -> list[str]:
    """The packages of dynamics/, from the lowest layer up."""
    return [key for key in dynamics.__all__ if hasattr(getattr(dynamics, key), "__path__")]


def packages_table() -> str:
    """The title of each package."""
    titles = {
        name: (getdoc(getattr(dynamics, name)) or "").partition("\n\n")[0] for name in packages()
    }
    return "| package | subject |\n|---|---|\n" + "".join(
        f"| `dyn.{name}` | {' '.join(title.split())} |\n" for name, title in titles.items()
    )


def updated(text: str) -> str:
    """`text` with all generated tables up to date."""
    return re.sub(
        r"(<!-- begin ([\w ]+) -->\n).*?(<!-- end \2 -->)",
        lambda match: match[1] + generate(match[2]) + match[3],
        text,
        flags=re.DOTALL,
    )


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0]).parse_args()
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := updated(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"updated {page.name}")


if __name__ == "__main__":
    main()
