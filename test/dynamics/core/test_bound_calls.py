# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Calls with fixed arrays: the results, memory and copies of calls with all arguments."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import (
    Array,
    BoundCall,
    IndependentCopies,
    Integers,
    compiled_exactly,
)


class Scales(NamedTuple):
    gain: float
    power: int
    rows: Array
    which: Integers


@compiled_exactly
def scaled_sum(s, nothing, out, count, share, offsets):
    """out_i = gain^power * rows_i,which_i * share + offsets_i, counting the calls."""
    count[0] += 1
    for i in range(out.shape[0]):
        value = s.rows[i, s.which[i]] * share + offsets[i]
        for _ in range(s.power):
            value *= s.gain
        out[i] = value if nothing is None else 0.0
    return count[0]


ROWS = np.arange(6.0).reshape(3, 2)
SCALES = Scales(2.0, 3, ROWS, np.array([0, 1, 1]))
OFFSETS = np.array([0.5, 0.25, 0.125])
EXPECTED = 8.0 * (0.5 * np.array([0.0, 3.0, 5.0]) + OFFSETS)


class Counter(IndependentCopies):
    """An object that owns arrays, and a call that is bound to them."""

    def __init__(self) -> None:
        both = np.zeros((2, 3))
        self.out, self.count = both[1], np.zeros(1, dtype=np.int64)
        self.add = BoundCall(scaled_sum, SCALES, None, self.out, self.count)


def test_results_are_written_to_the_given_arrays_and_others_may_vary():
    made = Counter()
    assert [made.add(0.5, OFFSETS) for _ in range(3)] == [1, 2, 3]
    np.testing.assert_array_equal(made.out, EXPECTED)
    made.add(0.0, OFFSETS)
    np.testing.assert_array_equal(made.out, 8.0 * OFFSETS)


def test_arguments_among_those_that_are_given_may_be_left_to_the_calls():
    out, count = np.zeros(3), np.zeros(1, dtype=np.int64)
    bound = BoundCall(scaled_sum, ..., None, out, count, ..., OFFSETS)
    assert bound(SCALES, 0.5) == 1
    np.testing.assert_array_equal(out, EXPECTED)
    bound = BoundCall(scaled_sum, SCALES, None, ..., count)
    assert bound(out, 0.0, OFFSETS) == 2
    np.testing.assert_array_equal(out, 8.0 * OFFSETS)


@pytest.mark.parametrize(
    "out", [np.zeros(3, dtype=np.float32), np.zeros((3, 2))[:, 1]], ids=["float32", "column"]
)
def test_arrays_that_no_table_can_describe_are_handed_over_as_they_are(out):
    bound = BoundCall(scaled_sum, ..., None, out, np.zeros(1, dtype=np.int64))
    bound(SCALES, 0.5, OFFSETS)
    np.testing.assert_array_equal(out, EXPECTED)


@pytest.mark.parametrize("out", [np.zeros(3), np.zeros((3, 2))[:, 1]], ids=["bound", "unbound"])
def test_too_few_arguments_and_those_within_records_are_refused(out):
    count = np.zeros(1, dtype=np.int64)
    bound = BoundCall(scaled_sum, ..., None, out, count, ..., OFFSETS)
    for few in (), (SCALES,):
        with pytest.raises(TypeError, match="argument"):
            bound(*few)
    with pytest.raises(TypeError, match="record Scales"):
        BoundCall(scaled_sum, SCALES._replace(gain=...), None, out, count)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_works_on_the_arrays_of_the_copy(copied):
    made = Counter()
    made.add(0.5, OFFSETS)
    other = copied(made)
    assert other.add(0.0, OFFSETS) == 2
    assert other.count[0] == 2
    np.testing.assert_array_equal(other.out, 8.0 * OFFSETS)
    assert made.count[0] == 1
    np.testing.assert_array_equal(made.out, EXPECTED)


def test_the_arrays_live_as_long_as_the_call():
    bound = Counter().add
    filled = [np.full((2, 3), 7.0) for _ in range(100)]  # would reuse freed memory
    bound(0.5, OFFSETS)
    assert all((each == 7.0).all() for each in filled)
