# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rosbag2 recordings without ROS: sqlite3 and MCAP, split and compressed, read as a stream."""

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import Array, InputError, NeverCopied
from .bag_library import Reader, decompressed
from .joint_state_layout import JointStateReader, Packed
from .mcap_chunks import Chunk, Messages, chunks_of, in_order

JOINT_STATE = "sensor_msgs/msg/JointState"
BATCH = 8192  # messages; 8 s of a topic at 1 kHz, about 3 MB
FOREVER = 2**63 - 1  # ns
LARGEST = 1e30  # with larger numbers one cannot compute
DAMAGED = (ValueError, TypeError, LookupError, MemoryError, struct.error)
"""Errors that follow from wrong lengths and offsets, whose texts do not say what is wrong."""
LISTED = 5  # problems that are listed individually

Batch = dict[str, list[Messages]]  # by topic
Part = dict[str, Messages]


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


class Bag(NeverCopied):
    """An open recording. Raises InputError if it cannot be opened.

    Opening may take as long as reading: sqlite3 counts all messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            reader = Reader(path)
            reader.open()
            finalize(self, reader.close)
            # By the files themselves: the counts and the order in metadata.yaml may be wrong.
            files = getattr(reader.storage, "storages", [reader.storage])
            self._files = sorted(files, key=lambda file: file.metadata.start_time)
            self._unlisted = _unlisted(path, {file.path.name for file in files})
            self._packed = reader.compression_mode == "message"
            self._groups = self._in_order()
        except InputError:
            raise
        except Exception as error:  # sqlite, MCAP, YAML and zstd each raise their own errors
            raise InputError(f"{path}: not a readable recording: {_advised(error)}") from None

    def _in_order(self) -> list[list[Chunk]] | None:
        """The chunks of all files if they are MCAP files, else None."""
        if self._packed or any(file.path.suffix != ".mcap" for file in self._files):
            return None
        chunks: list[Chunk] = []
        for file in self._files:
            topics = {each.id: each.topic for each in file.connections}
            chunks += chunks_of(file.path, topics)
        return in_order(chunks)

    @cached_property
    def overview(self) -> Overview:
        """From the index or the metadata of the files, without reading messages."""
        topics: dict[str, int] = {}
        others: dict[str, str] = {}
        connections = (c for file in self._files for c in file.connections)
        for each in sorted(connections, key=lambda each: str(each.topic)):
            if each.msgtype == JOINT_STATE:
                topics[each.topic] = topics.get(each.topic, 0) + each.msgcount
            else:
                others[each.topic] = each.msgtype
        begin = min((file.metadata.start_time for file in self._files), default=FOREVER)
        end = max((file.metadata.end_time - 1 for file in self._files), default=begin)
        for group in self._groups or ():
            begin = min(begin, min(chunk.first for chunk in group))
            end = max(end, max(chunk.last for chunk in group))
        return Overview(topics, begin, max(end, begin), others)

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
        problems = [
            f"{name} is not listed in metadata.yaml; its messages are missing (`ros2 bag reindex`)"
            for name in self._unlisted
        ]
        if self._groups is None:
            parts = _one_by_one(self._messages(wanted, start, stop), batch)
        else:
            span = start or 0, FOREVER if stop is None else stop
            parts = _by_chunks(self._groups, wanted, *span, problems)
        done = 0
        counts = dict.fromkeys(wanted, 0)
        for messages in _batched(parts, batch, problems):
            for name, own in sorted(messages.items()):
                received = np.concatenate([at for at, _ in own])
                packed = [each for _, each in own]
                for names, which, (stamp, rows) in readers[name].read(packed):
                    at = received[which]
                    rows = np.where(np.abs(rows) > LARGEST, np.nan, rows)  # is none
                    if (at[1:] < at[:-1]).any():  # of chunks that overlap in time
                        order = np.argsort(at, kind="stable")
                        at, stamp, rows = at[order], stamp[order], rows[order]
                    yield JointSamples(name, names, at, stamp, rows)
                done += len(received)
                counts[name] += len(received)
            progress(done, total)
        problems += [
            f"{name}: {each.refused} messages were skipped: {each.reason}"
            for name, each in readers.items()
            if each.refused
        ]
        if start is None and stop is None:
            problems += [
                f"{name}: {counts[name]} of {self.overview.topics[name]} messages were found"
                for name in wanted
                if counts[name] < self.overview.topics[name]
            ]
        if problems:
            more = [f"and {len(problems) - LISTED} more"] if len(problems) > LISTED else []
            raise InputError(f"{self.path}: {'; '.join(problems[:LISTED] + more)}")

    def messages(self, topic: str) -> Iterator[tuple[int, bytes]]:
        """Times of receipt, ns, and contents of all messages on a topic of any type, in order.

        Raises InputError, naming the recording, if it cannot be read completely.
        """
        try:
            if self._groups is None:
                yield from ((at, raw) for _, at, raw in self._messages((topic,), None, None))
                return
            for group in self._groups:
                found = [chunk.read((topic,), 0, FOREVER).get(topic) for chunk in group]
                pairs = [
                    (at, memory[begin : begin + size])
                    for received, (memory, begins, sizes) in filter(None, found)
                    for at, begin, size in zip(
                        received.tolist(), begins.tolist(), sizes.tolist(), strict=True
                    )
                ]
                yield from sorted(pairs, key=lambda pair: pair[0])
        except Exception as error:  # sqlite and zstd raise their own errors
            raise InputError(f"{self.path}: cannot be read completely: {_advised(error)}") from None

    def _messages(
        self, topics: Sequence[str], start: int | None, stop: int | None
    ) -> Iterator[tuple[str, int, bytes]]:
        """Topic, time of receipt and content of each message, one by one, with rosbags."""
        for file in self._files:
            chosen = [each for each in file.connections if each.topic in topics]
            for each, at, raw in file.messages(chosen, start, stop) if chosen else ():
                yield each.topic, at, decompressed("zstd", raw) if self._packed else raw


def _unlisted(path: Path, listed: set[str]) -> list[str]:
    """Files with messages that are in the folder of a bag, but not among those `listed`, which are
    without the ending of a compressed file."""
    files = sorted(path.iterdir()) if path.is_dir() else []
    names = [each.name for each in files if each.suffix in (".mcap", ".db3", ".zstd")]
    return [name for name in names if name.removesuffix(".zstd") not in listed]


def _advised(error: Exception) -> str:
    """The text of an error, with advice for truncated recordings."""
    text = ": ".join(filter(None, (type(error).__name__, str(error))))
    if isinstance(error, DAMAGED) and not isinstance(error, InputError):
        return f"damaged or truncated ({text})"
    text = str(error) or text
    if "metadata" in text and "not exist" in text:
        return f"{text} (`ros2 bag reindex` restores it)"
    if "end magic" in text or "footer" in text:
        return f"{text} The file is truncated (`mcap recover` saves the rest)"
    if "malformed" in text:
        return f"{text} (`sqlite3 OLD.db3 .recover | sqlite3 NEW.db3` saves the rest)"
    if "storage format" in text:
        return f"{text}: expected the folder of a bag, or a .mcap, .db3, .csv or .npz file"
    return text


def _one_by_one(messages: Iterator[tuple[str, int, bytes]], size: int) -> Iterator[list[Part]]:
    """Messages in parts of this size; those before an error are yielded, too."""
    count, error = size, None
    while count == size and error is None:
        # The garbage collector tracks tuples, but not numbers and bytes: two lists cost less.
        found: dict[str, tuple[list[int], list[bytes]]] = defaultdict(lambda: ([], []))
        count = 0
        try:
            for topic, at, raw in islice(messages, size):
                received, contents = found[topic]
                received.append(at)
                contents.append(raw)
                count += 1
        except Exception as caught:
            error = caught
        part = {
            topic: (np.array(received, dtype=np.int64), Packed.of(contents))
            for topic, (received, contents) in found.items()
        }
        yield [part]
    if error is not None:
        raise error


def _by_chunks(
    groups: Sequence[Sequence[Chunk]],
    topics: Sequence[str],
    start: int,
    stop: int,
    problems: list[str],
) -> Iterator[list[Part]]:
    """The messages of each group; a damaged chunk only adds a problem."""
    for group in groups:
        parts = []
        for chunk in group:
            if start <= chunk.last and chunk.first < stop:
                try:
                    parts.append(chunk.read(topics, start, stop))
                except InputError as error:
                    problems.append(f"{error}; its messages are missing")
        yield parts


def _batched(groups: Iterator[list[Part]], size: int, problems: list[str]) -> Iterator[Batch]:
    """Batches of at least `size` messages, up to the end or an error, which adds a problem."""
    batch: Batch = defaultdict(list)
    count = 0
    try:
        for parts in groups:
            for part in parts:
                for topic, messages in part.items():
                    batch[topic].append(messages)
                    count += len(messages[0])
            if count >= size:
                yield batch
                batch, count = defaultdict(list), 0
    except Exception as error:  # sqlite, MCAP and zstd each raise their own errors
        problems.append(f"cannot be read completely: {_advised(error)}")
    if batch:
        yield batch
