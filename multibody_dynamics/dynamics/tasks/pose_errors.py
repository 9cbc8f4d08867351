"""How far tools are from where they should be, with the derivative by the joints; compiled.

A tool with pose C = (R, p) has the target C_t = (R_t, p_t). In inertial axes the error is

    omega = log(R_t R^T)          d = p_t - p

and, as omega' = -dexp_{-omega}^-1 w for a tool that turns with w, its derivative is exact also
where the error is large. A task takes some of its components along the axes that it names. Where
two rotations are prescribed, the error is that to the nearest of all targets that are turned about
the third axis; that this nearest one moves, too, is left out of the derivative, being of the order
of the error.
"""

from __future__ import annotations

from math import atan2, sqrt, tan

from ..core import inlined
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
)
from ..model.records import ANGULAR, LINEAR, POSE, POSITION

SMALL = 0.1  # rad: below it a coefficient is taken from its series


@inlined
def transpose(R):
    return (R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8])


@inlined
def quaternion(R):
    """(w, x) of a rotation with w >= 0; the largest component first, so that no digit is lost."""
    xx, yy, zz = R[0], R[4], R[8]
    a, b, c = R[7] - R[5], R[2] - R[6], R[3] - R[1]  # 4 w x
    if xx + yy + zz > 0:
        s = 2 * sqrt(1 + xx + yy + zz)
        h = (s / 4, a / s, b / s, c / s)
    elif xx >= yy and xx >= zz:
        s = 2 * sqrt(1 + xx - yy - zz)
        h = (a / s, s / 4, (R[1] + R[3]) / s, (R[2] + R[6]) / s)
    elif yy >= zz:
        s = 2 * sqrt(1 - xx + yy - zz)
        h = (b / s, (R[1] + R[3]) / s, s / 4, (R[5] + R[7]) / s)
    else:
        s = 2 * sqrt(1 - xx - yy + zz)
        h = (c / s, (R[2] + R[6]) / s, (R[5] + R[7]) / s, s / 4)
    sign = -1.0 if h[0] < 0 else 1.0
    return sign * h[0], (sign * h[1], sign * h[2], sign * h[3])


@inlined
def without_turn(w, x, u):
    """The quaternion (w, x), turned about the unit vector u until it has no part along u."""
    along = dot(x, u)
    size = sqrt(w * w + along * along)
    if size < 1e-12:  # half a turn about an axis normal to u: all turns are equally far
        return w, x
    c, s = w / size, -along / size
    return w * c - s * along, muladd(w * s, u, muladd(c, x, scale(s, cross(u, x))))


@inlined
def rotation_vector(w, x):
    """omega of the quaternion (w, x), and g = (1 - (y/2) cot(y/2)) / y^2, y = |omega|."""
    sine = sqrt(dot(x, x))
    y = 2 * atan2(sine, w)
    if y < SMALL:
        z = y * y
        g = (1 + z / 60 * (1 + z / 42 * (1 + z / 40))) / 12
        factor = 2.0 if sine == 0 else y / sine
    else:
        g = (1 - y / 2 / tan(y / 2)) / (y * y)
        factor = y / sine
    return scale(factor, x), g


@inlined
def dexp_inverse(omega, g, a):
    """dexp_omega^-1 a = a - omega x a / 2 + g omega x (omega x a)."""
    b = cross(omega, a)
    return add(a, muladd(-0.5, b, scale(g, cross(omega, b))))


@inlined
def tool_pose(bodies, b, tools, k):
    """Rotation and position of tool k, which is fixed to the joint frame in row b."""
    Rb = load_rotation(bodies, b, POSE)
    R = matmul(Rb, load_rotation(tools, k, 0))
    return R, add(load_vector(bodies, b, POSITION), rotate(Rb, load_vector(tools, k, 9)))


@inlined
def pose_errors(parents, joints, bodies, carriers, chosen, tools, targets, axes, error, J):
    """The errors of K tasks, m components in all, and their derivative by q.

    Parameters
    ----------
    parents, joints : of the robot, see :mod:`.records`.
    bodies : (n + 1, BODY_ROW) with the poses at q.
    carriers : (K,) int, the row of the body that carries tool k.
    chosen : (K, 6) bool, which components task k prescribes: three rotations, three translations.
    tools, targets : (K, 12) rotation row by row, position; of the tool in the joint frame of its
        body, of the target in the inertial frame.
    axes : (K, 9), row by row the axes that the components are along.
    error, J : (m,) and (m, n), written; rad and m.
    """
    first = 0
    for k in range(carriers.shape[0]):
        R, p = tool_pose(bodies, carriers[k], tools, k)
        A = load_rotation(axes, k, 0)
        w, x = quaternion(matmul(load_rotation(targets, k, 0), transpose(R)))
        if chosen[k, 0] + chosen[k, 1] + chosen[k, 2] == 2:
            free = (1.0 - chosen[k, 0], 1.0 - chosen[k, 1], 1.0 - chosen[k, 2])
            w, x = without_turn(w, x, rotate_back(A, free))
        omega, g = rotation_vector(w, x)
        angle = rotate(A, omega)
        way = rotate(A, subtract(load_vector(targets, k, 9), p))
        r = first
        for c in range(6):
            if chosen[k, c]:
                error[r] = angle[c] if c < 3 else way[c - 3]
                for i in range(parents.shape[0]):
                    J[r, i] = 0.0
                r += 1

        i = carriers[k] - 1
        while i >= 0:
            S = load_rotation(bodies, i + 1, POSE)
            z = (S[2], S[5], S[8])
            turn = scale(joints[i, ANGULAR], z)
            lever = subtract(p, load_vector(bodies, i + 1, POSITION))
            way = rotate(A, muladd(joints[i, LINEAR], z, cross(turn, lever)))
            angle = rotate(A, dexp_inverse(scale(-1.0, omega), g, turn))
            r = first
            for c in range(6):
                if chosen[k, c]:
                    J[r, i] = -angle[c] if c < 3 else -way[c - 3]
                    r += 1
            i = parents[i]
        first = r
