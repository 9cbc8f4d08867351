"""Springs and motors of elastic joints: the flat map between link and motor, knowing no dynamics.

CubicSpring             s = K phi + K3 phi^3, hardening: K > 0 in N m/rad, K3 >= 0 in N m/rad^3.
LinearSpring            s = K phi, K > 0 in N m/rad.
PolynomialSpring        s = c_1 phi + c_2 phi^2 + ..., coefficients from c_1 on in N m/rad^i
Spring                  An increasing law with the travel (lower, upper)
TableSpring             A C4 increasing law through the points of a data sheet or a measurement.
greatest_stiffness      The greatest s' on the travel
Antagonistic            Two motors that pull at the link from both sides
Motor                   Inertia of rotor and gear, friction and limits
Rigid                   Motor and link are one
SeriesElastic           A spring of any law between motor and link
StiffnessDrive          The motor that sets a stiffness k = k_0 + kappa theta_k
VariableStiffness       Q = k g(phi): a spring whose stiffness k is an input of its own
Actuator                What moves one joint: its motors and the springs in front of them.
smooth_friction         Torque that friction takes
Actuators               The actuators of a robot, in the order of its joints.
load_actuators          The actuators of a robot from a YAML file or its mapping
MotorCommand            theta, theta', theta'' and tau_m on the link side of the gear
MotorFeedforward        motor_motion for the control cycle
SpringSolver            Actuators.springs for the control cycle
resting_second_outputs  (v,) the middle of what can be had without load.
friction                Torque that friction takes from motor j.
springs_recursion       Q, Q', stiffness of the joints (n,)
VARIANTS                ?? }
LimitMargin             How near a motion comes to one limit
MotorMotion             theta, theta', theta'' and tau_m of the m motors
filtered_deflection     (k, n) deflections of damped springs along a motion
limit_margins           The margin to every finite limit along a motion
motor_motion            How the motors must move and what they must push that the links move ...
Beyond  what a spring does beyond its travel: "raise" or "continue"
flat_map  the scalar functions of actuators and springs that compiled cycles call
actuator_rows  the constants of all actuators as one table for compiled cycles
"""

from . import flat_map
from .actuator_cycle import (
    VARIANTS,
    MotorCommand,
    MotorFeedforward,
    SpringSolver,
    actuator_rows,
    resting_second_outputs,
)
from .actuator_description import load_actuators
from .actuator_kinds import (
    Actuator,
    Antagonistic,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from .actuators import Actuators
from .flat_map import friction, smooth_friction, springs_recursion
from .flatness import (
    LimitMargin,
    MotorMotion,
    filtered_deflection,
    limit_margins,
    motor_motion,
)
from .springs import (
    Beyond,
    CubicSpring,
    LinearSpring,
    PolynomialSpring,
    Spring,
    TableSpring,
    greatest_stiffness,
)

__all__ = [
    "CubicSpring", "LinearSpring", "PolynomialSpring", "Spring", "TableSpring",
    "greatest_stiffness", "Antagonistic", "Motor", "Rigid", "SeriesElastic", "StiffnessDrive",
    "VariableStiffness", "Actuator", "smooth_friction", "Actuators", "load_actuators",
    "MotorCommand", "MotorFeedforward", "SpringSolver", "resting_second_outputs",
    "actuator_rows", "friction", "springs_recursion", "VARIANTS", "LimitMargin",
    "MotorMotion", "filtered_deflection", "limit_margins", "motor_motion",
    "Beyond",
    "flat_map",
]  # fmt: skip
