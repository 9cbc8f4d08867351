# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The law "state_feedback"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....core import Array, InputError, setting
from ....elastic import Actuators
from ....model import MultibodyModel
from ...controllers.controllers import LinearFeedback
from ...controllers.scheduled_feedback import (
    GAIN_DESIGNS,
    UPDATE_TIME,
    GainSchedule,
    ScheduledFeedback,
)
from ...gains.joint_gains import optimal_gains, placed_gains
from ..controller_settings import (
    Cycle,
    LawName,
    SecondOutputs,
    bandwidth_setting,
    joint_poles,
    stable_poles,
)
from ..linear_feedback_settings import LinearFeedbackSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class StateFeedbackSettings(SecondOutputs, LinearFeedbackSettings):
    """Feedforward by the flat map, with Q' and Q''; linear feedback of q, q', θ and θ', of each
    joint (`optimal_gains`, LQR, or `placed_gains`) or of the whole arm (`ScheduledFeedback`);
    compensation of disturbances."""

    page = "control_laws.md#gains-of-the-whole-arm"
    fixed = (*LinearFeedbackSettings.fixed, "late_cycles", "update_time", "designs_in_background")

    law: LawName = "state_feedback"
    # fmt: off
    bandwidth: Any = bandwidth_setting(20.0, parameter="feedback_bandwidth",
        meaning="bandwidth of the linear-quadratic design; one value, or one per joint of the"
        " robot")
    poles: Any = setting(None, unit="1/s", check=stable_poles, parameter="feedback_poles",
        is_row=True,
        meaning="poles of each joint (as a parameter, real ones), designed independently of the"
        " others, instead of the linear-quadratic design; empty: not used")
    gain_design: str = setting("joint", choices=GAIN_DESIGNS,
        meaning="gains joint by joint for the design position; or gains of the whole arm that"
        " follow the pose, linear-quadratic (coupled) or passive, by modes (modal)")
    gain_update_time: float = setting(UPDATE_TIME, unit="s", bounds=(0.0, 10.0),
        meaning="with gain_design coupled or modal: time in which new gains are blended in; 0: keep"
        " those of the design position")
    designs_in_background: bool = setting(False, parameter="",
        meaning="whether a separate process designs the gains of the whole arm while the cycle goes"
        " on")
    delay: float = setting(0.0, unit="s", parameter="",
        meaning="from a measurement to its torque, for which coupled gains are designed")
    # fmt: on

    def check(self) -> None:
        super().check()
        if self.poles is not None and self.gain_design != "joint":
            raise InputError(
                f"poles and gain_design '{self.gain_design}': poles are placed joint by joint; use "
                f"a bandwidth"
            )

    def in_cycle(self, cycle: Cycle) -> StateFeedbackSettings:
        settings = super().in_cycle(cycle)
        if self.gain_design == "joint":
            return settings
        return replace(settings, designs_in_background=True, delay=cycle.delay, period=cycle.period)

    def design(self, model: MultibodyModel, actuators: Actuators) -> LinearFeedback:
        q = self.position_of(model)
        if self.gain_design != "joint":
            return self._of_whole_arm(model, actuators, q)
        if self.poles is not None:
            poles = joint_poles(actuators, self.poles, None, None)
            gains = placed_gains(model, actuators, q, poles, self.stiffness)
        else:
            gains = optimal_gains(model, actuators, q, self.bandwidth, self.stiffness)
        return self.linear_feedback(model, actuators, gains)

    def _of_whole_arm(
        self, model: MultibodyModel, actuators: Actuators, q: Array
    ) -> ScheduledFeedback:
        if np.ndim(self.integral):
            raise InputError(
                f"integral: expected one number for gain_design '{self.gain_design}', got "
                f"{self.integral}"
            )
        schedule = GainSchedule(
            model=model,
            actuators=actuators,
            bandwidth=self.bandwidth,
            design=self.gain_design,
            **self.of("stiffness", "period", "delay"),
        )
        return ScheduledFeedback(
            model,
            actuators,
            schedule,
            q,
            update_time=self.gain_update_time,
            designs_in_background=self.designs_in_background,
            integral=float(self.integral),
            **self.common_arguments(model, actuators),
        )
