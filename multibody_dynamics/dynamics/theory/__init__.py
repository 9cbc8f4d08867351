# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Closed forms of the papers, against which the recursions are checked.

Configuration of a tree:

SpatialScrewDescription          reference poses A_i and screws Y_i in the inertial frame at q = 0
BodyScrewDescription             relative poses B_i and screws X_i in the frame of the moved body
ParentScrewDescription           relative poses B_i and screws in the frame of the parent body
JointFrameDescription            two joint frames per joint and screws Z_i in them
model_from_body_screws           robot model from relative poses and body-fixed screws
model_from_joint_frames          robot model from two frames per joint and screws in them

Jacobians:

system_kinematics                system Jacobian J = A X of all bodies, with factors and derivatives
SystemKinematics                 result: X, D, A, J, V, J_dot in one representation
spatial_factors                  factors of the spatial system Jacobian with constant screws
resolvent                        (1 - D)^-1 of a nilpotent matrix D by its Neumann series
jacobian_gradient                first partial derivatives dJ_j/dq_k (..., 6, n, n)
jacobian_hessian                 second partial derivatives d^2 J_j/dq_k dq_r (..., 6, n, n, n)
jacobian_partial                 partial derivative of any order (..., 6, n)
jacobian_ddot                    second time derivative J'' (..., 6, n)

Equations of motion:

mass_matrix_closed_form          J^T diag(M_i) J (..., n, n), equal to `rigid.mass_matrix`
coriolis_matrix_mueller          C = -J^T (M A a + b^T M) J (..., n, n); M' - 2C is not skew
projection_equations             joint torques by the projection (Euler-Jourdain) equations
lagrange_equations               joint torques by Lagrange's equations
generalized_momentum             p = dT/dq' = M q' (..., n)
kinetic_energy_gradient          dT/dq (..., n) at constant q'

Phase space of joint coordinates and body momenta:

momentum_equations               rates of the phase (q, Pi) under joint torques
PhaseRates                       result: q' (..., n) and Pi' (..., n, 6)
body_momenta                     Pi (..., n, 6) of all bodies from q and q'
rates_of_momenta                 q' (..., n) from body momenta

Joint motion from the motion of all bodies:

joint_positions_from_poses       q (..., n) from poses (..., n, 4, 4)
joint_rates_from_twists          q' (..., n) from twists (..., n, 6)
joint_accelerations_from_motion  q'' (..., n) from twists and accelerations (..., n, 6)
OverallSolution                  result: joint motion, and residual (..., n, 6) of each body
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
    # configuration of a tree
    "SpatialScrewDescription", "BodyScrewDescription", "ParentScrewDescription",
    "JointFrameDescription", "model_from_body_screws", "model_from_joint_frames",
    # Jacobians
    "system_kinematics", "SystemKinematics", "spatial_factors", "resolvent", "jacobian_gradient",
    "jacobian_hessian", "jacobian_partial", "jacobian_ddot",
    # equations of motion
    "mass_matrix_closed_form", "coriolis_matrix_mueller", "projection_equations",
    "lagrange_equations", "generalized_momentum", "kinetic_energy_gradient",
    # phase space of joint coordinates and body momenta
    "momentum_equations", "PhaseRates", "body_momenta", "rates_of_momenta",
    # joint motion from the motion of all bodies
    "joint_positions_from_poses", "joint_rates_from_twists", "joint_accelerations_from_motion",
    "OverallSolution",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
