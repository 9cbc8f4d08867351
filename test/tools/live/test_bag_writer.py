# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The bag contains what was added, or says what it does not contain."""

import json
import subprocess
import sys

import pytest
import yaml
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import Reader, WriterError

from bag_files import BEGIN, joint_state
from multibody_dynamics.dynamics import InputError
from multibody_dynamics.tools.live.bag_writer import BagWriter, RecordedTopic
from multibody_dynamics.tools.live.message_definitions import MessageTypes
from rejections import assert_rejected

FOREVER = QosTime(9223372036, 854775807)
QUALITY = Qos(
    QosHistory.KEEP_LAST, 10, QosReliability.RELIABLE, QosDurability.VOLATILE,
    FOREVER, FOREVER, QosLiveliness.AUTOMATIC, FOREVER, False,
)  # fmt: skip
KIND = MessageTypes().find("sensor_msgs/msg/JointState")
FULL_DISK = """
import json, resource, sys
from pathlib import Path
from multibody_dynamics.tools.live.bag_writer import BagWriter, RecordedTopic
from multibody_dynamics.tools.live.message_definitions import MessageTypes
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))
writer = BagWriter(Path(sys.argv[1]))
writer.add_topic(RecordedTopic("/states", MessageTypes().find("sensor_msgs/msg/JointState"), ()))
message = bytes.fromhex(sys.argv[2])
for k in range(int(sys.argv[3])):
    writer.add("/states", k, message)
writer.close()
print(json.dumps([writer.failure, writer.lost("/states")]))
"""


def messages(count):
    return [joint_state(BEGIN + k, ["a", "b"], [0.1 * k, 1.0]) for k in range(count)]


def test_bag_with_everything(tmp_path):
    writer = BagWriter(tmp_path / "bag")
    sent = messages(5000)
    for name in ("/states", "/silent"):
        writer.add_topic(RecordedTopic(name, KIND, [QUALITY]))
    for k, message in enumerate(sent):
        writer.add("/states", BEGIN + k, message)
    writer.close()
    assert (writer.failure, writer.lost("/states"), writer.waiting) == ("", 0, 0)
    with Reader(tmp_path / "bag") as reader:
        assert [raw for _, _, raw in reader.messages()] == sent
        assert {name: each.msgcount for name, each in reader.topics.items()} == {
            "/states": 5000,
            "/silent": 0,
        }
        (connection, _) = reader.connections
        assert connection.ext.offered_qos_profiles == [QUALITY]
        assert "MSG: std_msgs/Header" in connection.msgdef.data
    content = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())
    information = content["rosbag2_bagfile_information"]
    assert (information["version"], information["storage_identifier"]) == (9, "mcap")
    topic = information["topics_with_message_count"][0]["topic_metadata"]
    assert topic["type_description_hash"] == (  # as rclpy states it for a publisher
        "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"
    )
    assert topic["offered_qos_profiles"][0]["reliability"] == "reliable"


def test_full_queue_is_counted(tmp_path):
    """However slow the disk is, every message is in the bag or counted as lost."""
    sent = messages(3000)
    writer = BagWriter(tmp_path / "bag", capacity=3 * len(sent[0]))
    writer.add_topic(RecordedTopic("/states", KIND, ()))
    for k, message in enumerate(sent):
        writer.add("/states", BEGIN + k, message)
    writer.close()
    with Reader(tmp_path / "bag") as reader:
        assert reader.message_count + writer.lost("/states") == len(sent)
    writer = BagWriter(tmp_path / "none", capacity=len(sent[0]) - 1)
    writer.add_topic(RecordedTopic("/states", KIND, ()))
    writer.add("/states", BEGIN, sent[0])
    writer.close()
    assert writer.lost("/states") == 1


def test_full_disk_leaves_a_readable_bag(tmp_path):
    """A file size limit in another process, beyond which the kernel refuses to write."""
    message, count = messages(1)[0], 100_000  # 12 MB
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path / "bag"), message.hex(), str(count)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    failure, lost = json.loads(found.stdout)
    assert failure == f"{tmp_path / 'bag'} cannot be written: File too large"
    with Reader(tmp_path / "bag") as reader:
        kept = [raw for _, _, raw in reader.messages()]
    assert len(kept) > 20_000  # 4 of the 5 MB
    assert set(kept) == {message}
    assert len(kept) + lost == count


def test_whatever_ends_the_writing_is_a_failure(tmp_path, monkeypatch):
    """The thread must not end silently, with every message counted as written."""
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(RecordedTopic("/states", KIND, ()))
    (sent,) = messages(1)

    def refuse(*given):
        raise WriterError("refused")

    monkeypatch.setattr(writer._writer, "write", refuse)
    writer.add("/states", BEGIN, sent)
    writer.close()
    assert "cannot be written: refused" in writer.failure
    assert writer.lost("/states") == 1
    assert not (tmp_path / "bag").exists()  # without a message, it would look like a recording


def test_folders_that_cannot_be_created(tmp_path):
    assert_rejected((lambda: BagWriter(tmp_path), "already exists and is not overwritten"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/bag cannot be written: Not a directory"):
        BagWriter(tmp_path / "file" / "bag")
