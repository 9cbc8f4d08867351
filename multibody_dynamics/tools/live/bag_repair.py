# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Makes a bag readable again whose recording was interrupted, for example by a full disk.

An MCAP file consists of records: a byte for the kind, eight for the length, and the content.
Messages are in chunks, each followed by its indices. The file is cut after the last complete chunk,
or earlier if the end of the file and metadata.yaml do not fit on the disk, and completed without a
summary, which readers then compile from the chunks (https://mcap.dev/spec).
"""

import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from ...validation.recordings.bag_library import Reader, dump_qos_v9

MAGIC = b"\x89MCAP0\r\n"
RECORD = struct.Struct("<BQ")
HEADER, FOOTER, CHUNK, MESSAGE_INDEX, DATA_END = 0x01, 0x02, 0x06, 0x07, 0x0F
END = (
    RECORD.pack(DATA_END, 4) + bytes(4)  # no checksum
    + RECORD.pack(FOOTER, 20) + bytes(20)  # no summary, no checksum
    + MAGIC
)  # fmt: skip
VERSION = 9  # of the metadata, as in ROS 2 Jazzy


def repair(folder: Path, hashes: Mapping[str, str]) -> dict[str, int]:
    """Complete the bag `folder`, with one MCAP file; returns the number of messages by topic.

    hashes : hashes of the message types, by name. Raises OSError if nothing can be written at all.
    """
    file = _file_of(folder)
    ends = complete_chunks(file)
    while True:
        try:
            _cut(file, ends[-1])
            return _write_metadata(folder, file, hashes)
        except OSError:
            if len(ends) == 1:
                raise
            ends.pop()


def has_messages(folder: Path) -> bool:
    """Whether the file of the bag `folder` has a complete chunk."""
    with suppress(OSError):
        return len(complete_chunks(_file_of(folder))) > 1
    return False


def complete_chunks(file: Path) -> list[int]:
    """Positions in an MCAP file: the end of its header, and of every complete chunk with indices.

    Raises OSError if the file has no complete header.
    """
    size = file.stat().st_size
    ends: list[int] = []
    with file.open("rb") as stream:
        stream.seek(len(MAGIC))
        while len(head := stream.read(RECORD.size)) == RECORD.size:
            kind, length = RECORD.unpack(head)
            end = stream.tell() + length
            if end > size or kind not in (HEADER, CHUNK, MESSAGE_INDEX):
                break
            if kind == MESSAGE_INDEX and len(ends) > 1:
                ends[-1] = end
            else:
                ends.append(end)
            stream.seek(end)
    if not ends:
        raise OSError(
            f"{file} has no complete MCAP header: the recording ended before its first message"
        )
    return ends


def _file_of(folder: Path) -> Path:
    return folder / f"{folder.name}.mcap"


def _cut(file: Path, end: int) -> None:
    with file.open("r+b") as stream:
        stream.truncate(end)
        stream.seek(end)
        stream.write(END)
        stream.flush()
        os.fsync(stream.fileno())


def _write_metadata(folder: Path, file: Path, hashes: Mapping[str, str]) -> dict[str, int]:
    with Reader(file) as reader:
        counts = {each.topic: each.msgcount for each in reader.connections}
        total = sum(counts.values())
        begin = {"nanoseconds_since_epoch": reader.start_time if total else 0}
        duration = {"nanoseconds": max(reader.end_time - 1 - reader.start_time, 0) if total else 0}
        topics = [
            {
                "topic_metadata": {
                    "name": each.topic,
                    "type": each.msgtype,
                    "serialization_format": _extension(each).serialization_format,
                    "offered_qos_profiles": dump_qos_v9(_extension(each).offered_qos_profiles),
                    "type_description_hash": hashes.get(each.msgtype, ""),
                },
                "message_count": each.msgcount,
            }
            for each in reader.connections
        ]
    part = {"starting_time": begin, "duration": duration, "message_count": total}
    content = {
        "version": VERSION,
        "storage_identifier": "mcap",
        "relative_file_paths": [file.name],
        **part,
        "topics_with_message_count": topics,
        "compression_format": "",
        "compression_mode": "",
        "files": [{"path": file.name, **part}],
        "custom_data": None,
        "ros_distro": "rosbags",
    }
    text = yaml.safe_dump({"rosbag2_bagfile_information": content}, sort_keys=False)
    with (folder / "metadata.yaml").open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    return counts


def _extension(connection: Any) -> Any:
    """What only version 2 of the bag format has: serialization format and quality of service."""
    return connection.ext
