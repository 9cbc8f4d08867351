"""Integration on Lie groups: bodies in absolute coordinates, trees, and the schemes.

ButcherTableau         An explicit method of s stages; immutable.
Tolerances             The error that a step may make, entry by entry of Phi
munthe_kaas            The times (k,), multiples of `step` up to `t_end` in s
rosenbrock             The times (k,) and states (k, n) up to `t_end` in steps of `step`, s.
JointMotion            q and q' (k, ..., n) each at the times `time` (k,), s.
JointSprings           Torques stiffness (rest - q) - damping q'
integrate_joints       The motion of q'' = acceleration(t, q
integrate_tree         The motion of a robot from q, q' (n,) under joint torques
CROSSED                a universal joint: m along its first axis in A, f its second one in B
AbsoluteSystem         Bodies, joints and springs; immutable.
BodyJoint              A joint between two bodies, or one and the ground
RigidBody              A body and how it moves at first.
SpringDamper           A spring and a damper, side by side, between points of two bodies
SystemMatrices         M V' + J^T lambda = Q, J V' = eta, J V = 0, g = 0 at one state
Integration            A motion of an absolute system at the times `time` (k,), s.
absolute_acceleration  V' (n, 6) in the velocities of the groups at one state
integrate              The motion of `system` up to `t_end` in steps of `step`, s
project_state          The nearest state, by the measure of the inertia, that violates no joint.
generalized_alpha      The motion of `system` up to `t_end` in steps of `step`, s
integrate_momenta      The motion of free bodies, whose momenta change by wrenches alone
load_system            The system of a YAML file, or of its mapping
examples               Systems of the papers: heavy top, pendulums, closed loops
"""

from . import examples
from .absolute_systems import AbsoluteSystem, BodyJoint, RigidBody, SpringDamper, SystemMatrices
from .butcher import ButcherTableau
from .free_screws import CROSSED
from .generalized_alpha_method import generalized_alpha
from .integrators import Integration, absolute_acceleration, integrate, project_state
from .momentum_preserving import integrate_momenta
from .munthe_kaas_method import Tolerances, munthe_kaas
from .rosenbrock_method import rosenbrock
from .system_description import load_system
from .tree_integration import JointMotion, JointSprings, integrate_joints, integrate_tree

__all__ = [
    "ButcherTableau", "Tolerances", "munthe_kaas", "rosenbrock", "JointMotion", "JointSprings",
    "integrate_joints", "integrate_tree", "CROSSED", "AbsoluteSystem", "BodyJoint", "RigidBody",
    "SpringDamper", "SystemMatrices", "Integration", "absolute_acceleration", "integrate",
    "project_state", "generalized_alpha", "integrate_momenta", "load_system", "examples",
]  # fmt: skip
