# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report of a study: one HTML page with its pictures in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from ..base.pages import heading, paragraph, picture, table, write_page
from .conditions import BITS, GROUPS, KEY_GROUPS
from .single_run import CHECKED, LOST, SWING
from .studied_laws import NOT_STUDIED, REFERENCE, STUDIED_LAWS
from .studied_robots import load_arm
from .study_pictures import (
    draw_delays,
    draw_errors,
    draw_parts,
    draw_rates,
    gain_of_rates,
)
from .study_plan import JUDGED_DELAY, JUDGED_ERRORS, ArmKey, Judgement
from .study_tables import StudyTables, figure


def write_report(tables: StudyTables, folder: Path) -> Path:
    """Write report.html; returns its path."""
    parts = (part for section in SECTIONS for part in section(tables))
    return write_page(folder / "report.html", "Robustness of the control laws", parts)


def summary(tables: StudyTables) -> list[str]:
    """The main results as lines of text."""
    lines = []
    for arm in tables.given_arms():
        lines.append(f"{arm_title(tables, arm)}: rms error in mrad, median / worst")
        conditions = tables.conditions("exact", "error")
        lines.append("  " + " " * 42 + "".join(f"{each.key:>24}" for each in conditions))
        for law in tables.laws(arm):
            cells = (tables.cell(arm, law.key, each.key) for each in conditions)
            lines.append(f"  {law.title:<42}" + "".join(f"{cell!s:>24}" for cell in cells))
    return lines


def arm_title(tables: StudyTables, arm: ArmKey) -> str:
    """The name of an arm, with the stiffness of its springs if there are several."""
    if tables.study.stiffnesses == (1.0,):
        return arm.source.name
    return f"{arm.source.name}, springs x {arm.stiffness:g}"


# Sections


def _about(tables: StudyTables) -> Iterator[str]:
    study = tables.study
    found = ", ".join(f"{name} {value}" for name, value in tables.origin.items())
    yield paragraph(
        "Each law follows a fast motion of a simulated arm, cycle by cycle, as "
        "flatness_controller_node would, but without ROS. The tables contain the rms error of all "
        "links over the whole motion, in mrad (mm for prismatic joints); where several draws were "
        "made, median / worst."
    )
    yield paragraph(
        f"A run is lost if a link deviates by more than {LOST:g} rad from its reference, if it "
        f"oscillates by more than {1e3 * SWING:g} mrad rms at the end and this does not decay in "
        f"another {CHECKED:g} s of rest, or if the law has no design or no solution. A lost run "
        "has no error; a median counts as lost if at least half of the draws are lost."
    )
    yield paragraph(
        f"Encoders have {BITS} bits per turn on the link side, for links and motors, with noise of "
        f"a third of a step, unless stated. Draws: {study.draws} for the main laws with all "
        f"parameters off, {study.few} in other rows with a wrong model. In draw k, every law faces "
        f"the same wrong model. Plant: {study.plant}. Seed {study.seed}. {found}."
    )
    rows = []
    for arm in tables.given_arms():
        loaded = load_arm(*arm)
        rows.append(
            (
                arm.source.title,
                str(loaded.model.n),
                f"{loaded.model.inertias[:, 5, 5].sum():.3g}",
                f"{loaded.motion.end_time:.3g}",
                f"{abs(loaded.motion.peak_values()[1]).max():.2g}",
                f"{loaded.payload:.2g}",
                f"{loaded.hit:.3g}",
                ", ".join(f"{factor:g}" for factor in study.stiffnesses),
            )
        )
    heads = ("robot", "joints", "mass, kg", "motion, s", "largest speed, rad/s", "payload, kg",
             "hit for 20 ms, N", "factors of the stiffness")  # fmt: skip
    yield table(heads, rows, "The robots. Stiffer springs carry the same torques.")
    if left := [f"{name} ({why})" for name, why in NOT_STUDIED.items()]:
        yield paragraph(f"Not studied: {'; '.join(left)}.")


def _noise(tables: StudyTables) -> Iterator[str]:
    yield heading("Equal noise")
    yield paragraph(
        "The number of each law, in most cases its bandwidth in rad/s, is chosen so that the mean "
        "step of the motor torques from cycle to cycle, in the first half of the motion with an "
        f"exact model, is that of {STUDIED_LAWS[REFERENCE].title} with its default bandwidth. For "
        "torque control, the number is the ratio of the bandwidth of the torque loops to the "
        "resonance of the motors on their springs (the bandwidth of the links is 10 rad/s times "
        "this number); for joint impedance, it is the ratio of the stiffness of the links to that "
        "of the springs."
    )
    arms = [arm for arm in _arms(tables) if any(key[0] == arm for key in tables.calibrations)]
    rows = []
    for law in tables.study.laws:
        cells = []
        for arm in arms:
            found = tables.calibrations.get((arm, law.key))
            mark = "" if found is None or found.is_equal else "*"
            cells.append("" if found is None else f"{found.number:.3g}{mark}")
        rows.append((law.title, *cells))
    noise = (tables.calibrations[arm, REFERENCE].wanted for arm in arms)
    rows.append(("noise of all of them, N m", *(f"{value:.2g}" for value in noise)))
    yield table(("law", *(arm_title(tables, arm) for arm in arms)), rows)
    for (arm, key), each in tables.calibrations.items():
        if each.note:
            title = f"{arm_title(tables, arm)}, {STUDIED_LAWS[key].title}"
            yield paragraph(f"* {title}: {each.note}.")


def _errors(tables: StudyTables) -> Iterator[str]:
    conditions = tables.conditions("exact", "error")
    if not conditions:
        return
    yield heading("Wrong models")
    yield paragraph(
        "Every mass and inertia, spring, rotor and friction of the controller's model is off by "
        "the given share, too large or too small at random. Lines: median; dotted: worst draw; a "
        "cross: lost."
    )
    yield picture(draw_errors(tables, tables.given_arms()), "errors over the error of the model")
    yield from _law_tables(tables, _arms(tables), conditions)


def _parts(tables: StudyTables) -> Iterator[str]:
    conditions = tables.conditions("parts")
    if not conditions:
        return
    yield heading("Which parameters matter")
    yield paragraph("One group of parameters is off. The picture is for 30 %.")
    yield picture(draw_parts(tables, tables.given_arms()), "errors by wrong parameters")
    yield from _law_tables(tables, tables.given_arms(), conditions)


def _rates(tables: StudyTables) -> Iterator[str]:
    keys = {law.key for law in tables.study.laws}
    conditions = tables.conditions("exact", "error", "speed")
    if not {"pd-full", "pd-quasi"} <= keys or not conditions:
        return
    yield heading("What Q' and Q'' contribute")
    yield paragraph(
        "The median error of motor PD without the rates (quasi-static feedforward), divided by "
        "that with them: at 2, the rates halve the error; at 1, they make no difference. The "
        "figure before the slash is with compensation of disturbances, that after it without."
    )
    yield picture(draw_rates(tables), "gain of the rates over the error of the model")
    rows = []
    for arm in _arms(tables):
        cells = []
        for each in conditions:
            pair = [gain_of_rates(tables, arm, kind, each.key) for kind in ("-comp", "")]
            cells.append(" / ".join(figure(x) if isfinite(x) else "-" for x in pair))
        rows.append((arm_title(tables, arm), *cells))
    yield table(("robot", *(each.title for each in conditions)), rows)


def _delays(tables: StudyTables) -> Iterator[str]:
    conditions = tables.conditions("exact", "delay", "jitter", "rate")
    if not tables.conditions("delay", "jitter", "rate"):
        return
    yield heading("Delay, irregular periods and rate")
    yield paragraph(
        "The torque takes effect later than computed. Where the law knows the delay, it predicts "
        "the state. The model is exact."
    )
    if tables.conditions("delay"):
        drawing = draw_delays(tables, tables.given_arms())
        yield picture(drawing, "errors over the delay; dashed: the delay is known")
    yield from _law_tables(tables, tables.given_arms(), conditions)


def _contacts(tables: StudyTables) -> Iterator[str]:
    conditions = tables.conditions("exact", "contact", "encoders")
    if not tables.conditions("contact", "encoders"):
        return
    yield heading("Payload, hit and encoders")
    yield paragraph(
        "The payload appears after two sevenths of the motion; the hit pushes the last link "
        "sideways, or upwards if the arm is planar, for 20 ms. With observer: the residual of a "
        "momentum observer (20 1/s) is fed back. The model is exact unless stated."
    )
    yield from _law_tables(tables, tables.given_arms(), conditions)


def _stability(tables: StudyTables) -> Iterator[str]:
    laws = [law for law in tables.study.laws if law.is_main]
    if not tables.results.judgements:
        return
    yield heading("Stability at other poses")
    yield paragraph(
        f"Share of unstable poses among {tables.study.poses} that fill the joint range, for the "
        f"sampled loop with a delay of {1e3 * JUDGED_DELAY:g} ms. The signs of the parameter "
        "errors differ from pose to pose. Friction and torque limits are left out."
    )
    for arm in tables.given_arms():
        rows = []
        for law in laws:
            judged = [tables.judgements.get((arm, law.key, error)) for error in JUDGED_ERRORS]
            if any(judged):
                cells = map(_share, judged)
                rows.append((law.title, *cells))
        heads = ("law", *(f"{100 * error:g} % off" for error in JUDGED_ERRORS))
        yield table(heads, rows, arm_title(tables, arm))


def _share(judged: Judgement | None) -> str:
    """The share of unstable poses; "-" if the law cannot be designed."""
    if judged is None:
        return ""
    return f"{100 * judged.unstable:.0f} %" if isfinite(judged.unstable) else "-"


def _plants(tables: StudyTables) -> Iterator[str]:
    if tables.study.plant != "both":
        return
    yield heading("The same on MuJoCo")
    yield paragraph(
        "MuJoCo uses its own equations of motion. Each cell shows the medians on the internal "
        f"plant and on MuJoCo, of the draws that both have. Repeated: {', '.join(KEY_GROUPS)}."
    )
    conditions = tables.conditions(*KEY_GROUPS)
    for arm in tables.given_arms():
        rows = []
        for law in tables.study.laws:
            pairs = [tables.on_both(arm, law.key, each.key) for each in conditions]
            if any(pairs):
                cells = (
                    "" if pair is None else ", ".join(figure(cell.median) for cell in pair)
                    for pair in pairs
                )
                rows.append((law.title, *cells))
        if rows:
            heads = ("law", *(each.title for each in conditions))
            yield table(heads, rows, arm_title(tables, arm))


def _conditions(tables: StudyTables) -> Iterator[str]:
    yield heading("What was studied")
    rows = [(group, GROUPS[group]) for group in tables.study.groups]
    yield table(("conditions", ""), rows)
    yield paragraph("study.json contains every run, study.csv every cell of these tables.")


SECTIONS: tuple[Callable[[StudyTables], Iterator[str]], ...] = (
    _about, _noise, _errors, _parts, _rates, _delays, _contacts, _stability, _plants, _conditions,
)  # fmt: skip


# Tables


def _arms(tables: StudyTables) -> list[ArmKey]:
    return [
        ArmKey(robot, factor)
        for robot in tables.study.robots
        for factor in tables.study.stiffnesses
    ]


def _law_tables(
    tables: StudyTables, arms: Sequence[ArmKey], conditions: Sequence[Any]
) -> Iterator[str]:
    """A table per arm: laws by conditions."""
    heads = ("law", *(each.title for each in conditions))
    for arm in arms:
        rows = []
        for law in tables.laws(arm):
            cells = [tables.cell(arm, law.key, each.key) for each in conditions]
            if any(cells):
                rows.append((law.title, *("" if cell is None else str(cell) for cell in cells)))
        if rows:
            yield table(heads, rows, arm_title(tables, arm))
