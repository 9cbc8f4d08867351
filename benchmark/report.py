# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables, pictures, JSON and the tables of docs/benchmark.md from the times of a run."""

import json
import logging
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import batches
import cold_start
import inverse_dynamics
import numpy as np
import operations
from harness import Group

from multibody_dynamics.reporting import figures

DOCS = Path(__file__).parents[1] / "docs" / "benchmark.md"
Times = Mapping[str, Mapping[str, Sequence[float]]]
Started = Mapping[str, Mapping[str, float]]  # see cold_start.run


class Figures(NamedTuple):
    """Of one row, in microseconds per call; the ratios are None without a reference."""

    least: float
    median: float
    p99: float
    least_ratio: float | None
    median_ratio: float | None


def summary(groups: Sequence[Group], times: Times) -> dict[str, dict[str, Figures]]:
    """{group: {row: figures}}."""
    found: dict[str, dict[str, Figures]] = {}
    for group in groups:
        rows = times[group.key]
        unit = rows.get(group.reference)
        found[group.key] = {
            name: Figures(
                min(values),
                statistics.median(values),
                float(np.percentile(values, 99)),
                min(values) / min(unit) if unit else None,
                statistics.median(values) / statistics.median(unit) if unit else None,
            )
            for name, values in rows.items()
        }
    return found


class Target(NamedTuple):
    """A ratio of two minima that is to be reached."""

    name: str
    row: tuple[str, str]  # group, row
    over: tuple[str, str]
    limit: float


def targets(groups: Sequence[Group]) -> list[Target]:
    """The targets whose rows are in this run."""
    rnea, update, call = inverse_dynamics.RNEA, inverse_dynamics.UPDATE, inverse_dynamics.CALL
    arm, orders = "specialised", [row.name for g in groups if g.key == "orders" for row in g.rows]
    large = [row.name for g in groups if g.key == "chains" for row in g.rows]
    loops = [row.name for g in groups if g.key == "loops" for row in g.rows]
    wanted = [
        Target("body-fixed, inside compiled code, over `pin.rnea`",
               (arm, inverse_dynamics.SPECIALISED), (arm, rnea), 0.35),
        Target("spatial solver, `solver.update()`, over `pin.rnea`",
               (arm, f"specialised, spatial, {update}"), (arm, rnea), 0.6),
        Target("body-fixed solver, `solver.update()`, over `pin.rnea`",
               (arm, f"specialised, body, {update}"), (arm, rnea), 0.6),
        Target("body-fixed solver, `solver(q, ...)`, over `pin.rnea`",
               (arm, f"specialised, body, {call}"), (arm, rnea), 0.95),
        Target("spatial solver, `solver(q, ...)`, over `pin.rnea`",
               (arm, f"specialised, spatial, {call}"), (arm, rnea), 1.2),
        Target("body-fixed solver, `solver(q, ...)`, over dynibo, Q alone",
               (arm, f"specialised, body, {call}"), (arm, "dynibo from Python: Q"), 1.2),
        Target("32 joints, `solver(q, ...)`, over `pin.rnea`",
               ("humanoid", f"specialised, body, {call}"), ("humanoid", rnea), 0.8),
        Target("a state of a batch of 1,000,000, all cores, over one `pin.rnea`",
               ("batches", batches.BATCH), ("batches", batches.RNEA), 0.08),
        Target("a state of `inverse_dynamics` of 200,000, all cores, over one `pin.rnea`",
               ("batches", batches.FUNCTION), ("batches", batches.RNEA), 0.05),
    ]  # fmt: skip
    if orders:
        wanted.append(
            Target("order 3 over order 2", ("orders", orders[3]), ("orders", orders[2]), 2.0)
        )
    if large:
        last = [name for name in large if name.endswith("Q, Q', Q''")]
        joints = [int(name.split()[0]) for name in last]
        wanted.append(
            Target(f"{joints[-1]} joints over {joints[-2]}, Q, Q', Q''",
                   ("chains", last[-1]), ("chains", last[-2]), 1.25 * joints[-1] / joints[-2])
        )  # fmt: skip
    if loops:
        _, standing, _, floating, reference, forward = loops[-6:]
        wanted += [
            Target("humanoid with loops, its own code, floating over fixed base",
                   ("loops", floating), ("loops", standing), 1.3),
            Target("forward dynamics with loops, over `pin.constraintDynamics`",
                   ("loops", forward), ("loops", reference), 1.0),
        ]  # fmt: skip
    rows = {(group.key, row.name) for group in groups for row in group.rows}
    return [target for target in wanted if {target.row, target.over} <= rows]


def judged(
    groups: Sequence[Group], found: Mapping[str, Mapping[str, Figures]], started: Started
) -> list[list[str]]:
    """Target, ratio of minima or seconds, limit, and whether it is reached."""
    lines = []
    for name, row, over, limit in targets(groups):
        ratio = found[row[0]][row[1]].least / found[over[0]][over[1]].least
        lines.append([name, f"{ratio:.3g}", f"{limit:.3g}", "yes" if ratio <= limit else "no"])
    return lines + cold_start.judged(started)


def markdown(group: Group, figures_of_rows: Mapping[str, Figures]) -> str:
    """A table in Markdown."""
    head = [f"µs per {group.per}", "min", "median", "p99"]
    if group.reference:
        head += ["ratio of minima", "of medians"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, row in figures_of_rows.items():
        cells = [name, *(_number(x) for x in row if x is not None)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def plain(group: Group, figures_of_rows: Mapping[str, Figures]) -> str:
    """The table for the terminal."""
    columns = ("min", "median", "p99", "min ratio", "median ratio")
    width = max(len(name) for name in figures_of_rows) + 2
    count = 5 if group.reference else 3
    lines = [f"\n{group.title}; us per {group.per}\n"]
    lines.append(" " * width + "".join(f"{column:>13}" for column in columns[:count]))
    for name, row in figures_of_rows.items():
        lines.append(f"{name:{width}}" + "".join(f"{x:13.3f}" for x in row[:count]))
    return "\n".join(lines)


def write(
    folder: Path,
    groups: Sequence[Group],
    times: Times,
    surroundings: Mapping[str, str],
    started: Started,
) -> None:
    """benchmark.json and one picture for each group."""
    folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    found = summary(groups, times)
    content = {
        "surroundings": surroundings,
        "targets": [
            dict(zip(("name", "figure", "limit", "reached"), line, strict=True))
            for line in judged(groups, found, started)
        ],
        "cold_start": started,
        "groups": {
            group.key: {
                "title": group.title,
                "unit": f"us per {group.per}",
                "reference": group.reference,
                "rows": {name: row._asdict() for name, row in found[group.key].items()},
            }
            for group in groups
        },
    }
    (folder / "benchmark.json").write_text(json.dumps(content, indent=1) + "\n")
    for group in groups:
        picture(folder / f"{group.key}.png", group, times[group.key])


def picture(file: Path, group: Group, rows: Mapping[str, Sequence[float]]) -> None:
    """Minimum, median and 99th percentile of every row."""
    figure, axes = figures.new_figure(1, 1, (9.0, 0.8 + 0.28 * len(rows)))
    for k, values in enumerate(rows.values()):
        least, median, late = min(values), statistics.median(values), np.percentile(values, 99)
        axes.plot([least, late], [k, k], color="0.6", linewidth=1.5)
        axes.plot([least], [k], "|", color=figures.BLUE, markersize=10)
        axes.plot([median], [k], "o", color=figures.BLUE, markersize=4)
    axes.set_yticks(range(len(rows)), [name.replace("`", "") for name in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.grid(axis="x", alpha=0.4)
    axes.set_title(group.title, fontsize=9)
    axes.set_xlabel(f"us per {group.per}: minimum, median (dot), 99th percentile", fontsize=8)
    figures.save(figure, file)


def update_docs(
    groups: Sequence[Group],
    times: Times,
    surroundings: Mapping[str, str],
    started: Started,
) -> None:
    """Put the tables of this run into docs/benchmark.md, between its markers."""
    found = summary(groups, times)
    texts = {group.key: markdown(group, found[group.key]) for group in groups}
    texts["operations"] = operations.table()
    lines = [f"| {' | '.join(line)} |" for line in judged(groups, found, started)]
    if lines:  # none in a run of other parts
        head = ["| ratio of minima, or s | measured | target | reached |", "|---|---|---|---|"]
        texts["targets"] = "\n".join([*head, *lines])
    names = {"pin": "Pinocchio", "numpy": "NumPy", "numba": "Numba", "python": "Python",
             "casadi": "CasADi"}  # fmt: skip
    versions = [f"{names.get(name, name)} {x}" for name, x in surroundings.items()]
    versions[:2] = [surroundings["processor"], f"{surroundings['cores']} cores"]
    texts["surroundings"] = f"Measured on {', '.join(versions)}."
    if started:
        texts["cold_start"] = cold_start.table(started)
    page = DOCS.read_text()
    for key, text in texts.items():
        start, end = f"<!-- begin {key} -->\n", "\n<!-- end -->"
        pattern = re.compile(f"(?<={re.escape(start)}).*?(?={re.escape(end)})", re.DOTALL)
        page, count = pattern.subn(lambda _, text=text: text, page, count=1)
        if not count:
            raise SystemExit(f"{DOCS}: no place for the table '{key}'")
    DOCS.write_text(page)
