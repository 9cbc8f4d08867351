"""The equations of the papers in closed form, to check the recursions with.

BodyScrewDescription             No joint frames, joint screws in the frame of the body that ...
JointFrameDescription            Two frames per joint, one on either body (Sheth and Uicker)
ParentScrewDescription           No joint frames, joint screws in the frame of the parent body
SpatialScrewDescription          Neither joint frames nor body-fixed screws
model_from_body_screws           A robot by the poses B_i in the parents and the screws X_i
model_from_joint_frames          A robot by two frames per joint and the screws Z_i in them
SystemKinematics                 The matrices above in one representation
resolvent                        (1 - D)^-1 of nilpotent D (..., m
spatial_factors                  The spatial system Jacobian from constant screws
system_kinematics                The system Jacobian, its factors and derivatives
coriolis_matrix_mueller          C(q, q') = -J^T (M A a + b^T M) J (..., n, n)
mass_matrix_closed_form          M(q) = J^T M J (..., n, n) of q (..., n), [M18d] (81)
projection_equations             Q (..., n) by the Euler-Jourdain or projection equations
generalized_momentum             p = dT/dq' = M(q) q' (..., n), without the mass matrix
kinetic_energy_gradient          dT/dq (..., n) at constant q', N m or N; [M18d] before (82).
lagrange_equations               Q = d/dt dT/dq' - dT/dq + dU/dq - sum_i J_i^T W_i (..., n)
PhaseRates                       q' (..., n) in rad/s or m/s, and Pi' (..., n, 6) in N m and N
body_momenta                     Pi_i = M_i J_i q' (..., n, 6) of all bodies
momentum_equations               The rates of the phase (q, Pi) under the joint forces tau
rates_of_momenta                 q' (..., n) of the motion with the body momenta (..., n, 6)
jacobian_ddot                    The componentwise second time derivative J'' (..., 6, n)
jacobian_gradient                dJ_j/dq_k (..., 6, n, n), axes j, k
jacobian_hessian                 d^2 J_j/dq_k dq_r (..., 6, n, n, n), axes j, k, r
jacobian_partial                 The Jacobian (..., 6, n) differentiated by every one of ...
OverallSolution                  What the motion of the bodies says of the joints
joint_accelerations_from_motion  q'' (..., n) from the twists V_i and their derivatives V'_i
joint_positions_from_poses       q (..., n) from the poses C_i (..., n, 4, 4) of all bodies.
joint_rates_from_twists          q' (..., n) from the twists V_i (..., n
"""

from .closed_form import coriolis_matrix_mueller, mass_matrix_closed_form, projection_equations
from .configuration import (
    BodyScrewDescription,
    JointFrameDescription,
    ParentScrewDescription,
    SpatialScrewDescription,
    model_from_body_screws,
    model_from_joint_frames,
)
from .jacobian_derivatives import (
    jacobian_ddot,
    jacobian_gradient,
    jacobian_hessian,
    jacobian_partial,
)
from .lagrange import generalized_momentum, kinetic_energy_gradient, lagrange_equations
from .momentum_form import PhaseRates, body_momenta, momentum_equations, rates_of_momenta
from .overall_inverse_kinematics import (
    OverallSolution,
    joint_accelerations_from_motion,
    joint_positions_from_poses,
    joint_rates_from_twists,
)
from .system_jacobian import SystemKinematics, resolvent, spatial_factors, system_kinematics

__all__ = [
    "BodyScrewDescription", "JointFrameDescription", "ParentScrewDescription",
    "SpatialScrewDescription", "model_from_body_screws", "model_from_joint_frames",
    "SystemKinematics", "resolvent", "spatial_factors", "system_kinematics",
    "coriolis_matrix_mueller", "mass_matrix_closed_form", "projection_equations",
    "generalized_momentum", "kinetic_energy_gradient", "lagrange_equations", "PhaseRates",
    "body_momenta", "momentum_equations", "rates_of_momenta", "jacobian_ddot",
    "jacobian_gradient", "jacobian_hessian", "jacobian_partial", "OverallSolution",
    "joint_accelerations_from_motion", "joint_positions_from_poses", "joint_rates_from_twists",
]  # fmt: skip
