# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""exp, log and dexp^-1 of SO(3) and SE(3) over tuples of scalars, for compiled code.

This is the single source of the scalar coefficients: :mod:`.so3` and :mod:`.se3` evaluate the same
functions over arrays. Each coefficient is accurate to rounding at any angle. The functions

    c_k(x) = sum_j (-x^2)^j / (2j + k)!        c_0 = cos x              c_1 = sin x / x
                                               c_2 = (1 - cos x) / x^2  c_3 = (x - sin x) / x^3

satisfy x^2 c_{k+2} = 1/k! - c_k and c_k' = x (k c_{k+2} - c_{k+1}). Run upwards, the recurrence
loses digits where x is small; run downwards, it loses none. Below `CROSSOVER` it therefore starts
from the series of c_5 and c_6 and runs downwards; above, it starts from the closed forms of c_0,
c_1 and c_2 and runs upwards.

A vector is (x, y, z), a screw (omega, v), and a rotation nine entries, row by row.

[MT13] Mueller and Terze 2013. Its (9) prints (1 - cos x) / x where (1 - cos x) / x^2 is correct.
"""

from math import factorial

import numpy as np

from ..core import inlined
from .screws import add, add3, cross, dot, muladd, scale

CROSSOVER = 3.0  # rad: the closed forms lose digits below it, the series grow long above it
_FIFTH = tuple((-1) ** j / factorial(2 * j + 5) for j in range(12))  # the next is below 1e-19
_SIXTH = tuple((-1) ** j / factorial(2 * j + 6) for j in range(12))


@inlined
def stumpff(omega):
    """The coefficients c_0 ... c_6 at x = |omega|."""
    z = dot(omega, omega)
    if z < CROSSOVER * CROSSOVER:
        return stumpff_series(z)
    return stumpff_closed(np.sqrt(z))


@inlined
def stumpff_series(z):
    """c_0 ... c_6 at z = x^2, a scalar or an array, for x up to `CROSSOVER`."""
    c5, c6 = _FIFTH[11], _SIXTH[11]
    for j in range(10, -1, -1):
        c5 = _FIFTH[j] + z * c5
        c6 = _SIXTH[j] + z * c6
    c4, c3 = 1.0 / 24.0 - z * c6, 1.0 / 6.0 - z * c5
    c2, c1 = 0.5 - z * c4, 1.0 - z * c3
    return (1.0 - z * c2, c1, c2, c3, c4, c5, c6)


@inlined
def stumpff_closed(x):
    """c_0 ... c_6 at x, a scalar or an array, from `CROSSOVER` upwards."""
    z = x * x
    c0, c1 = np.cos(x), np.sin(x) / x
    half = np.sin(0.5 * x) / x
    c2 = 2.0 * half * half
    c3, c4 = (1.0 - c1) / z, (0.5 - c2) / z
    return (c0, c1, c2, c3, c4, (1.0 / 6.0 - c3) / z, (1.0 / 24.0 - c4) / z)


@inlined
def cotangent(c):
    """g = (1 - (x/2) cot(x/2)) / x^2 and g'/x from the coefficients c of :func:`stumpff`.

    Neither quotient loses digits near zero, where g = 1/12 + x^2/720 + ... (Bernoulli numbers).
    """
    return (c[3] - 2 * c[4]) / (2 * c[2]), (c[5] - 4 * c[6]) / (2 * c[2])


@inlined
def rotation(omega, c):
    """exp(omega), with c = stumpff(omega); [MT13] (9), corrected."""
    x, y, z = omega
    sx, sy, sz = scale(c[1], omega)
    xy, xz, yz = c[2] * x * y, c[2] * x * z, c[2] * y * z
    xx, yy, zz = c[2] * x * x, c[2] * y * y, c[2] * z * z
    return (
        1.0 - yy - zz, xy - sz, xz + sy,
        xy + sz, 1.0 - xx - zz, yz - sx,
        xz - sy, yz + sx, 1.0 - xx - yy,
    )  # fmt: skip


@inlined
def translation(omega, v, c):
    """dexp_omega v, the translation of exp(omega, v), with c = stumpff(omega); [MT13] (8)."""
    w = cross(omega, v)
    return add3(v, scale(c[2], w), scale(c[3], cross(omega, w)))


@inlined
def exp_se3(X):
    """exp(X) of the screw X = (omega, v), as a rotation and a translation."""
    omega, v = X
    c = stumpff(omega)
    return rotation(omega, c), translation(omega, v, c)


@inlined
def dexp_inv_so3(omega, y, c):
    """dexp_omega^-1 y with c = stumpff(omega); [MT13] (11)."""
    w = cross(omega, y)
    return add3(y, scale(-0.5, w), scale(cotangent(c)[0], cross(omega, w)))


@inlined
def dexp_inv_se3(X, Y, c):
    """dexp_X^-1 Y with c = stumpff(omega of X); [MT13] (10), without its loss of digits."""
    omega, v = X
    g, dg = cotangent(c)
    w = cross(omega, Y[0])
    ww = cross(omega, w)
    vw = cross(v, Y[0])
    linear = muladd(-0.5, vw, dexp_inv_so3(omega, Y[1], c))
    linear = muladd(g, add(cross(omega, vw), cross(v, w)), linear)
    linear = muladd(dot(omega, v) * dg, ww, linear)
    return (add3(Y[0], scale(-0.5, w), scale(g, ww)), linear)


@inlined
def quaternion_products(R):
    """4 h h^T, column by column, of the unit quaternion h = (cos(x/2), sin(x/2) omega/x) of R.

    Each column is parallel to h. The one with the largest diagonal entry, at least 1, loses no
    digits.
    """
    xx, yy, zz = R[0], R[4], R[8]
    a, b, c = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    xy, xz, yz = R[1] + R[3], R[2] + R[6], R[5] + R[7]
    return (
        (1 + (xx + yy + zz), a, b, c),
        (a, 1 + (xx - yy - zz), xy, xz),
        (b, xy, 1 + (yy - xx - zz), yz),
        (c, xz, yz, 1 + (zz - xx - yy)),
    )


@inlined
def quaternion(R):
    """The unit quaternion of a rotation, as (w, x) with w >= 0."""
    H = quaternion_products(R)
    k = 0
    for i in range(1, 4):
        if H[i][i] > H[k][k]:
            k = i
    h = H[k]
    s = 0.5 / np.sqrt(h[k])
    if h[0] < 0:
        s = -s
    return s * h[0], (s * h[1], s * h[2], s * h[3])


@inlined
def quaternion_log(w, x):
    """The rotation vector of the unit quaternion (w, x) with w >= 0; its length is at most pi."""
    sine = np.sqrt(dot(x, x))
    return scale(2.0 if sine == 0 else 2.0 * np.arctan2(sine, w) / sine, x)
