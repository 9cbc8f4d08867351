# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What laws with a stiffness of links or tool share."""

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import LAWS, ControllerSettings
from multibody_dynamics.dynamics.control.laws.impedance_settings import (
    ElasticStructureSettings,
    ImpedanceSettings,
)

IMPEDANCES = [name for name, law in LAWS.items() if issubclass(law, ImpedanceSettings)]
ESP = [name for name, law in LAWS.items() if issubclass(law, ElasticStructureSettings)]


@pytest.mark.parametrize("name", [*IMPEDANCES, *ESP])
def test_limits_on_changes_of_the_stiffness_reach_the_controller(name):
    arm = linear_arm()
    settings = ControllerSettings(law=name, stiffness_time=0.3, stiffness_energy=2.0)
    law = settings.design(arm.model, arm.actuators)
    assert (law.ramp.time, law.ramp.capacity) == (0.3, 2.0)
    assert law.damping_ratio == settings.damping_ratio


@pytest.mark.parametrize("name", IMPEDANCES)
def test_the_settings_of_an_impedance_reach_the_controller(name):
    arm = linear_arm()
    settings = ControllerSettings(law=name, inertia_share=0.8, stiffness_share=0.5, bandwidth=30.0)
    law = settings.design(arm.model, arm.actuators)
    np.testing.assert_array_equal(law.inertia_share, 0.8)
    assert law.stiffness_share == 0.5
    assert settings.lowers == "impedance"


@pytest.mark.parametrize("name", ESP)
def test_slowing_esp_also_lowers_its_damping(name):
    settings = ControllerSettings(law=name, damping_ratio=0.4)
    assert settings.slowed(0.5) == {"bandwidth": 20.0, "damping_ratio": 0.2}
    assert settings.observer == "contact_bandwidth"
