# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The demo motion of a robot, compared with its limits and as a table."""

from pathlib import Path

import numpy as np

from ...dynamics.model import MultibodyModel
from ...dynamics.motion import (
    DERIVATIVES,
    Reference,
    exciting_motion,
    reproduction_error,
    rest_to_rest_motion,
    sampled,
)
from ...reporting.tables import text_table
from ...validation.recordings import write_columns

HEAD = ("joint", "q min", "q max", "|q'|", "|q''|", "|q'''|", "|q''''|", "of speed limit")


def demo_motion(model: MultibodyModel, kind: str, duration: float) -> Reference:
    """A motion of `duration` s: from rest to rest if `kind` is `rest_to_rest`, else sines."""
    if kind == "rest_to_rest":
        return rest_to_rest_motion(model, duration=duration)
    return exciting_motion(model, duration=duration, ramp=1.0, frequency=0.15 * np.pi)


def describe(model: MultibodyModel, motion: Reference) -> list[str]:
    """Extreme values by joint, and the error of sending the motion as a trajectory message."""
    low, high = motion.extremes()
    peak = motion.peak_values()
    shares = (f"{share:.0%}" for share in peak[1] / model.limits.velocity)
    rows = zip(model.joint_names, low[0], high[0], *peak[1:], shares, strict=True)
    lines = [
        f"{model.name}: {motion.duration:.2f} s; peak values in rad (m), s, and shares of limits",
        *text_table(HEAD, rows, indent=""),
    ]
    error = reproduction_error(motion, sampled(motion, 0.02))
    lines.append(
        "error when sent every 20 ms with velocities and accelerations, then interpolated: "
        + ", ".join(f"{x:.1e} in {q}" for x, q in zip(error, DERIVATIVES, strict=True))
    )
    return lines


def write_csv(model: MultibodyModel, motion: Reference, file: Path) -> None:
    """A table of t and q..q'''' of every joint, every 10 ms up to the end at rest."""
    times = np.append(np.arange(0.0, motion.duration - 1e-9, 0.01), motion.duration)
    states = motion.sample(motion.start_time + times).reshape(len(times), -1)
    names = [f"{q} {joint}" for q in DERIVATIVES for joint in model.joint_names]
    write_columns(file, {"t": times} | dict(zip(names, states.T, strict=True)))
