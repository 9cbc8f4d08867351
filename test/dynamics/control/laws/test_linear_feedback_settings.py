# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What laws of linear feedback share."""

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import LAWS, ControllerSettings, Cycle
from multibody_dynamics.dynamics.control.laws.linear_feedback_settings import LinearFeedbackSettings

LINEAR = [name for name, law in LAWS.items() if issubclass(law, LinearFeedbackSettings)]
CYCLE = Cycle(2e-3, 5e-3, 3e-3, (3, 100.0), measures_links=False)


@pytest.mark.parametrize("name", LINEAR)
def test_what_the_laws_share_reaches_the_controller(name):
    arm = linear_arm()
    settings = ControllerSettings(
        law=name, variant="rigid", disturbance_bandwidth=30.0, disturbance_share=0.2, period=2e-3
    )
    law = settings.design(arm.model, arm.actuators)
    assert (law.variant, law.disturbance_bandwidth, law.period) == ("rigid", 30.0, 2e-3)
    assert law.disturbance_share == 0.2
    np.testing.assert_array_equal(law.friction, 1.0)


@pytest.mark.parametrize("name", LINEAR)
def test_without_link_encoders_the_error_of_the_motor_is_integrated(name):
    settings = ControllerSettings(law=name)
    assert settings.in_cycle(CYCLE).integrates == "motor"
    assert settings.in_cycle(CYCLE._replace(measures_links=True)) == settings


def test_gains_of_the_whole_arm_are_designed_for_the_cycle():
    settings = ControllerSettings(law="state_feedback", gain_design="coupled").in_cycle(CYCLE)
    assert (settings.delay, settings.period) == (5e-3, 2e-3)
    assert settings.designs_in_background
