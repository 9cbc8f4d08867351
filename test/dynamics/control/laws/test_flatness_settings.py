# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the control cycle that cannot work are rejected."""

import numpy as np
import pytest

from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.core import InputError


def test_every_law_has_settings_by_default():
    settings = control.FlatnessSettings()
    assert list(settings.controllers) == list(control.LAWS)
    assert settings.law == control.ControllerSettings().law
    assert settings.delay == 0.0


def test_delays_are_checked():
    with pytest.raises(InputError, match=r"sensor_delay is -0\.1 s"):
        control.FlatnessSettings(sensor_delay=-0.1)
    with pytest.raises(InputError, match=r"are 0\.06 s together.*up to 0\.05 s"):
        control.FlatnessSettings(sensor_delay=0.04, command_delay=0.02)
    assert control.FlatnessSettings(command_delay=0.06, predicts_state=False).delay == 0.06


def test_invalid_settings_are_rejected():
    hold = control.ControllerSettings(law="hold")
    with pytest.raises(InputError, match=r"law 'motor_pd' has no settings; .* for hold"):
        control.FlatnessSettings(law="motor_pd", controllers={"hold": hold})
    with pytest.raises(InputError, match="law 'hold' has no settings"):
        control.FlatnessSettings(controllers={"motor_pd": control.ControllerSettings()})
    with pytest.raises(InputError, match="law 'motor_pd' are for law 'hold'"):
        control.FlatnessSettings(law="motor_pd", controllers={"hold": hold, "motor_pd": hold})


@pytest.mark.parametrize(
    ("name", "share"), [("hold", 0.5), (control.ON_LINKS, 0.5), ("floats", 1.5)]
)
def test_a_reaction_is_not_named_like_a_law_and_has_at_most_the_whole_stiffness(name, share):
    with pytest.raises(InputError, match=f"reaction '{name}' with the share {share}"):
        control.FlatnessSettings(reactions={name: share})


def test_contacts_are_not_detected_on_links_that_the_model_computes():
    rows = np.ones((len(control.KINDS), len(control.TERMS), 1))
    with pytest.raises(InputError, match="the source of the state is 'motor_encoders'"):
        control.FlatnessSettings(
            collisions=control.CollisionThresholds(("elbow",), rows),
            estimation=control.StateEstimation("motor_encoders", bandwidth=25.0),
        )
