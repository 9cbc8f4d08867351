"""Spring laws: torque s(phi) of a deflection phi = theta - q, increasing, on a limited travel.

The spring of a series elastic joint obeys Q = s(phi). Where the motor must be to give a torque with
given rates follows by implicit differentiation (s', s'', s''' are derivatives by phi):

    phi = s^-1(Q),    phi' = Q' / s',    phi'' = (Q'' - s'' phi'^2) / s'.

Units: rad and N m for a revolute joint, m and N for a prismatic one, on the link side of the gear.

Beyond its travel a law is not known: that is an InputError, or, with ``beyond="continue"``, the law
goes on along its tangents (a plan that needs 110 % of the travel shall say so, not fail).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.interpolate import BSpline, PPoly
from scipy.optimize import lsq_linear

from ..core import Array, InputError, as_array, check_choice

Beyond = Literal["raise", "continue"]


class DeflectionMotion(NamedTuple):
    """phi, phi' and phi'' of a spring, each of the shape of the torques."""

    deflection: Array
    rate: Array
    acceleration: Array


@dataclass(frozen=True, kw_only=True)
class Spring(ABC):
    """An increasing law with the travel (lower, upper), infinite where there is no limit.

    Every method takes arrays of any shape. Raises InputError for NaN, infinity and values beyond
    the travel (see `Beyond`).
    """

    travel: tuple[float, float] = (-np.inf, np.inf)

    def __post_init__(self) -> None:
        lower, upper = (float(end) for end in self.travel)
        if not lower < upper:
            raise InputError(f"travel of the spring: {lower:g} to {upper:g}: must increase")
        object.__setattr__(self, "travel", (lower, upper))

    @abstractmethod
    def law(self, phi: Array) -> tuple[Array, ...]:
        """s, s', s'', s''' on the travel; nothing is checked."""

    @abstractmethod
    def potential(self, phi: Array) -> Array:
        """The integral of s on the travel; nothing is checked."""

    def _inverse(self, torque: Array) -> Array:
        """phi with s(phi) = torque, which is in the range."""
        return solve_increasing(lambda phi: self.law(phi)[:2], torque, *self.travel)

    @cached_property
    def torque_range(self) -> tuple[float, float]:
        """The torques at the ends of the travel."""
        lower, upper = (
            float(self.law(np.array(end))[0]) if np.isfinite(end) else float(end)
            for end in self.travel
        )
        return lower, upper

    def derivatives(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """(4, ...): s, s', s'' and s''' at the deflections phi (...)."""
        phi = as_array("deflection", phi, ())
        inside = self._within("deflection", phi, self.travel, beyond)
        rows = np.array(self.law(inside))
        outside = phi != inside
        if outside.any():
            rows[0] += rows[1] * (phi - inside)
            rows[2:, outside] = 0.0
        return rows

    def torque(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """s(phi) in N m."""
        return self.derivatives(phi, beyond=beyond)[0]

    def stiffness(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """s'(phi) in N m/rad."""
        return self.derivatives(phi, beyond=beyond)[1]

    def energy(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """The work in J that bends the spring to phi, up to a constant."""
        phi = as_array("deflection", phi, ())
        inside = self._within("deflection", phi, self.travel, beyond)
        s, slope, _, _ = self.law(inside)
        excess = phi - inside
        return np.asarray(self.potential(inside) + (s + 0.5 * slope * excess) * excess)

    def deflection(self, torque: Any, *, beyond: Beyond = "raise") -> Array:
        """phi in rad, the inverse of the law."""
        torque = as_array("torque", torque, ())
        inside = self._within("torque", torque, self.torque_range, beyond)
        phi = self._inverse(inside)
        if (outside := torque != inside).any():
            slope = self.law(phi)[1]
            phi = np.where(outside, phi + (torque - inside) / slope, phi)
        return phi

    def deflection_motion(
        self, torque: Any, rate: Any, acceleration: Any, *, beyond: Beyond = "raise"
    ) -> DeflectionMotion:
        """phi, phi', phi'' that give Q, Q', Q''."""
        phi = self.deflection(torque, beyond=beyond)
        _, s1, s2, _ = self.derivatives(phi, beyond="continue")
        phid = as_array("torque rate", rate, ()) / s1
        phidd = (as_array("torque acceleration", acceleration, ()) - s2 * phid**2) / s1
        return DeflectionMotion(phi, phid, phidd)

    def torque_motion(
        self, phi: Any, rate: Any, acceleration: Any, *, beyond: Beyond = "raise"
    ) -> tuple[Array, Array, Array]:
        """Q, Q', Q'' of a deflection and its rates: the inverse of :meth:`deflection_motion`."""
        s, s1, s2, _ = self.derivatives(phi, beyond=beyond)
        phid = as_array("deflection rate", rate, ())
        phidd = as_array("deflection acceleration", acceleration, ())
        return s, s1 * phid, s1 * phidd + s2 * phid**2

    def _within(
        self, what: str, value: Array, limits: tuple[float, float], beyond: Beyond
    ) -> Array:
        check_choice("beyond", beyond, get_args(Beyond))
        inside = np.minimum(np.maximum(value, limits[0]), limits[1])
        if beyond == "raise" and (outside := value != inside).any():
            worst = value[outside][np.argmax(np.abs(value - inside)[outside])]
            raise InputError(
                f"{what} of {worst:.6g} is beyond the travel of the spring, "
                f"{self.travel[0]:.6g} to {self.travel[1]:.6g} (torques {self.torque_range[0]:.6g} "
                f"to {self.torque_range[1]:.6g})"
            )
        return inside


@dataclass(frozen=True)
class LinearSpring(Spring):
    """s = K phi, K > 0 in N m/rad."""

    K: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("stiffness", self.K, positive=True)

    def law(self, phi: Array) -> tuple[Array, ...]:
        none = np.zeros_like(phi)
        return self.K * phi, np.full_like(phi, self.K), none, none

    def _inverse(self, torque: Array) -> Array:
        return np.asarray(torque / self.K)

    def potential(self, phi: Array) -> Array:
        return np.asarray(0.5 * self.K * phi**2)


@dataclass(frozen=True)
class CubicSpring(Spring):
    """s = K phi + K3 phi^3, hardening: K > 0 in N m/rad, K3 >= 0 in N m/rad^3."""

    K: float
    K3: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("stiffness", self.K, positive=True)
        _check_number("cubic stiffness", self.K3)

    def law(self, phi: Array) -> tuple[Array, ...]:
        K, K3 = self.K, self.K3
        square = phi**2
        slope = K + 3.0 * K3 * square
        return (K + K3 * square) * phi, slope, 6.0 * K3 * phi, np.full_like(phi, 6.0 * K3)

    def _inverse(self, torque: Array) -> Array:
        """By hyperbolic functions, and a step of Newton's method for what they lose."""
        if self.K3 == 0.0:
            return np.asarray(torque / self.K)
        unit = np.sqrt(self.K / (3.0 * self.K3))
        phi = 2.0 * unit * np.sinh(np.arcsinh(1.5 * torque / (self.K * unit)) / 3.0)
        s, slope, _, _ = self.law(phi)
        return np.asarray(phi - (s - torque) / slope)

    def potential(self, phi: Array) -> Array:
        return np.asarray(0.5 * self.K * phi**2 + 0.25 * self.K3 * phi**4)


@dataclass(frozen=True)
class PolynomialSpring(Spring):
    """s = c_1 phi + c_2 phi^2 + ..., coefficients from c_1 on in N m/rad^i; the travel is finite.

    Raises InputError where s' is not positive everywhere on the travel, with the place.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        given = tuple(float(c) for c in self.coefficients)
        object.__setattr__(self, "coefficients", given)
        if not given or not np.isfinite(given).all():
            raise InputError(f"coefficients of the spring: {given}: must be finite numbers")
        if not np.isfinite(self.travel).all():
            raise InputError("a polynomial spring needs a finite travel")
        extrema = self._rows[2].roots() if len(given) > 1 else np.empty(0)
        inner = np.real(extrema[np.abs(np.imag(extrema)) < 1e-9])
        _check_increasing(self._rows[1], np.clip([*self.travel, *inner], *self.travel))

    @cached_property
    def _rows(self) -> tuple[np.polynomial.Polynomial, ...]:
        law = np.polynomial.Polynomial((0.0, *self.coefficients))
        return law, law.deriv(1), law.deriv(2), law.deriv(3)

    @cached_property
    def _highest_first(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(row.coef[::-1].tolist()) for row in self._rows)

    def law(self, phi: Array) -> tuple[Array, ...]:
        return tuple(_horner(coefficients, phi) for coefficients in self._highest_first)

    def potential(self, phi: Array) -> Array:
        return np.asarray(self._rows[0].integ()(phi))


@dataclass(frozen=True)
class TableSpring(Spring):
    """A C4 increasing law through the points of a data sheet or a measurement.

    deflections, torques : (m,) both strictly increasing, m >= 2. The travel is that of the points
        unless a shorter one is given.
    symmetric : the points are those of positive deflection, from (0, 0) on; s is odd.

    Of all splines of degree 5 through the points, with four pieces between neighbours, it is the
    one with the least integral of s'''^2 among those whose derivative has B-spline coefficients
    of at least 5 % of the least slope between neighbours: s' then is positive everywhere. Where
    that bound is not met, it is the natural quintic spline. The points are met to 1e-6 of the
    range of torques; the slope is checked at its extrema. Raises InputError with the point at
    fault.
    """

    deflections: tuple[float, ...]
    torques: tuple[float, ...]
    symmetric: bool = False
    _rows: tuple[BSpline, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = []
        for name in ("deflections", "torques"):
            column = as_array(f"{name} of the spring", getattr(self, name), ())
            if column.ndim != 1 or len(column) < 2:
                raise InputError(f"{name} of the spring: expected two points or more")
            for i in np.flatnonzero(np.diff(column) <= 0.0) + 1:
                raise InputError(
                    f"{name} of the spring must increase, but point {i} has {column[i]:g} after "
                    f"{column[i - 1]:g}"
                )
            object.__setattr__(self, name, tuple(column.tolist()))
            columns.append(column)
        phi, torque = columns
        if len(phi) != len(torque):
            raise InputError(f"the spring has {len(phi)} deflections and {len(torque)} torques")
        if self.symmetric:
            if phi[0] != 0.0 or torque[0] != 0.0:
                raise InputError(
                    f"a symmetric table starts at deflection 0 and torque 0, not at {phi[0]:g} and "
                    f"{torque[0]:g}"
                )
            phi, torque = (np.concatenate((-row[:0:-1], row)) for row in (phi, torque))
        lower, upper = self.travel
        if -np.inf < lower < phi[0] or np.inf > upper > phi[-1]:
            raise InputError(
                f"travel of the spring: {lower:g} to {upper:g}: the points reach from {phi[0]:g} "
                f"to {phi[-1]:g}"
            )
        travel = (max(lower, float(phi[0])), min(upper, float(phi[-1])))
        object.__setattr__(self, "travel", travel)
        super().__post_init__()

        law = monotone_spline(phi, torque)
        rows = (law, *(law.derivative(k) for k in (1, 2, 3)))
        object.__setattr__(self, "_rows", rows)
        off = np.abs(law(phi) - torque) / (torque[-1] - torque[0])
        if off.max() > 1e-6:
            raise InputError(
                f"no smooth increasing law meets the points of the spring: near deflection "
                f"{phi[off.argmax()]:g} it is off by {off.max():.1e} of the range of torques; "
                f"leave out points that jump"
            )
        extrema = PPoly.from_spline(rows[2]).roots(extrapolate=False)
        _check_increasing(rows[1], np.concatenate((phi, extrema[np.isfinite(extrema)])))

    @property
    def spline(self) -> BSpline:
        """s, of degree 5."""
        return self._rows[0]

    def law(self, phi: Array) -> tuple[Array, ...]:
        return tuple(np.asarray(row(phi)) for row in self._rows)

    def potential(self, phi: Array) -> Array:
        return np.asarray(self._rows[0].antiderivative()(phi))


def monotone_spline(x: Array, y: Array, *, pieces: int = 4, least: float = 0.05) -> BSpline:
    """The spline of :class:`TableSpring` through the increasing points (x, y), (m,) each.

    Its unknowns are y_0 and the B-spline coefficients of the slope; interpolation and smoothness
    are the rows of a least-squares problem with bounds, the former weighted by 1e9.
    """
    degree = 5
    width, height = np.ptp(x), np.ptp(y)
    u, v = (x - x[0]) / width, (y - y[0]) / height
    breaks = np.concatenate((np.linspace(u[:-1], u[1:], pieces, endpoint=False).T.ravel(), [1.0]))
    knots = np.concatenate((np.zeros(degree), breaks, np.ones(degree)))
    count = len(knots) - degree - 1
    spacing = (knots[degree + 1 : -1] - knots[1:count]) / degree
    from_slopes = np.tril(np.ones((count, count)))  # y_0 and the slopes to coefficients
    from_slopes[:, 1:] *= spacing
    basis = BSpline(knots, from_slopes, degree)

    nodes, weights = np.polynomial.legendre.leggauss(3)
    half = 0.5 * np.diff(breaks)[:, None]
    places = breaks[:-1, None] + half * (1.0 + nodes)
    bending = basis.derivative(3)(places.ravel()) * np.sqrt(half * weights).ravel()[:, None]
    problem = np.concatenate((basis(u), 1e-9 * bending))
    target = np.concatenate((v, np.zeros(len(bending))))
    bounds = np.full(count, least * np.min(np.diff(v) / np.diff(u)))
    bounds[0] = -np.inf
    slopes = lsq_linear(problem, target, (bounds, np.inf), method="bvls", max_iter=10 * count).x
    return BSpline(x[0] + width * knots, y[0] + height * (from_slopes @ slopes), degree)


def greatest_stiffness(spring: Spring, torque: float) -> float:
    """The greatest s' on the travel; where that has no end, up to +-`torque`, which may be inf and
    then counts as nothing."""
    reach = spring.deflection([-torque, torque], beyond="continue") if torque < np.inf else 0.0
    lower, upper = np.where(np.isfinite(spring.travel), spring.travel, reach)
    return float(spring.stiffness(np.linspace(lower, upper, 101), beyond="continue").max())


def solve_increasing(
    law: Callable[[Array], Sequence[Array]],
    target: Array,
    lower: Any,
    upper: Any,
) -> Array:
    """x in [lower, upper] with f(x) = target, for an increasing f: Newton, or else bisection.

    `law` gives f and f' at an array of the shape of `target`. Where the target is out of reach, the
    nearer end.
    """
    lower = np.array(np.broadcast_to(lower, np.shape(target)), dtype=np.float64)
    upper = np.array(np.broadcast_to(upper, np.shape(target)), dtype=np.float64)
    x = 0.5 * (lower + upper)
    resolution = 2.0 * np.finfo(float).eps * np.maximum(np.abs(lower), np.abs(upper))
    for _ in range(200):
        value, slope = law(x)[:2]
        error = value - target
        upper = np.where(error >= 0.0, x, upper)
        lower = np.where(error <= 0.0, x, lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - error / slope
        better = (newton >= lower) & (newton <= upper)
        step = np.where(better, newton, 0.5 * (lower + upper)) - x
        x = x + step
        if (np.abs(step) <= resolution).all():
            break
    return x


def _horner(highest_first: tuple[float, ...], x: Array) -> Array:
    value: Any = highest_first[0]
    for coefficient in highest_first[1:]:
        value = value * x + coefficient
    return np.asarray(value) if len(highest_first) > 1 else np.full_like(x, value)


def _check_increasing(slope: Callable[[Array], Array], places: Array) -> None:
    slopes = slope(places)
    if slopes.min() <= 0.0:
        worst = places[slopes.argmin()]
        raise InputError(
            f"the torque of a spring must increase with its deflection, but at {worst:.6g} its "
            f"stiffness is {slopes.min():.6g}"
        )


def _check_number(name: str, value: float, *, positive: bool = False) -> None:
    number = float(as_array(name, value, ()))
    if number < 0.0 or (positive and number == 0.0):
        right = "greater than zero" if positive else "zero or greater"
        raise InputError(f"{name} of the spring is {number:g}: must be {right}")
