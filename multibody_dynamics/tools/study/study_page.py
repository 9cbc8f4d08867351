# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The report of a study: one HTML page, and its pictures."""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ...reporting.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    legend_below,
    new_figure,
)
from ...reporting.page import Page
from ...reporting.tables import text_table
from .conditions import BITS, DELAYS, ERRORS, GROUPS, KEY_GROUPS, Condition
from .model_errors import PARTS
from .single_run import CHECKED, LOST, SWING
from .studied_laws import NOT_STUDIED, REFERENCE, STUDIED_LAWS, StudiedLaw
from .studied_robots import load_arm
from .study_plan import JUDGED_DELAY, JUDGED_ERRORS, ArmKey, arms_of
from .study_tables import StudyTables, figure

BROWN = "#7A4B1E"
COLOURS = {
    "pd-full-comp": VERMILION,
    "pd-quasi-comp": ORANGE,
    "pd-full": BLUE,
    "pd-quasi": SKY,
    "sf-full-comp": PURPLE,
    "sf-full": GREEN,
    "sf-coupled": BROWN,
}
NARROW = 9.0  # inches: narrower pictures have fewer columns in the legend
ALL_OFF = {0.0: "exact"} | {100 * e: f"all-{100 * e:g}" for e in ERRORS}
"""The conditions with all parameters off, by their error in percent."""
LOST_MARK = 1.6  # times the last finite error: where lost runs are marked


def write_report(tables: StudyTables, folder: Path) -> Path:
    """Write report.html; returns its path."""
    page = Page("Robustness of the control laws")
    for section in SECTIONS:
        section(page, tables)
    return page.write_html(folder / "report.html")


def summary(tables: StudyTables) -> list[str]:
    """The main results as lines of text."""
    lines = []
    for arm in tables.given_arms():
        conditions = tables.conditions("exact", "error")
        lines.append(f"{arm_title(tables, arm)}: rms error in mrad, median / worst")
        lines += text_table(
            ("law", *(each.key for each in conditions)), _law_rows(tables, arm, conditions)
        )
    return lines


def arm_title(tables: StudyTables, arm: ArmKey) -> str:
    """The name of an arm, with the stiffness of its springs if there are several."""
    if tables.study.stiffnesses == (1.0,):
        return arm.source.name
    return f"{arm.source.name}, springs x {arm.stiffness:g}"


# Sections


def _about(page: Page, tables: StudyTables) -> None:
    study = tables.study
    found = ", ".join(f"{name} {value}" for name, value in tables.origin.items())
    page.text(
        "Each law follows a fast motion of a simulated arm, cycle by cycle, as "
        "flatness_controller_node would, but without ROS. The tables contain the rms error of all "
        "links over the whole motion, in mrad (mm for prismatic joints); where several draws were "
        "made, median / worst.",
        f"A run is lost if a link deviates by more than {LOST:g} rad from its reference, if it "
        f"oscillates by more than {1e3 * SWING:g} mrad rms at the end and this does not decay in "
        f"another {CHECKED:g} s of rest, or if the law has no design or no solution. A lost run "
        "has no error; a median counts as lost if at least half of the draws are lost.",
        f"Encoders have {BITS} bits per turn on the link side, for links and motors, with noise of "
        f"a third of a step, unless stated. Draws: {study.draws} for the main laws with all "
        f"parameters off, {study.few} in other rows with a wrong model. In draw k, every law faces "
        f"the same wrong model. Plant: {study.plant}. Seed {study.seed}. {found}.",
    )
    arms = {arm.source.title: load_arm(*arm) for arm in tables.given_arms()}
    records = (
        {
            "robot": title,
            "joints": arm.model.n,
            "mass, kg": arm.model.inertias[:, 5, 5].sum(),
            "motion, s": arm.motion.end_time,
            "largest speed, rad/s": abs(arm.motion.peak_values()[1]).max(),
            "payload, kg": arm.payload,
            "hit for 20 ms, N": arm.hit,
            "factors of the stiffness": ", ".join(f"{factor:g}" for factor in study.stiffnesses),
        }
        for title, arm in arms.items()
    )
    page.records(records, "The robots. Stiffer springs carry the same torques.", digits=3)
    if left := [f"{name} ({why})" for name, why in NOT_STUDIED.items()]:
        page.text(f"Not studied: {'; '.join(left)}.")


def _noise(page: Page, tables: StudyTables) -> None:
    page.heading("Equal noise")
    page.text(
        "The number of each law, in most cases its bandwidth in rad/s, is chosen so that the mean "
        "step of the motor torques from cycle to cycle, in the first half of the motion with an "
        f"exact model, is that of {STUDIED_LAWS[REFERENCE].title} with its default bandwidth. For "
        "torque control, the number is the ratio of the bandwidth of the torque loops to the "
        "resonance of the motors on their springs (the bandwidth of the links is 10 rad/s times "
        "this number); for joint impedance, it is the ratio of the stiffness of the links to that "
        "of the springs."
    )
    arms = [arm for arm in arms_of(tables.study) if (arm, REFERENCE) in tables.calibrations]

    def number(arm: ArmKey, law: str) -> str:
        found = tables.calibrations.get((arm, law))
        return "" if found is None else f"{found.number:.3g}{'' if found.is_equal else '*'}"

    rows = [(law.title, *(number(arm, law.key) for arm in arms)) for law in tables.study.laws]
    noise = (f"{tables.calibrations[arm, REFERENCE].wanted:.2g}" for arm in arms)
    rows.append(("noise of all of them, N m", *noise))
    page.table(("law", *(arm_title(tables, arm) for arm in arms)), rows)
    for (arm, key), each in tables.calibrations.items():
        if each.note:
            page.text(f"* {arm_title(tables, arm)}, {STUDIED_LAWS[key].title}: {each.note}.")


def _errors(page: Page, tables: StudyTables) -> None:
    conditions = tables.conditions("exact", "error")
    if not conditions:
        return
    page.heading("Wrong models")
    page.text(
        "Every mass and inertia, spring, rotor and friction of the controller's model is off by "
        "the given share, too large or too small at random. Lines: median; dotted: worst draw; a "
        "cross: lost."
    )
    page.figure(draw_errors(tables, tables.given_arms()), "errors over the error of the model")
    _law_tables(page, tables, arms_of(tables.study), conditions)


def _parts(page: Page, tables: StudyTables) -> None:
    conditions = tables.conditions("parts")
    if not conditions:
        return
    page.heading("Which parameters matter")
    page.text("One group of parameters is off. The picture is for 30 %.")
    page.figure(draw_parts(tables, tables.given_arms()), "errors by wrong parameters")
    _law_tables(page, tables, tables.given_arms(), conditions)


def _rates(page: Page, tables: StudyTables) -> None:
    keys = {law.key for law in tables.study.laws}
    conditions = tables.conditions("exact", "error", "speed")
    if not {"pd-full", "pd-quasi"} <= keys or not conditions:
        return
    page.heading("What Q' and Q'' contribute")
    page.text(
        "The median error of motor PD without the rates (quasi-static feedforward), divided by "
        "that with them: at 2, the rates halve the error; at 1, they make no difference. The "
        "figure before the slash is with compensation of disturbances, that after it without."
    )
    page.figure(draw_rates(tables), "gain of the rates over the error of the model")

    def gains(arm: ArmKey, condition: str) -> str:
        pair = (gain_of_rates(tables, arm, kind, condition) for kind in ("-comp", ""))
        return " / ".join(figure(gain) if isfinite(gain) else "-" for gain in pair)

    page.table(
        ("robot", *(each.title for each in conditions)),
        (
            (arm_title(tables, arm), *(gains(arm, each.key) for each in conditions))
            for arm in arms_of(tables.study)
        ),
    )


def _delays(page: Page, tables: StudyTables) -> None:
    if not tables.conditions("delay", "jitter", "rate"):
        return
    page.heading("Delay, irregular periods and rate")
    page.text(
        "The torque takes effect later than computed. Where the law knows the delay, it predicts "
        "the state. The model is exact."
    )
    arms = tables.given_arms()
    if tables.conditions("delay"):
        page.figure(draw_delays(tables, arms), "errors over the delay; dashed: the delay is known")
    _law_tables(page, tables, arms, tables.conditions("exact", "delay", "jitter", "rate"))


def _contacts(page: Page, tables: StudyTables) -> None:
    if not tables.conditions("contact", "encoders"):
        return
    page.heading("Payload, hit and encoders")
    page.text(
        "The payload appears after two sevenths of the motion; the hit pushes the last link "
        "sideways, or upwards if the arm is planar, for 20 ms. With observer: the residual of a "
        "momentum observer (20 1/s) is fed back. The model is exact unless stated."
    )
    conditions = tables.conditions("exact", "contact", "encoders")
    _law_tables(page, tables, tables.given_arms(), conditions)


def _effects(page: Page, tables: StudyTables) -> None:
    if not tables.conditions("effects"):
        return
    page.heading("Effects of real drives, and soft bases")
    page.text(
        "The laws do not know these effects of the robot, except where they are called known: "
        "terms of the model then describe them. Torques are shares of the effort limits. "
        "Bases move in six directions, with an own inertia of a fifth of the arm's. The laws are "
        "set up for a rigid base or, where stated, for bases from 5 Hz on, as by default."
    )
    _law_tables(page, tables, tables.given_arms(), tables.conditions("exact", "effects"))


def _stability(page: Page, tables: StudyTables) -> None:
    if not tables.results.judgements:
        return
    page.heading("Stability at other poses")
    page.text(
        f"Share of unstable poses among {tables.study.poses} that fill the joint range, for the "
        f"sampled loop with a delay of {1e3 * JUDGED_DELAY:g} ms. The signs of the parameter "
        "errors differ from pose to pose. Friction and torque limits are left out."
    )
    heads = ("law", *(f"{100 * error:g} % off" for error in JUDGED_ERRORS))
    main = [law for law in tables.study.laws if law.is_main]
    for arm in tables.given_arms():
        judged = {law: _shares(tables, arm, law.key, JUDGED_ERRORS) for law in main}
        rows = ((law.title, *shares) for law, shares in judged.items() if any(shares))
        page.table(heads, rows, arm_title(tables, arm))


def _shares(tables: StudyTables, arm: ArmKey, law: str, errors: Sequence[float]) -> tuple[str, ...]:
    """The shares of unstable poses with wrong models."""
    found = (tables.judgements.get((arm, law, error)) for error in errors)
    return tuple(
        "" if each is None else f"{100 * each.unstable:.0f} %" if isfinite(each.unstable)
        else "no design"
        for each in found
    )  # fmt: skip


def _plants(page: Page, tables: StudyTables) -> None:
    if tables.study.plant != "both":
        return
    page.heading("The same on MuJoCo")
    page.text(
        "MuJoCo uses its own equations of motion. Each cell shows the medians on the internal "
        f"plant and on MuJoCo, of the draws that both have. Repeated: {', '.join(KEY_GROUPS)}."
    )
    conditions = tables.conditions(*KEY_GROUPS)

    def medians(arm: ArmKey, law: str, condition: str) -> str:
        pair = tables.on_both(arm, law, condition)
        return "" if pair is None else ", ".join(figure(cell.median) for cell in pair)

    for arm in tables.given_arms():
        rows = [
            (law.title, *(medians(arm, law.key, each.key) for each in conditions))
            for law in tables.study.laws
        ]
        heads = ("law", *(each.title for each in conditions))
        page.table(heads, (row for row in rows if any(row[1:])), arm_title(tables, arm))


def _conditions(page: Page, tables: StudyTables) -> None:
    page.heading("What was studied")
    page.table(("conditions", ""), ((group, GROUPS[group]) for group in tables.study.groups))
    page.text("study.json contains every run, study.csv every cell of these tables.")


SECTIONS: tuple[Callable[[Page, StudyTables], None], ...] = (
    _about, _noise, _errors, _parts, _rates, _delays, _contacts, _effects, _stability, _plants,
    _conditions,
)  # fmt: skip


# Tables


def _law_tables(
    page: Page, tables: StudyTables, arms: Sequence[ArmKey], conditions: Sequence[Condition]
) -> None:
    """A table per arm: laws by conditions."""
    heads = ("law", *(each.title for each in conditions))
    for arm in arms:
        page.table(heads, _law_rows(tables, arm, conditions), arm_title(tables, arm))


def _law_rows(
    tables: StudyTables, arm: ArmKey, conditions: Sequence[Condition]
) -> Iterator[tuple[str, ...]]:
    for law in tables.laws(arm):
        cells = [tables.cell(arm, law.key, each.key) for each in conditions]
        if any(cells):
            yield (law.title, *("" if cell is None else str(cell) for cell in cells))


# Pictures


def _axes_of(titles: Sequence[str], x: str, y: str = "") -> tuple[Any, Any]:
    """A figure with axes side by side, which share a logarithmic scale of the errors."""
    size = max(6.5, 4.6 * len(titles)), 4.5
    figure, axes = new_figure(1, len(titles), size, sharey=True, squeeze=False)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(x)
        axis.set_yscale("log")
    axes[0, 0].set_ylabel(y or "rms error of the links  [mrad]")
    return figure, axes[0]


def _titles(arms: Sequence[ArmKey]) -> list[str]:
    return [arm.source.title for arm in arms]


def _median(tables: StudyTables, arm: ArmKey, law: str, condition: str) -> float:
    """The median error; NaN if it was not studied."""
    cell = tables.cell(arm, law, condition)
    return np.nan if cell is None else cell.median


def style_of(law: StudiedLaw) -> dict[str, Any]:
    """Colour and line of a law: the main laws in colour, the others in grey."""
    if law.key in COLOURS:
        return {"color": COLOURS[law.key], "lw": 1.8, "zorder": 3}
    return {"color": GREY, "lw": 0.9, "zorder": 2}


def draw_errors(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """rms error over the error of the model: median, and worst draw dotted."""
    figure, axes = _axes_of(_titles(arms), "error of all parameters  [%]")
    x, keys = list(ALL_OFF), ALL_OFF.values()
    for axis, arm in zip(axes, arms, strict=True):
        for law in tables.laws(arm):
            _line(axis, x, [_median(tables, arm, law.key, key) for key in keys], law)
            if law.key in COLOURS:
                cells = [tables.cell(arm, law.key, key) for key in keys]
                worst = [np.nan if c is None or not isfinite(c.worst) else c.worst for c in cells]
                axis.plot(x, worst, ":", color=COLOURS[law.key], lw=1.0)
    _legend(figure, tables)
    return figure


def draw_delays(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """rms error over the delay: unknown (lines) and known (dashed)."""
    figure, axes = _axes_of(_titles(arms), "delay of the torque  [ms]")
    x = [0.0, *(1e3 * d for d in DELAYS)]
    for axis, arm in zip(axes, arms, strict=True):
        for known, dashes in (("unknown", "-"), ("known", "--")):
            keys = ["exact", *(f"delay-{1e3 * d:g}-{known}" for d in DELAYS)]
            for law in tables.laws(arm):
                if law.key in COLOURS:
                    values = [_median(tables, arm, law.key, key) for key in keys]
                    _line(axis, x, values, law, ls=dashes)
    _legend(figure, tables, only=COLOURS)
    return figure


def draw_parts(tables: StudyTables, arms: Sequence[ArmKey]) -> Any:
    """Bars: the median error with one group of parameters off by 30 %."""
    figure, axes = _axes_of(_titles(arms), "parameters that are off")
    kinds = [*PARTS, "all"]
    for axis, arm in zip(axes, arms, strict=True):
        laws = [law for law in tables.laws(arm) if law.is_main]
        width = 0.8 / max(len(laws), 1)
        for k, law in enumerate(laws):
            heights = [_median(tables, arm, law.key, f"{kind}-30") for kind in kinds]
            places = np.arange(len(kinds)) + (k + 0.5) * width - 0.4
            shown = np.where(np.isfinite(heights), heights, np.nan)
            axis.bar(places, shown, width, color=COLOURS.get(law.key, GREY))
        axis.set_xticks(range(len(kinds)), kinds, fontsize=8)
    _legend(figure, tables, only=COLOURS)
    return figure


def draw_rates(tables: StudyTables) -> Any:
    """What Q' and Q'' contribute: the error of quasi-static over that of full feedforward."""
    robots, factors = tables.study.robots, tables.study.stiffnesses
    titles = [robot.title for robot in robots]
    figure, axes = _axes_of(titles, "error of all parameters  [%]",
                            "error without rates / with rates")  # fmt: skip
    marks = dict(zip(sorted(factors), ("o", "s", "^", "D", "v"), strict=False))
    x, keys = list(ALL_OFF), ALL_OFF.values()
    for axis, robot in zip(axes, robots, strict=True):
        for factor in factors:
            for pair, colour in (("-comp", VERMILION), ("", BLUE)):
                arm = ArmKey(robot, factor)
                ratios = [gain_of_rates(tables, arm, pair, key) for key in keys]
                label = f"springs x {factor:g}, {'' if pair else 'not '}compensated"
                axis.plot(x, ratios, marks.get(factor, "o") + "-", color=colour, label=label)
        axis.axhline(1.0, color="black", lw=0.8)
    legend_below(figure, axes[0], ncols=2)
    return figure


def gain_of_rates(tables: StudyTables, arm: ArmKey, pair: str, condition: str) -> float:
    """Median error of motor PD with the quasi-static feedforward over that with the full one, both
    compensated (`pair` "-comp") or not (""); NaN if one was lost or not studied."""
    slow, full = (_median(tables, arm, f"pd-{kind}{pair}", condition) for kind in ("quasi", "full"))
    return slow / full if isfinite(slow) and isfinite(full) else float("nan")


def _line(axis: Any, x: Sequence[float], y: Sequence[float], law: StudiedLaw, **own: Any) -> None:
    """A line through the finite values; a cross above the last of them where the arm was lost."""
    shown = [value if isfinite(value) else np.nan for value in y]
    axis.plot(x, shown, marker="o", ms=3, **style_of(law) | own)
    known = [value for value in shown if value == value]
    lost = [at for at, value in zip(x, y, strict=True) if value == np.inf]
    if lost and known:
        axis.plot(lost[:1], [LOST_MARK * known[-1]], "x", **style_of(law))


def _legend(figure: Any, tables: StudyTables, only: Any = None) -> None:
    from matplotlib.lines import Line2D

    laws = [law for law in tables.study.laws if law.key in COLOURS]
    handles = [Line2D([], [], label=law.title, **style_of(law)) for law in laws]
    if only is None and len(laws) < len(tables.study.laws):
        handles.append(Line2D([], [], label="other laws, see the table", color=GREY, lw=0.9))
    columns = 2 if figure.get_figwidth() < NARROW else 3
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )
