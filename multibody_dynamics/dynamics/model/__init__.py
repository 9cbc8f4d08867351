"""The robot: a tree of bodies and joint screws, from URDF, DH tables or the papers' data.

records            The memory that the recursions work on
inertia            Spatial inertia of a rigid body
joints             Joint screws of the usual joints
spatial_inertia    M^b (6, 6) about the origin of the body frame, [M21] (12).
cylindrical        (2, 6): translation along the axis, rotation about it.
floating           (6, 6): translations x, y, z, then yaw, pitch and roll about `point`
helical            Rotation by q rad, advancing `pitch` m per radian along the axis
planar             (3, 6): translations x and y in the plane
prismatic          Translation by q m along `axis` (3,): (0, e).
revolute           Rotation by q rad about the line through `point` (3,) along `axis` (3,)
spherical          (3, 6): yaw, pitch and roll, R = Rot_z(q_1) Rot_y(q_2) Rot_x(q_3)
universal          (2, 6): rotation about `axis1`
Frame              A frame that moves with a body
JointLimits        What the joints allow, each (n,), infinite where nothing is stated.
MultibodyModel     A tree of n bodies; body i is moved by joint i
model_from_screws  A robot as the papers give it
model_state        q, q', ... of a robot as one batch, see as_state
check_model        InputError for what is no robot.
STANDARD_GRAVITY   ?? STANDARD_GRAVITY = (0.0, 0.0, -9.81)
check_parent       ModelError unless joint i stands on the base
screw_type         The kind of joint that a screw (6,) describes
load_urdf          The robot of a URDF file, joints depth-first from the root
parse_urdf         The robot of a URDF text, a `robot_description`; see load_urdf.
DHRow              One line of the table: alpha and theta in rad, a and d in m
LinkInertia        Mass in kg, centre of mass (3,) in m, inertia about it (3, 3) in kg m^2
model_from_dh      The serial robot of a Denavit-Hartenberg table
"""

from . import inertia, joints, records
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
    model_from_screws,
    model_state,
    screw_type,
)
from .urdf import load_urdf, parse_urdf

__all__ = [
    "records", "inertia", "joints", "spatial_inertia", "cylindrical", "floating", "helical",
    "planar", "prismatic", "revolute", "spherical", "universal", "Frame", "JointLimits",
    "MultibodyModel", "model_from_screws", "model_state", "check_model", "STANDARD_GRAVITY",
    "check_parent", "screw_type", "load_urdf", "parse_urdf", "DHRow", "LinkInertia",
    "model_from_dh",
]  # fmt: skip
