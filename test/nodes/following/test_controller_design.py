# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws of the flatness controller, made from its parameters."""

from __future__ import annotations

import pytest

from elastic_arms import linear_arm
from multibody_dynamics.nodes.base.parameters import ParameterError
from multibody_dynamics.nodes.following.controller_design import make_law
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.following.stiffness_reference import StiffnessReference


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"design_position": (0.1,)}, "design_position has 1 values; expected 2 or none"),
        ({"adaptation": "links"}, "adaptation 'links': body 'upper_arm' has no mass or no extent"),
        ({"adaptation": "payload", "payload_link": "hand"}, "adaptation 'payload': .*'hand'"),
    ],
)
def test_parameters_that_do_not_fit_the_robot_are_rejected(changes, message):
    arm = linear_arm()
    parameters = FlatnessControllerParameters(**changes)
    with pytest.raises(ParameterError, match=message):
        make_law(arm.model, arm.actuators, parameters, StiffnessReference(arm.actuators))
