# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""JointState messages from their bytes: the numbers of a deserializer, or an error."""

import numpy as np
import pytest

from bag_files import JOINT_STATE, STORE, joint_state
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.recordings.joint_state_layout import (
    JointStateLayout,
    JointStateReader,
    Packed,
    Samples,
)


def deserialized(raw):
    message = STORE.deserialize_cdr(raw, JOINT_STATE)
    stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
    rows = [message.position, message.velocity, message.effort]
    return tuple(message.name), stamp, rows


def some(count, names, seed=0, fields=(True, True, True)):
    rng = np.random.default_rng(seed)
    size = len(names)
    return [
        joint_state(
            1_700_000_000_999_999_999 + k * 1_234_567,
            names,
            *(rng.normal(size=size) if has else () for has in fields),
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("names", [["a"], ["elbow", "wrist_12"], [f"j{i}" for i in range(9)], []])
@pytest.mark.parametrize("fields", [(True, True, True), (True, False, True), (False, False, False)])
def test_numbers_equal_those_of_the_deserializer(names, fields):
    raw = some(5, names, fields=fields)
    ((found, which, samples),) = JointStateReader().read([Packed.of(raw)])
    assert which.tolist() == list(range(5))
    for k, message in enumerate(raw):
        expected, stamp, rows = deserialized(message)
        assert found == expected
        assert samples.stamp[k] == stamp
        for row, numbers in zip(samples.rows[k], rows, strict=True):
            assert np.array_equal(row, numbers) if len(numbers) else np.isnan(row).all()


def test_layouts_may_change_and_mix():
    first, second = some(6, ["a", "b"]), some(6, ["c", "d"], seed=1)  # of one length
    third = some(6, ["a", "b", "c"], seed=2)
    mixed = [raw for group in zip(first, second, third, strict=True) for raw in group]
    reader = JointStateReader()
    for _ in range(2):
        found = {
            names: (which, samples) for names, which, samples in reader.read([Packed.of(mixed)])
        }
        assert set(found) == {("a", "b"), ("c", "d"), ("a", "b", "c")}
        for names, (which, samples) in found.items():
            for k, i in enumerate(which):
                expected, stamp, rows = deserialized(mixed[i])
                assert (names, samples.stamp[k]) == (expected, stamp)
                assert np.array_equal(samples.rows[k], rows)


def test_messages_with_and_without_velocities_stay_in_order():
    names = ["a", "b"]
    bare, full = some(4, names, fields=(True, False, True)), some(4, names, seed=3)
    mixed = [bare[0], full[1], bare[2], full[3]]
    ((found, which, samples),) = JointStateReader().read([Packed.of(mixed)])
    assert found == ("a", "b")
    assert which.tolist() == [0, 1, 2, 3]
    assert np.isnan(samples.rows[[0, 2], 1]).all()
    assert np.isfinite(samples.rows[[1, 3]]).all()


def test_big_endian_bytes():
    raw = joint_state(5_000_000_007, ["a", "b"], [1.5, 2.5], [], [3.5, -1.0])
    message = STORE.deserialize_cdr(raw, JOINT_STATE)
    big = bytes(STORE.serialize_cdr(message, JOINT_STATE, little_endian=False))
    ((names, _, samples),) = JointStateReader().read([Packed.of([big])])
    assert names == ("a", "b")
    assert samples.stamp[0] == 5_000_000_007
    assert samples.rows[0, 2].tolist() == [3.5, -1.0]


def test_written_messages_are_read_back():
    raw = some(1, ["a", "b", "c"])[0]
    layout = JointStateLayout.of(raw)
    rng = np.random.default_rng(4)
    samples = Samples(np.array([7, 5_000_000_003, 2**60]), rng.normal(size=(3, 3, 3)))
    block = layout.write(samples)
    assert layout.fits(block).all()
    back = layout.read(block)
    assert np.array_equal(back.stamp, samples.stamp)
    assert np.array_equal(back.rows, samples.rows)
    assert deserialized(block[1].tobytes())[1] == 5_000_000_003


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a CDR message"),
        (b"\x00\x09\x00\x00abcdef", "not a CDR message"),
        (some(1, ["a", "b"])[0][:60], "is truncated"),
        (joint_state(0, ["a", "b"], [1.0, 2.0, 3.0]), "2 names, but 3 numbers in position"),
        (b"\x00\x01\x00\x00" + b"\xff" * 40, "is truncated"),
    ],
)
def test_malformed_messages_raise(raw, message):
    with pytest.raises(InputError, match=message):
        JointStateLayout.of(raw)
    reader, good = JointStateReader(), some(3, ["a", "b"])
    ((_, which, _),) = reader.read([Packed.of([good[0], raw, good[1], raw, good[2]])])
    assert which.tolist() == [0, 2, 4]
    assert reader.refused == 2
    assert message in reader.reason
