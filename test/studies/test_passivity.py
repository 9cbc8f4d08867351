# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A short version of the study in docs/impedance.md, on both plants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from multibody_dynamics.tools.base.parallel import processes
from studies import passivity
from studies.passivity import (
    HEAD,
    REACH,
    Condition,
    Part,
    claimed,
    random_poses,
    row,
    run,
    run_part,
    studied_arm,
    unclaimed,
)
from studies.passivity_claims import PASSIVITY_CLAIMS

PAGE = Path(__file__).parents[2] / "docs" / "impedance.md"


@pytest.mark.parametrize("plant", ["internal", "mujoco"])
def test_an_impedance_creates_no_energy_and_the_row_says_so(plant):
    condition = Condition("joint_impedance", "joint_impedance")
    found = run(plant, condition, 8)
    assert len(found.created) == 8
    assert found.rises() == 0
    cells = row(condition, 8, found).split("|")[1:-1]
    assert len(cells) == len(HEAD)
    assert cells[5].strip() == "0"
    assert row(condition, 8, None).split("|")[3].strip() == "diverges"


def test_parts_of_a_row_do_not_depend_on_the_processes_that_run_them(monkeypatch):
    monkeypatch.setattr(passivity, "PART", 2)
    condition = Condition("changing", "joint_impedance, changing", options={"restiffens": True})
    with processes(2) as executor:
        found = run("internal", condition, 5, 3, executor)
    again = [run_part(Part("internal", condition, size, (3, k))) for k, size in ((2, 1), (1, 2))]
    assert len(found.created) == 5
    for column, last, middle in zip(found, *again, strict=True):
        assert np.array_equal(column[4:], last)
        assert np.array_equal(column[2:4], middle)


def test_poses_are_within_reach_and_the_motors_have_no_friction():
    model, actuators, _, position = studied_arm("internal")
    limits = model.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    poses = random_poses(studied_arm("internal"), 40, [0])
    assert (np.abs(poses - middle) <= REACH * half).all()
    assert not actuators.friction(np.ones(model.n)).any()
    assert position.shape == (model.n,)


def test_every_claim_and_only_known_claims_are_studied():
    assert [each.claim for each in claimed()] == list(PASSIVITY_CLAIMS)
    assert {each.claim for each in unclaimed()} <= set(PASSIVITY_CLAIMS)
    assert PAGE.read_text().count("| " + " | ".join(HEAD) + " |") >= 2
