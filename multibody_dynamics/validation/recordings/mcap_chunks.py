# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Fast reading of MCAP files via their index, which locates the messages of each chunk.

A general reader goes from record to record, which takes some microseconds each. With default
settings, recorders write uncompressed chunks in chronological order, each followed by arrays of the
times and positions of its messages; reading these takes a tenth of the time. Other files are left
to the general reader.

Format: https://mcap.dev/spec. A record is one byte for its kind, eight bytes for its length,
and its content; all numbers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...dynamics.core import InputError
from .joint_state_layout import Packed

FOOTER, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = 2, 4, 5, 6, 7, 8
END = 37  # bytes of the footer and the magic number after it
HEAD = "<BQQQQIIQ"  # of an uncompressed chunk
BEGIN = 49  # bytes from the start of a chunk to its records
MESSAGE_HEAD = np.dtype(
    [
        *(("kind", "u1"), ("length", "<i8"), ("channel", "<u2"), ("sequence", "<u4")),
        *(("received", "<i8"), ("published", "<i8")),
    ]
)
RECORD = 9  # bytes before the content of a record

Messages = tuple[NDArray[np.int64], Packed]  # times of receipt, ns, and messages


class Chunk(NamedTuple):
    """A chunk of a file.

    topics : its topics by channel number. first, last : times of receipt of its first and last
    message, ns. place, length, index_length : position and lengths in the file, bytes.
    """

    file: Path
    topics: dict[int, str]
    first: int
    last: int
    place: int
    length: int
    index_length: int

    def read(self, topics: Collection[str], start: int, stop: int) -> dict[str, Messages]:
        """The messages on these topics with start <= time of receipt < stop, ns.

        Raises InputError if the chunk is damaged.
        """
        with self.file.open("rb") as file:
            file.seek(self.place)
            raw = file.read(self.length + self.index_length)
        try:
            return self._found(raw, topics, start, stop)
        except (struct.error, KeyError, ValueError):
            raise InputError(
                f"{self.file.name}: the chunk at byte {self.place} is damaged"
            ) from None

    def _found(
        self, raw: bytes, topics: Collection[str], start: int, stop: int
    ) -> dict[str, Messages]:
        kind, _, _, _, _, checksum, compressed, length = struct.unpack_from(HEAD, raw)
        end = BEGIN + length
        records = memoryview(raw)[BEGIN:end]
        _require(kind == CHUNK and not compressed and end == self.length)
        _require(checksum in (0, crc32(records)))
        entries: dict[str, list[NDArray[np.int64]]] = {}
        for kind, content in _records(raw[self.length :]):
            if kind == MESSAGE_INDEX:
                topic = self.topics[struct.unpack_from("<H", content)[0]]
                if topic in topics:
                    index = np.frombuffer(content, "<i8", offset=6).reshape(-1, 2)
                    entries.setdefault(topic, []).append(index)
        return {
            topic: _located(raw, end, np.concatenate(parts), start, stop)
            for topic, parts in entries.items()
        }


def _located(raw: bytes, end: int, index: NDArray[np.int64], start: int, stop: int) -> Messages:
    received, place = index[(index[:, 0] >= start) & (index[:, 0] < stop)].T
    order = np.lexsort((place, received))
    received, place = received[order], BEGIN + place[order]
    size = MESSAGE_HEAD.itemsize
    _require(((place >= BEGIN) & (place <= end - size)).all())
    heads = sliding_window_view(np.frombuffer(raw, np.uint8), size)[place]
    head = heads.view(MESSAGE_HEAD)[:, 0]
    sizes = head["length"] - (size - RECORD)
    _require(((head["kind"] == MESSAGE) & (head["received"] == received)).all())
    _require(((sizes >= 0) & (sizes <= end - size - place)).all())
    return received, Packed(raw, place + size, sizes)


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def chunks_of(file: Path) -> list[Chunk] | None:
    """All chunks in order, or None for a file that needs the general reader."""
    try:
        return _chunks_of(file)
    except (OSError, struct.error):
        return None


def _chunks_of(file: Path) -> list[Chunk] | None:
    with file.open("rb") as stream:
        stream.seek(-END, 2)
        kind, _, summary = struct.unpack_from("<BQQ", stream.read())
        if kind != FOOTER or summary == 0:
            return None
        stream.seek(summary)
        content = stream.read()[:-END]
    topics: dict[int, str] = {}
    chunks: list[Chunk] = []
    channels: set[int] = set()
    for kind, record in _records(content):
        if kind == CHANNEL:
            number, _, size = struct.unpack_from("<HHI", record)
            topics[number] = record[8 : 8 + size].decode(errors="replace")
        elif kind == CHUNK_INDEX:
            first, last, place, length, size = struct.unpack_from("<QQQQI", record)
            index_length, compressed = struct.unpack_from("<QI", record, 36 + size)
            if compressed or (size and not index_length):
                return None
            channels.update(
                number for number, _ in struct.iter_unpack("<HQ", record[36 : 36 + size])
            )
            chunks.append(Chunk(file, topics, first, last, place, length, index_length))
    ordered = all(one.last <= other.first for one, other in pairwise(chunks))
    return chunks if chunks and ordered and channels <= topics.keys() else None


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<BQ", content, at)
        yield kind, content[at + RECORD : at + RECORD + length]
        at += RECORD + length
