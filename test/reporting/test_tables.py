# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of text and numbers."""

import numpy as np
import pytest

from multibody_dynamics.reporting.tables import Table, cell, text_table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (12345, "12345"),
        (np.int64(3), "3"),
        (True, "True"),
        (1234.56, "1235"),
        (np.float64(0.000123456), "0.0001235"),
        (None, "-"),
        (float("nan"), "-"),
        (-np.inf, "-"),
    ],
)
def test_cells(value, text):
    assert cell(value, 4) == text


def test_numbers_are_aligned_to_the_right_in_columns_as_wide_as_their_cells():
    lines = text_table(("joint", "rms", "kind"), [("a", 0.5, "x"), ("elbow", None, "hinge")], 2)
    assert lines == ["  joint  rms  kind", "  a      0.5  x", "  elbow    -  hinge"]
    assert text_table(("joint",), []) == []


def test_empty_columns_are_left_out():
    table = Table.of(("a", "b", "c"), [("x", "", 1.0), ("y", "-", 2.0)]).condensed()
    assert table == Table(("a", "c"), (("x", "1"), ("y", "2")))


def test_a_minority_of_columns_of_a_single_value_is_written_below():
    rows = [("x", 1.0, 5, ""), ("y", 2.0, 5, "-"), ("z", 3.0, 5, None)]
    table = Table.of(("a", "b", "c", "d"), rows).condensed()
    assert table.heads == ("a", "b")
    assert table.note == "In every row: c 5."
    same = Table.of(("a", "b", "c"), [(name, 1.0, 5) for name in "xyz"])
    assert same.condensed() == same
    short = Table.of(("a", "b", "c"), [row[:3] for row in rows[:2]])
    assert short.condensed() == short


def test_the_first_column_stays():
    table = Table.of(("", "b"), [("", 1.0), ("", 2.0)])
    assert table.condensed() == table
