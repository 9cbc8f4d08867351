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
    bandwidth: Any = bandwidth_setting(
        60.0,
        "upper limit on the bandwidth of the motor loops, which also damp the links behind the"
        " springs; also in the damped stop after a fault",
        bounds=(1.0, 1000.0),
        parameter="hold_bandwidth",
        is_row=False,
    )
    friction: Any = setting(
        0.0, "share of the motor friction that is compensated", bounds=(0.0, 1.0), parameter=""
    )
    stop_time: float = setting(
        STOP_TIME,
        "time constant with which the motors slow down, also in the damped stop after a fault",
        unit="s",
        bounds=(0.01, 10.0),
    )
    torque_limit: Any = setting(
        np.inf,
        "largest torque of each motor; default and maximum: the motors' own limits",
        unit="N m or N",
        parameter="",
    )

    def design(self, model: MultibodyModel, actuators: Actuators) -> HoldController:
        gains = self.given_gains(actuators)
        if gains is None:
            q, k = self.position_of(model), self.stiffness
            gains = damping_gains(model, actuators, q, k, bandwidth=self.bandwidth)
        return HoldController(
            model, actuators, gains, **self.of("stop_time", "torque_limit", "friction", "period")
        )
