"""The parameters of the feedforward node."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.parameters import parameter
from .following_parameters import FollowingParameters


@dataclass(frozen=True)
class FeedforwardParameters(FollowingParameters):
    """See the descriptions; docs/feedforward_node.md has them as a table."""

    ramp_time: float = parameter(
        0.5,
        "how long motor torques take from zero at activation, or from the safe output, to theirs",
        unit="s",
        bounds=(0.0, 60.0),
        live=True,
    )
