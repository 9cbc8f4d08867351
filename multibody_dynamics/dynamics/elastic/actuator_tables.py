# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The tables that describe actuators to compiled code, and what all kinds do with them.

``JOINT`` row: one actuator
    KIND                     its place in :data:`.kinds.KINDS`
    MOTOR, SPRING, SECOND    index of its first motor, first spring, second output
    DAMPING                  of the damper in parallel with the first spring
    RIGID                    1 if motor and link move as one
    INPUT                    1 if its stiffness is an input that no motor sets
    SOFTEST, STIFFEST        the range of that stiffness
    OWN ...                  columns that the kind itself defines

``MOTOR`` row: INERTIA, friction (VISCOUS, COULOMB, COULOMB_VELOCITY) and TORQUE_LIMIT of one motor
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, inlined
from .spring_tables import LOWER, UPPER

KIND = 0
MOTOR = 1
SPRING = 2
SECOND = 3
DAMPING = 4
RIGID = 5
INPUT = 6
SOFTEST = 7
STIFFEST = 8
OWN = 9

INERTIA = 0
VISCOUS = 1
COULOMB = 2
COULOMB_VELOCITY = 3
TORQUE_LIMIT = 4
MOTOR_ROW = 5

BEYOND_TRAVEL = 1
"""Flag of a motor: the spring in front of it is beyond its travel."""
SECOND_OUTPUT_CLIPPED = 2
"""Flag of the motors that set a stiffness, or of the joint's motor if none does: the requested
stiffness was infeasible. An infeasible pretension sets BEYOND_TRAVEL."""


class LinkRows(NamedTuple):
    """Inputs of the feedforward: state (3 or more, n), torque (3, n), second outputs (3, v)."""

    state: Array
    torque: Array
    second: Array


class MotorArrays(NamedTuple):
    """Outputs of the feedforward: deflection (m,) of the spring in front of each motor, also read
    as the initial guess; load (m,); theta, theta', theta'' and tau_m (4, m); flags (m,)."""

    bent: Array
    load: Array
    result: Array
    flags: NDArray[np.int64]


@inlined
def smooth_friction(velocity, viscous, coulomb, coulomb_velocity):
    """Viscous and smoothed Coulomb friction torque, for scalars or arrays."""
    return viscous * velocity + coulomb * np.tanh(velocity / coulomb_velocity)


@inlined
def friction(motors, j, velocity):
    """Friction torque of motor j."""
    if motors[j, COULOMB] == 0.0:  # saves the tanh
        return motors[j, VISCOUS] * velocity
    return smooth_friction(
        velocity, motors[j, VISCOUS], motors[j, COULOMB], motors[j, COULOMB_VELOCITY]
    )


@inlined
def drive(motors, j, motion, load, outputs):
    """Write motor j at `motion` = (theta, theta', theta'') to `outputs`, with its torque
    tau_m = M_m theta'' + load + friction."""
    position, velocity, acceleration = motion
    result = outputs.result
    result[0, j] = position
    result[1, j] = velocity
    result[2, j] = acceleration
    result[3, j] = motors[j, INERTIA] * acceleration + load + friction(motors, j, velocity)
    outputs.load[j] = load
    outputs.flags[j] = 0


@inlined
def drive_spring(motors, laws, j, k, motion, phi, load, outputs):
    """`drive` for motor j with the spring k in front of it, deflected by phi."""
    drive(motors, j, motion, load, outputs)
    outputs.bent[j] = phi
    if not laws[k, LOWER] <= phi <= laws[k, UPPER]:
        outputs.flags[j] = BEYOND_TRAVEL


@inlined
def link_motion(given, i):
    """q, q', q'' of link i."""
    return given.state[0, i], given.state[1, i], given.state[2, i]


@inlined
def ahead(link, side, deflection):
    """theta = q + side phi, with two rates."""
    return (
        link[0] + side * deflection[0],
        link[1] + side * deflection[1],
        link[2] + side * deflection[2],
    )
