# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes serialised messages into a bag, in a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple

from ...dynamics.core import InputError
from ...validation.recordings.bag_library import StoragePlugin, Writer, WriterError
from .bag_repair import has_messages, repair
from .message_definitions import MessageType

if TYPE_CHECKING:
    from rosbags.interfaces import Connection, Qos

CAPACITY = 256_000_000  # bytes that may wait for the disk: a minute of ten topics at 1 kHz


class RecordedTopic(NamedTuple):
    """A topic of a bag, with the quality of service that its publishers offer."""

    name: str
    kind: MessageType
    offered: Sequence[Qos]


Item = tuple[RecordedTopic, int, bytes]


class BagWriter:
    """A new bag (MCAP) in `folder`. `add` never waits for the disk.

    capacity : bytes of messages that may wait to be written; further ones are lost, and counted.

    If writing fails, for example on a full disk, `failure` is the reason; the bag is then cut after
    the last complete chunk and remains readable, or is removed if it has none, and messages that
    are not in it count as lost.

    Raises InputError if the folder exists or cannot be created.
    """

    def __init__(self, folder: Path, *, capacity: int = CAPACITY) -> None:
        self.folder, self.failure = folder, ""
        self._topics: dict[str, RecordedTopic] = {}
        self._accepted: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._written: dict[str, int] | None = None  # after a failure: messages in the bag
        self._connections: dict[str, Connection] = {}
        try:
            self._writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except WriterError:
            raise InputError(
                f"{folder} already exists and is not overwritten: choose another folder"
            ) from None
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror or error}") from None
        self._capacity = capacity
        # Each of these is changed by one thread only.
        self._bytes_in = self._bytes_out = 0
        self._queue: SimpleQueue[Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="bag writer")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Bytes that are not yet written."""
        return self._bytes_in - self._bytes_out

    def lost(self, topic: str) -> int:
        """Messages of a topic that were added, but are not in the bag and will not be."""
        refused = self._refused.get(topic, 0)
        if self._written is None:
            return refused
        return refused + self._accepted.get(topic, 0) - self._written.get(topic, 0)

    def add_topic(self, topic: RecordedTopic) -> None:
        """Declare a topic before its first message."""
        self._topics[topic.name] = topic
        self._accepted[topic.name] = self._refused[topic.name] = 0

    def add(self, topic: str, received: int, message: bytes) -> None:
        """Add a serialised message, received at this system time in ns."""
        if self.failure or self.waiting + len(message) > self._capacity:
            self._refused[topic] += 1
            return
        self._accepted[topic] += 1
        self._bytes_in += len(message)
        self._queue.put((self._topics[topic], received, message))

    def close(self) -> None:
        """Write everything that is waiting, and complete the bag."""
        self._queue.put(None)
        self._thread.join()
        if self.failure:
            return
        try:
            for topic in self._topics.values():
                self._connection(topic)
            self._writer.close()
        except Exception as error:
            self._fail(error)

    # In the thread

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            topic, received, message = item
            if not self.failure:
                try:
                    self._writer.write(self._connection(topic), received, message)
                except Exception as error:  # the thread must not end unnoticed
                    self._fail(error)
            self._bytes_out += len(message)

    def _connection(self, topic: RecordedTopic) -> Connection:
        found = self._connections.get(topic.name)
        if found is None:
            found = self._connections[topic.name] = self._writer.add_connection(
                topic.name,
                topic.kind.name,
                msgdef=topic.kind.definition,
                rihs01=topic.kind.hash,
                offered_qos_profiles=topic.offered,
            )
        return found

    def _fail(self, error: Exception) -> None:
        self.failure = f"{self.folder} cannot be written: {_reason(error)}"
        with suppress(OSError):  # what is still in its buffers cannot be written either
            self._writer.abort()
        if not has_messages(self.folder):
            rmtree(self.folder, ignore_errors=True)
            self._written = {}
            return
        hashes = {each.kind.name: each.kind.hash for each in self._topics.values()}
        try:
            self._written = repair(self.folder, hashes)
        except Exception as second:
            self._written = {}
            self.failure += f"; the bag is not readable: {_reason(second)}"


def _reason(error: Exception) -> object:
    return getattr(error, "strerror", None) or error
