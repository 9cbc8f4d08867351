# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types of variables, and branches that no row of a table takes."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import c_types
from multibody_dynamics.dynamics.core.errors import InputError
from translated_code import compiled, evaluated, needs_compiler, translated


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
    code = compiled(tmp_path, passed_on, {"x": "double", "count": "int"})
    assert evaluated(code, 0.25, 3) == passed_on(0.25, 3) == 3.75


def without_type(x, count):
    pair = x, count
    if x > 0.0:
        pair = x
    return pair


def into_argument(x, count):
    count = x
    return count


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (without_type, "without_type: one variable is a"),
        (into_argument, "into_argument, line 2: the argument becomes a double"),
    ],
)
def test_types_that_do_not_fit_together_are_refused(wrong, why):
    with pytest.raises(InputError, match=why):
        translated(wrong, {"x": "double", "count": "int"})
