# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The bag contains what was added, or says what it does not contain."""

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
from browser import wait
from multibody_dynamics.dynamics import InputError
from multibody_dynamics.tools.live.bag_writer import LOOK, BagWriter, RecordedTopic
from multibody_dynamics.tools.live.message_definitions import MessageTypes
from rejections import assert_rejected

FOREVER = QosTime(9223372036, 854775807)
QUALITY = Qos(
    QosHistory.KEEP_LAST, 10, QosReliability.RELIABLE, QosDurability.VOLATILE,
    FOREVER, FOREVER, QosLiveliness.AUTOMATIC, FOREVER, False,
)  # fmt: skip
KIND = MessageTypes().find("sensor_msgs/msg/JointState")


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


def test_a_bag_ends_complete_before_the_disk_is_full(tmp_path):
    """The disk counts as full from the second look at it on."""
    (message,) = messages(1)
    full = 2**62
    writer = BagWriter(tmp_path / "bag", reserve=0)
    writer.add_topic(RecordedTopic("/states", KIND, ()))
    count = 3 * LOOK // len(message)
    for k in range(count):
        writer.add("/states", BEGIN + k, message)
        if k == count // 2:
            wait(lambda: writer.waiting == 0, "the disk", 30)
            writer._reserve = full
    writer.close()
    assert writer.failure == f"{tmp_path / 'bag'}: fewer than {1e-6 * full:g} MB are free"
    with Reader(tmp_path / "bag") as reader:
        assert count / 3 < reader.message_count < 0.9 * count
        assert reader.message_count + writer.lost("/states") == count


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
    assert "cannot be written: refused; `mcap recover` saves the rest" in writer.failure
    assert writer.lost("/states") == 1


def test_folders_that_cannot_be_created(tmp_path):
    assert_rejected((lambda: BagWriter(tmp_path), "already exists and is not overwritten"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/bag cannot be written: Not a directory"):
        BagWriter(tmp_path / "file" / "bag")
