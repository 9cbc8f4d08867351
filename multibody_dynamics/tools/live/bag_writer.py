# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes serialised messages into a bag, in a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from shutil import disk_usage
from typing import TYPE_CHECKING, NamedTuple

from ...dynamics.core import InputError
from ...validation.recordings.bag_library import StoragePlugin, Writer, WriterError
from .message_definitions import MessageType

if TYPE_CHECKING:
    from rosbags.interfaces import Connection, Qos

CAPACITY = 256_000_000  # bytes that may wait for the disk: a minute of ten topics at 1 kHz
RESERVE = 64_000_000  # bytes that stay free on the disk, among others for the end of the bag
LOOK = 1_000_000  # bytes between two looks at the free space


class RecordedTopic(NamedTuple):
    """A topic of a bag, with the quality of service that its publishers offer."""

    name: str
    kind: MessageType
    offered: Sequence[Qos]


Item = tuple[RecordedTopic, int, bytes]


class BagWriter:
    """A new bag (MCAP) in `folder`. `add` never waits for the disk.

    capacity : bytes of messages that may wait to be written; further ones are lost, and counted.
    reserve : bytes free on the disk with which the bag ends, complete; further messages are lost.

    Then, and if writing fails, `failure` is the reason. After a failure of the disk, all messages
    count as lost: the bag is incomplete.

    Raises InputError if the folder exists or cannot be created.
    """

    def __init__(self, folder: Path, *, capacity: int = CAPACITY, reserve: int = RESERVE) -> None:
        self.folder, self.failure = folder, ""
        self._topics: dict[str, RecordedTopic] = {}
        self._accepted: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._skipped: dict[str, int] = {}  # accepted, but not written
        self._is_complete = True
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
        self._capacity, self._reserve = capacity, reserve
        # Each of these is changed by one thread only.
        self._bytes_in = self._bytes_out = self._next_look = 0
        self._queue: SimpleQueue[Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="bag writer")
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Bytes that are not yet written."""
        return self._bytes_in - self._bytes_out

    def lost(self, topic: str) -> int:
        """Messages of a topic that were added, but are not in the bag and will not be."""
        lost = self._skipped if self._is_complete else self._accepted
        return self._refused[topic] + lost[topic]

    def add_topic(self, topic: RecordedTopic) -> None:
        """Declare a topic before its first message."""
        self._topics[topic.name] = topic
        for counts in (self._accepted, self._refused, self._skipped):
            counts[topic.name] = 0

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
        if not self._is_complete:
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
            if self._bytes_out >= self._next_look and not self.failure:
                self._next_look = self._bytes_out + LOOK
                if disk_usage(self.folder).free < self._reserve:
                    self.failure = f"{self.folder}: fewer than {1e-6 * self._reserve:g} MB are free"
            if self.failure:
                self._skipped[topic.name] += 1
            else:
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
        self._is_complete = False
        reason = getattr(error, "strerror", None) or error
        self.failure = f"{self.folder} cannot be written: {reason}; `mcap recover` saves the rest"
        with suppress(OSError):  # what is still in its buffers cannot be written either
            self._writer.abort()
