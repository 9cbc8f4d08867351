# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs of the demo as motions with their tracking errors, and a page of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...dynamics.core import InputError
from ..base.node_parameters import PARAMETERS, read_parameters
from ..demo.analysis import DemoRun, load_control_runs, load_runs
from .shapes import robot_shapes, urdf_text
from .viewed_motion import ViewedMotion, read_view


def is_demo(folder: Path) -> bool:
    """Whether it is the output folder of a demo."""
    return (folder / PARAMETERS).is_file()


def viewed_runs(folder: Path) -> list[tuple[DemoRun, ViewedMotion]]:
    """All runs in the output folder of a demo. Raises InputError if there are none."""
    controls = "flatness_controller_node" in read_parameters(folder / PARAMETERS)
    runs: Sequence[DemoRun] = load_control_runs(folder) if controls else load_runs(folder)
    return [(run, _viewed(run, folder)) for run in runs]


def viewed_run(path: Path) -> tuple[DemoRun, ViewedMotion]:
    """One run: a recording of a demo, or the first one in its folder."""
    folder = path if path.is_dir() else path.parent
    found = viewed_runs(folder)
    if path.is_dir():
        return found[0]
    for run, motion in found:
        if run.recording.variant == path.stem:
            return run, motion
    names = ", ".join(f"{run.recording.variant}.npz" for run, _ in found)
    raise InputError(f"{path}: no run of this demo; there are {names}")


def _viewed(run: DemoRun, folder: Path) -> ViewedMotion:
    file = folder / f"{run.recording.variant}.npz"
    motion = read_view(file, run.model, run.actuators)
    stamp = run.recording.series["joint_states"].stamp
    first = 1e-9 * float(stamp.min() - run.recording.request.start)
    desired = run.reference.sample(first + motion.t)[:, 0]
    error = np.where((first + motion.t >= run.begin)[:, None], desired - motion.q, np.nan)
    return replace(motion, name=run.recording.variant, error=error)


def write_pages(folder: Path) -> list[Path]:
    """Write RUN.html for every run in the folder, beside its recording."""
    from .viewer_page import write_page

    files = []
    urdf = Path(next(iter(read_parameters(folder / PARAMETERS).values()))["robot_file"])
    for run, motion in viewed_runs(folder):
        shapes = robot_shapes(run.model, urdf_text(urdf), urdf.parent)
        file = folder / f"{motion.name}.html"
        files.append(write_page(run.model, shapes, motion, file))
    return files
