"""A short version of the study in docs/collisions.md, on both plants."""

from __future__ import annotations

from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.tools.study.collision_study import (
    CONTACTS,
    HEAD,
    Impact,
    Push,
    Study,
    Wall,
    random_motions,
    row,
)
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm

PAGE = Path(__file__).parents[3] / "docs" / "collisions.md"


@cache
def learned():
    """Thresholds from seconds instead of a minute."""
    return Study("internal").learn(6.0)


@pytest.mark.parametrize("plant", ["internal", "mujoco"])
def test_hits_are_found_in_time_and_motion_is_not(plant):
    study = Study(plant)
    thresholds = learned().thresholds
    alarms = study.quiet(thresholds, 1.5)
    assert alarms.alarms == 0
    assert 0.0 < alarms.largest < 1.0
    (found,) = study.hits(thresholds, Impact(200.0), 1)
    assert found.time <= 0.02
    assert found.force <= 200.0 + 1e-9


def test_random_motions_stay_within_the_limits_and_end_where_the_next_begins():
    model = load_arm(built_in_robots()["panda"]).model
    limits = model.limits
    motions = list(islice(random_motions(model, 4), 12))
    for motion, following in pairwise(motions):
        q = motion.sample(np.linspace(0.0, motion.end_time, 100))
        assert ((q[:, 0] > limits.lower) & (q[:, 0] < limits.upper)).all()
        assert (np.abs(q[:, 1]) < 0.65 * limits.velocity).all()
        np.testing.assert_allclose(q[-1], following(0.0), atol=1e-9)


def test_contacts_act_as_described():
    point, push, velocity = np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.5, 0.0, 0.0])
    impact = Impact(100.0, 0.02)
    force = impact.force(push, point, velocity)
    np.testing.assert_allclose(force(0.01, point, velocity), 100.0 * push)
    assert not force(0.03, point, velocity).any()
    t = np.linspace(0.0, 0.02, 1001)
    impulse = np.trapezoid([force(each, point, velocity)[2] for each in t], t)
    assert f"{impulse:.2g} N s" in str(impact)
    wall = Wall(1e4, damping=0.0).force(push, point, velocity)
    np.testing.assert_allclose(wall(0.0, 1e-3 * velocity, velocity), [-5.0, 0.0, 0.0])
    assert not wall(0.0, -1e-3 * velocity, velocity).any()
    np.testing.assert_allclose(
        Push(40.0).force(push, point, velocity)(1.0, point, point), 20 * push
    )


def test_the_page_has_the_rows_and_columns_of_the_tool():
    text = PAGE.read_text()
    assert text.count("| " + " | ".join(HEAD) + " |") == 2
    for contact in CONTACTS:
        assert text.count(f"| {contact} |") == 2
    assert row(CONTACTS[0], []).count("|") == len(HEAD) + 1
