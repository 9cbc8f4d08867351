# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Time integration: bodies in absolute coordinates, trees in joint coordinates, general schemes.

`integrate` runs Munthe-Kaas methods on SE(3) or SO(3) x R^3 for bodies whose joints are
constraints, after [MT13]; the other integrators cover stiff systems, free bodies, robots in joint
coordinates, and general equations on Lie groups.

Systems in absolute coordinates:

AbsoluteSystem         rigid bodies in absolute coordinates with joints and springs
RigidBody              a body: inertia (6, 6), initial pose and velocities
BodyJoint              a joint between two bodies, or a body and the ground, by its free screws
SpringDamper           a spring and damper between points of two bodies, N/m and N s/m
SystemMatrices         M, Q, J, eta, g of the constrained equations of motion at one state
load_system            an absolute system from a YAML file or its mapping
examples               the systems of [MT13]: heavy top, pendulum, floating bodies, closed loop

Motion of these systems:

integrate              motion of an absolute system by Munthe-Kaas methods, compiled
generalized_alpha      the same for stiff systems: implicit, without drift of positions
integrate_momenta      motion of free bodies with exact conservation of the spatial momentum
Integration            result: states (k, n, ...), violations, energy, momentum, reactions
absolute_acceleration  V' (n, 6) at one state, from the index-1 equations
project_state          the nearest state that satisfies all joints

Robots in joint coordinates:

integrate_tree         motion of a robot under joint torques, springs and wrenches
integrate_joints       motion of q'' = f(t, q, q'), one or a batch
JointSprings           springs and dampers at the joints, N m/rad or N/m
JointMotion            result: time (k,), q and q' (k, ..., n)

General schemes:

munthe_kaas            X' = X F(t, X) on a product of Lie groups, explicit, plain Python
rosenbrock             x' = F(t, x) in R^n, A-stable, order 4
ButcherTableau         an explicit Runge-Kutta method with error estimate and dense output
Tolerances             relative and absolute error allowed in a step
"""

from . import examples
from .absolute_systems import AbsoluteSystem, BodyJoint, RigidBody, SpringDamper, SystemMatrices
from .butcher import ButcherTableau
from .generalized_alpha_method import generalized_alpha
from .integrators import Integration, absolute_acceleration, integrate, project_state
from .momentum_preserving import integrate_momenta
from .munthe_kaas_method import Tolerances, munthe_kaas
from .rosenbrock_method import rosenbrock
from .system_description import load_system
from .tree_integration import JointMotion, JointSprings, integrate_joints, integrate_tree

__all__ = [
    # systems in absolute coordinates
    "AbsoluteSystem", "RigidBody", "BodyJoint", "SpringDamper", "SystemMatrices", "load_system",
    "examples",
    # motion of these systems
    "integrate", "generalized_alpha", "integrate_momenta", "Integration", "absolute_acceleration",
    "project_state",
    # robots in joint coordinates
    "integrate_tree", "integrate_joints", "JointSprings", "JointMotion",
    # general schemes
    "munthe_kaas", "rosenbrock", "ButcherTableau", "Tolerances",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
