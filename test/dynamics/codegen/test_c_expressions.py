# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Translated expressions: signs, divisions, comparisons, choices; what is decided beforehand."""

import numpy as np

from multibody_dynamics.dynamics.codegen import c_types
from rejections import assert_rejected
from translated_code import compiled, evaluated, needs_compiler, translated

REAL_AND_COUNT = {"x": "double", "count": "int"}


def twice_negative(x, count):
    return -(-x) + count // 2  # noqa: B002


def floor_of_real(x, count):
    return x // 2 + count


def power(x, count):
    return 2.0**x + count


def quotient(x, y, count):
    return float(count) / float(2) + 0.0 * (x + y)


def _doubled(x):
    return 2.0 * x


def called_in_a_chain(x, count):
    return 1.0 if 0.0 < _doubled(x) < count else 0.0


def among(x, count):
    return 1.0 if x in (1.0, 2.0) else 0.0


def choices(x, y):
    return (x if x < y <= 2.0 else -y) - (1.0 if not (x > 0.0 or y > 0.0) else abs(x))


def floor_division(x, count):
    return max(x, count // 2, -1.0)


@needs_compiler
def test_two_signs_are_no_decrement(tmp_path):
    code = compiled(tmp_path, twice_negative, REAL_AND_COUNT)
    assert evaluated(code, 1.5, 5) == 3.5


@needs_compiler
def test_integers_become_doubles_before_they_are_divided(tmp_path):
    code = compiled(tmp_path, quotient, {"x": "double", "y": "double", "count": "int"})
    assert evaluated(code, 1.0, 2.0, 5) == 2.5


@needs_compiler
def test_choices_and_comparisons_mean_the_same_in_c(tmp_path):
    code = compiled(tmp_path, choices, {"x": "double", "y": "double"})
    for x, y in np.random.default_rng(1).uniform(-3.0, 3.0, (100, 2)).tolist():
        assert evaluated(code, x, y) == choices(x, y)


@needs_compiler
def test_the_largest_of_several_numbers(tmp_path):
    code = compiled(tmp_path, floor_division, REAL_AND_COUNT)
    for x, count in ((0.5, 7), (9.5, 7), (-3.0, 0)):
        assert evaluated(code, x, count) == floor_division(x, count)


def test_what_is_outside_the_subset_is_named():
    assert_rejected(*(
        (lambda wrong=wrong: translated(wrong, REAL_AND_COUNT), words)
        for wrong, words in (
            (floor_of_real, "floor_of_real, line 2: integers"),
            (power, "power, line 2: 2.0 ** x"),
            (called_in_a_chain, "would run twice: _doubled(x)"),
            (among, "among, line 2: 'In' is not in the subset"),
        )
    ))  # fmt: skip


def scaled(rows, i, x):
    return rows[i, 0] * x + rows[i, 1] * x


def both_kinds(rows, i, x):
    is_first = rows[i, 0] == 1.0 and rows[i, 1] > 2.0
    is_other = rows[i, 0] > 3.0 or rows[i, 1] > 5.0
    is_late = x > 0.0 and rows[i, 0] > 3.0
    return (2.0 if is_first else 3.0) + (4.0 if is_other else 5.0) + (6.0 if is_late else x)


@needs_compiler
def test_conditions_that_are_decided_beforehand_have_a_value(tmp_path):
    rows = np.array([[1.0, 3.0], [1.0, 4.0]])
    types = {"rows": c_types.table("ROWS", rows), "i": "int", "x": "double"}
    code = compiled(tmp_path, both_kinds, types, {"ROWS": rows})
    assert evaluated(code, 1, 0.5) == both_kinds(rows, 1, 0.5) == 7.5


def whole_number(rows, i, x):
    return x if int(rows[i, 1]) > 4 else -x


def test_the_whole_parts_of_known_values_are_known():
    rows = np.array([[1.0, 3.0], [1.0, 4.5]])
    types = {"rows": c_types.table("ROWS", rows), "i": "int", "x": "double"}
    assert "return -x;" in translated(whole_number, types, {"ROWS": rows})


def test_factors_that_are_always_one_vanish():
    rows = np.array([[1.0, 3.0], [1.0, 4.0]])
    types = {"rows": c_types.table("ROWS", rows), "i": "int", "x": "double"}
    assert "return x + ROWS[i][1] * x;" in translated(scaled, types, {"ROWS": rows})
