"""What recordings say of the model: regressors, friction, springs, calibration, sensitivities.

BaseParameters                The combinations of parameters that the joint torques depend on
Regressor                     Y (..., n, p) of the joint torques and of their rates
base_parameters               The base parameters of a robot
inertial_parameters           The parameters (10 n,) of the bodies with the payloads that they ...
inverse_dynamics_regressor    Y (..., n, 10 n) with Q = Y inertial_parameters
is_physically_consistent      Whether some body of finite extent has the ten parameters (
parameter_names               The names of the columns of the regressor
pseudo_inertia                The second moments of the mass, (..., 4, 4)
with_inertial_parameters      The robot with other parameters (10 n,)
JointFriction                 friction(v) = viscous v + offset + amplitude (L(steepness (v + ...
Identified                    What was found. `friction` is in addition to what was known ...
consistent_parameters         The ten parameters (
identify_parameters           The parameters with which the robot explains its torques (k
log_cholesky                  The inverse (..., 10) of consistent_parameters.
nearest_consistent            Parameters (..., 10) of bodies that can exist
KINDS                         ?? KINDS = ("friction", "payload", "inertia")
SpringFit                     What one joint's samples say.
identify_spring               The law of one spring from samples of phi, Q and phi', (k,) each
motor_side_torque             Q = tau_m - M_m theta'' - friction(theta') in N m
ZeroPhaseFilter               Low pass and derivatives 0
noise_cutoff                  Frequencies (n,) in Hz at which the signals (k
HIGHEST                       cut-off, as a share of the sampling rate
Residuals                     Statistics of k samples of n signals
ErrorScrew                    One geometric parameter
errors_at                     The same parameters, seen from where they have `values` (p,).
frame_errors                  The six errors of a frame fixed to a body
jacobian_sensitivity          dJ/dpi (..., p, 6, n) of the geometric Jacobian of a body or ...
joint_errors                  Errors in the placement of `joints` (default
perturbed_model               The robot with the errors at finite `values` (p,)
pose_sensitivity              The identification Jacobian (..., 6, p) of a body or frame
torque_sensitivity            dQ/dpi (..., n, p) of the inverse dynamics
twist_sensitivity             dV/dpi (..., 6, p) of the twist of a body or frame at given q and ...
Calibration                   What calibrate found.
calibrate                     The errors with which the robot has `frame` where it was ...
HybridDynamicsSensitivity     dq''/dp and dtau/dp of all joints, the given ones among them
ParameterDependence           What depends on p parameters
forward_dynamics_sensitivity  dq''/dp (..., n, p) of the forward dynamics
hybrid_dynamics_sensitivity   dq''/dp and dtau/dp (..., n, p) of the hybrid dynamics
inverse_dynamics_sensitivity  dtau/dp (..., n, p) of the inverse dynamics, [K12] Table 5.
"""

from .calibration import Calibration, calibrate
from .differentiation import HIGHEST, ZeroPhaseFilter, noise_cutoff
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
from .inertial_identification import (
    KINDS,
    Identified,
    consistent_parameters,
    identify_parameters,
    log_cholesky,
    nearest_consistent,
)
from .joint_friction import JointFriction
from .parameter_derivatives import (
    HybridDynamicsSensitivity,
    ParameterDependence,
    forward_dynamics_sensitivity,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_sensitivity,
)
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
from .residuals import Residuals
from .spring_identification import SpringFit, identify_spring, motor_side_torque

__all__ = [
    "BaseParameters", "Regressor", "base_parameters", "inertial_parameters",
    "inverse_dynamics_regressor", "is_physically_consistent", "parameter_names",
    "pseudo_inertia", "with_inertial_parameters", "JointFriction", "Identified",
    "consistent_parameters", "identify_parameters", "log_cholesky", "nearest_consistent",
    "KINDS", "SpringFit", "identify_spring", "motor_side_torque", "ZeroPhaseFilter",
    "noise_cutoff", "HIGHEST", "Residuals", "ErrorScrew", "errors_at", "frame_errors",
    "jacobian_sensitivity", "joint_errors", "perturbed_model", "pose_sensitivity",
    "torque_sensitivity", "twist_sensitivity", "Calibration", "calibrate",
    "HybridDynamicsSensitivity", "ParameterDependence", "forward_dynamics_sensitivity",
    "hybrid_dynamics_sensitivity", "inverse_dynamics_sensitivity",
]  # fmt: skip
