"""Lie-group dynamics of robot arms, pure Python: everything that the nodes compute with.

    from multibody_dynamics import dynamics as dyn

    model = dyn.load_urdf("panda.urdf")
    tau, tau_dot, tau_ddot = dyn.inverse_dynamics(model, q, qd, qdd, qddd, qdddd)

SI units; twists (omega, v) and wrenches (m, f) angular part first. docs/symbols.md has the symbols.
"""

from . import example_systems as examples
from . import lie_groups, se3, so3
from .absolute_systems import AbsoluteSystem, BodyJoint, RigidBody, SpringDamper, SystemMatrices
from .actuator_cycle import MotorCommand, MotorFeedforward, SpringSolver
from .actuator_description import load_actuators
from .actuator_kinds import (
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from .actuators import Actuators
from .articulated_bodies import ArticulatedBodies, articulated_bodies
from .assembly import assemble, consistent_motion
from .bumpless_transfer import BumplessTransfer
from .butcher import ButcherTableau
from .calibration import Calibration, calibrate
from .christoffel import christoffel_symbols, christoffel_symbols_binet
from .closed_form import coriolis_matrix_mueller, mass_matrix_closed_form, projection_equations
from .configuration import (
    BodyScrewDescription,
    JointFrameDescription,
    ParentScrewDescription,
    SpatialScrewDescription,
    model_from_body_screws,
    model_from_joint_frames,
)
from .constrained_dynamics import (
    Baumgarte,
    ConstrainedInverseDynamics,
    ConstrainedMotion,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
)
from .constraints import constraint_matrices, constraint_residual, redundant_constraints
from .controller_settings import ControllerSettings, make_controller, retune
from .controllers import ComputedTorque, Controller, LinearFeedback
from .conventions import REPRESENTATIONS, SYMBOLS, from_linear_first, to_linear_first
from .coriolis import coriolis_matrix, mass_matrix_dot
from .denavit_hartenberg import DHRow, LinkInertia, model_from_dh
from .derivative_filter import DerivativeFilter
from .derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from .derivatives_solver import (
    ForwardDynamicsDerivativesSolver,
    InverseDynamicsDerivativesSolver,
)
from .differentiation import ZeroPhaseFilter, noise_cutoff
from .disturbance_observer import DisturbanceObserver
from .elastic_robot import ElasticRobot, MotorDrive
from .energy import center_of_mass, kinetic_energy, potential_energy, spatial_momentum
from .errors import DynamicsError, InputError, ModelError, ModelWarning, TrajectoryError
from .feedback_linearization import FeedbackLinearization
from .flatness import (
    ChainState,
    LimitMargin,
    MotorMotion,
    chain_state,
    filtered_deflection,
    limit_margins,
    motor_motion,
)
from .forward_dynamics import (
    ForwardDynamics,
    HybridDynamics,
    forward_dynamics,
    forward_dynamics_rates,
    generic_forward_dynamics,
    hybrid_dynamics,
)
from .forward_dynamics_solver import ForwardDynamicsSolver
from .gains import (
    JointPoles,
    StateFeedbackGains,
    closed_loop_poles,
    damping_gains,
    delay_independent_gains,
    inertias_felt,
    inertias_held,
    joint_resonances,
    motor_bandwidth_gains,
    motor_side_gains,
    optimal_gains,
    placed_gains,
)
from .generalized_alpha import generalized_alpha
from .geometric_sensitivity import (
    ErrorScrew,
    errors_at,
    frame_errors,
    jacobian_sensitivity,
    joint_errors,
    perturbed_model,
    pose_sensitivity,
    torque_sensitivity,
    twist_sensitivity,
)
from .gravity import gravity_wrenches
from .higher_order import (
    generic_higher_order_inverse_dynamics,
    higher_order_inverse_dynamics,
    higher_order_kinematics,
)
from .hold_controller import HoldController
from .identification import (
    Identified,
    consistent_parameters,
    identify_parameters,
    log_cholesky,
    nearest_consistent,
)
from .inertia import spatial_inertia
from .integrators import Integration, absolute_acceleration, integrate, project_state
from .inverse_dynamics import (
    InverseDynamics,
    generic_inverse_dynamics,
    interbody_wrenches,
    inverse_dynamics,
)
from .inverse_dynamics_solver import InverseDynamicsSolver
from .inverse_kinematics import (
    InverseKinematicsResult,
    InverseKinematicsSolver,
    inverse_kinematics,
)
from .jacobian_derivatives import (
    jacobian_ddot,
    jacobian_gradient,
    jacobian_hessian,
    jacobian_partial,
)
from .jacobians import jacobian, jacobian_dot
from .joint_friction import JointFriction
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
from .lagrange import generalized_momentum, kinetic_energy_gradient, lagrange_equations
from .limits import JointCommandLimits
from .linearization import LinearModel, linearize
from .link_damping import LinkDampingController
from .loads import joint_wrenches, load_cell_reading, load_wrench
from .loops import ConstrainedModel, ConstraintMatrix, LoopClosure
from .mass_matrix import gravity_forces, mass_matrix
from .model import Frame, JointLimits, MultibodyModel, model_from_screws
from .momentum_form import PhaseRates, body_momenta, momentum_equations, rates_of_momenta
from .momentum_preserving import integrate_momenta
from .motion_subspaces import CompositeJoint, ExponentialJoint, Joint, SphericalJoint
from .motor_side_observer import MotorSideObserver
from .multi_dof import MultiDofModel
from .munthe_kaas import Tolerances, munthe_kaas
from .newton_euler import (
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
from .overall_inverse_kinematics import (
    OverallSolution,
    joint_accelerations_from_motion,
    joint_positions_from_poses,
    joint_rates_from_twists,
)
from .parameter_derivatives import (
    HybridDynamicsSensitivity,
    ParameterDependence,
    forward_dynamics_sensitivity,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_sensitivity,
)
from .plants import EndStops, Plant
from .redundancy import Damping, Manipulability, RedundancyResolution, manipulability
from .regressor import (
    BaseParameters,
    Regressor,
    base_parameters,
    inertial_parameters,
    inverse_dynamics_regressor,
    is_physically_consistent,
    parameter_names,
    pseudo_inertia,
    with_inertial_parameters,
)
from .representations import change_body_frame, convert_twist, convert_wrench
from .rosenbrock import rosenbrock
from .se3_paths import PosePath, arc, circle, concatenate, line, redirect, screw_motion, spline
from .spring_identification import SpringFit, identify_spring, motor_side_torque
from .springs import CubicSpring, LinearSpring, PolynomialSpring, Spring, TableSpring
from .state_estimation import StateEstimation, StateEstimator
from .system_description import load_system
from .system_jacobian import SystemKinematics, resolvent, spatial_factors, system_kinematics
from .task_space import TaskDynamics, TaskSpaceSolver, task_inverse_dynamics
from .tasks import Task, TaskMotion, task_jacobian, task_motion
from .time_scaling import MotionLimits, TimeScaling, scale_time, slow_down
from .trajectories import Reference, Trajectory, hold, interpolate, splice, stop, sum_of_sines
from .tree_integration import JointMotion, JointSprings, integrate_joints, integrate_tree
from .urdf import load_urdf, parse_urdf
from .validation import Residuals
from .wrenches import wrench_to_world

__all__ = [
    # the robot
    "load_urdf", "parse_urdf", "model_from_screws", "model_from_dh", "DHRow", "LinkInertia",
    "model_from_joint_frames", "model_from_body_screws",
    "MultibodyModel", "JointLimits", "Frame", "spatial_inertia",
    "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar",
    "floating",
    "MultiDofModel", "Joint", "CompositeJoint", "SphericalJoint", "ExponentialJoint",
    # kinematics
    "JointFrameDescription", "BodyScrewDescription", "ParentScrewDescription",
    "SpatialScrewDescription",
    "forward_kinematics", "frame_pose", "jacobian", "jacobian_dot", "BodyMotion", "BaseMotion",
    "jacobian_ddot", "jacobian_gradient", "jacobian_hessian", "jacobian_partial",
    "convert_twist", "change_body_frame",
    "system_kinematics", "SystemKinematics", "spatial_factors", "resolvent",
    "joint_positions_from_poses", "joint_rates_from_twists", "joint_accelerations_from_motion",
    "OverallSolution",
    # tasks of tools
    "Task", "TaskMotion", "task_motion", "task_jacobian",
    "task_inverse_dynamics", "TaskDynamics", "TaskSpaceSolver",
    "RedundancyResolution", "Damping", "manipulability", "Manipulability",
    "inverse_kinematics", "InverseKinematicsSolver", "InverseKinematicsResult",
    # dynamics
    "inverse_dynamics", "InverseDynamics", "InverseDynamicsSolver", "generic_inverse_dynamics",
    "higher_order_kinematics", "higher_order_inverse_dynamics",
    "generic_higher_order_inverse_dynamics",
    "interbody_wrenches", "gravity_wrenches", "wrench_to_world",
    "convert_wrench", "load_wrench", "load_cell_reading", "joint_wrenches",
    "mass_matrix", "gravity_forces", "articulated_bodies", "ArticulatedBodies",
    "forward_dynamics", "forward_dynamics_rates", "ForwardDynamics", "ForwardDynamicsSolver",
    "generic_forward_dynamics",
    "hybrid_dynamics", "HybridDynamics",
    # derivatives
    "inverse_dynamics_derivatives", "InverseDynamicsDerivatives",
    "InverseDynamicsDerivativesSolver",
    "forward_dynamics_derivatives", "ForwardDynamicsDerivatives",
    "ForwardDynamicsDerivativesSolver",
    "ParameterDependence", "inverse_dynamics_sensitivity", "forward_dynamics_sensitivity",
    "hybrid_dynamics_sensitivity", "HybridDynamicsSensitivity",
    "linearize", "LinearModel",
    # the same in closed form, energy and momentum
    "coriolis_matrix", "mass_matrix_dot", "christoffel_symbols", "christoffel_symbols_binet",
    "mass_matrix_closed_form", "coriolis_matrix_mueller", "projection_equations",
    "lagrange_equations", "generalized_momentum", "kinetic_energy_gradient",
    "momentum_equations", "PhaseRates", "body_momenta", "rates_of_momenta",
    "kinetic_energy", "potential_energy", "center_of_mass", "spatial_momentum",
    # systems with constraints
    "LoopClosure", "ConstraintMatrix", "ConstrainedModel",
    "constraint_residual", "constraint_matrices", "redundant_constraints",
    "assemble", "consistent_motion",
    "constrained_inverse_dynamics", "ConstrainedInverseDynamics",
    "constrained_forward_dynamics", "constrained_hybrid_dynamics", "ConstrainedMotion",
    "Baumgarte",
    # bodies in absolute coordinates, integration in time
    "AbsoluteSystem", "RigidBody", "BodyJoint", "SpringDamper", "SystemMatrices",
    "integrate", "Integration", "absolute_acceleration", "project_state", "Tolerances",
    "generalized_alpha", "integrate_momenta", "munthe_kaas", "ButcherTableau", "rosenbrock",
    "integrate_tree", "integrate_joints", "JointMotion", "JointSprings", "examples",
    "load_system",
    # one rigid body
    "newton_euler", "newton_euler_rates", "rigid_body_inertia", "rigid_body_inertia_dot",
    "rigid_body_momentum", "rigid_body_coriolis_matrix",
    "MovingFrame", "moving_frame", "twists_in_frame",
    # calibration and identification
    "ErrorScrew", "joint_errors", "frame_errors", "errors_at", "perturbed_model",
    "pose_sensitivity", "jacobian_sensitivity", "twist_sensitivity", "torque_sensitivity",
    "calibrate", "Calibration",
    "inverse_dynamics_regressor", "Regressor", "inertial_parameters", "with_inertial_parameters",
    "parameter_names", "pseudo_inertia", "is_physically_consistent",
    "base_parameters", "BaseParameters",
    "identify_parameters", "Identified", "JointFriction",
    "consistent_parameters", "log_cholesky", "nearest_consistent",
    "ZeroPhaseFilter", "noise_cutoff", "Residuals",
    # references, limits, elastic joints
    "Reference", "Trajectory", "interpolate", "splice", "hold", "stop", "sum_of_sines",
    "PosePath", "screw_motion", "line", "circle", "arc", "spline", "concatenate", "redirect",
    "JointCommandLimits",
    "MotorFeedforward", "MotorCommand", "SpringSolver",
    "Plant", "ElasticRobot", "MotorDrive", "EndStops",
    "Spring", "LinearSpring", "CubicSpring", "PolynomialSpring", "TableSpring",
    "Motor", "Rigid", "SeriesElastic", "VariableStiffness", "StiffnessDrive", "Antagonistic",
    "Actuators", "load_actuators",
    "motor_motion", "MotorMotion", "chain_state", "ChainState", "filtered_deflection",
    "limit_margins", "LimitMargin",
    # motions within limits, state and disturbances of elastic joints
    "scale_time", "slow_down", "TimeScaling", "MotionLimits",
    "DerivativeFilter", "MotorSideObserver", "StateEstimation", "StateEstimator",
    "DisturbanceObserver", "SpringFit", "identify_spring", "motor_side_torque",
    # control of elastic joints
    "Controller", "LinearFeedback", "FeedbackLinearization", "ComputedTorque", "HoldController",
    "LinkDampingController",
    "ControllerSettings", "make_controller", "retune", "BumplessTransfer",
    "StateFeedbackGains", "motor_side_gains", "motor_bandwidth_gains", "damping_gains",
    "delay_independent_gains", "placed_gains", "optimal_gains",
    "closed_loop_poles", "inertias_felt", "inertias_held", "joint_resonances", "JointPoles",
    # Lie groups, conventions, errors
    "so3", "se3", "lie_groups", "REPRESENTATIONS", "SYMBOLS",
    "to_linear_first", "from_linear_first",
    "DynamicsError", "ModelError", "InputError", "TrajectoryError", "ModelWarning",
]  # fmt: skip
