# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque source report as a page with pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.control import SingleJoint, TorqueEvaluation, TorqueLimits
from ...reporting.figures import BLUE, GREEN, GREY, ORANGE, VERMILION, legend_below, new_figure
from ...reporting.page import Page, write_json
from .torque_report import (
    AMPLITUDES,
    DESIGN_HEADS,
    DIGITS,
    LEGEND,
    LIMIT_HEADS,
    TorqueReport,
    as_dict,
    conditions,
    design_row,
    limit_rows,
)

STYLES = {
    "inertia_shaping": {"color": BLUE, "ls": "-", "label": "inertia shaping"},
    "torque_observer": {"color": VERMILION, "ls": "--", "label": "disturbance observer"},
    "torque_lqr": {"color": ORANGE, "ls": "-.", "label": "LQR with integral"},
}


def write_torque_report(report: TorqueReport, folder: Path) -> Path:
    """Write report.html with embedded pictures, report.json, and a picture <joint>.png per joint;
    returns the page."""
    write_json(as_dict(report), folder / "report.json")
    page = Page(f"Torque control of {report.robot}")
    page.text(f"{conditions(report)}.")
    page.problems(f"refused: {text}" for text in report.refused.values())
    page.heading("Designs")
    rows = (
        (joint, STYLES[design]["label"], *row)
        for joint, design, *row in map(design_row, report.evaluations)
    )
    page.table(DESIGN_HEADS, rows, digits=DIGITS)
    page.items(LEGEND)
    page.heading("Large torques")
    page.text(
        "With the link locked: resonance of the motor on its spring, torque limit less friction and"
        " gravity, and the highest frequency at which the motor delivers these shares of that"
        " torque."
    )
    page.table(LIMIT_HEADS, limit_rows(report), digits=DIGITS)
    page.text(*(f"{name} has no spring." for name in report.rigid))
    for joint, limits in zip(report.joints, report.limits, strict=True):
        results = [each for each in report.evaluations if each.joint == joint.name]
        page.heading(joint.name)
        page.figure(draw_joint(joint, limits, results), joint.name, folder / f"{joint.name}.png")
    return page.write_html(folder / "report.html")


def draw_joint(
    joint: SingleJoint, limits: TorqueLimits, results: Sequence[TorqueEvaluation]
) -> Any:
    """Torque response, impedance, its phase, and the largest torque over frequency."""
    figure, ((torque, largest), (size, phase)) = new_figure(2, 2, (11.0, 7.2))
    for result in results:
        style = STYLES[result.design]
        hertz, Z = result.frequency, result.impedance
        torque.loglog(hertz, np.abs(result.locked), **style)
        torque.loglog(hertz, np.abs(result.free), lw=0.8, alpha=0.7, **style | {"label": None})
        size.loglog(hertz, np.abs(Z), **style)
        phase.semilogx(hertz, np.degrees(np.unwrap(np.angle(Z))), **style)
    if results:
        hertz = results[0].frequency
        w = 2.0 * np.pi * hertz
        size.loglog(hertz, joint.joint.inertia * w, ":", color=GREY, lw=1.0)
        size.loglog(hertz, joint.joint.stiffness / w, ":", color=GREY, lw=1.0)
        sizes = np.abs([result.impedance for result in results])
        size.set_ylim(0.5 * sizes.min(), 10.0 * sizes.max())
        amplitude = limits.largest(hertz)
        if np.isfinite(amplitude).any():
            largest.loglog(hertz, amplitude, color="black")
            for share in AMPLITUDES if np.isfinite(limits.available) else ():
                largest.axhline(share * limits.available, color=GREY, lw=0.8, ls=":")
                largest.annotate(f"{share:.0%}", (hertz[0], share * limits.available), fontsize=8)
    torque.axhline(0.5**0.5, color=GREY, lw=0.8, ls=":")
    torque.set_ylim(1e-2, None)
    phase.axhspan(-90.0, 90.0, color=GREEN, alpha=0.12)
    for axis, title, unit in (
        (torque, "torque over its reference: link locked; thin: free", ""),
        (largest, "largest torque within the limits of the motor, link locked", "N m"),
        (size, "impedance at the link; dotted: motor alone, spring alone", "N m s/rad"),
        (phase, "phase of the impedance; green: passive", "degrees"),
    ):
        axis.set_title(title, fontsize=10)
        axis.set_ylabel(unit)
        axis.set_xlabel("frequency  [Hz]")
    legend_below(figure, torque, fontsize=10)
    return figure
