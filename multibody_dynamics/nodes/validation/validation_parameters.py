# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the validation node."""

from dataclasses import dataclass

from ..base.parameters import ParameterError, parameter
from .compared_robot import ComparedRobotParameters


@dataclass(frozen=True)
class ValidationParameters(ComparedRobotParameters):
    """The parameters of validation_node; docs/validation_node.md has them as a table."""

    # fmt: off
    effort: str = parameter("joint", choices=("joint", "motor"),
        meaning="side of the springs on which the efforts are measured")
    cutoff: float = parameter(10.0, unit="Hz", bounds=(0.05, 1000.0),
        meaning="cut-off frequency of the zero-phase filter; at most a fifth of the rate of the"
        " states; the outputs are delayed by 3.6 periods of this frequency")
    compared_rate: float = parameter(0.0, unit="Hz", bounds=(0.0, 10000.0),
        meaning="rate of the outputs, rounded to an integer fraction of the rate of the states; 0:"
        " eight times the cut-off")

    window: float = parameter(1.0, unit="s", bounds=(1.0, 3600.0), live=True,
        meaning="time window of the running rms")
    max_rms_share: float = parameter(0.1, bounds=(0.0, 10.0), live=True,
        meaning="warn if the running rms exceeds this share of the robot's effort limit; 0: never")
    max_nrms: float = parameter(0.0, bounds=(0.0, 1000.0), live=True,
        meaning="warn if the normalised error since the first state exceeds this; 0: never")

    output: str = parameter("validation",
        meaning="folder of the recordings and their reports, recording_N; empty: do not record")
    silence: float = parameter(5.0, unit="s", bounds=(0.1, 3600.0), live=True,
        meaning="end a recording and write its report if no state arrives for this long")
    longest_recording: float = parameter(3600.0, unit="s", bounds=(1.0, 86400.0), live=True,
        meaning="end a recording after this long, and begin the next one")
    # fmt: on

    def check(self) -> None:
        super().check()
        if self.effort == "motor" and not self.elastic_joints_file:
            raise ParameterError("effort 'motor' requires elastic_joints_file")
