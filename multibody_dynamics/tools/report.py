"""The report of a demo: report.json, report.md, and the pictures report.png and tracking.png."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from .. import __version__
from ..dynamics.elastic import Actuator, Actuators, Rigid, SeriesElastic
from ..dynamics.model import MultibodyModel
from .analysis import RATES, load_runs
from .pictures import TITLES, draw_torques, draw_tracking, error_unit
from .recording import FEEDFORWARD, PARAMETERS, SIMULATOR, TRAJECTORY, read_parameters

OUTPUTS = ("report.json", "report.md", "report.png", "tracking.png")
TOLERANCE = 1e-9  # of the largest torque: published against offline


def write_report(folder: Path) -> dict[str, Any]:
    """Write report.json, report.md, report.png and tracking.png beside the recordings of `folder`.

    Returns what report.json holds; "problems" is empty if all is well.
    """
    runs = load_runs(folder)
    parameters = read_parameters(folder / PARAMETERS)
    simulator, trajectory = parameters[SIMULATOR], parameters[TRAJECTORY]
    results = {run.recording.variant: run.figures() for run in runs}
    report = {
        "robot": runs[0].model.name,
        "robot file": parameters[FEEDFORWARD]["robot_file"],
        "joint types": list(runs[0].model.joint_types),
        "springs and motors": springs_of(
            parameters[FEEDFORWARD]["elastic_joints_file"], runs[0].actuators
        ),
        "drive": (
            f"position loop of {simulator['drive_bandwidth']:g} Hz, damping ratio"
            f" {simulator['drive_damping_ratio']:g}"
        ),
        "lockstep": bool(simulator.get("lockstep", False)),
        "trajectory": (
            f"{trajectory['motion']}, {runs[0].end - runs[0].begin:.2f} s,"
            f" {len(runs[0].recording.request.times)} points in its message"
        ),
        "runs": results,
        "ratios of rms errors": _ratios(results),
        "versions": versions(),
        "problems": [],
    }
    report["problems"] = _problems(report)
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "report.md").write_text(_page(report, runs[0].model))
    draw_torques(runs[0], folder / "report.png")
    draw_tracking(runs, folder / "tracking.png")
    return report


def springs_of(file: str, actuators: Actuators) -> dict[str, Any]:
    """What is told about the file of springs and motors."""
    data = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    return {
        "file": file,
        "description": data.get("description", ""),
        "stiffness": [_stiffness(actuator) for actuator in actuators.actuators],
        "motor inertia": actuators.motor_inertia.tolist(),
    }


def _stiffness(actuator: Actuator) -> float | str:
    """Of the unloaded spring in N m/rad (N/m), or a word."""
    if isinstance(actuator, SeriesElastic):
        return float(actuator.spring.stiffness(0.0, beyond="continue"))
    return "rigid" if isinstance(actuator, Rigid) else "variable"


def _ratios(results: Mapping[str, Any]) -> dict[str, float]:
    if "full" not in results:
        return {}
    best = results["full"]["tracking error rms"]
    return {v: r["tracking error rms"] / best for v, r in results.items() if v != "full"}


def _problems(report: Mapping[str, Any]) -> list[str]:
    """Torques that are not the library's, and a full feedforward that tracks no better."""
    found = []
    for variant, run in report["runs"].items():
        found += [f"{variant}: the feedforward refused {reason}" for reason in run["refused"]]
        for quantity, share in run["disagreement"].items():
            if not share <= TOLERANCE:
                found.append(
                    f"{variant}: published {quantity} differs from the library by {share:.2g} of"
                    f" its largest value; at most {TOLERANCE:g} is rounding"
                )
    for variant, ratio in report["ratios of rms errors"].items():
        # Without lockstep a busy computer can spoil any run: that is no fault of the feedforward.
        if report["lockstep"] and not ratio > 1.0:
            found.append(f"{variant} tracks no worse than full: {ratio:.2f} of its rms error")
    return found


def versions() -> dict[str, str]:
    """Of what ran."""
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


# The page


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown, numbers to the right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _page(report: Mapping[str, Any], model: MultibodyModel) -> str:
    runs = report["runs"]
    prismatic = "prismatic" in model.joint_types
    unit = error_unit(model.joint_types)
    torque_unit = "N m or N" if prismatic else "N m"
    first = next(iter(runs.values()))
    summary = [
        f"{TITLES[v]}: {times(ratio)} times the rms error of the full feedforward"
        for v, ratio in report["ratios of rms errors"].items()
    ]
    parts = [
        f"# {report['robot']} with elastic joints: one demo run\n",
        "Simulator, feedforward and trajectory ran as processes of their own over ROS 2. The same"
        " robot, drives and trajectory, with and without Q' and Q'' in the feedforward:\n",
        "".join(f"- {line}\n" for line in summary),
        "".join(f"**Problem: {text}**\n\n" for text in report["problems"]),
        "## Link tracking\n",
        table(
            ["feedforward", f"rms [{unit}]", f"peak [{unit}]", "rms, full = 1"],
            [
                [
                    TITLES[v],
                    f"{1e3 * r['tracking error rms']:.3g}",
                    f"{1e3 * r['tracking error peak']:.3g}",
                    times(report["ratios of rms errors"].get(v, 1.0)),
                ]
                for v, r in runs.items()
            ],
        ),
        "The simulated robot has the very parameters that the feedforward knows: what is left of"
        " the full one's error comes from time steps, not from the model, and a real robot adds"
        " the errors of its model. The other two lack terms, whatever the model.\n",
        "![tracking](tracking.png)\n",
        "## Torques and their rates\n",
        table(
            [
                "joint",
                f"peak \\|Q\\| [{torque_unit}]",
                f"peak \\|Q'\\| [{torque_unit}/s]",
                f"peak \\|Q''\\| [{torque_unit}/s^2]",
                *(f"rms error, {v} [{unit}]" for v in runs),
            ],
            [
                [
                    joint,
                    *(f"{values[f'peak {q}']:.4g}" for q in RATES.values()),
                    *(f"{1e3 * r['joints'][joint]['rms error']:.3g}" for r in runs.values()),
                ]
                for joint, values in first["joints"].items()
            ],
        ),
        "![torques](report.png)\n",
        "Largest difference between what was published and what the library says offline, as a"
        " share of the largest value:\n",
        table(
            ["feedforward", *first["disagreement"]],
            [[v, *(f"{x:.1e}" for x in r["disagreement"].values())] for v, r in runs.items()],
        ),
        "## Timing\n",
        "In real time, by the senders' clocks. Period: between torques. Latency: from the sending"
        " of a joint state to that of its torque. "
        + (
            "The simulation waits for late commands: while the processor is needed elsewhere,"
            " simulated time passes more slowly (real time factor below 1), and nothing is lost.\n"
            if report["lockstep"]
            else "The simulation does not wait: late commands are lost.\n"
        ),
        table(
            [
                "feedforward",
                *(f"{q} {p} [ms]" for q in ("period", "latency") for p in first["period [ms]"]),
            ],
            [
                [v, *(f"{x:.3f}" for q in ("period [ms]", "latency [ms]") for x in r[q].values())]
                for v, r in runs.items()
            ],
        ),
        table(
            [
                "feedforward",
                "real time factor",
                "states",
                "without a torque",
                *(f"CPU {n}" for n in first["cpu"]),
            ],
            [
                [
                    v,
                    f"{r['real time factor']:.3f}",
                    str(r["states"]),
                    str(r["states without a torque"]),
                    *(f"{100 * x:.0f} %" for x in r["cpu"].values()),
                ]
                for v, r in runs.items()
            ],
        ),
        "## Messages\n",
        "Received by the recorder, of those published by the sender's own count. What the recorder"
        " lost need not be lost to the nodes.\n",
        table(
            ["topic", *runs],
            [
                [
                    name,
                    *(
                        "{received} of {published}".format(**r["messages"][name])
                        for r in runs.values()
                    ),
                ]
                for name in first["messages"]
            ],
        ),
        _warnings_text(runs),
        "## What ran\n",
        f"- robot: {report['robot file']}\n"
        f"- springs and motors: {report['springs and motors']['description']}"
        f" ({report['springs and motors']['file']}); stiffness"
        f" {', '.join(short(x) for x in report['springs and motors']['stiffness'])}"
        f" {'N m/rad or N/m' if prismatic else 'N m/rad'}\n"
        f"- drive: {report['drive']}\n- trajectory: {report['trajectory']}\n"
        + "".join(f"- {k}: {x}\n" for k, x in report["versions"].items())
        + "\nOut of the recordings again: `multibody_dynamics report FOLDER`\n",
    ]
    return "\n".join(part for part in parts if part)


def times(ratio: float) -> str:
    """A ratio, as words have it."""
    return f"{ratio:,.0f}" if ratio >= 1000.0 else f"{ratio:.1f}"


def short(value: Any) -> str:
    """A number, or a word."""
    return value if isinstance(value, str) else f"{value:.4g}"


def _warnings_text(runs: Mapping[str, Any]) -> str:
    lines = [
        f"- {v}: {text} ({count} times)\n"
        for v, r in runs.items()
        for text, count in r["warnings"].items()
    ]
    return "## Warnings on /diagnostics\n\n" + "".join(lines) if lines else ""
