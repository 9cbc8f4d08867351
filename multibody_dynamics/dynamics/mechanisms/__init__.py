"""Joints of several degrees of freedom and closed loops.

CompositeJoint                Coordinates of the second kind: T = exp(X_1 q_1) ... exp(X_k q_k).
ExponentialJoint              Coordinates of the first kind: T = exp(x) with x = X_1 q_1 +
Joint                         A joint of k degrees of freedom by its screws X (k, 6) at q = 0
SphericalJoint                Yaw, pitch, roll about the child frame's origin
MultiDofModel                 A tree of N bodies; body i is moved by joint i of n_i degrees
ConstrainedModel              A tree with constraints, and which of its joints have a motor.
ConstraintMatrix              Constraints A(q) q' = 0 by functions of the user
LoopClosure                   A cut joint: a frame on `first` and one on `second`
constraint_matrices           A, A', A'', A''' (..., m, n), as many as rows of q, q',
constraint_residual           f(q) (..., m) of the configurations q (..., n)
redundant_constraints         The names of the rows of A that depend on the others at q (n,)
assemble                      A configuration (..., n) with f = 0 close to q (..., n)
consistent_motion             The motion next to q, q',
ConstrainedInverseDynamics    Joint torques of a closed mechanism, their rates
ConstrainedMotion             Joint accelerations and torques (..., n) of a closed mechanism
constrained_forward_dynamics  Joint accelerations under the torques `tau` (
constrained_hybrid_dynamics   Accelerations of some joints and torques of the others given
constrained_inverse_dynamics  Motor torques of a motion that obeys the constraints
"""

from .assembly import assemble, consistent_motion
from .constrained_dynamics import (
    ConstrainedInverseDynamics,
    ConstrainedMotion,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
)
from .constraints import constraint_matrices, constraint_residual, redundant_constraints
from .loops import ConstrainedModel, ConstraintMatrix, LoopClosure
from .motion_subspaces import CompositeJoint, ExponentialJoint, Joint, SphericalJoint
from .multi_dof import MultiDofModel

__all__ = [
    "CompositeJoint", "ExponentialJoint", "Joint", "SphericalJoint", "MultiDofModel",
    "ConstrainedModel", "ConstraintMatrix", "LoopClosure", "constraint_matrices",
    "constraint_residual", "redundant_constraints", "assemble", "consistent_motion",
    "ConstrainedInverseDynamics", "ConstrainedMotion",
    "constrained_forward_dynamics", "constrained_hybrid_dynamics",
    "constrained_inverse_dynamics",
]  # fmt: skip
