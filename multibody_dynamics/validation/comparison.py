# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compares a recording with the model: filters, differentiates and predicts, in one pass."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.core import Array, InputError
from ..dynamics.elastic import motor_motion
from ..dynamics.identification import Residuals
from ..dynamics.rigid import inverse_dynamics
from .alignment import Keys, Quality, aligned
from .doubtful_signals import doubtful_efforts, late_efforts
from .measured_motors import measured_motors
from .recordings import Recording
from .run_recorder import Recorded, RunRecorder
from .settings import Robot, Settings
from .smoothed_states import SmoothedStates
from .survey import Survey, survey

QUANTITIES = ("Q", "Q'", "Q''")
PER_CUTOFF = 8.0  # compared samples per period of the cut-off frequency
TRACE = 3000  # samples kept for pictures
SAMPLES = 20_000  # states kept for identification


class Compared(NamedTuple):
    """k states at times (k,) s: state (5, k, n) q ... q'''', with further columns for
    `MeasuredMotors`; predicted and measured (3, k, n)."""

    times: Array
    state: Array
    predicted: Array
    measured: Array


@dataclass(frozen=True, eq=False)
class Validation:
    """The result of a comparison. Times in s after `origin`, the first stamp (ns since 1970, or
    since the start of a simulation); `duration` (s) is that of the states, without gaps.

    `problems` state why the comparison is incomplete, and `notes` what else a reader should know.
    `samples` and `recorded` are for an identification, if the settings ask for one.
    """

    recording: str
    robot: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    quantities: tuple[str, ...]
    residuals: tuple[Residuals, ...]
    trace: Compared
    samples: Compared | None
    origin: int
    duration: float
    rate: float
    compared_rate: float
    cutoff: float
    cutoff_from_data: bool
    velocity: bool
    edge: float
    coverage: float
    qualities: tuple[Quality, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    messages: int
    seconds: float
    recorded: Recorded | None = None

    @property
    def worst(self) -> float:
        """The largest normalised error of Q among the joints."""
        return float(np.max(self.residuals[0].normalized)) if self.residuals[0].count else np.inf


class Comparison:
    """Turns samples on the grid into compared states, piece by piece.

    `used` (m,) are the indices of the recorded joints in the model.
    """

    def __init__(self, robot: Robot, look: Survey, settings: Settings) -> None:
        self.robot, self.look = robot, look
        recorded = np.unique(np.concatenate([source.places for source in look.sources]))
        self.used = recorded[recorded < robot.model.n]
        efforts = np.concatenate([source.places for source in look.sources if 2 in source.used])
        self._settings = settings
        self.quantities = QUANTITIES[:1] if settings.effort == "motor" else QUANTITIES
        wanted = settings.rate or PER_CUTOFF * look.cutoff
        self._states = SmoothedStates(look, np.unique(efforts), look.cutoff, wanted, (5, 3))
        self.step, self.reach = self._states.step, self._states.reach

    def push(self, keys: Keys, rows: Array) -> Iterator[Compared]:
        """The compared states that become available with the samples (k, 3, n); `alignment`
        explains the keys."""
        for times, state, measured in self._states.push(keys, rows):
            predicted = predicted_torques(self.robot, state, self._settings)
            if self.look.motors is not None:
                measured = self.look.motors.at_joints(measured)
            yield Compared(times, state, predicted, measured)

    def flush(self) -> None:
        """Drop the samples that the filter still holds, at a gap or at the end."""
        self._states.flush()


def predicted_torques(robot: Robot, state: Array, settings: Settings) -> Array:
    """Q, Q' and Q'' (3, k, n) of `Compared.state`, with friction; Q is that of the motors if the
    efforts are."""
    motors, actuators = measured_motors(robot, settings), robot.actuators
    links = state[..., : robot.model.n]
    q, qd, qdd, qddd, qdddd = links
    rows: list[Any] = list(inverse_dynamics(robot.model, q, qd, qdd, qddd, qdddd))
    motion, loads = np.moveaxis(links, 0, -2), np.stack(rows, axis=-2)
    if actuators is not None and settings.effort == "motor" and motors is None:
        settled = actuators.settled_deflection(loads) if actuators.is_damped.any() else None
        rows[0] = motor_motion(actuators, motion, loads, deflection=settled).torque
    elif actuators is not None and actuators.has_link_friction.any():
        of_links = actuators.link_friction(motion, loads)
        rows = [row + of_links[..., k, :] for k, row in enumerate(rows)]
    if motors is not None:
        rows[0] = motors.torque(state, rows[0])
    first, second = robot.friction.rates(qd, qdd, qddd)
    return np.stack([rows[0] + robot.friction.torque(qd), rows[1] + first, rows[2] + second])


def validate(
    path: Path,
    settings: Settings,
    *,
    robot: Robot | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    listener: Callable[[Survey, Compared], None] | None = None,
) -> Validation:
    """Compare one recording with the robot of the settings, or with `robot`.

    progress : called with the numbers of messages done and in total.
    listener : called with the compared states, in order.

    Raises InputError with the reason if nothing can be compared.
    """
    run = _Pass(path, settings, robot or settings.robot())
    for found in run.compared(progress):
        if listener is not None:
            listener(run.look, found)
    return run.result()


class _Pass:
    """One pass over a recording."""

    def __init__(self, path: Path, settings: Settings, robot: Robot) -> None:
        self._began = time.monotonic()
        self._path, self._settings, self._robot = path, settings, robot
        self._recording = Recording(
            path, settings.effort, robot.model.transmissions, settings.prefix
        )
        self.look = look = survey(
            self._recording,
            robot.model,
            settings,
            cutoff=settings.cutoff,
            from_positions=settings.from_positions,
            motors=measured_motors(robot, settings),
        )
        self._comparison = Comparison(robot, look, settings)
        self._names = np.array(robot.model.joint_names)
        columns = np.array((*self._names, *(look.motors.names if look.motors else ())))
        self._qualities = [
            Quality(source.topic, tuple(columns[source.places].tolist()), rate=look.rate)
            for source in look.sources
        ]
        self._problems: list[str] = []
        self._on_grid = self._compared = 0
        self._totals = [Residuals.none(len(self._comparison.used))] * len(
            self._comparison.quantities
        )
        expected = max(look.duration * look.rate / self._comparison.step, 1.0)
        self._late = Residuals.none(len(self._comparison.used))
        self._trace = _Decimation(int(expected // TRACE) + 1)
        self._samples = _Decimation(int(expected // SAMPLES) + 1)
        self._recorded = (
            RunRecorder(look, self._comparison.used, _signal(self._robot, settings))
            if settings.identify
            else None
        )

    def compared(self, progress: Callable[[int, int], None]) -> Iterator[Compared]:
        """All compared states in order; raises InputError at the end if there were none."""
        topics = sorted({source.topic for source in self.look.sources})
        stream = aligned(
            self._recording.read(topics, progress=progress),
            self.look.sources,
            self._qualities,
            self.look.grid(self._robot.model),
            lambda error: self._problems.append(_expected(error)),
        )
        for keys, rows in stream:
            self._on_grid += len(keys)
            if self._recorded is not None:
                self._recorded.push(keys, rows)
            for found in self._comparison.push(keys, rows):
                self._add(found)
                yield found
        self._comparison.flush()
        if self._compared == 0:
            need = (2 * self._comparison.reach + 1) * self.look.period * 1e-9
            problems = [
                *self._problems,
                f"{self._path}: nothing to compare: the filter needs {need:.3g} s without a gap "
                "(less with a higher --cutoff)",
                *(text for quality in self._qualities for text in quality.events()),
            ]
            raise InputError("; ".join(problems))

    def _add(self, compared: Compared) -> None:
        used = self._comparison.used
        self._compared += len(compared.times)
        for k, total in enumerate(self._totals):
            self._totals[k] = total + Residuals.of(
                compared.times, compared.predicted[k][:, used], compared.measured[k][:, used]
            )
        error = (compared.measured[0] - compared.predicted[0])[:, used]
        self._late += Residuals.of(compared.times, compared.predicted[1][:, used], error)
        self._trace.add(compared)
        if self._settings.identify:
            self._samples.add(compared)

    def result(self) -> Validation:
        look, comparison, model = self.look, self._comparison, self._robot.model
        used = comparison.used
        return Validation(
            recording=str(self._path),
            robot=model.name,
            joint_names=tuple(self._names[used].tolist()),
            joint_types=tuple(model.joint_types[i] for i in used),
            quantities=comparison.quantities,
            residuals=tuple(self._totals),
            trace=self._trace.joined(used),
            samples=self._samples.joined() if self._settings.identify else None,
            origin=look.origin,
            duration=self._on_grid / look.rate,
            rate=look.rate,
            compared_rate=look.rate / comparison.step,
            cutoff=look.cutoff,
            cutoff_from_data=self._settings.cutoff is None,
            velocity=look.velocity,
            edge=comparison.reach * look.period * 1e-9,
            coverage=self._compared * comparison.step / max(self._on_grid, 1),
            qualities=tuple(self._qualities),
            problems=tuple(self._problems),
            notes=(*_notes(look, self._qualities), *self._doubts()),
            messages=sum(quality.messages for quality in self._qualities),
            seconds=time.monotonic() - self._began,
            recorded=None if self._recorded is None else self._recorded.result(),
        )

    def _doubts(self) -> list[str]:
        """What is doubtful about the efforts."""
        actuators, used = self._robot.actuators, self._comparison.used
        gears = None
        if actuators is not None:
            gears = actuators.gear_ratio[actuators.first_motor][used]
        names = tuple(self._names[used].tolist())
        late = late_efforts(self._late)
        return [*doubtful_efforts(names, self._totals[0], gears), *([late] if late else [])]


def _expected(error: Exception) -> str:
    """The text of an error of the recording; any other error is a bug and is raised."""
    if isinstance(error, InputError):
        return str(error)
    raise error


def _signal(robot: Robot, settings: Settings) -> str:
    """The kind of the efforts: torques of motors, or of sensors behind springs and rotors."""
    has_rotors = bool(robot.model.reflected_inertia.any())
    return "motor_torque" if settings.effort == "motor" or has_rotors else "sensor"


def _notes(look: Survey, qualities: list[Quality]) -> tuple[str, ...]:
    notes = [*look.notes, *(text for quality in qualities for text in quality.events())]
    if look.held:
        notes.append(f"held at the stated positions, not recorded: {', '.join(look.held)}")
    if look.ignored:
        notes.append(f"recorded, but not part of this robot: {', '.join(look.ignored)}")
    return tuple(notes)


class _Decimation:
    """Keeps every `step`-th sample, counted from the very first one."""

    def __init__(self, step: int) -> None:
        self.step = step
        self._seen = 0
        self._parts: list[Compared] = []

    def add(self, found: Compared) -> None:
        first = -self._seen % self.step
        self._seen += len(found.times)
        t, *rows = found
        picked = [row[:, first :: self.step].copy() for row in rows]
        self._parts.append(Compared(t[first :: self.step], *picked))

    def joined(self, used: Any = slice(None)) -> Compared:
        t = np.concatenate([part.times for part in self._parts])
        rows = [np.concatenate([p[k] for p in self._parts], axis=1)[..., used] for k in (1, 2, 3)]
        return Compared(t, *rows)
