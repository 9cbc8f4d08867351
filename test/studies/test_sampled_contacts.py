# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Energy that laws create in sampled contacts, on both plants."""

from functools import cache

import numpy as np
import pytest

from contacts import CLAIMS, frictionless_arm
from elastic_arms import shipped, without_coulomb
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from robots import CONFIG
from studies.passivity_claims import PASSIVITY_CLAIMS
from studies.sampled_contacts import (
    SampledContacts,
    sampled_contacts,
)

URDF = CONFIG / "robots" / "planar_two_link.urdf"
SAMPLED = [name for name, claim in PASSIVITY_CLAIMS.items() if claim.sampled]
RARELY = ["cartesian_impedance", "cartesian_impedance, changing"]  # in 15 to 36 of 10,000 contacts


@cache
def arm():
    return without_coulomb(shipped("planar_two_link"))._replace(rest=np.array([0.3, -0.8]))


@cache
def plant(name: str):
    if name == "mujoco":
        return MujocoRobot(arm().model, arm().actuators, URDF.read_bytes())
    return ElasticRobot(arm().model, arm().actuators)


def touched(name: str, where: str = "internal", count: int = 50, **options) -> SampledContacts:
    claim = PASSIVITY_CLAIMS[name]
    law = claim.controller(arm().model, arm().actuators, arm().rest)
    rng = np.random.default_rng(2)
    poses = arm().rest + rng.uniform(-0.4, 0.4, (3, 2))
    options = {"restiffens": claim.restiffens} | options
    return sampled_contacts(law, plant(where), poses, count, force=5.0, **options)


@pytest.mark.parametrize("name", [*SAMPLED, *RARELY])
def test_no_energy_is_created_in_fifty_contacts(name):
    found = touched(name)
    assert len(found.created) == 50
    assert found.supplied.mean() > 1e-4  # J
    assert found.error.max() < 1e-3 * found.supplied.mean()
    assert found.rises() == 0
    assert found.share < 1e-6


def test_the_plants_agree_on_the_work_of_contacts_and_on_what_is_created():
    one, other = (touched("joint_impedance", where, 20) for where in ("internal", "mujoco"))
    np.testing.assert_allclose(one.supplied, other.supplied, rtol=1e-2, atol=1e-5)
    assert other.rises() == 0


@pytest.mark.parametrize("name", ["esp", "torque_source"])
def test_what_sampling_costs_falls_with_the_period(name):
    """Claims that are made without sampling: passive in the limit of short cycles."""
    claim, shares = PASSIVITY_CLAIMS[name], []
    assert not claim.sampled
    model, actuators, rest = frictionless_arm()
    robot = ElasticRobot(model, actuators)
    for period in (1e-3, 0.25e-3):
        law = claim.controller(model, actuators, rest, period=period)
        found = sampled_contacts(law, robot, rest, 4, force=3.0, walls=0.0)
        shares.append(found.share)
    assert 0.0 < shares[1] < 0.6 * shares[0]


def test_laws_made_to_create_energy_are_caught():
    """The sign of the damping of a PD is wrong; a torque acts five cycles late; and cycles are far
    too long for the motors."""
    law = PASSIVITY_CLAIMS["motor_pd"].controller(arm().model, arm().actuators, arm().rest)
    law.gains.values.setflags(write=True)
    law.gains.values[3] *= -0.2
    found = sampled_contacts(law, plant("internal"), arm().rest, 20, force=5.0)
    assert found.rises() > 10
    assert touched("joint_impedance", count=20, delay=5).rises() > 0
    slow = PASSIVITY_CLAIMS["motor_pd"].controller(
        arm().model, arm().actuators, arm().rest, period=0.02
    )
    assert sampled_contacts(slow, plant("internal"), arm().rest, 40, force=5.0).rises() > 0


def test_walls_push_only_while_they_are_touched_and_repeat_with_the_seed():
    one, again, other = (touched("hold", count=10, walls=1.0, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.supplied, again.supplied)
    assert (one.supplied != other.supplied).any()
    assert (one.supplied >= 0.0).all()


def test_every_claim_has_a_storage_that_is_tested():
    """In `test_power_balance`, for the laws of these claims."""
    laws = {PASSIVITY_CLAIMS[name].law for name in CLAIMS}
    laws |= {"state_feedback", "torque_source"}
    assert {claim.law for claim in PASSIVITY_CLAIMS.values()} == laws
