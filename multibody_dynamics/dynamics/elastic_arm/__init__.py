# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Equations of motion of an arm with actuators of any kind, compiled: links, springs and motors.

The simulated arm integrates them, and control laws use them to predict the state.

arm_slope                q'' and theta'' under given motor torques, for compiled code
ArmTables                constants of links, springs and motors, for compiled code
ArmScratch               buffers of arm_slope
ArmState                 the parts of a state: q, q', theta, theta'
"""

from .equations_of_motion import ArmScratch, ArmState, ArmTables, arm_slope

__all__ = ["arm_slope", "ArmTables", "ArmScratch", "ArmState"]


def __dir__() -> list[str]:
    return sorted(__all__)
