# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motor-side PD whose position error saturates:

    tau = tau_ff + s G_theta tanh((theta_d - theta) / s) + G_theta' (theta_d' - theta')

A control law as a user adds one, with a controller and a live setting of its own, by the recipe in
CONTRIBUTING.md; for tests.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from multibody_dynamics.dynamics.control.controllers.controllers import PERIOD, Controller
from multibody_dynamics.dynamics.control.gains.joint_gains import (
    StateFeedbackGains,
    motor_bandwidth_gains,
    motor_side_gains,
)
from multibody_dynamics.dynamics.control.laws.controller_settings import (
    ControllerSettings,
    bandwidth_setting,
)
from multibody_dynamics.dynamics.core import Array, setting
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.model import MultibodyModel


class SaturatedPD(Controller):
    """Feedforward by the flat map, and PD on theta and theta'.

    gains : of the motors; those of q and q' are not used. error_limit : s, rad or m.
    """

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        gains: StateFeedbackGains,
        *,
        error_limit: float,
        friction: Any = 1.0,
        period: float = PERIOD,
    ) -> None:
        super().__init__(model, actuators, friction=friction, period=period)
        self.gains, self.error_limit = gains, error_limit
        self._now, self._later = self._flat_map(), self._flat_map()
        self._reported_map = self._now
        self._error = np.zeros((2, len(actuators.motors)))

    def reset(self) -> None:
        super().reset()
        self._now.settle()
        self._later.settle()

    def _law(self, has_ahead: bool) -> None:
        torque = self._map(self._now, self._desired)
        error = np.subtract(self._now.result[:2], self._motors, out=self._error)
        error[0] /= self.error_limit
        np.tanh(error[0], out=error[0])
        error[0] *= self.error_limit
        error *= self.gains.values[2:]
        if has_ahead:
            torque = self._map(self._later, self._ahead)
        np.sum(error, axis=0, out=self.torque)
        self.torque += torque

    @property
    def motor_reference(self) -> Array | None:
        return self._now.result


@dataclass(frozen=True, eq=False, kw_only=True)
class SaturatedPDSettings(ControllerSettings):
    """Feedforward by the flat map, with Q' and Q''; PD on θ and θ', with a saturated error of θ."""

    tunable = ("gains", "error_limit")

    law: str = "saturated_pd"
    bandwidth: Any = bandwidth_setting(
        60.0,
        "both poles of each motor loop for small errors; one value, or one per motor of the robot",
        parameter="saturated_pd_bandwidth",
    )
    damping_factor: float = setting(
        1.0, "factor on the gains of θ'", bounds=(0.5, 4.0), parameter="saturated_pd_damping"
    )
    error_limit: float = setting(
        0.05,
        "largest position error of a motor to which the law responds",
        unit="rad or m",
        bounds=(0.001, 1.0),
        live=True,
    )

    def design(self, model: MultibodyModel, actuators: Actuators) -> SaturatedPD:
        q = self.position_of(model)
        stiffness, damping = motor_bandwidth_gains(model, actuators, q, self.bandwidth).values[2:]
        gains = motor_side_gains(actuators, stiffness, self.damping_factor * damping)
        return SaturatedPD(model, actuators, gains, **self.of("error_limit", "friction", "period"))
