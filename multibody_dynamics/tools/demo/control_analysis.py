# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One run of the demo with one control law: tracking errors of the links, and motor loads.

Only the torques are taken from the controller; everything else is computed offline.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.core import Array, InputError
from ...dynamics.motion import Reference
from ..base.node_parameters import CONTROLLER
from ..base.recording import Recording, reference_of
from .analysis import DemoRun, load_setting

LAWS = ("motor_pd", "computed_torque", "feedback_linearization", "state_feedback")
VARIANT_OF = {"motor_pd": "quasi_static"}  # the classic law; the others use the full flat map
FLAT = LAWS[2:]  # the laws based on differential flatness
PLANTS = ("internal", "mujoco")


def run_name(plant: str, law: str) -> str:
    """Name of a recording."""
    return f"{plant}_{law}"


@dataclass(frozen=True, eq=False)
class ControlRun(DemoRun):
    """A run of one law on one plant. The arm starts at rest at the first point."""

    plant: str
    law: str
    node = CONTROLLER

    @property
    def begin(self) -> float:
        """Start time of the motion; the arm is moving when it passes the first point."""
        return 0.0

    @cached_property
    def reference(self) -> Reference:
        request = self.recording.request
        return reference_of(self.model.joint_names, request, request.positions[0])

    @property
    def torque_limit(self) -> Array:
        """(n,) N m, the smaller limit of motor and robot."""
        return np.minimum(self.actuators.torque_limit, self.model.limits.effort)

    def figures(self) -> dict[str, Any]:
        """The results of this run, for report.json."""
        _, sent = self.moving("torque")
        _, motors = self.moving("motor_states")
        share = np.abs(sent[:, 0]) / self.torque_limit
        speed = np.abs(motors[:, 1]) / self.actuators.speed_limit
        found = super().figures()
        # The arm may have been stopped before the motion; then there is no torque.
        peaks = np.abs(sent[:, 0]).max(axis=0, initial=0.0)
        for joint, peak in zip(self.model.joint_names, peaks, strict=True):
            found["joints"][joint]["peak torque"] = float(peak)
        return found | {
            "plant": self.plant,
            "law": self.law,
            "peak torque, share of limit": float(share.max(initial=0.0)),
            "peak motor speed, share of limit": float(speed.max(initial=0.0)),
            "cycles": len(share),
            "cycles at a torque limit": int((share > 1.0 - 1e-9).any(axis=1).sum()),
            "cycles beyond a motor speed limit": int((speed > 1.0).any(axis=1).sum()),
        }


def load_control_runs(folder: Path) -> list[ControlRun]:
    """The recorded runs in a folder, by plant and law. Raises InputError if there is none."""
    _, model, actuators = load_setting(folder, CONTROLLER)
    runs = [
        ControlRun(Recording.load(file), model, actuators, plant, law)
        for plant in PLANTS
        for law in LAWS
        if (file := folder / f"{run_name(plant, law)}.npz").is_file()
    ]
    if not runs:
        raise InputError(f"{folder} has no recording such as {run_name(PLANTS[0], LAWS[0])}.npz")
    return runs
