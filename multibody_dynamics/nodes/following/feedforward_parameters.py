# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of nodes with the feedforward law."""

from dataclasses import dataclass

from ..base.parameters import parameter
from .following_parameters import FollowingParameters


@dataclass(frozen=True)
class FeedforwardParameters(FollowingParameters):
    """The parameters of feedforward_node; docs/feedforward_node.md has them as a table."""

    usual = (*FollowingParameters.usual, "variant", "lookahead", "ramp_time")

    # fmt: off
    ramp_time: float = parameter(0.5, unit="s", bounds=(0.0, 60.0), live=True,
        meaning="duration of the ramp to the motor torques of the law, from zero at activation, or"
        " from the last torques if a new hold begins")
    # fmt: on
