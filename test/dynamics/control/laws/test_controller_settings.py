# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the laws: what each law takes, and which values are refused."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS, ControllerSettings
from multibody_dynamics.dynamics.core.errors import InputError


@pytest.mark.parametrize("law", LAWS)
def test_every_law_takes_its_own_settings_and_no_others(law):
    settings = ControllerSettings(law=law)
    assert settings.speed == LAWS[law].bandwidth
    assert ControllerSettings(law=law, bandwidth=9.0).speed == 9.0
    names = {each.name for each in fields(ControllerSettings)}
    assert LAWS[law].own < names
    common = {"law", "bandwidth", "position", "friction", "period"}
    for name in names - LAWS[law].own - common:
        with pytest.raises(
            InputError, match=f"{name} is not a setting of law '{law}'|both or neither"
        ):
            ControllerSettings(law=law, **{name: np.array([0.123])})


def test_invalid_settings_are_rejected():
    for settings, message in (
        ({"law": "magic"}, "law 'magic': expected one of motor_pd, state_feedback"),
        ({"proportional": 1.0}, "give both or neither"),
        ({"law": "hold", "poles": (-1.0, -2.0)}, "poles is not a setting of law 'hold'"),
        ({"lead": 1e-3}, "lead is not a setting of law 'motor_pd', only of feedback_linear"),
        ({"law": "hold", "feedback": "link"}, "feedback is not a setting of law 'hold'"),
        (
            {"law": "computed_torque", "integral": [1.0, 2.0]},
            "integral is not a setting of law 'computed_torque'",
        ),
        (
            {"law": "state_feedback", "proportional": np.ones(2), "derivative": np.ones(2)},
            "proportional is not a setting of law 'state_feedback', only of motor_pd, computed",
        ),
        (
            {"law": "state_feedback", "bandwidth": 9.0, "poles": (-1.0,) * 4},
            "bandwidth and poles: each sets the gains",
        ),
        (
            {"law": "hold", "bandwidth": 9.0, "proportional": 1.0, "derivative": 1.0},
            "bandwidth and proportional: each",
        ),
        ({"law": "motor_pd", "stiffness": [1.0]}, "stiffness is not a setting of law 'motor_pd'"),
        (
            {"law": "motor_pd", "torque_limit": 1.0},
            "torque_limit is not a setting of law 'motor_pd'",
        ),
        ({"bandwidth": -1.0}, "bandwidth is -1.0: must be one or more positive numbers"),
        ({"bandwidth": 1e-12}, "bandwidth is 1e-12: must be between"),
        ({"law": "state_feedback", "gain_design": "magic"}, "gain_design 'magic': expected one of"),
        (
            {"law": "state_feedback", "gain_design": "modal", "poles": (-1.0,) * 4},
            "poles and gain_design 'modal': poles are placed joint by joint",
        ),
        ({"law": "torque_control", "torque_design": "x"}, "torque_design 'x': expected one of"),
        ({"law": "state_feedback", "poles": (-1.0, 1.0)}, "their real parts must be negative"),
        (
            {"integral": 5.0, "disturbance_bandwidth": 100.0},
            "integral and disturbance_bandwidth: both remove the same error",
        ),
    ):
        with pytest.raises(InputError, match=message):
            ControllerSettings(**settings)
