# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A first look at a recording: sources of the joints, sampling rate, noise and cut-off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array, InputError
from ..dynamics.identification import HIGHEST, noise_cutoff
from ..dynamics.model import MultibodyModel
from .alignment import (
    EFFORT,
    MOTION,
    MOTOR,
    WINDOW,
    Grid,
    Quality,
    Source,
    aligned,
    on_one_clock,
    require_one_source,
    runs_of,
    sources_of,
)
from .doubtful_signals import Stretch, clipped, contradicting_velocities, positions_beyond_limits
from .measured_motors import MeasuredMotors
from .recordings import ALL_JOINTS, JointSamples, JointSelection, Recording
from .unwrapping import turning_joints, unwrapped

LOOKS = 8  # stretches of a long recording that are read
LOOK = 8_000_000_000  # ns, length of a stretch
FASTEST = 25.0  # Hz, highest cut-off: no arm follows faster motions
SHORTEST = 64  # samples needed to estimate the noise
MOTORS = "motor_states"
OUTPUTS = (  # topics of our nodes with the names of the same joints
    *("estimated_state", MOTORS, "motor_torque", "motor_torque_stamped", "tracking_error"),
    *("stiffness_command", "torque", "torque_rate", "torque_acceleration"),
    *("predicted_effort", "measured_effort", "residual"),
)


@dataclass(frozen=True, eq=False)
class Survey:
    """The result of the first look: sources, origin and period in ns, cut-off in Hz.

    velocity : whether velocities are used, except of the joints `derived` (in the model), whose
    positions are differentiated instead. held : joints of the model without a source.
    ignored : recorded joints that are not in the model. background : (3, n) rows of held joints,
    and columns for the `motors`. duration : s. notes : remarks on the choice of topics.
    """

    sources: tuple[Source, ...]
    origin: int
    period: float
    cutoff: float
    velocity: bool
    held: tuple[str, ...]
    ignored: tuple[str, ...]
    background: Array
    duration: float
    notes: tuple[str, ...] = ()
    derived: tuple[int, ...] = ()
    motors: MeasuredMotors | None = None

    @property
    def rate(self) -> float:
        """Hz, of the grid."""
        return 1e9 / self.period

    def grid(self, model: MultibodyModel) -> Grid:
        """The grid of the comparison."""
        turning = _turning(model, self.motors)
        return Grid(self.origin, self.period, self.background, turning, self.velocity)


class Joints(NamedTuple):
    """The joints of the model by their names in a recording, the positions of held ones, and the
    motors whose positions must be recorded."""

    path: Path
    model: MultibodyModel
    prefix: str
    held: Mapping[str, float]
    motors: MeasuredMotors | None

    @property
    def names(self) -> set[str]:
        return {self.prefix + name for name in self.columns}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the model and of the motors."""
        motors = self.motors.names if self.motors else ()
        return (*self.model.joint_names, *motors)

    @property
    def places(self) -> dict[str, int]:
        """Indices in the model of the joints that must be recorded, by name."""
        joints = enumerate(self.model.joint_names)
        return {self.prefix + name: place for place, name in joints if name not in self.held}

    @property
    def motor_places(self) -> dict[str, int]:
        """The columns of the motors, by name."""
        n = self.model.n
        return {self.prefix + name: n + k for k, name in enumerate(self.columns[n:])}

    @property
    def turning(self) -> NDArray[np.bool_]:
        """Of each column, whether it may jump by a turn."""
        return _turning(self.model, self.motors)


def survey(
    recording: Recording,
    model: MultibodyModel,
    selection: JointSelection = ALL_JOINTS,
    *,
    cutoff: float | None = None,
    from_positions: bool = False,
    motors: MeasuredMotors | None = None,
) -> Survey:
    """Find the sources, rate and cut-off of a recording.

    motors : whose positions are needed as well.

    Raises an InputError that states what the recording lacks.
    """
    motor_topic, topics = selection.motor_topic, selection.topics
    joints = Joints(recording.path, model, selection.prefix, selection.held, motors)
    background = np.full((3, len(joints.columns)), np.nan)
    for joint, value in joints.held.items():
        background[:, model.joint_index(joint)] = value, 0.0, np.nan
    background[1, model.n :] = 0.0  # of motors, whose positions are differentiated
    if motor_topic:
        topics = (*topics, motor_topic) if topics else ()
        recording.overview.require(recording.path, [motor_topic])
    looks = _looks(recording, topics)
    samples = [batch for look in looks for batch in look]
    notes: list[str] = []
    if not topics:
        kept = _motor_topics(recording, samples, motor_topic)
        samples = _without_outputs(samples, joints, kept, notes)
    sources = _chosen(recording, joints, samples, motor_topic, notes)
    ignored = {name for batch in samples for name in batch.names} - joints.names
    ignored -= {selection.prefix + name for name in model.dependent_joints}
    samples = [batch for batch in samples if any(source.carries(batch) for source in sources)]
    _check_signals(joints, sources, samples, notes)
    period = max(_period(recording, source, looks) for source in sources)
    origin = _origin(sources, samples)
    velocity = not from_positions and _has_velocity(sources, samples)
    derived = _contradicting(joints, sources, looks, notes) if velocity else ()
    velocity &= len(derived) < sum(len(s.places) for s in sources if 1 in s.used)
    derived += tuple(joints.motor_places.values())
    grid = Grid(origin, period, background, joints.turning, velocity)
    found = cutoff or _cutoff(looks, sources, grid)
    seen = recording.overview
    return Survey(
        sources,
        origin,
        period,
        found,
        velocity,
        tuple(joints.held),
        tuple(sorted(ignored)),
        background,
        1e-9 * (seen.end - seen.begin),
        tuple(notes),
        derived if velocity else (),
        motors,
    )


def _turning(model: MultibodyModel, motors: MeasuredMotors | None) -> NDArray[np.bool_]:
    turning = turning_joints(model)
    return turning if motors is None else np.concatenate([turning, turning[motors.joints]])


def _last_part(topic: str) -> str:
    return topic.rpartition("/")[2]


def _is_motors(topic: str) -> bool:
    return _last_part(topic) == MOTORS


def _looks(recording: Recording, topics: Sequence[str]) -> list[list[JointSamples]]:
    """Some stretches of the recording, or all of a short one; InputError if they are empty."""
    seen = recording.overview
    seen.require(recording.path)
    span = seen.end - seen.begin
    starts, length = [seen.begin], span + 1
    if span > LOOKS * LOOK:
        starts = np.linspace(seen.begin, seen.end - LOOK, LOOKS).astype(np.int64).tolist()
        length = LOOK
    problem = InputError(f"{recording.path}: no messages on {', '.join(topics or seen.topics)}")
    if not span and not any(seen.topics.values()):  # files need not say how many they have
        raise problem
    looks: list[list[JointSamples]] = []
    for start in starts:
        looks.append([])
        try:
            looks[-1].extend(recording.read(topics or None, start=start, stop=start + length))
        except InputError as error:
            problem = error
    if not any(looks):
        raise problem
    return looks


def _motor_topics(
    recording: Recording, samples: Sequence[JointSamples], motor_topic: str
) -> set[str]:
    """The topics from which efforts of motors are taken, if they are compared."""
    if recording.effort != "motor":
        return set()
    return {motor_topic} if motor_topic else {b.topic for b in samples if _is_motors(b.topic)}


def _without_outputs(
    samples: list[JointSamples], joints: Joints, kept: set[str], notes: list[str]
) -> list[JointSamples]:
    """The batches without outputs of our nodes, except of the topics `kept`, if their joints are
    also on a single topic joint_states."""
    carried: dict[str, set[str]] = {}
    for batch in samples:
        carried.setdefault(batch.topic, set()).update(joints.names.intersection(batch.names))
    states = [name for name, of in carried.items() if of and _last_part(name) == "joint_states"]
    if len(states) != 1:
        return samples
    rivals = sorted(
        topic
        for topic, of in carried.items()
        if of & carried[states[0]] and _last_part(topic) in OUTPUTS and topic not in kept
    )
    if rivals:
        notes.append(f"{states[0]} is used; outputs of our nodes are ignored: {', '.join(rivals)}")
    return [batch for batch in samples if batch.topic not in rivals]


def _chosen(
    recording: Recording,
    joints: Joints,
    samples: Sequence[JointSamples],
    motor_topic: str,
    notes: list[str],
) -> tuple[Source, ...]:
    """The sources of positions and efforts; motor efforts may have a separate topic."""
    if recording.effort == "motor":
        own = _motor_topics(recording, samples, motor_topic)
        motors = [batch for batch in samples if batch.topic in own]
        links = [batch for batch in samples if batch.topic not in own]
        if motor_topic or (motors and any(joints.names.intersection(b.names) for b in links)):
            return _paired(joints, links, motors, notes)
        if joints.motors is not None:
            raise InputError(
                f"{recording.path}: positions and efforts of the motors "
                f"{', '.join(joints.motors.names)} are needed beside the positions of the links: "
                "on a topic of their own, motor_states or --motor-topic, or as `theta MOTOR` and "
                "`tau MOTOR` in a table"
            )
    sources = _carrying(joints, samples, joints.places)
    for topic in sorted({source.topic for source in sources if _is_motors(source.topic)}):
        if recording.effort == "motor":
            raise InputError(
                f"{recording.path}: {topic} has the positions of the motors; --effort motor also "
                "needs the positions of the links, on a second topic, or in the same messages or "
                "table as the motor torques"
            )
        notes.append(f"{topic}: used as positions and torques of the joints, not of the motors")
    return sources


def _paired(
    joints: Joints, links: Sequence[JointSamples], motors: Sequence[JointSamples], notes: list[str]
) -> tuple[Source, ...]:
    """Sources of link motion and of motor efforts, on one clock."""
    motion = _carrying(joints, links, joints.places)
    efforts = _carrying(joints, motors, joints.motor_places or joints.places)
    rows = MOTOR if joints.motors else EFFORT
    found = on_one_clock(
        [source._replace(rows=MOTION) for source in motion]
        + [source._replace(rows=rows) for source in efforts]
    )
    clock = "stamps" if found[0].stamped else "times of receipt"
    notes.append(
        f"positions of {', '.join(sorted({source.topic for source in motion}))} and efforts of "
        f"{', '.join(sorted({source.topic for source in efforts}))}, paired by their {clock}"
    )
    return found


def _carrying(
    joints: Joints, samples: Sequence[JointSamples], places: Mapping[str, int]
) -> tuple[Source, ...]:
    """Exactly one source for each of these joints or motors, which must be recorded."""
    sources = sources_of(joints.path, samples, places)
    names = {place: name for name, place in places.items()}
    if not names:
        raise InputError(f"{joints.path}: all joints of the robot are held, so none is compared")
    require_one_source(joints.path, sources, names)
    there = {place for source in sources for place in source.places.tolist()}
    missing = [name for place, name in names.items() if place not in there]
    if missing:
        raise InputError(_about_missing(joints, missing, samples))
    return sources


def _about_missing(joints: Joints, missing: Sequence[str], samples: Sequence[JointSamples]) -> str:
    there = sorted({name for batch in samples for name in batch.names})
    on = ", ".join(dict.fromkeys(batch.topic for batch in samples)) or "any other topic"
    text = (
        f"{joints.path}: joints or motors of the robot are missing on {on}: {', '.join(missing)}; "
        f"recorded: {', '.join(there[:20]) or 'none'}{' ...' if len(there) > 20 else ''}"
    )
    names = joints.model.joint_names
    others = [name[: -len(names[0])] for name in there if name.endswith(names[0])]
    fitting = [other for other in others if all(other + name in there for name in names)]
    if fitting:
        return f"{text}; all joints match with {' or '.join(f'--prefix {x!r}' for x in fitting)}"
    motors = [name for name in there if name.startswith(tuple(f"{joint}_" for joint in missing))]
    if motors:
        return (
            f"{text}; {', '.join(motors)} are motors of a joint that has several: its own position"
            " is needed as well, and for --effort motor their description by --elastic-joints"
        )
    if len(missing) < len(names):
        first = missing[0].removeprefix(joints.prefix)
        return f"{text}; hold a joint that did not move with --hold {first}=VALUE"
    return text


def _check_signals(
    joints: Joints, sources: Sequence[Source], samples: Sequence[JointSamples], notes: list[str]
) -> None:
    """Raise InputError for positions or efforts not recorded; note efforts that are all zero."""
    names = joints.columns
    zero: list[str] = []
    count = 0
    for source in sources:
        for row, what in ((0, "position"), (2, "effort")):
            if row not in source.used:
                continue
            rows = np.concatenate([source.signal(b, row) for b in samples if source.carries(b)])
            absent = [names[k] for k in source.places[~np.isfinite(rows).any(axis=0)]]
            if absent:
                raise InputError(
                    f"{joints.path}: {source.topic}: no {what} was recorded for "
                    f"{', '.join(absent)}, so there is nothing to compare with"
                )
            if what == "effort":
                zero += [names[k] for k in source.places[~np.nan_to_num(rows).any(axis=0)]]
                count += rows.shape[1]
                if 0 in source.used:
                    q = np.concatenate([source.signal(b, 0) for b in samples if source.carries(b)])
                    for k, place in enumerate(source.places):
                        if doubt := clipped(rows[:, k], q[:, k]):
                            notes.append(f"{names[place]}: its {doubt}")
                continue
            ends = zip(np.nanmin(rows, axis=0), np.nanmax(rows, axis=0), strict=True)
            for place, (low, high) in zip(source.places.tolist(), ends, strict=True):
                if place >= joints.model.n:  # a motor, which has no limits of its own
                    continue
                if doubt := positions_beyond_limits(joints.model, place, low, high):
                    notes.append(f"{names[place]}: its {doubt}")
    if len(zero) == count:
        raise InputError(f"{joints.path}: all efforts are zero; no effort was measured")
    if zero:
        notes.append(f"the efforts of {', '.join(zero)} are all zero: were they measured?")


def _contradicting(
    joints: Joints,
    sources: Sequence[Source],
    looks: Sequence[Sequence[JointSamples]],
    notes: list[str],
) -> tuple[int, ...]:
    """The joints whose velocities contradict their positions, with a note on each."""
    found: dict[int, str] = {}
    turning = joints.turning
    for source in sources:
        if 1 not in source.used:
            continue
        stretches = []
        for batches in looks:
            own = [batch for batch in batches if source.carries(batch)]
            if not own:
                continue
            at = np.concatenate([source.times(b) for b in own])
            q, qd = (np.concatenate([source.signal(b, k) for b in own]) for k in (0, 1))
            for order in _between_resets(at):
                positions = unwrapped(q[order], turning[source.places])
                stretches.append(Stretch((at[order] - at[order[0]]) / 1e9, positions, qd[order]))
        wrong = contradicting_velocities(stretches)
        found |= {int(source.places[j]): text for j, text in wrong.items()}
    notes += [
        f"{joints.model.joint_names[j]}: its velocities {text}; its positions are differentiated"
        " instead"
        for j, text in sorted(found.items())
    ]
    return tuple(sorted(found))


def _has_velocity(sources: Sequence[Source], samples: Sequence[JointSamples]) -> bool:
    """Whether nearly all messages have velocities of all joints."""
    whole = [
        np.isfinite(source.signal(batch, 1)).all(axis=1)
        for source in sources
        for batch in samples
        if 1 in source.used and source.carries(batch)
    ]
    return bool(np.concatenate(whole).mean() >= 0.9)


def _period(recording: Recording, source: Source, looks: Sequence[Sequence[JointSamples]]) -> float:
    """Sampling period of a source, ns."""
    stamps = [[source.times(b) for b in look if source.carries(b)] for look in looks]
    ats = [np.concatenate(each) for each in stamps if each]
    steps = [np.diff(at[order]) for at in ats for order in _between_resets(at)]
    every = np.concatenate(steps) if steps else np.zeros(0)
    if len(every) < SHORTEST:
        seen = recording.overview
        apart = 1e-9 * (seen.end - seen.begin) / max(seen.topics.get(source.topic, 0) - 1, 1)
        cause = f"; they are {apart:.3g} s apart: are the times in seconds?" if apart > 1.0 else ""
        raise InputError(
            f"{recording.path}: {source.topic}: {len(every) + bool(steps)} samples; a comparison "
            f"needs more than {SHORTEST}{cause}"
        )
    return usual_step(every)


def _between_resets(at: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Indices that sort times (k,), in ns, without duplicates, from one reset of the clock to the
    next."""
    parts = np.split(np.arange(len(at)), np.flatnonzero(np.diff(at) < -WINDOW) + 1)
    return [part[np.unique(at[part], return_index=True)[1]] for part in parts]


def _origin(sources: Sequence[Source], samples: Sequence[JointSamples]) -> int:
    """The first stamp of all sources, ns."""
    pairs = ((source, batch) for source in sources for batch in samples if source.carries(batch))
    return min(int(source.times(batch).min()) for source, batch in pairs)


def usual_step(steps: np.ndarray) -> float:
    """The mean of the steps near the median, in whole ns; more accurate than the median if the
    clock is coarse."""
    middle = float(np.median(steps))
    return float(steps[np.abs(steps - middle) <= 0.5 * middle].mean().round())


def _cutoff(
    looks: Sequence[Sequence[JointSamples]], sources: Sequence[Source], grid: Grid
) -> float:
    """The frequency in Hz above which the motion of the fastest joint is lost in noise: the median
    over the stretches."""
    rate = 1e9 / grid.period
    recorded = np.concatenate([source.places for source in sources if source.rows != MOTOR])
    found = []
    for look in looks:
        qualities = [Quality(source.topic, ()) for source in sources]
        # Errors are reported by the pass over the whole recording.
        pieces = list(aligned(iter(look), sources, qualities, grid, lambda error: None))
        if not pieces:
            continue
        keys = np.concatenate([keys for keys, _ in pieces])
        rows = np.concatenate([rows for _, rows in pieces])
        longest = max(runs_of(keys), key=lambda run: run.stop - run.start)
        signal = rows[longest][:, 1 if grid.velocity else 0][:, recorded]
        if len(signal) >= SHORTEST:
            each = float(noise_cutoff(signal, rate).max())
            if each > 0.0:
                found.append(max(each, 4.0 * rate / len(signal)))
    highest = min(FASTEST, HIGHEST * rate)
    return min(float(np.median(found)), highest) if found else highest
