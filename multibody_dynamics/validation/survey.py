"""A first look at a recording: which messages carry the joints, how often, how noisy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.differentiation import HIGHEST, noise_cutoff
from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from ..dynamics.model import MultibodyModel
from .alignment import EFFORT, EVERYTHING, MOTION, Quality, Source, aligned, runs_of
from .bags import JointSamples
from .recordings import Recording

LOOKS = 8  # at as many places of a long recording
LOOK = 8_000_000_000  # ns
FASTEST = 25.0  # Hz; no arm follows faster motions, whatever its encoders tell
SHORTEST = 64  # samples that the noise is judged from
MOTORS = "motor_states"
OUTPUTS = (  # of our nodes, by the names of the same joints
    *("estimated_state", MOTORS, "motor_torque", "motor_torque_stamped", "tracking_error"),
    *("stiffness_command", "torque", "torque_rate", "torque_acceleration"),
    *("predicted_effort", "measured_effort", "residual"),
)


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first look found: sources, origin in ns, period in ns, and the cut-off in Hz.

    `velocity`: whether velocities were recorded. `held` joints of the model come from no source.
    `notes`: what a reader should know of the choice of topics.
    """

    sources: tuple[Source, ...]
    origin: int
    period: float
    cutoff: float
    velocity: bool
    held: tuple[str, ...]
    ignored: tuple[str, ...]
    background: Array
    total: int
    duration: float
    notes: tuple[str, ...] = ()


def survey(
    recording: Recording,
    model: MultibodyModel,
    *,
    topics: Sequence[str] | None = None,
    prefix: str = "",
    held: dict[str, float] | None = None,
    cutoff: float | None = None,
    from_positions: bool = False,
) -> Survey:
    """Raises InputError where the recording lacks what a comparison takes, and says what."""
    seen = recording.overview
    if not seen.topics:
        raise InputError(f"{recording.path}: no topic of type sensor_msgs/msg/JointState")
    if not any(seen.topics.values()):
        raise InputError(f"{recording.path}: no message on {', '.join(seen.topics)}")
    looks = _looks(recording, topics)
    samples = [batch for look in looks for batch in look]
    if not samples:
        raise InputError(f"{recording.path}: no message on {', '.join(topics or seen.topics)}")
    held = held or {}
    notes: list[str] = []
    if topics is None and recording.effort == "joint":
        samples = _without_outputs(samples, {prefix + joint for joint in model.joint_names}, notes)
    sources, ignored = _paired(recording, model, samples, prefix, held, notes)
    _check_motor_states(recording, sources, notes)
    ours = [s for s in samples if any(_carries(source, s) for source in sources)]
    _check_effort(recording, model, sources, ours)
    origin = min(
        int(_stamps(source, batch).min())
        for batch in ours
        for source in sources
        if _carries(source, batch)
    )
    period = max(_period(recording, source, looks) for source in sources)
    velocity = not from_positions and _has_velocity(sources, ours)
    background = np.full((3, model.n), np.nan)
    for joint, value in held.items():
        background[:, model.joint_index(joint)] = value, 0.0, np.nan
    found = cutoff or _cutoff(looks, sources, model, origin, period, velocity, background)
    used = {source.topic for source in sources}
    return Survey(
        sources,
        origin,
        period,
        min(found, HIGHEST * 1e9 / period) if cutoff is None else found,
        velocity,
        tuple(held),
        ignored,
        background,
        sum(seen.topics[topic] for topic in used),
        1e-9 * (seen.end - seen.begin),
        tuple(notes),
    )


def _last_part(topic: str) -> str:
    return topic.rpartition("/")[2]


def _without_outputs(
    samples: list[JointSamples], joints: set[str], notes: list[str]
) -> list[JointSamples]:
    """Without the outputs of our nodes, if one topic joint_states has the joints that they name."""
    carried: dict[str, set[str]] = {}
    for batch in samples:
        carried.setdefault(batch.topic, set()).update(joints.intersection(batch.names))
    states = [name for name, of in carried.items() if of and _last_part(name) == "joint_states"]
    if len(states) != 1:
        return samples
    rivals = sorted(
        topic
        for topic, of in carried.items()
        if of & carried[states[0]] and _last_part(topic) in OUTPUTS
    )
    if rivals:
        notes.append(f"{states[0]} taken; outputs of nodes left aside: {', '.join(rivals)}")
    return [batch for batch in samples if batch.topic not in rivals]


def _paired(
    recording: Recording,
    model: MultibodyModel,
    samples: Sequence[JointSamples],
    prefix: str,
    held: dict[str, float],
    notes: list[str],
) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """The sources; of efforts of motors that have a topic of their own, beside those of motion."""
    motors = [batch for batch in samples if _last_part(batch.topic) == MOTORS]
    links = [batch for batch in samples if _last_part(batch.topic) != MOTORS]
    joints = {prefix + joint for joint in model.joint_names}
    if recording.effort != "motor" or not motors or joints.isdisjoint(_names(links)):
        return _sources(recording, model, samples, prefix, held)
    motion, ignored = _sources(recording, model, links, prefix, held)
    efforts, _ = _sources(recording, model, motors, prefix, held)
    found = [source._replace(rows=MOTION) for source in motion]
    found += [source._replace(rows=EFFORT) for source in efforts]
    clock = "stamps"
    if not all(source.stamped for source in found):
        found = [source._replace(stamped=False) for source in found]
        clock = "times of receipt"
    notes.append(
        f"positions of {', '.join(sorted({source.topic for source in motion}))} and efforts of "
        f"{', '.join(sorted({source.topic for source in efforts}))}, paired by their {clock}"
    )
    return tuple(found), ignored


def _names(samples: Sequence[JointSamples]) -> set[str]:
    return {name for batch in samples for name in batch.names}


def _check_motor_states(recording: Recording, sources: Sequence[Source], notes: list[str]) -> None:
    for topic in sorted({source.topic for source in sources if source.rows == EVERYTHING}):
        if _last_part(topic) != MOTORS:
            continue
        if recording.effort == "motor":
            raise InputError(
                f"{recording.path}: {topic} has the positions of the motors: --effort motor takes "
                "those of the links, on another topic beside it, or in one message or one table "
                "with the torques of the motors"
            )
        notes.append(f"{topic}: taken for positions and torques of the joints, not of motors")


def _looks(recording: Recording, topics: Sequence[str] | None) -> list[list[JointSamples]]:
    """What was recorded in some stretches, all of it if it is short."""
    seen = recording.overview
    span = seen.end - seen.begin
    if span <= LOOKS * LOOK:
        starts, length = [seen.begin], span + 1
    else:
        starts = np.linspace(seen.begin, seen.end - LOOK, LOOKS).astype(np.int64).tolist()
        length = LOOK
    looks: list[list[JointSamples]] = []
    for start in starts:
        look: list[JointSamples] = []
        try:
            for batch in recording.read(topics, start=start, stop=start + length):
                look.append(batch)
        except InputError:
            if not look and not any(looks):
                raise
        looks.append(look)
    return looks


def _stamps(source: Source, batch: JointSamples) -> np.ndarray:
    return batch.stamp if source.stamped else batch.received


def _carries(source: Source, batch: JointSamples) -> bool:
    return batch.topic == source.topic and batch.names in source.columns


def _sources(
    recording: Recording,
    model: MultibodyModel,
    samples: Sequence[JointSamples],
    prefix: str,
    held: dict[str, float],
) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Which messages carry which joints of the model; joints that it does not have."""
    wanted = {prefix + joint: i for i, joint in enumerate(model.joint_names) if joint not in held}
    for joint in held:
        model.joint_index(joint)
    layouts = {(batch.topic, batch.names): None for batch in samples}
    found: dict[tuple[str, tuple[int, ...]], dict[tuple[str, ...], np.ndarray]] = {}
    where: dict[str, set[tuple[str, tuple[int, ...]]]] = {}
    for topic, names in layouts:
        repeated = [name for name in names if name in wanted and names.count(name) > 1]
        if repeated:
            raise InputError(f"{recording.path}: {topic}: a message names '{repeated[0]}' twice")
        places = tuple(sorted(wanted[name] for name in names if name in wanted))
        if not places:
            continue
        column = {wanted[name]: k for k, name in enumerate(names) if name in wanted}
        columns = np.array([column[place] for place in places], dtype=np.intp)
        found.setdefault((topic, places), {})[names] = columns
        for name in names:
            if name in wanted:
                where.setdefault(name, set()).add((topic, places))
    for name, places_of in where.items():
        topics = sorted({topic for topic, _ in places_of})
        if len(topics) > 1:
            raise InputError(
                f"{recording.path}: joint '{name}' is on the topics {', '.join(topics)}: two "
                "robots, one twice, or outputs of these nodes; choose one with --topic"
            )
        if len(places_of) > 1:
            raise InputError(
                f"{recording.path}: {topics[0]}: joint '{name}' comes in messages with different "
                "joints beside it, so from two publishers; one of them must go"
            )
    missing = [name for name in wanted if name not in where]
    if missing:
        raise InputError(_about_missing(recording, model, missing, layouts, prefix))
    everything = {name for _, names in layouts for name in names}
    sources = tuple(
        Source(
            topic,
            columns,
            np.array(places, dtype=np.intp),
            any(b.stamp.any() for b in samples if b.topic == topic and b.names in columns),
        )
        for (topic, places), columns in sorted(found.items(), key=lambda item: item[0])
    )
    return sources, tuple(sorted(everything - set(wanted)))


def _about_missing(
    recording: Recording,
    model: MultibodyModel,
    missing: Sequence[str],
    layouts: dict[tuple[str, tuple[str, ...]], None],
    prefix: str,
) -> str:
    there = sorted({name for _, names in layouts for name in names})
    text = (
        f"{recording.path}: joints of the robot that are not in it: {', '.join(missing)}; "
        f"recorded: {', '.join(there[:20]) or 'none'}{' ...' if len(there) > 20 else ''}"
    )
    first = model.joint_names[0]
    for name in there:
        other = name[: -len(first)] if name.endswith(first) else prefix
        if other != prefix and all(other + joint in there for joint in model.joint_names):
            return f"{text}; they begin with '{other}': --prefix {other}"
    if len(missing) < model.n:
        return f"{text}; a joint that did not move may be held: --hold {missing[0]}=VALUE"
    return text


def _check_effort(
    recording: Recording,
    model: MultibodyModel,
    sources: Sequence[Source],
    samples: Sequence[JointSamples],
) -> None:
    for source in sources:
        for row, what in ((0, "position"), (2, "effort")):
            if row not in range(3)[source.rows]:
                continue
            finite = np.zeros(len(source.places), dtype=bool)
            for batch in samples:
                if _carries(source, batch):
                    finite |= np.isfinite(batch.rows[:, row, source.columns[batch.names]]).any(
                        axis=0
                    )
            if not finite.all():
                names = [model.joint_names[k] for k in source.places[~finite]]
                raise InputError(
                    f"{recording.path}: {source.topic}: no {what} was recorded of "
                    f"{', '.join(names)}: nothing to compare with"
                )


def _has_velocity(sources: Sequence[Source], samples: Sequence[JointSamples]) -> bool:
    """Whether almost all messages have velocities of all joints."""
    have = total = 0
    for source in sources:
        for batch in samples:
            if _carries(source, batch) and source.rows != EFFORT:
                rows = batch.rows[:, 1, source.columns[batch.names]]
                have += int(np.isfinite(rows).all(axis=1).sum())
                total += len(rows)
    return have >= 0.9 * total


def _period(recording: Recording, source: Source, looks: Sequence[Sequence[JointSamples]]) -> float:
    """ns between samples."""
    steps = []
    for look in looks:
        stamps = [_stamps(source, batch) for batch in look if _carries(source, batch)]
        if stamps:
            each = np.diff(np.unique(np.concatenate(stamps)))
            steps.append(each)
    every = np.concatenate(steps) if steps else np.zeros(0)
    if len(every) < SHORTEST:
        raise InputError(
            f"{recording.path}: {source.topic}: {len(every) + bool(steps)} samples; a comparison "
            f"takes more than {SHORTEST}"
        )
    return usual_step(every)


def usual_step(steps: np.ndarray) -> float:
    """The median, or the mean of those near to it where the clock is coarse, in whole ns."""
    middle = float(np.median(steps))
    return float(steps[np.abs(steps - middle) <= 0.5 * middle].mean().round())


def _cutoff(
    looks: Sequence[Sequence[JointSamples]],
    sources: Sequence[Source],
    model: MultibodyModel,
    origin: int,
    period: float,
    velocity: bool,
    background: Array,
) -> float:
    """The median over the looks of where the motion of the fastest joint sinks into its noise."""
    rate = 1e9 / period
    recorded = np.concatenate([source.places for source in sources])
    found = []
    for look in looks:
        qualities = [Quality(source.topic, ()) for source in sources]
        pieces = list(
            aligned(
                iter(look),
                sources,
                qualities,
                origin=origin,
                period=period,
                background=background,
                turning=turning_joints(model),
                velocity=velocity,
                failed=_ignore,
            )
        )
        if not pieces:
            continue
        keys = np.concatenate([keys for keys, _ in pieces])
        rows = np.concatenate([rows for _, rows in pieces])
        longest = max(runs_of(keys), key=lambda run: run.stop - run.start)
        signal = rows[longest][:, 1 if velocity else 0][:, recorded]
        if len(signal) >= SHORTEST:
            each = float(noise_cutoff(signal, rate).max())
            if each > 0.0:
                found.append(max(each, 4.0 * rate / len(signal)))
    highest = min(FASTEST, HIGHEST * rate)
    return min(float(np.median(found)), highest) if found else highest


def _ignore(error: Exception) -> None:
    """The pass over the whole recording will tell."""


def turning_joints(model: MultibodyModel) -> np.ndarray:
    """(n,) which joints may be recorded within one turn."""
    return np.array([kind == "continuous" for kind in model.joint_types])
