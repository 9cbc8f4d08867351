# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "hold"."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core import setting
from ....elastic import Actuators
from ....model import MultibodyModel
from ...controllers.hold_controller import STOP_TIME, HoldController
from ...gains.joint_gains import damping_gains
from ..controller_settings import (
    ControllerSettings,
    GivenGains,
    LawName,
    SecondOutputs,
    bandwidth_setting,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class HoldSettings(GivenGains, SecondOutputs, ControllerSettings):
    """A damped stop, then hold with gravity compensation, from the motor positions alone; follows
    no motion; PD on θ and θ', which also damps the links."""

    page = "flatness_controller_node.md#faults"
    follows_no_motion = "it stops and holds the arm"
    tunable = ("gains", "stop_time", "torque_limit")

    law: LawName = "hold"
    # fmt: off
    bandwidth: Any = bandwidth_setting(60.0, bounds=(1.0, 1000.0), parameter="hold_bandwidth",
        is_row=False,
        meaning="upper limit on the bandwidth of the motor loops, which also damp the links behind"
        " the springs; also in the damped stop after a fault")
    friction: Any = setting(0.0, bounds=(0.0, 1.0), parameter="",
        meaning="share of the motor friction that is compensated")
    stop_time: float = setting(STOP_TIME, unit="s", bounds=(0.01, 10.0),
        meaning="time constant with which the motors slow down, also in the damped stop after a"
        " fault")
    torque_limit: Any = setting(np.inf, unit="N m or N", parameter="",
        meaning="largest torque of each motor; default and maximum: the motors' own limits")
    # fmt: on

    def design(self, model: MultibodyModel, actuators: Actuators) -> HoldController:
        gains = self.given_gains(actuators)
        if gains is None:
            q, k = self.position_of(model), self.stiffness
            gains = damping_gains(model, actuators, q, k, bandwidth=self.bandwidth)
        return HoldController(
            model, actuators, gains, **self.of("stop_time", "torque_limit", "friction", "period")
        )
