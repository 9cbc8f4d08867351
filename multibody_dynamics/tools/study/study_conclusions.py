# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sentences about the results: each is computed from the tables, and claims no more than they
show."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from .conditions import ERRORS, KEY_GROUPS
from .model_errors import PARTS
from .studied_laws import COMPENSATION_LAWS, GAIN_LAWS, REFERENCE, law_of
from .study_goals import goals_arm, missed_goals
from .study_pictures import gain_of_rates
from .study_plan import ArmKey
from .study_tables import Cell, StudyTables, figure

PAYS = 1.25  # ratio of errors from which a difference is reported


def arm_title(tables: StudyTables, arm: ArmKey) -> str:
    """The name of an arm, with the stiffness of its springs if there are several."""
    if tables.study.stiffnesses == (1.0,):
        return arm.source.name
    return f"{arm.source.name}, springs x {arm.stiffness:g}"


def about_noise(tables: StudyTables) -> Iterator[str]:
    """Which laws do not reach the noise of the reference."""
    found = False
    for (arm, key), each in tables.calibrations.items():
        if each.note and not law_of(key).is_fixed:
            found = True
            yield f"* {arm_title(tables, arm)}, {law_of(key).title}: {each.note}."
    if not found:
        yield "All laws reach the noise of the reference."


def about_errors(tables: StudyTables) -> Iterator[str]:
    """The best law for each error, the default law, and which laws are lost."""
    for arm in tables.given_arms():
        for error in ERRORS:
            cells = _cells(tables, arm, f"all-{100 * error:g}")
            if cells:
                yield (
                    f"{arm_title(tables, arm)}, all parameters {100 * error:g} % off: "
                    + _ranking(cells)
                )


def _cells(tables: StudyTables, arm: ArmKey, condition: str) -> dict[str, Cell]:
    found = {law.key: tables.cell(arm, law.key, condition) for law in tables.laws(arm)}
    return {key: cell for key, cell in found.items() if cell is not None}


def _ranking(cells: dict[str, Cell]) -> str:
    best = min(cells, key=lambda key: cells[key].median)
    if not isfinite(cells[best].median):
        return "every law is lost."
    text = f"{_title(best)} has the smallest median error, {figure(cells[best].median)} mrad"
    own = cells.get(REFERENCE)
    if own is not None and best != REFERENCE:
        text += f"; the default law has {figure(own.median)}"
    lost = [_title(key) for key, cell in cells.items() if not isfinite(cell.median)]
    some = [_title(key) for key, cell in cells.items() if isfinite(cell.median) and cell.lost]
    if lost:
        text += f". Lost: {', '.join(lost)}"
    if some:
        text += f". Lost in some draws: {', '.join(some)}"
    return text + "."


def _title(key: str) -> str:
    return law_of(key).title


def about_parts(tables: StudyTables) -> Iterator[str]:
    """The parameters that matter most."""
    for arm in tables.given_arms():
        for law in tables.laws(arm):
            cells = {part: tables.cell(arm, law.key, f"{part}-30") for part in PARTS}
            errors = {part: cell.median for part, cell in cells.items() if cell is not None}
            if law.key not in (REFERENCE, "pd-full") or not errors:
                continue
            order = sorted(errors, key=lambda part: -errors[part])
            text = ", ".join(f"{part} {figure(errors[part])}" for part in order)
            yield f"{arm_title(tables, arm)}, {law.title}, 30 % off, in mrad: {text}."


def about_rates(tables: StudyTables) -> Iterator[str]:
    """Where the rates reduce the error."""
    conditions = tables.conditions("exact", "error", "speed")
    for pair, name in (("-comp", "With compensation"), ("", "Without compensation")):
        pays, even, costs = [], [], []
        for robot in tables.study.robots:
            for factor in tables.study.stiffnesses:
                arm = ArmKey(robot, factor)
                for each in conditions:
                    ratio = gain_of_rates(tables, arm, pair, each.key)
                    text = f"{arm_title(tables, arm)}, {each.title} ({figure(ratio)})"
                    if ratio >= PAYS:
                        pays.append(text)
                    elif ratio > 1.0 / PAYS:
                        even.append(text)
                    elif isfinite(ratio):
                        costs.append(text)
        if pays:
            yield f"{name}, the rates reduce the error by a fifth or more for: {'; '.join(pays)}."
        if even:
            yield (
                f"{name}, the rates change the error by less than a quarter for: {'; '.join(even)}."
            )
        if costs:
            yield (
                f"{name}, the rates increase the error by a quarter or more for: "
                f"{'; '.join(costs)}."
            )


def about_delays(tables: StudyTables) -> Iterator[str]:
    """Which laws tolerate which unknown delay."""
    conditions = [each for each in tables.conditions("delay") if not each.known_delay]
    for arm in tables.given_arms() if conditions else ():
        for each in conditions:
            cells = _cells(tables, arm, each.key)
            if cells:
                yield f"{arm_title(tables, arm)}, {each.title}: {_ranking(cells)}"


def about_contacts(tables: StudyTables) -> Iterator[str]:
    """The best law for each contact."""
    for arm in tables.given_arms():
        for each in tables.conditions("contact"):
            cells = _cells(tables, arm, each.key)
            if cells:
                yield f"{arm_title(tables, arm)}, {each.title}: {_ranking(cells)}"


def about_front(tables: StudyTables) -> Iterator[str]:
    """The bandwidths that are stable at all judged poses with 30 % error, and the best of them."""
    for arm in tables.given_arms():
        judged = {
            key: tables.judgements.get((arm, key, 0.3))
            for key in COMPENSATION_LAWS
            if tables.cell(arm, key, "all-10") is not None
        }
        stable = [key for key, each in judged.items() if each is not None and not each.unstable]
        if not any(judged.values()):
            continue
        title = arm_title(tables, arm)
        if not stable:
            yield f"{title}: with a model 30 % off, no bandwidth is stable at all judged poses."
            continue
        errors = {key: tables.cell(arm, key, "all-10") for key in stable}
        best, cell = min(
            ((key, cell) for key, cell in errors.items() if cell is not None),
            key=lambda pair: pair[1].median,
        )
        names = ", ".join(law_of(key).title.removesuffix(" rad/s") for key in stable)
        yield (
            f"{title}: with a model 30 % off, the loop is stable at all judged poses with {names}"
            f" rad/s. Of these, {law_of(best).title} has the smallest median error with 10 % "
            f"error, {figure(cell.median)} mrad."
        )


def about_gains(tables: StudyTables) -> Iterator[str]:
    """Which gains meet every goal that was studied with them, and which has the least noise."""
    arm = goals_arm(tables)
    keys = [key for key in GAIN_LAWS if arm is not None and (arm, key) in tables.calibrations]
    if arm is None or not keys:
        return
    noises = {key: tables.calibrations[arm, key] for key in keys}
    meets = [key for key in keys if not missed_goals(tables, arm, key)]
    louder = {key: noises[key].noise / noises[key].wanted for key in keys}
    if meets:
        best = min(meets, key=lambda key: louder[key])
        meet = "meet" if len(meets) > 1 else "meets"
        yield (
            f"{arm_title(tables, arm)}: {', '.join(map(_title, meets))} {meet} all goals; of these,"
            f" {_title(best)}, has the least noise, {figure(louder[best])} times that of the"
            " default law."
        )
    else:
        yield f"{arm_title(tables, arm)}: none of these laws meets all goals."
    for key in sorted(keys, key=lambda key: louder[key]):
        if missed := missed_goals(tables, arm, key):
            noise = f"{figure(louder[key])} times the noise"
            yield f"{_title(key)}, {noise}, misses: {'; '.join(missed)}."


def about_plants(tables: StudyTables) -> Iterator[str]:
    """How far the plants agree."""
    differences: list[tuple[float, str]] = []
    apart: list[str] = []
    for arm in tables.given_arms():
        for law in tables.laws(arm):
            for each in tables.conditions(*KEY_GROUPS):
                pair = tables.on_both(arm, law.key, each.key)
                if pair is None:
                    continue
                one, other = pair
                text = f"{arm_title(tables, arm)}, {law.title}, {each.title}"
                if one.lost != other.lost:
                    apart.append(f"{text} ({one.lost} and {other.lost} of {one.draws})")
                elif isfinite(one.median):
                    differences.append((abs(other.median / one.median - 1.0), text))
    if differences:
        largest, where = max(differences)
        yield (
            f"The medians of the two plants differ by at most {100 * largest:.2g} % ({where}), in "
            f"{len(differences)} rows."
        )
    if apart:
        yield f"The plants lose different numbers of runs: {'; '.join(apart)}."
