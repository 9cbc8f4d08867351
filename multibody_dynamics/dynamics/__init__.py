# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Lie-group dynamics of robot arms with elastic joints, in pure Python.

    from multibody_dynamics import dynamics as dyn

    model = dyn.load_urdf("panda.urdf")
    tau, tau_dot, tau_ddot = dyn.inverse_dynamics(model, q, qd, qdd, qddd, qdddd)

SI units; twists (omega, v) and wrenches (m, f) with the angular part first; float64 arrays with
leading batch dimensions (..., n). docs/symbols.md lists the symbols.

The names below are for everyday use; all others are reached through their packages, such as
``dyn.control.make_controller``. A package imports only from those above it in this list.

Packages:

core                          errors, checked inputs, quantities with units, compilation
codegen                       machine code and C source of recorded computations
lie                           SO(3), SE(3), screws, and the four representations of twists
model                         the robot, from URDF, joint screws or a Denavit-Hartenberg table
recursions                    the O(n) recursions, one for each representation of twists
motion                        desired motions over time and their limits
elastic                       springs, motors, and the flat map between them and the links
rigid                         kinematics, Jacobians, inverse and forward dynamics, derivatives
elastic_arm                   equations of motion of the arm with its springs and motors
tasks                         inverse kinematics, redundancy, task-space motion, paths in SE(3)
control                       gains, control laws, observers, time scaling
plant                         the simulated arm with its sensors
identification                regressors, friction, springs, calibration, sensitivities
mechanisms                    joints with several degrees of freedom, closed loops
theory                        the papers' closed forms, against which the recursions are checked
integration                   integration on Lie groups, bodies in absolute coordinates

The robot:

load_urdf                     robot from a URDF file
parse_urdf                    robot from URDF text
model_from_screws             robot from joint screws, reference poses and inertias
model_from_dh                 robot from a Denavit-Hartenberg table
MultibodyModel                the robot: an immutable tree of n bodies, each moved by one joint
spatial_inertia               spatial inertia (6, 6) from mass, centre of mass and inertia
revolute                      screw (6,) of a rotation about an axis
prismatic                     screw (6,) of a translation along an axis
helical                       screw (6,) of a rotation that advances along its axis
cylindrical                   screws (2, 6) of a translation along an axis and a rotation about it
universal                     screws (2, 6) of two rotations about intersecting axes
spherical                     screws (3, 6) of yaw, pitch and roll
planar                        screws (3, 6) of motion in a plane
floating                      screws (6, 6) of free motion

Kinematics:

forward_kinematics            poses, twists, accelerations, jerks and jounces of all bodies
BodyMotion                    result of forward_kinematics
BaseMotion                    given motion of the base
frame_pose                    pose (..., 4, 4) of a body or frame
jacobian                      Jacobian (..., 6, n) of a body or frame
jacobian_dot                  time derivative of the Jacobian (..., 6, n)
convert_twist                 twist and its derivatives in another representation
convert_wrench                wrench and its derivatives in another representation
wrench_to_world               transforms a wrench from a body's frame, for the argument `wrenches`
to_linear_first               (omega, v) to (v, omega), as in Pinocchio and ROS
from_linear_first             (v, omega) to (omega, v)
REPRESENTATIONS               names of the four representations of twists

Dynamics:

inverse_dynamics              torques Q and their rates Q', Q'' by recursive Newton-Euler (RNEA)
InverseDynamics               result of inverse_dynamics: tau, tau_dot, tau_ddot, each (..., n)
InverseDynamicsSolver         inverse dynamics for the control cycle, without allocation
generic_inverse_dynamics      inverse dynamics over complex, mpmath or symbolic scalars, uncompiled
forward_dynamics              q'' (..., n) from torques by the articulated-body algorithm (ABA)
ForwardDynamicsSolver         forward dynamics for the control cycle, without allocation
hybrid_dynamics               q'' of some joints and torques of the others
mass_matrix                   mass matrix (..., n, n) by composite rigid bodies (CRBA)
coriolis_matrix               Coriolis matrix C (..., n, n) with M' - 2 C skew-symmetric
christoffel_symbols           Christoffel symbols (..., n, n, n) of the mass matrix
gravity_forces                torques (..., n) that hold the arm against gravity
inverse_dynamics_derivatives  derivatives of the torques with respect to q, q' and q''
forward_dynamics_derivatives  derivatives of q'' with respect to q, q' and the torques

Elastic joints and desired motions:

load_actuators                springs and motors of the joints from a YAML file
Actuators                     springs and motors of all joints
interpolate                   minimum-jerk trajectory through given points

Lie groups and errors:

so3                           rotation group SO(3): exp, log, dexp, ...
se3                           rigid motions SE(3): exp, log, Ad, dexp, ...
DynamicsError                 base class of all exceptions of the package; a ValueError
ModelError                    an invalid robot description
InputError                    an argument with a wrong shape, type, name or value
TrajectoryError               a trajectory that cannot be followed
ModelWarning                  a robot description that is usable but suspicious
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import codegen, core, lie, model, recursions, rigid
from .core import DynamicsError, InputError, ModelError, ModelWarning, TrajectoryError
from .lie import (
    REPRESENTATIONS,
    convert_twist,
    convert_wrench,
    from_linear_first,
    se3,
    so3,
    to_linear_first,
)
from .model import (
    MultibodyModel,
    cylindrical,
    floating,
    helical,
    load_urdf,
    model_from_dh,
    model_from_screws,
    parse_urdf,
    planar,
    prismatic,
    revolute,
    spatial_inertia,
    spherical,
    universal,
)
from .rigid import (
    BaseMotion,
    BodyMotion,
    ForwardDynamicsSolver,
    InverseDynamics,
    InverseDynamicsSolver,
    christoffel_symbols,
    coriolis_matrix,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_kinematics,
    frame_pose,
    generic_inverse_dynamics,
    gravity_forces,
    hybrid_dynamics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    jacobian,
    jacobian_dot,
    mass_matrix,
    wrench_to_world,
)

if TYPE_CHECKING:
    from . import (
        control,
        elastic,
        elastic_arm,
        identification,
        integration,
        mechanisms,
        motion,
        plant,
        tasks,
        theory,
    )
    from .elastic import Actuators, load_actuators
    from .motion import interpolate

__all__ = [
    # packages, from the lowest layer up
    "core", "codegen", "lie", "model", "recursions", "motion", "elastic", "rigid", "elastic_arm",
    "tasks", "control", "plant", "identification", "mechanisms", "theory", "integration",
    # the robot
    "load_urdf", "parse_urdf", "model_from_screws", "model_from_dh", "MultibodyModel",
    "spatial_inertia",
    "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar",
    "floating",
    # kinematics
    "forward_kinematics", "BodyMotion", "BaseMotion", "frame_pose", "jacobian", "jacobian_dot",
    "convert_twist", "convert_wrench", "wrench_to_world", "to_linear_first", "from_linear_first",
    "REPRESENTATIONS",
    # dynamics
    "inverse_dynamics", "InverseDynamics", "InverseDynamicsSolver", "generic_inverse_dynamics",
    "forward_dynamics", "ForwardDynamicsSolver", "hybrid_dynamics",
    "mass_matrix", "coriolis_matrix", "christoffel_symbols", "gravity_forces",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives",
    # elastic joints and desired motions
    "load_actuators", "Actuators", "interpolate",
    # Lie groups, errors
    "so3", "se3",
    "DynamicsError", "ModelError", "InputError", "TrajectoryError", "ModelWarning",
]  # fmt: skip

# Loaded when first used (PEP 562): packages that rigid robots do not need, and names from them.
_PACKAGES_LOADED_LATER = frozenset(
    ("motion", "elastic", "elastic_arm", "tasks", "control", "plant", "identification",
     "mechanisms", "theory", "integration")
)  # fmt: skip
_NAMES_LOADED_LATER = {"load_actuators": "elastic", "Actuators": "elastic", "interpolate": "motion"}


if not TYPE_CHECKING:  # type checkers see the imports above, and reject any other name

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES_LOADED_LATER:
            return import_module(f"{__name__}.{name}")
        if package := _NAMES_LOADED_LATER.get(name):
            value = globals()[name] = getattr(import_module(f"{__name__}.{package}"), name)
            return value
        shown = [] if name.startswith("_") else [f"dyn.{home}.{name}" for home in _homes(name)]
        hint = f"; it is {' and '.join(shown)}" if shown else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def _homes(name: str) -> list[str]:
    """The packages that export a name. This loads them all, but only before an error is raised."""
    packages = __all__[: __all__.index("integration") + 1]
    return [home for home in packages if name in import_module(f"{__name__}.{home}").__all__]


def __dir__() -> list[str]:
    return sorted(__all__)
