# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Elastic joints: springs, motors, and the flat map between links and motors.

A joint is rigid, series elastic, of variable stiffness, or antagonistic. Given the motion of the
links and the joint torques Q, Q', Q'', the flat map yields motion and torque of the motors. This
package contains no rigid-body dynamics: Q comes from `inverse_dynamics`.

Actuators of a robot:

Actuators               the actuators of a robot, one per joint, in the order of its joints
load_actuators          Actuators from a YAML description
described_kind          the kind of actuator that the entry of a joint describes
Motor                   inertia, gear ratio, friction and limits of a motor, on the link side
Rigid                   an actuator without a spring
SeriesElastic           a spring between motor and link, with or without a damper
VariableStiffness       Q = k g(phi), where the stiffness k is a second input
StiffnessDrive          the motor that sets the stiffness of a VariableStiffness
Antagonistic            two motors that pull on the link from opposite sides through springs
Actuator                base class of all kinds of actuators
KINDS                   all kinds of actuators by name
Friction                friction of a link or a motor: viscous, Coulomb, Stribeck, load, offset
SlipElement             a Maxwell slip element: hysteresis of a series elastic joint
GearHarmonic            one harmonic of the kinematic error of a gear
smooth_friction         viscous and smoothed Coulomb friction torque of a motor

Spring laws:

Spring                  base class of all spring laws: torque s(phi) over a limited travel
LinearSpring            s = K phi
CubicSpring             s = K phi + K3 phi^3, hardening
PolynomialSpring        s = c_1 phi + c_2 phi^2 + ... over a finite travel
TableSpring             a smooth increasing law through the points of a data sheet
BacklashSpring          another law behind a gap, smoothed
SampledSpring           a user-defined law as the table that compiled code uses, with its errors
SamplingErrors          largest relative errors of a SampledSpring: s and its three derivatives
Beyond                  behaviour beyond the travel of a spring: "raise" or "continue"
greatest_stiffness      the maximum stiffness of a spring over its travel, N m/rad

Flat map for planning:

motor_motion            the flat map: motion and torque of the motors that move the links as desired
MotorMotion             theta, theta', theta'', tau_m and spring deflections, (..., m) each
filtered_deflection     deflections (k, n) of damped springs along a motion
limit_margins           margins to the limits of motors, springs and joint torques along a motion
LimitMargin             how close a motion comes to one limit, and when

Near rest:

LinearArm               M x'' + D x' + K x = 0 near rest, x = (q, theta), as matrices
StateSpace              the same as a first-order system, driven by motor torques
rigid_rotors            inertias (n,) of the rotors that move with their links, kg m^2 or kg

Control cycle:

MotorFeedforward        the flat map in the control cycle: compiled, in place, without allocation
MotorCommand            theta, theta', theta'' and tau_m of the motors, (m,) each
VARIANTS                how springs enter the feedforward: full, quasi_static or rigid
SpringSolver            joint torques, their rates and motor loads in the control cycle
motor_range             (m, 2) where motors can be, within limits of links and travel of springs
resting_second_outputs  stiffnesses or pretensions (v,) mid-way in what can be held without load
HOLDING                 share of the motors' torque limits for holding them

Building blocks for other compiled cycles:

actuator_rows           the actuators as tables of numbers for compiled code
actuator_tables         the columns of these tables
flat_map                the scalar functions behind all of these
spring_tables           the spring laws over scalars, and the tables that describe them
friction                friction torque of one motor, for compiled code
link_friction           friction torque of one link, for compiled code
friction_torque         friction torque of a law in numbers, for compiled code
directed_friction       the same with a direction of its own
friction_row            these numbers in a table
FRICTION_ROW            their count
springs_recursion       joint torques and motor loads of one state, for compiled code
advance_filters         deflections of damped springs, some time later, for compiled code
compiled_advance_filters  the same, compiled
moved_bristles          one of them after a way, for compiled code
add_slip                torques of slip elements, for compiled code
by_kind                 one compiled function from those of all kinds

For identification:

JointSprings            springs of a joint as columns and parameters
SpringColumns           columns of positions, and the coefficients that multiply them
Positions               link and motors of one joint
Identified              identified parts of one joint
described_parts         values of items of a list, such as slip elements, by list and item
"""

from . import actuator_tables, flat_map, spring_tables
from .actuator import Actuator, Identified, described_parts
from .actuator_cycle import (
    HOLDING,
    VARIANTS,
    MotorCommand,
    MotorFeedforward,
    SpringSolver,
    actuator_rows,
    resting_second_outputs,
)
from .actuator_description import described_kind, load_actuators
from .actuator_tables import friction, link_friction
from .actuators import Actuators
from .backlash import BacklashSpring
from .damped_springs import advance_filters, compiled_advance_filters
from .flat_map import springs_recursion
from .flatness import LimitMargin, MotorMotion, filtered_deflection, limit_margins, motor_motion
from .friction_law import (
    FRICTION_ROW,
    Friction,
    directed_friction,
    friction_row,
    friction_torque,
    moved_bristles,
    smooth_friction,
)
from .hysteresis import SlipElement, add_slip
from .kinds import KINDS, Antagonistic, Rigid, SeriesElastic, VariableStiffness, by_kind
from .kinematic_error import GearHarmonic
from .linear_arm import LinearArm, StateSpace, rigid_rotors
from .motor import Motor, StiffnessDrive
from .motor_travel import motor_range
from .sampled_spring import SampledSpring, SamplingErrors
from .spring_columns import JointSprings, Positions, SpringColumns
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
    # actuators of a robot
    "Actuators", "load_actuators", "described_kind", "Motor", "Rigid", "SeriesElastic",
    "VariableStiffness", "StiffnessDrive", "Antagonistic", "Actuator", "KINDS", "Friction",
    "SlipElement", "GearHarmonic", "smooth_friction",
    # spring laws
    "Spring", "LinearSpring", "CubicSpring", "PolynomialSpring", "TableSpring", "BacklashSpring",
    "SampledSpring", "SamplingErrors", "Beyond", "greatest_stiffness",
    # flat map for planning
    "motor_motion", "MotorMotion", "filtered_deflection", "limit_margins", "LimitMargin",
    # near rest
    "LinearArm", "StateSpace", "rigid_rotors",
    # control cycle
    "MotorFeedforward", "MotorCommand", "VARIANTS", "HOLDING", "SpringSolver", "motor_range",
    "resting_second_outputs",
    # building blocks for other compiled cycles
    "actuator_rows", "actuator_tables", "flat_map", "spring_tables", "friction",
    "link_friction", "friction_torque", "directed_friction", "moved_bristles", "friction_row",
    "FRICTION_ROW",
    "springs_recursion", "advance_filters", "compiled_advance_filters", "add_slip",
    "by_kind",
    # identification
    "JointSprings", "SpringColumns", "Positions", "Identified", "described_parts",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
