# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report that compares the control laws: report.json, report.md, and two pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..base.node_parameters import CONTROLLER, PARAMETERS, SIMULATOR, TRAJECTORY, read_parameters
from .control_analysis import FLAT, LAWS, PLANTS, ControlRun, load_control_runs
from .page import (
    error_unit,
    milliseconds,
    problems_section,
    robot_of,
    setup_section,
    short,
    stopped_runs,
    table,
    times,
    torque_unit,
    versions,
    warning_lines,
    write_files,
)
from .pictures import LAW_TITLES, PLANT_TITLES, draw_control_errors, draw_control_torques

OUTPUTS = ("report.json", "report.md", "tracking.png", "torques.png")
CLEAR = 3.0  # ratio of rms errors above which one is clearly smaller


def write_control_report(folder: Path) -> dict[str, Any]:
    """Write report.json, report.md, tracking.png and torques.png beside the recordings of `folder`.

    Returns the contents of report.json; "problems" is empty if all is well.
    """
    runs = load_control_runs(folder)
    parameters = read_parameters(folder / PARAMETERS)
    simulator, controller = parameters[SIMULATOR], parameters[CONTROLLER]
    results = {run.recording.variant: run.figures() for run in runs}
    plants = [plant for plant in PLANTS if any(run.plant == plant for run in runs)]
    report = {
        **robot_of(runs[0].model, runs[0].actuators, controller),
        "bandwidths [rad/s]": {
            "motor_pd": controller["motor_bandwidth"],
            "computed_torque": [controller["computed_torque_bandwidth"]],
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
    write_files(folder, report, _page(report))
    draw_control_errors(runs, folder / "tracking.png")
    draw_control_torques(runs, folder / "torques.png")
    return report


def _ratios(
    runs: list[ControlRun], results: Mapping[str, Any], plant: str
) -> dict[str, dict[str, float]]:
    """The rms error of each classic law divided by that of each flatness-based law, without runs
    that were stopped."""
    rms = {
        run.law: results[run.recording.variant]["tracking error rms"]
        for run in runs
        if run.plant == plant and not results[run.recording.variant]["stopped"]
    }
    return {
        classic: {flat: rms[classic] / rms[flat] for flat in FLAT if flat in rms}
        for classic in LAWS
        if classic not in FLAT and classic in rms
    }


def _problems(report: Mapping[str, Any]) -> list[str]:
    """Rejected trajectories, stopped motions, and flatness-based laws that are not better."""
    found = [
        f"{name}: the controller rejected {reason}"
        for name, run in report["runs"].items()
        for reason in run["refused"]
    ]
    found += stopped_runs(report["runs"])
    # Without lockstep, a busy computer can spoil any run, regardless of the law.
    if report["lockstep"]:
        found += [
            f"{plant}: {classic} has only {ratio:.2f} times the rms error of {flat}"
            for plant, classic, flat, ratio in _each_ratio(report)
            if not ratio > CLEAR
        ]
    return found


def _each_ratio(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Plant, classic law, flatness-based law, and the ratio of their rms errors."""
    for plant, ratios in report["ratios of rms errors"].items():
        for classic, row in ratios.items():
            for flat, ratio in row.items():
                yield plant, classic, flat, ratio


def _page(report: Mapping[str, Any]) -> Iterator[str]:
    """The parts of report.md."""
    runs = report["runs"]
    yield f"# {report['robot']} with elastic joints: four laws, the same motion\n"
    yield (
        "Simulator, controller and trajectory ran as separate processes over ROS 2"
        + (", in lockstep.\n" if report["lockstep"] else ", in real time.\n")
    )
    yield problems_section(report)
    yield "".join(
        f"- {PLANT_TITLES[plant]}: {LAW_TITLES[classic]} has {times(ratio)} times the rms error"
        f" of {LAW_TITLES[flat]}\n"
        for plant, classic, flat, ratio in _each_ratio(report)
    )
    yield "## Link tracking and its cost\n"
    yield _tracking_table(report)
    yield (
        "The controller uses the plant's exact parameters, which no controller of a real robot"
        " has: see docs/control_study.md. MuJoCo computes"
        " its own dynamics. All laws run with the stated bandwidths, although rigid computed torque"
        " with this bandwidth may be unstable at some poses of an elastic arm: the controller would"
        " otherwise lower the settings of such laws or refuse them (unstable_poses).\n"
    )
    yield "![tracking](tracking.png)\n"
    yield "## Joint by joint\n"
    yield from _joint_tables(report)
    yield "![motor torques](torques.png)\n"
    yield "## Timing\n"
    yield "Latency in real time, from sending a joint state to sending its torque:\n"
    yield table(
        ["run", *(f"{p} [ms]" for p in next(iter(runs.values()))["latency [ms]"])],
        [[name, *map(milliseconds, r["latency [ms]"].values())] for name, r in runs.items()],
    )
    yield warning_lines(runs)
    yield "## Setup\n"
    one_plant = [] if len(report["plants"]) > 1 else [f"one plant only: {report['plants'][0]}"]
    rate = f"{report['update rate [Hz]']:g} Hz; trajectory: {report['trajectory']}"
    yield setup_section(report, rate, *one_plant)


def _tracking_table(report: Mapping[str, Any]) -> str:
    unit = error_unit(report["joint types"])
    bandwidths = {k: ", ".join(map(short, v)) for k, v in report["bandwidths [rad/s]"].items()}
    return table(
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
            for r in report["runs"].values()
        ],
    )


def _joint_tables(report: Mapping[str, Any]) -> Iterator[str]:
    """rms errors and peak torques."""
    runs = report["runs"]
    columns = (
        ("rms", error_unit(report["joint types"]), "rms error", "{:.3g}", 1e3),
        ("peak torque", torque_unit(report["joint types"]), "peak torque", "{:.4g}", 1.0),
    )
    for title, unit, key, form, scale in columns:
        yield table(
            ["joint", *(f"{title}, {name} [{unit}]" for name in runs)],
            [
                [joint, *(form.format(scale * r["joints"][joint][key]) for r in runs.values())]
                for joint in next(iter(runs.values()))["joints"]
            ],
        )
