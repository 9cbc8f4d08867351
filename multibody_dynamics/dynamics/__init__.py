"""Lie-group dynamics of robot arms, pure Python: everything that the nodes compute with.

    from multibody_dynamics import dynamics as dyn

    model = dyn.load_urdf("panda.urdf")
    tau, tau_dot, tau_ddot = dyn.inverse_dynamics(model, q, qd, qdd, qddd, qdddd)

SI units; twists (omega, v) and wrenches (m, f) angular part first. docs/symbols.md has the symbols.
"""

from . import se3, so3
from .conventions import REPRESENTATIONS, SYMBOLS, from_linear_first, to_linear_first
from .denavit_hartenberg import DHRow, LinkInertia, model_from_dh
from .elastic_joints import MotorCommand, SeriesElasticJoints, load_elastic_joints
from .elastic_robot import ElasticRobot, MotorDrive
from .errors import DynamicsError, InputError, ModelError, ModelWarning, TrajectoryError
from .forward_dynamics import forward_dynamics
from .gravity import gravity_wrenches
from .inertia import spatial_inertia
from .inverse_dynamics import (
    InverseDynamics,
    InverseDynamicsSolver,
    generic_inverse_dynamics,
    interbody_wrenches,
    inverse_dynamics,
)
from .jacobians import jacobian, jacobian_dot
from .joints import (
    cylindrical,
    floating,
    helical,
    planar,
    prismatic,
    revolute,
    spherical,
    universal,
)
from .kinematics import BaseMotion, BodyMotion, forward_kinematics, frame_pose
from .limits import JointCommandLimits
from .mass_matrix import gravity_forces, mass_matrix
from .model import Frame, JointLimits, MultibodyModel, model_from_screws
from .trajectories import Reference, Trajectory, hold, interpolate, splice, stop, sum_of_sines
from .urdf import load_urdf, parse_urdf
from .wrenches import wrench_to_world

__all__ = [
    # the robot
    "load_urdf", "parse_urdf", "model_from_screws", "model_from_dh", "DHRow", "LinkInertia",
    "MultibodyModel", "JointLimits", "Frame", "spatial_inertia",
    "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar",
    "floating",
    # kinematics
    "forward_kinematics", "frame_pose", "jacobian", "jacobian_dot", "BodyMotion", "BaseMotion",
    # dynamics
    "inverse_dynamics", "InverseDynamics", "InverseDynamicsSolver", "generic_inverse_dynamics",
    "interbody_wrenches", "gravity_wrenches", "wrench_to_world",
    "mass_matrix", "gravity_forces", "forward_dynamics",
    # references, limits, elastic joints
    "Reference", "Trajectory", "interpolate", "splice", "hold", "stop", "sum_of_sines",
    "JointCommandLimits",
    "SeriesElasticJoints", "MotorCommand", "load_elastic_joints", "ElasticRobot", "MotorDrive",
    # Lie groups, conventions, errors
    "so3", "se3", "REPRESENTATIONS", "SYMBOLS", "to_linear_first", "from_linear_first",
    "DynamicsError", "ModelError", "InputError", "TrajectoryError", "ModelWarning",
]  # fmt: skip
