# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Thresholds of collision detection from a recording, and what they can find."""

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from ... import __version__
from ...dynamics.control import (
    HIT,
    KINDS,
    PUSH,
    DetectionSettings,
    LearnedThresholds,
    RecordedMotion,
    learn_thresholds,
)
from ...dynamics.core import Array, InputError
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import forward_kinematics, jacobian
from ...reporting.tables import text_table
from .spring_recordings import Motion

POSES, DIRECTIONS = 50, 40
TIGHT = 0.8  # held-out residual over its threshold, from which a larger margin is advised


def learn_from(
    path: Path,
    motion: Motion,
    model: MultibodyModel,
    actuators: Actuators,
    settings: DetectionSettings,
) -> LearnedThresholds:
    """Thresholds from a recording, with its provenance. Raises InputError for motors that were not
    recorded, and the errors of :func:`.learn_thresholds`."""
    motors = list(motion.motor_names)
    for name in actuators.motor_names:
        if name not in motors:
            raise InputError(
                f"{path}: motor '{name}' was not recorded; there are {', '.join(motors)}"
            )
    order = [motors.index(name) for name in actuators.motor_names]
    recording = RecordedMotion(
        motion.t,
        motion.q,
        motion.theta[:, order],
        motion.Q,
        None if motion.tau is None else motion.tau[:, order],
    )
    learned_from = {
        "robot": model.name,
        "recording": path.name,
        "duration": f"{motion.t[-1] - motion.t[0]:.4g} s",
        "rate": f"{1.0 / np.median(np.diff(motion.t)):.4g} Hz",
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "version": __version__,
    }
    return learn_thresholds(model, actuators, recording, settings, learned_from=learned_from)


def lines(learned: LearnedThresholds, model: MultibodyModel, q: Array) -> Iterator[str]:
    """The report; q (k, n): the recorded positions."""
    settings = learned.thresholds.settings
    yield f"learned from {learned.duration:.4g} s at {1.0 / learned.period:.4g} Hz"
    yield ""
    yield "largest residual of a held-out fifth, as a share of its threshold (1: a false alarm);"
    yield "thresholds in N m (N): constant, median and 95 % quantile during the recording"
    columns = (learned.held_out, learned.at_rest, learned.median, learned.high)
    heads = ("const.", "median", "95 %")
    cells = (row[k] for k in (HIT, PUSH) for row in columns)
    yield from text_table(
        ("joint", "hit", *heads, "push", *heads),
        zip(model.joint_names, *cells, strict=True),
        digits=3,
        indent="",
    )
    yield ""
    yield "smallest sudden torque found within 20 ms, typically:"
    rows = zip(model.joint_names, learned.smallest_hit, strict=True)
    yield from text_table(("joint", "torque, N m (N)"), rows, digits=3, indent="")
    median, most = smallest_force(learned, model, q)
    yield (
        f"smallest sudden force on {model.body_names[-1]} found within 20 ms: {median:.3g} N in "
        f"half of the directions and recorded poses, {most:.3g} N in 90 % of them"
    )
    worst = np.unravel_index(int(learned.held_out.argmax()), learned.held_out.shape)
    if learned.held_out[worst] > TIGHT:
        kind, joint = KINDS[worst[0]], model.joint_names[worst[1]]
        yield (
            f"warning: '{kind}' of {joint} reached {learned.held_out[worst]:.2f} of its threshold "
            "in a part that was held out. Record a longer or more varied motion, or "
            f"use --margin {1.3 * settings.margin * learned.held_out[worst]:.2g}"
        )


def smallest_force(
    learned: LearnedThresholds, model: MultibodyModel, q: Array
) -> tuple[float, float]:
    """Median and 90 % quantile of the smallest sudden force, N, at the origin of the last body that
    is found within 20 ms, over directions and recorded poses."""
    rng = np.random.default_rng(0)
    found = []
    for pose in q[np.linspace(0, len(q) - 1, POSES).astype(int)]:
        at = forward_kinematics(model, pose).pose[-1, :3, 3]
        J = jacobian(model, pose, model.n - 1, representation="spatial")
        for f in rng.standard_normal((DIRECTIONS, 3)):
            f /= np.linalg.norm(f)
            torque = np.abs(J.T @ np.concatenate((np.cross(at, f), f)))
            found.append(1.0 / max(float((torque / learned.smallest_hit).max()), 1e-9))
    return float(np.median(found)), float(np.quantile(found, 0.9))
