"""Rosbag2 recordings, without ROS: sqlite3 and MCAP, split and compressed, read as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.rosbag2 import Reader

from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from .joint_state_layout import JointStateReader

JOINT_STATE = "sensor_msgs/msg/JointState"
BATCH = 8192  # messages; 8 s of a topic at 1 kHz, some 3 MB


@dataclass(frozen=True)
class JointSamples:
    """What some messages of one topic say: k messages of n joints.

    received : (k,) ns, when the recorder got them. stamp : (k,) ns, of the headers.
    rows : (k, 3, n) position, velocity, effort; NaN where there is none.
    """

    topic: str
    names: tuple[str, ...]
    received: NDArray[np.int64]
    stamp: NDArray[np.int64]
    rows: Array


@dataclass(frozen=True)
class Overview:
    """The topics with joint states and their numbers of messages; when the first and the last
    message of all topics were received, ns."""

    topics: dict[str, int]
    begin: int
    end: int


def overview(path: Path) -> Overview:
    """What a recording says of itself, without reading it. Raises InputError if it cannot."""
    with _opened(path) as reader:
        topics = {
            name: topic.msgcount
            for name, topic in sorted(reader.topics.items())
            if topic.msgtype == JOINT_STATE
        }
        return Overview(topics, reader.start_time, max(reader.end_time - 1, reader.start_time))


def read_joint_states(
    path: Path,
    topics: Sequence[str] | None = None,
    *,
    start: int | None = None,
    stop: int | None = None,
    batch: int = BATCH,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[JointSamples]:
    """All joint states of a recording in the order in which they were recorded, batch by batch.

    topics: all with joint states if not given. start, stop: only what was received from start
    until just before stop, ns. progress: is told of messages done and in total.
    Raises InputError that names the recording for one that cannot be read (to its end), topics that
    it has not, and messages that are no JointState; all that can be read has been handed out by
    then.
    """
    there = overview(path).topics
    for name in topics or ():
        if name not in there:
            known = ", ".join(there) or "none"
            raise InputError(f"{path}: no joint states on {name}; topics with them: {known}")
    wanted = tuple(there if topics is None else topics)
    if not wanted:
        raise InputError(f"{path}: no topic of type {JOINT_STATE}")
    total = sum(there[name] for name in wanted)
    readers = {name: JointStateReader() for name in wanted}
    done = 0
    with _opened(path) as reader:
        connections = [each for each in reader.connections if each.topic in wanted]
        for messages in _batched(path, reader.messages(connections, start, stop), batch):
            for name in wanted:
                ours = [(at, raw) for connection, at, raw in messages if connection.topic == name]
                if ours:
                    yield from _samples(name, readers[name], ours)
            done += len(messages)
            progress(done, total)
    for name, each in readers.items():
        if each.refused:
            raise InputError(
                f"{path}: {name}: {each.refused} messages were left out: {each.reason}"
            )


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        reader = Reader(path)
        reader.open()
    except Exception as error:  # of sqlite, MCAP, YAML and zstd, each its own
        raise InputError(f"{path}: not a recording that can be read: {_advised(error)}") from None
    try:
        yield reader
    finally:
        reader.close()


def _advised(error: Exception) -> str:
    """What went wrong, and what helps where a recorder was killed."""
    text = str(error) or type(error).__name__
    if "metadata" in text and "not exist" in text:
        return f"{text} (`ros2 bag reindex` writes it)"
    if "end magic" in text or "footer" in text:
        return f"{text} It was cut off (`mcap recover` saves what is there)"
    return text


def _batched(path: Path, messages: Iterator[Any], size: int) -> Iterator[list[Any]]:
    batch: list[Any] = []
    while True:
        try:
            for message in messages:
                batch.append(message)
                if len(batch) == size:
                    break
            else:
                if batch:
                    yield batch
                return
        except Exception as error:  # of sqlite, MCAP and zstd, each its own
            if batch:
                yield batch
            raise InputError(f"{path}: cannot be read to its end: {_advised(error)}") from None
        yield batch
        batch = []


def _samples(
    topic: str, reader: JointStateReader, messages: list[tuple[int, bytes]]
) -> Iterator[JointSamples]:
    received = np.array([at for at, _ in messages], dtype=np.int64)
    for names, which, samples in reader.read([raw for _, raw in messages]):
        yield JointSamples(topic, names, received[which], samples.stamp, samples.rows)
