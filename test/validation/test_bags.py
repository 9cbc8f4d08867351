# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bags of every kind, intact and damaged, and tables: the same samples, or a helpful error."""

import shutil
from io import BytesIO

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from bag_files import BEGIN, joint_state, write_bag
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.recordings import Bag, Recording
from multibody_dynamics.validation.recordings.tables import read_table
from rejections import assert_rejected

NAMES = ("a", "b")
COUNT = 2000
ROWS = np.random.default_rng(0).normal(size=(COUNT, 3, 2))
STAMPS = BEGIN + 1_000_000 * np.arange(COUNT)
MESSAGES = [
    ("/robot/states", int(at), joint_state(at, NAMES, *row))
    for at, row in zip(STAMPS, ROWS, strict=True)
]
SQLITE3, MCAP = StoragePlugin.SQLITE3, StoragePlugin.MCAP


def everything(path, **options):
    parts = list(Recording(path).read(**options))
    return (
        np.concatenate([part.stamp for part in parts]),
        np.concatenate([part.rows for part in parts]),
    )


def is_all(path):
    stamps, rows = everything(path)
    return np.array_equal(stamps, STAMPS) and np.array_equal(rows, ROWS)


@pytest.mark.parametrize("plugin", [SQLITE3, MCAP])
@pytest.mark.parametrize("mode", [CompressionMode.FILE, CompressionMode.MESSAGE])
def test_compressed_bags(tmp_path, plugin, mode):
    path = write_bag(tmp_path / "bag", MESSAGES, plugin=plugin, mode=mode)
    assert is_all(path)
    seen = Bag(path).overview
    assert seen.topics == {"/robot/states": COUNT}
    assert (seen.begin, seen.end) == (STAMPS[0], STAMPS[-1])


def test_an_mcap_with_compressed_chunks(tmp_path):
    path = write_bag(tmp_path / "bag", MESSAGES, plugin=MCAP, mode=CompressionMode.STORAGE)
    assert is_all(path)


@pytest.mark.parametrize(("plugin", "ending"), [(SQLITE3, "db3"), (MCAP, "mcap")])
def test_a_single_file_without_metadata(tmp_path, plugin, ending):
    path = write_bag(tmp_path / "bag", MESSAGES, plugin=plugin)
    assert is_all(path / f"bag.{ending}")


@pytest.mark.parametrize(("plugin", "ending"), [(SQLITE3, "db3"), (MCAP, "mcap")])
def test_files_listed_out_of_order_and_counts_of_zero(tmp_path, plugin, ending):
    """As `ros2 bag reindex` lists them, and as a recorder leaves them that is killed."""
    third = COUNT // 3
    parts = [MESSAGES[:third], MESSAGES[third : 2 * third], MESSAGES[2 * third :]]
    bags = [write_bag(tmp_path / f"part{k}", part, plugin=plugin) for k, part in enumerate(parts)]
    for k in (1, 2):
        shutil.copy(bags[k] / f"part{k}.{ending}", bags[0])
    file = bags[0] / "metadata.yaml"
    content = yaml.safe_load(file.read_text())
    info = content["rosbag2_bagfile_information"]
    info["relative_file_paths"] = [f"part{k}.{ending}" for k in (2, 0, 1)]
    info["message_count"] = info["topics_with_message_count"][0]["message_count"] = 0
    info["duration"]["nanoseconds"] = info["starting_time"]["nanoseconds_since_epoch"] = 0
    file.write_text(yaml.safe_dump(content))
    assert is_all(bags[0])
    seen = Bag(bags[0]).overview
    assert seen.topics == {"/robot/states": COUNT}
    assert (seen.begin, seen.end) == (STAMPS[0], STAMPS[-1])
    info["topics_with_message_count"] = []
    file.write_text(yaml.safe_dump(content))
    assert is_all(bags[0])


@pytest.mark.parametrize(("plugin", "ending"), [(SQLITE3, "db3"), (MCAP, "mcap")])
def test_a_file_that_the_metadata_does_not_list_is_named(tmp_path, plugin, ending):
    """As a recorder leaves it that is killed after a split."""
    half = COUNT // 2
    path = write_bag(tmp_path / "bag", MESSAGES[:half], plugin=plugin)
    rest = write_bag(tmp_path / "rest", MESSAGES[half:], plugin=plugin)
    shutil.copy(rest / f"rest.{ending}", path)
    (path / "report.txt").write_text("no messages")
    found = []
    with pytest.raises(InputError, match=rf"bag: rest\.{ending} is not listed .*ros2 bag reindex"):
        found.extend(Bag(path).read())
    assert sum(len(samples.stamp) for samples in found) == half


def test_part_of_the_time_and_progress(tmp_path):
    path = write_bag(tmp_path / "bag", MESSAGES)
    stamps, _ = everything(path, start=int(STAMPS[10]), stop=int(STAMPS[30]))
    assert np.array_equal(stamps, STAMPS[10:30])
    reported = []
    list(Bag(path).read(batch=700, progress=lambda *x: reported.append(x)))
    assert reported == [(700, COUNT), (1400, COUNT), (COUNT, COUNT)]


def test_topics_are_chosen_and_others_ignored(tmp_path):
    text = b"\x00\x01\x00\x00\x03\x00\x00\x00hi\x00\x00"
    other = [("/other", int(at), joint_state(at, ("c",), [1.0])) for at in STAMPS[:50]]
    path = write_bag(
        tmp_path / "bag",
        sorted([*MESSAGES, *other, ("/chatter", int(STAMPS[0]), text)], key=lambda x: x[1]),
        kinds={"/chatter": "std_msgs/msg/String"},
    )
    assert Bag(path).overview.topics == {"/other": 50, "/robot/states": COUNT}
    assert len(everything(path, topics=["/other"])[0]) == 50
    with pytest.raises(InputError, match=r"no joint states on /chatter.*/other, /robot/states"):
        list(Bag(path).read(["/chatter"]))


# damaged


def rejection(path):
    with pytest.raises(InputError) as caught:
        everything(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_files_that_are_not_recordings(tmp_path):
    assert "not exist" in rejection(tmp_path / "absent")
    empty = tmp_path / "folder"
    empty.mkdir()
    assert "ros2 bag reindex" in rejection(empty)
    (empty / "metadata.yaml").write_text("rosbag2_bagfile_information: [")
    assert "not a readable recording" in rejection(empty)
    for ending in ("mcap", "db3", "txt"):
        file = tmp_path / f"file.{ending}"
        file.write_bytes(b"")
        assert "not a readable recording" in rejection(file)
        file.write_bytes(b"no bag at all" * 100)
        assert "not a readable recording" in rejection(file)
    assert "expected the folder of a bag, or a .mcap" in rejection(file)


def test_a_bag_without_messages(tmp_path):
    path = write_bag(tmp_path / "bag", [], kinds={"/joint_states": "sensor_msgs/msg/JointState"})
    assert list(Recording(path).read()) == []
    none = write_bag(tmp_path / "none", [], kinds={"/chatter": "std_msgs/msg/String"})
    with pytest.raises(InputError, match=r"no topic of type .*/chatter \(std_msgs/msg/String\)"):
        list(Recording(none).read())


def test_the_error_for_a_truncated_mcap_has_advice(tmp_path):
    path = write_bag(tmp_path / "bag", MESSAGES, plugin=MCAP)
    file = path / "bag.mcap"
    file.write_bytes(file.read_bytes()[:-5000])
    assert "mcap recover" in rejection(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:8],
        lambda data: data + data,
        lambda data: data[:-600] + bytes(300) + data[-300:],
    ],
)
def test_an_mcap_file_with_wrong_offsets_is_called_damaged(tmp_path, damage):
    path = write_bag(tmp_path / "bag", MESSAGES, plugin=MCAP, mode=CompressionMode.STORAGE)
    file = path / "bag.mcap"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=r"bag\.mcap: not a readable recording: damaged or trunc"):
        Bag(file)


def test_the_error_for_damaged_sqlite_pages_has_advice(tmp_path):
    path = write_bag(tmp_path / "bag", MESSAGES)
    file = path / "bag.db3"
    file.write_bytes(file.read_bytes()[:-50_000])
    assert ".recover" in rejection(path)


def test_malformed_messages_are_left_out_and_reported(tmp_path):
    bad = [("/robot/states", int(at) + 1, b"\x00\x01\x00\x00\x01") for at in STAMPS[[5, 1500]]]
    path = write_bag(tmp_path / "bag", sorted([*MESSAGES, *bad], key=lambda x: x[1]))
    found = []
    with pytest.raises(InputError, match="2 messages were skipped: a JointState of 5 bytes"):
        found.extend(part.stamp for part in Bag(path).read(batch=100))
    assert np.array_equal(np.concatenate(found), STAMPS)


def test_messages_before_damage_are_read(tmp_path):
    long = [
        (topic, at + k * 10**10, raw) for k in range(5) for topic, at, raw in MESSAGES
    ]  # several chunks
    path = write_bag(tmp_path / "bag", long, plugin=MCAP, mode=CompressionMode.STORAGE)
    file = path / "bag.mcap"
    raw = bytearray(file.read_bytes())
    middle = slice(len(raw) * 6 // 10, len(raw) * 7 // 10)
    raw[middle] = bytes(len(raw[middle]))
    file.write_bytes(raw)
    found = []
    with pytest.raises(InputError, match=r"bag: bag\.mcap: the chunk at byte .* is damaged"):
        found.extend(Bag(path).read(batch=100))
    assert sum(len(part.stamp) for part in found) >= 1000


# tables


def test_tables_have_the_same_samples(tmp_path):
    t = 1e-3 * np.arange(50)
    rows = ROWS[:50]
    names = ["t", "q a", "q b", "tau a", "tau b", "qd b", "qd a"]
    columns = [t, *rows[:, 0].T, *rows[:, 2].T, rows[:, 1, 1], rows[:, 1, 0]]
    file = tmp_path / "motion.csv"
    np.savetxt(file, np.stack(columns, axis=1), "%.17g", ",", header=",".join(names), comments="")
    np.savez(
        tmp_path / "motion.npz",
        **{"t": t, "q": rows[:, 0], "qd": rows[:, 1], "tau": rows[:, 2], "joint_names": NAMES},
    )
    for path in (file, tmp_path / "motion.npz"):
        found = read_table(path)
        assert found.names == NAMES
        assert np.array_equal(found.stamp, 1_000_000 * np.arange(50))
        assert np.array_equal(found.rows, rows)
        assert Recording(path).overview.topics == {path.name: 50}
        stamps, _ = everything(path, start=10_000_000, stop=20_000_000)
        assert len(stamps) == 10


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_tables_of_springs_distinguish_joint_and_motor_torque(tmp_path, kind):
    signals = {name: ROWS[:50, 0] + k for k, name in enumerate(("q", "theta", "Q", "tau"))}

    def table(*without):
        kept = {name: rows for name, rows in signals.items() if name not in without}
        file = tmp_path / f"motion.{kind}"
        t = 1e-3 * np.arange(50)
        if kind == "npz":
            np.savez(file, t=t, joint_names=NAMES, **kept)
            return file
        head = ["t", *(f"{name} {joint}" for name in kept for joint in NAMES)]
        columns = np.column_stack([t, *kept.values()])
        np.savetxt(file, columns, "%.17g", ",", header=",".join(head), comments="")
        return file

    for effort, signal in (("joint", "Q"), ("motor", "tau")):
        assert np.array_equal(read_table(table(), effort).rows[:, 2], signals[signal])
    assert_rejected((lambda: read_table(table("Q")), "tau is the motor torque; use --effort motor"))
    assert np.array_equal(read_table(table("Q"), "motor").rows[:, 2], signals["tau"])
    assert np.isnan(read_table(table("tau"), "motor").rows[:, 2]).all()
    assert np.array_equal(read_table(table("theta", "Q")).rows[:, 2], signals["tau"])


def test_empty_cells_are_nan(tmp_path):
    file = tmp_path / "motion.csv"
    file.write_text("t,q a,tau a\n0,1,2\n0.1,,3\n0.2,nan,4\n")
    found = read_table(file)
    assert np.isnan(found.rows[1:, 0]).all()
    assert np.isnan(found.rows[:, 1]).all()
    assert found.rows[:, 2, 0].tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("t,q a\n", "no rows"),
        ("time,q a\n0,1\n", "no column is named t, .* the first line.* is 'time,q a'"),
        ("0,1\n1,2\n", "no column is named t, .* the first line.* is '0,1'"),
        ("t;q a\n0;1\n", "separated by commas.* the first line.* is 't;q a'"),
        ("t\tq a\n0\t1\n", "separated by commas"),
        ("# of a robot\nt,q a\n0,1\n", "the first line.* is '# of a robot'"),
        ("t,q a,q  a\n0,1,1\n", "duplicate column 'q a'"),
        ("t [s],q a\n0,1\n", r"'t \[s\]' must be without its unit"),
        ("t,q a (deg)\n0,1\n", r"'q a \(deg\)' must be without its unit"),
        ("t,q a,q b\n0,1\n", "line 2: 2 cells in 3 columns"),
        ("t,q a\n\n0,1\n1,2,3\n", r"line 4: 3 cells in 2 columns; .*decimal commas\?"),
        ("t,q a\n0,1\n1,true\n", "line 3: q a is 'true'"),
        ("t,q a\n0,1\n1,1_0\n", "not a table of numbers: .*1_0"),
        ("t,q a\n0,1\n1,\xff\n".encode("latin-1"), "not a table in UTF-8"),
        ("t,q a\n0,1\n".encode("utf-16"), "not a table in UTF-8"),
        ("t,a\n0,1\n1,2\n", "in columns named 'q JOINT' or 'theta MOTOR'; it has t, a"),
        ("t,q a\n3,1\n2,2\n1,3\n", "t decreases"),
        ("t,q a\n0,1\n0,2\n0,3\n1,4\n1,5\n", "t has too few digits: 3 of 5 rows repeat"),
        ("t,q a\n0,1\n0,2\n.01,3\n.01,4\n.02,5\n.02,6\n", "3 of 6 rows repeat the time before"),
        ("t,q a\n0,1\n1,x2\n", "not a table of numbers: .*x2"),
        ("t,q a\n0,1\n1e12,1\n", "t reaches 1e\\+12: expected seconds"),
        ("t,q a\nnan,1\n1,2\n", "t has NaN"),
        ("t,q a\n0,1\n0,2\n", "t is zero"),
    ],
)
def test_malformed_tables_raise(tmp_path, text, message):
    file = tmp_path / "motion.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=message):
        read_table(file)


@pytest.mark.parametrize(
    "text",
    [
        "\ufefft,q a\r\n0,1\r\n1,2\r\n",
        "# t,  q  a\n\n0,1\n# a pause\n1,2\n",
        'extra,"q a","t"\n,"1","0"\n,"2","1"\n',
        "t,q a,\n0,1,\n1,2,\n",
        "t,q a,temperature motor [C]\n0,1,30\n1,2,31\n",
        "t,q a\n0,1\n1,2",
    ],
)
def test_harmless_oddities_of_tables_are_understood(tmp_path, text):
    file = tmp_path / "motion.csv"
    file.write_bytes(text.encode())
    found = read_table(file)
    assert found.names == ("a",)
    assert found.rows[:, 0, 0].tolist() == [1.0, 2.0]


def test_rows_before_the_clock_began_are_no_times_of_few_digits(tmp_path):
    file = tmp_path / "motion.csv"
    times = [*np.zeros(20), *0.005 * np.arange(1, 12)]
    file.write_text("t,q a\n" + "".join(f"{t:.3f},{k}\n" for k, t in enumerate(times)))
    assert read_table(file).rows[-1, 0, 0] == 30.0


def test_malformed_archives_raise(tmp_path):
    file = tmp_path / "motion.npz"

    def archive(t, q=((0.0,), (0.0,)), **names):
        np.savez(file, t=t, q=q, **names)
        return read_table(file)

    def raw(content):
        file.write_bytes(content)
        return read_table(file)

    unnamed, a = BytesIO(), {"joint_names": ["a"]}
    np.save(unnamed, ROWS)
    assert_rejected(
        (lambda: raw(b"no archive"), "not a NumPy archive"),
        (lambda: raw(unnamed.getvalue()), "a single unnamed array"),
        (lambda: archive([0.0, 1.0]), "joint_names is missing"),
        (lambda: archive([0.0, 1.0, 2.0], **a), "q is (2, 1)"),
        (lambda: archive([["0"], ["1"]], **a), "t is (2, 1) of <U1"),
        (lambda: archive(["0", "1"], **a), "t is (2,) of <U1"),
        (lambda: read_table(tmp_path / "absent.csv"), "no such file"),
    )
