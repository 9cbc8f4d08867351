# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The actuators of an arm as a record: in C, each field is a table of constants."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core import Array, Field, Integers, locked
from ...elastic import FRICTION_ROW, Actuators, actuator_rows, actuator_tables


class Actuation(NamedTuple):
    """Which motors drive which joints, and how."""

    first_motor: Annotated[Integers, Field("of each joint", ("n",))]
    joint_of_motor: Annotated[Integers, Field("of each motor", ("m",))]
    has_one_motor: Annotated[Integers, Field("whether a joint has no second motor", ("n",))]
    is_rigid: Annotated[Integers, Field("whether a joint has no spring", ("n",))]
    is_damped: Annotated[Integers, Field("whether its spring has a damper", ("n",))]
    torque_share: Annotated[Array, Field("of each motor in the torque of its joint", ("m",))]
    motor_inertia: Annotated[Array, Field("kg m^2 or kg, link side of the gear", ("m",))]
    motor_rows: Annotated[
        Array,
        Field("numbers of the motors, see `actuator_tables`", ("m", actuator_tables.MOTOR_ROW)),
    ]
    has_link_friction: Annotated[Integers, Field("whether a link has friction", ("n",))]
    link_friction: Annotated[Array, Field("of each link, see `friction_law`", ("n", FRICTION_ROW))]
    bristle_state: Annotated[
        Integers, Field("index of its bristles in the states; 0: none", ("n",))
    ]


def motor_turns(actuators: Actuators, turn: Array) -> Array:
    """(m,) rad after which the states of each motor repeat, from those of the joints (n,); 0 for
    motors that only set a stiffness, which are nowhere near the link."""
    moves = np.asarray(actuators.torque_share) > 0.0
    return locked(np.where(moves, turn[actuators.joint_of_motor], 0.0))


def actuation(actuators: Actuators) -> Actuation:
    """The record of the actuators of an arm."""

    def whole(row: Any) -> Integers:
        return locked(np.array(row, dtype=np.int64))

    def numbers(row: Any) -> Array:
        return locked(np.array(row, dtype=np.float64))

    return Actuation(
        first_motor=whole(actuators.first_motor),
        joint_of_motor=whole(actuators.joint_of_motor),
        has_one_motor=whole(np.bincount(actuators.joint_of_motor, minlength=actuators.n) == 1),
        is_rigid=whole(actuators.is_rigid),
        is_damped=whole(actuators.is_damped),
        torque_share=numbers(actuators.torque_share),
        motor_inertia=numbers(actuators.motor_inertia),
        motor_rows=numbers(actuator_rows(actuators).motors),
        has_link_friction=whole(actuators.has_link_friction),
        link_friction=numbers([each.link_friction.row for each in actuators.actuators]),
        bristle_state=whole(actuators.bristle_state),
    )
