# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A spring between a tool and a target pose, seen from the joints; compiled.

With the tool at the pose (R, p), its target (R_d, p_d), and in inertial axes

    phi = log(R R_d^T),   d = p - p_d,   x = (phi, d),   dx = J_x dq,

the potential x^T K x / 2 pulls the joints with -J_x^T K x. J_x contains dexp_phi^-1: the torque is
the exact gradient for rotations up to half a turn. J_x^T K J_x is the joint stiffness, except for
a term proportional to x, which is due to the change of J_x.
"""

from ...core import compiled
from ...lie.exponentials import dexp_inv_so3, quaternion, quaternion_log, stumpff
from ...lie.screws import (
    add,
    cross,
    load_rotation,
    load_screw,
    load_vector,
    matmul,
    rotate,
    subtract,
    transpose,
)
from ...model.records import POSE, POSITION, SCREW


def cartesian_spring_recursion(
    parents, bodies, carrier, frames, stiffness, x, J, tool, torque, matrix
):
    """Overwrite x (6,), J (6, n), the pose `tool` (12,), -J^T K x (n,) and J^T K J (n, n).

    bodies : (n + 1, BODY_ROW), of the spatial recursion. carrier : row of the body with the tool.
    frames : (2, 12) rotation (row by row) and position: of the tool in the joint frame of its
        body, and of the target. stiffness : (6,), rotational first.
    """
    n = parents.shape[0]
    Rb = load_rotation(bodies, carrier, POSE)
    R = matmul(Rb, load_rotation(frames, 0, 0))
    p = add(load_vector(bodies, carrier, POSITION), rotate(Rb, load_vector(frames, 0, 9)))
    w, u = quaternion(matmul(R, transpose(load_rotation(frames, 1, 0))))
    phi = quaternion_log(w, u)
    c = stumpff(phi)
    d = subtract(p, load_vector(frames, 1, 9))
    for k in range(9):
        tool[k] = R[k]
    for k in range(3):
        tool[9 + k] = p[k]
        x[k] = phi[k]
        x[3 + k] = d[k]
        for i in range(n):
            J[k, i] = 0.0
            J[3 + k, i] = 0.0
    i = carrier - 1
    while i >= 0:
        angular, linear = load_screw(bodies, i + 1, SCREW)
        turn = dexp_inv_so3(phi, angular, c)
        way = add(linear, cross(angular, p))
        for k in range(3):
            J[k, i] = turn[k]
            J[3 + k, i] = way[k]
        i = parents[i]
    for i in range(n):
        torque[i] = 0.0
        for k in range(6):
            torque[i] -= J[k, i] * stiffness[k] * x[k]
        for j in range(i + 1):
            total = 0.0
            for k in range(6):
                total += J[k, i] * stiffness[k] * J[k, j]
            matrix[i, j] = total
            matrix[j, i] = total


cartesian_spring = compiled(cartesian_spring_recursion)
