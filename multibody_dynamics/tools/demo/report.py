# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report that compares the feedforward variants: report.json, report.md, two pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..base.node_parameters import FEEDFORWARD, PARAMETERS, SIMULATOR, TRAJECTORY, read_parameters
from ..base.recording import RATES
from .analysis import load_runs
from .page import (
    error_unit,
    milliseconds,
    problems_section,
    robot_of,
    setup_section,
    stopped_runs,
    table,
    times,
    torque_unit,
    versions,
    warning_lines,
    write_files,
)
from .pictures import TITLES, draw_torques, draw_tracking

OUTPUTS = ("report.json", "report.md", "report.png", "tracking.png")
TOLERANCE = 1e-9  # of the largest torque, between published and computed torques


def write_report(folder: Path) -> dict[str, Any]:
    """Write report.json, report.md, report.png and tracking.png beside the recordings of `folder`.

    Returns the contents of report.json; "problems" is empty if all is well.
    """
    runs = load_runs(folder)
    parameters = read_parameters(folder / PARAMETERS)
    simulator, trajectory = parameters[SIMULATOR], parameters[TRAJECTORY]
    results = {run.recording.variant: run.figures() for run in runs}
    report = {
        **robot_of(runs[0].model, runs[0].actuators, parameters[FEEDFORWARD]),
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
    write_files(folder, report, _page(report))
    draw_torques(runs[0], folder / "report.png")
    draw_tracking(runs, folder / "tracking.png")
    return report


def _ratios(results: Mapping[str, Any]) -> dict[str, float]:
    """rms errors, as multiples of that of the full feedforward; without runs that were stopped."""
    rms = {v: r["tracking error rms"] for v, r in results.items() if not r["stopped"]}
    return {v: error / rms["full"] for v, error in rms.items() if v != "full" and "full" in rms}


def _problems(report: Mapping[str, Any]) -> list[str]:
    """Rejected trajectories, stopped motions, torques that differ from the library's, and a full
    feedforward that tracks no better."""
    found = stopped_runs(report["runs"])
    for variant, run in report["runs"].items():
        found += [f"{variant}: the feedforward rejected {reason}" for reason in run["refused"]]
        for quantity, share in run["disagreement"].items():
            if not share <= TOLERANCE:
                found.append(
                    f"{variant}: published {quantity} differs from the library by {share:.2g} of"
                    f" its largest value; rounding explains at most {TOLERANCE:g}"
                )
    for variant, ratio in report["ratios of rms errors"].items():
        # Without lockstep, a busy computer can spoil any run, regardless of the feedforward.
        if report["lockstep"] and not ratio > 1.0:
            found.append(f"{variant} tracks no worse than full: {ratio:.2f} times its rms error")
    return found


# The page


def _page(report: Mapping[str, Any]) -> Iterator[str]:
    """The parts of report.md."""
    runs = report["runs"]
    yield f"# {report['robot']} with elastic joints: one demo run\n"
    yield (
        "Simulator, feedforward and trajectory ran as separate processes over ROS 2. Robot, drives"
        " and trajectory were the same, with and without Q' and Q'' in the feedforward:\n"
    )
    yield "".join(
        f"- {TITLES[v]}: {times(ratio)} times the rms error of the full feedforward\n"
        for v, ratio in report["ratios of rms errors"].items()
    )
    yield problems_section(report)
    yield "## Link tracking\n"
    yield _tracking_table(report)
    yield (
        "The simulated robot has exactly the parameters that the feedforward uses. The remaining"
        " error of the full feedforward therefore comes from the time steps, from torques that were"
        " late (without lockstep), and from oscillations of the springs that had not died out when"
        " the motion began; a real robot adds model errors. The other two variants lack terms, so"
        " even an exact model does not help them.\n"
    )
    yield "![tracking](tracking.png)\n"
    yield "## Torques and their rates\n"
    yield _torque_table(report)
    yield "![torques](report.png)\n"
    yield (
        "Largest difference between the published values and those computed offline with the"
        " library, as a share of the largest value:\n"
    )
    yield table(
        ["feedforward", *next(iter(runs.values()))["disagreement"]],
        [[v, *(f"{x:.1e}" for x in r["disagreement"].values())] for v, r in runs.items()],
    )
    yield from _timing(report)
    yield "## Messages\n"
    yield (
        "Messages received by the recorder, out of those counted by the sender. Messages that the"
        " recorder lost may still have reached the nodes.\n"
    )
    yield _message_table(runs)
    if lines := warning_lines(runs):
        yield "## Warnings on /diagnostics\n\n" + lines
    yield "## Setup\n"
    yield (
        setup_section(report, f"drive: {report['drive']}", f"trajectory: {report['trajectory']}")
        + "\nTo rewrite this report from the recordings: `multibody_dynamics report FOLDER`\n"
    )


def _tracking_table(report: Mapping[str, Any]) -> str:
    unit = error_unit(report["joint types"])
    return table(
        ["feedforward", f"rms [{unit}]", f"peak [{unit}]", "rms, full = 1"],
        [
            [
                TITLES[v],
                f"{1e3 * r['tracking error rms']:.3g}",
                f"{1e3 * r['tracking error peak']:.3g}",
                _ratio(report, v),
            ]
            for v, r in report["runs"].items()
        ],
    )


def _ratio(report: Mapping[str, Any], variant: str) -> str:
    if report["runs"][variant]["stopped"]:
        return "stopped"
    if variant == "full":
        return "1"
    ratio = report["ratios of rms errors"].get(variant)
    return "-" if ratio is None else times(ratio)  # full was not run, or stopped


def _torque_table(report: Mapping[str, Any]) -> str:
    """Peak torques and rates of the first run, and the errors of all, joint by joint."""
    runs, unit = report["runs"], torque_unit(report["joint types"])
    return table(
        [
            "joint",
            f"peak \\|Q\\| [{unit}]",
            f"peak \\|Q'\\| [{unit}/s]",
            f"peak \\|Q''\\| [{unit}/s^2]",
            *(f"rms error, {v} [{error_unit(report['joint types'])}]" for v in runs),
        ],
        [
            [
                joint,
                *(f"{values[f'peak {q}']:.4g}" for q in RATES.values()),
                *(f"{1e3 * r['joints'][joint]['rms error']:.3g}" for r in runs.values()),
            ]
            for joint, values in next(iter(runs.values()))["joints"].items()
        ],
    )


def _timing(report: Mapping[str, Any]) -> Iterator[str]:
    runs = report["runs"]
    first = next(iter(runs.values()))
    yield "## Timing\n"
    yield (
        "In real time, by the senders' clocks. Period: time between torques. Latency: time from"
        " sending a joint state to sending its torque. "
    ) + (
        "The simulation waits for late commands: while the processor is needed elsewhere, simulated"
        " time passes more slowly (real time factor below 1), and nothing is lost.\n"
        if report["lockstep"]
        else "The simulation does not wait: late commands are lost.\n"
    )
    yield table(
        [
            "feedforward",
            *(f"{q} {p} [ms]" for q in ("period", "latency") for p in first["period [ms]"]),
        ],
        [
            [v, *(milliseconds(x) for q in ("period [ms]", "latency [ms]") for x in r[q].values())]
            for v, r in runs.items()
        ],
    )
    cpu = [f"CPU {node}" for node in first["cpu"]]
    yield table(
        ["feedforward", "real time factor", "states", "without a torque", *cpu],
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
    )


def _message_table(runs: Mapping[str, Any]) -> str:
    return table(
        ["topic", *runs],
        [
            [
                name,
                *("{received} of {published}".format(**r["messages"][name]) for r in runs.values()),
            ]
            for name in next(iter(runs.values()))["messages"]
        ],
    )
