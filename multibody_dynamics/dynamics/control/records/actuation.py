# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The actuators of an arm as a record: in C, each field is a table of constants."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from ...core import Array, Field, Integers, locked
from ...elastic import Actuators, actuator_rows, flat_map


class Actuation(NamedTuple):
    """Which motors drive which joints, and how."""

    first_motor: Annotated[Integers, Field("of each joint", ("n",))]
    joint_of_motor: Annotated[Integers, Field("of each motor", ("m",))]
    is_rigid: Annotated[Integers, Field("whether a joint has no spring", ("n",))]
    is_damped: Annotated[Integers, Field("whether its spring has a damper", ("n",))]
    torque_share: Annotated[Array, Field("of each motor in the torque of its joint", ("m",))]
    motor_inertia: Annotated[Array, Field("kg m^2 or kg, link side of the gear", ("m",))]
    motor_rows: Annotated[Array, Field("numbers of the motors, see `flat_map`", ("m", flat_map.MOTOR_ROW))]


def actuation(actuators: Actuators) -> Actuation:
    """The record of the actuators of an arm."""
    whole = (
        np.array(row, dtype=np.int64)
        for row in (
            actuators.first_motor,
            actuators.joint_of_motor,
            actuators.is_rigid,
            actuators.is_damped,
        )
    )
    numbers = (
        np.array(row, dtype=np.float64)
        for row in (
            actuators.torque_share, actuators.motor_inertia, actuator_rows(actuators).motors
        )
    )  # fmt: skip
    return Actuation(*map(locked, whole), *map(locked, numbers))
