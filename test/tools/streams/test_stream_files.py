# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Files of recorded streams, and generated ones."""

import json

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from rosbags.rosbag2 import StoragePlugin

from bag_files import BEGIN, STORE, joint_state, write_bag
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.tools.streams.stream_files import (
    TRAJECTORY,
    RecordedStream,
    StreamMessage,
    pilot_stream,
    policy_stream,
    read_stream,
    write_stream,
)
from rejections import assert_rejected

NAMES = ("a", "b")


@pytest.mark.parametrize("make", [policy_stream, pilot_stream])
def test_a_stream_is_read_as_it_was_written(tmp_path, make):
    stream = make(NAMES, np.array([0.1, -0.2]), duration=5.0)
    write_stream(stream, tmp_path / "s.csv")
    again = read_stream(tmp_path / "s.csv")
    assert again.joint_names == NAMES
    assert len(again.messages) == len(stream.messages)
    for one, other in zip(again.messages, stream.messages, strict=True):
        assert one.arrival == other.arrival
        np.testing.assert_array_equal(one.positions, other.positions)
        np.testing.assert_array_equal(one.times, other.times)
    turned = again.ordered(("b", "a"))
    np.testing.assert_array_equal(
        turned.messages[3].positions, stream.messages[3].positions[:, ::-1]
    )
    assert_rejected((lambda: again.ordered(("a", "c")), "missing joint c; the stream has a, b"))


def test_a_policy_sends_chunks_that_are_late_lost_and_anchored_anew():
    stream = policy_stream(NAMES, np.zeros(2), rate=20.0, executed=8, chunk=16, duration=400.0)
    due = np.array([each.times[0] - 0.05 for each in stream.messages])
    late = np.array([each.arrival for each in stream.messages]) - due
    assert late.min() >= 0.0
    assert 0.02 < late.max() <= 0.025
    assert 0.9 < len(stream.messages) / 1000 < 0.98
    before, after = stream.messages[3:5]
    same = np.isclose(before.times[:, None], after.times).nonzero()
    jump = after.positions[same[1]] - before.positions[same[0]]
    assert 0.0 < np.abs(jump).max() <= 0.1
    assert np.ptp(jump, axis=0).max() < 1e-9  # the whole chunk lies beside the one before


def test_rows_without_arrival_arrive_when_they_are_due(tmp_path):
    file = tmp_path / "s.csv"
    file.write_text("t,q a,qd a\n0.0,0.1,0.0\n0.1,0.2,1.0\n")
    first, second = read_stream(file).messages
    assert (first.arrival, second.arrival) == (0.0, 0.1)
    np.testing.assert_array_equal(second.velocities, [[1.0]])


@pytest.mark.parametrize("action", ["action", "action.b.pos"])
def test_an_episode_of_lerobot_is_a_stream(tmp_path, action):
    one = action != "action"
    actions = pyarrow.array([0.1, 0.2] if one else [[0.1, 0.3], [0.2, 0.4]])
    table = pyarrow.table({"timestamp": [0.0, 0.02], action: actions})
    parquet.write_table(table, tmp_path / "episode.parquet")
    stream = read_stream(tmp_path / "episode.parquet")
    assert stream.joint_names == (("b",) if one else ("joint1", "joint2"))
    assert [each.arrival for each in stream.messages] == [0.0, 0.02]
    wanted = [0.2] if one else [0.2, 0.4]
    np.testing.assert_array_equal(stream.messages[1].positions, [wanted])


def test_an_episode_of_a_data_set_has_the_names_of_its_joints(tmp_path):
    file = tmp_path / "data" / "chunk-000" / "file-000.parquet"
    file.parent.mkdir(parents=True)
    (tmp_path / "meta").mkdir()
    info = {"features": {"action": {"names": ["elbow.pos", "gripper.pos"]}}}
    (tmp_path / "meta" / "info.json").write_text(json.dumps(info))
    table = {
        "timestamp": [0.0, 0.02, 0.0, 0.02],
        "episode_index": [3, 3, 4, 4],
        "action": [[0.1, 1.0], [0.2, 1.0], [0.3, 1.0], [0.4, 1.0]],
    }
    parquet.write_table(pyarrow.table(table), file)
    stream = read_stream(file, episode=4)
    assert stream.joint_names == ("elbow", "gripper")
    np.testing.assert_array_equal(stream.messages[1].positions, [[0.4, 1.0]])
    assert read_stream(file, episode=3, joints=("a", "b")).joint_names == NAMES
    assert_rejected(
        (lambda: read_stream(file), "file-000.parquet: episodes 3 to 4: choose one"),
        (lambda: read_stream(file, episode=3, joints=("a",)), "2 actions, but 1 names: a"),
    )


def trajectory(stamp, names, times, positions):
    """A serialised JointTrajectory; stamp in ns, times in s."""
    types = STORE.types
    time, duration = (types[f"builtin_interfaces/msg/{kind}"] for kind in ("Time", "Duration"))
    point, none = types["trajectory_msgs/msg/JointTrajectoryPoint"], np.zeros(0)
    points = [
        point(np.array(q, float), none, none, none, duration(*divmod(round(1e9 * t), 10**9)))
        for t, q in zip(times, positions, strict=True)
    ]
    header = types["std_msgs/msg/Header"](time(*divmod(stamp, 10**9)), "")
    return bytes(STORE.serialize_cdr(types[TRAJECTORY](header, list(names), points), TRAJECTORY))


@pytest.mark.parametrize("plugin", StoragePlugin)
def test_a_bag_is_a_stream_of_the_points_that_were_due(tmp_path, plugin):
    late = 20_000_000  # ns, from the stamp to the recorder
    velocity = [2.0, 3.0]
    states = [
        ("/arm/joint_states", BEGIN, joint_state(BEGIN, NAMES, [0.0, 0.0])),
        *(
            ("/arm/joint_targets", at + late,
             joint_state(at, NAMES[::-1] if k else NAMES, [0.1 * k, 1.0], velocity))
            for k in range(3)
            for at in [BEGIN + k * 10**8]
        ),
        ("/policy/chunks", BEGIN + 10**9, trajectory(0, NAMES, [0.1, 0.2], [[1, 2], [3, 4]])),
        ("/policy/chunks", BEGIN + 2 * 10**9, trajectory(0, NAMES, [], [])),
        ("/policy/chunks", BEGIN + 3 * 10**9, trajectory(BEGIN, NAMES, [2.5], [[5, 6]])),
    ]  # fmt: skip
    path = write_bag(tmp_path / "bag", states, plugin=plugin, kinds={"/policy/chunks": TRAJECTORY})
    stream = read_stream(path)
    assert stream.joint_names == NAMES
    np.testing.assert_allclose([each.arrival for each in stream.messages], [0.02, 0.12, 0.22])
    np.testing.assert_allclose([each.times[0] for each in stream.messages], [0.0, 0.1, 0.2])
    np.testing.assert_allclose(stream.messages[2].positions, [[1.0, 0.2]])
    np.testing.assert_allclose(stream.messages[2].velocities, [[3.0, 2.0]])
    chunk, last = read_stream(path, "/policy/chunks").messages
    np.testing.assert_allclose(chunk.times, [1.1, 1.2])
    np.testing.assert_allclose(chunk.positions, [[1.0, 2.0], [3.0, 4.0]])
    assert chunk.velocities is None
    assert (last.arrival, last.times[0]) == (3.0, 2.5)
    assert_rejected((lambda: read_stream(path, "/tf"), "bag: expected one topic /policy/chunks"))


def test_an_operator_may_pause_for_as_long_as_he_likes(tmp_path):
    file = tmp_path / "pilot.csv"
    times = [*0.05 * np.arange(40), 3600.0, *7200.0 + 0.05 * np.arange(40)]
    file.write_text("t,q a\n" + "".join(f"{t},0.5\n" for t in times))
    stream = read_stream(file)
    assert [each.arrival for each in stream.messages] == times
    arrivals = np.array([each.arrival for each in stream.with_pauses(5.0).messages])
    dues = np.array([each.times[0] for each in stream.with_pauses(5.0).messages])
    np.testing.assert_allclose(arrivals, [*times[:40], 6.95, *11.95 + 0.05 * np.arange(40)])
    np.testing.assert_allclose(dues, arrivals)


def test_a_chunk_is_replayed_to_its_end_before_a_pause():
    chunk = StreamMessage(0.0, np.array([0.0, 20.0]), np.zeros((2, 1)), None)
    late = StreamMessage(100.0, np.array([100.0]), np.zeros((1, 1)), None)
    stream = RecordedStream(("a",), (chunk, late)).with_pauses(5.0)
    assert [each.arrival for each in stream.messages] == [0.0, 25.0]
    assert stream.messages[1].times == [25.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,x\n0,1\n", "expected the columns t and 'q JOINT'"),
        ("t,q a\n0,1\n0.1,\n", "positions: row 1 is not finite"),
        ("t,arrival,q a\n0,1,0\n0,0,0\n", "not in the order of arrival"),
        ("t,q a\n0,1\n50,1\n1e8,1\n", "3 targets, typically 5e.07 s apart: .* in seconds"),
        (
            "t,q a\n" + "".join(f"{50 * k},1\n" for k in range(20)),  # 20 Hz, in ms
            "20 targets, typically 50 s apart: .* in seconds",
        ),
        ("t,arrival,q a\n0,0,0\n1e6,1,0\n", "due at 1e.06 s arrives at 1 s: .* same clock"),
    ],
)
def test_files_that_are_no_streams_are_named(tmp_path, text, words):
    file = tmp_path / "s.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_stream(file)
    assert_rejected((lambda: read_stream(tmp_path / "s.txt"), "s.txt: must end in"))
