# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the control cycle counts, declared once."""

from typing import Annotated, NamedTuple

from ...core import Field, Integers


class CycleCounts(NamedTuple):
    """Counts of what was missing, refused or limited since initialisation."""

    # fmt: off
    cycles: Annotated[Integers, Field("all", counts=True)]
    stalled_cycles: Annotated[Integers, Field(
        "with a time that is not later: the last torque is repeated", counts=True
    )]
    time_jumps: Annotated[Integers, Field(
        "with a time that is earlier by more than max_step", counts=True
    )]
    late_cycles: Annotated[Integers, Field(
        "more than link_timeout after the one before: a fault", counts=True
    )]
    coasted_cycles: Annotated[Integers, Field(
        "with a missing sample of links or motors", counts=True
    )]
    refused_samples: Annotated[Integers, Field(
        "not finite, too fast, or later than max_step from now", counts=True
    )]
    frozen_cycles: Annotated[Integers, Field(
        "with positions that repeat exactly although the arm moves", counts=True
    )]
    refused_points: Annotated[Integers, Field(
        "answers of robot_append other than ROBOT_ACCEPTED", counts=True
    )]
    late_references: Annotated[Integers, Field(
        "the motion ended before a further point arrived", counts=True
    )]
    limited_torques: Annotated[Integers, Field(
        "cycles in which a torque was limited", counts=True
    )]
    limited_rates: Annotated[Integers, Field(
        "cycles in which the rate of a torque was limited", counts=True
    )]
