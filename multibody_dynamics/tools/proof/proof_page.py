# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report of the whole road: one HTML page, and its pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ... import __version__
from ...reporting.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    grid_of_axes,
    label_edges,
    legend_below,
    new_figure,
)
from ...reporting.page import Page
from ..robot.changes_table import Change
from ..study.studied_laws import REFERENCE, STUDIED_LAWS
from .held_out import HeldEquation, HeldOut, overall
from .known_robots import KnownRobots
from .predicted_control import AS_GOOD, CASES, HIGH, LawErrors, Prediction
from .proof_artefacts import VERDICTS, Artefacts

MILLI = 1e3
CERTAIN = 1.96  # standard errors
CASE_COLOURS = {"stated": ORANGE, "sheet": VERMILION, "identified": GREEN}
DRIVE_QUANTITIES = ("inertia", "viscous", "coulomb", "stiffness", "cubic_stiffness", "scale")
PARAMETERS = {  # of flatness_controller_node: the one that a law's number sets
    "motor_pd": "motor_bandwidth",
    "state_feedback": "feedback_bandwidth",
    "feedback_linearization": "linearization_bandwidth",
    "computed_torque": "computed_torque_bandwidth",
}


@dataclass(frozen=True, eq=False)
class ProofReport:
    """Everything that the report shows."""

    known: KnownRobots
    artefacts: Artefacts
    held: Sequence[HeldOut]
    prediction: Prediction | None
    equations: Sequence[HeldEquation] = ()


def write_report(report: ProofReport, folder: Path) -> Path:
    """Write report.html; returns its path."""
    page = Page(f"{report.known.after[0].name}: from the data sheet to a proven model")
    for add in (_brief, _excitation, _recordings, _parameters, _validation, _control, _provenance):
        add(page, report)
    return page.write_html(folder / "report.html")


# Sections


def _brief(page: Page, report: ProofReport) -> None:
    rows = [
        (step.name, "missing", step.command) if step.is_missing else (step.name, step.done, "")
        for step in report.artefacts.steps
    ]
    rows.append(
        ("prove", "this report", "")
        if report.prediction
        else ("prove", "missing", "--draws N, with N greater than 0")
    )
    page.table(("step", "result", "how to take it"), rows)
    page.items(summary(report))


def _excitation(page: Page, report: ProofReport) -> None:
    page.heading("Excitation: predicted accuracy of the parameters")
    if not report.artefacts.plans:
        page.text("No plan was given: --excitation adds the folder of `excite`.")
    for folder, plan in report.artefacts.plans.items():
        runs = ", ".join(f"{name} {run['duration']:.0f} s" for name, run in plan["runs"].items())
        counts = {verdict: 0 for verdict in VERDICTS}
        for each in plan["parameters"].values():
            counts[each["known"]] = counts.get(each["known"], 0) + 1
        known = ", ".join(f"{count} {name}" for name, count in counts.items() if count and name)
        page.text(
            f"{folder}: {runs}. Parameters predicted to be known: {known.replace('-', 'offsets')}."
        )
        lost = [name for name, each in plan["parameters"].items() if each["known"] == "no"]
        if lost:
            page.text(f"Cannot be known from these runs: {', '.join(lost)}.")
        if drawing := report.artefacts.pictures.get(f"plan {folder}"):
            page.figure(drawing, "planned motions and predicted errors")


def _recordings(page: Page, report: ProofReport) -> None:
    fit = report.artefacts.report
    page.heading("Recordings")
    fitted = (
        {
            "recording": each["name"],
            "": "held out" if each["name"] in fit["held out"] else "fitted",
            "duration, s": each["duration"],
            "rate, Hz": each["rate"],
            "gaps": each["stretches"] - 1,
            "signals": ", ".join(each["signals"]),
            "payload": each["payload"] or "",
        }
        for each in fit.get("recordings", ())
    )
    page.records(fitted, "As used by identify.")
    held = (
        {
            "recording": path.name,
            "duration, s": after.duration,
            "rate, Hz": after.rate,
            "messages": after.messages,
            "compared": f"{after.coverage:.1%}",
            "problems": "; ".join((*after.problems, *after.notes)) or "none",
        }
        for path, _, after in report.held
    )
    page.records(held, "For validation. The filter leaves out the ends of each stretch.")


def _parameters(page: Page, report: ProofReport) -> None:
    fit = report.artefacts.report
    combinations = fit["combinations"].values()
    known = sum(each["value"] is not None for each in combinations)
    page.heading("Identification: every parameter against the data sheet")
    page.text(
        f"Equations below {fit['cutoff']:.3g} Hz; {100 * fit['rejected share']:.2g} % of the "
        f"samples were left out as outliers. {known} of {len(combinations)} base parameters of the "
        "links are determined. Intervals contain the true value in 95 % of recordings, if the "
        "model has the right form."
    )
    if (drawing := draw_changes(report.known.changes)) is not None:
        page.figure(drawing, "changes from the data sheet with 95 % intervals")
    page.items([*fit["notes"], *report.known.results.notes])
    page.table(
        ("", "quantity", "data sheet", "identified", "95 % interval", "change", "remark"),
        map(_row, report.known.changes),
        digits=5,
    )
    if drawing := report.artefacts.pictures.get("fit"):
        page.text("Both sides of the equations over the last recording of identify:")
        page.figure(drawing, "measured and predicted sides of the equations")


def _row(change: Change) -> tuple[Any, ...]:
    value, error, determined = change.after
    interval = None
    if determined and isfinite(error):
        interval = f"{value - CERTAIN * error:.5g} to {value + CERTAIN * error:.5g}"
    percent = f"{change.percent:+.1f} %" if isfinite(change.percent) else None
    return change.name, change.quantity, change.before, value, interval, percent, change.remarks


def _validation(page: Page, report: ProofReport) -> None:
    page.heading("Validation on recordings that were not used for the fit")
    if report.equations:
        page.text(
            "The stiffness of this robot can change, so the motion of its links does not determine "
            "that of its motors. These are the residuals of the equations of identify, on the "
            "recordings that it held out."
        )
        rows = [(each.joint, each.kind, each.before, each.after, each.unit)
                for each in report.equations]  # fmt: skip
        page.table(("joint or motor", "equation", "rms before", "after", "unit"), rows, digits=3)
    elif not report.held:
        page.text("No recording was given.")
    fitted = set(report.artefacts.report["fitted"])
    for each in () if report.equations else report.held:
        if each.path.stem in fitted:
            page.text(
                f"{each.path.name} has the name of a recording that was fitted: its residuals do "
                "not show whether the model holds for other motions."
            )
        page.table(
            ("joint", f"rms before, {each.unit}", "after", "share of the torque before", "after"),
            zip(each.after.joint_names, *each.rms, *each.normalized, strict=True),
            f"{each.path.name}, below {each.after.cutoff:.3g} Hz",
            digits=3,
        )
        page.figure(draw_torques(each), f"torques of {each.path.name}")


def _control(page: Page, report: ProofReport) -> None:
    page.heading("Predicted control errors")
    prediction = report.prediction
    if prediction is None:
        page.text("Not simulated.")
        return
    page.text(conditions(prediction))
    page.table(
        ("", "law", "number", "median", f"{100 * HIGH:.0f} %", "worst", "lost"),
        map(_law_row, prediction.rows),
        "rms errors of all links over the motion, in mrad (mm)",
    )
    page.figure(draw_prediction(prediction), "predicted errors of all laws")
    page.text(*limits_of(report))
    if (row := prediction.recommended) is not None:
        page.text(recommendation(prediction))
        page.code(node_parameters(row))


def _law_row(row: LawErrors) -> tuple[str, ...]:
    law = STUDIED_LAWS[row.law]
    cells = (_error(each) for each in (row.median, row.high, row.worst))
    lost = f"{len(row.lost)} of {len(row.errors)}" if row.lost else ""
    return (CASES[row.case], law.title, f"{row.number:.3g} {law.unit}", *cells, lost)


def _error(value: float) -> str:
    return f"{MILLI * value:.3g}" if value < inf else "lost"


def _provenance(page: Page, report: ProofReport) -> None:
    now = datetime.now().isoformat(" ", "seconds")
    page.heading("Provenance")
    page.text(f"Written by multibody_dynamics {__version__} on {now}.")
    page.table(
        ("file", "last change", "sha256, 16 digits"),
        ((str(each.path), each.written, each.digest) for each in report.artefacts.sources),
    )


# Text


def summary(report: ProofReport) -> list[str]:
    """The results in a few lines."""
    lines = []
    if report.held:
        before, after = overall(report.held)
        names = report.held[0].after.joint_names
        worst = int((after / before).argmax())
        lines.append(
            f"torque residual on {len(report.held)} recording(s) not used for the fit: "
            f"{_joined(before)} {report.held[0].unit} before, "
            f"{_joined(after)} after; largest remaining share "
            f"{after[worst] / before[worst]:.0%} at {names[worst]}"
        )
    lines += [
        f"equation of the {each.kind}, {each.joint}: rms residual {each.before:.3g} {each.unit} "
        f"before, {each.after:.3g} after"
        for each in report.equations
    ]
    if report.prediction is not None:
        shown = {REFERENCE, getattr(report.prediction.recommended, "law", REFERENCE)}
        lines += [
            f"{STUDIED_LAWS[row.law].title}, {CASES[row.case]}: median {_error(row.median)}, "
            f"{100 * HIGH:.0f} % {_error(row.high)}, worst {_error(row.worst)} mrad (mm)"
            for row in report.prediction.rows
            if row.law in shown
        ]
        lines.append(recommendation(report.prediction))
    return lines


def _joined(values: Any) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def conditions(prediction: Prediction) -> str:
    """Under which conditions the errors were simulated."""
    proof = prediction.proof
    motion = f"the motion of {proof.motion}" if proof.motion else "a fast motion within the limits"
    return (
        f"Each law follows {motion} ({prediction.duration:.2f} s) on {proof.draws} simulated "
        f"robots per case (plant: {proof.plant}, seed {proof.seed}), cycle by cycle at "
        f"{proof.rate:g} Hz, with encoders of {proof.bits} bits per turn and noise of a third of a "
        f"step. The stated error of the data sheet is {proof.stated:.0%} of every parameter, with "
        "random signs; robots as identified are drawn from the covariance of the identified "
        "parameters, in which combinations that the recordings do not determine have the spread of "
        "the prior. The number of each law makes its torques as noisy as those of the default law."
    )


def limits_of(report: ProofReport) -> list[str]:
    """What the prediction leaves out, and which parameters it draws from the prior."""
    found = []
    fit, bodies = report.artefacts.report, report.known.after[0].body_names
    open_ones = [  # without the parameters of single bodies, which torques never determine alone
        name for group in ("parameters", "combinations") for name, each in fit[group].items()
        if each["value"] is None
        and (" " in name.strip() or name.partition(".")[0] not in bodies)
    ]  # fmt: skip
    if open_ones:
        found.append(
            "Not determined by the recordings, and therefore drawn from the prior: "
            f"{'; '.join(open_ones)}."
        )
    found.append(
        "Not included: contacts, delays, and dynamics that the model does not contain, such as "
        "flexible links, play, or friction of another form (on MuJoCo, that of links is viscous "
        "only). The residuals of the validation show "
        "how large they are."
    )
    return found


def recommendation(prediction: Prediction) -> str:
    """The law to use, and the rule by which it was chosen."""
    row = prediction.recommended
    if row is None:
        return (
            "No law is recommended: with the identified model, every one of them lost at least one "
            "of the drawn robots."
        )
    law = STUDIED_LAWS[row.law]
    rule = (
        f"the smallest {100 * HIGH:.0f} % value with the identified model"
        if row.law != REFERENCE
        else f"the default law; no law has a {100 * HIGH:.0f} % value that is smaller by more than "
        f"a factor of {AS_GOOD:g}"
    )
    return (
        f"Recommended: {law.title}, {row.number:.3g} {law.unit} ({rule}; "
        f"{100 * HIGH:.0f} %: {_error(row.high)} mrad, worst: {_error(row.worst)} mrad)"
    )


def node_parameters(row: LawErrors) -> str:
    """The parameters of flatness_controller_node for a law."""
    law = STUDIED_LAWS[row.law]
    chosen: dict[str, Any] = {"law": law.law}
    if law.law in PARAMETERS and law.unit == "rad/s":
        number = float(f"{row.number:.3g}")
        is_list = law.law != "computed_torque"
        chosen[PARAMETERS[law.law]] = [number] if is_list else number
    chosen |= {
        name: value for name, value in law.settings.items()
        if isinstance(value, str | float | int) and name != "delay"
    }  # fmt: skip
    tree = {"flatness_controller_node": {"ros__parameters": chosen}}
    return str(yaml.safe_dump(tree, sort_keys=False, default_flow_style=None))


# Pictures


def draw_changes(changes: Sequence[Change]) -> Any | None:
    """Relative changes from the data sheet with 95 % intervals; None if nothing was determined."""
    shown = [
        each for each in changes
        if each.after.determined and isfinite(each.percent) and isfinite(each.after.error)
        and each.quantity.rpartition(" ")[2] in DRIVE_QUANTITIES
    ]  # fmt: skip
    if not shown:
        return None
    quantities = list(dict.fromkeys(each.quantity for each in shown))
    names = list(dict.fromkeys(each.name for each in shown))
    figure, axes = new_figure(
        1, len(quantities), (max(6.5, 2.6 * len(quantities)), 1.2 + 0.28 * len(names)),
        sharey=True, squeeze=False,
    )  # fmt: skip
    for axis, quantity in zip(axes[0], quantities, strict=True):
        rows = [each for each in shown if each.quantity == quantity]
        at = [names.index(each.name) for each in rows]
        spread = [100.0 * CERTAIN * each.after.error / abs(each.before or 1.0) for each in rows]
        axis.errorbar(
            [each.percent for each in rows], at, xerr=spread, fmt="o", ms=4, color=BLUE, capsize=3
        )
        axis.axvline(0.0, color="black", lw=0.8)
        axis.set_title(quantity, fontsize=9)
        axis.set_xlabel("change  [%]", fontsize=9)
    axes[0, 0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0, 0].invert_yaxis()
    return figure


def draw_torques(held: HeldOut) -> Any:
    """Measured torques of a recording, and the errors of both models."""
    before, after = held.before.trace, held.after.trace
    names = held.after.joint_names
    figure, axes = grid_of_axes(len(names), 3, (4.4, 1.9))
    for k, (axis, name) in enumerate(zip(axes, names, strict=True)):
        measured = after.measured[0][:, k]
        axis.plot(after.times, measured, color=GREY, lw=0.9, label="measured")
        axis.plot(before.times, before.predicted[0][:, k] - before.measured[0][:, k],
                  color=ORANGE, lw=0.9, label="error of the data sheet")  # fmt: skip
        axis.plot(after.times, after.predicted[0][:, k] - measured, color=BLUE, lw=0.9,
                  label="error of the identified model")  # fmt: skip
        axis.set_title(name, fontsize=9)
    label_edges(axes, "time  [s]", f"torque  [{held.unit}]")
    legend_below(figure, axes[0])
    return figure


def draw_prediction(prediction: Prediction) -> Any:
    """Errors of all laws: every drawn robot, median, and the HIGH quantile."""
    laws = list(prediction.numbers)
    figure, axis = new_figure(1, 1, (max(6.5, 1.7 * len(laws)), 4.2))
    for c, case in enumerate(CASES):
        for k, law in enumerate(laws):
            row = prediction.row(case, law)
            at = k + 0.25 * (c - 1)
            errors = MILLI * row.errors[np.isfinite(row.errors)]
            axis.plot(np.full(len(errors), at), errors, ".", color=CASE_COLOURS[case], alpha=0.5)
            for value, mark in ((row.median, "_"), (row.high, "_")):
                if isfinite(value):
                    size = 16 if value == row.median else 9
                    axis.plot(at, MILLI * value, mark, ms=size, mew=2, color=CASE_COLOURS[case])
            if row.lost:
                axis.plot(at, MILLI * 0.2, "x", color=CASE_COLOURS[case])
    axis.set_yscale("log")
    axis.set_xticks(
        range(len(laws)), [STUDIED_LAWS[law].title for law in laws], fontsize=8, rotation=12
    )
    axis.set_ylabel("rms error of the links  [mrad]")
    for case, title in CASES.items():
        axis.plot([], [], "o", color=CASE_COLOURS[case], label=title)
    axis.plot([], [], "_", ms=16, mew=2, color="black", label="median")
    axis.plot([], [], "_", ms=9, mew=2, color="black", label=f"{100 * HIGH:.0f} % of the robots")
    legend_below(figure, axis, ncols=2)
    return figure
