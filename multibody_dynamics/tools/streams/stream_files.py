# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded streams of targets, in files and generated.

.csv      a row per point: `t` at which it is due and `arrival` of its message, in s; `q JOINT`
          and, if it was sent, `qd JOINT`, in rad (m), for every joint. Rows with one arrival are
          one message. Without `arrival`, every point is a message that arrives when it is due
.parquet  an episode of LeRobot: `timestamp` in s and `action`, a row of joint positions whose names
          are in meta/info.json of the data set, or one value for each joint in the column
          `action.JOINT`. Of several episodes in `episode_index`, one is chosen; requires pyarrow
bag       a rosbag2 folder, .mcap or .db3 file with JointState or JointTrajectory messages on one of
          TOPICS, or a topic that is chosen; messages arrive when they were recorded
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.core import Array, InputError, file_reader, reading
from ...validation.recordings import JOINT_STATE, Bag, read_columns, write_columns
from ...validation.recordings.bag_library import message_types

TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
SLOWEST, FEW = 5.0, 30  # s, median time between targets; of fewer ones, it may be longer
LONGEST_REACH = 600.0  # s between the arrival of a target and when it is due
TOPICS = ("joint_targets", "joint_trajectory")  # as in the parameter stream_topics of nodes


class StreamMessage(NamedTuple):
    """Points (k, n) that arrived together, in s; velocities: None if not sent."""

    arrival: float
    times: Array
    positions: Array
    velocities: Array | None


@dataclass(frozen=True, eq=False)
class RecordedStream:
    """Messages in the order of their arrival."""

    joint_names: tuple[str, ...]
    messages: tuple[StreamMessage, ...]

    def __post_init__(self) -> None:
        if not self.messages:
            raise InputError("a stream without messages")
        for before, after in zip(self.messages, self.messages[1:], strict=False):
            if after.arrival < before.arrival:
                raise InputError(f"messages are not in the order of arrival at {after.arrival:g} s")
        for each in self.messages:
            if np.abs(each.times - each.arrival).max() > LONGEST_REACH:
                raise InputError(
                    f"a target due at {each.times[-1]:.6g} s arrives at {each.arrival:.6g} s: are"
                    " both in seconds, of the same clock?"
                )
        due = np.concatenate([each.times for each in self.messages])
        typical = float(np.median(np.abs(np.diff(due)))) if len(due) > 1 else 0.0
        if typical > SLOWEST * max(1.0, FEW / len(due)):  # pauses do not matter
            raise InputError(
                f"{len(due)} targets, typically {typical:.4g} s apart: expected one every"
                f" {SLOWEST:g} s or more often, except in pauses; are the times in seconds?"
            )

    def ordered(self, joint_names: Sequence[str]) -> RecordedStream:
        """The same stream with its joints in this order. Raises InputError that names joints which
        are missing; others are dropped."""
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise InputError(
                f"missing joint {', '.join(missing)}; the stream has {', '.join(self.joint_names)}"
            )
        order = [self.joint_names.index(name) for name in joint_names]
        rows = (
            each._replace(
                positions=each.positions[:, order],
                velocities=None if each.velocities is None else each.velocities[:, order],
            )
            for each in self.messages
        )
        return RecordedStream(tuple(joint_names), tuple(rows))

    def with_pauses(self, longest: float) -> RecordedStream:
        """The same stream, in which no more than `longest` s pass without a message or a target
        that is still due."""
        rows, end, cut = [], np.inf, 0.0
        for each in self.messages:
            cut += max(each.arrival - end - longest, 0.0)
            end = max(each.arrival, each.times[-1])
            rows.append(each._replace(arrival=each.arrival - cut, times=each.times - cut))
        return RecordedStream(self.joint_names, tuple(rows))


@file_reader
def read_stream(
    path: Path, topic: str = "", *, episode: int | None = None, joints: Sequence[str] = ()
) -> RecordedStream:
    """Read a file in one of the formats of the module's docstring.

    topic : of a bag, if it is not the only one of TOPICS. episode : of a .parquet file with
    several. joints : names for the columns of its actions. Raises InputError that names the file
    and what is wrong with it.
    """
    if path.is_dir() or path.suffix in (".mcap", ".db3"):
        return _of_bag(Bag(path), topic)
    if path.suffix == ".csv":
        return _of_columns(read_columns(path))
    if path.suffix == ".parquet":
        return _of_columns(_parquet_columns(path, episode, joints))
    raise InputError(f"{path}: must end in .csv or .parquet, or be a bag (.mcap, .db3 or a folder)")


def write_stream(stream: RecordedStream, path: Path) -> None:
    """Write a .csv file."""
    rows = [
        (each.arrival, t, *q) for each in stream.messages
        for t, q in zip(each.times.tolist(), each.positions.tolist(), strict=True)
    ]  # fmt: skip
    heads = ("arrival", "t", *(f"q {name}" for name in stream.joint_names))
    write_columns(path, dict(zip(heads, np.array(rows).T, strict=True)))


def _of_columns(columns: dict[str, Array]) -> RecordedStream:
    names = tuple(name[2:] for name in columns if name.startswith("q "))
    if "t" not in columns or not names:
        raise InputError(
            "expected the columns t and 'q JOINT' for every joint, and possibly arrival and"
            f" 'qd JOINT'; found {', '.join(columns)}"
        )
    time = columns["t"]
    arrival = columns.get("arrival", time)
    q = np.column_stack([columns[f"q {name}"] for name in names])
    has_rates = all(f"qd {name}" in columns for name in names)
    rates = np.column_stack([columns[f"qd {name}"] for name in names]) if has_rates else None
    for name, rows in (("t", time), ("arrival", arrival), ("positions", q)):
        if not np.isfinite(rows).all():
            raise InputError(
                f"{name}: row {int(np.argwhere(~np.isfinite(rows))[0][0])} is not finite"
            )
    ends = np.flatnonzero(np.diff(arrival)) + 1
    parts = np.split(np.arange(len(time)), ends)
    messages = [
        StreamMessage(
            float(arrival[k[0]]), time[k], q[k], None if rates is None else rates[k]
        )
        for k in parts
    ]  # fmt: skip
    return RecordedStream(names, tuple(messages))


def _of_bag(bag: Bag, topic: str) -> RecordedStream:
    kinds = dict.fromkeys(bag.overview.topics, JOINT_STATE) | bag.overview.others
    kinds = {name: kind for name, kind in kinds.items() if kind in (JOINT_STATE, TRAJECTORY)}
    chosen = [topic] if topic else [name for name in kinds if name.split("/")[-1] in TOPICS]
    if len(chosen) != 1 or chosen[0] not in kinds:
        raise InputError(
            f"expected one topic of targets, named {' or '.join(TOPICS)}, or --topic with one of"
            f" {', '.join(kinds) or 'none'}"
        )
    kind, store, messages = kinds[chosen[0]], message_types(), []
    names: tuple[str, ...] = ()
    for at, raw in bag.messages(chosen[0]):
        read: Any
        with reading(bag.path, "a message"):
            read = store.deserialize_cdr(raw, kind)
        is_state = kind == JOINT_STATE
        points, own = ([read], read.name) if is_state else (read.points, read.joint_names)
        names = names or tuple(own)
        if sorted(own) != sorted(names):
            raise InputError(f"{chosen[0]}: joints {', '.join(own)} after {', '.join(names)}")
        order = [own.index(name) for name in names]
        tables = [_table_of(points, each, order) for each in ("position", "velocity")]
        if tables[0] is None:
            continue  # a trajectory without points is a stop
        stamp = read.header.stamp.sec * 10**9 + read.header.stamp.nanosec or at
        since = [0]
        if kind == TRAJECTORY:
            offsets = (each.time_from_start for each in points)
            since = [each.sec * 10**9 + each.nanosec for each in offsets]
        due = 1e-9 * (np.array(since) + (stamp - bag.overview.begin))
        arrival = 1e-9 * (at - bag.overview.begin)
        messages.append(StreamMessage(arrival, due, tables[0], tables[1]))
    return RecordedStream(names, tuple(messages))


def _table_of(points: Sequence[Any], field: str, order: Sequence[int]) -> Array | None:
    """Positions or velocities (k, n) of points or of one JointState; None if not sent."""
    rows = [getattr(each, field, getattr(each, f"{field}s", ())) for each in points]
    if not rows or any(len(row) == 0 for row in rows):
        return None
    if any(len(row) != len(order) for row in rows):
        raise InputError(f"{field}: expected {len(order)} values, one per joint")
    table = np.array(rows, dtype=np.float64)[:, order]
    if not np.isfinite(table).all():
        raise InputError(f"{field} of a message is not finite")
    return table


def _parquet_columns(path: Path, episode: int | None, joints: Sequence[str]) -> dict[str, Array]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise InputError(f"{path}: reading parquet requires pyarrow, the extra 'parquet'") from None
    table = parquet.read_table(path).to_pydict()
    if "timestamp" not in table:
        raise InputError(f"{path}: no column timestamp; found {', '.join(table)}")
    if "action" in table:
        rows = np.array(table["action"], dtype=np.float64).reshape(len(table["action"]), -1)
        names = joints or _action_names(path) or [f"joint{j + 1}" for j in range(rows.shape[1])]
    else:
        actions = {name: values for name, values in table.items() if name.startswith("action.")}
        rows = np.array(list(actions.values()), dtype=np.float64).T
        names = joints or [name.removeprefix("action.") for name in actions]
    if len(names) != rows.shape[-1]:
        raise InputError(f"{rows.shape[-1]} actions, but {len(names)} names: {', '.join(names)}")
    time = np.array(table["timestamp"], dtype=np.float64)
    numbers = np.array(table.get("episode_index", np.zeros(len(time))), dtype=np.int64)
    known = np.unique(numbers).tolist()
    if episode is None and len(known) == 1:
        episode = known[0]
    if episode not in known:
        raise InputError(f"episodes {known[0]} to {known[-1]}: choose one of them (--episode)")
    chosen = numbers == episode
    columns = {f"q {name.removesuffix('.pos')}": rows[chosen, j] for j, name in enumerate(names)}
    return {"t": time[chosen]} | columns


def _action_names(path: Path) -> list[str]:
    """The names of the actions of the data set to which a file belongs; empty if unknown."""
    for folder in path.resolve().parents[:4]:  # DATA_SET/data/chunk-000/file-000.parquet
        if (info := folder / "meta" / "info.json").is_file():
            names = json.loads(info.read_text())["features"]["action"]["names"]
            return list(names["motors"] if isinstance(names, dict) else names or ())
    return []


def policy_stream(
    joint_names: Sequence[str],
    start: Array,
    *,
    rate: float = 15.0,
    chunk: int = 16,
    executed: int = 8,
    duration: float = 20.0,
    jitter: float = 0.5,
    lost: float = 0.05,
    anchor: float = 0.05,
    reach: float = 0.4,
    seed: int = 0,
) -> RecordedStream:
    """A stream like that of a policy with action chunks: every `executed` points at `rate` (Hz), a
    chunk of `chunk` positions arrives, up to `jitter` intervals of the points late, and is anchored
    up to `anchor` (rad) beside the one before; a share `lost` of the chunks never arrives."""
    rng = np.random.default_rng(seed)
    n, interval = len(start), 1.0 / rate
    size = reach * rng.uniform(0.3, 1.0, (3, n))
    pace = rng.uniform(0.1, 0.45, (3, n))  # Hz
    phase = rng.uniform(0.0, 2.0 * np.pi, (3, n))

    def wave(t: Array) -> Array:
        return np.asarray(
            (size * np.sin(2.0 * np.pi * pace * t[:, None, None] + phase)).mean(axis=1)
        )

    messages = []
    for k, due in enumerate(np.arange(0.0, duration, executed * interval).tolist()):
        late, is_lost, beside = rng.random(), rng.random() < lost, rng.uniform(-1.0, 1.0, n)
        if is_lost and k:
            continue
        times = due + interval * np.arange(1.0, chunk + 1.0)
        rise = np.minimum(times / 2.0, 1.0)[:, None]
        points = start + rise * (wave(times) - wave(np.zeros(1)))
        points += anchor * beside * (k > 0)
        messages.append(StreamMessage(due + late * jitter * interval, times, points, None))
    return RecordedStream(tuple(joint_names), tuple(messages))


def pilot_stream(
    joint_names: Sequence[str],
    start: Array,
    *,
    rate: float = 50.0,
    duration: float = 20.0,
    jitter: float = 0.25,
    lost: float = 0.05,
    speed: float = 0.6,
    seed: int = 0,
) -> RecordedStream:
    """A stream like that of a joystick: one target per message, as far as velocities of a few
    joints, which are pushed and released at random, have led; arrivals vary by `jitter` intervals,
    and a share `lost` of them is missing."""
    rng = np.random.default_rng(seed)
    n, interval = len(start), 1.0 / rate
    q, pushed, velocity = start.copy(), np.zeros(n), np.zeros(n)
    messages, change = [], 0.5
    for k in range(int(duration * rate)):
        due = k * interval
        if due >= change:
            pushed[:] = 0.0
            if rng.random() < 0.7 and due < duration - 2.0:
                some = rng.choice(n, 2, replace=False)
                pushed[some] = speed * rng.uniform(-1.0, 1.0, 2)
                pushed[np.abs(q - start) > 0.5] *= 0.0
            change = due + rng.uniform(0.3, 1.2)
        velocity += (pushed - velocity) * min(interval / 0.1, 1.0)  # the pilot's hand
        q = q + velocity * interval
        if rng.random() >= lost or not k:
            arrival = max(due + jitter * interval * rng.uniform(-1.0, 1.0), 0.0)
            messages.append(StreamMessage(arrival, np.array([due]), q[None], None))
    return RecordedStream(tuple(joint_names), tuple(sorted(messages, key=lambda m: m.arrival)))
