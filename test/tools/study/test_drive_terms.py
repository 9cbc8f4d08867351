# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The terms by which a law knows the effects of the simulated drives."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.plant import DriveEffects
from multibody_dynamics.dynamics.plant.drive_effects import EffectTables, slip_torque
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.drive_terms import with_drive_terms
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import STUDIED_LAWS
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm


def panda():
    return load_arm(built_in_robots()["panda"])


def test_each_joint_gets_the_terms_of_its_own_effects():
    actuators = panda().actuators
    names = actuators.joint_names
    known = with_drive_terms(
        actuators,
        DriveEffects(
            link_coulomb={names[1]: 3.0},
            motor_coulomb=0.5,
            motor_load=0.02,
            gear_error={names[2]: 1e-4},
            gear_harmonic=200.0,
            backlash={names[3]: 1e-3},
        ),
    )
    for i, (before, after) in enumerate(zip(actuators.actuators, known.actuators, strict=True)):
        assert after.link_friction.coulomb == (3.0 if i == 1 else 0.0)
        assert after.motor.coulomb == before.motor.coulomb + 0.5
        assert after.motor.load_friction == 0.02
        assert [each.amplitude for each in after.kinematic_error] == ([1e-4] if i == 2 else [])
        assert (after.spring != before.spring) == (i == 3)
    (harmonic,) = known.actuators[2].kinematic_error
    assert harmonic.order * actuators.actuators[2].motor.gear_ratio == pytest.approx(200.0)


@pytest.mark.parametrize("travel", [1e-4, 2e-3, 1e-2])
def test_slip_elements_carry_what_those_of_the_plant_carry(travel):
    actuators = panda().actuators
    effects = DriveEffects(hysteresis=2.0, hysteresis_deflection=4e-3)
    springs = EffectTables.of(effects, actuators).springs
    elements = with_drive_terms(actuators, effects).actuators[0].hysteresis
    ours = sum(min(each.stiffness * travel, each.torque) for each in elements)
    state = np.zeros((len(springs), len(elements)))
    assert ours == pytest.approx(slip_torque(springs, 0, travel, state, state.copy()))


@pytest.mark.parametrize(
    ("effect", "share"), [("link-friction", 0.4), ("hysteresis", 0.3), ("gear-error", 0.3)]
)
def test_a_law_that_knows_the_effects_loses_most_of_their_error(effect, share):
    law = STUDIED_LAWS["pd-full-comp"]
    without, known = (
        simulate(panda(), law, CONDITIONS[each], until=2.0) for each in (effect, f"{effect}-known")
    )
    assert not without.lost
    assert not known.lost
    assert known.rms < share * without.rms
