# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report that compares the control laws, as JSON and as a page with two pictures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...reporting.page import Page
from ...simulation import PLANTS
from ..base.node_parameters import CONTROLLER, PARAMETERS, SIMULATOR, TRAJECTORY, read_parameters
from .analysis import FLAT, LAWS, ControlRun, load_control_runs
from .page import (
    add_setup,
    add_warnings,
    error_unit,
    robot_of,
    short,
    times,
    torque_unit,
    write_files,
)
from .pictures import LAW_TITLES, PLANT_TITLES, draw_control_errors, draw_control_torques

OUTPUTS = ("report.json", "report.md", "report.html", "tracking.png", "torques.png")
CLEAR = 3.0  # ratio of rms errors above which one is clearly smaller


def write_control_report(folder: Path) -> dict[str, Any]:
    """Write OUTPUTS beside the recordings of `folder`.

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
    }
    return write_files(folder, report, _problems, lambda whole: _page(whole, runs, folder))


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
    """Rejected trajectories, and flatness-based laws that are not better."""
    problems = [
        f"{name}: the controller rejected {reason}"
        for name, run in report["runs"].items()
        for reason in run["refused"]
    ]
    # Without lockstep, a busy computer can spoil any run, regardless of the law.
    if report["lockstep"]:
        problems += [
            f"{plant}: {classic} has only {ratio:.2f} times the rms error of {flat}"
            for plant, classic, flat, ratio in _each_ratio(report)
            if not ratio > CLEAR
        ]
    return problems


def _each_ratio(report: Mapping[str, Any]) -> Iterator[tuple[str, str, str, float]]:
    """Plant, classic law, flatness-based law, and the ratio of their rms errors."""
    for plant, ratios in report["ratios of rms errors"].items():
        for classic, row in ratios.items():
            for flat, ratio in row.items():
                yield plant, classic, flat, ratio


def _page(report: Mapping[str, Any], runs: Sequence[ControlRun], folder: Path) -> Page:
    page = Page(f"{report['robot']} with elastic joints: four laws, the same motion")
    page.text(
        "Simulator, controller and trajectory ran as separate processes over ROS 2, in "
        + ("lockstep." if report["lockstep"] else "real time.")
    )
    page.problems(report["problems"])
    page.items(
        f"{PLANT_TITLES[plant]}: {LAW_TITLES[classic]} has {times(ratio)} times the rms error"
        f" of {LAW_TITLES[flat]}"
        for plant, classic, flat, ratio in _each_ratio(report)
    )
    _add_tracking(page, report)
    page.figure(draw_control_errors(runs), "tracking", folder / "tracking.png")
    _add_joints(page, report)
    page.figure(draw_control_torques(runs), "motor torques", folder / "torques.png")
    page.heading("Timing")
    page.text("Latency in real time, from sending a joint state to sending its torque:")
    page.records(
        {"run": name} | {f"{p} [ms]": x for p, x in run["latency [ms]"].items()}
        for name, run in report["runs"].items()
    )
    add_warnings(page, report["runs"])
    one_plant = [] if len(report["plants"]) > 1 else [f"one plant only: {report['plants'][0]}"]
    rate = f"{report['update rate [Hz]']:g} Hz; trajectory: {report['trajectory']}"
    add_setup(page, report, rate, *one_plant)
    return page


def _add_tracking(page: Page, report: Mapping[str, Any]) -> None:
    unit = error_unit(report["joint types"])
    bandwidths = {k: ", ".join(map(short, v)) for k, v in report["bandwidths [rad/s]"].items()}
    beyond = ("cycles at a torque limit", "cycles beyond a motor speed limit")
    records = (
        {
            "plant, law": f"{PLANT_TITLES[r['plant']]}, {LAW_TITLES[r['law']]}",
            "bandwidth [rad/s]": bandwidths[r["law"]],
            f"rms [{unit}]": 1e3 * r["tracking error rms"],
            f"peak [{unit}]": 1e3 * r["tracking error peak"],
            "peak torque / limit": f"{100 * r['peak torque, share of limit']:.0f} %",
            "peak motor speed / limit": f"{100 * r['peak motor speed, share of limit']:.0f} %",
            "cycles at a limit": f"{max(r[each] for each in beyond)} of {r['cycles']}",
        }
        for r in report["runs"].values()
    )
    page.heading("Link tracking and its cost")
    page.records(records, digits=3)
    page.text(
        "The controller uses the plant's exact parameters, which no controller of a real robot"
        " has: see docs/control_study.md. MuJoCo computes"
        " its own dynamics. All laws run with the stated bandwidths, although rigid computed torque"
        " with this bandwidth may be unstable at some poses of an elastic arm: the controller would"
        " otherwise lower the settings of such laws or refuse them (unstable_poses)."
    )


def _add_joints(page: Page, report: Mapping[str, Any]) -> None:
    """rms errors and peak torques."""
    runs, kinds = report["runs"], report["joint types"]
    page.heading("Joint by joint")
    for title, key, unit, scale in (
        ("rms", "rms error", error_unit(kinds), 1e3),
        ("peak torque", "peak torque", torque_unit(kinds), 1.0),
    ):
        page.records(
            {"joint": joint}
            | {f"{title}, {v} [{unit}]": scale * r["joints"][joint][key] for v, r in runs.items()}
            for joint in next(iter(runs.values()))["joints"]
        )
