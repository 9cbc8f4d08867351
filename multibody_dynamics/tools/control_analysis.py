"""One run of the demo under one law: how far the links were from the trajectory that was sent, and
what that took of the motors. Nothing is taken over from the controller but its torques."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.core import Array, InputError
from ..dynamics.motion import Reference
from .analysis import DemoRun, load_setting, reference_of
from .recording import CONTROLLER, Recording

LAWS = ("motor_pd", "computed_torque", "feedback_linearization", "state_feedback")
FLAT = LAWS[2:]  # those that the flat map stands behind
PLANTS = ("internal", "mujoco")


def run_name(plant: str, law: str) -> str:
    """Of a recording."""
    return f"{plant}_{law}"


@dataclass(frozen=True, eq=False)
class ControlRun(DemoRun):
    """A run of one law on one plant. The arm stands where the trajectory begins."""

    plant: str
    law: str

    @property
    def begin(self) -> float:
        """When the arm leaves its rest, on the way to the first point, which it passes moving."""
        return 0.0

    @cached_property
    def reference(self) -> Reference:
        request = self.recording.request
        return reference_of(self.model.joint_names, request, request.positions[0])

    @property
    def torque_limit(self) -> Array:
        """(n,) N m, the smaller of the motor's and the robot's."""
        return np.minimum(self.actuators.torque_limit, self.model.limits.effort)

    def figures(self) -> dict[str, Any]:
        """Everything that is told about this run, for report.json."""
        _, sent = self.moving("torque")
        _, motors = self.moving("motor_states")
        share = np.abs(sent[:, 0]) / self.torque_limit
        speed = np.abs(motors[:, 1]) / self.actuators.speed_limit
        told = super().figures()
        for joint, peak in zip(self.model.joint_names, np.abs(sent[:, 0]).max(axis=0), strict=True):
            told["joints"][joint]["peak torque"] = float(peak)
        return told | {
            "plant": self.plant,
            "law": self.law,
            "peak torque, share of limit": float(share.max()),
            "peak motor speed, share of limit": float(speed.max()),
            "cycles": len(share),
            "cycles at a torque limit": int((share > 1.0 - 1e-9).any(axis=1).sum()),
            "cycles beyond a motor speed limit": int((speed > 1.0).any(axis=1).sum()),
        }


def load_control_runs(folder: Path) -> list[ControlRun]:
    """The runs recorded in a folder, by plant and law. Raises InputError where none is."""
    _, model, actuators = load_setting(folder, CONTROLLER)
    runs = [
        ControlRun(Recording.load(file), model, actuators, plant, law)
        for plant in PLANTS
        for law in LAWS
        if (file := folder / f"{run_name(plant, law)}.npz").is_file()
    ]
    if not runs:
        raise InputError(
            f"{folder}: no recording in it, such as {run_name(PLANTS[0], LAWS[0])}.npz"
        )
    return runs
