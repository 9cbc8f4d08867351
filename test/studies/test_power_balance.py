# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passivity: in 13,200 random states and contacts, storage gains what contacts supply, less what is
dissipated; and no law that claims it creates energy in sampled contacts on two plants."""

from itertools import product

import numpy as np
import pytest

from contacts import (
    ARMS,
    CLAIMS,
    LINEAR_ONLY,
    away_from_ends,
    claimed,
    frictionless_arm,
    random_contacts,
    random_states,
)
from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control.laws.controller_settings import (
    ControllerSettings,
    make_controller,
)
from multibody_dynamics.dynamics.core.errors import InputError
from studies.power_balance import PowerBalance, power_balance
from studies.stored_energy import stored_energy

PER_ARM = 300  # contacts: 13,200 with all laws and arms


def balance(make, law: str, count: int, **changes) -> tuple[PowerBalance, np.ndarray]:
    arm, rng = make(), np.random.default_rng(5)
    states, contacts = random_states(arm, count, rng), random_contacts(arm, count, rng)
    bent = rng.uniform(-0.1, 0.1, (count, arm.model.n))
    made = claimed(arm, law)
    for name, value in changes.items():
        setattr(made, name, value)
    found = power_balance(made, states, contacts, arm.rest, deflection=bent)
    return found, away_from_ends(arm, states)


@pytest.mark.parametrize(
    ("law", "make"), [*product(CLAIMS, ARMS), *((law, frictionless_arm) for law in LINEAR_ONLY)]
)
def test_storage_gains_what_contacts_supply_less_what_is_dissipated(law, make):
    found, inside = balance(make, law, PER_ARM)
    assert inside.mean() > 0.95
    assert (found.dissipated >= 0.0).all()
    assert np.abs(found.error[inside]).max() < 2e-5
    assert np.abs(found.supplied).max() > 20.0  # W: contacts do load the arm


@pytest.mark.parametrize("law", ["motor_pd", "joint_impedance", "esp", *LINEAR_ONLY])
def test_an_error_of_the_claim_would_be_found(law):
    """The same balance with 5 % of the law's dissipation unaccounted for."""
    found, inside = balance(frictionless_arm, law, 100)
    wrong = found._replace(dissipated=0.95 * found.dissipated)
    assert np.abs(wrong.error[inside]).max() > 1e-3


def test_laws_without_a_storage_function_are_refused():
    model, actuators, rest = arm = linear_arm()
    states = random_states(arm, 2, np.random.default_rng(0))
    for settings in (
        {"law": "computed_torque"},
        {"law": "state_feedback", "gain_design": "coupled", "gain_update_time": 0.0},
    ):
        law = make_controller(model, actuators, ControllerSettings(position=rest, **settings))
        with pytest.raises(InputError, match="storage"):
            stored_energy(law, states, rest)
