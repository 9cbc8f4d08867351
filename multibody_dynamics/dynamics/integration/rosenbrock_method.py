# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A Rosenbrock method of order 4 for stiff equations in a vector space, A-stable.

Shampine's coefficients (ACM TOMS 8, 1982) for x' = F(t, x). A step takes four stages, three
evaluations of F, one Jacobian and one factorisation, and does not iterate. In the limit of infinite
stiffness it multiplies the error by 1/3.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from ..core import Array, DynamicsError, as_array
from .munthe_kaas_method import output_times

GAMMA = 1 / 2
A = ((), (2,), (48 / 25, 6 / 25), (48 / 25, 6 / 25))  # the last two stages share F
C = ((), (-8,), (372 / 25, 12 / 5), (-112 / 125, -54 / 125, -2 / 5))
B = (19 / 9, 1 / 2, 25 / 108, 125 / 108)
TIMES = (0, 1, 3 / 5, 3 / 5)
TIME_SLOPES = (1 / 2, -3 / 2, 121 / 50, 29 / 250)


def rosenbrock(
    field: Callable[[float, Array], Any],
    jacobian: Callable[[float, Array], tuple[Any, Any]],
    start: Any,
    t_end: float,
    step: float,
    *,
    progress: Callable[[float], None] | None = None,
) -> tuple[Array, Array]:
    """Integrate x' = F(t, x) from t = 0 to `t_end` in steps of `step`, s.

    field : (t, x) -> F (n,).
    jacobian : (t, x) -> dF/dx (n, n), dF/dt (n,); the method has order 4 only if both are exact.
    start : (n,) x at t = 0.
    progress : called with the fraction done, from 0 to 1.

    Returns the times (k,) and states (k, n). Raises InputError as :func:`.output_times` does,
    DynamicsError for a solution that diverges.
    """
    times = output_times(t_end, step)
    x = np.array(as_array("start", start, (np.size(start),)))
    states = [x]
    for t, t_next in itertools.pairwise(times):
        h = t_next - t
        slope = np.asarray(field(t, x), dtype=np.float64)
        J, F_t = (np.asarray(part, dtype=np.float64) for part in jacobian(t, x))
        factors = lu_factor(np.eye(x.size) / (GAMMA * h) - J, check_finite=False)
        g: list[Array] = []
        for j in range(4):
            if 0 < j < 3:
                at = x + sum(a * part for a, part in zip(A[j], g, strict=True))
                slope = np.asarray(field(t + TIMES[j] * h, at), dtype=np.float64)
            past = sum((c / h * part for c, part in zip(C[j], g, strict=True)), np.zeros_like(x))
            with np.errstate(invalid="ignore"):  # checked below
                right = slope + h * TIME_SLOPES[j] * F_t + past
            g.append(lu_solve(factors, right, check_finite=False))
        x = x + sum(b * part for b, part in zip(B, g, strict=True))
        if not np.isfinite(x).all():
            raise DynamicsError(f"the solution is no longer finite after t = {t:g} s")
        states.append(x)
        if progress is not None:
            progress(t_next / times[-1])
    return times, np.stack(states)
