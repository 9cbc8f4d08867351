# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Munthe-Kaas methods: explicit Runge-Kutta methods on products of Lie groups; [MT13] (35)-(37).

The equation X' = X F(t, X) is left-trivialised: F is in the Lie algebra. A step solves

    Phi' = dexp_-Phi^-1 F(t, X_0 exp(Phi)),   Phi(t_0) = 0,

an equation in a vector space, by the Runge-Kutta method, and sets X_1 = X_0 exp(Phi). On R^n this
is the Runge-Kutta method itself. This module is plain Python, for any F; for the bodies of an
:class:`.AbsoluteSystem`, :func:`.integrate` runs compiled code.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Array, DynamicsError, InputError, exactly, inlined
from ..lie.lie_groups import Element, ProductGroup
from .butcher import ButcherTableau, tableau

Field = Callable[[float, Element], Any]

SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0  # factors from one step to the next
SMALLEST = 1e-12  # step, as a fraction of the time to integrate


@dataclass(frozen=True)
class Tolerances:
    """Allowed error of a step, for each entry of Phi: absolute + relative |F| h.

    Raises InputError unless both are positive and `relative` is below 1.
    """

    relative: float = 1e-9
    absolute: float = 1e-11

    def __post_init__(self) -> None:
        relative, absolute = (
            exactly(f"tolerances: {name}", getattr(self, name), ()).item()
            for name in ("relative", "absolute")
        )
        if not (0.0 < relative < 1.0 and 0.0 < absolute < np.inf):
            raise InputError(f"tolerances must be positive, and `relative` below 1; got {self}")


def output_times(t_end: float, step: float) -> Array:
    """0, step, 2 step, ..., t_end (k,), s; the last step may be shorter.

    Raises InputError unless both are positive and finite.
    """
    for name, value in (("t_end", t_end), ("step", step)):
        if not 0.0 < exactly(name, value, ()).item() < np.inf:
            raise InputError(f"{name} must be a positive time in s, got {value}")
    count = max(int(np.ceil(t_end / step * (1.0 - 1e-12) - 1e-9)), 1)
    times = step * np.arange(count + 1.0)
    if abs(times[-1] - t_end) > 1e-9 * step:
        times[-1] = t_end
    return np.asarray(times, dtype=np.float64)


def increment(
    group: ProductGroup, field: Field, t: float, X: Element, h: float, method: ButcherTableau
) -> Array:
    """The slopes k_j (s, dimension) of one step from X at t, [MT13] (37)."""
    k = np.zeros((method.stages, group.dimension))
    for j in range(method.stages):
        Psi = h * method.a[j, :j] @ k[:j]
        slope = np.asarray(field(t + method.c[j] * h, group.product(X, group.exp(Psi))), float)
        k[j] = group.dexp_inv(-Psi, slope)
    return k


def munthe_kaas(
    group: ProductGroup,
    field: Field,
    start: Any,
    t_end: float,
    step: float,
    *,
    method: str | ButcherTableau = "rk4",
    tolerances: Tolerances | None = None,
    project: Callable[[Element], Element] | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Array, list[Element]]:
    """Integrate X' = X F(t, X) from t = 0 to `t_end`.

    Parameters
    ----------
    field : (t, X) -> F (dimension,), in the Lie algebra.
    start : the element at t = 0.
    step : interval of the output in s, and the length of the steps unless `tolerances` are given.
    method : a name of `butcher.METHODS` or a tableau.
    tolerances : adapt the step to the error estimate of the method and interpolate between steps by
        its dense output; the method must have both.
    project : applied to the state after each step; fixed steps only.
    progress : called with the fraction of time done, from 0 to 1, at each output.

    Returns the times (k,), multiples of `step` up to `t_end` in s, and the elements at them.

    Raises InputError for inconsistent arguments and a field that does not return `dimension` finite
    numbers at the start, DynamicsError for a step that becomes too small or a solution that
    diverges.
    """
    times = output_times(t_end, step)
    states, _, _ = counted_munthe_kaas(
        group, field, start, times, tableau(method), tolerances=tolerances, project=project,
        progress=progress,
    )  # fmt: skip
    return times, states


def counted_munthe_kaas(
    group: ProductGroup,
    field: Field,
    start: Any,
    times: Array,
    method: ButcherTableau,
    *,
    tolerances: Tolerances | None,
    project: Callable[[Element], Element] | None,
    progress: Callable[[float], None] | None,
) -> tuple[list[Element], int, int]:
    """The states of :func:`munthe_kaas` at `times` (k,); how many steps were taken and rejected."""
    X = group.check("start", start)
    exactly("field at the start", field(times.item(0), X), (group.dimension,))
    report = progress or (lambda fraction: None)
    if tolerances is None:
        states = [X]
        for t, t_next in itertools.pairwise(times):
            k = increment(group, field, t, X, t_next - t, method)
            X = group.product(X, group.exp((t_next - t) * method.b @ k))
            X = X if project is None else project(X)
            if not np.isfinite(k).all():
                raise DynamicsError(f"the solution is no longer finite after t = {t:g} s")
            states.append(X)
            report(t_next / times[-1])
        return states, len(times) - 1, 0
    if method.error is None or method.dense is None or project is not None:
        raise InputError(
            f"method '{method.name}': adaptive steps need a method with an error estimate and "
            "dense output, such as 'dormand_prince', and no projection"
        )
    return _adaptive_steps(group, field, X, times, method, tolerances, report)


def _adaptive_steps(
    group: ProductGroup,
    field: Field,
    X: Element,
    times: Array,
    method: ButcherTableau,
    tolerances: Tolerances,
    report: Callable[[float], None],
) -> tuple[list[Element], int, int]:
    states = [X]
    t, h, steps, refused = 0.0, times[1] - times[0], 0, 0
    while len(states) < len(times):
        h = min(h, times[-1] - t)
        k = increment(group, field, t, X, h, method)
        scale = tolerances.absolute + tolerances.relative * h * np.abs(k).max(axis=0)
        error = np.max(np.abs(h * method.error @ k) / scale, initial=0.0)
        if error <= 1.0:
            while len(states) < len(times) and times[len(states)] <= t + h + 1e-12 * times[-1]:
                s = min((times[len(states)] - t) / h, 1.0)
                weights = method.b if s == 1.0 else method.weights(s)
                states.append(group.product(X, group.exp(h * weights @ k)))
                report(times[len(states) - 1] / times[-1])
            X, t = group.product(X, group.exp(h * method.b @ k)), t + h
            steps += 1
        else:
            refused += 1
        h *= step_factor(error, method.error_order)
        if not h > SMALLEST * times[-1]:
            raise DynamicsError(
                f"at t = {t:g} s the step falls below {h:.1g} s; the solution may end there, or "
                "the tolerances may be too tight"
            )
    return states, steps, refused


@inlined
def step_factor(error, order):
    """Factor from this step to the next, from the error of this one divided by the allowed one."""
    if error > 0.0:
        return min(max(SAFETY * error ** (-1.0 / (order + 1)), SHRINK), GROW)
    return GROW if error == 0.0 else SHRINK  # SHRINK if the error is NaN
