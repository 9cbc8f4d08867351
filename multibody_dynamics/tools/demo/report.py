# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report that compares the feedforward variants: as JSON and as a page with two pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...reporting.page import Page
from ..base.node_parameters import FEEDFORWARD, PARAMETERS, SIMULATOR, TRAJECTORY, read_parameters
from ..base.recording import RATES
from .analysis import Run, load_runs
from .page import add_setup, add_warnings, error_unit, robot_of, times, torque_unit, write_files
from .pictures import TITLES, draw_torques, draw_tracking

OUTPUTS = ("report.json", "report.md", "report.html", "report.png", "tracking.png")


def write_report(folder: Path) -> dict[str, Any]:
    """Write OUTPUTS beside the recordings of `folder`.

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
    }
    return write_files(folder, report, _problems, lambda whole: _page(whole, runs, folder))


def _ratios(results: Mapping[str, Any]) -> dict[str, float]:
    """rms errors, as multiples of that of the full feedforward; without runs that were stopped."""
    rms = {v: r["tracking error rms"] for v, r in results.items() if not r["stopped"]}
    return {v: error / rms["full"] for v, error in rms.items() if v != "full" and "full" in rms}


def _problems(report: Mapping[str, Any]) -> list[str]:
    """Rejected trajectories, torques that differ from the library's, and a full feedforward that
    tracks no better."""
    problems = []
    for variant, run in report["runs"].items():
        problems += [f"{variant}: the feedforward rejected {reason}" for reason in run["refused"]]
        for quantity, share in run["disagreement"].items():
            if not share <= run["rounding"][quantity]:
                problems.append(
                    f"{variant}: published {quantity} differs from the library by {share:.2g} of"
                    f" its largest value; rounding explains at most {run['rounding'][quantity]:.2g}"
                )
    for variant, ratio in report["ratios of rms errors"].items():
        # Without lockstep, a busy computer can spoil any run, regardless of the feedforward.
        if report["lockstep"] and not ratio > 1.0:
            problems.append(f"{variant} tracks no worse than full: {ratio:.2f} times its rms error")
    return problems


# The page


def _page(report: Mapping[str, Any], runs: Sequence[Run], folder: Path) -> Page:
    page = Page(f"{report['robot']} with elastic joints: one demo run")
    page.text(
        "Simulator, feedforward and trajectory ran as separate processes over ROS 2. Robot, drives"
        " and trajectory were the same, with and without Q' and Q'' in the feedforward:"
    )
    page.items(
        f"{TITLES[v]}: {times(ratio)} times the rms error of the full feedforward"
        for v, ratio in report["ratios of rms errors"].items()
    )
    page.problems(report["problems"])
    _add_tracking(page, report)
    page.figure(draw_tracking(runs), "tracking", folder / "tracking.png")
    _add_torques(page, report)
    page.figure(draw_torques(runs[0]), "torques", folder / "report.png")
    page.text(
        "Largest difference between the published values and those computed offline with the"
        " library, as a share of the largest value:"
    )
    results = report["runs"]
    page.records(({"feedforward": v} | r["disagreement"] for v, r in results.items()), digits=2)
    _add_timing(page, report)
    _add_messages(page, results)
    add_warnings(page, results, "Warnings on /diagnostics")
    add_setup(page, report, f"drive: {report['drive']}", f"trajectory: {report['trajectory']}")
    page.text("To rewrite this report from the recordings: `multibody_dynamics report FOLDER`")
    return page


def _add_tracking(page: Page, report: Mapping[str, Any]) -> None:
    unit = error_unit(report["joint types"])
    page.heading("Link tracking")
    records = (
        {
            "feedforward": TITLES[v],
            f"rms [{unit}]": 1e3 * r["tracking error rms"],
            f"peak [{unit}]": 1e3 * r["tracking error peak"],
            "rms, full = 1": _ratio(report, v),
        }
        for v, r in report["runs"].items()
    )
    page.records(records, digits=3)
    page.text(
        "The simulated robot has exactly the parameters that the feedforward uses. The remaining"
        " error of the full feedforward therefore comes from the time steps, from torques that were"
        " late (without lockstep), and from oscillations of the springs that had not died out when"
        " the motion began; a real robot adds model errors. The other two variants lack terms, so"
        " even an exact model does not help them."
    )


def _ratio(report: Mapping[str, Any], variant: str) -> str | None:
    if report["runs"][variant]["stopped"]:
        return "stopped"
    return "1" if variant == "full" else times(report["ratios of rms errors"].get(variant))


def _add_torques(page: Page, report: Mapping[str, Any]) -> None:
    """Peak torques and rates of the first run, and the errors of all, joint by joint."""
    runs, kinds = report["runs"], report["joint types"]
    unit, units = error_unit(kinds), [f"{torque_unit(kinds)}{per}" for per in ("", "/s", "/s^2")]
    peaks = list(zip(RATES.values(), units, strict=True))
    page.heading("Torques and their rates")
    page.records(
        {"joint": joint}
        | {f"peak |{q}| [{unit}]": values[f"peak {q}"] for q, unit in peaks}
        | {f"rms error, {v} [{unit}]": 1e3 * r["joints"][joint]["rms error"]
           for v, r in runs.items()}
        for joint, values in next(iter(runs.values()))["joints"].items()
    )  # fmt: skip


def _add_timing(page: Page, report: Mapping[str, Any]) -> None:
    runs = report["runs"]
    late = (
        "The simulation waits for late commands: while the processor is needed elsewhere, simulated"
        " time passes more slowly (real time factor below 1), and nothing is lost."
        if report["lockstep"]
        else "The simulation does not wait: late commands are lost."
    )
    page.heading("Timing")
    page.text(
        "In real time, by the senders' clocks. Period: time between torques. Latency: time from"
        f" sending a joint state to sending its torque. {late}"
    )
    page.records(
        {"feedforward": v}
        | {f"{q} {p} [ms]": x for q in ("period", "latency") for p, x in r[f"{q} [ms]"].items()}
        for v, r in runs.items()
    )
    page.records(
        {
            "feedforward": v,
            "real time factor": r["real time factor"],
            "states": r["states"],
            "without a torque": r["states without a torque"],
        }
        | {f"CPU {node}": f"{100 * x:.0f} %" for node, x in r["cpu"].items()}
        for v, r in runs.items()
    )


def _add_messages(page: Page, runs: Mapping[str, Any]) -> None:
    page.heading("Messages")
    page.text(
        "Messages received by the recorder, out of those counted by the sender. Messages that the"
        " recorder lost may still have reached the nodes."
    )
    page.records(
        {"topic": name}
        | {v: "{received} of {published}".format(**r["messages"][name]) for v, r in runs.items()}
        for name in next(iter(runs.values()))["messages"]
    )
