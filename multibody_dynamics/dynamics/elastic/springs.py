# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Spring laws: the torque s(phi) increases with the deflection phi = theta - q over its travel.

The spring of a series elastic joint obeys Q = s(phi). The deflection for a torque with given
rates follows by implicit differentiation (s', s'', s''' are derivatives with respect to phi):

    phi = s^-1(Q),    phi' = Q' / s',    phi'' = (Q'' - s'' phi'^2) / s'.

Units: rad and N m for a revolute joint, m and N for a prismatic one, on the link side of the gear.

Beyond its travel a law is unknown, and evaluating it raises InputError. With ``beyond="continue"``
the law continues along its tangents instead, so a planner can report that a motion needs 110 % of
the travel.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from ..core import Array, InputError, as_array, as_real, check_choice, exactly
from ..core.quantities import Dimension, Gear, entries, numbers, quantities, quantity, to_link_side
from .spring_tables import (
    DEFLECTION,
    ENERGY,
    LAW,
    SpringTables,
    deflection_rates,
    evaluated,
    spring_tables,
)

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

Beyond = Literal["raise", "continue"]


class DeflectionMotion(NamedTuple):
    """phi, phi' and phi'' of a spring, each with the shape of the torques."""

    deflection: Array
    rate: Array
    acceleration: Array


LAWS: dict[str, type[Spring]] = {}
"""The laws that YAML files may name, by `law_name`."""


@dataclass(frozen=True, kw_only=True)
class Spring(ABC):
    """An increasing law over the travel (lower, upper), infinite where there is no limit.

    A subclass with its own law defines `law` and `potential`. Planning evaluates it in plain
    Python; the control cycle and the compiled plant sample it into a :class:`.SampledSpring`. Every
    other method takes arrays of any shape, and raises InputError for NaN, infinity and values
    beyond the travel (see `Beyond`).
    """

    travel: tuple[float, float] = (-np.inf, np.inf)

    law_name: ClassVar[str] = ""  # in YAML, `law: NAME`; a class that sets it is in LAWS
    required_keys: ClassVar[tuple[str, ...]] = ()  # in YAML, besides `law`
    optional_keys: ClassVar[tuple[str, ...]] = ("travel",)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "law_name" in cls.__dict__:
            LAWS[cls.law_name] = cls

    def __post_init__(self) -> None:
        ends = as_real("travel of the spring", self.travel)
        if ends.shape != (2,):
            raise InputError(f"travel of the spring: expected two ends, got {self.travel!r}")
        lower, upper = ends.tolist()
        if not lower < upper:
            raise InputError(
                f"travel of the spring: the lower end {lower:g} must be less than the upper end "
                f"{upper:g}"
            )
        object.__setattr__(self, "travel", (lower, upper))

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, gear: Gear) -> Spring:
        """The spring of a YAML entry with the right keys, on the link side of the gear."""
        raise InputError(f"{where}: {cls.__name__} cannot be read from YAML")

    def description(self, force: str, angle: str) -> list[tuple[str, str]]:
        """Lines of its YAML entry in these units; those of a single parameter with its symbol."""
        raise InputError(f"{type(self).__name__} cannot be described in YAML")

    @abstractmethod
    def law(self, phi: Array) -> tuple[Array, ...]:
        """s, s', s'', s''' on the travel, unchecked."""

    @abstractmethod
    def potential(self, phi: Array) -> Array:
        """The integral of s on the travel, unchecked."""

    def polynomials(self) -> tuple[Array, Array] | None:
        """Starts (p,) of the pieces and their coefficients (p, degree + 1), lowest power first;
        None if the law is not a piecewise polynomial."""
        return None

    @property
    def constant_stiffness(self) -> float | None:
        """K of a linear law in N m/rad; None for others."""
        return None

    @property
    def contact_torque(self) -> float:
        """N m or N, torque that closes the gap in front of the spring; 0 without backlash."""
        return 0.0

    @property
    def parameters(self) -> dict[str, float]:
        """What can be identified of the law, by name; by default the scale of its torques."""
        return {"scale": 1.0}

    @property
    def powers(self) -> tuple[int, ...]:
        """The power of the deflection in the torque that each parameter multiplies."""
        return tuple(range(1, len(self.parameters) + 1))

    def terms(self, phi: Array) -> Array:
        """Columns (k, p) at the deflections phi (k,), which the parameters multiply."""
        return self.torque(phi, beyond="continue")[:, None]

    def with_parameters(self, values: Sequence[float]) -> Spring:
        """The law with other values of its parameters over the same travel."""
        return self.scaled(torque=values[0])

    def scaled(self, *, torque: float = 1.0, deflection: float = 1.0) -> Spring:
        """The spring with the law torque s(deflection phi); the factors are positive.

        A torque factor a makes a spring that pulls a times as hard at the same deflection: an error
        of the model. A deflection factor b makes one that carries the same torques at 1/b of the
        deflection: a stiffer spring of the same strength. Both multiply the stiffness.
        """
        if torque == deflection == 1.0:
            return self
        lower, upper = self.travel
        return ScaledSpring(
            self, torque, deflection, travel=(lower / deflection, upper / deflection)
        )

    @cached_property
    def tables(self) -> SpringTables:
        """The law as :mod:`spring_tables` evaluates it."""
        return spring_tables([self], own_laws=True)

    @cached_property
    def torque_range(self) -> tuple[float, float]:
        """The torques at the ends of the travel."""
        lower, upper = self.tables.laws[0, -2:].tolist()
        return lower, upper

    def derivatives(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """(4, ...): s, s', s'' and s''' at the deflections phi (...)."""
        return evaluated(self.tables, LAW, self.checked_deflection(phi, beyond))

    def torque(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """s(phi) in N m."""
        return self.derivatives(phi, beyond=beyond)[0]

    def stiffness(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """s'(phi) in N m/rad."""
        return self.derivatives(phi, beyond=beyond)[1]

    def energy(self, phi: Any, *, beyond: Beyond = "raise") -> Array:
        """The energy in J stored in the spring at phi, up to a constant."""
        return evaluated(self.tables, ENERGY, self.checked_deflection(phi, beyond))[0]

    def deflection(self, torque: Any, *, beyond: Beyond = "raise") -> Array:
        """phi in rad, the inverse of the law."""
        return evaluated(self.tables, DEFLECTION, self.checked_torque(torque, beyond))[0]

    def deflection_motion(
        self, torque: Any, rate: Any, acceleration: Any, *, beyond: Beyond = "raise"
    ) -> DeflectionMotion:
        """phi, phi', phi'' that give Q, Q', Q''."""
        phi = self.deflection(torque, beyond=beyond)
        _, s1, s2, _ = self.derivatives(phi, beyond="continue")
        rates = as_array("torque rate", rate, ()), as_array("torque acceleration", acceleration, ())
        return DeflectionMotion(phi, *deflection_rates(s1, s2, *rates))

    def torque_motion(
        self, phi: Any, rate: Any, acceleration: Any, *, beyond: Beyond = "raise"
    ) -> tuple[Array, Array, Array]:
        """Q, Q', Q'' of a deflection and its rates: the inverse of :meth:`deflection_motion`."""
        s, s1, s2, _ = self.derivatives(phi, beyond=beyond)
        phid = as_array("deflection rate", rate, ())
        phidd = as_array("deflection acceleration", acceleration, ())
        return s, s1 * phid, s1 * phidd + s2 * phid**2

    def checked_deflection(self, phi: Any, beyond: Beyond) -> Array:
        """`phi` as an array; InputError if it is beyond the travel and `beyond` is "raise"."""
        return self._checked("deflection", phi, self.travel, beyond)

    def checked_torque(self, torque: Any, beyond: Beyond) -> Array:
        """`torque` as an array; InputError if it is out of range and `beyond` is "raise"."""
        return self._checked("torque", torque, self.torque_range, beyond)

    def _checked(self, what: str, value: Any, limits: tuple[float, float], beyond: Beyond) -> Array:
        value = as_array(what, value, ())
        check_choice("beyond", beyond, get_args(Beyond))
        inside = np.minimum(np.maximum(value, limits[0]), limits[1])
        if beyond == "raise" and (outside := value != inside).any():
            worst = value[outside][np.argmax(np.abs(value - inside)[outside])]
            raise InputError(
                f"{what} of {worst:.6g} is beyond the travel of the spring, "
                f"{self.travel[0]:.6g} to {self.travel[1]:.6g} (torques {self.torque_range[0]:.6g} "
                f"to {self.torque_range[1]:.6g})"
            )
        return value


@dataclass(frozen=True)
class PiecewisePolynomial(Spring):
    """A spring whose law is given by its `polynomials`."""

    @abstractmethod
    def polynomials(self) -> tuple[Array, Array]: ...

    def law(self, phi: Array) -> tuple[Array, ...]:
        return tuple(evaluated(self.tables, LAW, phi))

    def potential(self, phi: Array) -> Array:
        return evaluated(self.tables, ENERGY, phi)[0]


@dataclass(frozen=True)
class LinearSpring(PiecewisePolynomial):
    """s = K phi, K > 0 in N m/rad."""

    K: float

    law_name = "linear"
    required_keys = ("stiffness",)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("stiffness", self.K, positive=True)

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, gear: Gear) -> LinearSpring:
        travel = read_travel(entry, where, gear)
        K = quantity(entry["stiffness"], f"{where}.stiffness", "stiffness", gear)
        return cls(K, travel=travel)

    def description(self, force: str, angle: str) -> list[tuple[str, str]]:
        return [("law: linear", ""), (_described("stiffness", self.K, f"{force}/{angle}"), "K")]

    def polynomials(self) -> tuple[Array, Array]:
        return np.zeros(1), np.array([[0.0, self.K]])

    @property
    def constant_stiffness(self) -> float:
        return self.K

    @property
    def parameters(self) -> dict[str, float]:
        return {"stiffness": self.K}

    def terms(self, phi: Array) -> Array:
        return phi[:, None]

    def with_parameters(self, values: Sequence[float]) -> Spring:
        return LinearSpring(values[0], travel=self.travel)

    def scaled(self, *, torque: float = 1.0, deflection: float = 1.0) -> Spring:
        if torque == deflection == 1.0:
            return self
        lower, upper = self.travel
        K = torque * deflection * self.K
        return LinearSpring(K, travel=(lower / deflection, upper / deflection))


@dataclass(frozen=True)
class CubicSpring(PiecewisePolynomial):
    """s = K phi + K3 phi^3, hardening: K > 0 in N m/rad, K3 >= 0 in N m/rad^3."""

    K: float
    K3: float

    law_name = "cubic"
    required_keys = ("stiffness", "cubic_stiffness")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_number("stiffness", self.K, positive=True)
        _check_number("cubic stiffness", self.K3)

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, gear: Gear) -> CubicSpring:
        travel = read_travel(entry, where, gear)
        at = f"{where}.cubic_stiffness"
        K3 = quantity(entry["cubic_stiffness"], at, "cubic stiffness", gear)
        K = quantity(entry["stiffness"], f"{where}.stiffness", "stiffness", gear)
        return cls(K, K3, travel=travel)

    def description(self, force: str, angle: str) -> list[tuple[str, str]]:
        return [
            ("law: cubic", ""),
            (_described("stiffness", self.K, f"{force}/{angle}"), "K"),
            (_described("cubic_stiffness", self.K3, f"{force}/{angle}^3"), "K3"),
        ]

    def polynomials(self) -> tuple[Array, Array]:
        cubic = (0.0, self.K3) if self.K3 > 0.0 else ()
        return np.zeros(1), np.array([[0.0, self.K, *cubic]])

    @property
    def parameters(self) -> dict[str, float]:
        return {"stiffness": self.K, "cubic_stiffness": self.K3}

    @property
    def powers(self) -> tuple[int, ...]:
        return 1, 3

    def terms(self, phi: Array) -> Array:
        return np.stack([phi, phi**3], axis=1)

    def with_parameters(self, values: Sequence[float]) -> Spring:
        return CubicSpring(values[0], max(values[1], 0.0), travel=self.travel)


@dataclass(frozen=True)
class PolynomialSpring(PiecewisePolynomial):
    """s = c_1 phi + c_2 phi^2 + ..., with c_i in N m/rad^i; the travel must be finite.

    Raises InputError, naming the worst deflection, unless s' is positive on the whole travel.
    """

    coefficients: tuple[float, ...]

    law_name = "polynomial"
    required_keys = ("coefficients", "travel")

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = as_real("coefficients of the spring", self.coefficients)
        if numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
            raise InputError(
                "coefficients of the spring: expected one or more finite numbers, got "
                f"{self.coefficients!r}"
            )
        given = tuple(numbers.tolist())
        object.__setattr__(self, "coefficients", given)
        if not np.isfinite(self.travel).all():
            raise InputError("a polynomial spring requires a finite travel")
        slope = np.polynomial.Polynomial((0.0, *given)).deriv()
        extrema = slope.deriv().roots() if len(given) > 1 else np.empty(0)
        inner = np.real(extrema[np.abs(np.imag(extrema)) < 1e-9])
        _check_increasing(slope, np.clip([*self.travel, *inner], *self.travel))

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, gear: Gear) -> PolynomialSpring:
        travel, at = read_travel(entry, where, gear), f"{where}.coefficients"
        given = entries(entry["coefficients"], at, ("values", "torque", "deflection", "side"), ())
        torque, deflection = (
            to_link_side({"unit": given[key], "side": given["side"]}, at, dimension, gear)
            for key, dimension in (("torque", "force"), ("deflection", "angle"))
        )
        values = numbers(given["values"], at)
        coefficients = (c * torque / deflection**i for i, c in enumerate(values, start=1))
        return cls(tuple(coefficients), travel=travel)

    def description(self, force: str, angle: str) -> list[tuple[str, str]]:
        values = f"values: {_row(self.coefficients)}, torque: {force}, deflection: {angle}"
        return [
            ("law: polynomial", ""),
            (f"coefficients: {{{values}, side: link}}", ""),
            (f"travel: {{values: {_row(self.travel)}, unit: {angle}, side: link}}", ""),
        ]

    def polynomials(self) -> tuple[Array, Array]:
        return np.zeros(1), np.array([[0.0, *self.coefficients]])

    @property
    def parameters(self) -> dict[str, float]:
        return {f"c{i}": c for i, c in enumerate(self.coefficients, start=1)}

    def terms(self, phi: Array) -> Array:
        return np.stack([phi**i for i in self.powers], axis=1)

    def with_parameters(self, values: Sequence[float]) -> Spring:
        return PolynomialSpring(tuple(values), travel=self.travel)


@dataclass(frozen=True)
class TableSpring(PiecewisePolynomial):
    """A C4 increasing law through the points of a data sheet or a measurement.

    deflections, torques : (m,) both strictly increasing, m >= 2. The travel is that of the points
        unless a shorter one is given.
    symmetric : the points cover positive deflections only, starting at (0, 0); s is odd.

    The law is a spline of degree 5 through the points, with four pieces between neighbours. It
    minimises the integral of s'''^2 subject to B-spline coefficients of s' of at least 5 % of the
    least slope between neighbours, which keeps s' positive everywhere. Where this bound is
    inactive, it is the natural quintic spline. It passes through the points to within 1e-6 of the
    torque range, and its slope is checked at its extrema. Raises InputError, naming the point, if
    this fails or if the points do not increase.
    """

    deflections: tuple[float, ...]
    torques: tuple[float, ...]
    symmetric: bool = False
    spline: BSpline = field(init=False, repr=False, compare=False)

    law_name = "table"
    required_keys = ("deflection", "torque")
    optional_keys = ("travel", "symmetric")

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = []
        for name in ("deflections", "torques"):
            column = as_array(f"{name} of the spring", getattr(self, name), ())
            if column.ndim != 1 or len(column) < 2:
                raise InputError(f"{name} of the spring: expected at least two points")
            for i in np.flatnonzero(np.diff(column) <= 0.0) + 1:
                raise InputError(
                    f"{name} of the spring must increase, but point {i} has {column[i]:g} after "
                    f"{column[i - 1]:g}"
                )
            object.__setattr__(self, name, tuple(column.tolist()))
            columns.append(column)
        phi, torque = columns
        if len(phi) != len(torque):
            raise InputError(
                f"the spring has {len(phi)} deflections, but {len(torque)} torques; the numbers "
                f"must be equal"
            )
        if self.symmetric:
            if phi[0] != 0.0 or torque[0] != 0.0:
                raise InputError(
                    f"a symmetric table must start at deflection 0 and torque 0, got {phi[0]:g} "
                    f"and {torque[0]:g}"
                )
            phi, torque = (np.concatenate((-row[:0:-1], row)) for row in (phi, torque))
        lower, upper = self.travel
        if -np.inf < lower < phi[0] or np.inf > upper > phi[-1]:
            raise InputError(
                f"travel of the spring: {lower:g} to {upper:g} exceeds the range of the points, "
                f"{phi[0]:g} to {phi[-1]:g}"
            )
        travel = (max(lower, float(phi[0])), min(upper, float(phi[-1])))
        object.__setattr__(self, "travel", travel)
        super().__post_init__()  # its part within the points may be empty

        law = monotone_spline(phi, torque)
        object.__setattr__(self, "spline", law)
        off = np.abs(law(phi) - torque) / (torque[-1] - torque[0])
        if off.max() > 1e-6:
            raise InputError(
                f"cannot fit a smooth increasing law to the points of the spring: near deflection "
                f"{phi[off.argmax()]:g} the fit is off by {off.max():.1e} of the torque range; "
                f"remove the points where the torque jumps"
            )
        from scipy.interpolate import PPoly

        extrema = PPoly.from_spline(law.derivative(2)).roots(extrapolate=False)
        _check_increasing(law.derivative(), np.concatenate((phi, extrema[np.isfinite(extrema)])))

    @classmethod
    def read(cls, entry: Mapping[str, Any], where: str, gear: Gear) -> TableSpring:
        travel, symmetric = read_travel(entry, where, gear), entry.get("symmetric", False)
        if not isinstance(symmetric, bool):
            raise InputError(f"{where}.symmetric: must be true or false, got {symmetric!r}")
        deflections, torques = (
            quantities(entry[key], f"{where}.{key}", dimension, gear)
            for key, dimension in (("deflection", "angle"), ("torque", "force"))
        )
        return cls(tuple(deflections), tuple(torques), symmetric, travel=travel)

    def description(self, force: str, angle: str) -> list[tuple[str, str]]:
        rows = ("deflection", self.deflections, angle), ("torque", self.torques, force)
        lines = [
            f"{key}: {{values: {_row(values)}, unit: {unit}, side: link}}"
            for key, values, unit in rows
        ]
        return [(line, "") for line in ("law: table", *lines)]

    def polynomials(self) -> tuple[Array, Array]:
        # PPoly.from_spline of SciPy 1.15 loses up to four digits.
        law, starts = self.spline, np.unique(self.spline.t)[:-1]
        derivatives = (law, *map(law.derivative, range(1, law.k + 1)))
        rows = [each(starts) / math.factorial(k) for k, each in enumerate(derivatives)]
        return starts, np.stack(rows, axis=1)

    def with_parameters(self, values: Sequence[float]) -> Spring:
        return replace(self, torques=tuple(values[0] * x for x in self.torques))


@dataclass(frozen=True)
class ScaledSpring(Spring):
    """The law `torque` s(`deflection` phi) of a `base` spring s, with its travel to match."""

    base: Spring
    by_torque: float = 1.0
    by_deflection: float = 1.0

    def law(self, phi: Array) -> tuple[Array, ...]:
        rows = self.base.law(self.by_deflection * phi)
        return tuple(
            self.by_torque * self.by_deflection**order * row for order, row in enumerate(rows)
        )

    def potential(self, phi: Array) -> Array:
        return self.by_torque / self.by_deflection * self.base.potential(self.by_deflection * phi)

    def polynomials(self) -> tuple[Array, Array] | None:
        pieces = self.base.polynomials()
        if pieces is None:
            return None
        starts, coefficients = pieces
        powers = self.by_deflection ** np.arange(coefficients.shape[1])
        return starts / self.by_deflection, self.by_torque * powers * coefficients


def read_travel(entry: Mapping[str, Any], where: str, gear: Gear) -> tuple[float, float]:
    """The travel in a YAML entry, infinite without one."""
    if "travel" not in entry:
        return -np.inf, np.inf
    return read_pair(entry["travel"], f"{where}.travel", "angle", gear)


def read_pair(data: Any, where: str, dimension: Dimension, gear: Gear) -> tuple[float, float]:
    """A lower and an upper value."""
    values = quantities(data, where, dimension, gear)
    if len(values) != 2:
        raise InputError(f"{where}: expected two values, lower and upper, got {len(values)}")
    return values[0], values[1]


def _described(key: str, value: float, unit: str) -> str:
    return f"{key}: {{value: {value:.6g}, unit: {unit}, side: link}}"


def _row(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value:.7g}" for value in values) + "]"


def monotone_spline(x: Array, y: Array, *, pieces: int = 4, least: float = 0.05) -> BSpline:
    """The spline of :class:`TableSpring` through the increasing points (x, y), (m,) each.

    Its unknowns are y_0 and the B-spline coefficients of the slope; interpolation and smoothness
    are the rows of a least-squares problem with bounds, the former weighted 1e9 times as heavily.
    """
    from scipy.interpolate import BSpline
    from scipy.optimize import lsq_linear

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
    """The largest s' on the travel. An infinite end is replaced by the deflection at +-`torque`,
    or by zero if `torque` is infinite as well."""
    reach = spring.deflection([-torque, torque], beyond="continue") if torque < np.inf else 0.0
    lower, upper = np.where(np.isfinite(spring.travel), spring.travel, reach)
    return float(spring.stiffness(np.linspace(lower, upper, 101), beyond="continue").max())


def solve_increasing(
    law: Callable[[Array], Sequence[Array]], target: Array, lower: Any, upper: Any
) -> Array:
    """x in [lower, upper] with f(x) = target, for an increasing f, by Newton's method or bisection.

    `law` returns f and f' at an array of the shape of `target`. Where the target is out of reach,
    the result is the nearer end.
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


def _check_increasing(slope: Callable[[Array], Array], places: Array) -> None:
    slopes = slope(places)
    if slopes.min() <= 0.0:
        worst = places[slopes.argmin()]
        raise InputError(
            f"the torque of a spring must increase with its deflection, but at {worst:.6g} its "
            f"stiffness is {slopes.min():.6g}"
        )


def _check_number(name: str, value: float, *, positive: bool = False) -> None:
    number = float(exactly(name, value, ()))
    if number < 0.0 or (positive and number == 0.0):
        right = "greater than zero" if positive else "zero or greater"
        raise InputError(f"{name} of the spring must be {right}, got {number:g}")
