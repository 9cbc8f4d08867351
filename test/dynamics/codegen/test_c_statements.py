# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Translated statements: loops in both directions, assignments of tuples, declarations."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen.c_types import ArrayType
from multibody_dynamics.dynamics.core.errors import InputError
from translated_code import compiled, evaluated, needs_compiler, translated

REAL_AND_COUNT = {"x": "double", "count": "int"}


def rotated(x, count):
    """Values that depend on variables which the same assignment overwrites."""
    one, other, third = x, 2.0 * x, 3.0
    for k in range(count, 0, -1):
        if k == 2:
            continue
        one, other, third = other + k, third, one
        if k == 1:
            break
    found = one
    while found > 10.0:
        found -= third
    return found + other / 16.0


@needs_compiler
def test_loops_and_assignments_of_tuples_mean_the_same_in_c(tmp_path):
    text = translated(rotated, REAL_AND_COUNT)
    assert "copy_1" in text
    assert "for (int k = count; k > 0; --k) {" in text
    code = compiled(tmp_path, rotated, REAL_AND_COUNT)
    for x, count in ((0.5, 7), (9.5, 3), (12.0, 1), (3.0, 0)):
        assert evaluated(code, x, count) == rotated(x, count)


def running_sums(values, sums):
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k]
        sums[k] = last = total
    sums[0] -= last
    return 0.0


@needs_compiler
def test_arrays_are_written_in_place(tmp_path):
    code = compiled(tmp_path, running_sums, {name: ArrayType("double", (4,)) for name in
                                             ("values", "sums")})  # fmt: skip
    values, found, expected = np.array([0.1, 0.2, -0.5, 3.0]), np.zeros(4), np.zeros(4)
    code(values.ctypes, found.ctypes)
    running_sums(values, expected)
    np.testing.assert_array_equal(found, expected)


def divided_in_place(x, count):
    count /= 2
    return x + count


def by_two(x, count):
    for k in range(0, count, 2):
        x = x + k
    return x


def over_rows(x, count):
    for k in (x, count):
        x = k
    return x


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (divided_in_place, "divided_in_place, line 2: .*floating"),
        (by_two, "by_two, line 2: only ranges with a step of one"),
        (over_rows, "over_rows, line 2: only loops over a range"),
    ],
)
def test_statements_outside_the_subset_are_named(wrong, why):
    with pytest.raises(InputError, match=why):
        translated(wrong, REAL_AND_COUNT)
