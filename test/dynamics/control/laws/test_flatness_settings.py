# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of the control cycle that cannot work are rejected."""

import numpy as np

from multibody_dynamics.dynamics import control
from rejections import assert_rejected


def test_every_law_has_settings_by_default():
    settings = control.FlatnessSettings()
    assert list(settings.controllers) == list(control.LAWS)
    assert settings.law == control.ControllerSettings().law
    assert settings.delay == 0.0


def test_invalid_settings_are_rejected():
    made = control.FlatnessSettings
    motor_pd, hold = control.ControllerSettings(), control.ControllerSettings(law="hold")
    both, only = {"hold": hold, "motor_pd": hold}, {"hold": hold}
    rows = np.ones((len(control.KINDS), len(control.TERMS), 1))
    computed = {
        "collisions": control.CollisionThresholds(("elbow",), rows),
        "estimation": control.StateEstimation("motor_encoders", bandwidth=25.0),
    }

    def reaction(name, share):
        return lambda: made(reactions={name: share}), f"reaction '{name}' share {share}"

    assert_rejected(
        (lambda: made(sensor_delay=-0.1), "sensor_delay -0.1 s"),
        (lambda: made(sensor_delay=0.04, command_delay=0.02), "0.06 s together up to 0.05 s"),
        (lambda: made(law="motor_pd", controllers=only), "'motor_pd' no settings hold"),
        (lambda: made(controllers={"motor_pd": motor_pd}), "'hold' no settings"),
        (lambda: made(law="motor_pd", controllers=both), "'motor_pd' are for law 'hold'"),
        reaction("hold", 0.5),  # named like a law
        reaction(control.ON_LINKS, 0.5),
        reaction("floats", 1.5),  # more than the whole stiffness
        (lambda: made(**computed), "source 'motor_encoders'"),
    )
    assert made(command_delay=0.06, predicts_state=False).delay == 0.06
