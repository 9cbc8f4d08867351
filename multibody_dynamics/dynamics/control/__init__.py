# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Control of arms with elastic joints: laws and gains, state estimation, observers, time scaling.

Laws, observers and filters run in the control cycle and write into their own arrays; gains are
designed beforehand, for an arm at rest.

Control laws by name:

ControllerSettings       a control law by name and plain numbers; the argument of make_controller
make_controller          the controller that the settings name, with gains designed for the robot
retune                   changes the gains of a running controller between two updates
LAWS                     the laws by name: the classes of their settings
Cycle                    what a law should know about the control cycle in which it runs
law_list                 the names of some laws of LAWS, as text
DEFAULT_LAW              the name of the law of ControllerSettings() and of the node

Complete control cycles, as run by the nodes:

Arm                      the cycle of an arm: from samples to motor torques, with modes and faults
Sample                   what is measured at one time
LINKS                    a Sample lacks the states of the links
MOTORS                   a Sample lacks the states of the motors
BOTH                     a Sample lacks both
CycleTimes               what an Arm expects of the times of its cycle
TorqueTimes              the times of its samples and torques
Command                  the answer of an Arm to a Sample: torques (m,) in N m, and what has changed
ArmSettings              settings of an Arm that may change while it runs
FlatnessSettings         the others: all laws, the state estimation, the observer
DesignedLaws             the laws of an arm by name: design, judgement, stiffness that may change
MeasuredArm              states of links and motors, spring torques, contacts, from measured signals
RestingArm               whether measured positions of an arm at rest agree with its model
Implausible              why they do not: joint, torque in N m, likely cause
external_loads           (n,) N m, external torques at rest that a RestingArm believes
softest_outputs          (v,) second outputs with which it judges springs
stiffness_settings       (n, 2) where motors that set a stiffness can be
Supervisor               mode and fault of an arm
Mode                     what acts on the arm: nothing, a law, a stop, ...
FAULTS                   all faults: to which mode they lead, and how they end
NO_DESIGN                code of the fault that no law is stable at the first position
NOT_FINITE               code of the fault that a law has no finite torque
Fault                    a row of FAULTS
Event                    a fault that has become active, or was cleared
CollisionReaction        notices contacts, and plans a retraction
Contact                  a contact at the time of its detection
REACTIONS                possible reactions to a contact
OFF                      the reaction that ignores contacts
REPORT                   the reaction that only reports contacts
ON_LINKS                 the name of the law that stops an arm when its motor states are missing
FeedforwardLaw           the torque feedforward of a desired motion (5, n), as a sum of named terms

Controllers:

PERIOD                   default period of a controller, s
Controller               base class: from desired motion and measured state to motor torques (m,)
LinearFeedback           feedforward by the flat map, and linear feedback of link and motor errors
ScheduledFeedback        LinearFeedback with gains of the whole arm that follow the pose
UPDATE_TIME              default time in s over which ScheduledFeedback blends in new gains
FeedbackLinearization    exact feedback linearisation, q'''' = v, with poles for every joint
ComputedTorque           the computed torque of a rigid arm, for comparison
HoldController           stops the arm with damping and then holds it, from motor states alone
LateHoldController       the same, for torques that arrive late
LinkDampingController    a slow stop that uses link states alone
TorqueController         makes the torques of the springs follow a reference
JointImpedance           makes links behind springs feel like springs and dampers; passive
CartesianImpedance       makes a tool feel like a spring and damper, with a soft posture; passive
ImpedanceController      base class of both: the law, its storage function, changes of stiffness
LiveImpedance            base class of laws whose stiffness or damping may change while they run
ImpedanceTarget          the stiffness and damping ratio that such a law approaches
ElasticStructureController  ESP, ESPi (elastic structure preserving): dampers and springs on links
InertiaShaping           torque feedback that makes rotors behind springs appear lighter
BumplessTransfer         switches between controllers without a jump, within the motors' limits

Gains and poles:

JointPoles               poles in 1/s for the error of every joint and second output
StateFeedbackGains       gains (4, m) on the errors of q, q', theta, theta'; N m/rad and N m s/rad
optimal_gains            linear-quadratic (LQR) gains, joint by joint
placed_gains             gains by pole placement, joint by joint
coupled_gains            linear-quadratic gains of the whole arm, for a held torque and a delay
modal_gains              passive gains of the whole arm, by double diagonalisation
CoupledGains             gains of every motor on the errors of all links and motors
GainSchedule             coupled or modal gains as a function of the pose
GAIN_DESIGNS             the designs of the gains of state feedback by name
whole_arm_poles          all poles in 1/s of the whole arm under CoupledGains near rest at q
motor_side_gains         PD gains of the motors from given numbers
motor_bandwidth_gains    PD gains that give each motor two poles at its bandwidth in rad/s
damping_gains            PD gains of the motors that damp the links behind their springs
late_hold_gains          PD gains of the motors for a stop with torques that arrive late
forecast_stop            time, distance and tolerated delay of a stop with late torques
StopForecast             result of forecast_stop
stop_distances           (n,) rad or m, to which a stop brings each joint from a speed
at_rest                  motors and springs at rest under gravity, linearised
linear_arm               equations of the arm near rest: springs, gravity, friction; no feedback
closed_loop_poles        all poles in 1/s of the whole arm under LinearFeedback near rest at q
joint_resonances         (n,) resonance in rad/s of each single joint, link against motor
inertias_felt            (n,) 1 / (M^-1)_ii: inertia moved by a joint while the others are free
smallest_inertias        (n,) the smallest of these, at q and at other postures
inertias_held            (n,) M_ii: inertia moved by a joint while the others are locked

Stability of the sampled loop:

judge_loop               stability of a controller at many poses of the joint range
LoopJudgement            result of judge_loop: the unstable share, the worst pose and its pole
LoopJudge                the poses and parameter errors of judge_loop, for several controllers
stable_bandwidth         the largest bandwidth with which a loop is stable at all poses
StableBandwidth          result of stable_bandwidth
spread_poses             poses (count, n) that fill the joint range evenly
middle_of_range          (n,) the position in the middle of the joint range
lag_limit                rad/s above which filtered, delayed torques excite what they should damp
law_gradient             slopes of any control law at rest, for the sampled loop
LawGradient              result of law_gradient
step_torques             torques that steps of encoders cause through a law
needed_resolution        steps of encoders that change a torque by its limit
velocity_peak            1/s, of a filter after a unit step
JudgingProcess           judges laws in a separate process while the cycle runs
JudgingRequest           what a JudgingProcess judges: a law, its position and conditions
Verdict                  result of a JudgingProcess
sampled_loop             the closed loop near rest as one matrix: hold, delay, filters, observers
SampledLoop              result of sampled_loop: its poles, growth and worst mode
RobotErrors              relative differences between a robot and the model of its controller

Torque sources:

TorqueGains              gains of a TorqueController for all motors
TORQUE_DESIGNS           the three designs of TorqueGains by name
inertia_shaping_gains    torque feedback that makes rotors appear lighter; passive without sampling
torque_observer_gains    the same with a disturbance observer on the torque loop
torque_lqr_gains         PI and rate feedback of the torque with linear-quadratic gains
TorqueObserver           estimates the disturbance (m,) in N m on motors against their springs
passive_share            largest compensated share of this disturbance that leaves a joint passive
TorqueLoop               one sampled torque loop with delay: poles, responses, impedance, noise
TorqueJoint              motor and spring of a TorqueLoop
TorqueServo              the law of a TorqueLoop
MAX_DELAY                largest delay of a LoopTiming, in periods
LoopTiming               period, delay and velocity filter of a loop
evaluate_torque          bandwidth, impedance, passivity, noise and delay margin of a joint
TorqueEvaluation         result of evaluate_torque
TorqueLimits             the torque that a motor can deliver at a frequency
SingleJoint              a single joint with a spring, and the range of its link inertia
single_joints            every SingleJoint of an arm at rest at q

Parts of impedances:

LinkEquilibrium          q_bar (n,): equilibrium of the links if the motors do not move
StiffnessRamp            changes of stiffness at a limited rate, powered by an energy tank
impedance_damping        dampers (n, n) of a mass and a stiffness with one damping ratio
cartesian_spring         a spring between a tool and a target pose, seen from the joints; compiled
carrying_stiffness       (n,) stiffness of the springs of an arm, N m/rad
use_of_springs           share of the springs' stiffness that an impedance uses, 0 to 1
ElasticStructureGains    springs and dampers (n,) on links and motors of ESP and ESPi
esp_gains                gains of ESP for a bandwidth, joint by joint
esp_impedance_gains      gains of ESPi for a stiffness of the links, joint by joint
DAMPING_RATIO            default damping ratio of the links of ESP and ESPi
CONTACT_BANDWIDTH        default bandwidth in rad/s of the contact observer of ESP and ESPi
VirtualSprings           the springs of an arm between errors of links and virtual motors

State estimation and observers:

StateEstimator           q, q', theta, theta' from the measured signals of a robot
StateEstimation          the settings of StateEstimator
SOURCES                  the sources of the state, each with the signals that it needs
DerivativeFilter         velocity, acceleration and jerk from sampled positions; causal
FILTER_BANDWIDTH         default bandwidth in Hz of the filters in a control cycle
FILTER_ORDER             default order of the filters in a control cycle
ORDERS                   possible orders of DerivativeFilter
MAX_STEP                 default gap in s after which filters and observers restart
PositionCheck            rejects positions that a joint cannot have reached since its last state
position_checks          those of the links and of the motors of a robot
JointState               q, q', theta, theta' of an arm
MotorSideObserver        link and motor state from motor positions and motor torques alone
StatePredictor           the state when a torque takes effect, predicted over known delays
SentTorques              the torques sent, and the mean torque that acted in an interval
Past                     the last sample and its torque, for laws that act on a predicted state
LONGEST_DELAY            longest delay in s over which a state is predicted
CORRECTION_BANDWIDTH     default bandwidth in rad/s of StatePredictor's correction of model errors
DisturbanceCompensation  estimates torques that the model does not explain, on links and motors
AdaptiveFeedforward      adapts the masses and inertias of links or payload in the feedforward
AdaptationSettings       settings of AdaptiveFeedforward: what adapts, how fast, within which bounds
ADAPTS                   what AdaptiveFeedforward can estimate: the links, or a payload
MomentumBalance          mean external joint torques (n,) between two samples
driven_links             model and friction for MomentumBalance, given the known joint torques
LowPass                  low-pass with four equal real poles; also gives the rate of its output
DisturbanceObserver      momentum observer: residual (n,) that follows the external joint torques
CollisionDetector        detects contacts by external torques beyond thresholds, every cycle
DrivingTorque            joint torques on the links, from sensors, springs or rigid joints
CollisionThresholds      thresholds of the external torques that follow the motion, with YAML file
DetectionSettings        filters and margin of collision detection
load_collision_thresholds  CollisionThresholds from a YAML file
learn_thresholds         thresholds from a recorded motion without contacts
LearnedThresholds        result of learn_thresholds: held-out shares, sizes of contacts found
RecordedMotion           a recorded motion: t, q, theta, Q, tau
step_response            share of a sudden contact in the residual after some time
HIT                      index in KINDS of the residual without slow parts
PUSH                     index in KINDS of the residual with slow parts
KINDS                    the kinds of residuals: hit, push
TERMS                    the terms of a threshold
MEASURED                 the sources of the state with which contacts can be detected
chain_state              q'' and q''' from the measured state, by differential flatness
ChainState               result of chain_state: q .. q''', Q and Q', each (..., n)

What an arm follows:

BaseReference            the motion of a moving base, planned or measured
DesiredMotion            the motion that an arm follows: a hold or a trajectory, and the next one
TrajectoryRequest        points of a trajectory to follow
plan                     the motion from a splice through the points of a trajectory
Planned                  result of plan: a motion that begins at a splice
Splice                   where a new motion continues the current one
reject_jump              refuses a position that is too far from its reference
LearnedMotion            a DesiredMotion with the learned correction of a repeated trajectory
StiffnessReference       the trajectory of the second outputs of joints with variable stiffness

Code in other languages:

printed_cycle            what the control cycle in C shares with Python, printed from its source
PrintedCycle             result of printed_cycle: files, structures, prototypes
CycleSettings            the settings of the control cycle, declared once
CycleCounts              what it counts
Computed                 what the caller of a law has computed already
LONGEST_LEAD             longest lead of the feedforward in s
MOST_RECOVERIES          recoveries that a generated controller can count
plausibility             whether positions at rest agree with the model, in C too
encoder_steps            the resolution of encoders by the steps of positions, over a record
coarse_encoder           why an encoder is too coarse, in words
lasting_speed            speeds at which joints may seem to move between two samples
frozen_sides             positions that repeat although the arm moves, over a record
sampled_input            what a cycle takes of the measured positions, over records
sampled_motion           what an arm on samples follows: points or a stream, over a record
actuation                record of the actuators of an arm
motor_turns              (m,) rad after which the states of motors repeat; 0: never
cycle_clock              what the clock of a cycle does, as a function over a record
modes                    what acts on an arm, and why, as functions over records
samples                  validity of samples and their filters, as functions over records

Learning from repetition:

IterativeLearning        learns the correction of one trajectory, with stop rule and file
LearningSettings         cut-off, gain, limit and stop rule
CUTOFF                   default cut-off in Hz of the filter of IterativeLearning
LearnedCorrection        a correction of q_d .. q_d'''' over the time of a trajectory
FadingCorrection         a sequence of corrections with smooth transitions
Run                      times, errors and applied corrections of one run
RunFigures               rms and largest error of a run
trajectory_key           a hash that identifies a trajectory

Time scaling:

design_stream            limits of streamed motions that the motors of a robot can follow
StreamSettings           how streams of targets are followed
scale_time               slows a motion down by the smallest factor that satisfies all limits
TimeScaling              result of scale_time: the slower motion and the use of every limit
MotionLimits             limits on torques, torque rates, speeds and spring deflections
slow_down                the same motion, slower by a given factor
JOINT_QUANTITIES         the quantities of MotionLimits that apply to joints
QUANTITIES               all quantities of MotionLimits
"""

from warnings import warn

from .arm import cycle_clock, modes, plausibility, sampled_input, sampled_motion
from .arm.arm import Arm, Command
from .arm.arm_settings import ArmSettings
from .arm.base_reference import BaseReference
from .arm.collision_reaction import OFF, REACTIONS, REPORT, CollisionReaction, Contact
from .arm.cycle_settings import LONGEST_LEAD, MOST_RECOVERIES, CycleSettings
from .arm.desired_motion import DesiredMotion, Planned, Splice, TrajectoryRequest, plan, reject_jump
from .arm.learned_motion import LearnedMotion
from .arm.measured_arm import MeasuredArm
from .arm.modes import FAULTS, NO_DESIGN, NOT_FINITE, Fault, Mode
from .arm.plausibility import (
    Implausible,
    RestingArm,
    external_loads,
    softest_outputs,
    stiffness_settings,
)
from .arm.position_check import PositionCheck, position_checks
from .arm.printed_cycle import PrintedCycle, printed_cycle
from .arm.stiffness_reference import StiffnessReference
from .arm.supervisor import Event, Supervisor
from .arm.torque_steps import CycleTimes, TorqueTimes
from .arm.valid_sides import BOTH, LINKS, MOTORS, Sample
from .controllers.bumpless_transfer import BumplessTransfer
from .controllers.controllers import (
    PERIOD,
    Computed,
    ComputedTorque,
    Controller,
    LinearFeedback,
    Past,
)
from .controllers.feedback_linearization import FeedbackLinearization
from .controllers.hold_controller import HoldController
from .controllers.late_hold import LateHoldController, late_hold_gains
from .controllers.link_damping import LinkDampingController
from .controllers.link_equilibrium import LinkEquilibrium
from .controllers.scheduled_feedback import (
    GAIN_DESIGNS,
    UPDATE_TIME,
    GainSchedule,
    ScheduledFeedback,
)
from .controllers.stop_forecast import StopForecast, forecast_stop, stop_distances
from .controllers.torque_controller import TorqueController
from .gains.coupled_gains import CoupledGains, coupled_gains, whole_arm_poles
from .gains.joint_gains import (
    JointPoles,
    StateFeedbackGains,
    at_rest,
    closed_loop_poles,
    damping_gains,
    inertias_felt,
    inertias_held,
    joint_resonances,
    linear_arm,
    motor_bandwidth_gains,
    motor_side_gains,
    optimal_gains,
    placed_gains,
    smallest_inertias,
)
from .gains.modal_gains import modal_gains
from .impedance.elastic_structure import CONTACT_BANDWIDTH, ElasticStructureController
from .impedance.elastic_structure_gains import (
    DAMPING_RATIO,
    ElasticStructureGains,
    esp_gains,
    esp_impedance_gains,
)
from .impedance.impedance import CartesianImpedance, ImpedanceController, JointImpedance
from .impedance.impedance_design import carrying_stiffness, impedance_damping, use_of_springs
from .impedance.live_impedance import ImpedanceTarget, LiveImpedance
from .impedance.stiffness_ramp import StiffnessRamp
from .impedance.tool_spring import cartesian_spring
from .impedance.virtual_springs import VirtualSprings
from .laws import by_name as by_name  # enters the laws into LAWS
from .laws.controller_settings import (
    DEFAULT_LAW,
    LAWS,
    ControllerSettings,
    Cycle,
    law_list,
    make_controller,
    retune,
)
from .laws.designed_laws import DesignedLaws
from .laws.feedforward_law import FeedforwardLaw
from .laws.flatness_settings import ON_LINKS, FlatnessSettings
from .laws.judging_process import JudgingProcess, JudgingRequest, Verdict
from .observers.adaptive_feedforward import ADAPTS, AdaptationSettings, AdaptiveFeedforward
from .observers.collision_detection import CollisionDetector, DrivingTorque
from .observers.collision_learning import (
    LearnedThresholds,
    RecordedMotion,
    learn_thresholds,
    step_response,
)
from .observers.collision_thresholds import (
    HIT,
    KINDS,
    MEASURED,
    PUSH,
    TERMS,
    CollisionThresholds,
    DetectionSettings,
    load_collision_thresholds,
)
from .observers.disturbance_compensation import DisturbanceCompensation
from .observers.disturbance_observer import DisturbanceObserver
from .observers.integrator_chain import ChainState, chain_state
from .observers.momentum_balance import MomentumBalance, driven_links
from .observers.motor_side_observer import JointState, MotorSideObserver
from .observers.state_estimation import (
    FILTER_BANDWIDTH,
    FILTER_ORDER,
    ORDERS,
    SOURCES,
    StateEstimation,
    StateEstimator,
)
from .observers.state_predictor import CORRECTION_BANDWIDTH, LONGEST_DELAY, StatePredictor
from .records.actuation import actuation, motor_turns
from .records.cycle_counts import CycleCounts
from .signals import encoder_steps, frozen_sides, samples
from .signals.derivative_filter import MAX_STEP, DerivativeFilter
from .signals.encoder_steps import coarse_encoder
from .signals.low_pass import LowPass
from .signals.reach import lasting_speed
from .signals.sent_torques import SentTorques
from .stability.lag_limit import lag_limit
from .stability.law_gradient import LawGradient, law_gradient
from .stability.loop_judgement import (
    LoopJudge,
    LoopJudgement,
    judge_loop,
    middle_of_range,
    spread_poses,
)
from .stability.loop_sampling import RobotErrors, SampledLoop, sampled_loop
from .stability.stable_bandwidth import StableBandwidth, stable_bandwidth
from .stability.step_torques import needed_resolution, step_torques, velocity_peak
from .torque.inertia_shaping import InertiaShaping
from .torque.torque_evaluation import TorqueEvaluation, TorqueLimits, evaluate_torque
from .torque.torque_gains import (
    TORQUE_DESIGNS,
    SingleJoint,
    TorqueGains,
    inertia_shaping_gains,
    single_joints,
    torque_lqr_gains,
    torque_observer_gains,
)
from .torque.torque_loop import MAX_DELAY, LoopTiming, TorqueJoint, TorqueLoop, TorqueServo
from .torque.torque_observer import TorqueObserver, passive_share
from .trajectories.iterative_learning import (
    CUTOFF,
    IterativeLearning,
    LearningSettings,
    Run,
    RunFigures,
    trajectory_key,
)
from .trajectories.learned_correction import FadingCorrection, LearnedCorrection
from .trajectories.stream_design import StreamSettings, design_stream
from .trajectories.time_scaling import (
    JOINT_QUANTITIES,
    QUANTITIES,
    MotionLimits,
    TimeScaling,
    scale_time,
    slow_down,
)

__all__ = [
    # control laws by name
    "ControllerSettings", "make_controller", "retune", "LAWS", "DEFAULT_LAW", "Cycle", "law_list",
    # complete control cycles, as run by the nodes
    "Arm", "Sample", "LINKS", "MOTORS", "BOTH", "CycleTimes", "TorqueTimes", "Command",
    "ArmSettings",
    "FlatnessSettings", "DesignedLaws", "MeasuredArm",
    "RestingArm", "Implausible", "external_loads", "softest_outputs",
    "stiffness_settings",
    "Supervisor", "Mode", "FAULTS", "NO_DESIGN", "NOT_FINITE", "Fault", "Event",
    "CollisionReaction", "Contact", "REACTIONS", "OFF", "REPORT", "ON_LINKS", "FeedforwardLaw",
    # what an arm follows
    "DesiredMotion", "TrajectoryRequest", "plan", "Planned", "Splice", "reject_jump",
    "LearnedMotion", "StiffnessReference", "BaseReference",
    # code in other languages
    "printed_cycle", "PrintedCycle", "CycleSettings", "CycleCounts", "Computed", "LONGEST_LEAD",
    "MOST_RECOVERIES", "actuation", "motor_turns", "sampled_input", "sampled_motion",
    "cycle_clock", "encoder_steps", "coarse_encoder", "lasting_speed", "frozen_sides", "modes",
    "plausibility", "samples",
    # controllers
    "PERIOD", "Controller", "LinearFeedback", "ScheduledFeedback", "UPDATE_TIME",
    "FeedbackLinearization", "ComputedTorque",
    "HoldController", "LateHoldController", "LinkDampingController", "TorqueController",
    "JointImpedance", "CartesianImpedance", "ImpedanceController", "ElasticStructureController",
    "LiveImpedance", "ImpedanceTarget",
    "InertiaShaping", "BumplessTransfer",
    # parts of impedances
    "LinkEquilibrium", "StiffnessRamp", "impedance_damping", "cartesian_spring",
    "carrying_stiffness", "use_of_springs", "VirtualSprings", "ElasticStructureGains", "esp_gains",
    "esp_impedance_gains", "DAMPING_RATIO", "CONTACT_BANDWIDTH",
    # gains and poles
    "JointPoles", "StateFeedbackGains", "optimal_gains", "placed_gains", "motor_side_gains",
    "coupled_gains", "modal_gains", "CoupledGains", "GainSchedule", "GAIN_DESIGNS",
    "whole_arm_poles",
    "motor_bandwidth_gains", "damping_gains", "late_hold_gains", "closed_loop_poles",
    "at_rest", "linear_arm",
    "joint_resonances", "inertias_felt", "inertias_held", "smallest_inertias",
    "forecast_stop", "StopForecast", "stop_distances",
    # stability of the sampled loop
    "judge_loop", "LoopJudge", "LoopJudgement", "stable_bandwidth", "StableBandwidth",
    "spread_poses", "middle_of_range", "lag_limit", "law_gradient", "LawGradient",
    "step_torques", "needed_resolution", "velocity_peak",
    "JudgingProcess", "JudgingRequest", "Verdict", "sampled_loop", "SampledLoop",
    "RobotErrors",
    # torque sources
    "TorqueGains", "TORQUE_DESIGNS", "inertia_shaping_gains", "torque_observer_gains",
    "torque_lqr_gains", "TorqueObserver", "passive_share", "TorqueLoop", "TorqueJoint",
    "TorqueServo", "LoopTiming", "MAX_DELAY", "evaluate_torque", "TorqueEvaluation", "TorqueLimits",
    "SingleJoint", "single_joints",
    # state estimation and observers
    "StateEstimator", "StateEstimation", "SOURCES", "DerivativeFilter", "ORDERS", "MAX_STEP",
    "FILTER_BANDWIDTH", "FILTER_ORDER", "PositionCheck", "position_checks",
    "StatePredictor", "SentTorques", "Past", "LONGEST_DELAY", "CORRECTION_BANDWIDTH",
    "MotorSideObserver", "JointState", "DisturbanceObserver", "DisturbanceCompensation",
    "AdaptiveFeedforward", "AdaptationSettings", "ADAPTS",
    "MomentumBalance", "driven_links", "LowPass",
    "CollisionDetector", "DrivingTorque", "CollisionThresholds", "DetectionSettings",
    "load_collision_thresholds", "learn_thresholds", "LearnedThresholds", "RecordedMotion",
    "step_response", "HIT", "PUSH", "KINDS", "TERMS", "MEASURED",
    "chain_state", "ChainState",
    # learning from repetition
    "IterativeLearning", "LearningSettings", "CUTOFF", "LearnedCorrection", "FadingCorrection",
    "Run", "RunFigures", "trajectory_key",
    # time scaling
    "design_stream", "StreamSettings",
    "scale_time", "TimeScaling", "MotionLimits", "slow_down", "JOINT_QUANTITIES", "QUANTITIES",
]  # fmt: skip


_STUDIES = {
    **dict.fromkeys(("stored_energy", "arm_energy", "ArmStates"), "stored_energy"),
    **dict.fromkeys(("power_balance", "PowerBalance"), "power_balance"),
    **dict.fromkeys(("sampled_contacts", "SampledContacts", "BOUT"), "sampled_contacts"),
    **dict.fromkeys(("PASSIVITY_CLAIMS", "PassivityClaim"), "passivity_claims"),
}
"""Proofs that were public in version 1.0, and the modules of the repository in which they are."""


def __getattr__(name: str) -> object:
    """Names of version 1.0 that are deprecated."""
    if name == "DISTURBANCE_BANDWIDTH":
        declared = LAWS[DEFAULT_LAW].__dataclass_fields__["disturbance_bandwidth"]
        found, instead = declared.default, "LAWS"
    elif name == "NOT_LOWERED":
        found, instead = tuple(key for key, law in LAWS.items() if not law.lowers), "LAWS"
    elif name == "Law":
        found, instead = ControllerSettings, "ControllerSettings"
    elif name == "FlatnessLaw":
        from .arm.flatness_law import FlatnessLaw

        found, instead = FlatnessLaw, "Arm"
    elif name in _STUDIES:
        raise AttributeError(f"{name} is in studies/{_STUDIES[name]}.py, which is not installed")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    warn(f"dyn.control.{name}: use {instead}", DeprecationWarning, stacklevel=2)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
