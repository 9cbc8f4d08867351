# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Columns of hysteresis, backlash and kinematic error give the torque of springs that have them."""

import numpy as np
import pytest

from drive_runs import slipped
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    GearHarmonic,
    LinearSpring,
    Motor,
    SeriesElastic,
    SpringSolver,
)
from multibody_dynamics.dynamics.identification.drives.spring_effects import (
    GAP,
    GEAR,
    SLIP,
    SpringEffects,
    slip_elements,
)

T = np.linspace(0.0, 8.0, 4001)
PHI = 0.02 * np.sin(2.3 * T) + 0.011 * np.sin(5.1 * T + 1.0)
EFFECTS = SpringEffects("elbow", 0.03, 100.0)


def test_an_element_that_slips_carries_what_a_spring_law_leaves():
    """Newton steps on the whole law of the reference, K phi + sum k e = Q, with four elements of
    one stiffness and the limits r/4, r/2, 3 r/4 and r, return phi."""
    K, width, reach = 500.0, 2.0, 6e-3
    limits = reach * np.arange(1, 5) / 4
    found = np.zeros((len(PHI), 4))
    slip_elements(PHI - PHI[0], limits, found)
    torque = K * (PHI - PHI[0]) + width / limits.sum() * found.sum(axis=1)
    assert np.abs(slipped(torque, K, width, reach) - (PHI - PHI[0])).max() < 1e-9


def test_elements_stay_within_their_limits_and_follow_between_them():
    slip = EFFECTS.slip(PHI)
    assert (np.abs(slip) <= EFFECTS.limits * (1.0 + 1e-12)).all()
    steps = np.diff(slip, axis=0)
    follows = np.isclose(steps, np.diff(PHI)[:, None], rtol=0.0, atol=1e-15)
    at_limit = np.isclose(np.abs(slip[1:]), EFFECTS.limits)
    assert (follows | at_limit).all()
    assert at_limit.any(axis=0).all()


def test_the_state_at_the_beginning_is_forgotten():
    first = EFFECTS.settled(PHI)
    assert 0 < first < 0.5 * len(PHI)
    before = np.linspace(-0.05, 0.01, 500)  # another past: it ends where PHI begins
    longer = np.concatenate([before + PHI[0] - before[-1], PHI[1:]])
    slip, other = EFFECTS.slip(PHI), EFFECTS.slip(longer)[len(before) - 1 :]
    assert np.abs(slip[:first] - other[:first]).max() > 1e-3
    np.testing.assert_allclose(slip[first:], other[first:], atol=1e-15)


@pytest.mark.parametrize("of_load", [False, True])
def test_the_kinematic_error_is_that_of_the_actuator(of_load):
    """To the first order in the error: (1e-6 of K in torque)."""
    K, a, phase = 800.0, 2e-6, 0.7
    gear = GearHarmonic(2.0, "motor", a, phase)
    actuator = SeriesElastic(Motor(0.3, gear_ratio=100.0), LinearSpring(K), kinematic_error=(gear,))
    solver = SpringSolver(Actuators(("elbow",), (actuator,)))
    theta = np.linspace(0.3, 0.5, len(PHI))
    columns = EFFECTS.columns(theta, PHI, EFFECTS.slip(PHI), of_load=of_load)
    values = dict.fromkeys(EFFECTS.names, 0.0)
    sine, cosine = EFFECTS.groups[GEAR, 2]
    values |= {sine: K * a * np.cos(phase), cosine: K * a * np.sin(phase)}
    found = columns @ [values[name] for name in EFFECTS.names]
    for k in range(0, len(PHI), 97):
        solver.theta[:], solver.q[:] = theta[k], theta[k] - PHI[k]
        solver.update()
        wanted = (solver.load if of_load else solver.torque)[0] - K * PHI[k]
        assert found[k] == pytest.approx(wanted, abs=2e-3 * K * a + 1e-9)


def test_a_gap_is_a_constant_less_torque_beyond_it():
    columns = EFFECTS.columns(0.0 * PHI, PHI, EFFECTS.slip(PHI), of_load=False)
    where = [EFFECTS.names.index(name) for name in EFFECTS.groups[GAP, 0]]
    beyond = np.abs(PHI) > 0.1 * EFFECTS.travel
    np.testing.assert_array_equal(columns[beyond][:, where].T, [-np.sign(PHI[beyond])] * len(where))
    assert (np.abs(columns[:, where]) <= 1.0).all()
    assert not EFFECTS.only({(SLIP, 0)}).groups.get((GAP, 0))
    assert len(EFFECTS.groups[SLIP, 0]) == len(EFFECTS.limits)
