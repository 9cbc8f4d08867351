# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the laws: what each law takes, and which values are refused."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.laws.controller_settings import (
    DEFAULT_LAW,
    LAWS,
    ControllerSettings,
)
from multibody_dynamics.dynamics.core.errors import InputError


@pytest.mark.parametrize("law", LAWS)
def test_every_law_takes_its_own_settings_and_no_others(law):
    own = {each.name for each in fields(LAWS[law])}
    assert {"law", "bandwidth", "position", "friction", "period"} <= own
    assert ControllerSettings(law=law, bandwidth=9.0).bandwidth == 9.0
    for name in {each.name for other in LAWS.values() for each in fields(other)} - own:
        with pytest.raises(InputError, match=f"{name} is not a setting of law '{law}', only of"):
            ControllerSettings(law=law, **{name: 0.123})
    with pytest.raises(TypeError, match="magic"):
        ControllerSettings(law=law, magic=1.0)


def test_the_default_law_and_none_for_a_default():
    assert type(ControllerSettings(position=[0.0])) is LAWS[DEFAULT_LAW]
    settings = ControllerSettings(bandwidth=None, poles=None, law="state_feedback")
    assert settings == ControllerSettings(law="state_feedback")
    assert replace(settings, bandwidth=9.0).bandwidth == 9.0
    with pytest.raises(InputError, match="law 'hold': StateFeedbackSettings are the settings of"):
        replace(settings, law="hold")


def test_names_of_version_1_are_deprecated():
    with pytest.warns(DeprecationWarning, match="DISTURBANCE_BANDWIDTH: use LAWS"):
        assert ControllerSettings().disturbance_bandwidth == control.DISTURBANCE_BANDWIDTH
    with pytest.warns(DeprecationWarning, match="NOT_LOWERED: use LAWS"):
        assert control.NOT_LOWERED == ("feedback_linearization", "torque_control")
    with pytest.warns(DeprecationWarning, match="Law: use ControllerSettings"):
        assert all(issubclass(law, control.Law) for law in LAWS.values())
    with pytest.warns(DeprecationWarning, match="speed: use bandwidth"):
        assert ControllerSettings(bandwidth=9.0).speed == 9.0


def test_invalid_settings_are_rejected():
    for settings, message in (
        ({"law": "magic"}, "law 'magic': expected one of cartesian_impedance, computed"),
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
            "proportional is not a setting of law 'state_feedback', only of computed_torque, hold",
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
