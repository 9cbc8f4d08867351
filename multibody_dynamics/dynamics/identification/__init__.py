# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Identification: parameters of a robot from recordings and measurements.

Inertial parameters and joint friction by least squares over regressors, spring laws, kinematic
calibration, and the sensitivities of the dynamics to parameters.

Regressors:

inverse_dynamics_regressor    Y (..., n, 10 n) with Q = Y pi, and for the torque rates
passive_regressor             the same for u = M q_r'' + C q_r' + g of passive control, with rates
trace_regressor               the regressor of one robot as a program of `codegen`
Regressor                     the regressors of Q, Q' and Q'', (..., n, p) each
parameter_names               names of the columns of the regressor
inertial_parameters           pi (10 n,): mass, first moments and inertia of every body
with_inertial_parameters      the robot with other inertial parameters (10 n,)
base_parameters               the base parameters of a robot: the identifiable combinations
BaseParameters                base parameters, their names, and the map from pi
pseudo_inertia                second moments of the mass (..., 4, 4) of parameters (..., 10)
is_physically_consistent      whether a body with these ten parameters can exist

Inertia and friction:

consistent_parameters         ten consistent parameters from log-Cholesky numbers (..., 10)
log_cholesky                  the inverse of consistent_parameters
nearest_consistent            physically consistent parameters close to the given ones
JointFriction                 smooth friction of every joint as a function of its velocity

Springs:

identify_spring               the law of a spring from samples of deflection and torque
SpringFit                     the result of identify_spring, as text or YAML
motor_side_torque             Q from motor torque, velocity and acceleration, N m

Links, friction, motors and springs together:

identify_robot                links, friction, motors and springs, from whatever was measured
MeasuredRun                   one recording: positions, torques and currents of n joints
CarriedPayload                a load of known or unknown mass, carried during a run
IdentificationSettings        settings of identify_robot
RobotIdentification           the result of identify_robot, with residuals and remarks
IdentifiedRobot               the identified robot, and identified.json
IdentifiedValue               a number, its standard error, and whether it is determined
read_identified               the values of an identified.json
reported                      values with standard errors as plain numbers, for reports
IdentifiedCovariance          identified parameters with their joint covariance, and covariance.npz
leaves                        all numbers of nested values by their names, joined with dots

Kinematic calibration:

calibrate                     kinematic calibration from measured poses or positions of a frame
Calibration                   the result of calibrate
ErrorScrew                    one geometric error: a screw fixed to a body
joint_errors                  error screws of the placement of joints
frame_errors                  the six error screws of a frame fixed to a body
errors_at                     the same errors, linearised at finite values (p,)
perturbed_model               the robot with errors of finite values (p,)
pose_sensitivity              identification Jacobian (..., 6, p) of a body or frame
twist_sensitivity             sensitivity (..., 6, p) of the twist of a body or frame to the errors
jacobian_sensitivity          sensitivity (..., p, 6, n) of the Jacobian to the errors
torque_sensitivity            sensitivity (..., n, p) of the inverse dynamics to the errors

Sensitivities to other parameters:

ParameterDependence           how screws, masses, inertias or gravity depend on p parameters
inverse_dynamics_sensitivity  dtau/dp (..., n, p) of the inverse dynamics, [K12] Table 5
forward_dynamics_sensitivity  dq''/dp (..., n, p) of the forward dynamics
hybrid_dynamics_sensitivity   dq''/dp and dtau/dp (..., n, p) of the hybrid dynamics
HybridDynamicsSensitivity     the result of hybrid_dynamics_sensitivity

Exciting motions:

optimal_excitation            the most informative Fourier motion within limits
Excitation                    the result of optimal_excitation
FourierForm                   period, harmonics and repetitions of a Fourier motion, and its basis
InformationCriterion          log det or condition number of the information, with its gradient
TorqueColumns                 torques as a linear function of base parameters and friction
RegressorStack                regressors of many states, and gradients of functions of them
ExcitationLimits              limits of a motion: joints, drives, springs, clearances and a box
MotorLimits                   motors and springs of elastic joints, and their limits
LimitUse                      how much of a limit a motion uses
exceeded_limit                the limit that a motion exceeds most, or None
Capsules                      capsules around the links, and the pairs that may not touch
link_skeleton                 capsules from joint to joint, for robots without geometry
capsules_with_pairs           capsules with the pairs that can meet
single_joint_run              constant velocities, steps or chirps of one joint after the other
RUN_KINDS                     the kinds of runs of single joints
resting_pose                  a configuration at rest away from all limits
predicted_errors              standard errors of all parameters, predicted from planned motions
PredictedError                a parameter, its value and its predicted standard error
TorqueNoise                   noise of torques and encoders, assumed for predictions
standard_errors               standard errors from an information matrix
unobservable                  parameters without effect on the torques
friction_kinds                kinds of friction that belong to the joints, not to motors

Recordings:

ZeroPhaseFilter               low-pass filter with derivatives, without phase lag, for recordings
noise_cutoff                  frequencies (n,) in Hz above which signals are lost in noise
HIGHEST                       the maximum cut-off frequency, as a fraction of the sampling rate
Residuals                     running statistics of the residuals of n signals
"""

from .bodies.consistent_inertia import consistent_parameters, log_cholesky, nearest_consistent
from .bodies.joint_friction import JointFriction
from .bodies.regressor import (
    BaseParameters,
    Regressor,
    base_parameters,
    inertial_parameters,
    inverse_dynamics_regressor,
    is_physically_consistent,
    parameter_names,
    passive_regressor,
    pseudo_inertia,
    trace_regressor,
    with_inertial_parameters,
)
from .drives.identified_robot import (
    IdentifiedCovariance,
    IdentifiedRobot,
    IdentifiedValue,
    leaves,
    read_identified,
    reported,
)
from .drives.measured_run import CarriedPayload, MeasuredRun
from .drives.prior_parameters import IdentificationSettings
from .drives.robot_identification import RobotIdentification, identify_robot
from .excitation.excitation_optimization import Excitation, optimal_excitation
from .excitation.fourier_form import FourierForm
from .excitation.information_criterion import InformationCriterion, TorqueColumns
from .excitation.link_capsules import Capsules, capsules_with_pairs, link_skeleton
from .excitation.motion_limits import ExcitationLimits, LimitUse, MotorLimits
from .excitation.predicted_errors import (
    PredictedError,
    TorqueNoise,
    friction_kinds,
    predicted_errors,
    standard_errors,
    unobservable,
)
from .excitation.regressor_gradient import RegressorStack
from .excitation.single_joint_runs import RUN_KINDS, exceeded_limit, resting_pose, single_joint_run
from .geometry.calibration import Calibration, calibrate
from .geometry.geometric_sensitivity import (
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
from .sensitivity.parameter_derivatives import (
    HybridDynamicsSensitivity,
    ParameterDependence,
    forward_dynamics_sensitivity,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_sensitivity,
)
from .signals.differentiation import HIGHEST, ZeroPhaseFilter, noise_cutoff
from .signals.residuals import Residuals
from .springs.spring_identification import SpringFit, identify_spring, motor_side_torque

__all__ = [
    # regressors
    "inverse_dynamics_regressor", "passive_regressor", "trace_regressor", "Regressor",
    "parameter_names",
    "inertial_parameters",
    "with_inertial_parameters", "base_parameters", "BaseParameters", "pseudo_inertia",
    "is_physically_consistent",
    # inertia and friction
    "consistent_parameters", "log_cholesky", "nearest_consistent", "JointFriction",
    # springs
    "identify_spring", "SpringFit", "motor_side_torque",
    # links, friction, motors and springs together
    "identify_robot", "MeasuredRun", "CarriedPayload", "IdentificationSettings",
    "RobotIdentification", "IdentifiedRobot", "IdentifiedValue", "read_identified", "reported",
    "leaves", "IdentifiedCovariance",
    # kinematic calibration
    "calibrate", "Calibration", "ErrorScrew", "joint_errors", "frame_errors", "errors_at",
    "perturbed_model", "pose_sensitivity", "twist_sensitivity", "jacobian_sensitivity",
    "torque_sensitivity",
    # sensitivities to other parameters
    "ParameterDependence", "inverse_dynamics_sensitivity", "forward_dynamics_sensitivity",
    "hybrid_dynamics_sensitivity", "HybridDynamicsSensitivity",
    # exciting motions
    "optimal_excitation", "Excitation", "FourierForm", "InformationCriterion", "TorqueColumns",
    "RegressorStack", "ExcitationLimits", "MotorLimits", "LimitUse", "exceeded_limit",
    "Capsules", "link_skeleton", "capsules_with_pairs", "single_joint_run", "RUN_KINDS",
    "resting_pose", "predicted_errors", "PredictedError", "TorqueNoise", "standard_errors",
    "unobservable", "friction_kinds",
    # recordings
    "ZeroPhaseFilter", "noise_cutoff", "HIGHEST", "Residuals",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
