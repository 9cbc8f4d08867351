# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reading of all messages of MCAP files, fast where a chunk has an index of its messages.

A general reader goes from record to record, which takes some microseconds each. Recorders write
chunks, usually followed by arrays of the times and positions of their messages; reading these takes
a tenth of the time. All of this is optional: what the indexes do not cover (chunks without index or
with an incomplete one, messages outside of chunks) is found by going from record to record.

Format: https://mcap.dev/spec. A record is one byte for its kind, eight bytes for its length,
and its content; all numbers are little-endian.
"""

import struct
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...dynamics.core import InputError
from .bag_library import decompressed
from .joint_state_layout import Packed

FOOTER, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX, DATA_END = 2, 5, 6, 7, 8, 15
MAGIC = 8  # bytes before the first record
END = 37  # bytes of the footer and the magic number after it
CHUNK_HEAD = "<BQQQQII"  # up to the name of the compression
MESSAGE_HEAD = np.dtype(
    [
        *(("kind", "u1"), ("length", "<i8"), ("channel", "<u2"), ("sequence", "<u4")),
        *(("received", "<i8"), ("published", "<i8")),
    ]
)
RECORD = 9  # bytes before the content of a record
LOOSE = 1_000_000  # bytes of messages outside of chunks that are read together

Messages = tuple[NDArray[np.int64], Packed]  # times of receipt, ns, and messages


class Chunk(NamedTuple):
    """A chunk of a file, or a run of messages outside of chunks.

    topics : of the file, by channel number. first, last : times of receipt of its first and last
    message, ns. place, length, index_length : position and lengths in the file, bytes.
    """

    file: Path
    topics: Mapping[int, str]
    first: int
    last: int
    place: int
    length: int
    index_length: int = 0

    def read(self, topics: Collection[str], start: int, stop: int) -> dict[str, Messages]:
        """The messages on these topics with start <= time of receipt < stop, ns.

        Raises InputError if the chunk is damaged.
        """
        with self.file.open("rb") as file:
            file.seek(self.place)
            raw = file.read(self.length + self.index_length)
        try:
            records, index, intact = self._contents(raw)
            try:
                place, head = _messages(records, index)
            except ValueError:
                if not intact:
                    raise
                place, head = _messages(records, index[:0])
        except Exception as error:  # decompressors raise their own errors
            why = f"has an {error}" if "unknown compression" in str(error) else "is damaged"
            raise InputError(f"{self.file.name}: the chunk at byte {self.place} {why}") from None
        inside = (head["received"] >= start) & (head["received"] < stop)
        found: dict[str, Messages] = {}
        for topic in topics:
            numbers = [number for number, name in self.topics.items() if name == topic]
            which = np.flatnonzero(inside & np.isin(head["channel"], numbers))
            if len(which):
                which = which[np.argsort(head["received"][which], kind="stable")]
                size = MESSAGE_HEAD.itemsize
                sizes = head["length"][which] - (size - RECORD)
                packed = Packed(records, place[which] + size, sizes)
                found[topic] = head["received"][which].astype(np.int64), packed
        return found

    def _contents(self, raw: bytes) -> tuple[bytes, NDArray[np.int64], bool]:
        """The records, the times and places (k, 2) of the messages that have an index, and whether
        the records are known to be intact, so that a contradicting index must be wrong."""
        nothing = np.zeros((0, 2), dtype=np.int64)
        if raw[0] == MESSAGE:
            return raw, nothing, False
        kind, _, _, _, size, checksum, width = struct.unpack_from(CHUNK_HEAD, raw)
        begin = struct.calcsize(CHUNK_HEAD) + width + 8
        name = raw[begin - 8 - width : begin - 8].decode()
        (stored,) = struct.unpack_from("<Q", raw, begin - 8)
        _require(kind == CHUNK and begin + stored == self.length)
        records = decompressed(name, raw[begin : self.length])
        _require(len(records) == size and checksum in (0, crc32(records)))
        indexes = [nothing]
        with suppress(ValueError, struct.error):  # what a damaged index lacks is found without it
            for kind, at, length in _records(raw, self.length, len(raw)):
                if kind == MESSAGE_INDEX:
                    numbers = np.frombuffer(raw, "<i8", (length - 6) // 8, at + RECORD + 6)
                    indexes.append(numbers.reshape(-1, 2))
        return records, np.concatenate(indexes), bool(checksum or width)


def _messages(
    records: bytes, index: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """Places (k,) and heads (k,) of all messages. Raises ValueError for damaged records."""
    _, first = np.unique(index[:, 1], return_index=True)
    received, place = index[first].T
    head = _heads(records, place)
    _require(bool((head["received"] == received).all()))
    ends = place + RECORD + head["length"]
    # Between the messages that have an index there are others, or records of other kinds.
    begins, stops = np.append(0, ends), np.append(place, len(records))
    gaps = np.flatnonzero(begins != stops)
    missed = [
        at
        for begin, stop in zip(begins[gaps].tolist(), stops[gaps].tolist(), strict=True)
        for kind, at, _ in _records(records, begin, stop)
        if kind == MESSAGE
    ]
    if not missed:
        return place, head
    place = np.sort(np.append(place, missed))
    return place, _heads(records, place)


def _heads(records: bytes, place: NDArray[np.int64]) -> NDArray[np.void]:
    size = MESSAGE_HEAD.itemsize
    if not len(place):
        return np.zeros(0, MESSAGE_HEAD)
    _require(bool(((place >= 0) & (place <= len(records) - size)).all()))
    head = sliding_window_view(np.frombuffer(records, np.uint8), size)[place].view(MESSAGE_HEAD)
    head = head[:, 0]
    room = len(records) - RECORD - place
    fits = (head["length"] >= size - RECORD) & (head["length"] <= room)
    _require(bool((fits & (head["kind"] == MESSAGE)).all()))
    return head


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def _records(content: bytes, at: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Kind, place and length of the content of each record. Raises ValueError or struct.error for
    one that does not end by `stop`."""
    while at < stop:
        kind, length = struct.unpack_from("<BQ", content, at)
        _require(at + RECORD + length <= stop)
        yield kind, at, length
        at += RECORD + length
    _require(at == stop)


def chunks_of(file: Path, topics: Mapping[int, str]) -> list[Chunk]:
    """All chunks and runs of messages in a file, in the order of the file.

    topics : by channel number. Raises OSError, ValueError or struct.error for damaged files.
    """
    with file.open("rb") as stream:
        end = stream.seek(-END, 2)
        kind, _, summary = struct.unpack_from("<BQQ", stream.read())
        _require(kind == FOOTER)
        known: dict[int, Chunk] = {}
        if summary:
            stream.seek(summary)
            content = stream.read(end - summary)
            for kind, at, _ in _records(content, 0, len(content)):
                if kind == CHUNK_INDEX:
                    first, last, place, length, size = struct.unpack_from(
                        "<QQQQI", content, at + RECORD
                    )
                    (index,) = struct.unpack_from("<Q", content, at + RECORD + 36 + size)
                    known[place] = Chunk(file, topics, first, last, place, length, index)
        return list(_walked(stream, file, topics, known, summary or end))


def _walked(
    stream: BinaryIO, file: Path, topics: Mapping[int, str], known: dict[int, Chunk], stop: int
) -> Iterator[Chunk]:
    """All chunks and runs of messages, in order; goes over chunks that are known in one step, and
    over damaged records to the next one that is."""
    at, run = MAGIC, None
    places = sorted({place for place in known if MAGIC <= place < stop} | {stop})
    while at < stop:
        chunk, loose = known.get(at), None
        if chunk is None:
            limit = places[bisect_right(places, at)]
            stream.seek(at)
            head = stream.read(MESSAGE_HEAD.itemsize)
            kind, length = struct.unpack_from("<BQ", head)
            length += RECORD
            if kind == DATA_END or at + length > limit:
                length = limit - at
            elif kind == CHUNK:
                first, last = struct.unpack_from("<QQ", head, RECORD)
                chunk = Chunk(file, topics, first, last, at, length)
            elif kind == MESSAGE:
                (received,) = struct.unpack_from("<Q", head, RECORD + 6)
                loose = Chunk(file, topics, received, received, at, length)
        else:
            length = chunk.length + chunk.index_length
        _require(length > 0)
        if run is not None and loose is not None and run.length < LOOSE:
            first, last = min(run.first, loose.first), max(run.last, loose.last)
            run = run._replace(first=first, last=last, length=run.length + length)
        else:
            if run is not None:
                yield run
            run = loose
        if chunk is not None:
            yield chunk
        at += length
    if run is not None:
        yield run


def in_order(chunks: Collection[Chunk]) -> list[list[Chunk]]:
    """The chunks by time, in groups that do not overlap in time."""
    groups: list[list[Chunk]] = []
    last = -1
    for chunk in sorted(chunks, key=lambda each: each.first):
        if groups and chunk.first < last:
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
        last = max(last, chunk.last)
    return groups
