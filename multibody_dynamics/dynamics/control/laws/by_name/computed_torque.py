# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "computed_torque"."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core import setting
from ....elastic import Actuators
from ....model import MultibodyModel
from ...controllers.controllers import ComputedTorque
from ..controller_settings import ControllerSettings, GivenGains, LawName, bandwidth_setting


@dataclass(frozen=True, eq=False, kw_only=True)
class ComputedTorqueSettings(GivenGains, ControllerSettings):
    """Computed torque of the rigid arm, for comparison; feedback of θ and θ', in Python also of q
    and q'."""

    tunable = ("gains",)
    fixed = ("feedback",)

    law: LawName = "computed_torque"
    # fmt: off
    bandwidth: Any = bandwidth_setting(40.0, bounds=(0.1, 1000.0),
        parameter="computed_torque_bandwidth", is_row=False,
        meaning="both poles of every joint")
    feedback: str = setting("motor", "what is fed back", choices=("motor", "link"), parameter="")
    # fmt: on

    def design(self, model: MultibodyModel, actuators: Actuators) -> ComputedTorque:
        proportional, derivative = self.proportional, self.derivative
        if proportional is None:
            w = np.asarray(self.bandwidth, dtype=np.float64)
            proportional, derivative = w**2, 2.0 * w
        return ComputedTorque(
            model, actuators, proportional, derivative, **self.of("feedback", "friction", "period")
        )
