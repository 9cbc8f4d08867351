# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Memory layout of the recursions: one row of numbers per joint and one per body.

The constants below are column indices of these rows. The joint frame of joint i has the joint axis
as its z axis. With B_i its pose in the joint frame of the parent at q = 0, and the joint screw
Z_i = (0, 0, a, 0, 0, h),

    C_i = C_parent B_i exp(Z_i q_c),   c = COORDINATE of joint i

is the two-frame form of the kinematics ([M18k] section 2.1): a revolute joint has a = 1, h = 0, a
helical one the pitch h, a prismatic one a = 0, h = 1. All inertial data of a body refers to its
joint frame, which moves with the body.

Row of a joint, (JOINT_ROW,): constants of joint i and of the body that it moves
    PLACEMENT            B_i: rotation (9, row by row), position (3)
    ANGULAR, LINEAR      a, h
    MASS, COM, INERTIA   mass, centre of mass (3), inertia about it (xx xy xz yy yz zz)
    ROTOR                reflected rotor inertia
    COORDINATE           index of the coordinate q_c of the joint; coupled joints share one

Row of a body, (BODY_ROW,): results of the recursions; row 0 is the base, row i + 1 body i
    POSE                 C_i: rotation (9), POSITION (3)
    TWIST                V, V', V'', V''' of the joint frame
    SCREW                S, S', S'', S''' of the joint
    WRENCH               W, W', W'' transmitted by the joint

Twists and wrenches are in the representation of the recursion. Only the spatial recursion stores
joint screws; the others document what they store in these columns.
"""

PLACEMENT = 0
ANGULAR = 12
LINEAR = 13
MASS = 14
COM = 15
INERTIA = 18
ROTOR = 24
COORDINATE = 25
JOINT_ROW = 26

POSE = 0
POSITION = 9
TWIST = 12
SCREW = 36
WRENCH = 60
BODY_ROW = 78
