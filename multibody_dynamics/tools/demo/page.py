# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Shared by both reports: units, the sections on problems, warnings and the setup, and the results
in a few lines."""

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...dynamics.core import read_yaml
from ...dynamics.elastic import Actuator, Actuators
from ...dynamics.model import MultibodyModel
from ...reporting.page import Page, write_json
from ..base.provenance import versions


def error_unit(joint_types: Sequence[str]) -> str:
    """Unit of a tracking error times a thousand; for joints of both types together, both units."""
    if "prismatic" not in joint_types:
        return "mrad"
    return "mm" if set(joint_types) == {"prismatic"} else "mrad or mm"


def torque_unit(joint_types: Sequence[str]) -> str:
    """Unit of the torques of all joints together."""
    return "N m or N" if "prismatic" in joint_types else "N m"


def times(ratio: float | None) -> str | None:
    """A ratio for running text."""
    return None if ratio is None else f"{ratio:,.0f}" if ratio >= 1000.0 else f"{ratio:.1f}"


def short(value: Any) -> str:
    """A number with four digits; words are left unchanged."""
    return value if isinstance(value, str) else f"{value:.4g}"


def add_warnings(page: Page, runs: Mapping[str, Any], heading: str = "") -> None:
    """The warnings of the nodes by run, as a list."""
    page.items(
        (
            f"{name}: {text} ({count} times)"
            for name, run in runs.items()
            for text, count in run["warnings"].items()
        ),
        heading,
    )


def add_setup(page: Page, report: Mapping[str, Any], *lines: str) -> None:
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
    page.items(items, "Setup")


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


def write_files(
    folder: Path,
    report: dict[str, Any],
    problems: Callable[[Mapping[str, Any]], list[str]],
    page: Callable[[Mapping[str, Any]], Page],
) -> dict[str, Any]:
    """Write report.json, report.md and report.html, and return the contents of the first: `report`
    with its problems, stopped runs first, and versions."""
    about = versions(("numpy", "numba", "scipy", "rclpy"))
    about["RMW_IMPLEMENTATION"] = os.environ.get("RMW_IMPLEMENTATION", "default")
    about |= {"system": platform.platform(), "processors": str(os.cpu_count())}
    stopped = [
        f"{name}: the motion was stopped: {run['stopped']}"
        for name, run in report["runs"].items()
        if run["stopped"]
    ]
    report |= {"versions": about, "problems": stopped + problems(report)}
    write_json(report, folder / "report.json")
    found = page(report)
    found.write_markdown(folder / "report.md")
    found.write_html(folder / "report.html")
    return report


def print_results(report: Mapping[str, Any], folder: Path) -> int:
    """Print the results in a few lines and return the exit status."""
    unit = error_unit(report["joint types"])
    for variant, run in report["runs"].items():
        if run["stopped"]:
            print(f"{variant:<32}stopped")
            continue
        ratio = report["ratios of rms errors"].get(variant)
        print(
            f"{variant:<32}rms {1e3 * run['tracking error rms']:9.5f}"
            f"   peak {1e3 * run['tracking error peak']:9.5f} {unit}"
            + (f"   {ratio:8,.1f} times the rms of full" if ratio else "")
        )
    for problem in report["problems"]:
        print(f"multibody_dynamics: {problem}", file=sys.stderr)
    print(f"report: {folder / 'report.md'}")
    return 1 if report["problems"] else 0
