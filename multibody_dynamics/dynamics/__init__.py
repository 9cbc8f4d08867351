"""Lie-group dynamics of robot arms with elastic joints, in pure Python.

    from multibody_dynamics import dynamics as dyn

    model = dyn.load_urdf("panda.urdf")
    tau, tau_dot, tau_ddot = dyn.inverse_dynamics(model, q, qd, qdd, qddd, qdddd)

SI units; twists (omega, v) and wrenches (m, f) angular part first. docs/symbols.md has the symbols.

The names below are those of everyday use. Everything else is in its room; a room imports only from
the rooms listed above it, and is loaded when it is first used:

    core            errors, checked inputs, quantities with units, compilation
    lie             SO(3), SE(3), screws, and the four representations of twists
    model           the robot, from URDF, joint screws or a Denavit-Hartenberg table
    recursions      the O(n) recursions, one for each representation of twists
    motion          desired motions over time and their limits
    elastic         springs, motors, and the flat map between them and the links
    rigid           kinematics, Jacobians, inverse and forward dynamics, derivatives
    tasks           inverse kinematics, redundancy, task-space motion, paths in SE(3)
    control         gains, control laws, observers, time scaling
    plant           the simulated arm with its sensors
    identification  regressors, friction, springs, calibration, sensitivities
    mechanisms      joints of several degrees of freedom, closed loops
    theory          the papers' closed forms, against which the recursions are checked
    integration     integration on Lie groups, bodies in absolute coordinates
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import core, lie, model, recursions, rigid
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
    # rooms, from the ground up
    "core", "lie", "model", "recursions", "motion", "elastic", "rigid", "tasks", "control", "plant",
    "identification", "mechanisms", "theory", "integration",
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

# Rooms that no rigid robot needs, and the names that are shown of them here: PEP 562.
_ROOMS_LOADED_LATER = frozenset(
    ("motion", "elastic", "tasks", "control", "plant", "identification", "mechanisms", "theory",
     "integration")
)  # fmt: skip
_NAMES_LOADED_LATER = {
    "load_actuators": "elastic",
    "Actuators": "elastic",
    "interpolate": "motion",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS_LOADED_LATER:
        return import_module(f"{__name__}.{name}")
    if room := _NAMES_LOADED_LATER.get(name):
        value = globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
