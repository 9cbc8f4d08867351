# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Messages of MCAP files: those that rosbags finds, those without an index, or an error."""

import struct
from importlib import import_module
from itertools import count
from zlib import crc32

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionMode, Reader, StoragePlugin

from bag_files import BEGIN, joint_state, write_bag
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.recordings import Bag
from multibody_dynamics.validation.recordings.mcap_chunks import chunks_of
from rejections import assert_rejected

NAMES = [f"joint_{k}" for k in range(120)]  # about 300 messages in a chunk
COUNT = 1200
TIMES = BEGIN + 1_000_000 * np.arange(COUNT)
ROWS = np.random.default_rng(1).normal(size=(COUNT, 3, len(NAMES)))
OTHER = b"\x00\x01\x00\x00\x03\x00\x00\x00hi\x00\x00"
ALL = (0, 2**63)
RECORDS = 49  # bytes from the start of an uncompressed chunk to its records


def messages(times=TIMES, early=1_500_000):
    """Two topics and one of another type; every tenth message was received out of order."""
    found = []
    for k, (at, row) in enumerate(zip(times, ROWS, strict=True)):
        found.append(("/arm", int(at) - early * (k % 10 == 9), joint_state(at, NAMES, *row)))
        if k % 7 == 0:
            found.append(("/chatter", int(at), OTHER))
            found.append(("/hand", int(at), joint_state(at, ["finger"], [0.1 * k])))
    return found


def written(path, times=TIMES, early=1_500_000, **options):
    kinds = {"/chatter": "std_msgs/msg/String"}
    return write_bag(
        path, messages(times, early), plugin=StoragePlugin.MCAP, kinds=kinds, **options
    )


@pytest.fixture
def file(tmp_path):
    return written(tmp_path / "bag") / "bag.mcap"


def chunks_in(file):
    with Reader(file) as reader:
        return chunks_of(file, {each.id: each.topic for each in reader.connections})


def found(file, topic, start=0, stop=2**63):
    """(time of receipt, bytes) of each message."""
    pairs = []
    for chunk in chunks_in(file):
        if topic in (there := chunk.read([topic], start, stop)):
            at, packed = there[topic]
            begins, ends = packed.begins, packed.begins + packed.sizes
            raw = [packed.memory[a:b] for a, b in zip(begins, ends, strict=True)]
            pairs += zip(at.tolist(), raw, strict=True)
    return pairs


def by_rosbags(file, topic, start=None, stop=None):
    with Reader(file) as reader:
        connections = [each for each in reader.connections if each.topic == topic]
        return [(at, bytes(raw)) for _, at, raw in reader.messages(connections, start, stop)]


def test_messages_equal_those_of_rosbags(file):
    assert len(chunks_in(file)) > 3
    for topic in ("/arm", "/hand", "/chatter"):
        assert found(file, topic) == by_rosbags(file, topic)
    part = int(TIMES[250]), int(TIMES[900])
    assert found(file, "/arm", *part) == by_rosbags(file, "/arm", *part)
    assert found(file, "/nothing") == []


def test_recordings_use_the_chunks(file):
    parts = [each for each in Bag(file).read(batch=100) if each.topic == "/arm"]
    order = np.argsort([at for topic, at, _ in messages() if topic == "/arm"], kind="stable")
    assert np.array_equal(np.concatenate([part.rows for part in parts]), ROWS[order])
    assert np.array_equal(np.concatenate([part.stamp for part in parts]), TIMES[order])
    assert len(parts) == len(chunks_in(file))


def records(raw, at, stop):
    """(kind, place, content) of each record."""
    while at < stop:
        kind, length = struct.unpack_from("<BQ", raw, at)
        yield kind, at, bytes(raw[at + 9 : at + 9 + length])
        at += 9 + length


def record(kind, content):
    return struct.pack("<BQ", kind, len(content)) + content


def rewritten(file, change):
    """Write an MCAP file again without its summary, with what `change` yields for each record of
    its data: pairs of a kind and a content. The statistics remain."""
    raw = file.read_bytes()
    (summary,) = struct.unpack_from("<Q", raw, len(raw) - 28)
    parts = [raw[:8]]
    for kind, _, content in records(raw, 8, summary):
        parts += [record(*each) for each in change(kind, content)]
    kept = [(k, c) for k, _, c in records(raw, summary, len(raw) - 37) if k in (3, 4, 11)]
    place = sum(map(len, parts))
    parts += [record(*each) for each in kept]
    parts += [record(2, struct.pack("<QQI", place, 0, 0)), raw[-8:]]
    file.write_bytes(b"".join(parts))


def arm_in(file):
    """Rows on /arm; an incomplete recording raises."""
    parts = [each for each in Bag(file).read() if each.topic == "/arm"]
    return np.concatenate([part.rows for part in parts])


IN_ORDER = ROWS[np.argsort([at for topic, at, _ in messages() if topic == "/arm"], kind="stable")]


def without_index(kind, content):
    return [] if kind == 7 else [(kind, content)]


def every_second_index():
    indexes = count()
    return lambda kind, content: (
        [] if kind == 7 and next(indexes) % 2 else [(kind, content)]
    )  # fmt: skip


def incomplete_index(kind, content):
    """An index without its first half."""
    if kind != 7:
        return [(kind, content)]
    kept = content[6 + (len(content) - 6) // 32 * 16 :]
    return [(7, content[:2] + struct.pack("<I", len(kept)) + kept)]


def loose(kind, content):
    """Messages outside of chunks."""
    if kind == 7:
        return []
    if kind != 6:
        return [(kind, content)]
    return [(k, c) for k, _, c in records(content, 40, len(content))]


def compressed(name, compress):
    def change(kind, content):
        if kind != 6:
            return [(kind, content)]
        assert content[28:32] == bytes(4)  # not yet compressed
        data = compress(content[40:])
        head = content[:28] + struct.pack("<I", len(name)) + name + struct.pack("<Q", len(data))
        return [(6, head + data)]

    return change


def lz4(data):
    return import_module("lz4.frame").compress(data)


@pytest.mark.parametrize(
    "changes",
    [
        [without_index],
        [every_second_index()],
        [incomplete_index],
        [loose],
        [compressed(b"lz4", lz4), without_index],
        [compressed(b"lz4", lz4), incomplete_index],
    ],
)
def test_no_message_depends_on_an_index(file, changes):
    """Optional parts of the format: https://mcap.dev/spec#message-index-op0x07."""
    for change in changes:
        rewritten(file, change)
    assert np.array_equal(arm_in(file), IN_ORDER)
    assert np.array_equal(arm_in(file.parent), IN_ORDER)


def test_an_index_in_the_summary_that_points_to_no_message_index(file):
    """As of a recorder that writes chunks without message indexes, but indexes the chunks."""
    raw = bytearray(file.read_bytes())
    (summary,) = struct.unpack_from("<Q", raw, len(raw) - 28)
    out, moved = raw[:8], {}
    for kind, at, content in records(raw, 8, summary):
        if kind != 7:
            moved[at] = len(out)
            out += record(kind, content)
    place = len(out)
    for kind, _, content in records(raw, summary, len(raw) - 37):
        if kind == 8:
            first, last, at, length, size = struct.unpack_from("<QQQQI", content)
            head = struct.pack("<QQQQIQ", first, last, moved[at], length, 0, 0)
            content = head + content[44 + size :]
        if kind in (3, 4, 8, 11):
            out += record(kind, content)
    out += record(2, struct.pack("<QQI", place, 0, 0)) + raw[-8:]
    file.write_bytes(out)
    assert [each.index_length for each in chunks_in(file)] == [0] * len(chunks_in(file))
    assert np.array_equal(arm_in(file), IN_ORDER)


def test_fewer_messages_than_the_statistics_say_are_a_problem(file):
    """A lost chunk leaves a file that can be read without any error."""
    chunks = count()
    rewritten(file, lambda kind, content: (
        [] if kind == 7 or (kind == 6 and next(chunks) == 1) else [(kind, content)]
    ))  # fmt: skip
    lost = COUNT - sum(len(each.read(["/arm"], *ALL)["/arm"][0]) for each in chunks_in(file))
    assert lost > 100
    with pytest.raises(InputError, match=f"/arm: {COUNT - lost} of {COUNT} messages were found"):
        arm_in(file)


def test_compressed_and_overlapping_chunks_and_files_without_summary(tmp_path):
    zstd = written(tmp_path / "zstd", mode=CompressionMode.STORAGE) / "zstd.mcap"
    late = TIMES.copy()
    late[:400] += 10_000_000_000  # chunks overlap in time
    mixed = written(tmp_path / "mixed", late) / "mixed.mcap"
    bare = written(tmp_path / "bare", early=0) / "bare.mcap"
    raw = bytearray(bare.read_bytes())
    raw[-28:-12] = bytes(16)  # no summary
    bare.write_bytes(raw)
    for file, times in ((zstd, TIMES), (mixed, late), (bare, TIMES)):
        parts = [each for each in Bag(file).read() if each.topic == "/arm"]
        stamps = np.concatenate([part.stamp for part in parts])
        assert np.array_equal(np.sort(stamps), np.sort(times))
        received = np.concatenate([part.received for part in parts])
        assert (np.diff(received) >= 0).all()


def places(raw, chunk):
    """Positions of the chunk, of its last message on /arm, and of the index entry for it."""
    at = chunk.place + chunk.length
    while True:
        _, length, channel, width = struct.unpack_from("<BQHI", raw, at)
        if chunk.topics[channel] == "/arm":
            break
        at += 9 + length
    index = at + 15 + width - 16
    (offset,) = struct.unpack_from("<Q", raw, index + 8)
    return {"chunk": chunk.place, "message": chunk.place + RECORDS + offset, "index": index}


@pytest.mark.parametrize(
    ("part", "offset", "value"),
    [
        ("chunk", 0, b"\x07"),  # kind
        ("chunk", 9 + 24, struct.pack("<I", 12345)),  # checksum
        ("chunk", 9 + 28, struct.pack("<I", 4)),  # name of the compression
        ("chunk", 9 + 32, struct.pack("<Q", 2**40)),  # length of the records
        ("message", 0, b"\x09"),
        ("message", 1, struct.pack("<Q", 2**63)),  # length
        ("message", 1, struct.pack("<Q", 3)),
        ("message", 15, struct.pack("<Q", 77)),  # time of receipt
        ("index", 8, struct.pack("<Q", 2**40)),  # place
        ("index", 8, struct.pack("<Q", 2**64 - 10)),
    ],
)
def test_a_damaged_chunk_costs_only_itself(file, part, offset, value):
    chunks = chunks_in(file)
    raw = bytearray(file.read_bytes())
    place = places(raw, chunks[2])[part] + offset
    raw[place : place + len(value)] = value
    file.write_bytes(raw)
    stamps = []
    with pytest.raises(InputError, match=rf"bag.mcap: the chunk at byte {chunks[2].place} is dam"):
        stamps.extend(each.stamp for each in Bag(file).read(["/arm"]))
    others = [len(each.read(["/arm"], *ALL)["/arm"][0]) for k, each in enumerate(chunks) if k != 2]
    assert sum(map(len, stamps)) == sum(others)


def test_a_checksum_is_checked(file):
    chunk = chunks_in(file)[0]
    raw = bytearray(file.read_bytes())
    records = slice(chunk.place + RECORDS, chunk.place + chunk.length)
    struct.pack_into("<I", raw, chunk.place + 33, crc32(raw[records]))
    file.write_bytes(raw)
    assert len(chunk.read(["/arm"], *ALL)["/arm"][0]) > 100
    raw[records.stop - 1] ^= 1  # in the last number of a message
    file.write_bytes(raw)
    assert_rejected((lambda: chunk.read(["/arm"], *ALL), "damaged"))


def test_a_file_that_ends_in_a_chunk(file):
    chunk = chunks_in(file)[1]
    file.write_bytes(file.read_bytes()[: chunk.place + 20])
    assert_rejected((lambda: chunk.read(["/arm"], *ALL), "damaged"))
