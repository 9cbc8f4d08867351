# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of an arm that may change while it runs are declared once."""

from dataclasses import fields

import pytest

from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.core.errors import InputError


def test_every_default_is_within_its_bounds():
    for each in fields(ArmSettings):
        assert each.metadata["description"]
        if bounds := each.metadata["bounds"]:
            assert bounds[0] <= each.default <= bounds[1], each.name


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("collision_reaction", "flee", "collision_reaction 'flee': expected one of off, report"),
        ("stop_timeout", 0.0, "stop_timeout is 0.0 s: must be from 0.1 to 600"),
        ("recovery_limit", -1, "recovery_limit is -1: must be from 0 to 1000"),
        ("lookahead", float("nan"), "lookahead is nan s: must be from 0 to 1"),
    ],
)
def test_what_a_declaration_excludes_is_refused_by_name(name, value, says):
    with pytest.raises(InputError, match=says):
        ArmSettings(**{name: value})
