# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The claims of passivity: in one table, in the documentation, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contacts import frictionless_arm
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS
from multibody_dynamics.dynamics.control.laws.passivity_claims import (
    PASSIVITY_CLAIMS,
    TORQUE_SOURCE,
)
from multibody_dynamics.dynamics.control.laws.stored_energy import check_claim
from multibody_dynamics.dynamics.core.errors import InputError

PAGE = Path(__file__).parents[4] / "docs" / "impedance.md"
OF_SINE_WAVES = {"passive_share", "evaluate_torque", "BOUT"}
"""Names whose documentation speaks of sinusoidal motion of one joint, or of the contacts."""


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


def test_the_face_claims_passivity_only_for_laws_in_the_table():
    """Its lines that call something passive, or say that no energy is created."""
    named = {name for claim in PASSIVITY_CLAIMS.values() for name in claim.names}
    claiming = set()
    for line in (control.__doc__ or "").splitlines():
        found = re.match(r"(\w+)\s+.*passiv", line)
        if found and not line.startswith(("PASSIVITY", "Passivity", "stored_energy", "power_")):
            claiming.add(found.group(1))
    assert claiming - OF_SINE_WAVES == named
    assert named <= set(control.__all__)


@pytest.mark.parametrize("name", PASSIVITY_CLAIMS)
def test_every_claim_gives_a_law_with_a_storage_function(name):
    claim = PASSIVITY_CLAIMS[name]
    assert claim.law in {*LAWS, TORQUE_SOURCE}
    model, actuators, rest = frictionless_arm()
    law = claim.controller(model, actuators, rest, period=2e-3)
    assert law.period == 2e-3
    check_claim(law)


def test_the_torque_source_takes_no_settings_of_a_law():
    model, actuators, rest = frictionless_arm()
    with pytest.raises(InputError, match="torque_source: takes no settings"):
        PASSIVITY_CLAIMS[TORQUE_SOURCE].controller(model, actuators, rest, bandwidth=3.0)
