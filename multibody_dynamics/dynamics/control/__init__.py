"""Control of elastic joints: gains, laws, observers, time scaling.

MotionLimits             What n joints and m motors may do, arrays or one number for all
TimeScaling              The result of scale_time.
scale_time               The motion slowed down by the smallest factor s >= 1 with which it ...
slow_down                The same motion `factor` >= 1 times slower
JOINT_QUANTITIES         ?? JOINT_QUANTITIES = ("joint_torque", "torque_rate", "joint_sp
QUANTITIES               ?? QUANTITIES = (*JOINT_QUANTITIES, *MOTOR_QUANTITIES)
JointPoles               Poles in 1/s for the error of every joint
StateFeedbackGains       Gains of m motors on errors of their joint's q
closed_loop_poles        All poles in 1/s of the arm under LinearFeedback near rest at q (n,)
damping_gains            PD gains of the motors alone that damp the links behind their springs
delay_independent_gains  PD gains of the motors that stand any usual delay of the torque
inertias_felt            (n,) 1 / (M^-1)_ii in kg m^2
inertias_held            (n,) M_ii in kg m^2: what a torque on joint i moves at q
joint_resonances         (n,) rad/s, (K / m + K / M_m)^(1/2) of each joint by itself
motor_bandwidth_gains    PD gains that give each motor two poles at -bandwidth in rad/s
motor_side_gains         PD gains of the motors, (m,) or scalar, N m/rad and N m s/rad
optimal_gains            Linear-quadratic gains of each joint by itself, as in `placed_gains`
placed_gains             Gains that give each joint by itself the `poles`, at rest at q (n,)
ComputedTorque           Law (4), for comparison
Controller               A law from the desired motion and the measured state to the motor ...
LinearFeedback           Laws (1) and (2): feedforward of the flat map
PERIOD                   s
FeedbackLinearization    Law (3): exact feedback linearisation
HoldController           Law "hold": a damped stop from any motion
LinkDampingController    A slow stop from any motion by link states alone
ControllerSettings       What make_controller takes. Rows may be scalars
make_controller          The law that the settings name, designed for this robot.
retune                   Other gains for a law that runs, between two updates
BANDWIDTHS               ?? }
BumplessTransfer         Runs one law at a time, and two while they change over.
DerivativeFilter         Positions of n joints and their derivatives to order - 1 from sampled ...
MotorSideObserver        Link and motor state from motor positions and motor torques alone
StateEstimation          How the state of links and motors is estimated.
StateEstimator           q, q', theta, theta' of elastic joints from the signals that a robot ...
ORDERS                   ?? import
SOURCES                  ?? )
MAX_INNOVATION           ?? import
MAX_STEP                 ?? import
DisturbanceObserver      Residual r (n,) that follows the external joint torques
ChainState  q, q', q'', q''' of the links, and the joint torques Q, Q'
chain_state  q'' and q''' from measured positions and velocities of links and motors
"""

from .bumpless_transfer import BumplessTransfer
from .controller_settings import BANDWIDTHS, ControllerSettings, make_controller, retune
from .controllers import PERIOD, ComputedTorque, Controller, LinearFeedback
from .derivative_filter import MAX_STEP, DerivativeFilter
from .disturbance_observer import DisturbanceObserver
from .feedback_linearization import FeedbackLinearization
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
from .hold_controller import HoldController
from .integrator_chain import ChainState, chain_state
from .link_damping import LinkDampingController
from .motor_side_observer import MAX_INNOVATION, MotorSideObserver
from .state_estimation import ORDERS, SOURCES, StateEstimation, StateEstimator
from .time_scaling import (
    JOINT_QUANTITIES,
    QUANTITIES,
    MotionLimits,
    TimeScaling,
    scale_time,
    slow_down,
)

__all__ = [
    "MotionLimits", "TimeScaling", "scale_time", "slow_down", "JOINT_QUANTITIES", "QUANTITIES",
    "JointPoles", "StateFeedbackGains", "closed_loop_poles", "damping_gains",
    "delay_independent_gains", "inertias_felt", "inertias_held", "joint_resonances",
    "motor_bandwidth_gains", "motor_side_gains", "optimal_gains", "placed_gains",
    "ComputedTorque", "Controller", "LinearFeedback", "PERIOD", "FeedbackLinearization",
    "HoldController", "LinkDampingController", "ControllerSettings", "make_controller",
    "retune", "BANDWIDTHS", "BumplessTransfer", "DerivativeFilter", "MotorSideObserver",
    "StateEstimation", "StateEstimator", "ORDERS", "SOURCES", "MAX_INNOVATION", "MAX_STEP",
    "DisturbanceObserver",
    "ChainState",
    "chain_state",
]  # fmt: skip
