# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings that the laws with a stiffness of links or tool share."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from ...core import DynamicsError, setting
from ...elastic import Actuators
from ...model import MultibodyModel
from ..impedance.elastic_structure import CONTACT_BANDWIDTH, ElasticStructureController
from ..impedance.elastic_structure_gains import DAMPING_RATIO, ElasticStructureGains
from ..impedance.impedance import USUAL_DAMPING
from ..impedance.impedance_design import MOST
from .controller_settings import ControllerSettings, SecondOutputs, bandwidth_setting

# arguments of the controllers with the names of settings
_COMMON = (
    "bandwidth", "damping_ratio", "stiffness_time", "stiffness_energy", "friction", "period"
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class ChangingStiffness:
    """The part of the settings of laws whose stiffness changes while they run."""

    # fmt: off
    stiffness_time: float = setting(0.5, unit="s", bounds=(0.0, 60.0),
        meaning="minimum duration of a change of stiffness or damping")
    stiffness_energy: float = setting(1.0, unit="J", bounds=(0.0, 1000.0),
        meaning="energy that raising the stiffness of a displaced arm may take, in addition to half"
        " of the energy that the law's dampers dissipate")
    # fmt: on


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkStiffness:
    """The part of the settings of laws with a stiffness of the links."""

    # fmt: off
    link_stiffness: Any = setting(None, unit="N m/rad or N/m", live=True, is_row=True,
        meaning="stiffness of the links; one value, or one per joint of the robot; empty: a quarter"
        " of the springs' stiffness")
    # fmt: on


@dataclass(frozen=True, eq=False, kw_only=True)
class ImpedanceSettings(ChangingStiffness, ControllerSettings):
    """Settings of an :class:`.ImpedanceController`."""

    page = "impedance.md"
    tunable = ("target", "damping_ratio")
    fixed = (
        "tool",
        "inertia_share",
        "stiffness_share",
        "ramp.time",
        "ramp.capacity",
        "second_gains",
    )
    lowers = "impedance"

    # fmt: off
    bandwidth: Any = bandwidth_setting(40.0, "both poles of each second motor", parameter="")
    damping_ratio: float = setting(USUAL_DAMPING, bounds=(0.0, 2.0), live=True,
        parameter="impedance_damping",
        meaning="damping ratio of every mode with stiffness; a new value is judged before it takes"
        " effect")
    inertia_share: Any = setting(0.5, bounds=(0.05, 1.0),
        meaning="ratio of the apparent to the real inertia of the motors; 1: no torque feedback")
    stiffness_share: float = setting(MOST, parameter="",
        meaning="largest stiffness that is accepted, as a share of that of the springs")
    # fmt: on

    def common(self) -> dict[str, Any]:
        """The arguments of every :class:`.ImpedanceController`."""
        return self.of("inertia_share", "stiffness_share", *_COMMON)


@dataclass(frozen=True, eq=False, kw_only=True)
class ElasticStructureSettings(ChangingStiffness, SecondOutputs, ControllerSettings):
    """Settings of an :class:`.ElasticStructureController`."""

    page = "impedance.md#elastic-structure-preserved"
    tunable = ("gains", "bandwidth", "damping_ratio")
    fixed = ("ramp.time", "ramp.capacity", "contact_bandwidth")
    observer = "contact_bandwidth"

    # fmt: off
    bandwidth: Any = bandwidth_setting(40.0, parameter="esp_bandwidth",
        meaning="both poles of each virtual motor (esp), and of a stiffness or pretension; one"
        " value, or one per joint of the robot")
    damping_ratio: float = setting(DAMPING_RATIO, bounds=(0.0, 2.0), live=True,
        parameter="esp_damping",
        meaning="damping ratio of the links; higher values tolerate less delay; a new value is"
        " judged before it takes effect")
    contact_bandwidth: float = setting(CONTACT_BANDWIDTH, unit="rad/s", bounds=(0.0, 1000.0),
        meaning="poles of the observer of contacts, which the law takes into account but does not"
        " compensate; 0: no observer")
    # fmt: on

    def slowed(self, share: float) -> dict[str, Any]:
        return super().slowed(share) | {"damping_ratio": share * self.damping_ratio}

    def gains(
        self, model: MultibodyModel, actuators: Actuators, stiffness: Any, ratio: float
    ) -> ElasticStructureGains:
        """The gains for a stiffness of the links, if the law has one, and a damping ratio."""
        raise DynamicsError(f"{type(self).__name__} does not say what gains the law has")

    def design(self, model: MultibodyModel, actuators: Actuators) -> ElasticStructureController:
        gains = partial(self.gains, model, actuators)
        stiffness = self.link_stiffness if isinstance(self, LinkStiffness) else None
        return ElasticStructureController(
            model,
            actuators,
            gains(stiffness, self.damping_ratio),
            design=gains,
            has_stiffness=isinstance(self, LinkStiffness),
            **self.of("contact_bandwidth", *_COMMON),
        )
