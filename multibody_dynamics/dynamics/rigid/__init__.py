# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Kinematics and dynamics of the rigid robot, with their derivatives: the core of the library.

All functions accept leading batch dimensions (..., n) and return results in body or joint order, in
SI units, with the angular part of twists and wrenches first. Gravity never enters the kinematics.

Kinematics:

forward_kinematics                poses, and twists up to the jounce, of all bodies
BodyMotion                        result: pose (..., n, 4, 4), twist to jounce (..., n, 6)
BaseMotion                        argument `base`: motion of the base in the inertial frame
frame_pose                        pose (..., 4, 4) of a body, of a merged link, or of the base
jacobian                          geometric Jacobian J (..., 6, n) of a body: twist = J q'
jacobian_dot                      its time derivative J' (..., 6, n): acceleration = J q'' + J' q'

Inverse dynamics:

inverse_dynamics                  recursive Newton-Euler (RNEA): joint torques Q with Q' and Q''
InverseDynamics                   result: tau, tau_dot, tau_ddot (..., n); N m or N, per s^k
InverseDynamicsSolver             the same for the control cycle: compiled, no allocation
inverse_solver                    such a solver for a robot with or without loops
InverseSolver                     result: what a control cycle uses of it
BatchInverseDynamics              the same for many states of one robot: vector code on all cores
specialise_solvers                lets all new solvers of a process use code made for their robot
generic_inverse_dynamics          inverse dynamics over any scalars: complex, mpmath, CasADi
higher_order_inverse_dynamics     joint torques with any number of time derivatives
generic_higher_order_inverse_dynamics  the same over any scalars
higher_order_kinematics           spatial twists with any number of time derivatives
passive_torques                   shares of springs and dampers at joints without a motor
passive_slopes                    their derivatives by q and q' at rest
passive_inverse_dynamics          u = M q_r'' + C(q, q') q_r' + g (Slotine-Li) with u' and u''
PassiveInverseDynamicsSolver      the same for the control cycle, and the gradient of x . u
generic_passive_inverse_dynamics  the same over any scalars
reference_motion                  twists J q' and J q_r' of all bodies with derivatives
ReferenceMotion                   result: pose, twists, reference_twists
interbody_wrenches                wrench that each joint transmits, with rates, in inertial axes
base_wrench                       wrench that must act on the base, with rates: residual of a plan

Matrices of the equations of motion, M q'' + C q' + g = tau:

mass_matrix                       M (..., n, n) by the composite rigid body algorithm (CRBA)
mass_matrix_dot                   its time derivative M' = C + C^T (..., n, n)
coriolis_matrix                   C (..., n, n) of the Christoffel symbols; M' - 2C is skew
christoffel_symbols               symbols of the first kind (..., n, n, n)
christoffel_symbols_binet         the same from Binet's inertia tensors
gravity_forces                    g (..., n): joint torques that hold the robot still
gravity_gradient                  dg/dq (..., n, n)

Checks of the model:

inspect_model                     masses, inertias and limits that look wrong
Finding                           one of them; `severe` if it makes the torques wrong
doubtful_range                    what is doubtful about the unit of the limits of a joint
postures                          random configurations (count, n) within the joint ranges
holding_shares                    shares (..., n) of the effort limits that hold the links at rest
held_position                     position near another one at which the efforts hold the links
held_joints                       joints that cannot move, or nowhere hold their links

Forward dynamics:

forward_dynamics                  articulated-body algorithm (ABA): joint accelerations q'' (..., n)
forward_dynamics_rates            q'' with q''' and q'''', from torques with their rates
ForwardDynamics                   result: qdd, qddd, qdddd (..., n)
ForwardDynamicsSolver             the same for the control cycle: compiled, no allocation
generic_forward_dynamics          q'' over any scalars: complex numbers, mpmath, CasADi
hybrid_dynamics                   accelerations of some joints and torques of the others
HybridDynamics                    result: qdd, tau (..., n) of all joints
articulated_bodies                factorises M(q) in O(n), optionally with prescribed joints
ArticulatedBodies                 result: solves M x = b in O(n)

Derivatives with respect to q, q', and q'' or tau:

inverse_dynamics_derivatives      dQ/dq, dQ/dq', dQ/dq''
InverseDynamicsDerivatives        result: three matrices (..., n, n)
InverseDynamicsDerivativesSolver  the same for the control cycle
forward_dynamics_derivatives      dq''/dq, dq''/dq', dq''/dtau
ForwardDynamicsDerivatives        result: three matrices (..., n, n)
ForwardDynamicsDerivativesSolver  the same for the control cycle
linearize                         state-space model near an operating point
LinearModel                       result: A, B, C, D with named states, inputs and outputs

Straight-line code for one robot, as programs of `codegen`:

trace_inverse_dynamics            Q with any number of derivatives
trace_forward_dynamics            q'' from torques
trace_mass_matrix                 M
trace_gravity_forces              g
MomentumSolver                    M q', the bias of its rate, and gravity, for the control cycle
momentum_solver                   the same for a robot with or without loops
GeneralisedMomentum               result: what observers use of it
trace_momentum                    M q' and the bias of its rate
trace_inverse_dynamics_derivatives  dQ/dq, dQ/dq', dQ/dq''
trace_forward_dynamics_derivatives  dq''/dq, dq''/dq', dq''/dtau
trace_forward_kinematics          poses, and twists up to the jounce, of bodies and frames
trace_jacobian                    Jacobian of a frame with any number of derivatives
TracedInputs                      what traced code reads besides the state: payload, gravity, ...

Energy and momentum:

kinetic_energy                    T (...) in J
potential_energy                  U (...) in J
spatial_momentum                  total momentum (..., 6) of all bodies: kg m^2/s, kg m/s
center_of_mass                    centre of mass (..., 3) of the robot, m

Wrenches and loads:

Wrenches                          argument `wrenches`: {body name: (..., 6) or (..., 3, 6)}
wrench_to_world                   transforms a wrench with rates from a body-fixed frame
load_wrench                       wrench with rates that a carried load exerts on its body
load_cell_reading                 reading of a six-axis force-torque sensor, with rates
joint_wrenches                    wrench that each joint transmits, with rates, in body frames
gravity_wrenches                  wrench that holds each body against gravity, with rates

One rigid body in any representation or moving frame:

newton_euler                      wrench W (..., 6) for a given motion
newton_euler_rates                W, W', W'' (..., 3, 6)
rigid_body_inertia                inertia matrix M (..., 6, 6)
rigid_body_inertia_dot            its time derivative (..., 6, 6)
rigid_body_momentum               momentum M V (..., 6)
rigid_body_coriolis_matrix        C (..., 6, 6) with W = M V' + C V; M' - 2C is skew
MovingFrame                       pose, twist, acceleration and jerk of a frame
moving_frame                      the frame with the origin of one frame and the axes of another
twists_in_frame                   twist and derivatives, measured and resolved in a moving frame

Building blocks for the packages above:

vector_batch                      results of a program for a large batch, by vector code
traced_robot                      a robot over expressions, on which the recursions run
TracedRobot                       result: arguments of the recursions
traced_motion                     poses and twists of frames of a traced robot
initial_bodies                    rows of its bodies, with the motion of the base
STATE_ONLY                        traced code that reads nothing besides the state
state_names                       names of q and its derivatives in traced code
result_names                      names of Q and its derivatives
traced_inverse_dynamics           Q with its derivatives, from a recorded robot
SpecialisingSolver                base of solvers that use code made for their robot
SpecialisedKernel                 this code: from the cache, or compiled
addresses                         its argument
CHECKED_STATES                    number of states at which it must agree with the general code
TOLERANCE                         how closely
CYCLES                            {representation: compiled inverse dynamics of one state}
PLAIN_CYCLES                      the same, for compiled code that calls it
mass_matrix_recursion             M from the poses and joint screws of all bodies, the same
mass_matrix_factors               L^T D L of M, solutions and M^-1, the same
inverse_dynamics_derivatives_cycle  dQ/dq, dQ/dq' and M of one state, the same
SUBTREE_ROW                       size of a row of its scratch array `subtrees`
forward_dynamics_cycle            compiled forward dynamics of a batch of states
plain_forward_dynamics_cycle      the same for one state, for compiled code that calls it
forward_dynamics_scratch          its scratch arrays
forward_arrays                    both for a robot with or without loops
ForwardArrays                     result: constants and scratch arrays for compiled code
ModelSolver                       base class of the solvers for the control cycle
pseudo_inertias                   second moments of the mass (n, 4, 4) of the bodies, joint frames
base_rows                         motion of the base in the form that the recursions expect
body_rows                         rows of all bodies after the forward recursion, see `records`
joint_poses                       poses of the joint frames in body rows
spatial_jacobians                 spatial Jacobian of a body with derivatives, from body rows
spatial_bodies                    joint screws, twists, inertias and momenta of all bodies
subtree_sums                      sums over the subtree of each body
along_paths                       selects matrix entries by the order of two joints in the tree
with_rates                        a wrench as (..., 3, 6)
carry_wrenches                    wrenches with rates from moving to inertial frames, in place
wrench_rows                       the argument `wrenches` as (..., n, 18)
prescribed_joints                 joint names or indices as (n,) bool
singular                          the DynamicsError for a singular mass matrix
ROUNDING                          relative size below which a pivot of M counts as zero
"""

from . import mass_matrix_factors
from .aba import (
    ForwardArrays,
    ForwardDynamics,
    HybridDynamics,
    forward_arrays,
    forward_dynamics,
    forward_dynamics_cycle,
    forward_dynamics_rates,
    forward_dynamics_scratch,
    generic_forward_dynamics,
    hybrid_dynamics,
    plain_forward_dynamics_cycle,
    trace_forward_dynamics,
)
from .all_bodies import along_paths, spatial_bodies, subtree_sums
from .articulated_inertia import (
    ROUNDING,
    ArticulatedBodies,
    articulated_bodies,
    prescribed_joints,
    singular,
)
from .batch_inverse_dynamics import BatchInverseDynamics
from .christoffel import christoffel_symbols, christoffel_symbols_binet
from .coriolis import coriolis_matrix, mass_matrix_dot
from .crba import gravity_forces, mass_matrix, mass_matrix_recursion, trace_mass_matrix
from .derivatives import (
    SUBTREE_ROW,
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    gravity_gradient,
    inverse_dynamics_derivatives,
    inverse_dynamics_derivatives_cycle,
    trace_forward_dynamics_derivatives,
    trace_inverse_dynamics_derivatives,
)
from .derivatives_solver import ForwardDynamicsDerivativesSolver, InverseDynamicsDerivativesSolver
from .energy import center_of_mass, kinetic_energy, potential_energy, spatial_momentum
from .forward_dynamics_solver import ForwardDynamicsSolver
from .generalised_momentum import (
    GeneralisedMomentum,
    MomentumSolver,
    momentum_solver,
    trace_gravity_forces,
    trace_momentum,
)
from .higher_order import (
    generic_higher_order_inverse_dynamics,
    higher_order_inverse_dynamics,
    higher_order_kinematics,
)
from .holding import held_joints, held_position, holding_shares
from .inverse_dynamics_solver import (
    InverseDynamicsSolver,
    InverseSolver,
    inverse_solver,
)
from .jacobians import jacobian, jacobian_dot, spatial_jacobians
from .kinematics import (
    BaseMotion,
    BodyMotion,
    base_rows,
    body_rows,
    forward_kinematics,
    frame_pose,
    joint_poses,
)
from .linearization import LinearModel, linearize
from .loads import gravity_wrenches, joint_wrenches, load_cell_reading, load_wrench
from .model_check import Finding, doubtful_range, inspect_model, postures
from .passive_dynamics import (
    PassiveInverseDynamicsSolver,
    ReferenceMotion,
    generic_passive_inverse_dynamics,
    passive_inverse_dynamics,
    reference_motion,
)
from .passive_springs import passive_slopes, passive_torques
from .rigid_body import (
    MovingFrame,
    moving_frame,
    newton_euler,
    newton_euler_rates,
    rigid_body_coriolis_matrix,
    rigid_body_inertia,
    rigid_body_inertia_dot,
    rigid_body_momentum,
    twists_in_frame,
)
from .rnea import (
    CYCLES,
    PLAIN_CYCLES,
    InverseDynamics,
    base_wrench,
    generic_inverse_dynamics,
    interbody_wrenches,
    inverse_dynamics,
)
from .solvers import ModelSolver, pseudo_inertias
from .specialised_kernel import SpecialisedKernel, addresses
from .specialising_solver import (
    CHECKED_STATES,
    TOLERANCE,
    SpecialisingSolver,
    specialise_solvers,
)
from .traced_dynamics import result_names, trace_inverse_dynamics, traced_inverse_dynamics
from .traced_kinematics import trace_forward_kinematics, trace_jacobian, traced_motion
from .tracing import (
    STATE_ONLY,
    TracedInputs,
    TracedRobot,
    initial_bodies,
    state_names,
    traced_robot,
)
from .vector_batches import vector_batch
from .wrenches import Wrenches, carry_wrenches, with_rates, wrench_rows, wrench_to_world

__all__ = [
    # kinematics
    "forward_kinematics", "BodyMotion", "BaseMotion", "frame_pose", "jacobian", "jacobian_dot",
    # inverse dynamics
    "inverse_dynamics", "InverseDynamics", "InverseDynamicsSolver", "generic_inverse_dynamics",
    "BatchInverseDynamics", "specialise_solvers", "inverse_solver", "InverseSolver",
    "higher_order_inverse_dynamics", "generic_higher_order_inverse_dynamics",
    "higher_order_kinematics", "interbody_wrenches", "base_wrench", "passive_inverse_dynamics",
    "passive_torques", "passive_slopes",
    "PassiveInverseDynamicsSolver", "generic_passive_inverse_dynamics", "reference_motion",
    "ReferenceMotion",
    # matrices of the equations of motion, M q'' + C q' + g = tau
    "mass_matrix", "mass_matrix_dot", "coriolis_matrix", "christoffel_symbols",
    "christoffel_symbols_binet", "gravity_forces", "gravity_gradient",
    "inspect_model", "Finding", "doubtful_range", "postures", "holding_shares", "held_position",
    "held_joints",
    # forward dynamics
    "forward_dynamics", "forward_dynamics_rates", "ForwardDynamics", "ForwardDynamicsSolver",
    "generic_forward_dynamics", "hybrid_dynamics", "HybridDynamics", "articulated_bodies",
    "ArticulatedBodies",
    # derivatives with respect to q, q', and q'' or tau
    "inverse_dynamics_derivatives", "InverseDynamicsDerivatives",
    "InverseDynamicsDerivativesSolver", "forward_dynamics_derivatives",
    "ForwardDynamicsDerivatives", "ForwardDynamicsDerivativesSolver", "linearize", "LinearModel",
    # straight-line code for one robot
    "trace_inverse_dynamics", "trace_forward_dynamics", "trace_mass_matrix",
    "trace_inverse_dynamics_derivatives", "trace_forward_dynamics_derivatives",
    "trace_gravity_forces", "trace_momentum", "trace_forward_kinematics", "trace_jacobian",
    "TracedInputs", "MomentumSolver", "momentum_solver", "GeneralisedMomentum",
    # energy and momentum
    "kinetic_energy", "potential_energy", "spatial_momentum", "center_of_mass",
    # wrenches and loads
    "Wrenches", "wrench_to_world", "load_wrench", "load_cell_reading", "joint_wrenches",
    "gravity_wrenches",
    # one rigid body in any representation or moving frame
    "newton_euler", "newton_euler_rates", "rigid_body_inertia", "rigid_body_inertia_dot",
    "rigid_body_momentum", "rigid_body_coriolis_matrix", "MovingFrame", "moving_frame",
    "twists_in_frame",
    # building blocks for the packages above
    "vector_batch", "traced_robot", "TracedRobot", "traced_motion", "initial_bodies",
    "STATE_ONLY", "state_names", "result_names", "traced_inverse_dynamics", "SpecialisingSolver",
    "SpecialisedKernel",
    "addresses", "CHECKED_STATES", "TOLERANCE",
    "CYCLES", "PLAIN_CYCLES", "mass_matrix_recursion", "mass_matrix_factors",
    "inverse_dynamics_derivatives_cycle", "SUBTREE_ROW", "forward_dynamics_cycle",
    "plain_forward_dynamics_cycle", "forward_dynamics_scratch",
    "forward_arrays", "ForwardArrays",
    "ModelSolver", "pseudo_inertias", "base_rows", "body_rows", "joint_poses", "spatial_jacobians",
    "spatial_bodies", "subtree_sums",
    "along_paths", "carry_wrenches", "with_rates", "wrench_rows", "prescribed_joints", "singular",
    "ROUNDING",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
