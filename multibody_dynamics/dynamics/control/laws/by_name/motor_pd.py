# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "motor_pd"."""

from dataclasses import dataclass
from typing import Any

from ....elastic import Actuators
from ....model import MultibodyModel
from ...controllers.controllers import LinearFeedback
from ...gains.joint_gains import motor_bandwidth_gains
from ..controller_settings import GivenGains, LawName, bandwidth_setting
from ..linear_feedback_settings import LinearFeedbackSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class MotorPDSettings(GivenGains, LinearFeedbackSettings):
    """Feedforward by the flat map, with Q' and Q''; PD on θ and θ'; q and q' for the compensation
    of disturbances."""

    page = "control_laws.md#compensation-of-disturbances"

    law: LawName = "motor_pd"
    # fmt: off
    bandwidth: Any = bandwidth_setting(60.0, parameter="motor_bandwidth",
        meaning="both poles of each motor loop; one value, or one per motor of the robot")
    # fmt: on

    def design(self, model: MultibodyModel, actuators: Actuators) -> LinearFeedback:
        gains = self.given_gains(actuators)
        if gains is None:
            q = self.position_of(model)
            gains = motor_bandwidth_gains(model, actuators, q, self.bandwidth)
        return self.linear_feedback(model, actuators, gains)
