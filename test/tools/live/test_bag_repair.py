# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A bag that was truncated anywhere is readable up to that point."""

import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import Reader, StoragePlugin

from bag_files import BEGIN, joint_state, write_bag
from multibody_dynamics.tools.live.bag_repair import END, complete_chunks, repair
from multibody_dynamics.validation.recordings.bags import Bag

NAMES = [f"joint_with_a_long_name_{k}" for k in range(20)]
MESSAGES = 4000  # 3 chunks


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bags") / "whole"
    messages = [
        (topic, BEGIN + 1000 * k, joint_state(BEGIN + k, NAMES, [0.001 * k] * 20))
        for k in range(MESSAGES // 2)
        for topic in ("/joint_states", "/motor_states")
    ]
    write_bag(folder, messages, plugin=StoragePlugin.MCAP)
    return folder, messages


def contents(folder):
    with Reader(folder) as reader:
        return [(each.topic, at, raw) for each, at, raw in reader.messages()]


@settings(max_examples=15)
@given(share=st.floats(0.0, 1.0))
def test_what_is_complete_remains(whole, tmp_path_factory, share):
    folder, messages = whole
    cut = tmp_path_factory.mktemp("cut") / "bag"
    shutil.copytree(folder, cut)
    (cut / "metadata.yaml").unlink()
    file = cut / "bag.mcap"
    (cut / "whole.mcap").rename(file)
    first = complete_chunks(file)[0]
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.truncate(first + int(share * (size - first)))
    counts = repair(cut, {"sensor_msgs/msg/JointState": "RIHS01_x"})
    found = contents(cut)
    assert found == messages[: len(found)]
    assert sum(counts.values()) == len(found)
    assert file.stat().st_size == complete_chunks(file)[-1] + len(END)
    if share > 0.5:
        assert len(found) > 1000
        overview = Bag(cut).overview  # our own reader
        assert overview.topics == counts
        read = sum(len(part.stamp) for part in Bag(cut).read(["/motor_states"]))
        assert read == counts["/motor_states"]
    text = (cut / "metadata.yaml").read_text()
    assert "type_description_hash: RIHS01_x" in text or not found


def test_file_without_header(tmp_path):
    (tmp_path / "bag.mcap").write_bytes(b"\x89MCAP0\r\n")
    with pytest.raises(OSError, match=r"bag\.mcap has no complete MCAP header: the recording"):
        repair(tmp_path.rename(tmp_path.with_name("bag")), {})
