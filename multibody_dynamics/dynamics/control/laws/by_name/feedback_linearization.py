# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "feedback_linearization"."""

from dataclasses import dataclass
from typing import Any

from ....core import setting
from ....elastic import Actuators
from ....model import MultibodyModel
from ...controllers.feedback_linearization import FeedbackLinearization
from ..controller_settings import (
    ControllerSettings,
    LawName,
    bandwidth_setting,
    joint_poles,
    positive_rates,
    stable_poles,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class FeedbackLinearizationSettings(ControllerSettings):
    """Feedforward q'''' = v; feedback of the chain q .. q''', from q, q', θ and θ'."""

    tunable = ("poles", "lead")
    lowers = ""

    law: LawName = "feedback_linearization"
    # fmt: off
    bandwidth: Any = bandwidth_setting(60.0, parameter="linearization_bandwidth",
        meaning="all poles of a joint; one value, or one per joint of the robot")
    poles: Any = setting(None, unit="1/s", check=stable_poles, parameter="linearization_poles",
        is_row=True,
        meaning="poles of every joint (as a parameter, real ones), instead of the bandwidth; empty:"
        " not used")
    second_bandwidth: Any = setting(None, unit="rad/s", check=positive_rates, parameter="",
        meaning="(v,) of second outputs; default: the bandwidth")
    lead: float = setting(0.0, unit="s", parameter="",
        meaning="time over which the chain of integrators is predicted")
    # fmt: on

    def design(self, model: MultibodyModel, actuators: Actuators) -> FeedbackLinearization:
        return FeedbackLinearization(
            model,
            actuators,
            joint_poles(actuators, self.poles, self.bandwidth, self.second_bandwidth),
            **self.of("lead", "friction", "period"),
        )
