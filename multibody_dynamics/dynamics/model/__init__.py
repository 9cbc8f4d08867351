# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot: a tree of rigid bodies and joint screws, from URDF, joint screws or a DH table.

The robot:

load_urdf          robot from a URDF file
parse_urdf         robot from URDF text, such as a `robot_description`
urdf_document      the elements of a URDF, checked for being one
model_from_screws  robot from joint screws, reference poses and inertias, as in the papers
model_from_dh      serial robot from a Denavit-Hartenberg table
DHRow              one row of a DH table
LinkInertia        mass, centre of mass and inertia of a link in its DH frame
MultibodyModel     the robot: an immutable tree of n bodies, body i moved by joint i
Frame              a frame fixed to a body: index of the body, pose (4, 4)
Coupling           a dependent joint: factors of other joints, and an offset
Transmission       motors that move several joints together: a matrix, and conversions
load_couplings     coupled joints from a YAML file, such as that of the springs
JointLimits        position, velocity, effort, acceleration and jerk limits, each (n,)
STANDARD_GRAVITY   (0, 0, -9.81) m/s^2

Joint screws and inertia:

revolute           screw (6,) of a rotation about an axis
prismatic          screw (6,) of a translation along an axis
helical            screw (6,) of a rotation that advances along its axis
cylindrical        screws (2, 6) of a translation along an axis and a rotation about it
universal          screws (2, 6) of two rotations about intersecting axes
spherical          screws (3, 6) of yaw, pitch and roll about a point
planar             screws (3, 6) of two translations in a plane and the rotation about its normal
floating           screws (6, 6) of three translations, then yaw, pitch and roll
spatial_inertia    spatial inertia (6, 6) from mass, centre of mass and inertia about it

Modules:

joints             the screws above, names of their coordinates, and vector helpers
inertia            spatial inertia: composition, decomposition, change of frame, checks
records            layout of the rows of numbers that the recursions use

Helpers for functions that take a model:

screw_type         "revolute", "prismatic" or "helical", determined from a screw (6,)
model_state        q, q', ... of a robot as one batch of states
finite_range       position limits, and a usual range for joints without
check_model        InputError unless the argument is a MultibodyModel
check_parent       ModelError unless a parent is the base or an earlier body
motor_columns      how values by joint become values by motor of transmissions
MotorColumns       the result of motor_columns: names, and a conversion
joint_chains       the bodies of each joint as it is built, also where it has several coordinates
"""

from . import inertia, joints, records
from .couplings import (
    Coupling,
    MotorColumns,
    Transmission,
    joint_chains,
    load_couplings,
    motor_columns,
)
from .denavit_hartenberg import DHRow, LinkInertia, model_from_dh
from .inertia import spatial_inertia
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
from .multibody_model import (
    STANDARD_GRAVITY,
    Frame,
    JointLimits,
    MultibodyModel,
    check_model,
    check_parent,
    finite_range,
    model_from_screws,
    model_state,
    screw_type,
)
from .urdf import load_urdf, parse_urdf, urdf_document

__all__ = [
    # the robot
    "load_urdf", "parse_urdf", "urdf_document", "model_from_screws", "model_from_dh", "DHRow",
    "LinkInertia", "MultibodyModel", "Frame", "Coupling", "Transmission", "load_couplings",
    "JointLimits", "STANDARD_GRAVITY",
    # joint screws and inertia
    "revolute", "prismatic", "helical", "cylindrical", "universal", "spherical", "planar",
    "floating", "spatial_inertia",
    # modules
    "joints", "inertia", "records",
    # helpers for functions that take a model
    "screw_type", "model_state", "finite_range", "check_model", "check_parent", "motor_columns",
    "MotorColumns", "joint_chains",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
