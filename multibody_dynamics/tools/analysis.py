"""One run of the demo beside what the library says to it, worked out again offline.

The reference comes from the trajectory message, the torques from the reference, the errors from the
measured states: nothing is taken over from the nodes.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import MultibodyModel, load_urdf
from ..dynamics.core import Array, InputError, ModelWarning
from ..dynamics.elastic import VARIANTS, Actuators, MotorFeedforward, load_actuators
from ..dynamics.motion import Reference, hold, splice
from ..dynamics.rigid import inverse_dynamics
from ..nodes.base.messages import TrajectoryRequest
from ..nodes.following.feedforward_parameters import FeedforwardParameters
from .recording import FEEDFORWARD, PARAMETERS, Recording, read_parameters

PERCENTILES = (50, 90, 99, 100)
RATES = {"torque": "Q", "torque_rate": "Q'", "torque_acceleration": "Q''"}


def reference_of(
    joint_names: Sequence[str], request: TrajectoryRequest, position: Array, lead: float = 0.01
) -> Reference:
    """What the feedforward makes of a trajectory that it received while holding `position` (n,).

    Its time is zero at the stamp of the trajectory, which must have been in the future then. lead:
    the node's parameter splice_lead. Raises InputError where the trajectory has no stamp.
    """
    if request.start is None:
        raise InputError("the trajectory has no stamp, so nothing tells when it began")
    later = request.times > lead
    rows = (request.positions, request.velocities, request.accelerations)
    return splice(
        hold(joint_names, position),
        0.0,
        request.times[later],
        *(None if row is None else row[later] for row in rows),
    )


@dataclass(frozen=True, eq=False)
class DemoRun(ABC):
    """A recording of one motion, from `begin` to `end`. Times in s after the trajectory's stamp."""

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
    @abstractmethod
    def begin(self) -> float:
        """When the motion begins."""

    @property
    def end(self) -> float:
        return float(self.recording.request.times[-1])

    @cached_property
    @abstractmethod
    def reference(self) -> Reference:
        """The desired motion."""

    def times(self, name: str) -> Array:
        """Of the messages of a topic."""
        return 1e-9 * (self.recording.series[name].stamp - self.recording.request.start)

    def during(self, name: str) -> NDArray[np.bool_]:
        """Which messages of a topic belong to the motion."""
        t = self.times(name)
        return (t >= self.begin) & (t <= self.end)

    def moving(self, name: str) -> tuple[Array, Array]:
        """Times (m,) and values (m, k, n) of a topic during the motion."""
        during = self.during(name)
        return self.times(name)[during], self.recording.series[name].values[during]

    @cached_property
    def error(self) -> Array:
        """(m, n) measured minus desired link position, during the motion."""
        t, states = self.moving("joint_states")
        return states[:, 0] - self.reference.sample(t)[:, 0]

    def latency(self) -> Array:
        """(m,) s from the sending of a joint state to that of its torque, during the motion."""
        states, torque = self.recording.series["joint_states"], self.recording.series["torque"]
        _, here, there = np.intersect1d(states.stamp, torque.stamp, return_indices=True)
        moving = self.during("joint_states")[here]
        return 1e-9 * (torque.sent[there] - states.sent[here])[moving]

    def figures(self) -> dict[str, Any]:
        """Everything that is told about this run, for report.json."""
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
            "warnings": count_warnings(self.recording),
        }


@dataclass(frozen=True, eq=False)
class Run(DemoRun):
    """A run of the feedforward beside what the library says to it."""

    lookahead: float = 0.0  # s
    lead: float = 0.01  # s

    @property
    def begin(self) -> float:
        """When the motion begins: the robot has come to its first point."""
        return float(self.recording.request.times[0])

    @cached_property
    def reference(self) -> Reference:
        """The desired motion. It begins where the first motor command holds the robot."""
        command, torque = self.recording.series["motor_command"], self.recording.series["torque"]
        stamp, here, there = np.intersect1d(command.stamp, torque.stamp, return_indices=True)
        if not (len(stamp) and stamp[0] < self.recording.request.start):
            raise InputError(
                f"{self.recording.variant}: the recording began after the trajectory, so nothing"
                " tells where the robot was held"
            )
        position, Q = command.values[here[0], 0], torque.values[there[0], 0]
        if VARIANTS[self.recording.variant][0]:
            position = self.actuators.link_position(position, Q, beyond="continue")
        return reference_of(self.model.joint_names, self.recording.request, position, self.lead)

    @cached_property
    def desired(self) -> Array:
        """(m, 5, n) at the instants that the published torques are for."""
        return self.reference.sample(self.times("torque") + self.lookahead)

    @cached_property
    def library(self) -> Array:
        """(m, 3, n) Q, Q', Q'' of the desired motion, worked out here."""
        return np.stack(inverse_dynamics(self.model, *np.moveaxis(self.desired, 1, 0)), axis=1)

    @cached_property
    def published(self) -> Array:
        """(m, 3, n) Q, Q', Q'' as received, of the stamps that all three have; NaN elsewhere."""
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

    def _motor_positions(self) -> Array:
        """(m, n) theta of the desired motion, worked out here."""
        state, torque = np.zeros((5, self.model.n)), np.zeros((3, self.model.n))
        flat = MotorFeedforward(self.actuators, state, torque, variant=self.recording.variant)
        positions = np.empty((len(self.desired), self.model.n))
        for k, (motion, forces) in enumerate(zip(self.desired, self.library, strict=True)):
            state[:], torque[:] = motion, forces
            positions[k] = flat.update().position
        return positions

    @cached_property
    def motion(self) -> NDArray[np.bool_]:
        """Which joint states belong to the motion."""
        return self.during("joint_states")

    def period(self) -> Array:
        """(m,) s between torques, by the time at which they were sent, during the motion."""
        return 1e-9 * np.diff(self.recording.series["torque"].sent[self.during("torque")])

    def real_time_factor(self) -> float:
        """Seconds of stamps per second of real time, during the motion."""
        states = self.recording.series["joint_states"]
        stamp, sent = states.stamp[self.motion], states.sent[self.motion]
        return float((stamp[-1] - stamp[0]) / (sent[-1] - sent[0]))

    def figures(self) -> dict[str, Any]:
        """Everything that is told about this run, for report.json."""
        states, torque = self.recording.series["joint_states"], self.recording.series["torque"]
        since = (states.stamp >= torque.stamp[0]) & (states.stamp <= torque.stamp[-1])
        peaks = np.abs(self.library).max(axis=0)
        told = super().figures()
        for j, joint in enumerate(self.model.joint_names):
            told["joints"][joint] |= {
                f"peak {q}": float(peaks[k, j]) for k, q in enumerate(RATES.values())
            }
        return told | {
            "disagreement": self.disagreement(),
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


def percentiles(seconds: Array) -> dict[str, float]:
    """Of durations, in ms."""
    values = np.percentile(1e3 * seconds, PERCENTILES) if len(seconds) else [np.nan] * 4
    return {
        "max" if p == 100 else f"p{p}": round(float(x), 4)
        for p, x in zip(PERCENTILES, values, strict=True)
    }


def refusals(recording: Recording) -> list[str]:
    """Why the feedforward refused a trajectory, in its own words."""
    return [
        status["values"].get("last", "")
        for status in recording.diagnostics
        if status["level"] == 1 and any(k.startswith("joint_trajectory") for k in status["values"])
    ]


def count_warnings(recording: Recording) -> dict[str, int]:
    """What the nodes warned of on /diagnostics, and how often."""
    found: dict[str, int] = {}
    for status in recording.diagnostics:
        if status["level"] in (1, 2):
            text = f"{status['name']}: {status['message']}"
            kind = re.sub(r"[\d.]+", "...", text)
            found[kind] = found.get(kind, 0) + 1
    return found


def load_quietly(file: str | Path) -> MultibodyModel:
    """A model without its warnings, which the nodes have in their logs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(file)


def load_setting(folder: Path, node: str) -> tuple[dict[str, Any], MultibodyModel, Actuators]:
    """Parameters of a node in the output folder of a demo, and its robot. Raises InputError."""
    if not (folder / PARAMETERS).is_file():
        raise InputError(f"{folder}: no {PARAMETERS} in it: not the output of a demo")
    p = read_parameters(folder / PARAMETERS)[node]
    model = load_quietly(p["robot_file"])
    return p, model, load_actuators(p["elastic_joints_file"], model.joint_names, model.joint_types)


def load_runs(folder: Path) -> list[Run]:
    """The runs recorded in a folder, in the order of VARIANTS. Raises InputError where none is."""
    p, model, actuators = load_setting(folder, FEEDFORWARD)
    lead = p.get("splice_lead", FeedforwardParameters.splice_lead)
    runs = [
        Run(Recording.load(file), model, actuators, p.get("lookahead", 0.0), lead)
        for variant in VARIANTS
        if (file := folder / f"{variant}.npz").is_file()
    ]
    if not runs:
        raise InputError(f"{folder}: no recording in it, one of {', '.join(VARIANTS)}.npz")
    return runs
