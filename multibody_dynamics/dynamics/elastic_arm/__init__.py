# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion of an arm with actuators of any kind, compiled: links, springs and motors.

The simulated arm integrates them, and control laws use them to predict the state.

arm_slope                q'' and theta'' under given motor torques, for compiled code
arm_springs              its first half: torques of the springs
arm_accelerations        its second half: q'' and theta'' under these torques
ArmTables                constants of links, springs and motors, for compiled code
ArmScratch               buffers of arm_slope
ArmState                 the parts of a state: q, q', theta, theta'
SoftBase                 a base on springs: frequency, inertia, directions
BaseMatrices             own inertia, stiffness and damping of a soft base
DIRECTIONS               in which a base may move
on_base                  the robot with the coordinates of its base before its own
mass_matrix_without_base         its mass matrix, without the inertia of the base
UNIT_INERTIA             of such a base
"""

from .equations_of_motion import (
    ArmScratch,
    ArmState,
    ArmTables,
    arm_accelerations,
    arm_slope,
    arm_springs,
)
from .soft_base import (
    DIRECTIONS,
    UNIT_INERTIA,
    BaseMatrices,
    SoftBase,
    mass_matrix_without_base,
    on_base,
)

__all__ = [
    "arm_slope", "arm_springs", "arm_accelerations", "ArmTables", "ArmScratch", "ArmState",
    "SoftBase", "BaseMatrices", "DIRECTIONS", "UNIT_INERTIA", "on_base", "mass_matrix_without_base",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
