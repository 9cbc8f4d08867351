"""Tools in task space: inverse kinematics to the fourth order, redundancy, paths in SE(3).

Task                     Components of the motion of one tool that are to follow a target.
TaskMotion               The motion of a tool frame
task_jacobian            (..., m, n): how the joints move the prescribed components
task_motion              How the tool of a task moves while the joints do
COMPONENTS               ?? COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")
GROUPS                   ?? }
InverseKinematicsResult  Joint positions, and how well they do
InverseKinematicsSolver  Inverse kinematics of one robot for one set of tasks and many targets.
inverse_kinematics       Joint positions q (..., n) that bring a tool, or several at once
Damping                  Damping that appears, smoothly in time
Manipulability           How far a configuration is from singular, each (...)
RedundancyResolution     Which of the joint motions that do the task is taken
manipulability           Measures of the tasks at q (..., n)
TaskDynamics             Joint motion, torques and their rates from the motion of tools
TaskSpaceSolver          q ... q'''' from the motion of tools in the control cycle
task_inverse_dynamics    [M21] Algorithms 2 and 3: from pose, twist
PosePath                 The motion of a frame in time, with twist to jounce; all continuous.
arc                      On the circle through three points
circle                   On a circle about the line through `center` (3,) along `axis` (3,)
concatenate              One path after the other, each from the end of the one before
line                     The origin on a straight line, the orientation on the geodesic
redirect                 From the state of `running` at time t to rest at `goal` (4, 4)
screw_motion             From one pose (4, 4) to another about and along one fixed axis
spline                   Through poses (k, 4, 4) at times (k,) in s, from rest to rest
"""

from .inverse_kinematics_solver import (
    InverseKinematicsResult,
    InverseKinematicsSolver,
    inverse_kinematics,
)
from .redundancy import Damping, Manipulability, RedundancyResolution, manipulability
from .se3_paths import PosePath, arc, circle, concatenate, line, redirect, screw_motion, spline
from .task_space import TaskDynamics, TaskSpaceSolver, task_inverse_dynamics
from .tool_task import COMPONENTS, GROUPS, Task, TaskMotion, task_jacobian, task_motion

__all__ = [
    "Task", "TaskMotion", "task_jacobian", "task_motion", "COMPONENTS", "GROUPS",
    "InverseKinematicsResult", "InverseKinematicsSolver", "inverse_kinematics", "Damping",
    "Manipulability", "RedundancyResolution", "manipulability", "TaskDynamics",
    "TaskSpaceSolver", "task_inverse_dynamics", "PosePath", "arc", "circle", "concatenate",
    "line", "redirect", "screw_motion", "spline",
]  # fmt: skip
