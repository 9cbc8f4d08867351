# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The Levenberg-Marquardt method for sums of squares and of their logarithms, with bounds.

The method is that of J. J. More, "The Levenberg-Marquardt algorithm", in Numerical Analysis,
Springer LNM 630, 1978, with scaled damping. It works on normal matrices instead of residuals, which
are never formed. Parameters at a bound are held there while the gradient points outwards.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...core import Array, DynamicsError

STEPS = 200  # maximum number of iterations
FIRST_DAMPING = 1e-4
SHORTER = 0.7  # factor on a step that ends where the function is infinite
INSIDE = 0.5  # further factor on such a step
CONVERGED = 1e-4  # decrease of the logarithm of the likelihood that ends the search


class Quadratic(NamedTuple):
    """A function near a point: value, gradient (f,), and two approximations (f, f) of its second
    derivative. convex is positive definite; exact may not be, but is closer near the minimum."""

    value: float
    gradient: Array
    convex: Array
    exact: Array


def minimum(
    function: Callable[[Array], Quadratic], begin: Array, lower: Array, upper: Array
) -> Array:
    """The minimum (f,) between bounds (f,), from `begin` (f,).

    Raises DynamicsError if a diagonal entry of the convex approximation is not positive.
    """
    x, damping = begin.copy(), FIRST_DAMPING
    now = function(x)
    for _ in range(STEPS):
        gradient = now.gradient
        held = ((x <= lower) & (gradient > 0.0)) | ((x >= upper) & (gradient < 0.0))
        inner = np.flatnonzero(~held)
        moved = np.clip(x + _step(now, inner, damping), lower, upper) - x
        new = function(x + moved)
        if not np.isfinite(new.value):  # beyond the edge of what is possible
            while not np.isfinite(new.value):
                moved *= SHORTER
                new = function(x + moved)
            moved *= INSIDE  # very close to the edge, all further steps would be tiny
            new = function(x + moved)
        expected = -float(gradient @ moved + 0.5 * moved @ now.exact @ moved)
        if new.value <= now.value:
            x, now = x + moved, new
            damping = max(damping / 10.0, 1e-12)
            if abs(expected) < CONVERGED:
                break
        elif damping > 1e10:
            break
        else:
            damping = max(10.0 * damping, 1e-6)
    return x


def _step(now: Quadratic, inner: NDArray[np.intp], damping: float) -> Array:
    """The damped Newton step (f,) of the inner parameters."""
    diagonal = np.diag(now.convex)[inner]
    if not (diagonal > 0.0).all():
        raise DynamicsError("the sums of squares are not positive: too much noise was subtracted")
    size = 1.0 / np.sqrt(diagonal)
    step = np.zeros(len(now.gradient))
    for H in (now.exact, now.convex):
        scaled = H[np.ix_(inner, inner)] * np.outer(size, size)
        scaled[np.diag_indices(len(inner))] += damping
        try:
            factor = cho_factor(scaled)
        except LinAlgError:
            continue
        step[inner] = -size * cho_solve(factor, size * now.gradient[inner])
        return step
    scaled[np.diag_indices(len(inner))] += 1.0
    step[inner] = -size * np.linalg.solve(scaled, size * now.gradient[inner])
    return step
