# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""docs/robots.md: what scripts/robots.py finds here, and no robot that differs from Pinocchio."""

import re

import pytest

from page_scripts import robots as robots_page
from robots import CONFIG

PAGE = robots_page.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((CONFIG / "robots").glob("*.urdf")), ids=lambda p: p.stem)
def test_the_page_has_the_robots_of_the_repository(path):
    row = robots_page.row_of(path.name, path)
    assert row.difference < robots_page.AGREES
    assert row.line() in PAGE.splitlines()


def test_every_robot_of_the_page_agrees():
    own = PAGE.partition("\n## ")[0]  # what follows is not written by this script
    differences = re.findall(r"\| ([^|]*) \|$", own, re.MULTILINE)
    assert len(differences) > 100
    assert set(differences) <= {"Pinocchio", "< 1e-10", "-"}


def test_a_wrong_robot_would_be_seen(tmp_path):
    """The comparison notices a mass that is off by a thousandth."""
    text = (CONFIG / "robots" / "panda.urdf").read_text(encoding="utf-8")
    file = tmp_path / "panda.urdf"
    file.write_text(re.sub(r'<mass value="([^"]*)"', r'<mass value="1\1"', text), encoding="utf-8")
    model = robots_page.dyn.load_urdf(CONFIG / "robots" / "panda.urdf")
    assert robots_page.difference(model, file) > 1e-3
