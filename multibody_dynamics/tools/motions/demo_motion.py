# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The demo motion of a robot, compared with its limits and as a table."""

from __future__ import annotations

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
    lines = [
        f"{model.name}: {motion.duration:.2f} s; peak values in rad (m), s, and shares of limits",
        f"{HEAD[0]:<20}" + "".join(f"{text:>15}" for text in HEAD[1:]),
    ]
    for j, joint in enumerate(model.joint_names):
        numbers = (low[0, j], high[0, j], *peak[1:, j])
        share = peak[1, j] / model.limits.velocity[j]
        lines.append(f"{joint:<20}" + "".join(f"{x:15.4g}" for x in numbers) + f"{share:15.0%}")
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
