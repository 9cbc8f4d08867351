# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Times and keys of trajectories in files: nothing is lost, and nothing ignored."""

from decimal import Decimal

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.recordings import from_start, read_columns, write_columns
from multibody_dynamics.validation.recordings.tables import read_table
from multibody_dynamics.validation.trajectory_files import read_points, write_points

START = Decimal(1764300000)
COUNT = 400


def table(folder, start, step):
    """A table as a program writes it that has the times as decimals."""
    rows = [f"{start + k * step},{float(np.sin(0.03 * k))!r}" for k in range(COUNT)]
    file = folder / f"at_{start}.csv"
    file.write_text("\n".join(["t,q j", *rows]) + "\n")
    return file


@pytest.mark.parametrize(
    ("start", "step"),
    [
        (START, Decimal("0.01")),
        (START + Decimal("0.123456"), Decimal("0.001")),
        (START, Decimal("0.0005")),
    ],
)
def test_unix_times_lose_no_digit(tmp_path, start, step):
    unix, zero = (read_points(table(tmp_path, t, step)) for t in (start, Decimal(0)))
    np.testing.assert_array_equal(unix.times, zero.times)
    slow = write_points(unix.slower(1.65), tmp_path / "slow")
    again = read_points(slow)
    np.testing.assert_array_equal(again.times, 1.65 * zero.times)
    np.testing.assert_array_equal(again.data, zero.data)


def test_a_start_that_is_not_unix_time_is_kept(tmp_path):
    points = read_points(table(tmp_path, Decimal("2.5"), Decimal("0.01")))
    assert points.times[0] == 2.5
    assert points.slower(2.0).times[[0, 1]].tolist() == pytest.approx([2.5, 2.52])
    assert from_start(np.zeros(0)).shape == (0,)


def test_stamps_of_a_recording_with_unix_times_are_exact(tmp_path):
    file = table(tmp_path, START, Decimal("0.001"))
    text = file.read_text().replace("t,q j", "t,tau j")
    rows = [f"{line},0" for line in text.splitlines()]
    file.write_text("\n".join(["t,tau j,q j", *rows[1:]]))
    np.testing.assert_array_equal(
        read_table(file).stamp, int(START) * 10**9 + 10**6 * np.arange(COUNT)
    )


def test_tables_are_written_with_all_digits(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(50, 2)) * [1e-9, 1e9]
    columns = {"t": np.arange(50.0), "a": numbers[:, 0], "b": numbers[:, 1]}
    write_columns(tmp_path / "t.csv", columns)
    found = read_columns(tmp_path / "t.csv")
    assert list(found) == ["t", "a", "b"]
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name], column)


def points_file(tmp_path, *times, more=""):
    rows = [
        f"- {{positions: [{k}.0, 0.5], time_from_start: {time}{more}}}"
        for k, time in enumerate(times)
    ]
    file = tmp_path / "motion.yaml"
    file.write_text("\n".join(["joint_names: [a, b]", "points:", *rows]) + "\n")
    return file


@pytest.mark.parametrize(
    "times",
    [
        ("{sec: 0, nanosec: 250000000}", "{sec: 1, nanosec: 500000000}", "{sec: 3}"),
        ("{secs: 0, nsecs: 250000000}", "{secs: 1, nsecs: 500000000}", "{secs: 3, nsecs: 0}"),
        ("{nsec: 250000000}", "{sec: 1, nsec: 500000000}", "{sec: 3}"),
        ("{sec: 0.25}", "{sec: 1.5}", "{sec: 3.0}"),
    ],
)
def test_durations_of_ros_2_and_ros_1(tmp_path, times):
    assert read_points(points_file(tmp_path, *times)).times.tolist() == [0.25, 1.5, 3.0]


def test_stamps_in_unix_time_are_exact(tmp_path):
    times = [f"{{sec: 1764300000, nanosec: {10_000_000 * k}}}" for k in range(50)]
    found = read_points(points_file(tmp_path, *times)).times
    np.testing.assert_array_equal(found, np.arange(50) / 100)


@pytest.mark.parametrize(
    ("times", "more", "text"),
    [
        (("{sec: 0, nanosecs: 5}",), "", "point 1: unknown key 'nanosecs'; did you mean nanosec?"),
        (("{seconds: 1}",), "", "time_from_start of point 1: unknown key 'seconds'"),
        (("{}",), "", "must have sec and nanosec"),
        (("1.5",), "", "must have sec and nanosec, not 1.5"),
        (("{sec: 1, secs: 1}",), "", "sec, secs mean the same"),
        (("{sec: x}",), "", "must be a list of numbers"),
        (("{sec: .inf}",), "", "is not finite"),
        (("{sec: 0}", "{sec: 1}"), ", velocity: [0, 0]", "unknown key 'velocity'; did you mean"),
        (("{sec: 0}", "{sec: 1}"), ", acceleration: [0, 0]", "did you mean accelerations?"),
        (("{sec: 0}", "{sec: 1}"), ", q: [0, 0]", "point 1: unknown key 'q'; expected some of"),
    ],
)
def test_unknown_keys_are_refused(tmp_path, times, more, text):
    file = points_file(tmp_path, *times, more=more)
    with pytest.raises(InputError) as caught:
        read_points(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("joint_names: [a]\ntimes: [0, 1]\nposition: [[0], [1]]\n", "'position'; did you mean"),
        ("joint_name: [a]\ntimes: [0, 1]\npositions: [[0], [1]]\n", "did you mean joint_names?"),
        ("times: [0, 1]\npositions: [[0], [1]]\n", "'joint_names' is missing"),
        ("joint_names: [a]\npositions: [[0], [1]]\n", "'times' is missing"),
        ("joint_names: [a]\ntimes: [0, 1]\npositions: [[0], [1e300]]\n", "too large"),
    ],
)
def test_arrays_with_unknown_or_missing_keys(tmp_path, text, message):
    file = tmp_path / "motion.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message.replace("?", r"\?")) as caught:
        read_points(file)
    assert str(file) in str(caught.value)


def test_effort_and_header_of_a_message_are_known(tmp_path):
    file = points_file(tmp_path, "{sec: 0}", "{sec: 1}", more=", effort: [], velocities: [0, 0]")
    file.write_text("header: {stamp: {sec: 0}, frame_id: x}\n" + file.read_text())
    assert read_points(file).data.shape == (3, 2, 2)
