# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the flatness controller node as settings of the control law."""

from dataclasses import fields

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.control.laws.flatness_settings import FlatnessSettings
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    LAWS,
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.following.following_parameters import (
    FeedforwardParameters,
    FollowingParameters,
)
from multibody_dynamics.nodes.following.law_parameters import parameters_of


def test_the_defaults_are_those_of_the_law():
    found, expected = FlatnessControllerParameters().settings(), FlatnessSettings()
    for name in ("law", "motor_bandwidth", "observer_gain", "gravity_compensated_by_robot"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.estimation.source == expected.estimation.source
    assert found.estimation.bandwidth == expected.estimation.bandwidth
    assert found.estimation.order == expected.estimation.order
    assert found.estimation.max_step == 0.1  # half of state_timeout; twice that is bridged
    observer = FlatnessControllerParameters(state_source="motor_encoders").settings().estimation
    assert observer.max_step == 0.4
    assert tuple(found.controllers) == tuple(LAWS)


def test_every_setting_of_the_arm_is_a_parameter_with_its_default():
    parameters = FlatnessControllerParameters()
    assert parameters.arm_settings() == ArmSettings()
    for each in fields(ArmSettings):
        assert getattr(parameters, each.name) == each.default


def test_parameters_become_the_settings_of_each_law():
    p = FlatnessControllerParameters(
        motor_bandwidth=(10.0, 20.0),
        feedback_poles=(-1.0, -2.0, -3.0, -4.0),
        linearization_bandwidth=(50.0,),
        state_source="motor_encoders",
        friction_compensation=0.5,
        stop_time=0.3,
        variant="quasi_static",
        integral=2.0,
        disturbance_bandwidth=0.0,
    )
    found = p.settings().controllers
    np.testing.assert_array_equal(found["motor_pd"].bandwidth, [10.0, 20.0])
    assert found["motor_pd"].integrates == "motor"
    assert found["state_feedback"].poles == p.feedback_poles
    assert found["state_feedback"].variant == "quasi_static"
    assert found["state_feedback"].integral == 2.0
    assert found["feedback_linearization"].bandwidth == 50.0
    assert found["feedback_linearization"].poles is None
    assert found["hold"].stop_time == 0.3
    assert found["hold"].friction == 0.0
    assert found["computed_torque"].friction == 0.5
    assert p.settings().estimation.bandwidth == p.observer_bandwidth
    assert p.settings().motor_bandwidth == p.filter_bandwidth


def test_laws_share_a_parameter_only_with_its_declaration():
    declared = {}
    for law in LAWS:
        for each in parameters_of(law):
            first = declared.setdefault(each.name, each)
            assert each.default == first.default, each.name
            assert each.setting.metadata == first.setting.metadata, each.name


def test_no_other_parameter_has_the_name_of_one_of_a_law():
    """The class derived last would silently replace the default and the range of the other."""
    fields = FlatnessControllerParameters.__dataclass_fields__
    names = {each.name for law in LAWS for each in parameters_of(law)}
    assert names & {*FollowingParameters.__dataclass_fields__} == {"variant"}  # means the same
    for name in names:
        assert "laws" in fields[name].metadata, name


def test_the_variant_is_fixed_while_laws_that_were_designed_with_it_exist():
    """DesignedLaws.change would not pass it on to them."""
    fields = FlatnessControllerParameters.__dataclass_fields__
    assert not fields["variant"].metadata["live"]
    assert FeedforwardParameters.__dataclass_fields__["variant"].metadata["live"]


def test_linear_feedback_adapts_what_the_parameters_name():
    p = FlatnessControllerParameters(
        adaptation="payload",
        adaptation_rate=3.0,
        payload_mass=5.0,
        payload_radius=0.4,
        payload_link="flange",
    )
    found = p.settings().controllers
    for law in ("motor_pd", "state_feedback"):
        adaptation = found[law].adaptation
        assert (adaptation.adapts, adaptation.rate) == ("payload", 3.0)
        assert (adaptation.payload_mass, adaptation.payload_radius) == (5.0, 0.4)
        assert adaptation.payload_body == "flange"
    assert not hasattr(found["feedback_linearization"], "adaptation")


def test_an_empty_bandwidth_of_links_on_torque_sources_follows_from_the_arm():
    for given, wanted in (((), None), ((25.0,), 25.0)):
        settings = FlatnessControllerParameters(torque_link_bandwidth=given).settings()
        assert settings.controllers["torque_control"].bandwidth == wanted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"motor_bandwidth": ()}, "motor_bandwidth: .* one or more positive numbers"),
        ({"motor_bandwidth": (10.0, -1.0)}, "motor_bandwidth: .* one or more positive numbers"),
        ({"feedback_bandwidth": (0.0,)}, "feedback_bandwidth: .* one or more positive numbers"),
        ({"linearization_bandwidth": (0.0,)}, "linearization_bandwidth: .* positive numbers"),
        ({"feedback_poles": (-1.0, 0.0)}, "feedback_poles: .* must be negative"),
        ({"linearization_poles": (1.0,)}, "linearization_poles: .* must be negative"),
        ({"observer_feedback": True}, "observer_feedback requires an observer"),
        ({"adaptation": "links", "state_source": "motor_encoders"}, "adaptation requires measured"),
    ],
)
def test_invalid_parameters_are_rejected_by_name(changes, message):
    with pytest.raises(ParameterError, match=message):
        FlatnessControllerParameters(**changes).check()
