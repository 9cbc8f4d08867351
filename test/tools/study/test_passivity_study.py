"""A short version of the study in docs/impedance.md, on both plants."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import PASSIVITY_CLAIMS
from multibody_dynamics.tools.study.passivity_study import (
    HEAD,
    REACH,
    Condition,
    claimed,
    frictionless,
    random_poses,
    row,
    run,
    unclaimed,
)
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm

PAGE = Path(__file__).parents[3] / "docs" / "impedance.md"


@cache
def arm(plant: str):
    return frictionless(load_arm(built_in_robots()["panda"]), plant)


@pytest.mark.parametrize("plant", ["internal", "mujoco"])
def test_an_impedance_creates_no_energy_and_the_row_says_so(plant):
    condition = Condition("joint_impedance", "joint_impedance")
    found = run(arm(plant), condition, 8)
    assert len(found.created) == 8
    assert found.rises() == 0
    cells = row(condition, 8, found).split("|")[1:-1]
    assert len(cells) == len(HEAD)
    assert cells[5].strip() == "0"
    assert row(condition, 8, None).split("|")[3].strip() == "diverges"


def test_poses_are_within_reach_and_the_motors_have_no_friction():
    model, actuators, _, position = arm("internal")
    limits = model.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    poses = random_poses(arm("internal"), 40, [0])
    assert (np.abs(poses - middle) <= REACH * half).all()
    assert not actuators.friction(np.ones(model.n)).any()
    assert position.shape == (model.n,)


def test_every_claim_and_only_known_claims_are_studied():
    assert [each.claim for each in claimed()] == list(PASSIVITY_CLAIMS)
    assert {each.claim for each in unclaimed()} <= set(PASSIVITY_CLAIMS)
    assert PAGE.read_text().count("| " + " | ".join(HEAD) + " |") >= 2
