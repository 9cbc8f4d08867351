"""The report on the laws that the demo compares: report.json, report.md, and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .control_analysis import FLAT, LAWS, PLANTS, ControlRun, load_control_runs
from .pictures import (
    LAW_TITLES,
    PLANT_TITLES,
    draw_control_errors,
    draw_control_torques,
    error_unit,
)
from .recording import CONTROLLER, PARAMETERS, SIMULATOR, TRAJECTORY, read_parameters
from .report import short, springs_of, table, times, versions

OUTPUTS = ("report.json", "report.md", "tracking.png", "torques.png")
CLEAR = 3.0  # times smaller is an rms error that is clearly smaller


def write_control_report(folder: Path) -> dict[str, Any]:
    """Write report.json, report.md, tracking.png and torques.png beside the recordings of `folder`.

    Returns what report.json holds; "problems" is empty if all is well.
    """
    runs = load_control_runs(folder)
    parameters = read_parameters(folder / PARAMETERS)
    simulator, controller = parameters[SIMULATOR], parameters[CONTROLLER]
    results = {run.recording.variant: run.figures() for run in runs}
    plants = [plant for plant in PLANTS if any(run.plant == plant for run in runs)]
    report = {
        "robot": runs[0].model.name,
        "robot file": controller["robot_file"],
        "joint types": list(runs[0].model.joint_types),
        "springs and motors": springs_of(controller["elastic_joints_file"], runs[0].actuators),
        "bandwidths [rad/s]": {
            "motor_pd": controller["motor_bandwidth"],
            "computed_torque": controller["motor_bandwidth"],
            "feedback_linearization": controller["linearization_bandwidth"],
            "state_feedback": controller["feedback_bandwidth"],
        },
        "update rate [Hz]": simulator["update_rate"],
        "lockstep": bool(simulator.get("lockstep", False)),
        "plants": plants,
        "trajectory": f"{parameters[TRAJECTORY]['motion']}, {runs[0].end - runs[0].begin:.2f} s",
        "runs": results,
        "ratios of rms errors": {plant: _ratios(runs, results, plant) for plant in plants},
        "versions": versions(),
    }
    report["problems"] = _problems(report)
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "report.md").write_text(_page(report, runs[0]))
    draw_control_errors(runs, folder / "tracking.png")
    draw_control_torques(runs, folder / "torques.png")
    return report


def _ratios(
    runs: list[ControlRun], results: Mapping[str, Any], plant: str
) -> dict[str, dict[str, float]]:
    """rms error of each classic law over that of each flatness-based one."""
    rms = {
        run.law: results[run.recording.variant]["tracking error rms"]
        for run in runs
        if run.plant == plant
    }
    return {
        classic: {flat: rms[classic] / rms[flat] for flat in FLAT if flat in rms}
        for classic in LAWS
        if classic not in FLAT and classic in rms
    }


def _problems(report: Mapping[str, Any]) -> list[str]:
    """Laws on the flat map that are not clearly better, and refused trajectories."""
    found = [
        f"{name}: the controller refused {reason}"
        for name, run in report["runs"].items()
        for reason in run["refused"]
    ]
    # Without lockstep a busy computer can spoil any run: that is no fault of the law.
    if report["lockstep"]:
        found += [
            f"{plant}: {classic} has only {ratio:.2f} times the rms error of {flat}"
            for plant, ratios in report["ratios of rms errors"].items()
            for classic, row in ratios.items()
            for flat, ratio in row.items()
            if not ratio > CLEAR
        ]
    return found


def _page(report: Mapping[str, Any], run: ControlRun) -> str:
    runs, model = report["runs"], run.model
    prismatic = "prismatic" in model.joint_types
    unit = error_unit(model.joint_types)
    torque_unit = "N m or N" if prismatic else "N m"
    bandwidths = {k: ", ".join(map(short, v)) for k, v in report["bandwidths [rad/s]"].items()}
    parts = [
        f"# {report['robot']} with elastic joints: four laws, the same motion\n",
        "Simulator, controller and trajectory ran as processes of their own over ROS 2"
        + (", in lockstep.\n" if report["lockstep"] else ", in real time.\n"),
        "".join(f"**Problem: {text}**\n\n" for text in report["problems"]),
        "".join(
            f"- {PLANT_TITLES[plant]}: {LAW_TITLES[classic]} has {times(ratio)} times the rms error"
            f" of {LAW_TITLES[flat]}\n"
            for plant, ratios in report["ratios of rms errors"].items()
            for classic, row in ratios.items()
            for flat, ratio in row.items()
        ),
        "## Link tracking and what it takes\n",
        table(
            [
                "plant, law",
                "bandwidth [rad/s]",
                f"rms [{unit}]",
                f"peak [{unit}]",
                "peak torque / limit",
                "peak motor speed / limit",
                "cycles at a limit",
            ],
            [
                [
                    f"{PLANT_TITLES[r['plant']]}, {LAW_TITLES[r['law']]}",
                    bandwidths[r["law"]],
                    f"{1e3 * r['tracking error rms']:.3g}",
                    f"{1e3 * r['tracking error peak']:.3g}",
                    f"{100 * r['peak torque, share of limit']:.0f} %",
                    f"{100 * r['peak motor speed, share of limit']:.0f} %",
                    f"{max(r['cycles at a torque limit'], r['cycles beyond a motor speed limit'])}"
                    f" of {r['cycles']}",
                ]
                for r in runs.values()
            ],
        ),
        "The controller knows the very parameters of the plant, as no controller of a real robot"
        " does: see *Robustness* in docs/elastic_joints.md. MuJoCo shares no dynamics with it.\n",
        "![tracking](tracking.png)\n",
        "## Joint by joint\n",
        table(
            ["joint", *(f"rms, {name} [{unit}]" for name in runs)],
            [
                [
                    joint,
                    *(f"{1e3 * r['joints'][joint]['rms error']:.3g}" for r in runs.values()),
                ]
                for joint in model.joint_names
            ],
        ),
        table(
            ["joint", *(f"peak torque, {name} [{torque_unit}]" for name in runs)],
            [
                [joint, *(f"{r['joints'][joint]['peak torque']:.4g}" for r in runs.values())]
                for joint in model.joint_names
            ],
        ),
        "![motor torques](torques.png)\n",
        "## Timing\n",
        "In real time, from the sending of a joint state to that of its torque:\n",
        table(
            ["run", *(f"{p} [ms]" for p in next(iter(runs.values()))["latency [ms]"])],
            [[name, *(f"{x:.3f}" for x in r["latency [ms]"].values())] for name, r in runs.items()],
        ),
        "".join(
            f"- {name}: {text} ({count} times)\n"
            for name, r in runs.items()
            for text, count in r["warnings"].items()
        ),
        "## What ran\n",
        f"- robot: {report['robot file']}\n"
        f"- springs and motors: {report['springs and motors']['description']}"
        f" ({report['springs and motors']['file']}); stiffness"
        f" {', '.join(short(x) for x in report['springs and motors']['stiffness'])}"
        f" {'N m/rad or N/m' if prismatic else 'N m/rad'}\n"
        f"- {report['update rate [Hz]']:g} Hz; trajectory: {report['trajectory']}\n"
        + ("" if len(report["plants"]) > 1 else f"- one plant only: {report['plants'][0]}\n")
        + "".join(f"- {k}: {x}\n" for k, x in report["versions"].items()),
    ]
    return "\n".join(part for part in parts if part)
