# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the drift node."""

from dataclasses import dataclass, fields

from ...dynamics.core import InputError, declared
from ...validation.drift_watch import DriftSettings
from ..base.parameters import ParameterError, parameter
from .compared_robot import ComparedRobotParameters


@dataclass(frozen=True)
class DriftParameters(ComparedRobotParameters):
    """The parameters of drift_node; docs/drift_node.md has them as a table."""

    # fmt: off
    payload_link: str = parameter("", "link on which a payload may change; empty: the last one")
    cutoff: float = parameter(5.0, unit="Hz", bounds=(0.05, 1000.0),
        meaning="cut-off frequency of the zero-phase filter; at most a fifth of the rate of the"
        " states")
    pair_tolerance: float = parameter(0.0, unit="s", bounds=(0.0, 0.1),
        meaning="largest difference between the stamps of a joint state and a motor state that are"
        " paired")

    state_file: str = parameter("drift.npz",
        meaning="file in which the reference and the last days are kept; empty: start a new"
        " reference at every activation")
    # fmt: on
    segment: float = declared(DriftSettings, "segment")
    block: float = declared(DriftSettings, "block")
    reference: float = declared(DriftSettings, "reference")
    warm_up_time: float = declared(DriftSettings, "warm_up_time")
    remembered_days: float = declared(DriftSettings, "remembered_days")
    false_alarm_level: float = declared(DriftSettings, "false_alarm_level")
    least_payload: float = declared(DriftSettings, "least_payload")
    least_friction: float = declared(DriftSettings, "least_friction")
    least_offset: float = declared(DriftSettings, "least_offset")
    least_stiffness: float = declared(DriftSettings, "least_stiffness")

    def check(self) -> None:
        super().check()
        try:
            self.settings()
        except InputError as error:
            raise ParameterError(str(error)) from None

    def settings(self) -> DriftSettings:
        """The settings of the watch. Raises InputError if they are inconsistent."""
        return DriftSettings(
            **{each.name: getattr(self, each.name) for each in fields(DriftSettings)}
        )
