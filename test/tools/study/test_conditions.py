# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The conditions of the study."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.study import conditions
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import STUDIED_LAWS
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm


def test_every_group_has_conditions_and_every_condition_a_group():
    assert {each.group for each in conditions.CONDITIONS.values()} == set(conditions.GROUPS)
    for names in (conditions.KEY_GROUPS, conditions.MAIN_GROUPS, conditions.OTHER_STIFFNESS_GROUPS):
        assert set(names) <= set(conditions.GROUPS)


def test_all_named_conditions_exist():
    for part in ("all", "links", "springs", "motors", "friction"):
        for error in (10, 20, 30):
            assert conditions.CONDITIONS[f"{part}-{error}"].error == error / 100
    for delay in (1, 3, 5):
        assert conditions.CONDITIONS[f"delay-{delay}-unknown"].known_delay == 0.0
        known = conditions.CONDITIONS[f"delay-{delay}-known"]
        assert known.delay == known.known_delay == pytest.approx(1e-3 * delay)
    assert conditions.CONDITIONS["500-hz"].period == 2e-3


def test_encoders_have_bits_per_turn_or_are_exact():
    assert conditions.CONDITIONS["exact"].resolution == pytest.approx(2.0 * np.pi / 2**18)
    assert conditions.CONDITIONS["bits-14"].resolution == pytest.approx(
        16.0 * conditions.CONDITIONS["exact"].resolution
    )


def test_effects_are_shares_of_the_effort_limits():
    arm = load_arm(built_in_robots()["panda"])
    plant = arm.plant("internal", conditions.CONDITIONS["link-friction"].effects)
    assert plant.effects.link_static == pytest.approx(0.05 * arm.model.limits.effort)
    assert arm.plant("internal", conditions.CONDITIONS["base-10"].effects).base.shape == (6,)
    with pytest.raises(InputError, match="MuJoCo plant has no effects"):
        arm.plant("mujoco", conditions.CONDITIONS["backlash"].effects)


def test_the_default_law_stays_stable_on_a_soft_base_where_that_for_a_rigid_one_oscillates():
    arm, law = load_arm(built_in_robots()["panda"]), STUDIED_LAWS["pd-full-comp"]
    unknown, known = (
        simulate(arm, law, conditions.CONDITIONS[each], until=0.6)
        for each in ("base-10-unknown", "base-10")
    )
    assert known.rms < 2e-3
    assert unknown.peak > 5.0 * known.peak


def test_names_choose_groups():
    assert conditions.chosen_groups(["error", "exact"]) == ("exact", "error")
    assert conditions.chosen_groups(["all"]) == tuple(conditions.GROUPS)
    with pytest.raises(InputError, match="conditions 'storm': expected all or some of exact, "):
        conditions.chosen_groups(["storm"])
