# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reports of a comparison: HTML with embedded pictures, PNG, Markdown, and JSON for programs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import __version__
from ..dynamics.identification import IdentifiedValue, Residuals
from ..reporting.figures import BLUE, GREY, VERMILION, legend_below, new_figure, with_gaps
from ..reporting.page import Page, finite, write_json
from ..reporting.tables import text_table
from .comparison import Validation
from .identify import Identification

COLUMNS = {
    "rms": "rms",
    "mae": "mean |e|",
    "max": "max |e|",
    "bias": "bias",
    "correlation": "corr.",
    "r2": "R²",
    "nrms": "nrms",
    "worst at": "worst at, s",
}
PER_SECOND = ("", "/s", "/s²")
SIMULATED = 10**18  # ns, in 2001: earlier stamps are those of a simulation


def figures(validation: Validation, identification: Identification | None = None) -> dict[str, Any]:
    """All numbers of a comparison for JSON; None where not finite."""
    v = validation
    names = v.joint_names
    content: dict[str, Any] = {
        "version": __version__,
        "recording": v.recording,
        "robot": v.robot,
        "begin": _date(v.origin),
        "begin [ns]": v.origin,
        "duration [s]": v.duration,
        "rate [Hz]": v.rate,
        "cut-off [Hz]": v.cutoff,
        "cut-off from data": v.cutoff_from_data,
        "compared rate [Hz]": v.compared_rate,
        "derivatives from": "velocity" if v.velocity else "position",
        "not compared at each end of a stretch [s]": v.edge,
        "compared share": v.coverage,
        "compared samples": v.residuals[0].count,
        "largest nrms": v.worst,
        "residuals": {
            quantity: residual.figures(names)
            for quantity, residual in zip(v.quantities, v.residuals, strict=True)
        },
        "messages": v.messages,
        "topics": [asdict(quality) for quality in v.qualities],
        "problems": list(v.problems),
        "notes": list(v.notes),
        "took [s]": v.seconds,
    }
    if identification is not None:
        content["identification"] = identification.figures(names)
    return dict(finite(content))


def write_report(
    validation: Validation, folder: Path, identification: Identification | None = None
) -> Path:
    """Write report.html, report.md, report.json and torques.png; rates.png if rates are compared;
    identified.yaml and identified.json after an identification. Returns the HTML file."""
    v = validation
    write_json(figures(v, identification), folder / "report.json")
    page = Page(f"{Path(v.recording).name}: measured and predicted torques of {v.robot}")
    page.items(_facts(v))
    page.items(v.problems, "Problems")
    page.items(v.notes, "Remarks on the messages")
    kinds = sorted({_torque_unit(v, j) for j in range(len(v.joint_types))})
    torque = kinds[0] if len(kinds) == 1 else "(N or N m)"
    for quantity, unit, residual in zip(v.quantities, PER_SECOND, v.residuals, strict=False):
        page.heading(f"{quantity}, predicted minus measured, {torque}{unit}")
        _residual_table(page, v.joint_names, residual)
    page.text(
        "nrms: rms error divided by the standard deviation of the measured torque; R² = 1 - nrms²."
    )
    if identification is not None:
        (folder / "identified.yaml").write_text(identification.yaml, encoding="utf-8")
        identification.found.robot.write(folder)
        _describe_identification(page, v, identification)
    page.figure(_draw_torques(v), "torques", folder / "torques.png")
    if len(v.quantities) > 1:
        page.figure(_draw_rates(v), "rates", folder / "rates.png")
    page.write_markdown(folder / "report.md")
    return page.write_html(folder / "report.html")


def summary(v: Validation, fit: Identification | None, page: Path) -> list[str]:
    """The result of a comparison in a few lines, with the path of its report."""
    chosen = "from the data" if v.cutoff_from_data else "as specified"
    residual = v.residuals[0]
    heads = {head: each for head, each in COLUMNS.items() if head != "r2"}
    lines = [
        f"{v.recording}: {v.messages} messages, {v.rate:.5g} Hz, cut-off {v.cutoff:.4g} Hz {chosen}"
        f"; {v.seconds:.3g} s",
        *(f"  {note}" for note in v.notes),
        *text_table(("joint", *heads.values()), _residual_rows(v.joint_names, residual, heads)),
    ]
    if fit is not None:
        lines.append(f"  {', '.join(fit.kinds)} fitted until {fit.until:.4g} s; nrms afterwards:")
        shares = zip(v.joint_names, fit.before.normalized, fit.after.normalized, strict=True)
        lines += text_table(("joint", "before", "after"), shares)
        estimates = {**fit.estimates, **fit.found.combinations}
        known = {name: each for name, each in estimates.items() if each.determined}
        lines += text_table(("parameter", "value", "standard error"), _estimate_rows(known))
        lines += [f"  note: {note}" for note in fit.found.notes]
        if len(known) < len(estimates):
            lines.append(f"  not determined by this motion: {len(estimates) - len(known)} more")
    return [*lines, f"  report: {page}"]


def write_fleet(
    names: Sequence[str],
    totals: Sequence[Residuals],
    rows: Sequence[Sequence[str]],
    problems: Sequence[str],
    folder: Path,
) -> None:
    """Write index.html, fleet.md and fleet.json for many recordings.

    rows : for each, its path, number of compared samples, largest nrms, the same with the
    identified parameters, rms of all joints, and its page; "-" for what is missing.
    """
    heads = ("recording", "compared", "largest nrms", "identified", "rms of all joints", "report")
    page = Page(f"{len(rows)} recordings")
    page.table(heads, rows)
    if totals:
        page.heading("All recordings combined")
        _residual_table(page, names, totals[0])
    page.items(problems, "Problems")
    page.write_markdown(folder / "fleet.md")
    page.write_html(folder / "index.html")
    content = {
        "recordings": [dict(zip(heads, row, strict=True)) for row in rows],
        "all together": {
            q: r.figures(names) for q, r in zip(("Q", "Q'", "Q''"), totals, strict=False)
        },
        "problems": list(problems),
    }
    write_json(content, folder / "fleet.json")


def _date(origin: int) -> str:
    return datetime.fromtimestamp(origin / 1e9, tz=timezone.utc).isoformat(timespec="milliseconds")


def _facts(v: Validation) -> Iterator[str]:
    begin = (
        f"{1e-9 * v.origin:.6g} s of simulated time" if v.origin < SIMULATED else _date(v.origin)
    )
    source = "recorded velocities" if v.velocity else "recorded positions"
    chosen = "chosen from the data" if v.cutoff_from_data else "as specified"
    yield f"{v.messages} messages: {v.duration:.4g} s of states at {v.rate:.6g} Hz, from {begin}"
    yield (
        f"zero-phase filter: cut-off (gain one half) {v.cutoff:.4g} Hz, {chosen}; derivatives from "
        f"{source}; measured torques pass through the same filter"
    )
    yield (
        f"{v.residuals[0].count} samples compared, {v.compared_rate:.4g} per second, excluding "
        f"{v.edge:.3g} s at each end of a stretch: {v.coverage:.1%} of the recording"
    )


def _residual_rows(
    names: Sequence[str], residual: Residuals, columns: Mapping[str, str]
) -> Iterator[tuple[Any, ...]]:
    for name, values in residual.figures(names).items():
        yield (name, *(values[column] for column in columns))


def _residual_table(page: Page, names: Sequence[str], residual: Residuals) -> None:
    page.table(("joint", *COLUMNS.values()), _residual_rows(names, residual, COLUMNS))


def _describe_identification(page: Page, v: Validation, fit: Identification) -> None:
    before, after = fit.before, fit.after
    page.heading("Identified")
    page.text(
        f"{', '.join(fit.kinds)} fitted to {fit.states[0]} states until {fit.until:.4g} s "
        f"(cut-off {fit.found.cutoff:.4g} Hz), tested on the {fit.states[1]} later states. "
        "The values are in identified.yaml, which --data accepts, and in identified.json, which "
        "write-back writes into copies of the robot's files."
    )
    columns = (before.rms, after.rms, before.normalized, after.normalized)
    heads = ("joint", "rms before", "rms after", "nrms before", "nrms after")
    page.table(heads, zip(v.joint_names, *columns, strict=True))
    for estimates in (fit.estimates, fit.found.combinations):
        page.table(("parameter", "value", "standard error"), _estimate_rows(estimates))
    page.items(fit.found.notes)
    page.text(
        "The interval of 1.96 standard errors on either side of a value contains the true value in "
        "95 % of recordings, if friction and dynamics have the form of the model. Parameters "
        "without a value are not determined by this motion."
    )


def _estimate_rows(estimates: Mapping[str, IdentifiedValue]) -> Iterator[tuple[str, str, str]]:
    """Rows of a table: values with as many digits as their standard errors justify."""
    for name, (value, error, determined) in estimates.items():
        if not determined:
            yield name, "not determined", ""
            continue
        digits = 1 - math.floor(math.log10(error)) if error > 0.0 else 6
        yield name, f"{value:.{min(max(digits, 0), 9)}f}", f"± {error:.2g}"


def _torque_unit(v: Validation, j: int) -> str:
    return "N" if v.joint_types[j] == "prismatic" else "N m"


def _axes(v: Validation) -> tuple[Any, Any]:
    """A figure with a row of two axes for each joint."""
    n = len(v.joint_names)
    figure, axes = new_figure(n, 2, (11.0, 1.5 * n + 1.0), sharex=True, squeeze=False)
    for axis in axes[-1]:
        axis.set_xlabel("time  [s]")
    return figure, axes


def _draw_both(axis: Any, v: Validation, k: int, j: int) -> None:
    """The k-th rate of the torque of a joint, measured and predicted."""
    for rows, colour, label, width in (
        (v.trace.measured, "black", "measured", 1.6),
        (v.trace.predicted, BLUE, "predicted", 1.0),
    ):
        axis.plot(*with_gaps(v.trace.times, rows[k][:, j]), color=colour, lw=width, label=label)


def _draw_torques(v: Validation) -> Any:
    """Torques on the left, errors on the right."""
    figure, axes = _axes(v)
    residual = v.residuals[0]
    for j, (name, (left, right)) in enumerate(zip(v.joint_names, axes, strict=True)):
        _draw_both(left, v, 0, j)
        error = v.trace.predicted[0][:, j] - v.trace.measured[0][:, j]
        right.plot(*with_gaps(v.trace.times, error), color=VERMILION, lw=0.8)
        right.axvline(residual.when[j], color=GREY, lw=0.8, ls=":")
        right.set_title(
            f"rms {residual.rms[j]:.3g}, nrms {residual.normalized[j]:.3g}", fontsize=9, loc="right"
        )
        left.set_ylabel(f"{name}  [{_torque_unit(v, j)}]", fontsize=9)
    axes[0, 0].set_title(v.quantities[0], fontsize=11, loc="left")
    axes[0, 1].set_title("predicted minus measured", fontsize=11, loc="left")
    legend_below(figure, axes[0, 0])
    return figure


def _draw_rates(v: Validation) -> Any:
    """Q' on the left, Q'' on the right."""
    figure, axes = _axes(v)
    for j, name in enumerate(v.joint_names):
        for k in (1, 2):
            axis = axes[j, k - 1]
            _draw_both(axis, v, k, j)
            axis.set_title(f"nrms {v.residuals[k].normalized[j]:.3g}", fontsize=9, loc="right")
            who = f"{name}  " if k == 1 else ""
            axis.set_ylabel(f"{who}[{_torque_unit(v, j)}{PER_SECOND[k]}]", fontsize=9)
    axes[0, 0].set_title("Q', measured and predicted", fontsize=11, loc="left")
    axes[0, 1].set_title("Q''", fontsize=11, loc="left")
    legend_below(figure, axes[0, 0])
    return figure
