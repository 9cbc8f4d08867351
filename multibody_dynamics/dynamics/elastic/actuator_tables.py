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
    HAS_LINK_FRICTION        1 if the link has friction, which follows from LINK_FRICTION on
    SLIP_STATE               index of the state of its first slip element, behind those of all
                             joints; 0: none
    BRISTLE_STATE            index of the state of the bristles of its link, behind these; 0: none
    PRESLIDING               their presliding distance
    LINK_FRICTION            the FRICTION row of the link, see :mod:`.friction_law`
    OWN ...                  columns that the kind itself defines

``MOTOR`` row: the FRICTION row of one motor, its INERTIA and TORQUE_LIMIT
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, inlined
from .friction_law import (
    COULOMB,
    COULOMB_VELOCITY,
    FRICTION_OFFSET,
    FRICTION_ROW,
    LOAD_FRICTION,
    STRIBECK,
    VISCOUS,
    bristle_direction,
    directed_friction_motion,
    friction_row,
    friction_torque,
    moved_bristles,
    sliding_direction,
    smooth_friction,
)
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
HAS_LINK_FRICTION = 9
SLIP_STATE = 10
BRISTLE_STATE = 11
PRESLIDING = 12
LINK_FRICTION = 13
OWN = LINK_FRICTION + FRICTION_ROW

INERTIA = FRICTION_ROW
TORQUE_LIMIT = FRICTION_ROW + 1
MOTOR_ROW = FRICTION_ROW + 2

BEYOND_TRAVEL = 1
"""Flag of a motor: the spring in front of it is beyond its travel."""
SECOND_OUTPUT_CLIPPED = 2
"""Flag of the motors that set a stiffness, or of the joint's motor if none does: the requested
stiffness was infeasible. An infeasible pretension sets BEYOND_TRAVEL."""


class LinkRows(NamedTuple):
    """Inputs of the feedforward: state (3 or more, n), torque (3, n) that the springs carry, with
    the friction of links, second outputs (3, v)."""

    state: Array
    torque: Array
    second: Array


class MotorArrays(NamedTuple):
    """Outputs of the feedforward: deflection (m,) of the spring in front of each motor, also read
    as the initial guess; load (m,); theta, theta', theta'' and tau_m (4, m); flags (m,)."""

    deflection: Array
    load: Array
    result: Array
    flags: NDArray[np.int64]


@inlined
def friction(motors, j, velocity, load):
    """Friction torque of motor j under this load."""
    if (
        motors[j, STRIBECK] == 0.0
        and motors[j, LOAD_FRICTION] == 0.0
        and motors[j, FRICTION_OFFSET] == 0.0
    ):
        if motors[j, COULOMB] == 0.0:  # saves the tanh
            return motors[j, VISCOUS] * velocity
        return smooth_friction(
            velocity, motors[j, VISCOUS], motors[j, COULOMB], motors[j, COULOMB_VELOCITY]
        )
    return friction_torque(friction_row(motors, j, 0), velocity, load)


@inlined
def link_friction(joints, i, velocity, torque):
    """Friction torque of link i under the joint torque."""
    return friction_torque(friction_row(joints, i, LINK_FRICTION), velocity, torque)


@inlined
def add_link_friction(joints, i, state, torque, carried, filtered):
    """Write Q, Q', Q'' that the springs of joint i carry along `state` (4 or more, n) to `carried`
    (3, n): those of the rigid links, `torque`, and the friction of its link, whose bristles are
    among the states `filtered`."""
    Q, Qd, Qdd = torque[0, i], torque[1, i], torque[2, i]
    if joints[i, HAS_LINK_FRICTION] != 0.0:
        law, motion = (
            friction_row(joints, i, LINK_FRICTION),
            (state[1, i], state[2, i], state[3, i]),
        )
        if joints[i, BRISTLE_STATE] != 0.0:
            y = filtered[int(joints[i, BRISTLE_STATE])]
            direction = bristle_direction(y, motion, joints[i, PRESLIDING])
        else:
            direction = sliding_direction(law, motion)
        F, Fd, Fdd = directed_friction_motion(law, motion, (Q, Qd, Qdd), direction)
        Q += F
        Qd += Fd
        Qdd += Fdd
    carried[0, i] = Q
    carried[1, i] = Qd
    carried[2, i] = Qdd


@inlined
def advance_bristles(joints, state, filtered, dt):
    """Bend the bristles of all links along `state` (4 or more, n) for dt in s."""
    for i in range(joints.shape[0]):
        if joints[i, BRISTLE_STATE] != 0.0:
            k = int(joints[i, BRISTLE_STATE])
            way = dt * (state[1, i] + 0.5 * dt * (state[2, i] + dt * state[3, i] / 3.0))
            filtered[k] = moved_bristles(filtered[k], way, joints[i, PRESLIDING])


@inlined
def drive(motors, j, motion, load, outputs):
    """Write motor j at `motion` = (theta, theta', theta'') to `outputs`, with its torque
    tau_m = M_m theta'' + load + friction."""
    position, velocity, acceleration = motion
    result = outputs.result
    result[0, j] = position
    result[1, j] = velocity
    result[2, j] = acceleration
    result[3, j] = motors[j, INERTIA] * acceleration + load + friction(motors, j, velocity, load)
    outputs.load[j] = load
    outputs.flags[j] = 0


@inlined
def drive_spring(motors, laws, j, k, motion, phi, load, outputs):
    """`drive` for motor j with the spring k in front of it, deflected by phi."""
    drive(motors, j, motion, load, outputs)
    outputs.deflection[j] = phi
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
