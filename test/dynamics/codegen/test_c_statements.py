# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Statements: types and branches that no row of a table takes, what nobody reads, and the text."""

import ast
import textwrap

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import c_types
from multibody_dynamics.dynamics.codegen.c_statements import without_unused
from multibody_dynamics.dynamics.codegen.c_types import ArrayType
from rejections import assert_rejected
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


def test_what_is_outside_the_subset_is_named():
    assert_rejected(*(
        (lambda wrong=wrong: translated(wrong, REAL_AND_COUNT), f"{wrong.__name__} {why}")
        for wrong, why in (
            (divided_in_place, "line 2: floating"),
            (by_two, "line 2: only ranges with a step of one"),
            (over_rows, "line 2: only loops over a range"),
            (without_type, "one variable is a"),
            (into_argument, "line 2: the argument becomes a double"),
        )
    ))  # fmt: skip


def cases(rows, i):
    """A result that depends on the kind in a row."""
    kind, unused = rows[i, 0], rows[i, 1]
    if kind == 1.0:
        return rows[i, 1]
    if kind > 2.0:
        return -unused
    return 0.0


def test_cases_that_do_not_occur_in_a_table_vanish():
    same = np.array([[1.0, 3.0], [1.0, 4.0]])
    both = np.array([[1.0, 3.0], [2.0, 4.0]])
    texts = [
        translated(cases, {"rows": c_types.table("ROWS", rows), "i": "int"}, {"ROWS": rows})
        for rows in (same, both)
    ]
    assert "if" not in texts[0].split("*/")[1]
    assert "return ROWS[i][1];" in texts[0]
    assert "kind == 1.0" in texts[1]
    assert "-unused" not in texts[1]
    assert "A result that depends on the kind in a row." in texts[1]
    assert "static const double ROWS[2][2]" in texts[1]


def passed_on(x, count):
    """The type of `first` depends on that of `last`, which is known at the end of the loop."""
    first = middle = last = 0
    for _ in range(count):
        first = middle
        middle = last
        last = x + 1
    return first + middle + last


@needs_compiler
def test_types_settle_through_loops(tmp_path):
    code = compiled(tmp_path, passed_on, REAL_AND_COUNT)
    assert evaluated(code, 0.25, 3) == passed_on(0.25, 3) == 3.75


def without_type(x, count):
    pair = x, count
    if x > 0.0:
        pair = x
    return pair


def into_argument(x, count):
    count = x
    return count


def cleaned(text, read):
    body = ast.parse(textwrap.dedent(text)).body
    return ast.unparse(ast.Module(without_unused(body, set(read)), []))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("x = 1\nunused = 2", "x = 1"),
        ("x = unused = 1", "x = 1"),
        ("x, unused = 1, 2", "x = 1"),
        ("x, unused, y = 1, 2, 3", "x, y = (1, 3)"),
        ("x, unused = pair", "x, _ = pair"),
        ("unused, other = pair", ""),
        ("for k in range(3):\n    unused = k", ""),
        ("while x:\n    unused = 1", ""),
        ("if x:\n    y = 1\nelse:\n    unused = 2", "if x:\n    y = 1"),
        ("if x:\n    unused = 1\nelse:\n    y = 2", "if not x:\n    y = 2"),
        ("if x:\n    unused = 1\nelse:\n    other = 2", ""),
        ("x[0] = unused", "x[0] = unused"),
        ("call(x)", "call(x)"),
        ("return x", "return x"),
    ],
)
def test_what_is_never_read_is_removed(text, left):
    left = ast.unparse(ast.parse(left))  # as this version of Python writes it
    assert cleaned(text, {"x", "y"}) == left
    assert cleaned(left, {"x", "y"}) == left
