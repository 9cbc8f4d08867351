# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Settings of laws and estimation of an :class:`.Arm`, fixed when it is designed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core import InputError
from ..observers.collision_thresholds import MEASURED, CollisionThresholds
from ..observers.state_estimation import FILTER_BANDWIDTH, StateEstimation
from ..observers.state_predictor import LONGEST_DELAY
from .controller_settings import DEFAULT_LAW, LAWS, ControllerSettings

ON_LINKS = "link_damping"  # not in LAWS: stops the arm if motor states are missing


def _every_law() -> dict[str, ControllerSettings]:
    return {name: kind() for name, kind in LAWS.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatnessSettings:
    """Settings of an :class:`.Arm`, fixed when it is designed.

    Attributes
    ----------
    law : the initial law, a key of `controllers`.
    controllers : settings of every law that may be chosen, by name. "hold" must be among them; its
        `stop_time` also applies to the stop from link states alone. `position` is replaced at each
        design.
    estimation : how link and motor states are estimated.
    motor_bandwidth : Hz, of the filter that gives the motor velocities where the source is
        motor_encoders.
    observer_gain : 1/s, of the observer of external torques; 0 for none.
    collisions : thresholds with which contacts are detected; None: no detection.
    reactions : further laws, with which the arm reacts to a collision: for each name, the share of
        the stiffness of "joint_impedance" that the law has; 0 for gravity compensation.
    gravity_compensated_by_robot : leave gravity out of the commanded torques.
    sensor_delay : s, known delay from the instant that a sample shows to its time t.
    command_delay : s, known delay from t until the torque of this cycle takes effect.
    predicts_state : whether the laws act on the state predicted over these delays.

    Raises InputError for a law without settings, for settings filed under another law's name,
    and for delays that are negative or, together, too long to predict.
    """

    law: str = DEFAULT_LAW
    controllers: Mapping[str, ControllerSettings] = field(default_factory=_every_law)
    estimation: StateEstimation = field(
        default_factory=lambda: StateEstimation(
            "link_and_motor_encoders", bandwidth=FILTER_BANDWIDTH
        )
    )
    motor_bandwidth: float = FILTER_BANDWIDTH
    observer_gain: float = 0.0
    collisions: CollisionThresholds | None = None
    reactions: Mapping[str, float] = field(default_factory=dict)
    gravity_compensated_by_robot: bool = False
    sensor_delay: float = 0.0
    command_delay: float = 0.0
    predicts_state: bool = True

    def __post_init__(self) -> None:
        for name in ("sensor_delay", "command_delay"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} is {getattr(self, name)} s: must be zero or greater")
        if self.predicts_state and self.delay > LONGEST_DELAY:
            raise InputError(
                f"sensor_delay and command_delay are {self.delay:g} s together: the state can be "
                f"predicted over up to {LONGEST_DELAY:g} s; set predicts_state to false"
            )
        source = self.estimation.source
        if self.collisions is not None and source not in MEASURED:
            raise InputError(
                f"collisions are detected on measured links, but the source of the state is "
                f"'{source}'; use one of {', '.join(MEASURED)}"
            )
        for name, share in self.reactions.items():
            if name in (*LAWS, ON_LINKS) or not 0.0 <= share <= 1.0:
                raise InputError(
                    f"reaction '{name}' with the share {share}: its name must not be that of a law,"
                    " and the share must be from 0 to 1"
                )
        needed = (self.law, "hold", "joint_impedance") if self.reactions else (self.law, "hold")
        for name in needed:
            if name not in self.controllers:
                raise InputError(
                    f"law '{name}' has no settings; there are settings for "
                    f"{', '.join(self.controllers)}"
                )
        for name, settings in self.controllers.items():
            if settings.law != name:
                raise InputError(
                    f"the settings given for law '{name}' are for law '{settings.law}'"
                )

    @property
    def delay(self) -> float:
        """s, from the instant that a sample shows to the effect of the torque computed from it."""
        return self.sensor_delay + self.command_delay
