# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The claims of passivity are those of the documentation, and all have a storage function."""

import re
from pathlib import Path

import numpy as np
import pytest

from contacts import frictionless_arm
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS
from studies.passivity_claims import (
    PASSIVITY_CLAIMS,
    TORQUE_SOURCE,
)
from studies.stored_energy import ArmStates, stored_energy

PAGE = Path(__file__).parents[2] / "docs" / "impedance.md"


def rows(head: str) -> dict[str, list[str]]:
    """The rows of the table of the page whose first line begins like this, by their first cell."""
    lines = PAGE.read_text().split(f"\n{head}")[1].split("\n\n")[0].splitlines()[2:]
    cells = [re.split(r"\s*\|\s*", line)[1:-1] for line in lines]
    return {row[0].replace("`", ""): row[1:] for row in cells}


def test_the_page_makes_the_claims_of_the_table():
    found = rows("| claim | conditions | 1 ms cycles |")
    assert list(found) == list(PASSIVITY_CLAIMS)
    for name, claim in PASSIVITY_CLAIMS.items():
        conditions, sampled = found[name]
        assert conditions == claim.conditions
        assert sampled == ("yes" if claim.sampled else "no")


@pytest.mark.parametrize("name", PASSIVITY_CLAIMS)
def test_every_claim_gives_a_law_with_a_storage_function(name):
    claim = PASSIVITY_CLAIMS[name]
    assert claim.law in {*LAWS, TORQUE_SOURCE}
    model, actuators, rest = frictionless_arm()
    law = claim.controller(model, actuators, rest, period=2e-3)
    assert law.period == 2e-3
    states = ArmStates(*(np.stack([row, row]) for row in np.zeros((4, model.n))))
    assert np.ptp(stored_energy(law, states, rest)) == 0.0
