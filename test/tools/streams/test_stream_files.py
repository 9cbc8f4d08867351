# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Files of recorded streams, and generated ones."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.tools.streams.stream_files import (
    pilot_stream,
    policy_stream,
    read_stream,
    write_stream,
)

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
    with pytest.raises(InputError, match="missing joint c; the stream has a, b"):
        again.ordered(("a", "c"))


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,x\n0,1\n", "expected the columns t and 'q JOINT'"),
        ("t,q a\n0,1\n0.1,\n", "positions: row 1 is not finite"),
        ("t,arrival,q a\n0,1,0\n0,0,0\n", "not in the order of arrival"),
    ],
)
def test_files_that_are_no_streams_are_named(tmp_path, text, words):
    file = tmp_path / "s.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_stream(file)
    with pytest.raises(InputError, match=r"s\.txt: must end in"):
        read_stream(tmp_path / "s.txt")
