"""Kinematics and dynamics of the rigid arm: the contract of the library.

BaseMotion                          The motion of the base in the inertial frame
BodyMotion                          Poses (..., n, 4, 4) of the body frames and their motion
forward_kinematics                  Poses of all bodies, and their twists up to the jounce as ...
frame_pose                          The pose (..., 4, 4) of a body, of a link merged into one
base_rows                           The head of the base's row, (..., WRENCH)
joint_poses                         The poses (..., 4, 4) of the joint frames that body rows ...
body_rows                           The forward recursion for a batch
jacobian                            J (..., 6, n) with twist = J q' for a body
jacobian_dot                        The componentwise time derivative J' (..., 6, n)
spatial_jacobians                   Pose (N, 4, 4) of a body or frame
subtree_sums                        Sums of the values of the bodies along `axis`
spatial_bodies                      The bodies at q (..., n), moving with qd (..., n)
along_paths                         (..., n, n): entry i, j of `j_first` where joint j is on ...
wrench_to_world                     A wrench given in a frame fixed to a body, with rates
Wrenches                            ?? Wrenches = Mapping[str, Any]
wrench_rows                         The applied wrenches with their rates as (..., n, 18)
with_rates                          A wrench (..., 6) with zero rates, or (..., 3, 6) as it is
gravity_wrenches                    W^grav_i = M^s_i G and its first and second time ...
MovingFrame                         A frame to measure at and to resolve in, moving as it likes.
moving_frame                        The frame that measures at frame j and resolves in frame k
newton_euler                        The wrench W (..., 6) that the motion of a body takes
newton_euler_rates                  W, W' and W'' (..., 3, 6) of newton_euler
rigid_body_coriolis_matrix          C (..., 6, 6) with W = M V' + C V and M' - 2C skew ...
rigid_body_inertia                  M (..., 6, 6) of the body at `pose` (..., 4
rigid_body_inertia_dot              The derivative M' (..., 6
rigid_body_momentum                 Pi = M V (..., 6), angular part first: kg m^2/s and kg m/s
twists_in_frame                     A twist and its derivatives as a moving frame sees them
InverseDynamics                     Joint torques Q and their rates, each (..., n)
generic_inverse_dynamics            The same recursions over any scalars, never compiled
interbody_wrenches                  What each joint transmits to its body, with rates
inverse_dynamics                    Joint torques of a motion and their first and second time ...
CYCLES                              ?? CYCLES = MappingProxyType({name
ModelSolver                         Buffers bound into a compiled `update`
InverseDynamicsSolver               Q, Q' and Q'' in the control cycle
gravity_forces                      g(q) (..., n): the joint torques that hold the robot still
mass_matrix                         M(q) (..., n, n) of the configurations q (..., n)
ArticulatedBodies                   The mass matrix at one q or a batch of them, factorised
articulated_bodies                  Factorise M(q), or M_vv without the `prescribed` joints ...
singular                            The error for a state q (n,) in which M_vv is singular
prescribed_joints                   (n,) true for the named joints
ROUNDING                            a pivot that is this much smaller than what cancelled in it ...
ForwardDynamics                     q'', q''' and q'''' (..., n)
HybridDynamics                      q'' (..., n) and tau (..., n) of all joints
forward_dynamics                    Joint accelerations q'' (
forward_dynamics_rates              q'', q''' and, with `tau_ddot`, q'''' (..., n)
generic_forward_dynamics            The same recursions over any scalars, never compiled
hybrid_dynamics                     Accelerations of the free joints and torques of the ...
forward_dynamics_cycle              ?? forward_dynamics_cycle = ...
forward_dynamics_scratch            For a robot of n joints on a base at rest.
ForwardDynamicsSolver               q'', or with `order` 1 and 2 also q''' and q''''
ForwardDynamicsDerivatives          dq''/dq, dq''/dq' and dq''/dtau = M^-1, each (..., n, n)
InverseDynamicsDerivatives          dQ/dq, dQ/dq' and dQ/dq'' = M, each (..., n, n)
forward_dynamics_derivatives        dq''/dq, dq''/dq' and dq''/dtau (..., n
inverse_dynamics_derivatives        dQ/dq, dQ/dq' and dQ/dq'' (..., n
ForwardDynamicsDerivativesSolver    dq''/dq, dq''/dq' and dq''/dtau = M^-1 in the control ...
InverseDynamicsDerivativesSolver    dQ/dq, dQ/dq' and dQ/dq'' = M in the control cycle
LinearModel                         x' = A x + B u, y = C x + D u for deviations from an ...
linearize                           The robot near an operating point
center_of_mass                      The centre of mass (
kinetic_energy                      T (...) in J for q and q' (..., n): the sum of V_i
potential_energy                    U (...) in J of q (..., n)
spatial_momentum                    Pi^s (..., 6) = (angular, linear) momentum of all bodies
joint_wrenches                      What each joint transmits to its body in the frame of that ...
load_cell_reading                   What a six-axis force-torque sensor reads, with rates (
load_wrench                         The wrench that a rigid load exerts on the body that ...
coriolis_matrix                     C (..., n, n) with M q'' + C q' + g = tau
mass_matrix_dot                     M' (..., n, n), the derivative of the mass matrix along q' ...
christoffel_symbols                 Gamma (..., n, n, n) at q (..., n)
christoffel_symbols_binet           Gamma (..., n, n, n) at q (..., n) as above
generic_higher_order_inverse_dynamics  The same of one state over any scalars
higher_order_inverse_dynamics       Q, Q', ... Q^(k) as (..., k + 1, n), from q, q',
higher_order_kinematics             The spatial twist of each body and its first k derivatives
"""

from .aba import (
    ForwardDynamics,
    HybridDynamics,
    forward_dynamics,
    forward_dynamics_cycle,
    forward_dynamics_rates,
    forward_dynamics_scratch,
    generic_forward_dynamics,
    hybrid_dynamics,
)
from .all_bodies import along_paths, spatial_bodies, subtree_sums
from .articulated_inertia import (
    ROUNDING,
    ArticulatedBodies,
    articulated_bodies,
    prescribed_joints,
    singular,
)
from .christoffel import christoffel_symbols, christoffel_symbols_binet
from .coriolis import coriolis_matrix, mass_matrix_dot
from .crba import gravity_forces, mass_matrix
from .derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from .derivatives_solver import ForwardDynamicsDerivativesSolver, InverseDynamicsDerivativesSolver
from .energy import center_of_mass, kinetic_energy, potential_energy, spatial_momentum
from .forward_dynamics_solver import ForwardDynamicsSolver
from .gravity import gravity_wrenches
from .higher_order import (
    generic_higher_order_inverse_dynamics,
    higher_order_inverse_dynamics,
    higher_order_kinematics,
)
from .inverse_dynamics_solver import InverseDynamicsSolver
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
from .loads import joint_wrenches, load_cell_reading, load_wrench
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
    InverseDynamics,
    generic_inverse_dynamics,
    interbody_wrenches,
    inverse_dynamics,
)
from .solvers import ModelSolver
from .wrenches import Wrenches, with_rates, wrench_rows, wrench_to_world

__all__ = [
    "BaseMotion", "BodyMotion", "forward_kinematics", "frame_pose", "base_rows", "joint_poses",
    "body_rows", "jacobian", "jacobian_dot", "spatial_jacobians", "subtree_sums",
    "spatial_bodies", "along_paths", "wrench_to_world", "Wrenches", "wrench_rows", "with_rates",
    "gravity_wrenches", "MovingFrame", "moving_frame", "newton_euler", "newton_euler_rates",
    "rigid_body_coriolis_matrix", "rigid_body_inertia", "rigid_body_inertia_dot",
    "rigid_body_momentum", "twists_in_frame", "InverseDynamics", "generic_inverse_dynamics",
    "interbody_wrenches", "inverse_dynamics", "CYCLES", "ModelSolver", "InverseDynamicsSolver",
    "gravity_forces", "mass_matrix", "ArticulatedBodies", "articulated_bodies", "singular",
    "prescribed_joints", "ROUNDING", "ForwardDynamics", "HybridDynamics", "forward_dynamics",
    "forward_dynamics_rates", "generic_forward_dynamics", "hybrid_dynamics",
    "forward_dynamics_cycle", "forward_dynamics_scratch", "ForwardDynamicsSolver",
    "ForwardDynamicsDerivatives", "InverseDynamicsDerivatives", "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives", "ForwardDynamicsDerivativesSolver",
    "InverseDynamicsDerivativesSolver", "LinearModel", "linearize", "center_of_mass",
    "kinetic_energy", "potential_energy", "spatial_momentum", "joint_wrenches",
    "load_cell_reading", "load_wrench", "coriolis_matrix", "mass_matrix_dot",
    "christoffel_symbols", "christoffel_symbols_binet", "generic_higher_order_inverse_dynamics",
    "higher_order_inverse_dynamics", "higher_order_kinematics",
]  # fmt: skip
