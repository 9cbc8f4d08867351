# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The energy stored under a law, against the storage functions of the control cycle."""

import numpy as np
import pytest

from contacts import ARMS, claimed, random_states
from elastic_arms import at_start, linear_arm
from studies.stored_energy import arm_energy, stored_energy


@pytest.mark.parametrize("make", ARMS)
@pytest.mark.parametrize("law", ["joint_impedance", "cartesian_impedance"])
def test_batches_agree_with_the_storage_of_the_law(make, law):
    """Differences between states, since each is defined up to a constant."""
    arm = make()
    made, n = claimed(arm, law), arm.model.n
    states = random_states(arm, 6, np.random.default_rng(1))
    desired = np.zeros((5, n))
    desired[0] = arm.rest
    made.update(desired, *(row[0] for row in states))
    own = [made.storage(*(row[k] for row in states)) for k in range(6)]
    found = stored_energy(made, states, arm.rest)
    np.testing.assert_allclose(found - found[0], np.array(own) - own[0], rtol=1e-8, atol=1e-6)


def test_the_energy_of_a_motor_pd_is_least_at_rest():
    arm = linear_arm()
    law = claimed(arm, "motor_pd")
    states = random_states(arm, 200, np.random.default_rng(2))
    rest, _, _ = at_start(arm)
    still = type(states)(*(row[None] for row in rest))
    least = stored_energy(law, still, arm.rest)
    assert (stored_energy(law, states, arm.rest) > least).all()


def test_the_energy_of_an_arm_is_the_sum_of_its_parts():
    """Two links at rest, motors turning behind springs, in closed form."""
    arm = linear_arm()
    q = np.array([[0.0, 0.0]])
    theta, thetad = np.array([[0.1, -0.2]]), np.array([[2.0, 3.0]])
    still = type(random_states(arm, 1, np.random.default_rng(0)))
    stiffness = np.zeros((3, 0))
    found = arm_energy(arm.model, arm.actuators, still(q, 0 * q, theta, thetad), stiffness)
    none = arm_energy(arm.model, arm.actuators, still(q, 0 * q, 0 * q, 0 * q), stiffness)
    springs = 0.5 * (400.0 * 0.1**2 + 200.0 * 0.2**2)
    rotors = 0.5 * (0.5 * 4.0 + 0.2 * 9.0)
    np.testing.assert_allclose(found - none, springs + rotors)
