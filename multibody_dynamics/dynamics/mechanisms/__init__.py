# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joints with several degrees of freedom, and mechanisms with closed loops.

Joints with several degrees of freedom:

Joint                         base class: a joint and its motion subspace S (..., 6, k)
CompositeJoint                T = exp(X_1 q_1) ... exp(X_k q_k), coordinates of the second kind
SphericalJoint                yaw, pitch and roll as coordinates
ExponentialJoint              T = exp(X_1 q_1 + ... + X_k q_k), coordinates of the first kind
BodyFixedJoint                pose and body-fixed twist of a ball or free joint, never singular
MultiDofModel                 a tree of such joints, with its kinematics and dynamics
MultiDofInverseDynamicsSolver  Q, Q', Q'' of such a tree in the control cycle

Closed mechanisms:

ConstrainedModel              a tree with constraints and the list of its actuated joints
LoopClosure                   constraint: a joint at which a loop was cut
ConstraintMatrix              constraint A(q) q' = 0 given by user-supplied functions
PassiveSpring                 a linear spring with a damper at a joint without a motor
constraint_residual           f(q) (..., m); zero if the mechanism is closed
constraint_matrices           A, A', A'', A''' (..., m, n)
redundant_constraints         names of the rows of A that depend on the others
load_mechanism                a tree and the loops in a YAML file, such as that of the springs
close_loops                   the same as a ClosedChainModel; a file without loops: the tree
load_robot                    the robot of a URDF and the file of its springs, loops closed
closed_chain                  the robot in the coordinates of its motors, for laws, plants and nodes
ClosedChainModel              result: a MultibodyModel with loops
in_charts                     the angles of passive balls in other charts, with velocities
renew_charts                  passes to the chart of each ball that suits its pose
LARGEST_PITCH                 how far a ball may turn in one chart
loop_tangents                 derivatives of the joints with respect to the motion of the motors
LoopTangents                  result of loop_tangents
closure_rows                  the equations of a cut joint, without logarithms
assemble                      closes the loops: finds a configuration with f = 0 near a given one
consistent_motion             nearest motion up to q'''' that obeys the constraints

Dynamics of closed mechanisms:

constrained_inverse_dynamics  motor torques for a motion, with two time derivatives
ConstrainedInverseDynamics    result: torques, multipliers and loop wrenches
constrained_forward_dynamics  joint accelerations under given torques
constrained_hybrid_dynamics   accelerations of some joints and torques of the others
ConstrainedMotion             result: accelerations, torques, multipliers and loop wrenches

The same for the control cycle, compiled:

ConstrainedInverseDynamicsSolver  Q, Q', Q'' of the motors from a motion of the independent joints
ConstrainedForwardDynamicsSolver  accelerations of the independent joints from torques of the motors
ConstrainedForwardDynamicsDerivativesSolver  their derivatives
ConstrainedMomentumSolver         momentum of the independent joints, the bias of its rate, gravity
trace_constrained_inverse_dynamics  Q, Q', Q'' as straight-line code for one mechanism
STRIDE                            how far the independent joints may go in a step of that code
loop_memory                       closes the loops for such code of a generated controller
LoopMemory                        where they were closed last
loop_accelerations                the forward dynamics, for compiled code that calls it
tree_and_loops                    the arrays of the following functions, which compiled code calls
place_joints                      positions of all joints of a robot with or without loops
return_to_start                   the next poses, approached from the assembled configuration
move_bodies                       twists of all bodies, order by order
rate_found                        gives them the rates of the coordinates, order by order
jacobian_rows                     where to write the Jacobian of a tool, with derivatives
reduce_jacobian                   the same in the coordinates of the robot
factorise                         LU factors of a small square matrix, in compiled code
solve                             solutions with these factors
"""

from . import loop_memory
from .assembly import assemble, consistent_motion
from .ball_charts import LARGEST_PITCH, in_charts, renew_charts
from .closed_chain_model import ClosedChainModel, closed_chain
from .constrained_dynamics import (
    ConstrainedInverseDynamics,
    ConstrainedMotion,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
)
from .constrained_solvers import (
    ConstrainedForwardDynamicsSolver,
    ConstrainedInverseDynamicsSolver,
    ConstrainedMomentumSolver,
)
from .constraints import constraint_matrices, constraint_residual, redundant_constraints
from .loop_derivatives import (
    ConstrainedForwardDynamicsDerivativesSolver,
    LoopTangents,
    loop_tangents,
)
from .loop_kinematics import (
    jacobian_rows,
    move_bodies,
    place_joints,
    rate_found,
    reduce_jacobian,
    return_to_start,
    tree_and_loops,
)
from .loop_memory import LoopMemory
from .loop_recursion import STRIDE, loop_accelerations
from .loop_rows import closure_rows
from .loops import ConstrainedModel, ConstraintMatrix, LoopClosure, PassiveSpring
from .mechanism_description import close_loops, load_mechanism, load_robot
from .motion_subspaces import (
    BodyFixedJoint,
    CompositeJoint,
    ExponentialJoint,
    Joint,
    SphericalJoint,
)
from .multi_dof import MultiDofModel
from .multi_dof_solver import MultiDofInverseDynamicsSolver
from .square_systems import factorise, solve
from .traced_loops import trace_constrained_inverse_dynamics

__all__ = [
    # joints with several degrees of freedom
    "Joint", "CompositeJoint", "SphericalJoint", "ExponentialJoint", "BodyFixedJoint",
    "MultiDofModel", "MultiDofInverseDynamicsSolver",
    # closed mechanisms
    "ConstrainedModel", "LoopClosure", "ConstraintMatrix", "PassiveSpring", "load_mechanism",
    "close_loops", "load_robot", "loop_tangents", "LoopTangents",
    "closed_chain", "ClosedChainModel", "in_charts", "renew_charts", "LARGEST_PITCH",
    "constraint_residual", "closure_rows", "constraint_matrices", "redundant_constraints",
    "assemble", "consistent_motion",
    # dynamics of closed mechanisms
    "constrained_inverse_dynamics", "ConstrainedInverseDynamics", "constrained_forward_dynamics",
    "constrained_hybrid_dynamics", "ConstrainedMotion",
    # for the control cycle
    "ConstrainedInverseDynamicsSolver", "ConstrainedForwardDynamicsSolver",
    "ConstrainedForwardDynamicsDerivativesSolver", "ConstrainedMomentumSolver",
    "trace_constrained_inverse_dynamics", "STRIDE", "loop_memory",
    "LoopMemory", "loop_accelerations",
    "tree_and_loops", "place_joints", "return_to_start", "move_bodies", "rate_found",
    "jacobian_rows", "reduce_jacobian", "factorise", "solve",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
