# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The spring law s(phi) over scalars: value, derivatives, energy and inverse, written once.

Compiled code runs these functions in the control cycle and over batches. A law is a piecewise
polynomial, and tables of numbers describe the springs of a robot:

``LAW`` row: one spring
    FIRST, LAST                the rows of its pieces, LAST included
    DEGREE                     of the polynomials; 1: a straight line through the origin
    LOWER, UPPER               its travel; the law continues along its tangents beyond it
    LEAST, GREATEST            the torques at the ends of the travel

``PIECE`` row: s = c_0 + c_1 x + ... with x = phi - START, from START to the START of the next
    START, POTENTIAL           start of the piece, and the energy stored up to it
    COEFFICIENT                c_0, c_1 ...

A user-defined law, a subclass of :class:`.Spring` that is not a piecewise polynomial, is an
object in `SpringTables.own`. The same functions then run in plain Python and call that object;
where `own` is None, the compiler drops those branches.
"""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..core import Array, InputError, compiled, inlined

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

FARTHEST = np.pi  # rad or m, no spring bends farther: an infinite travel ends here
PLACES = 103  # on the travel, at which a law is checked
RESOLUTION = 1e-10  # rad or m; the step to it has cubed the error, to less than rounding


class SpringTables(NamedTuple):
    """LAW rows, PIECE rows, and for plain Python the user-defined spring of each row, or None."""

    laws: Array
    pieces: Array
    own: Any = None


def spring_tables(springs: Sequence[Any], *, own_laws: bool = False) -> SpringTables:
    """The tables of these :class:`.Spring` objects.

    Raises InputError for a law that does not increase, and for one that is not a piecewise
    polynomial, unless `own_laws`: such tables are for plain Python only.
    """
    polynomials = [spring.polynomials() for spring in springs]
    own = [
        spring if found is None else None
        for spring, found in zip(springs, polynomials, strict=True)
    ]
    for spring in filter(None, () if own_laws else own):
        raise InputError(
            f"{type(spring).__name__}: compiled code requires a piecewise polynomial law, such as "
            f"its SampledSpring"
        )
    known = [_known(found) for found in polynomials]
    degree = max((coefficients.shape[1] - 1 for _, coefficients in known), default=0)
    tables = SpringTables(
        np.zeros((len(springs), LAW_ROW)),
        np.zeros((sum(len(starts) for starts, _ in known), COEFFICIENT + degree + 1)),
        tuple(own) if any(own) else None,
    )
    first = 0
    for k, (spring, (starts, coefficients)) in enumerate(zip(springs, known, strict=True)):
        last, width = first + len(starts) - 1, coefficients.shape[1]
        tables.laws[k, :LEAST] = first, last, width - 1, *spring.travel
        rows = tables.pieces[first : last + 1]
        rows[:, START] = starts
        rows[:, COEFFICIENT : COEFFICIENT + width] = coefficients
        powers = np.arange(1, width + 1)
        steps = np.diff(starts)[:, None] ** powers
        rows[1:, POTENTIAL] = np.cumsum((coefficients[:-1] / powers * steps).sum(axis=1))
        tables.laws[k, LEAST:] = [
            law_on_travel(*tables, k, end)[0] if isfinite(end) else end for end in spring.travel
        ]
        is_limited = all(map(isfinite, spring.travel))
        if not is_limited and (starts[0] != 0.0 or coefficients[0, 0] != 0.0):
            raise InputError(  # `_bracket` would miss the deflection
                f"{type(spring).__name__}: a law over an infinite travel must begin with a piece "
                f"at zero deflection, where its torque is zero; a kind of actuator says in "
                f"`offsets` where its springs are relaxed"
            )
        if width > 1:
            _require_increasing(spring, starts, coefficients)
        first = last + 1
    return tables


def _require_increasing(spring: Any, starts: Array, coefficients: Array) -> None:
    """Raise InputError for a law that a formula in a file of its own, or its constants, made one
    that no spring has: its torque does not increase or, over an infinite travel, it softens."""
    lower, upper = np.clip(spring.travel, -FARTHEST, FARTHEST).tolist()
    phi = np.linspace(lower, upper, PLACES)[1:-1]
    piece = np.maximum(np.searchsorted(starts, phi, side="right") - 1, 0)
    powers = np.arange(1, coefficients.shape[1])
    x = (phi - starts[piece])[:, None]
    slope = (powers * coefficients[piece, 1:] * x ** (powers - 1)).sum(axis=1)
    k = int(slope.argmin())
    if not slope[k] > 0.0:
        raise InputError(
            f"{type(spring).__name__}: the torque of a spring must increase with its deflection,"
            f" but at {phi[k]:.4g} its stiffness is {slope[k]:.4g}"
        )
    tangent = coefficients[0, 1]
    torque = (coefficients[piece] * x ** np.arange(coefficients.shape[1])).sum(axis=1)
    excess = (torque - tangent * phi) * np.sign(phi)
    k = int(excess.argmin())
    if not all(map(isfinite, spring.travel)) and excess[k] < -1e-9 * tangent * abs(phi[k]):
        raise InputError(  # `_bracket` would miss the deflection
            f"{type(spring).__name__}: a law over an infinite travel must not soften, as it does at"
            f" {phi[k]:.4g}; give it a travel"
        )


def _known(found: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """Starts and coefficients of a law. Degree 1 stands for one line through the origin; other
    lines become parabolas without curvature."""
    starts, coefficients = (np.zeros(1), np.zeros((1, 1))) if found is None else found
    if coefficients.shape[1] != 2:
        return starts, coefficients
    at_zero = coefficients[:, 0] - coefficients[:, 1] * starts
    if len(starts) > 1 or at_zero[0] != 0.0:
        coefficients = np.pad(coefficients, ((0, 0), (0, 1)))
    return starts, coefficients


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
def _bracket(laws, pieces, own, k, torque):
    """Finite ends of an interval that contains the deflection of a torque within the range."""
    lower, upper = laws[k, LOWER], laws[k, UPPER]
    if own is not None and own[k] is not None:
        end = 1.0
        while not isfinite(lower) and own[k].law(np.array(min(-end, upper)))[0] > torque:
            end *= 2.0
        lower = lower if isfinite(lower) else min(-end, upper)
        while not isfinite(upper) and own[k].law(np.array(max(end, lower)))[0] < torque:
            end *= 2.0
        return lower, upper if isfinite(upper) else max(end, lower)
    tangent = pieces[int(laws[k, FIRST]), COEFFICIENT + 1]
    if not isfinite(lower):  # the law hardens: it lies beyond its tangent at zero
        lower = min(torque / tangent, 0.0)
    if not isfinite(upper):
        upper = max(torque / tangent, 0.0)
    return lower, upper


@inlined
def law_on_travel(laws, pieces, own, k, phi):
    """s, s', s'', s''' of spring k at phi, or at the nearer end of its travel."""
    phi = min(max(phi, laws[k, LOWER]), laws[k, UPPER])
    if own is not None and own[k] is not None:
        s, s1, s2, s3 = own[k].law(np.array(phi))
        return np.float64(s), np.float64(s1), np.float64(s2), np.float64(s3)
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
def spring_law(laws, pieces, own, k, phi):
    """s, s', s'', s''' of spring k at phi; along its tangents beyond the travel."""
    if laws[k, DEGREE] == 1.0:
        slope = pieces[int(laws[k, FIRST]), COEFFICIENT + 1]
        return slope * phi, slope, 0.0, 0.0
    s, s1, s2, s3 = law_on_travel(laws, pieces, own, k, phi)
    if phi < laws[k, LOWER]:
        return s + s1 * (phi - laws[k, LOWER]), s1, 0.0, 0.0
    if phi > laws[k, UPPER]:
        return s + s1 * (phi - laws[k, UPPER]), s1, 0.0, 0.0
    return s, s1, s2, s3


@inlined
def spring_energy(laws, pieces, own, k, phi):
    """Energy in J stored in spring k at phi, up to a constant."""
    inside = min(max(phi, laws[k, LOWER]), laws[k, UPPER])
    s, s1, _, _ = law_on_travel(laws, pieces, own, k, inside)
    excess = phi - inside
    beyond = (s + 0.5 * s1 * excess) * excess
    if own is not None and own[k] is not None:
        return np.float64(own[k].potential(np.array(inside))) + beyond
    piece = _piece(laws, pieces, k, inside)
    x = inside - pieces[piece, START]
    energy = 0.0
    for j in range(int(laws[k, DEGREE]), -1, -1):
        energy = (energy + pieces[piece, COEFFICIENT + j] / (j + 1)) * x
    return pieces[piece, POTENTIAL] + energy + beyond


@inlined
def loaded_spring(laws, pieces, own, k, torque, guess):
    """phi with s(phi) = torque of spring k, and s' and s'' there, by Halley's method from the guess
    or by bisection."""
    if laws[k, DEGREE] == 1.0:
        slope = pieces[int(laws[k, FIRST]), COEFFICIENT + 1]
        return torque / slope, slope, 0.0
    lower, upper = laws[k, LOWER], laws[k, UPPER]
    if torque < laws[k, LEAST]:
        slope = law_on_travel(laws, pieces, own, k, lower)[1]
        return lower + (torque - laws[k, LEAST]) / slope, slope, 0.0
    if torque > laws[k, GREATEST]:
        slope = law_on_travel(laws, pieces, own, k, upper)[1]
        return upper + (torque - laws[k, GREATEST]) / slope, slope, 0.0
    if not isfinite(upper - lower):
        lower, upper = _bracket(laws, pieces, own, k, torque)
    phi, slope, curvature = guess if lower <= guess <= upper else 0.5 * (lower + upper), 0.0, 0.0
    for _ in range(200):
        s, slope, curvature, s3 = law_on_travel(laws, pieces, own, k, phi)
        if s >= torque:
            upper = phi
        if s <= torque:
            lower = phi
        rest = torque - s
        better = phi + rest * slope / (slope * slope + 0.5 * curvature * rest)
        if not lower <= better <= upper:
            better = 0.5 * (lower + upper)
        step = better - phi
        phi = better
        if abs(step) <= RESOLUTION:
            slope += (curvature + 0.5 * s3 * step) * step
            curvature += s3 * step
            break
    return phi, slope, curvature


@inlined
def spring_deflection(laws, pieces, own, k, torque, guess):
    """phi with s(phi) = torque of spring k."""
    return loaded_spring(laws, pieces, own, k, torque, guess)[0]


@inlined
def deflection_rates(s1, s2, Qd, Qdd):
    """phi' and phi'' from s' and s'' at phi; for scalars or arrays."""
    phid = Qd / s1
    return phid, (Qdd - s2 * phid * phid) / s1


@inlined
def spring_deflection_motion(laws, pieces, own, k, torque, guess):
    """phi, phi', phi'' of spring k at `torque` = (Q, Q', Q'')."""
    phi, s1, s2 = loaded_spring(laws, pieces, own, k, torque[0], guess)
    phid, phidd = deflection_rates(s1, s2, torque[1], torque[2])
    return phi, phid, phidd


# Batches

LAW, ENERGY, DEFLECTION = range(3)
"""Quantities that `evaluate_spring` computes: law and energy from phi, deflection from s."""


@inlined
def evaluate_spring(springs, quantity, values, result):
    """Write the quantity of spring 0 at the values (N,) to `result` (4, N): s to s''' fill all
    rows, the other quantities the first."""
    laws, pieces, own = springs
    for i in range(values.shape[0]):
        if quantity == LAW:
            s, s1, s2, s3 = spring_law(laws, pieces, own, 0, values[i])
            result[0, i] = s
            result[1, i] = s1
            result[2, i] = s2
            result[3, i] = s3
        elif quantity == ENERGY:
            result[0, i] = spring_energy(laws, pieces, own, 0, values[i])
        else:
            result[0, i] = spring_deflection(laws, pieces, own, 0, values[i], np.nan)


def _evaluate(springs, quantity, values, result):
    evaluate_spring(springs, quantity, values, result)  # as other functions call the laws, too


_compiled_evaluate = compiled(_evaluate)


def fitting(
    machine_code: Callable[..., Any], plain: Callable[..., Any], tables: SpringTables
) -> Callable[..., Any]:
    """The machine code of a function, or the plain function if there are user-defined laws."""
    return machine_code if tables.own is None else np.errstate(all="ignore")(plain)


def evaluated(tables: SpringTables, quantity: int, values: Array) -> Array:
    """(4, ...) rows of `evaluate_spring` at values (...)."""
    result = np.zeros((4, values.size))
    run = fitting(_compiled_evaluate, evaluate_spring, tables)
    # A copy: writable and contiguous, so the same machine code serves all callers.
    run(tables, quantity, np.array(values, dtype=np.float64).reshape(-1), result)
    return result.reshape(4, *values.shape)
