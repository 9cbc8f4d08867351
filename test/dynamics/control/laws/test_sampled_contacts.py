"""Energy that laws create in sampled contacts, on both plants."""

from __future__ import annotations

import numpy as np
import pytest

from contacts import CLAIMS, claimed
from elastic_arms import shipped, without_coulomb
from multibody_dynamics.dynamics.control.laws.law_table import ControllerSettings, make_controller
from multibody_dynamics.dynamics.control.laws.sampled_contacts import sampled_contacts
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
from robots import CONFIG

URDF = CONFIG / "robots" / "planar_two_link.urdf"


def plants(arm):
    yield ElasticRobot(arm.model, arm.actuators)
    yield MujocoRobot(arm.model, arm.actuators, URDF.read_bytes(), step=5e-5)


@pytest.mark.parametrize("law", CLAIMS)
def test_little_energy_is_created_at_one_kilohertz_on_both_plants(law):
    arm = without_coulomb(shipped("planar_two_link"))._replace(rest=np.array([0.3, -0.8]))
    for plant in plants(arm):
        found = sampled_contacts(claimed(arm, law), plant, arm.rest, 3, force=3.0)
        assert (found.supplied > 1e-3).all()  # J
        assert found.share < 0.03


def test_a_law_that_is_unstable_when_sampled_creates_energy():
    arm = without_coulomb(shipped("planar_two_link"))._replace(rest=np.array([0.3, -0.8]))
    settings = ControllerSettings(
        law="motor_pd", position=arm.rest, bandwidth=60.0, disturbance_bandwidth=0.0, period=0.025
    )
    law = make_controller(arm.model, arm.actuators, settings)
    found = sampled_contacts(law, ElasticRobot(arm.model, arm.actuators), arm.rest, 2, force=3.0)
    assert found.share > 1.0
