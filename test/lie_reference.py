# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""References to 50 digits for the tests of SO(3) and SE(3), and the angles of comparison."""

from math import factorial

import mpmath as mp
import numpy as np
from hypothesis import strategies as st

mp.mp.dps = 50
BITS = 200

SMALL = (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5)
LARGE = (1.0, 2.0, np.nextafter(3.0, 0.0), 3.0, np.pi - 1e-9, np.pi)
ANGLES = SMALL + LARGE  # the coefficients cross over at 3
BEYOND = (5.0, 7.0)


def vectors(longest: float) -> st.SearchStrategy:
    """Random vectors of lengths from 1e-12 to `longest`."""
    directions = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda d: np.linalg.norm(d) > 0.1)
    lengths = st.floats(-12, np.log10(longest)).map(lambda e: 10**e)
    return st.builds(lambda d, s: s * np.array(d) / np.linalg.norm(d), directions, lengths)


def error(actual, expected) -> float:
    """Largest difference, relative to the largest component."""
    difference = np.abs(np.array(actual, dtype=object) - expected).max()
    size = np.abs(expected).max()
    return float(difference / size if size else difference)


def exact(array):
    """Float64 numbers as mpmath numbers, without rounding."""
    return np.vectorize(mp.mpf, otypes=[object])(array)


def exact_hat3(omega):
    """The skew-symmetric matrix of a vector."""
    x, y, z = omega
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=object)


def exact_series(A, shift: int = 0):
    """sum_k A^k / (k + shift)! of a 50-digit matrix: exp for shift 0, dexp of ad for 1.

    With integers as multiples of 2^-BITS, which are ten times as fast as mpmath numbers.
    """
    A = np.vectorize(lambda x: int(mp.ldexp(x, BITS)), otypes=[object])(A)
    term = np.eye(len(A), dtype=int).astype(object) * (2**BITS // factorial(shift))
    total, k = term, shift
    while np.abs(term).max() > 2**20:
        k += 1
        term = (term @ A >> BITS) // k
        total = total + term
    return np.vectorize(lambda x: mp.ldexp(x, -BITS), otypes=[object])(total)


def exact_inverse(A):
    """The inverse of a 50-digit matrix."""
    return np.array((mp.matrix(A.tolist()) ** -1).tolist(), dtype=object).reshape(A.shape)


def exact_rotation(R):
    """The rotation nearest to a float64 matrix, to 50 digits (Newton's polar iteration)."""
    R = exact(R)
    for _ in range(4):
        R = (R + exact_inverse(R).T) / 2
    return R


def exact_rotation_log(R, near):
    """Textbook logarithm of an exact rotation, by sine and cosine.

    Within rounding of a half turn both signs of omega are valid; the one near `near` is taken.
    """
    skew = (R - R.T) / 2
    u = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
    sine = mp.sqrt(u @ u)
    angle = mp.atan2(sine, (np.trace(R) - 1) / 2)
    if u @ near < 0 and mp.pi - angle < 1e-15:
        angle -= 2 * mp.pi
    return u if sine == 0 else u / sine * angle
