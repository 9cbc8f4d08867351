# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The closed loops in docs/robots.md, and what scripts/loops.py finds for a small robot."""

from page_scripts import loops as loops_page
from robots import CONFIG


def test_the_robots_of_the_page_reach_their_goals():
    rows = loops_page.rows_of(loops_page.PAGE.read_text(encoding="utf-8"))
    assert len(rows) >= 5
    failed = {file for file, row in rows.items() if not row.endswith("| < 1e-3 |")}
    assert failed == {"schunk.urdf"}  # a mass matrix that is singular even with assumed motors


def test_a_robot_without_motors_or_springs_reaches_its_goal(ros_domain_id, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros_domain_id))
    found = loops_page.closed_loop(CONFIG / "robots" / "planar_two_link.urdf")
    assert found.off < loops_page.SMALL
    assert found.line() == "| planar_two_link | `planar_two_link.urdf` | 2 | 0 | < 1e-3 |"


def test_a_robot_that_does_not_load_has_its_error_in_the_table(tmp_path):
    file = tmp_path / "empty.urdf"
    file.write_text('<robot name="empty"><link name="base"/></robot>', encoding="utf-8")
    found = loops_page.closed_loop(file)
    assert found.off is None
    assert "no moving joint" in found.line()
