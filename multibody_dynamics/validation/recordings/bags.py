# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rosbag2 recordings without ROS: sqlite3 and MCAP, split and compressed, read as a stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import finalize

import numpy as np
import yaml
from numpy.typing import NDArray

from ...dynamics.core import Array, InputError
from .bag_library import Reader
from .joint_state_layout import JointStateReader, Packed
from .mcap_chunks import Chunk, Messages, chunks_of

JOINT_STATE = "sensor_msgs/msg/JointState"
BATCH = 8192  # messages; 8 s of a topic at 1 kHz, about 3 MB
FOREVER = 2**63 - 1  # ns
LISTED = 5  # problems that are listed individually

Batch = dict[str, list[Messages]]  # by topic
Fill = Callable[[Batch], int]  # adds messages to a batch; returns how many, 0 at the end


@dataclass(frozen=True)
class JointSamples:
    """k messages of one topic with the same n joints.

    received : (k,) times of receipt by the recorder, ns. stamp : (k,) stamps of the headers, ns.
    rows : (k, 3, n) position, velocity, effort; NaN if absent.
    """

    topic: str
    names: tuple[str, ...]
    received: NDArray[np.int64]
    stamp: NDArray[np.int64]
    rows: Array


@dataclass(frozen=True)
class Overview:
    """The contents of a recording.

    topics : numbers of messages on the topics with joint states. begin, end : times of receipt of
    the first and last message of any topic, ns. others : types of the other topics.
    """

    topics: dict[str, int]
    begin: int
    end: int
    others: dict[str, str] = field(default_factory=dict)

    def require(self, path: Path, topics: Sequence[str] = ()) -> None:
        """Raise InputError if there are no joint states at all, or none on one of these topics."""
        if not self.topics:
            there = ", ".join(f"{name} ({kind})" for name, kind in self.others.items())
            raise InputError(
                f"{path}: no topic of type {JOINT_STATE}; its topics are {there or 'none'}"
            )
        for name in topics:
            if name not in self.topics:
                raise InputError(
                    f"{path}: no joint states on {name}; topics with joint states: "
                    f"{', '.join(self.topics)}"
                )


class Bag:
    """An open recording. Raises InputError if it cannot be opened.

    Opening may take as long as reading: sqlite3 counts all messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._reader = Reader(path)
            self._reader.open()
            finalize(self, self._reader.close)
            self._chunks = self._indexed()
        except InputError:
            raise
        except Exception as error:  # sqlite, MCAP, YAML and zstd each raise their own errors
            raise InputError(f"{path}: not a readable recording: {_advised(error)}") from None

    def _indexed(self) -> list[Chunk] | None:
        """The chunks of all files if they are MCAP files that `mcap_chunks` can read, else None."""
        files = [self.path]
        if self.path.is_dir():
            content = yaml.safe_load((self.path / "metadata.yaml").read_text(encoding="utf-8"))
            names = content["rosbag2_bagfile_information"]["relative_file_paths"]
            files = [self.path / Path(name).name for name in names]
        if self._reader.compression_mode or any(file.suffix != ".mcap" for file in files):
            return None
        found = [chunks_of(file) for file in files]
        return None if None in found else [chunk for chunks in found for chunk in chunks or ()]

    @cached_property
    def overview(self) -> Overview:
        """From the index or the metadata, without reading messages."""
        reader = self._reader
        try:
            there = sorted(reader.topics.items())
            topics = {name: topic.msgcount for name, topic in there if topic.msgtype == JOINT_STATE}
            others = {name: str(topic.msgtype) for name, topic in there if name not in topics}
            begin = reader.start_time
            return Overview(topics, begin, max(reader.end_time - 1, begin), others)
        except Exception as error:  # values of other types in the metadata
            raise InputError(f"{self.path}: not a readable recording: {error}") from None

    def read(
        self,
        topics: Sequence[str] | None = None,
        *,
        start: int | None = None,
        stop: int | None = None,
        batch: int = BATCH,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Iterator[JointSamples]:
        """All joint states in the order of recording, in batches.

        topics : default: all with joint states. start, stop : times of receipt, ns, start included.
        progress : called with the numbers of messages done and in total.

        Raises an InputError that names the recording: immediately for unknown topics, and at the
        end if the recording could not be read completely or has messages that are not JointStates;
        by then, everything readable has been yielded.
        """
        self.overview.require(self.path, topics or ())
        wanted = tuple(self.overview.topics if topics is None else topics)
        total = sum(self.overview.topics[name] for name in wanted)
        readers = {name: JointStateReader() for name in wanted}
        problems: list[str] = []
        if self._chunks is None:
            connections = [each for each in self._reader.connections if each.topic in wanted]
            fill = _one_by_one(self._reader.messages(connections, start, stop), batch)
        else:
            span = start or 0, FOREVER if stop is None else stop
            fill = _by_chunks(self._chunks, wanted, *span, problems)
        done = 0
        for messages in _batched(fill, batch, problems):
            for name, parts in sorted(messages.items()):
                received = np.concatenate([at for at, _ in parts])
                packed = [each for _, each in parts]
                for names, which, (stamp, rows) in readers[name].read_packed(packed):
                    yield JointSamples(name, names, received[which], stamp, rows)
                done += len(received)
            progress(done, total)
        problems += [
            f"{name}: {each.refused} messages were skipped: {each.reason}"
            for name, each in readers.items()
            if each.refused
        ]
        if problems:
            more = [f"and {len(problems) - LISTED} more"] if len(problems) > LISTED else []
            raise InputError(f"{self.path}: {'; '.join(problems[:LISTED] + more)}")


def overview(path: Path) -> Overview:
    """The overview of a recording; see :class:`Bag` for errors."""
    return Bag(path).overview


def read_joint_states(
    path: Path, topics: Sequence[str] | None = None, **options: Any
) -> Iterator[JointSamples]:
    """The joint states of a recording; see :meth:`Bag.read`."""
    return Bag(path).read(topics, **options)


def _advised(error: Exception) -> str:
    """The text of an error, with advice for truncated recordings."""
    text = str(error) or type(error).__name__
    if "metadata" in text and "not exist" in text:
        return f"{text} (`ros2 bag reindex` restores it)"
    if "end magic" in text or "footer" in text:
        return f"{text} The file is truncated (`mcap recover` saves the rest)"
    if "malformed" in text:
        return f"{text} (`sqlite3 OLD.db3 .recover | sqlite3 NEW.db3` saves the rest)"
    if "storage format" in text:
        return f"{text}: expected the folder of a bag, or a .mcap, .db3, .csv or .npz file"
    return text


def _one_by_one(messages: Iterator[Any], size: int) -> Fill:
    def fill(batch: Batch) -> int:
        # The garbage collector tracks tuples, but not numbers and bytes: two lists cost less.
        found: dict[str, tuple[list[int], list[bytes]]] = defaultdict(lambda: ([], []))
        try:
            for connection, at, raw in islice(messages, size):
                received, contents = found[connection.topic]
                received.append(at)
                contents.append(raw)
        finally:
            for topic, (received, contents) in found.items():
                batch[topic].append((np.array(received, dtype=np.int64), Packed.of(contents)))
        return sum(len(received) for received, _ in found.values())

    return fill


def _by_chunks(
    chunks: Sequence[Chunk], topics: Sequence[str], start: int, stop: int, problems: list[str]
) -> Fill:
    """Reads chunk by chunk; a damaged chunk only adds a problem."""
    left = (each for each in chunks if each.first < stop and each.last >= start)

    def fill(batch: Batch) -> int:
        count = 0
        while not count and (chunk := next(left, None)):
            try:
                found = chunk.read(topics, start, stop)
            except InputError as error:
                problems.append(f"{error}; its messages are missing")
                continue
            for topic, messages in found.items():
                batch[topic].append(messages)
                count += len(messages[0])
        return count

    return fill


def _batched(fill: Fill, size: int, problems: list[str]) -> Iterator[Batch]:
    """Batches of at least `size` messages, up to the end or an error, which adds a problem."""
    more = 1
    while more:
        batch: Batch = defaultdict(list)
        count = 0
        try:
            while count < size and (more := fill(batch)):
                count += more
        except Exception as error:  # sqlite, MCAP and zstd each raise their own errors
            problems.append(f"cannot be read completely: {_advised(error)}")
            more = 0
        if batch:
            yield batch
