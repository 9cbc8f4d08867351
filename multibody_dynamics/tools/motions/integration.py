# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integrate a system in absolute coordinates on one or both groups, and plot its errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import dynamics as dyn
from ...reporting.figures import BLUE, VERMILION, legend_below, new_figure, save
from ...reporting.progress import ProgressBar
from ...reporting.tables import text_table
from ...validation.recordings import write_columns

GENERALIZED_ALPHA = "generalized_alpha"
GROUPS = ("SE3", "SO3xR3")
TITLES = {"SE3": "SE(3)", "SO3xR3": "SO(3) x R³"}
STYLES = {"SE3": ("-", BLUE), "SO3xR3": ("--", VERMILION)}
CONSTRAINT_PICTURE, ENERGY_PICTURE = "constraint_violation.png", "energy_{}.png"

Progress = Callable[[float], None]


def find_system(source: str) -> dyn.integration.AbsoluteSystem:
    """Find an example by its name, or load a system from a YAML file. Raises InputError."""
    if source in dyn.integration.examples.SYSTEMS:
        return dyn.integration.examples.SYSTEMS[source]()
    if not Path(source).is_file():
        known = ", ".join(dyn.integration.examples.SYSTEMS)
        raise dyn.InputError(f"{source} is neither a file nor one of the examples {known}")
    return dyn.integration.load_system(source)


class Scheme(NamedTuple):
    """How to integrate: method, step (s), and options of :func:`.integration.integrate`."""

    method: str
    step: float
    relative_tolerance: float | None = None
    every: int = 1
    baumgarte: float | None = None  # 1/s
    project: bool = False

    def check(self) -> None:
        """Raise InputError for options that the method does not support."""
        has_options = self.relative_tolerance or self.baumgarte or self.project or self.every != 1
        if self.method == GENERALIZED_ALPHA and has_options:
            raise dyn.InputError(
                "generalized_alpha has a constant step size and satisfies the constraints at every"
                " step: it does not support tolerance, baumgarte, project or every"
            )

    def solve(
        self,
        system: dyn.integration.AbsoluteSystem,
        t_end: float,
        start: Any,
        progress: Progress | None,
    ) -> dyn.integration.Integration:
        """Integrate from `start` (None: the initial state of the system) to `t_end`, s."""
        if self.method == GENERALIZED_ALPHA:
            return dyn.integration.generalized_alpha(
                system, t_end, self.step, start=start, progress=progress
            )
        rate = self.baumgarte
        return dyn.integration.integrate(
            system,
            t_end,
            self.step,
            self.method,
            start=start,
            tolerances=tolerances(self.relative_tolerance),
            every=self.every,
            baumgarte=dyn.core.Baumgarte(rate, rate) if rate else None,
            project=self.project,
            progress=progress,
        )


def integrate(
    system: dyn.integration.AbsoluteSystem,
    groups: Sequence[str],
    duration: float,
    scheme: Scheme,
    *,
    project_start: bool = False,
) -> dict[str, dyn.integration.Integration]:
    """Integrate on every group with a progress bar, and print a table of errors and speed.

    project_start : start from the nearest state that satisfies the constraints. Raises InputError.
    """
    scheme.check()
    results = {}
    energy = f"energy {energy_word(system)}"
    rows: list[tuple[Any, ...]] = []
    for group in groups:
        s = system.with_group(group)  # type: ignore[arg-type]
        start = None
        if project_start:
            start = dyn.integration.project_state(s, s.initial_pose, s.initial_velocity)
        # The first call includes compilation and is therefore not timed.
        scheme.solve(s, min(scheme.step, duration), start, None)
        bar = ProgressBar(f"{system.name} on {group}", stays=True)
        begin = time.perf_counter()
        result = scheme.solve(s, duration, start, bar)
        rows += _result_rows(group, result, time.perf_counter() - begin)
        results[group] = result
    print(
        "\n".join(text_table(("", "joint", "worst violation", energy, "steps/s"), rows, indent=""))
    )
    return results


def _result_rows(
    group: str, result: dyn.integration.Integration, seconds: float
) -> Iterator[tuple[Any, ...]]:
    """The rows of a group: the violation of every joint, and once energy and speed."""
    drift = np.abs(result.energy - result.energy[0]).max()
    worst = result.constraint.max(axis=0)
    last = f"{drift:.1e} J", f"{result.steps / seconds:,.0f}"
    for k, joint in enumerate(result.system.joint_names or ("none",)):
        yield group if k == 0 else "", joint, f"{worst[k]:.1e}" if worst.size else "", *last
        last = "", ""


def energy_word(system: dyn.integration.AbsoluteSystem) -> str:
    """`drift` if the energy should be constant; `change` if dampers or wrenches do work."""
    works = system.applied_wrenches.any() or any(spring.damping for spring in system.springs)
    return "change" if works else "drift"


def violation_unit(system: dyn.integration.AbsoluteSystem, joint: int) -> str:
    """Unit of the constraint violation of a joint: m, rad, or both."""
    angles = system.forbidden[joint].is_angle
    units = (("m", not angles.all()), ("rad", angles.any()))
    return ", ".join(unit for unit, is_used in units if is_used)


def tolerances(relative: float | None) -> dyn.integration.Tolerances | None:
    """Tolerances with the absolute one, in rad and m, a hundredth of the relative one."""
    return None if relative is None else dyn.integration.Tolerances(relative, relative / 100)


def write_states(result: dyn.integration.Integration, file: Path) -> None:
    """Write time, poses, velocities, violations, reactions, energy and momentum to .npz or .csv."""
    system = result.system
    if file.suffix == ".npz":
        np.savez_compressed(
            file,
            time=result.time,
            pose=result.pose,
            velocity=result.velocity,
            constraint=result.constraint,
            reaction=result.reaction,
            energy=result.energy,
            momentum=result.momentum,
            groups=system.groups,
            body_names=system.body_names,
            joint_names=system.joint_names,
        )
        return
    names = ["t", "energy", *(f"momentum {x}" for x in ("L1", "L2", "L3", "p1", "p2", "p3"))]
    columns = [result.time, result.energy, *result.momentum.T]
    R = [f"R{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
    for k, body in enumerate(system.body_names):
        names += [f"{body} {x}" for x in ("x", "y", "z", *R, "w1", "w2", "w3", "v1", "v2", "v3")]
        pose = result.pose[:, k]
        columns += [*pose[:, :3, 3].T, *pose[:, :3, :3].reshape(-1, 9).T, *result.velocity[:, k].T]
    for k, joint in enumerate(system.joint_names):
        names += [f"{joint} {x}" for x in ("violation", "m1", "m2", "m3", "f1", "f2", "f3")]
        columns += [result.constraint[:, k], *result.reaction[:, k].T]
    write_columns(file, dict(zip(names, columns, strict=True)))


def draw(results: dict[str, dyn.integration.Integration], folder: Path) -> list[Path]:
    """Plot constraint violations and energy drift, all groups in one figure; returns the files."""
    system = next(iter(results.values())).system
    files = []
    if system.joints:
        figure, axes = new_figure(
            len(system.joints), 1, (8, 1.2 + 2.1 * len(system.joints)), sharex=True, squeeze=False
        )
        for k, (axis, joint) in enumerate(zip(axes[:, 0], system.joint_names, strict=True)):
            axis.set_ylabel(f"{joint}\n[{violation_unit(system, k)}]")
            for group, result in results.items():
                _line(axis, group, result.time, result.constraint[:, k])
        files.append(folder / CONSTRAINT_PICTURE)
        _finish(figure, axes[-1, 0], f"{system.name}: constraint violation", files[-1])
    figure, axis = new_figure(1, 1, (8, 3.6))
    start = next(iter(results.values())).energy[0]
    axis.set_ylabel(f"|E - E(0)|  [J],  E(0) = {start:.6g} J")
    for group, result in results.items():
        _line(axis, group, result.time, np.abs(result.energy - result.energy[0]))
    files.append(folder / ENERGY_PICTURE.format(energy_word(system)))
    _finish(figure, axis, f"{system.name}: energy {energy_word(system)}", files[-1])
    return files


def _line(axis: Any, group: str, t: Any, values: Any) -> None:
    """Plot on a logarithmic scale, with gaps at zeros."""
    style, colour = STYLES[group]
    seen = np.where(values > 0.0, values, np.nan)
    axis.semilogy(t, seen, style, color=colour, label=TITLES[group], lw=1.0)


def _finish(figure: Any, lowest: Any, title: str, file: Path) -> None:
    lowest.set_xlabel("time  [s]")
    legend_below(figure, lowest, fontsize=10)
    figure.suptitle(title, x=0.02, ha="left", fontsize=11)
    save(figure, file)
