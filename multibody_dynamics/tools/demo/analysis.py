# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs of the demo, with the feedforward or with a control law, compared with what the library
computes offline.

The reference comes from the trajectory message, the torques of the feedforward from the reference,
the errors from the measured states: no intermediate result comes from the nodes. Of the controller,
only the torques are taken.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import Array, InputError
from ...dynamics.elastic import VARIANTS, Actuators, MotorFeedforward, load_actuators
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import Reference
from ...dynamics.rigid import inverse_dynamics
from ...nodes.following.following_parameters import FeedforwardParameters
from ...simulation import PLANTS
from ..base.models import load_quietly
from ..base.node_parameters import CONTROLLER, FEEDFORWARD, PARAMETERS, read_parameters
from ..base.recording import PERCENTILES, RATES, Recording, reference_of

TOLERANCE = 1e-9  # of the largest torque, between published and computed torques
AMPLIFIED = 1e3  # rounding of the points, in derivatives of their spline
ERROR = 2  # DiagnosticStatus.ERROR as a number
LAWS = ("motor_pd", "computed_torque", "feedback_linearization", "state_feedback")
VARIANT_OF = {"motor_pd": "quasi_static"}  # the classic law; the others use the full flat map
FLAT = LAWS[2:]  # the laws based on differential flatness


@dataclass(frozen=True, eq=False)
class DemoRun(ABC):
    """A recording of one motion, from `begin` to `end`; times in s after the trajectory's stamp."""

    recording: Recording
    model: MultibodyModel
    actuators: Actuators
    node: ClassVar[str] = FEEDFORWARD  # the node that follows the motion

    def __post_init__(self) -> None:
        for name, series in self.recording.series.items():
            if not len(series.stamp):
                raise InputError(f"{self.recording.variant}: no messages were received on {name}")
        if self.recording.request is None:
            raise InputError(f"{self.recording.variant}: no trajectory was received")

    @property
    @abstractmethod
    def begin(self) -> float:
        """Start time of the motion."""

    @property
    def end(self) -> float:
        """End time of the motion."""
        return float(self.recording.request.times[-1])

    @cached_property
    @abstractmethod
    def reference(self) -> Reference:
        """The desired motion."""

    def times(self, name: str) -> Array:
        """Times (m,) of the messages of a topic."""
        return 1e-9 * (self.recording.series[name].stamp - self.recording.request.start)

    def during(self, name: str) -> NDArray[np.bool_]:
        """Mask (m,) of the messages of a topic that were sent during the motion."""
        t = self.times(name)
        return (t >= self.begin) & (t <= self.end)

    def moving(self, name: str) -> tuple[Array, Array]:
        """Times (m,) and values (m, k, n) of a topic during the motion."""
        during = self.during(name)
        return self.times(name)[during], self.recording.series[name].values[during]

    @cached_property
    def error(self) -> Array:
        """(m, n) measured minus desired link positions, during the motion."""
        t, states = self.moving("joint_states")
        return states[:, 0] - self.reference.sample(t)[:, 0]

    def latency(self) -> Array:
        """(m,) s from sending a joint state to sending its torque, during the motion."""
        states, torque = self.recording.series["joint_states"], self.recording.series["torque"]
        _, here, there = np.intersect1d(states.stamp, torque.stamp, return_indices=True)
        moving = self.during("joint_states")[here]
        return 1e-9 * (torque.sent[there] - states.sent[here])[moving]

    def figures(self) -> dict[str, Any]:
        """The results of this run, for report.json."""
        rms = np.sqrt((self.error**2).mean(axis=0))
        peak = np.abs(self.error).max(axis=0)
        return {
            "tracking error rms": float(np.sqrt((self.error**2).mean())),
            "tracking error peak": float(peak.max()),
            "joints": {
                joint: {"rms error": float(rms[j]), "peak error": float(peak[j])}
                for j, joint in enumerate(self.model.joint_names)
            },
            "latency [ms]": percentiles(self.latency()),
            "refused": refusals(self.recording),
            "stopped": stop_reason(
                self.recording.diagnostics, self.node, self.recording.request.start
            ),
            "warnings": count_warnings(self.recording),
        }


@dataclass(frozen=True, eq=False)
class Run(DemoRun):
    """A run of the feedforward, compared with the library."""

    lookahead: float = 0.0  # s
    lead: float = 0.01  # s
    second_outputs: tuple[float, ...] = ()  # of the joints that have one, held constant

    @property
    def begin(self) -> float:
        """Start time of the motion: the robot has reached the first point."""
        return float(self.recording.request.times[0])

    @cached_property
    def reference(self) -> Reference:
        """The desired motion, which starts where the first motor command holds the robot."""
        command, torque = self.recording.series["motor_command"], self.recording.series["torque"]
        stamp, here, there = np.intersect1d(command.stamp, torque.stamp, return_indices=True)
        if not (len(stamp) and stamp[0] < self.recording.request.start):
            raise InputError(
                f"{self.recording.variant}: the recording started after the trajectory, so the"
                " robot's initial position is unknown"
            )
        Q = VARIANTS[self.recording.variant][0] * torque.values[there[0], 0]
        second = np.array([self.second_outputs, np.zeros(len(self.second_outputs))])
        position = self.actuators.link_position(
            command.values[here[0], 0], Q, stiffness=second, beyond="continue"
        )
        return reference_of(self.model.joint_names, self.recording.request, position, self.lead)

    @cached_property
    def desired(self) -> Array:
        """(m, 5, n) desired motion at the times for which torques were published."""
        return self.reference.sample(self.times("torque") + self.lookahead)

    @cached_property
    def library(self) -> Array:
        """(m, 3, n) Q, Q', Q'' of the desired motion, computed here."""
        return np.stack(inverse_dynamics(self.model, *np.moveaxis(self.desired, 1, 0)), axis=1)

    @cached_property
    def published(self) -> Array:
        """(m, 3, n) received Q, Q', Q'' by the stamps of Q; NaN where a message is missing."""
        series = self.recording.series
        stamp = series["torque"].stamp
        rows = np.full((len(stamp), 3, self.model.n), np.nan)
        for k, name in enumerate(RATES):
            _, here, there = np.intersect1d(stamp, series[name].stamp, return_indices=True)
            rows[here, k] = series[name].values[there, 0]
        return rows

    def disagreement(self) -> dict[str, float]:
        """Largest difference between published and library, as a share of the largest value."""
        difference = np.nanmax(np.abs(self.published - self.library), axis=(0, 2))
        shares = difference / np.abs(self.library).max(axis=(0, 2))
        motor = self.recording.series["motor_command"]
        _, here, there = np.intersect1d(
            self.recording.series["torque"].stamp, motor.stamp, return_indices=True
        )
        position = self._motor_positions()[here]
        theta = np.abs(motor.values[there, 0] - position).max()
        return dict(zip(RATES.values(), shares.tolist(), strict=True)) | {
            "theta": float(theta / np.abs(position).max())
        }

    def rounding(self) -> dict[str, float]:
        """The largest `disagreement` that rounding explains. A point that is off by its last digit
        changes the k-th derivative of the spline through points h apart by a multiple of its share
        of h^-k."""
        h = np.diff(self.recording.request.times).min()
        peaks = np.abs(self.desired).max(axis=(0, 2))
        digit = AMPLIFIED * np.finfo(float).eps * peaks[0]
        of_points = [digit / max(h**k * peaks[k], 1e-300) for k in (2, 3, 4)]
        shares = zip(RATES.values(), of_points, strict=True)
        return {quantity: TOLERANCE + share for quantity, share in shares} | {"theta": TOLERANCE}

    def _motor_positions(self) -> Array:
        """(m, motors) theta of the desired motion, computed here."""
        flat = MotorFeedforward(self.actuators, variant=self.recording.variant)
        flat.stiffness[0] = self.second_outputs
        positions = []
        for flat.state[:], flat.torque[:] in zip(self.desired, self.library, strict=True):
            positions.append(flat.update().position.copy())
        return np.array(positions)

    @cached_property
    def motion(self) -> NDArray[np.bool_]:
        """Mask (m,) of the joint states that were sent during the motion."""
        return self.during("joint_states")

    def period(self) -> Array:
        """(m,) s between torques, by their times of publication, during the motion."""
        return 1e-9 * np.diff(self.recording.series["torque"].sent[self.during("torque")])

    def real_time_factor(self) -> float:
        """Simulated seconds per second of real time, during the motion."""
        states = self.recording.series["joint_states"]
        stamp, sent = states.stamp[self.motion], states.sent[self.motion]
        return float((stamp[-1] - stamp[0]) / (sent[-1] - sent[0]))

    def figures(self) -> dict[str, Any]:
        """The results of this run, for report.json."""
        states, torque = self.recording.series["joint_states"], self.recording.series["torque"]
        since = (states.stamp >= torque.stamp[0]) & (states.stamp <= torque.stamp[-1])
        peaks = np.abs(self.library).max(axis=0)
        found = super().figures()
        for j, joint in enumerate(self.model.joint_names):
            found["joints"][joint] |= {
                f"peak {q}": float(peaks[k, j]) for k, q in enumerate(RATES.values())
            }
        return found | {
            "disagreement": self.disagreement(),
            "rounding": self.rounding(),
            "real time factor": self.real_time_factor(),
            "period [ms]": percentiles(self.period()),
            "messages": {
                name: {"published": s.published, "received": len(s.stamp), "lost": s.lost}
                for name, s in self.recording.series.items()
            },
            "states without a torque": int((~np.isin(states.stamp[since], torque.stamp)).sum()),
            "states": int(since.sum()),
            "cpu": dict(self.recording.cpu),
        }


@dataclass(frozen=True, eq=False)
class ControlRun(DemoRun):
    """A run of one law on one plant: tracking errors of the links, and motor loads. The arm starts
    at rest at the first point."""

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

    def figures(self) -> dict[str, Any]:
        """The results of this run, for report.json."""
        _, sent = self.moving("torque")
        _, motors = self.moving("motor_states")
        share = np.abs(sent[:, 0]) / self.actuators.torque_limit_within(self.model.limits.effort)
        speed = np.abs(motors[:, 1]) / self.actuators.speed_limit
        found = super().figures()
        # The arm may have been stopped before the motion; then there is no torque.
        peaks = np.abs(sent[:, 0]).max(axis=0, initial=0.0)
        for j, peak in zip(self.actuators.joint_of_motor, peaks.tolist(), strict=True):
            own = found["joints"][self.model.joint_names[j]]
            own["peak torque"] = max(peak, own.get("peak torque", 0.0))
        return found | {
            "plant": self.plant,
            "law": self.law,
            "peak torque, share of limit": float(share.max(initial=0.0)),
            "peak motor speed, share of limit": float(speed.max(initial=0.0)),
            "cycles": len(share),
            "cycles at a torque limit": int((share > 1.0 - 1e-9).any(axis=1).sum()),
            "cycles beyond a motor speed limit": int((speed > 1.0).any(axis=1).sum()),
        }


def percentiles(seconds: Array) -> dict[str, float | None]:
    """Percentiles of durations, in ms; None if there are none."""
    names = ["max" if p == 100 else f"p{p}" for p in PERCENTILES]
    if not len(seconds):
        return dict.fromkeys(names)
    values = np.percentile(1e3 * seconds, PERCENTILES)
    return {name: round(float(x), 4) for name, x in zip(names, values, strict=True)}


def refusals(recording: Recording) -> list[str]:
    """Why the feedforward or the controller rejected trajectories."""
    return [
        status["values"]["last rejected joint_trajectory"]
        for status in recording.diagnostics
        if status["level"] == 1 and "last rejected joint_trajectory" in status["values"]
    ]


def stop_reason(diagnostics: Iterable[Mapping[str, Any]], node: str, start: int | None) -> str:
    """Why a node stopped the arm: the first error that it reported on /diagnostics since `start`
    (ns), the beginning of the motion; "" if it reported none."""
    for status in diagnostics:
        is_own = status["name"].split(":")[0].strip("/").split("/")[-1] == node
        if is_own and status["level"] == ERROR and status.get("stamp", start or 0) >= (start or 0):
            return str(status["message"])
    return ""


def count_warnings(recording: Recording) -> dict[str, int]:
    """How often the nodes reported each warning or error on /diagnostics."""
    found: dict[str, int] = {}
    for status in recording.diagnostics:
        if status["level"] in (1, ERROR):
            text = f"{status['name']}: {status['message']}"
            kind = re.sub(r"[\d.]+", "...", text)
            found[kind] = found.get(kind, 0) + 1
    return found


def load_setting(folder: Path, node: str) -> tuple[dict[str, Any], MultibodyModel, Actuators]:
    """Parameters and robot of a node in the output folder of a demo. Raises InputError."""
    if not (folder / PARAMETERS).is_file():
        raise InputError(f"{folder}: not the output folder of a demo: it has no {PARAMETERS}")
    given = read_parameters(folder / PARAMETERS)
    if not {"robot_file", "elastic_joints_file"} <= given.get(node, {}).keys():
        raise InputError(f"{folder / PARAMETERS}: has no robot and springs of {node}")
    p = given[node]
    model = load_quietly(p["robot_file"], p["elastic_joints_file"])
    return p, model, load_actuators(p["elastic_joints_file"], model.joint_names, model.joint_types)


def run_name(plant: str, law: str) -> str:
    """Name of a recording."""
    return f"{plant}_{law}"


def load_runs(folder: Path) -> list[Run]:
    """The recorded runs in a folder, ordered as VARIANTS. Raises InputError if there is none."""
    p, model, actuators = load_setting(folder, FEEDFORWARD)
    own = {
        "lookahead": p.get("lookahead", 0.0),
        "lead": p.get("splice_lead", FeedforwardParameters.splice_lead),
        "second_outputs": tuple(p.get("initial_stiffness", ())),
    }
    runs = [
        Run(Recording.load(file), model, actuators, **own)
        for variant in VARIANTS
        if (file := folder / f"{variant}.npz").is_file()
    ]
    if not runs:
        raise InputError(f"{folder} has no recording: none of {', '.join(VARIANTS)}.npz")
    return runs


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
