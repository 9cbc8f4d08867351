# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The table of changes."""

import math

from multibody_dynamics.tools.robot.changes_table import Change, WrittenBack
from multibody_dynamics.tools.robot.identified_results import Figure


def row(change):
    (line,) = WrittenBack(changes=[change]).table().splitlines()[2:]
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_rows():
    assert row(Change("a", "mass", 2.0, Figure(2.5, 0.125))) == [
        "a", "mass", "2", "2.5", "0.12", "+25.0 %", "",
    ]  # fmt: skip
    assert row(Change("a", "com.x", 0.0, Figure(0.1, math.nan, False), "in b"))[4:] == [
        "-", "-", "in b; not determined on its own, only together with others",
    ]  # fmt: skip
    assert row(Change("a", "gain", None, Figure(1.0)))[2:6] == ["-", "1", "-", "-"]
    assert "previous value kept" in row(Change("a", "mass", 2.0, Figure(2.0, determined=False)))[6]
    assert row(Change("a", "iyz", -3e-16, Figure(5e-4)))[5] == "-"
