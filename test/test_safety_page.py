# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""docs/safety.md: every line of its tables names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = re.sub(  # the generated table of faults has one test for all its lines
    "<!-- begin faults -->.*<!-- end faults -->",
    "",
    (ROOT / "docs" / "safety.md").read_text(),
    flags=re.DOTALL,
)
TESTS = {
    name
    for file in (ROOT / "test").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
}
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not set(line) <= set("|- ")]
HEADS = [line for line in ROWS if line.rstrip("| ").endswith("| test")]


def test_every_table_has_a_column_of_tests():
    assert len(HEADS) == 7


def test_the_text_names_tests_that_exist():
    assert set(re.findall(r"`(test_\w+)`", PAGE)) <= TESTS


@pytest.mark.parametrize("row", [row for row in ROWS if row not in HEADS])
def test_every_line_names_its_tests(row):
    named = re.findall(r"`(test_\w+)`", row.rpartition("| ")[2] or row.split("|")[-2])
    assert named, row
    assert set(named) <= TESTS, set(named) - TESTS
