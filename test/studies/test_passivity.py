# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A short version of the study in docs/impedance.md, on both plants."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import worker_processes
from studies import passivity
from studies.passivity import (
    Condition,
    Part,
    claimed,
    run,
    run_part,
    unclaimed,
)
from studies.passivity_claims import PASSIVITY_CLAIMS


@pytest.mark.parametrize("plant", ["internal", "mujoco"])
def test_an_impedance_creates_no_energy(plant):
    condition = Condition("joint_impedance", "joint_impedance")
    found = run(plant, condition, 8)
    assert len(found.created) == 8
    assert found.rises() == 0


def test_parts_of_a_row_do_not_depend_on_the_processes_that_run_them(monkeypatch):
    monkeypatch.setattr(passivity, "PART", 2)
    condition = Condition("changing", "joint_impedance, changing", options={"restiffens": True})
    with worker_processes(2) as executor:
        found = run("internal", condition, 5, 3, executor)
    again = [run_part(Part("internal", condition, size, (3, k))) for k, size in ((2, 1), (1, 2))]
    assert len(found.created) == 5
    for column, last, middle in zip(found, *again, strict=True):
        assert np.array_equal(column[4:], last)
        assert np.array_equal(column[2:4], middle)


def test_every_claim_and_only_known_claims_are_studied():
    assert [each.claim for each in claimed()] == list(PASSIVITY_CLAIMS)
    assert {each.claim for each in unclaimed()} <= set(PASSIVITY_CLAIMS)
