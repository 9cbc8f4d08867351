# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings that were not used for the identification, against the data sheet and the result."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.core import Array, InputError
from ...reporting.progress import ProgressBar
from ...validation.comparison import Validation, validate
from ...validation.settings import Settings
from .known_robots import KnownRobots, RobotFiles


class HeldOut(NamedTuple):
    """A recording compared with the model of the data sheet and with the identified one."""

    path: Path
    before: Validation
    after: Validation

    @property
    def rms(self) -> tuple[Array, Array]:
        """rms errors (n,) of the torque, before and after, N m (N)."""
        return self.before.residuals[0].rms, self.after.residuals[0].rms

    @property
    def unit(self) -> str:
        """The unit of these errors: N for prismatic joints."""
        kinds = {kind == "prismatic" for kind in self.after.joint_types}
        return " or ".join({False: "N m", True: "N"}[kind] for kind in sorted(kinds))

    @property
    def normalized(self) -> tuple[Array, Array]:
        """The same as shares (n,) of the standard deviations of the measured torques."""
        return self.before.residuals[0].normalized, self.after.residuals[0].normalized


def compare_held_out(
    paths: Sequence[Path], files: RobotFiles, known: KnownRobots, effort: str = "", **reading: Any
) -> list[HeldOut]:
    """Validate both models on each recording, with the same filter.

    effort : "joint" or "motor"; "": that of the motors for a robot with springs, else of joints.
    reading : further settings of `validate`.

    Raises InputError, naming the recording, if nothing can be compared.
    """
    settings = Settings(
        files.urdf,
        elastic_joints=files.elastic_joints,
        effort=effort or ("motor" if known.is_elastic else "joint"),
        gravity=(0.0, 0.0, -files.gravity),
        **reading,
    )
    found = []
    for path in paths:
        before = validate(path, settings, robot=known.sheet, progress=ProgressBar("messages"))
        same = replace(settings, cutoff=before.cutoff)
        after = validate(path, same, robot=known.identified, progress=ProgressBar("messages"))
        found.append(HeldOut(path, before, after))
    return found


class HeldEquation(NamedTuple):
    """rms residual of one equation of `identify` on recordings that it did not fit: with the data
    sheet and as identified; `kind` is that of the equation, `unit` N m or N."""

    joint: str
    kind: str
    unit: str
    before: float
    after: float


def held_equations(
    recordings: Sequence[Path], known: KnownRobots, report: Mapping[str, Any]
) -> list[HeldEquation]:
    """The equations by which to judge a robot if the motion of its links does not determine that
    of its motors: one with two motors at a joint, or a variable stiffness. Empty for all other
    robots, and without recordings.

    Raises InputError for recordings that `identify` did not hold out.
    """
    actuators = known.sheet.actuators
    if actuators is None or not actuators.variable_joints or not recordings:
        return []
    names = report.get("held out") or []
    for path in recordings:
        if path.stem not in names:
            raise InputError(
                f"{path}: the stiffness of {', '.join(actuators.variable_joints)} can change, so "
                "the motion of the links does not determine that of the motors, and only "
                "recordings that `identify` held out can be judged: "
                f"{', '.join(names) or 'none'}. Run `identify` with this recording as the last one"
            )
    return [
        HeldEquation(each["joint"], each["kind"], each["unit"], each["held_before"],
                     each["held_after"])
        for each in report.get("residuals") or ()
        if "held_after" in each
    ]  # fmt: skip


def overall(held: Sequence[HeldOut]) -> tuple[Array, Array]:
    """rms errors (n,) over all recordings, before and after, weighted by their samples."""
    counts = np.array([each.after.residuals[0].count for each in held], dtype=np.float64)
    rows = np.array([each.rms for each in held])  # (recordings, 2, n)
    before, after = np.sqrt(np.einsum("k,kij->ij", counts, rows**2) / counts.sum())
    return before, after
