# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions that obey the constraints: positions by Newton's method, derivatives by projection.

Each step is the smallest one in the kinetic metric,

    dx = -M^-1 A^T (A M^-1 A^T)^+ r,   the minimum of dx . M dx / 2 with A dx + r = 0,

which depends neither on units nor on the form of the constraint equations, [K12] (67).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import STATE_ROWS, Array, DynamicsError, InputError, as_state, times
from ..rigid import mass_matrix
from .constraints import bias, constraint_terms, state_number
from .loops import ConstrainedModel

ITERATIONS = 100
LONGEST_STEP = 0.5  # rad or m, for the largest component
POLISHED = 3  # steps after the tolerance is met, down to rounding: convergence is quadratic


def assemble(
    system: ConstrainedModel, q: Any, *, fixed: Sequence[str] = (), tolerance: float = 1e-10
) -> Array:
    """Close the loops: a configuration (..., n) with f = 0 near q (..., n), by Newton's method.

    The joints named in `fixed` keep their values. `tolerance` is the largest accepted |f|, in rad
    and m; the iteration continues down to rounding error.

    Raises DynamicsError, naming the violated row and its error, if no configuration is found, for
    instance because the links are too short, too many joints are fixed, or q is too far away.
    """
    return consistent_motion(system, q, fixed=fixed, tolerance=tolerance)[0]


def consistent_motion(
    system: ConstrainedModel, q: Any, qd: Any | None = None, qdd: Any | None = None,
    qddd: Any | None = None, qdddd: Any | None = None, *, fixed: Sequence[str] = (),
    tolerance: float = 1e-10,
) -> tuple[Array, ...]:  # fmt: skip
    """The motion nearest to q, q', ... (..., n) that obeys the constraints.

    It has as many rows as are given, and satisfies f(q) = 0, A q' = 0, A q'' + A' q' = 0, and the
    derivatives up to q''''. Use it for initial states, to remove the drift of a simulation, and to
    complete prescribed motions: with as many `fixed` joints as the mechanism has degrees of
    freedom, all other joints follow from them. `tolerance` is that of :func:`assemble`.

    Raises the DynamicsError of :func:`assemble`, also if the fixed joints permit no motion.
    """
    states, shape, given = as_state(system.tree.joint_names, q, qd, qdd, qddd, qdddd)
    if given == 0:
        raise InputError("consistent_motion requires q")
    held = system.indices(fixed, "fixed")
    free = np.setdiff1d(np.arange(system.n), held)
    rows = [states[:, k].copy() for k in range(given)]
    rows[0] = _newton(system, rows[0], free, tolerance)
    for k in range(1, given):
        A = constraint_terms(system, *rows[:k]).matrices
        h = bias(A, rows, k)
        for _ in range(2):  # the second pass removes the rounding error of the first
            left = times(A[0], rows[k]) + h
            rows[k][:, free] += _least_step(system, rows[0], A[0], left, free)
        left = times(A[0], rows[k]) + h
        size = 1 + np.max(abs(h) + times(abs(A[0]), abs(rows[k])), initial=0.0)
        what = f"no {STATE_ROWS[k]} obeys the constraints"
        _check_closed(system, left, tolerance * size, what, rows[0])
    return tuple(row.reshape(*shape, system.n) for row in rows)


def _newton(system: ConstrainedModel, q: Array, free: Any, tolerance: float) -> Array:
    polished = 0
    for _ in range(ITERATIONS):
        constraints = constraint_terms(system, q)
        residual = constraints.residual
        polished += bool(np.all(abs(residual) <= tolerance))
        if polished > POLISHED or not np.any(residual):
            return q
        step = _least_step(system, q, constraints.matrices[0], residual, free)
        length = np.max(abs(step), axis=-1, keepdims=True, initial=LONGEST_STEP)
        q = q.copy()
        q[:, free] += step * (LONGEST_STEP / length)
    what = f"no configuration found in {ITERATIONS} steps"
    _check_closed(system, constraint_terms(system, q).residual, tolerance, what, q)
    return q


def _least_step(system: ConstrainedModel, q: Array, A: Array, left: Array, free: Any) -> Array:
    """dx (N, free) with A dx + left = 0, if possible, and the smallest dx . M dx."""
    M = mass_matrix(system.tree, q)[:, free[:, None], free]
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        inertia, motions = np.linalg.eigh(M)
        motion = abs(motions[np.argmin(inertia[:, 0]), :, 0])
        joint = system.tree.joint_names[free[np.argmax(motion > 0.5 * motion.max())]]
        raise DynamicsError(
            f"robot '{system.tree.name}': the mass matrix is singular and defines no metric: joint "
            f"'{joint}' moves without inertia; list it as independent, as `fixed` for `assemble` "
            "and `consistent_motion`, or give the body that it moves inertia"
        ) from None
    AL = np.swapaxes(np.linalg.solve(L, np.swapaxes(A[..., free], -1, -2)), -1, -2)
    inverse = np.linalg.pinv(AL, rcond=system.rank_tolerance)
    step = -np.linalg.solve(np.swapaxes(L, -1, -2), inverse @ left[..., None])[..., 0]
    return np.asarray(step)


def _check_closed(
    system: ConstrainedModel, left: Array, allowed: float, what: str, q: Array
) -> None:
    if np.any(abs(left) > allowed):
        at = np.unravel_index(int(np.argmax(abs(left))), left.shape)
        name = constraint_terms(system, q).names[at[-1]]
        where = state_number(at[:-1]) if len(left) > 1 else ""
        raise DynamicsError(
            f"{what}: {name} remains violated by {abs(left[at]):.3g}{where}; check the lengths, "
            "the fixed joints and the initial q"
        )
