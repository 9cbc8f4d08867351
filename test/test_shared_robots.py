# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Published robots of the shared data, also those with <mimic>, against Pinocchio."""

import pytest

from conftest import SHARED
from page_scripts import robots as robots_page

ROBOTS = sorted((SHARED / "robots").glob("*.urdf"))


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_torques_are_those_of_pinocchio(path):
    row = robots_page.row_of(path.name, path)
    assert row.difference is not None
    assert row.difference < robots_page.AGREES


def test_there_are_robots_with_dependent_joints():
    rows = [robots_page.row_of(path.name, path) for path in ROBOTS]
    assert sum(row.dependent > 0 for row in rows) >= 3
