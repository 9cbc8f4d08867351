"""Energy that laws create in sampled contacts, on both plants."""

from __future__ import annotations

import numpy as np
import pytest

from contacts import CLAIMS, claimed
from elastic_arms import shipped, without_coulomb
from multibody_dynamics.dynamics.control.laws.sampled_contacts import sampled_contacts
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from robots import CONFIG

URDF = CONFIG / "robots" / "planar_two_link.urdf"


def plants(arm):
    yield ElasticRobot(arm.model, arm.actuators)
    yield MujocoRobot(arm.model, arm.actuators, URDF.read_bytes(), step=5e-5)


@pytest.fixture
def arm():
    return without_coulomb(shipped("planar_two_link"))._replace(rest=np.array([0.3, -0.8]))


@pytest.mark.parametrize("law", CLAIMS)
def test_hardly_any_energy_is_created_at_one_kilohertz_on_both_plants(arm, law):
    """None by the laws that need no accelerations; the plants agree on the work of the contacts."""
    found = [sampled_contacts(claimed(arm, law), p, arm.rest, 3, force=3.0) for p in plants(arm)]
    for each in found:
        assert each.supplied.mean() > 0.01  # J
        assert each.share < (1e-3 if law.startswith("esp") else 1e-9)
    np.testing.assert_allclose(found[0].supplied, found[1].supplied, rtol=1e-3)


def test_a_law_that_is_unstable_when_sampled_creates_energy(arm):
    """The same motors at 20 Hz, which is too slow for them."""
    law = claimed(arm, "motor_pd")
    law.period = 0.05
    found = sampled_contacts(law, ElasticRobot(arm.model, arm.actuators), arm.rest, 2, force=3.0)
    assert found.share > 1.0
