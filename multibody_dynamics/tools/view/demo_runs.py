# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs of the demo as motions with their tracking errors, and a page of each."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...dynamics.core import InputError
from ..base.node_parameters import PARAMETERS, read_parameters
from ..demo.analysis import DemoRun, load_control_runs, load_runs
from .viewed_motion import ViewedMotion, viewed_recording


def viewed_run(path: Path) -> tuple[DemoRun, ViewedMotion]:
    """One run: a recording of a demo, or the first one in its folder. Raises InputError if there is
    none."""
    runs = _runs(path if path.is_dir() else path.parent)
    for run in runs:
        if path.is_dir() or run.recording.variant == path.stem:
            return run, _viewed(run)
    names = ", ".join(f"{run.recording.variant}.npz" for run in runs)
    raise InputError(f"{path}: no run of this demo; there are {names}")


def _runs(folder: Path) -> Sequence[DemoRun]:
    """All runs in the output folder of a demo."""
    controls = "flatness_controller_node" in read_parameters(folder / PARAMETERS)
    return load_control_runs(folder) if controls else load_runs(folder)


def _viewed(run: DemoRun) -> ViewedMotion:
    motion = viewed_recording(run.recording, run.model, run.actuators)
    stamp = run.recording.series["joint_states"].stamp
    first = 1e-9 * float(stamp.min() - run.recording.request.start)
    desired = run.reference.sample(first + motion.t)[:, 0]
    error = np.where((first + motion.t >= run.begin)[:, None], desired - motion.q, np.nan)
    return replace(motion, error=error)


def write_pages(folder: Path) -> list[Path]:
    """Write RUN.html for every run in the folder, beside its recording."""
    from .viewer_page import write_motion

    files = []
    urdf = Path(next(iter(read_parameters(folder / PARAMETERS).values()))["robot_file"])
    for run in _runs(folder):
        motion = _viewed(run)
        files.append(write_motion(urdf, run.model, motion, folder / f"{motion.name}.html"))
    return files
