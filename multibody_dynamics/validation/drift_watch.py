# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Watches a robot over days for drift of its model, in bounded memory, and names the cause.

The residuals of the first hours of motion are the reference. Later blocks of motion are compared
with it (`drift_causes`), and so is the last day, in which slow changes become visible. Friction
depends on temperature, and therefore on how long the robot has been moving. A number from 0 (cold)
to 1 (warm) follows the motion like the temperature of a gear, with the time constant
`warm_up_time`, and each of CLASSES ranges of it has a reference of its own.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.core import Array, InputError, as_array, read_arrays, reading, setting
from .drift_causes import Change, PeriodComparison, changes
from .drift_statistics import DriftSums, Layout, Noise, solved
from .settings import Robot, Settings

CLASSES = 4  # levels of warmth
HOUR = 3_600_000_000_000  # ns
DAY = 24  # hours
FEWEST = 30  # segments of a reference
CONSISTENT = 4.0  # standard errors by which the changes over a block and over a day may differ
FLOOR = 0.002  # share of the effort limit: smaller changes of friction are not reported


@dataclass(frozen=True)
class DriftSettings:
    """When a change counts as drift. The noise is learned from segments; the reference is that of
    each level of warmth."""

    # fmt: off
    segment: float = setting(10.0, unit="s", bounds=(0.5, 600.0),
        meaning="duration of motion in a segment; the noise is learned from the scatter of the"
        " segments")
    block: float = setting(600.0, unit="s", bounds=(1.0, 36000.0),
        meaning="duration of motion in a block, after which the robot is judged")
    reference: float = setting(1800.0, unit="s", bounds=(15.0, 360000.0),
        meaning="duration of motion in the reference at each of four levels of warmth; at least 30"
        " segments")
    warm_up_time: float = setting(1200.0, unit="s", bounds=(1.0, 36000.0),
        meaning="time constant with which the joints warm up in motion and cool down at rest")
    remembered_days: float = setting(14.0, unit="d", bounds=(1.0, 365.0),
        meaning="number of days for which the statistics of every hour are kept")
    false_alarm_level: float = setting(1e-5, bounds=(1e-12, 0.1),
        meaning="probability of a false alarm in a block without drift")
    least_payload: float = setting(0.2, unit="kg", bounds=(0.0, 1000.0),
        meaning="smaller changes of the payload are not reported")
    least_friction: float = setting(0.2, bounds=(0.0, 10.0),
        meaning="smaller changes of a friction torque, relative to that of the reference, are not"
        " reported")
    least_offset: float = setting(0.02, bounds=(0.0, 1.0),
        meaning="smaller offsets of a torque, relative to the robot's effort limit, are not"
        " reported")
    least_stiffness: float = setting(0.05, bounds=(0.0, 1.0),
        meaning="smaller relative changes of a stiffness are not reported")
    # fmt: on

    def __post_init__(self) -> None:
        if self.reference < FEWEST * self.segment:
            raise InputError(
                f"reference {self.reference:g} s: must contain at least {FEWEST} segments of"
                f" {self.segment:g} s"
            )
        if self.block < self.segment:
            raise InputError(f"block {self.block:g} s: must not be shorter than a segment")


class Drift(NamedTuple):
    """A change that matters: kind (payload, friction, offset, spring), name of the body or joint,
    and a text with numbers."""

    kind: str
    name: str
    text: str


@dataclass
class _HourClass:
    """The memory of one level of warmth: segments of the reference, then the whole reference."""

    segments: list[DriftSums] = field(default_factory=list)
    reference: DriftSums | None = None
    noise: Noise | None = None
    block: DriftSums | None = None
    drifts: tuple[Drift, ...] = ()

    def seconds(self) -> float:
        """Seconds of motion in the reference so far."""
        if self.reference is not None:
            return self.reference.seconds
        return sum(each.seconds for each in self.segments)


class DriftWatch:
    """Statistics and verdicts of one robot. Not thread-safe.

    body : the index of the body that may carry a payload.
    comparison : how measured and predicted torques were computed.

    Attributes: `warmth`; `drifts`, the changes found in the last judged block, at any level;
    `judged`, number of blocks; `stamp` of the newest samples, ns.
    """

    def __init__(
        self, robot: Robot, settings: DriftSettings, body: int, comparison: Settings
    ) -> None:
        self._robot, self._settings, self._body = robot, settings, body
        self._comparison = comparison
        self._n = robot.model.n
        self.forget()

    def forget(self) -> None:
        """Start a new reference, for example after maintenance."""
        self._classes = [_HourClass() for _ in range(CLASSES)]
        self._segment = DriftSums.none(self._n)
        self._hours: dict[tuple[int, int], DriftSums] = {}
        self.warmth, self.stamp, self.judged = 0.0, 0, 0
        self.drifts: tuple[Drift, ...] = ()

    def add(self, stamp: int, sums: DriftSums) -> bool:
        """Add the sums of new samples up to a stamp in ns; True if a block was judged."""
        step = max(1e-9 * (stamp - self.stamp), 0.0) if self.stamp else 0.0
        moving = min(sums.seconds, step)
        self.stamp = stamp  # it may go back, when a simulation is restarted
        for seconds, target in ((step - moving, 0.0), (moving, 1.0)):
            decay = float(np.exp(-seconds / self._settings.warm_up_time))
            self.warmth = target + (self.warmth - target) * decay
        self._segment = self._segment + sums
        if self._segment.seconds < self._settings.segment:
            return False
        segment, self._segment = self._segment, DriftSums.none(self._n)
        return self._close(segment)

    def _close(self, segment: DriftSums) -> bool:
        number = min(int(self.warmth * CLASSES), CLASSES - 1)
        of_hour, settings = self._classes[number], self._settings
        if of_hour.reference is None or of_hour.noise is None:
            of_hour.segments.append(segment)
            if of_hour.seconds() >= settings.reference:
                of_hour.noise = Noise.learned(of_hour.segments)
                of_hour.reference = sum(of_hour.segments[1:], of_hour.segments[0])
                of_hour.segments = []
            return False
        of_hour.block = segment if of_hour.block is None else of_hour.block + segment
        if of_hour.block.seconds < settings.block:
            return False
        block, of_hour.block = of_hour.block, None
        hour = self.stamp // HOUR
        key = (hour, number)
        self._hours[key] = self._hours[key] + block if key in self._hours else block
        oldest = hour - round(24 * settings.remembered_days)
        self._hours = {each: sums for each, sums in self._hours.items() if oldest < each[0] <= hour}
        self._judge(of_hour, block, number, hour)
        return True

    # Verdicts

    def _judge(self, of_hour: _HourClass, block: DriftSums, number: int, hour: int) -> None:
        assert of_hour.reference is not None
        assert of_hour.noise is not None
        level = (
            self._settings.false_alarm_level / 2.0
        )  # two tests: of the block and of the last day
        recent = changes(of_hour.reference, block, of_hour.noise, level)
        of_day = [s for (at, c), s in self._hours.items() if c == number and at > hour - DAY]
        day = sum(of_day[1:], of_day[0])
        for slow in changes(of_hour.reference, day, of_hour.noise, level):
            is_new = all(slow.cause.kind != each.cause.kind or slow.cause.joint != each.cause.joint
                         for each in recent)  # fmt: skip
            if is_new and _agrees(of_hour.reference, block, of_hour.noise, slow):
                recent.append(slow)
        texts = [self._described(each, of_hour.reference, block, of_hour.noise) for each in recent]
        of_hour.drifts = tuple(each for each in texts if each is not None)
        self.judged += 1
        self.drifts = of_hour.drifts

    def _described(
        self, change: Change, reference: DriftSums, block: DriftSums, noise: Noise
    ) -> Drift | None:
        """A change in words, or None if it is too small to matter."""
        model, settings = self._robot.model, self._settings
        kind, j, _ = change.cause
        value, error = change.value, change.error
        name = model.body_names[self._body] if j < 0 else model.joint_names[j]
        unit = "N" if j >= 0 and model.joint_types[j] == "prismatic" else "N m"
        limit = float(model.limits.effort[j])
        if kind == "payload":
            text = f"payload of {name} changed"
            if change.known[0]:
                if abs(value[0]) < settings.least_payload:
                    return None
                text += f" by {value[0]:+.3g} ± {error[0]:.2g} kg"
        elif kind == "spring":
            if abs(value[0]) < settings.least_stiffness:
                return None
            percent = 100.0 * value[0], 100.0 * error[0]
            text = f"spring of {name}: stiffness {percent[0]:+.1f} ± {percent[1]:.1g} %"
        elif kind == "offset":
            if abs(value[0]) < settings.least_offset * (limit if np.isfinite(limit) else 1.0):
                return None
            text = f"torque offset of {name} changed by {value[0]:+.3g} ± {error[0]:.2g} {unit}"
        else:
            known = self._friction(j, reference, noise)
            H = block.normal[j, 4:6, 4:6] / max(block.count[j], 1.0)
            floor = FLOOR * limit if np.isfinite(limit) else 0.0
            least = max(settings.least_friction * float(np.sqrt(known @ H @ known)), floor)
            if float(np.sqrt(value @ H @ value)) < least:
                return None
            parts = [
                f"{label} {_relative(before, by)} ({before:.3g} to {before + by:.3g} {dimension})"
                for label, before, by, dimension in (
                    ("viscous", known[0], value[0], f"{unit} s/{'m' if unit == 'N' else 'rad'}"),
                    ("Coulomb", known[1], value[1], unit),
                )
            ]
            text = f"friction of {name}: {', '.join(parts)}"
        return Drift(kind, name, text)

    def _friction(self, j: int, reference: DriftSums, noise: Noise) -> Array:
        """Viscous and Coulomb friction (2,) of a joint in the reference."""
        x = solved(*reference.weighted(noise.variance))[Layout(self._n).joint(j)[:2]]
        friction = self._robot.friction
        return x + np.array([friction.viscous[j], friction.amplitude[j] / 2.0])

    # Progress and memory

    def progress(self) -> list[tuple[float, float]]:
        """For each level of warmth, from cold to warm: share of the reference that is complete, and
        seconds of motion in the block that is judged next."""
        needed = self._settings.reference
        return [
            (
                float(min(each.seconds() / needed, 1.0)),
                float(each.block.seconds if each.block else 0),
            )
            for each in self._classes
        ]

    def _identity(self) -> str:
        """A hash of everything on which the statistics depend."""
        model, friction, actuators = self._robot.model, self._robot.friction, self._robot.actuators
        parts = (model.inertias, model.screws, model.poses, model.reflected_inertia, model.gravity,
                 friction.viscous, friction.offset, friction.amplitude, friction.steepness,
                 friction.shift)  # fmt: skip
        found = hashlib.sha256(f"{model.joint_names} {self._body}".encode())
        for part in parts:
            found.update(np.ascontiguousarray(part).tobytes())
        springs = () if actuators is None else (actuators.actuators, actuators.torque_sources)
        settings, how = self._settings, self._comparison
        held = sorted(how.held.items())
        words = (springs, settings.segment, settings.warm_up_time, how.cutoff, how.from_positions)
        found.update(f"{words} {held}".encode())
        return found.hexdigest()

    def save(self, file: Path) -> None:
        """Write everything to a file, which is replaced atomically. Raises OSError."""
        arrays: dict[str, Array] = {"segment": self._segment.packed}
        for key, sums in self._named():
            arrays[key] = sums.packed
        for c, of_hour in enumerate(self._classes):
            if of_hour.noise is not None:
                arrays[f"noise {c} variance"] = of_hour.noise.variance
                arrays[f"noise {c} scatter"] = of_hour.noise.scatter
                arrays[f"noise {c} freedom"] = np.array(of_hour.noise.freedom)
        facts = {
            "identity": self._identity(),
            "warmth": self.warmth,
            "stamp": self.stamp,
            "judged": self.judged,
            "drifts": [[list(each) for each in of_hour.drifts] for of_hour in self._classes],
            "latest": [list(each) for each in self.drifts],
        }
        new = file.with_name(f"{file.name}.new")
        with new.open("wb") as stream:
            np.savez(stream, facts=np.array(json.dumps(facts)), **arrays)  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())  # otherwise a power failure could leave an empty file
        new.replace(file)

    def _named(self) -> Iterator[tuple[str, DriftSums]]:
        for c, of_hour in enumerate(self._classes):
            for k, each in enumerate(of_hour.segments):
                yield f"segments {c} {k}", each
            if of_hour.reference is not None:
                yield f"reference {c} 0", of_hour.reference
            if of_hour.block is not None:
                yield f"block {c} 0", of_hour.block
        for (hour, c), each in self._hours.items():
            yield f"hours {c} {hour}", each

    def load(self, file: Path) -> None:
        """Continue from a file written by `save`.

        Raises InputError if it cannot be read, or belongs to another robot or other settings.
        """
        arrays = read_arrays(file)
        with reading(file, "a memory of drift_node"):
            facts = json.loads(str(arrays.pop("facts")))
            identity = facts["identity"]
        if identity != self._identity():
            raise InputError(
                f"{file}: belongs to another robot, mounting, friction, springs or settings;"
                " remove it to start a new reference"
            )
        self.forget()
        try:
            with reading(file, "a memory of drift_node"):
                self._continue(facts, arrays)
        except InputError:
            self.forget()
            raise

    def _continue(self, facts: dict[str, Any], arrays: dict[str, Array]) -> None:
        for key, row in arrays.items():
            self._restore(key, row, arrays)
        self.warmth, self.stamp = float(facts["warmth"]), int(facts["stamp"])
        self.judged = int(facts["judged"])
        for own, drifts in zip(self._classes, facts["drifts"], strict=True):
            own.drifts = tuple(Drift(*each) for each in drifts)
        self.drifts = tuple(Drift(*each) for each in facts["latest"])

    def _restore(self, key: str, row: Array, arrays: dict[str, Array]) -> None:
        part, *rest = key.split()
        if part == "noise":
            if rest[1] == "variance":
                scatter, freedom = (arrays[f"noise {rest[0]} {x}"] for x in ("scatter", "freedom"))
                self._classes[int(rest[0])].noise = Noise(row, scatter, float(freedom))
            return
        sums = DriftSums(as_array(key, row, DriftSums.none(self._n).packed.shape))
        if part == "segment":
            self._segment = sums
        elif part == "segments":
            self._classes[int(rest[0])].segments.append(sums)
        elif part == "hours":
            self._hours[int(rest[1]), int(rest[0])] = sums
        else:
            setattr(self._classes[int(rest[0])], part, sums)


def _agrees(reference: DriftSums, block: DriftSums, noise: Noise, slow: Change) -> bool:
    """Whether the change over a day is still present in the last block."""
    now = PeriodComparison(reference, block, noise).of(slow.cause)
    if now is None:
        return False
    apart = np.abs(now.value - slow.value)
    return bool(np.all(apart <= CONSISTENT * np.hypot(now.error, slow.error)))


def _relative(before: float, by: float) -> str:
    return f"{100.0 * by / before:+.0f} %" if before > 0.0 else f"{by:+.2g}"
