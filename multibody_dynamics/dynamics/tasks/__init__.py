# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tool motions in task space: inverse kinematics to fourth order, redundancy, paths in SE(3).

A task prescribes components of the motion of one tool. Inverse kinematics finds joint positions for
tool poses; the task-space solver finds q' ... q'''' and torques with rates for tool motions. On a
legged robot, the feet are tools at rest, and the base moves.

Tasks:

Task                     components of the motion of one tool that follow a target
TaskMotion               pose, twist, acceleration, jerk and jounce of a tool frame
COMPONENTS               names of the six components: rx, ry, rz, x, y, z
GROUPS                   names of sets of components: pose, orientation, position, direction
task_motion              motion of the tool of a task from q ... q''''
task_jacobian            Jacobian (..., m, n) of the prescribed components

Inverse kinematics:

inverse_kinematics       joint positions (..., n) for given tool poses
InverseKinematicsSolver  inverse kinematics of one robot and set of tasks, for many targets
InverseKinematicsResult  joint positions, success, residual, and the reason for a failure
TaskSpaceSolver          q ... q'''', Q, Q' and Q'' from tool motions in the control cycle
task_inverse_dynamics    q ... q'''', Q, Q' and Q'' from batches of tool motions
TaskDynamics             result of task_inverse_dynamics, each (..., n)

Redundancy and singularities:

RedundancyResolution     how redundant joints share a task: weights, posture, limits, damping
Damping                  damping near singularities, continuous to the fourth order
manipulability           distance of configurations (..., n) from singularities
Manipulability           Yoshikawa's measure, smallest singular value, condition number

Legged robots:

stance_motion            joints, contact forces and torques with rates for a motion of the base
Contact                  a foot at rest on the ground, with its friction
StanceMotion             result of stance_motion
PointContacts            the points of all contacts
StandingForces           contact forces with two rates in the control cycle

Paths in SE(3):

PosePath                 motion of a frame in time, continuous through the jounce
line                     path with the origin on a straight line
screw_motion             path about and along one fixed axis
circle                   path on a circle or a helix
arc                      path on the circle through three points
spline                   path through given poses without stopping
concatenate              one path after the other, with pauses
redirect                 path from the state of a running path to rest at a new goal
"""

from .contact_forces import PointContacts
from .inverse_kinematics_solver import (
    InverseKinematicsResult,
    InverseKinematicsSolver,
    inverse_kinematics,
)
from .redundancy import Damping, Manipulability, RedundancyResolution, manipulability
from .se3_paths import PosePath, arc, circle, concatenate, line, redirect, screw_motion, spline
from .stance import Contact, StanceMotion, stance_motion
from .standing_forces import StandingForces
from .task_space import TaskDynamics, TaskSpaceSolver, task_inverse_dynamics
from .tool_task import COMPONENTS, GROUPS, Task, TaskMotion, task_jacobian, task_motion

__all__ = [
    # tasks
    "Task", "TaskMotion", "COMPONENTS", "GROUPS", "task_motion", "task_jacobian",
    # inverse kinematics
    "inverse_kinematics", "InverseKinematicsSolver", "InverseKinematicsResult",
    "TaskSpaceSolver", "task_inverse_dynamics", "TaskDynamics",
    # redundancy and singularities
    "RedundancyResolution", "Damping", "manipulability", "Manipulability",
    # legged robots
    "stance_motion", "Contact", "StanceMotion", "PointContacts", "StandingForces",
    # paths in SE(3)
    "PosePath", "line", "screw_motion", "circle", "arc", "spline", "concatenate", "redirect",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
