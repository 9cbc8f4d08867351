"""exp and dexp^-1 of SO(3) and SE(3) over tuples of scalars, for compiled code.

The same formulas as in `so3` and `se3`, accurate to rounding at any angle: the functions
c_k(x) = sum_j (-x^2)^j / (2j + k)! come from their series and the recurrence x^2 c_{k+2} = 1/k! -
c_k downwards where x < 3, and upwards from there.
"""

from __future__ import annotations

from math import cos, factorial, sin

from ..core import inlined
from .screws import add, add3, cross, dot, muladd, scale

_CROSSOVER = 3.0  # rad
_FIFTH = tuple((-1) ** j / factorial(2 * j + 5) for j in range(12))
_SIXTH = tuple((-1) ** j / factorial(2 * j + 6) for j in range(12))


@inlined
def stumpff(omega):
    """c_0 ... c_6 at x = |omega|."""
    z = dot(omega, omega)
    if z < _CROSSOVER * _CROSSOVER:
        c5, c6 = _FIFTH[11], _SIXTH[11]
        for j in range(10, -1, -1):
            c5 = _FIFTH[j] + z * c5
            c6 = _SIXTH[j] + z * c6
        c4, c3 = 1.0 / 24.0 - z * c6, 1.0 / 6.0 - z * c5
        c2, c1 = 0.5 - z * c4, 1.0 - z * c3
        return (1.0 - z * c2, c1, c2, c3, c4, c5, c6)
    x = z**0.5
    c0, c1 = cos(x), sin(x) / x
    half = sin(0.5 * x) / x
    c2 = 2.0 * half * half
    c3, c4 = (1.0 - c1) / z, (0.5 - c2) / z
    return (c0, c1, c2, c3, c4, (1.0 / 6.0 - c3) / z, (1.0 / 24.0 - c4) / z)


@inlined
def rotation(omega, c):
    """exp(omega), row by row, with c = stumpff(omega); [MT13] (9), corrected."""
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
    """dexp_omega v, the translation of exp(omega, v); [MT13] (8)."""
    w = cross(omega, v)
    return add3(v, scale(c[2], w), scale(c[3], cross(omega, w)))


@inlined
def dexp_inv_so3(omega, y, c):
    """dexp_omega^-1 y with c = stumpff(omega); [MT13] (11)."""
    w = cross(omega, y)
    g = (c[3] - 2.0 * c[4]) / (2.0 * c[2])
    return add3(y, scale(-0.5, w), scale(g, cross(omega, w)))


@inlined
def dexp_inv_se3(X, Y, c):
    """dexp_X^-1 Y with c = stumpff(omega of X); [MT13] (10), without its loss of digits."""
    omega, v = X
    g = (c[3] - 2.0 * c[4]) / (2.0 * c[2])
    dg = (c[5] - 4.0 * c[6]) / (2.0 * c[2])
    w = cross(omega, Y[0])
    ww = cross(omega, w)
    vw = cross(v, Y[0])
    linear = muladd(-0.5, vw, dexp_inv_so3(omega, Y[1], c))
    linear = muladd(g, add(cross(omega, vw), cross(v, w)), linear)
    linear = muladd(dot(omega, v) * dg, ww, linear)
    return (add3(Y[0], scale(-0.5, w), scale(g, ww)), linear)
