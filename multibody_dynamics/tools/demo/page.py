# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Shared by both reports: Markdown tables, units, and the sections on the setup."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ... import __version__
from ...dynamics.core import read_yaml
from ...dynamics.elastic import Actuator, Actuators
from ...dynamics.model import MultibodyModel


def error_unit(joint_types: Sequence[str]) -> str:
    """Unit of a tracking error times a thousand; for joints of both types together, both units."""
    if "prismatic" not in joint_types:
        return "mrad"
    return "mm" if set(joint_types) == {"prismatic"} else "mrad or mm"


def torque_unit(joint_types: Sequence[str]) -> str:
    """Unit of the torques of all joints together."""
    return "N m or N" if "prismatic" in joint_types else "N m"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, with all columns but the first aligned to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def times(ratio: float) -> str:
    """A ratio for running text."""
    return f"{ratio:,.0f}" if ratio >= 1000.0 else f"{ratio:.1f}"


def milliseconds(duration: float | None) -> str:
    """A duration in ms for a table."""
    return "-" if duration is None else f"{duration:.3f}"


def short(value: Any) -> str:
    """A number with four digits; words are left unchanged."""
    return value if isinstance(value, str) else f"{value:.4g}"


def problems_section(report: Mapping[str, Any]) -> str:
    """The problems, which open the report."""
    return "".join(f"**Problem: {text}**\n\n" for text in report["problems"])


def warning_lines(runs: Mapping[str, Any]) -> str:
    """The warnings of the nodes by run, as a list."""
    return "".join(
        f"- {name}: {text} ({count} times)\n"
        for name, run in runs.items()
        for text, count in run["warnings"].items()
    )


def stopped_runs(runs: Mapping[str, Any]) -> list[str]:
    """A problem for every run in which the node stopped the arm."""
    return [
        f"{name}: the motion was stopped: {r['stopped']}"
        for name, r in runs.items()
        if r["stopped"]
    ]


def setup_section(report: Mapping[str, Any], *lines: str) -> str:
    """Robot, springs, further `lines` and versions, as a list."""
    springs = report["springs and motors"]
    unit = "N m/rad or N/m" if "prismatic" in report["joint types"] else "N m/rad"
    items = [
        f"robot: {report['robot file']}",
        f"springs and motors: {springs['description']} ({springs['file']}); stiffness"
        f" {', '.join(map(short, springs['stiffness']))} {unit}",
        *lines,
        *(f"{name}: {text}" for name, text in report["versions"].items()),
    ]
    return "".join(f"- {item}\n" for item in items)


def robot_of(
    model: MultibodyModel, actuators: Actuators, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Robot, springs and motors for report.json; `parameters` are those of the node using them."""
    springs = parameters["elastic_joints_file"]
    data = read_yaml(springs)
    return {
        "robot": model.name,
        "robot file": parameters["robot_file"],
        "joint types": list(model.joint_types),
        "springs and motors": {
            "file": springs,
            "description": data.get("description", ""),
            "stiffness": [_stiffness(actuator) for actuator in actuators.actuators],
            "motor inertia": actuators.motor_inertia.tolist(),
        },
    }


def _stiffness(actuator: Actuator) -> float | str:
    """Stiffness of the unloaded spring in N m/rad (N/m), or a word."""
    spring = actuator.series_spring
    if spring is None:
        return actuator.stiffness_word
    return float(spring.stiffness(0.0, beyond="continue"))


def versions() -> dict[str, str]:
    """Versions of the software, and facts about the computer."""
    found = {"multibody_dynamics": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba", "scipy", "rclpy"):
        for name in (package, f"ros-{os.environ.get('ROS_DISTRO', 'jazzy')}-{package}"):
            try:
                found[package] = version(name)
            except PackageNotFoundError:
                continue
            break
    found["RMW_IMPLEMENTATION"] = os.environ.get("RMW_IMPLEMENTATION", "default")
    return found | {"system": platform.platform(), "processors": str(os.cpu_count())}


def write_files(folder: Path, report: Mapping[str, Any], parts: Iterable[str]) -> None:
    """Write report.json, and report.md from the non-empty parts."""
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "report.md").write_text("\n".join(part for part in parts if part))
