"""One recording against its model: filtered, differentiated, predicted, compared; as a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.core import Array, InputError
from ..dynamics.elastic import motor_motion
from ..dynamics.identification import Residuals, ZeroPhaseFilter
from ..dynamics.rigid import inverse_dynamics
from .alignment import MIDDLE, Keys, Quality, aligned, runs_of, seconds_of
from .recordings import Recording
from .settings import Robot, Settings
from .survey import Survey, survey, turning_joints

QUANTITIES = ("Q", "Q'", "Q''")
PER_CUTOFF = 8.0  # compared samples in a period of the cut-off
TRACE = 3000  # samples that are kept for pictures
SAMPLES = 20_000  # states that are kept for identification


class Compared(NamedTuple):
    """k states at times (k,) s: state (5, k, n) q ... q'''', predicted and measured (3, k, n)."""

    times: Array
    state: Array
    predicted: Array
    measured: Array


@dataclass(frozen=True, eq=False)
class Validation:
    """What a comparison found. Times in s after `origin` (ns since 1970).

    `problems` are what makes the comparison incomplete; `notes` what a reader should know.
    """

    recording: str
    robot: str
    joint_names: tuple[str, ...]
    joint_types: tuple[str, ...]
    quantities: tuple[str, ...]
    residuals: tuple[Residuals, ...]
    trace: Compared
    samples: Compared
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
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        """The largest normalised error of Q of all joints."""
        return float(np.max(self.residuals[0].normalized)) if self.residuals[0].count else np.inf


class Comparison:
    """Runs of samples on the grid to compared states, piece by piece.

    The recorded joints are `used` (m,) indices into those of the model.
    """

    def __init__(self, robot: Robot, look: Survey, settings: Settings) -> None:
        self.robot, self.look = robot, look
        rate = 1e9 / look.period
        orders = 4 if look.velocity else 5
        self._motion = ZeroPhaseFilter(rate, look.cutoff, orders)
        self._place = ZeroPhaseFilter(rate, look.cutoff, 1)
        self._effort = ZeroPhaseFilter(rate, look.cutoff, 3)
        wanted = settings.rate or PER_CUTOFF * look.cutoff
        self.step = max(int(rate / wanted + 1e-6), 1)
        self.reach = self._motion.reach
        self.used = np.unique(np.concatenate([source.places for source in look.sources]))
        self.by_motor = settings.effort == "motor"
        if self.by_motor:
            names = robot.actuators.motor_names if robot.actuators else ()
            if names != robot.model.joint_names:
                raise InputError(
                    "efforts of motors are compared where every joint has one motor of its name: "
                    f"--elastic-joints with {', '.join(robot.model.joint_names)}"
                )
        self.quantities = QUANTITIES[:1] if self.by_motor else QUANTITIES
        self._keys: Keys = np.zeros(0, dtype=np.int64)
        self._rows: Array = np.zeros((0, 3, robot.model.n))
        self.unused = 0  # samples of runs that are shorter than the filter

    def push(self, keys: Keys, rows: Array) -> Iterator[Compared]:
        """Samples (k, 3, n), see `alignment`."""
        for run in runs_of(keys):
            if len(self._keys) and keys[run.start] != self._keys[-1] + 1:
                self.flush()
            self._keys = np.concatenate([self._keys, keys[run]])
            self._rows = np.concatenate([self._rows, rows[run]])
            yield from self._compare()

    def flush(self) -> None:
        """A gap, or the end: what the filter still waits for does not come."""
        if len(self._keys) <= 2 * self.reach:
            self.unused += len(self._keys)
        self._keys, self._rows = self._keys[:0], self._rows[:0]

    def _compare(self) -> Iterator[Compared]:
        if len(self._keys) <= 2 * self.reach:
            return
        first = int(-(self._keys[self.reach] - MIDDLE) % self.step)
        centres = self._keys[self.reach + first : len(self._keys) - self.reach : self.step]
        count = len(centres)
        if count:
            options = {"first": first, "step": self.step}
            q, qd, effort = self._rows.transpose(1, 0, 2)
            if self.look.velocity:
                rates = self._motion(_filled(qd, self.look.background[1]), **options)
                state = np.concatenate([self._place(q, **options), rates])
            else:
                state = self._motion(q, **options)
            measured = np.zeros((3, count, self.robot.model.n))
            measured[:, :, self.used] = self._effort(effort[:, self.used], **options)
            yield self._predicted(seconds_of(centres, self.look.period), state, measured)
            done = first + count * self.step
            self._keys, self._rows = self._keys[done:], self._rows[done:]

    def _predicted(self, times: Array, state: Array, measured: Array) -> Compared:
        model, friction = self.robot.model, self.robot.friction
        q, qd, qdd, qddd, qdddd = state
        torques = inverse_dynamics(model, q, qd, qdd, qddd, qdddd)
        rows: list[Any] = list(torques)
        if self.by_motor:
            assert self.robot.actuators is not None
            loads = np.stack(rows, axis=-2)
            motion = motor_motion(self.robot.actuators, np.moveaxis(state, 0, -2), loads)
            rows[0] = motion.torque
        rows[0] = rows[0] + friction.torque(qd)
        first, second = friction.rates(qd, qdd, qddd)
        predicted = np.stack([rows[0], rows[1] + first, rows[2] + second])
        return Compared(times, state, predicted, measured)


def _filled(rows: Array, background: Array) -> Array:
    known = np.isfinite(background)
    if known.any():
        rows = rows.copy()
        rows[:, known] = background[known]
    return rows


def validate(
    path: Path,
    settings: Settings,
    *,
    robot: Robot | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    listener: Callable[[Survey, Compared], None] | None = None,
) -> Validation:
    """Compare one recording with the robot of the settings.

    progress : is told of messages done and in total. listener : of all that was compared, in order.
    Raises InputError where nothing can be compared, with the reason.
    """
    began = time.monotonic()
    robot = robot or settings.robot()
    recording = Recording(path, settings.effort)
    look = survey(
        recording,
        robot.model,
        topics=settings.topics or None,
        motor_topic=settings.motor_topic,
        prefix=settings.prefix,
        held=dict(settings.held),
        cutoff=settings.cutoff,
        from_positions=settings.from_positions,
    )
    comparison = Comparison(robot, look, settings)
    names = np.array(robot.model.joint_names)
    qualities = [
        Quality(source.topic, tuple(names[source.places].tolist()), rate=1e9 / look.period)
        for source in look.sources
    ]
    problems: list[str] = []
    totals = [Residuals.none(len(comparison.used)) for _ in comparison.quantities]
    expected = max(look.duration * 1e9 / look.period / comparison.step, 1.0)
    trace, samples = _Every(int(expected // TRACE) + 1), _Every(int(expected // SAMPLES) + 1)
    on_grid = compared = 0
    used_topics = sorted({source.topic for source in look.sources})
    stream = aligned(
        recording.read(used_topics, progress=progress),
        look.sources,
        qualities,
        origin=look.origin,
        period=look.period,
        background=look.background,
        turning=turning_joints(robot.model),
        velocity=look.velocity,
        failed=lambda error: problems.append(_expected(error)),
    )
    for keys, rows in stream:
        on_grid += len(keys)
        for found in comparison.push(keys, rows):
            compared += len(found.times)
            ours = comparison.used
            for k in range(len(totals)):
                totals[k] = totals[k] + Residuals.of(
                    found.times, found.predicted[k][:, ours], found.measured[k][:, ours]
                )
            trace.add(found)
            if settings.identify:
                samples.add(found)
            if listener is not None:
                listener(look, found)
    comparison.flush()
    if compared == 0:
        need = (2 * comparison.reach + 1) * look.period * 1e-9
        problems.append(
            f"{path}: nothing to compare: no stretch without a gap is as long as the filter, "
            f"{need:.3g} s; a higher --cutoff takes less"
        )
        problems += [text for quality in qualities for text in quality.events()]
        raise InputError("; ".join(problems))
    n = robot.model.n
    return Validation(
        recording=str(path),
        robot=robot.model.name,
        joint_names=tuple(names[comparison.used].tolist()),
        joint_types=tuple(robot.model.joint_types[i] for i in comparison.used),
        quantities=comparison.quantities,
        residuals=tuple(totals),
        trace=trace.joined(n, comparison.used),
        samples=samples.joined(n),
        origin=look.origin,
        duration=look.duration,
        rate=1e9 / look.period,
        compared_rate=1e9 / look.period / comparison.step,
        cutoff=look.cutoff,
        cutoff_from_data=settings.cutoff is None,
        velocity=look.velocity,
        edge=comparison.reach * look.period * 1e-9,
        coverage=compared * comparison.step / max(on_grid, 1),
        qualities=tuple(qualities),
        problems=tuple(problems),
        notes=_notes(look, qualities),
        messages=sum(quality.messages for quality in qualities),
        seconds=time.monotonic() - began,
    )


def _expected(error: Exception) -> str:
    """The text of an error of the recording; any other is one of ours."""
    if isinstance(error, InputError):
        return str(error)
    raise error


def _notes(look: Survey, qualities: list[Quality]) -> tuple[str, ...]:
    notes = [*look.notes, *(text for quality in qualities for text in quality.events())]
    if look.held:
        notes.append(f"held where stated, not recorded: {', '.join(look.held)}")
    if look.ignored:
        notes.append(f"recorded, but not of this robot: {', '.join(look.ignored)}")
    return tuple(notes)


class _Every:
    """One of `step` samples, counted from the first of all."""

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

    def joined(self, n: int, used: Any = slice(None)) -> Compared:
        if not self._parts:
            width = len(np.arange(n)[used])
            empty = [np.zeros((k, 0, width)) for k in (5, 3, 3)]
            return Compared(np.zeros(0), *empty)
        t = np.concatenate([part.times for part in self._parts])
        rows = [np.concatenate([p[k] for p in self._parts], axis=1)[..., used] for k in (1, 2, 3)]
        return Compared(t, *rows)
