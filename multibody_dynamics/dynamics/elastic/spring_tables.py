"""Spring laws as flat rows of numbers, for the control cycle: every law is a piecewise polynomial.

``LAW`` row: one spring
    FIRST, LAST                the rows of its pieces, LAST included
    DEGREE                     of the polynomials; 1: a straight line
    LOWER, UPPER               its travel, beyond which it goes on along its tangents
    LEAST, GREATEST            the torques there

``PIECE`` row: s = c_0 + c_1 x + ... with x = phi - START, from START to that of the next piece
    START, POTENTIAL           and the work of the spring up to there
    COEFFICIENT                c_0, c_1 ...

:mod:`springs` has the same laws for arrays, checked. The functions here are scalar and compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from scipy.interpolate import PPoly

from ..core import Array, InputError, inlined
from .springs import CubicSpring, LinearSpring, PolynomialSpring, Spring, TableSpring

FIRST = 0
LAST = 1
DEGREE = 2
LOWER = 3
UPPER = 4
LEAST = 5
GREATEST = 6
LAW_ROW = 7

START = 0
POTENTIAL = 1
COEFFICIENT = 2

_EPS = float(np.finfo(np.float64).eps)


def spring_tables(springs: Sequence[Spring]) -> tuple[Array, Array]:
    """The rows of the laws (len(springs), LAW_ROW) and those of all their pieces.

    Raises InputError for a law of another class than those of :mod:`springs`.
    """
    polynomials = [_polynomials(spring) for spring in springs]
    degree = max((coefficients.shape[1] - 1 for _, coefficients in polynomials), default=0)
    laws = np.zeros((len(springs), LAW_ROW))
    pieces = np.zeros((sum(len(starts) for starts, _ in polynomials), COEFFICIENT + degree + 1))
    first = 0
    for law, spring, (starts, coefficients) in zip(laws, springs, polynomials, strict=True):
        last, width = first + len(starts) - 1, coefficients.shape[1]
        law[:] = (first, last, width - 1, *spring.travel, *spring.torque_range)
        rows = pieces[first : last + 1]
        rows[:, START] = starts
        rows[:, POTENTIAL] = spring.potential(starts)
        rows[:, COEFFICIENT : COEFFICIENT + width] = coefficients
        first = last + 1
    return laws, pieces


def _polynomials(spring: Spring) -> tuple[Array, Array]:
    """Starts (p,) of the pieces and their coefficients (p, degree + 1), lowest first."""
    if isinstance(spring, LinearSpring):
        return np.zeros(1), np.array([[0.0, spring.K]])
    if isinstance(spring, CubicSpring):
        return np.zeros(1), np.array([[0.0, spring.K, 0.0, spring.K3]])
    if isinstance(spring, PolynomialSpring):
        return np.zeros(1), np.array([[0.0, *spring.coefficients]])
    if isinstance(spring, TableSpring):
        law = PPoly.from_spline(spring.spline)
        real = np.diff(law.x) > 0.0  # the knots at both ends are repeated
        return law.x[:-1][real], law.c.T[real][:, ::-1]
    raise InputError(f"{type(spring).__name__}: no piecewise polynomial is known for this law")


@inlined
def _piece(laws, pieces, k, phi):
    low, high = int(laws[k, FIRST]), int(laws[k, LAST])
    while low < high:
        middle = (low + high + 1) // 2
        if phi >= pieces[middle, START]:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def law_on_travel(laws, pieces, k, phi):
    """s, s', s'', s''' of spring k at phi, or at the nearer end of its travel."""
    phi = min(max(phi, laws[k, LOWER]), laws[k, UPPER])
    piece = _piece(laws, pieces, k, phi)
    x = phi - pieces[piece, START]
    degree = int(laws[k, DEGREE])
    s, s1, s2, s3 = pieces[piece, COEFFICIENT + degree], 0.0, 0.0, 0.0
    for j in range(degree - 1, -1, -1):
        s3 = s3 * x + s2
        s2 = s2 * x + s1
        s1 = s1 * x + s
        s = s * x + pieces[piece, COEFFICIENT + j]
    return s, s1, 2.0 * s2, 6.0 * s3


@inlined
def spring_law(laws, pieces, k, phi):
    """s, s', s'', s''' of spring k at phi; along its tangents beyond the travel."""
    if laws[k, DEGREE] == 1.0:
        slope = pieces[int(laws[k, FIRST]), COEFFICIENT + 1]
        return slope * phi, slope, 0.0, 0.0
    s, s1, s2, s3 = law_on_travel(laws, pieces, k, phi)
    if phi < laws[k, LOWER]:
        return s + s1 * (phi - laws[k, LOWER]), s1, 0.0, 0.0
    if phi > laws[k, UPPER]:
        return s + s1 * (phi - laws[k, UPPER]), s1, 0.0, 0.0
    return s, s1, s2, s3


@inlined
def spring_energy(laws, pieces, k, phi):
    """The work in J that bends spring k to phi, up to the constant of `Spring.energy`."""
    inside = min(max(phi, laws[k, LOWER]), laws[k, UPPER])
    piece = _piece(laws, pieces, k, inside)
    x = inside - pieces[piece, START]
    degree = int(laws[k, DEGREE])
    work = 0.0
    for j in range(degree, -1, -1):
        work = (work + pieces[piece, COEFFICIENT + j] / (j + 1)) * x
    s, s1, _, _ = law_on_travel(laws, pieces, k, inside)
    excess = phi - inside
    return pieces[piece, POTENTIAL] + work + (s + 0.5 * s1 * excess) * excess


@inlined
def spring_deflection(laws, pieces, k, torque, guess):
    """phi with s(phi) = torque of spring k: Newton's method from the guess, or else bisection."""
    first = int(laws[k, FIRST])
    if laws[k, DEGREE] == 1.0:
        return torque / pieces[first, COEFFICIENT + 1]
    lower, upper = laws[k, LOWER], laws[k, UPPER]
    if torque < laws[k, LEAST]:
        return lower + (torque - laws[k, LEAST]) / law_on_travel(laws, pieces, k, lower)[1]
    if torque > laws[k, GREATEST]:
        return upper + (torque - laws[k, GREATEST]) / law_on_travel(laws, pieces, k, upper)[1]
    if not isfinite(lower):  # only of hardening laws, which are beyond their tangent at zero
        lower = min(torque / pieces[first, COEFFICIENT + 1], 0.0)
    if not isfinite(upper):
        upper = max(torque / pieces[first, COEFFICIENT + 1], 0.0)
    resolution = 2.0 * _EPS * max(abs(lower), abs(upper))
    phi = guess if lower <= guess <= upper else 0.5 * (lower + upper)
    for _ in range(200):
        s, slope, _, _ = law_on_travel(laws, pieces, k, phi)
        if s >= torque:
            upper = phi
        if s <= torque:
            lower = phi
        better = phi - (s - torque) / slope
        if not lower <= better <= upper:
            better = 0.5 * (lower + upper)
        step = abs(better - phi)
        phi = better
        if step <= resolution:
            break
    return phi


@inlined
def spring_deflection_motion(laws, pieces, k, torque, rate, acceleration, guess):
    """phi, phi', phi'' of spring k that give Q, Q', Q''."""
    phi = spring_deflection(laws, pieces, k, torque, guess)
    _, s1, s2, _ = spring_law(laws, pieces, k, phi)
    phid = rate / s1
    return phi, phid, (acceleration - s2 * phid * phid) / s1
