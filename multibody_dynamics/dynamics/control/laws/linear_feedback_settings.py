# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings that all laws of linear feedback share besides their gains."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from ...core import InputError, setting
from ...elastic import VARIANTS, Actuators
from ...model import MultibodyModel
from ..controllers.controllers import LinearFeedback
from ..gains.joint_gains import StateFeedbackGains, lowest_resonance
from ..observers.adaptive_feedforward import AdaptationSettings
from ..observers.disturbance_compensation import SHARE
from .controller_settings import ControllerSettings, Cycle

BASE_SHARE = 0.8
"""Ratio of the poles of the link-side disturbance observers, once they have oscillated, to the
natural frequency of the base, or to that of the links on their springs if it is lower: the Panda on
a base of 5 to 20 Hz is stable up to 0.85 to 1.2."""
COMMON = "variant", "integrates", "disturbance_bandwidth", "disturbance_share", "adaptation"
Own = TypeVar("Own", bound="LinearFeedbackSettings")


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearFeedbackSettings(ControllerSettings):
    """Settings of a :class:`.LinearFeedback`."""

    tunable = ("gains", "integral")
    fixed: ClassVar[tuple[str, ...]] = (*COMMON, "lowered_link_bandwidth")
    observer = "disturbance_bandwidth"

    # fmt: off
    variant: str = setting("full", choices=tuple(VARIANTS),
        meaning="model of the springs in the feedforward: 'full' with the torque rates Q' and Q'',"
        " 'quasi_static' without them, 'rigid' without springs")
    integral: Any = setting(0.0, unit="1/s", bounds=(0.0, 100.0),
        meaning="integral gain, as a share of the law's stiffness per second, with anti-windup at"
        " limits; requires disturbance_bandwidth 0")
    integrates: str = setting("link", choices=("link", "motor"), parameter="",
        meaning="whether the error of the link or of the motor is integrated")
    disturbance_bandwidth: float = setting(120.0, unit="rad/s", bounds=(0.0, 1000.0),
        meaning="poles of the disturbance observers of motors and links, whose estimates are"
        " compensated; those of the links fall once they oscillate, to 0.8 times base_frequency or"
        " the lowest resonance of the arm; at most 1 over the time between states; 0: no"
        " compensation; always 0 without link encoders")
    disturbance_share: float = setting(SHARE, bounds=(0.0, 1.0),
        meaning="largest disturbance that is compensated, as a share of the motors' torque limits")
    adaptation: AdaptationSettings | None = setting(None, parts=AdaptationSettings,
        meaning="estimate masses and inertias in the feedforward while the arm moves: those of all"
        " links, or of a payload; requires link encoders, see docs/adaptation.md")
    # fmt: on

    def lowered_link_bandwidth(self, model: MultibodyModel, actuators: Actuators) -> float:
        """rad/s, poles of the disturbance observers of the links once they have oscillated."""
        if not self.base_frequency:
            return self.disturbance_bandwidth
        own = lowest_resonance(model, actuators, self.position_of(model))
        lowest = min(2.0 * np.pi * self.base_frequency, own)
        return min(self.disturbance_bandwidth, BASE_SHARE * lowest)

    def check(self) -> None:
        super().check()
        if self.disturbance_bandwidth and np.any(self.integral):
            raise InputError(
                "integral and disturbance_bandwidth: both remove the same error and would "
                "interfere; set one of them to 0"
            )

    def in_cycle(self: Own, cycle: Cycle) -> Own:
        return replace(self, integrates="link" if cycle.measures_links else "motor")

    def linear_feedback(
        self, model: MultibodyModel, actuators: Actuators, gains: StateFeedbackGains
    ) -> LinearFeedback:
        """The law with these gains."""
        stiffness = np.maximum(gains.values[0] + gains.values[2], 0.0)
        return LinearFeedback(
            model,
            actuators,
            gains,
            integral=np.asarray(self.integral * stiffness),
            **self.common_arguments(model, actuators),
        )

    def common_arguments(self, model: MultibodyModel, actuators: Actuators) -> dict[str, Any]:
        """The arguments of every :class:`.LinearFeedback` besides its gains and its integral."""
        lowered = self.lowered_link_bandwidth(model, actuators)
        return {**self.of(*COMMON, "friction", "period"), "lowered_link_bandwidth": lowered}
