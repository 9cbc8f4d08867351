# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque source report as a page with pictures."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ...dynamics.control import SingleJoint, TorqueEvaluation, TorqueLimits
from ..base.figures import BLUE, ORANGE, VERMILION, new_figure, save
from .torque_report import (
    AMPLITUDES,
    DESIGN_COLUMNS,
    LEGEND,
    LIMIT_COLUMNS,
    TorqueReport,
    as_dict,
    conditions,
    design_row,
    limit_row,
    number,
)

COLOURS = {"inertia_shaping": BLUE, "torque_observer": VERMILION, "torque_lqr": ORANGE}
STYLES = {"inertia_shaping": "-", "torque_observer": "--", "torque_lqr": "-."}
TITLES = {
    "inertia_shaping": "inertia shaping",
    "torque_observer": "disturbance observer",
    "torque_lqr": "LQR with integral",
}
CSS = """body { font: 16px/1.5 sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 0.85rem; } td, th { padding: 0.15rem 0.6rem; }
td { text-align: right; border-top: 1px solid #ddd; } td.name { text-align: left; }
th { text-align: right; } th.name { text-align: left; } img { max-width: 100%; }
.no { color: #b00; }"""


def write_torque_report(report: TorqueReport, folder: Path) -> Path:
    """Write report.html with embedded pictures, report.json, and a picture <joint>.png per joint;
    returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(as_dict(report), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    pictures = []
    for joint, limits in zip(report.joints, report.limits, strict=True):
        results = [each for each in report.evaluations if each.joint == joint.name]
        pictures.append(folder / f"{joint.name}.png")
        draw_joint(joint, limits, results, pictures[-1])
    page = folder / "report.html"
    page.write_text(_page(report, pictures), encoding="utf-8")
    return page


def draw_joint(
    joint: SingleJoint, limits: TorqueLimits, results: Sequence[TorqueEvaluation], file: Path
) -> None:
    """Torque response, impedance, its real part, and the largest torque over frequency."""
    figure, ((torque, largest), (size, phase)) = new_figure(2, 2, (11.0, 7.2))
    for result in results:
        style = {"color": COLOURS[result.design], "ls": STYLES[result.design]}
        hertz, Z = result.frequency, result.impedance
        torque.loglog(hertz, np.abs(result.locked), label=TITLES[result.design], **style)
        torque.loglog(hertz, np.abs(result.free), lw=0.8, alpha=0.7, **style)
        size.loglog(hertz, np.abs(Z), **style)
        phase.semilogx(hertz, np.degrees(np.unwrap(np.angle(Z))), **style)
    if results:
        hertz = results[0].frequency
        w = 2.0 * np.pi * hertz
        size.loglog(hertz, joint.joint.inertia * w, ":", color="grey", lw=1.0)
        size.loglog(hertz, joint.joint.stiffness / w, ":", color="grey", lw=1.0)
        sizes = np.abs([result.impedance for result in results])
        size.set_ylim(0.5 * sizes.min(), 10.0 * sizes.max())
        amplitude = limits.largest(hertz)
        if np.isfinite(amplitude).any():
            largest.loglog(hertz, amplitude, color="black")
            for share in AMPLITUDES if np.isfinite(limits.available) else ():
                largest.axhline(share * limits.available, color="grey", lw=0.8, ls=":")
                largest.annotate(f"{share:.0%}", (hertz[0], share * limits.available), fontsize=8)
    torque.axhline(0.5**0.5, color="grey", lw=0.8, ls=":")
    torque.set_ylim(1e-2, None)
    phase.axhspan(-90.0, 90.0, color="#009E73", alpha=0.12)
    for axis, title, unit in (
        (torque, "torque over its reference: link locked; thin: free", ""),
        (largest, "largest torque within the limits of the motor, link locked", "N m"),
        (size, "impedance at the link; dotted: motor alone, spring alone", "N m s/rad"),
        (phase, "phase of the impedance; green: passive", "degrees"),
    ):
        axis.set_title(title, fontsize=10)
        axis.set_ylabel(unit)
        axis.set_xlabel("frequency  [Hz]")
    figure.legend(*torque.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    save(figure, file)


def _page(report: TorqueReport, pictures: Iterable[Path]) -> str:
    designs = [((each.joint, TITLES[each.design]), design_row(each)) for each in report.evaluations]
    limits = [
        ((joint.name,), limit_row(each))
        for joint, each in zip(report.joints, report.limits, strict=True)
    ]
    title = html.escape(f"Torque control of {report.robot}")
    parts = [
        f"<h1>{title}</h1><p>{html.escape(conditions(report))}.</p>",
        *(f'<p class="no">Refused: {html.escape(text)}</p>' for text in report.refused.values()),
        "<h2>Designs</h2>",
        _table(("joint", "design"), DESIGN_COLUMNS, designs),
        "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in LEGEND) + "</ul>",
        "<h2>Large torques</h2><p>With the link locked: resonance of the motor on its spring,"
        " torque limit less friction and gravity, and the highest frequency at which the motor"
        " delivers these shares of that torque.</p>",
        _table(("joint",), LIMIT_COLUMNS, limits),
        *(f"<p>{html.escape(name)} has no spring.</p>" for name in report.rigid),
    ]
    for picture in pictures:
        data = base64.b64encode(picture.read_bytes()).decode()
        parts.append(f"<h2>{html.escape(picture.stem)}</h2>")
        parts.append(f'<img alt="{html.escape(picture.stem)}" src="data:image/png;base64,{data}">')
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{CSS}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _table(
    names: Sequence[str],
    columns: Sequence[tuple[str, str]],
    rows: Iterable[tuple[Sequence[str], Sequence[float]]],
) -> str:
    head = "".join(f'<th class="name">{html.escape(name)}</th>' for name in names)
    head += "".join(
        f"<th>{html.escape(name)}{f'<br>{html.escape(unit)}' if unit else ''}</th>"
        for name, unit in columns
    )
    lines = [f"<tr>{head}</tr>"]
    for labels, values in rows:
        cells = "".join(f'<td class="name">{html.escape(label)}</td>' for label in labels)
        cells += "".join(f"<td>{number(value)}</td>" for value in values)
        lines.append(f"<tr>{cells}</tr>")
    return "<table>" + "\n".join(lines) + "</table>"
