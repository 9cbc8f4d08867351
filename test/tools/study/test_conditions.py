# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The conditions of the study."""

import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.tools.study import conditions
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import STUDIED_LAWS
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm


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
