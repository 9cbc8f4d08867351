# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pose errors of tools and their Jacobian with respect to the joint positions; compiled.

A tool at the pose C = (R, p) has the target C_t = (R_t, p_t). In inertial axes the error is

    omega = log(R_t R^T)          d = p_t - p

Since omega' = -dexp_{-omega}^-1 w for a tool with angular velocity w, the derivative is exact even
for large errors. A task selects components along its own axes. If it prescribes two rotations, the
error is the one to the nearest of all targets turned about the third axis; the derivative neglects
that this nearest target moves as well, an effect of the order of the error.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import Array, inlined
from ..lie.exponentials import dexp_inv_so3, quaternion, quaternion_log, stumpff
from ..lie.screws import (
    add,
    cross,
    dot,
    load_rotation,
    load_vector,
    matmul,
    muladd,
    rotate,
    rotate_back,
    scale,
    subtract,
    transpose,
)
from ..model.records import ANGULAR, LINEAR, POSE, POSITION
from ..recursions import coordinate


@inlined
def without_turn(w, x, u):
    """The quaternion (w, x), turned about the unit vector u until its part along u is zero."""
    along = dot(x, u)
    size = sqrt(w * w + along * along)
    if size < 1e-12:  # half a turn about an axis normal to u: all are equally near
        return w, x
    c, s = w / size, -along / size
    return w * c - s * along, muladd(w * s, u, muladd(c, x, scale(s, cross(u, x))))


@inlined
def tool_pose(bodies, b, tools, k):
    """Rotation and position of tool k, which is fixed to the joint frame of row b."""
    Rb = load_rotation(bodies, b, POSE)
    R = matmul(Rb, load_rotation(tools, k, 0))
    return R, add(load_vector(bodies, b, POSITION), rotate(Rb, load_vector(tools, k, 9)))


class ToolsOnArm(NamedTuple):
    """A robot and K tools on it, with m prescribed components in all."""

    parents: NDArray[np.int64]  # (n,) of the robot, see :mod:`.records`
    joints: Array  # (n, JOINT_ROW) of the robot
    carriers: NDArray[np.int64]  # (K,) row of the body that carries tool k
    chosen: NDArray[np.bool_]  # (K, 6) whether task k prescribes a rotation or translation
    tools: Array  # (K, 12) pose of the tool in the joint frame of its body
    weights: Array  # (m,) of the squared errors


class Targets(NamedTuple):
    """Target poses of the tools, and the axes along which their errors are measured."""

    poses: Array  # (K, 12) in the inertial frame
    axes: Array  # (K, 9) axes of the components, row by row


@inlined
def pose_errors(arm, goal, bodies, error, J):
    """Write the errors (m,) of the tools and their derivative (m, n) with respect to q; rad and m.

    `bodies` (n + 1, BODY_ROW) holds the poses at q; `arm` and `goal` are :class:`ToolsOnArm` and
    :class:`Targets`.
    """
    parents, joints, carriers, chosen = arm.parents, arm.joints, arm.carriers, arm.chosen
    first = 0
    for k in range(carriers.shape[0]):
        R, p = tool_pose(bodies, carriers[k], arm.tools, k)
        A = load_rotation(goal.axes, k, 0)
        w, x = quaternion(matmul(load_rotation(goal.poses, k, 0), transpose(R)))
        if chosen[k, 0] + chosen[k, 1] + chosen[k, 2] == 2:
            free = (1.0 - chosen[k, 0], 1.0 - chosen[k, 1], 1.0 - chosen[k, 2])
            w, x = without_turn(w, x, rotate_back(A, free))
        omega = quaternion_log(w, x)
        c_omega = stumpff(omega)
        angle = rotate(A, omega)
        way = rotate(A, subtract(load_vector(goal.poses, k, 9), p))
        r = first
        for c in range(6):
            if chosen[k, c]:
                error[r] = angle[c] if c < 3 else way[c - 3]
                for i in range(J.shape[1]):
                    J[r, i] = 0.0
                r += 1

        i = carriers[k] - 1
        while i >= 0:
            S = load_rotation(bodies, i + 1, POSE)
            z = (S[2], S[5], S[8])
            turn = scale(joints[i, ANGULAR], z)
            lever = subtract(p, load_vector(bodies, i + 1, POSITION))
            way = rotate(A, muladd(joints[i, LINEAR], z, cross(turn, lever)))
            angle = rotate(A, dexp_inv_so3(scale(-1.0, omega), turn, c_omega))
            r = first
            for c in range(6):
                if chosen[k, c]:
                    J[r, coordinate(joints, i)] -= angle[c] if c < 3 else way[c - 3]
                    r += 1
            i = parents[i]
        first = r
