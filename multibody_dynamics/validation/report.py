# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reports of a comparison: HTML with embedded pictures, PNG, Markdown, and JSON for programs."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..dynamics.core import Array
from ..dynamics.identification import IdentifiedValue, Residuals
from .comparison import Validation
from .identify import Identification

COLUMNS = ("rms", "mae", "max", "bias", "correlation", "r2", "nrms", "worst at")
HEADS = ("rms", "mean |e|", "max |e|", "bias", "corr.", "R²", "nrms", "worst at, s")
PER_SECOND = ("", "/s", "/s²")


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
        "topics": [quality.as_dict() for quality in v.qualities],
        "problems": list(v.problems),
        "notes": list(v.notes),
        "took [s]": v.seconds,
        **v.extra,
    }
    if identification is not None:
        content["identification"] = identification.figures(names)
    return dict(_finite(content))


def write_report(
    validation: Validation, folder: Path, identification: Identification | None = None
) -> Path:
    """Write report.html, report.md, report.json and torques.png; rates.png if rates are compared;
    identified.yaml and identified.json after an identification. Returns the HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    content = figures(validation, identification)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    pictures = [folder / "torques.png"]
    _draw_torques(validation, pictures[0])
    if len(validation.quantities) > 1:
        pictures.append(folder / "rates.png")
        _draw_rates(validation, pictures[1])
    if identification is not None:
        (folder / "identified.yaml").write_text(identification.yaml, encoding="utf-8")
        identification.found.robot.write(folder)
    blocks = _blocks(validation, identification)
    lines = [f"# {_title(validation)}", ""]
    for kind, value in blocks:
        lines += _markdown(kind, value)
    lines += [f"![{picture.stem}]({picture.name})" for picture in pictures]
    (folder / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = folder / "report.html"
    body = [f"<h1>{html.escape(_title(validation))}</h1>"]
    body += [_html(kind, value) for kind, value in blocks]
    body += [_inlined(picture) for picture in pictures]
    page.write_text(_page(_title(validation), body), encoding="utf-8")
    return page


def summary(v: Validation, found: Identification | None, page: Path) -> list[str]:
    """The result of a comparison in a few lines, with the path of its report."""
    chosen = "from the data" if v.cutoff_from_data else "as specified"
    lines = [
        f"{v.recording}: {v.messages} messages, {v.rate:.5g} Hz, cut-off {v.cutoff:.4g} Hz {chosen}"
        f"; {v.seconds:.3g} s",
        *(f"  {note}" for note in v.notes),
        f"  {'joint':<24}{'rms':>9}{'mae':>9}{'max':>9}{'bias':>10}{'corr':>8}{'nrms':>8}"
        "  worst at",
    ]
    lines += [
        f"  {name:<24}{x['rms']:9.4f}{x['mae']:9.4f}{x['max']:9.3f}{x['bias']:10.4f}"
        f"{x['correlation']:8.4f}{x['nrms']:8.4f}  {x['worst at']:.3f} s"
        for name, x in v.residuals[0].figures(v.joint_names).items()
    ]
    if found is not None:
        lines.append(
            f"  {', '.join(found.kinds)} fitted until {found.until:.4g} s; nrms afterwards:"
        )
        lines += [
            f"  {name:<24}{found.before.normalized[j]:9.4f} before"
            f"{found.after.normalized[j]:9.4f} after"
            for j, name in enumerate(v.joint_names)
        ]
        estimates = {**found.estimates, **found.found.combinations}
        known = {name: each for name, each in estimates.items() if each.determined}
        lines += [
            f"  {name:<32}{value:>14} {error}" for name, value, error in _estimate_rows(known)
        ]
        lines += [f"  note: {note}" for note in found.found.notes]
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
    identified parameters, rms of all joints, and its page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    heads = ("recording", "compared", "largest nrms", "identified", "rms of all joints", "report")
    table = (heads, rows)
    blocks: list[tuple[str, Any]] = [("table", table)]
    if totals:
        blocks += [
            ("heading", "All recordings combined"),
            ("table", _residual_table(names, totals[0])),
        ]
    if problems:
        blocks += [("heading", "Problems"), ("list", list(problems))]
    title = f"{len(rows)} recordings"
    lines = [f"# {title}", ""]
    for kind, value in blocks:
        lines += _markdown(kind, value)
    (folder / "fleet.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    body = [f"<h1>{title}</h1>", *(_html(kind, value) for kind, value in blocks)]
    (folder / "index.html").write_text(_page(title, body), encoding="utf-8")
    content = {
        "recordings": [dict(zip(table[0], row, strict=True)) for row in rows],
        "all together": {
            q: r.figures(names) for q, r in zip(("Q", "Q'", "Q''"), totals, strict=False)
        },
        "problems": list(problems),
    }
    text = json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "fleet.json").write_text(text + "\n", encoding="utf-8")


def _title(v: Validation) -> str:
    return f"{Path(v.recording).name}: measured and predicted torques of {v.robot}"


def _date(origin: int) -> str:
    return datetime.fromtimestamp(origin / 1e9, tz=timezone.utc).isoformat(timespec="milliseconds")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _blocks(v: Validation, identification: Identification | None) -> list[tuple[str, Any]]:
    source = "recorded velocities" if v.velocity else "recorded positions"
    chosen = "chosen from the data" if v.cutoff_from_data else "as specified"
    facts = [
        f"{v.messages} messages in {v.duration:.4g} s at {v.rate:.6g} Hz, from {_date(v.origin)}",
        f"zero-phase filter: cut-off (gain one half) {v.cutoff:.4g} Hz, {chosen}; derivatives from "
        f"{source}; measured torques pass through the same filter",
        f"{v.residuals[0].count} samples compared, {v.compared_rate:.4g} per second, excluding "
        f"{v.edge:.3g} s at each end of a stretch: {v.coverage:.1%} of the recording",
    ]
    blocks: list[tuple[str, Any]] = [("list", facts)]
    if v.problems:
        blocks += [("heading", "Problems"), ("list", list(v.problems))]
    if v.notes:
        blocks += [("heading", "Remarks on the messages"), ("list", list(v.notes))]
    for quantity, unit, residual in zip(v.quantities, PER_SECOND, v.residuals, strict=False):
        kinds = sorted({"N" if kind == "prismatic" else "N m" for kind in v.joint_types})
        torque = kinds[0] if len(kinds) == 1 else "(N or N m)"
        blocks += [
            ("heading", f"{quantity}, predicted minus measured, {torque}{unit}"),
            ("table", _residual_table(v.joint_names, residual)),
        ]
    blocks.append(
        (
            "text",
            "nrms: rms error divided by the standard deviation of the measured torque; "
            "R² = 1 - nrms².",
        )
    )
    if identification is not None:
        blocks += _identified_blocks(v, identification)
    return blocks


def _residual_table(names: Sequence[str], residual: Residuals) -> tuple[Any, Any]:
    rows = [
        (name, *(f"{values[column]:.4g}" for column in COLUMNS))
        for name, values in residual.figures(names).items()
    ]
    return ("joint", *HEADS), rows


def _identified_blocks(v: Validation, found: Identification) -> list[tuple[str, Any]]:
    before, after = found.before, found.after
    rows = [
        (
            name,
            *(f"{x[j]:.4g}" for x in (before.rms, after.rms, before.normalized, after.normalized)),
        )
        for j, name in enumerate(v.joint_names)
    ]
    text = (
        f"{', '.join(found.kinds)} fitted to {found.states[0]} states until {found.until:.4g} s "
        f"(cut-off {found.found.cutoff:.4g} Hz), tested on the {found.states[1]} later states. "
        "The values are in identified.yaml, which --data accepts, and in identified.json, which "
        "write-back writes into copies of the robot's files."
    )
    heads = ("joint", "rms before", "rms after", "nrms before", "nrms after")
    blocks: list[tuple[str, Any]] = [
        ("heading", "Identified"),
        ("text", text),
        ("table", (heads, rows)),
    ]
    blocks += [
        ("table", (("parameter", "value", "standard error"), _estimate_rows(estimates)))
        for estimates in (found.estimates, found.found.combinations)
        if estimates
    ]
    if found.found.notes:
        blocks.append(("list", list(found.found.notes)))
    blocks.append(
        (
            "text",
            "The interval of 1.96 standard errors on either side of a value contains the true "
            "value in 95 % of recordings, if friction and dynamics have the form of the model. "
            "Parameters without a value are not determined by this motion.",
        )
    )
    return blocks


def _estimate_rows(estimates: Mapping[str, IdentifiedValue]) -> list[tuple[str, str, str]]:
    """Rows of a table: values with as many digits as their standard errors justify."""
    rows = []
    for name, (value, error, determined) in estimates.items():
        if not determined:
            rows.append((name, "not determined", ""))
            continue
        digits = 1 - math.floor(math.log10(error)) if error > 0.0 else 6
        rows.append((name, f"{value:.{min(max(digits, 0), 9)}f}", f"± {error:.2g}"))
    return rows


def _markdown(kind: str, value: Any) -> list[str]:
    if kind == "heading":
        return [f"## {value}", ""]
    if kind == "text":
        return [value, ""]
    if kind == "list":
        return [*(f"- {each}" for each in value), ""]
    heads, rows = value
    lines = [heads, ["---"] * len(heads), *rows]
    return [*("| " + " | ".join(line).replace("|e|", r"\|e\|") + " |" for line in lines), ""]


def _html(kind: str, value: Any) -> str:
    if kind == "heading":
        return f"<h2>{html.escape(value)}</h2>"
    if kind == "text":
        return f"<p>{html.escape(value)}</p>"
    if kind == "list":
        return "<ul>" + "".join(f"<li>{html.escape(each)}</li>" for each in value) + "</ul>"
    heads, rows = value
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    lines = ["".join(f"<td>{_cell(cell)}</td>" for cell in row) for row in rows]
    return f"<table><tr>{head}</tr>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _cell(text: str) -> str:
    escaped = html.escape(text)
    return f'<a href="{escaped}">report</a>' if text.endswith("report.html") else escaped


STYLE = (
    "body{font:16px/1.45 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;text-align:right;"
    "border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}img{max-width:100%}"
)


def _page(title: str, body: Sequence[str]) -> str:
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    return f"<!doctype html><html><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _inlined(picture: Path) -> str:
    data = base64.b64encode(picture.read_bytes()).decode()
    return f'<p><img alt="{picture.stem}" src="data:image/png;base64,{data}"></p>'


MEASURED, PREDICTED, ERROR = "black", "#0072B2", "#D55E00"


def _broken(t: Array, values: Array) -> tuple[Array, Array]:
    """The signal with NaN inserted in gaps, where its plotted line then breaks."""
    steps = np.diff(t)
    if not len(steps):
        return t, values
    cuts = np.flatnonzero((steps > 3.0 * np.median(steps)) | (steps < 0.0)) + 1
    return np.insert(t, cuts, np.nan), np.insert(values, cuts, np.nan, axis=0)


def _torque_unit(v: Validation, j: int) -> str:
    return "N" if v.joint_types[j] == "prismatic" else "N m"


def _draw_torques(v: Validation, file: Path) -> None:
    from matplotlib.figure import Figure

    n = len(v.joint_names)
    figure = Figure(figsize=(11.0, 1.5 * n + 1.0), layout="constrained")
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    t = v.trace.times
    for j, name in enumerate(v.joint_names):
        left, right = axes[j]
        for rows, colour, label, width in (
            (v.trace.measured, MEASURED, "measured", 1.6),
            (v.trace.predicted, PREDICTED, "predicted", 1.0),
        ):
            left.plot(*_broken(t, rows[0][:, j]), color=colour, lw=width, label=label)
        error = v.trace.predicted[0][:, j] - v.trace.measured[0][:, j]
        right.plot(*_broken(t, error), color=ERROR, lw=0.8)
        residual = v.residuals[0]
        right.axvline(residual.when[j], color="#999999", lw=0.8, ls=":")
        right.set_title(
            f"rms {residual.rms[j]:.3g}, nrms {residual.normalized[j]:.3g}", fontsize=9, loc="right"
        )
        left.set_ylabel(f"{name}  [{_torque_unit(v, j)}]", fontsize=9)
    axes[0, 0].set_title(v.quantities[0], fontsize=11, loc="left")
    axes[0, 1].set_title("predicted minus measured", fontsize=11, loc="left")
    for axis in axes[-1]:
        axis.set_xlabel("time  [s]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)
    figure.savefig(file, dpi=100)


def _draw_rates(v: Validation, file: Path) -> None:
    from matplotlib.figure import Figure

    n = len(v.joint_names)
    figure = Figure(figsize=(11.0, 1.5 * n + 1.0), layout="constrained")
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    for j, name in enumerate(v.joint_names):
        for k in (1, 2):
            axis = axes[j, k - 1]
            for rows, colour, width in (
                (v.trace.measured, MEASURED, 1.6),
                (v.trace.predicted, PREDICTED, 1.0),
            ):
                axis.plot(*_broken(v.trace.times, rows[k][:, j]), color=colour, lw=width)
            axis.set_title(f"nrms {v.residuals[k].normalized[j]:.3g}", fontsize=9, loc="right")
            axis.set_ylabel(f"[{_torque_unit(v, j)}{PER_SECOND[k]}]", fontsize=8)
        axes[j, 0].set_ylabel(f"{name}  [{_torque_unit(v, j)}{PER_SECOND[1]}]", fontsize=9)
    axes[0, 0].set_title("Q', measured and predicted", fontsize=11, loc="left")
    axes[0, 1].set_title("Q''", fontsize=11, loc="left")
    for axis in axes[-1]:
        axis.set_xlabel("time  [s]")
    figure.savefig(file, dpi=100)
