"""One run of the demo under one law: how far the links were from the trajectory that was sent, and
what that took of the motors. Nothing is taken over from the controller but its torques."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..dynamics.actuator_description import load_actuators
from ..dynamics.actuators import Actuators
from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from ..dynamics.model import MultibodyModel
from ..dynamics.trajectories import Reference
from .analysis import count_warnings, load_quietly, percentiles, reference_of, refusals
from .recording import CONTROLLER, PARAMETERS, Recording, read_parameters

LAWS = ("motor_pd", "computed_torque", "feedback_linearization", "state_feedback")
FLAT = LAWS[2:]  # those that the flat map stands behind
PLANTS = ("internal", "mujoco")


def run_name(plant: str, law: str) -> str:
    """Of a recording."""
    return f"{plant}_{law}"


@dataclass(frozen=True, eq=False)
class ControlRun:
    """Times in s after the trajectory's stamp. The arm stands where the trajectory begins."""

    plant: str
    law: str
    recording: Recording
    model: MultibodyModel
    actuators: Actuators

    def __post_init__(self) -> None:
        for name, series in self.recording.series.items():
            if not len(series.stamp):
                raise InputError(f"{self.recording.variant}: nothing was received of {name}")
        if self.recording.request is None:
            raise InputError(f"{self.recording.variant}: no trajectory was received")

    @property
    def begin(self) -> float:
        """When the arm leaves its rest, on the way to the first point, which it passes moving."""
        return 0.0

    @property
    def end(self) -> float:
        return float(self.recording.request.times[-1])

    @cached_property
    def reference(self) -> Reference:
        request = self.recording.request
        return reference_of(self.model.joint_names, request, request.positions[0])

    def moving(self, name: str) -> tuple[Array, Array]:
        """Times (m,) and values (m, k, n) of a topic during the motion."""
        series = self.recording.series[name]
        t = 1e-9 * (series.stamp - self.recording.request.start)
        during = (t >= self.begin) & (t <= self.end)
        return t[during], series.values[during]

    @cached_property
    def error(self) -> Array:
        """(m, n) measured minus desired link position, during the motion."""
        t, states = self.moving("joint_states")
        return states[:, 0] - self.reference.sample(t)[:, 0]

    @property
    def torque_limit(self) -> Array:
        """(n,) N m, the smaller of the motor's and the robot's."""
        return np.minimum(self.actuators.torque_limit, self.model.limits.effort)

    def latency(self) -> Array:
        """(m,) s from the sending of a joint state to that of its torque."""
        states, torque = self.recording.series["joint_states"], self.recording.series["torque"]
        _, here, there = np.intersect1d(states.stamp, torque.stamp, return_indices=True)
        return 1e-9 * (torque.sent[there] - states.sent[here])

    def figures(self) -> dict[str, Any]:
        """Everything that is told about this run, for report.json."""
        _, sent = self.moving("torque")
        _, motors = self.moving("motor_states")
        share = np.abs(sent[:, 0]) / self.torque_limit
        speed = np.abs(motors[:, 1]) / self.actuators.speed_limit
        rms = np.sqrt((self.error**2).mean(axis=0))
        return {
            "plant": self.plant,
            "law": self.law,
            "tracking error rms": float(np.sqrt((self.error**2).mean())),
            "tracking error peak": float(np.abs(self.error).max()),
            "joints": {
                joint: {
                    "rms error": float(rms[j]),
                    "peak error": float(np.abs(self.error[:, j]).max()),
                    "peak torque": float(np.abs(sent[:, 0, j]).max()),
                }
                for j, joint in enumerate(self.model.joint_names)
            },
            "peak torque, share of limit": float(share.max()),
            "peak motor speed, share of limit": float(speed.max()),
            "cycles": len(share),
            "cycles at a torque limit": int((share > 1.0 - 1e-9).any(axis=1).sum()),
            "cycles beyond a motor speed limit": int((speed > 1.0).any(axis=1).sum()),
            "latency [ms]": percentiles(self.latency()),
            "refused": refusals(self.recording),
            "warnings": count_warnings(self.recording),
        }


def load_control_runs(folder: Path) -> list[ControlRun]:
    """The runs recorded in a folder, by plant and law. Raises InputError where none is."""
    if not (folder / PARAMETERS).is_file():
        raise InputError(f"{folder}: no {PARAMETERS} in it: not the output of a demo")
    p = read_parameters(folder / PARAMETERS)[CONTROLLER]
    model = load_quietly(p["robot_file"])
    actuators = load_actuators(p["elastic_joints_file"], model.joint_names, model.joint_types)
    runs = [
        ControlRun(plant, law, Recording.load(file), model, actuators)
        for plant in PLANTS
        for law in LAWS
        if (file := folder / f"{run_name(plant, law)}.npz").is_file()
    ]
    if not runs:
        raise InputError(
            f"{folder}: no recording in it, such as {run_name(PLANTS[0], LAWS[0])}.npz"
        )
    return runs
