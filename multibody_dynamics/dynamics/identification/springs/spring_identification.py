# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Spring laws from recorded motions: deflection phi = theta - q against joint torque.

The samples obey Q = s(phi) + d phi' + b + noise, with the bias b of the torque sensor, s(0) = 0 and
one of the LAWS. Each is linear in its parameters and fitted by least squares; for the table, bounds
keep s' > 0. Q may come from a sensor, from the link motion (`inverse_dynamics`), or from the motors
(:func:`motor_side_torque`).

The law with the least BIC = N ln(RSS / N) + p ln N is chosen, with p parameters. Recorded noise is
not white (filters, hysteresis, misfit of the law): N here is the number of samples divided by the
correlation time of the residuals, 1 + 2 sum of autocorrelations. The standard errors follow from
the spectrum of the residuals (`banded_equations`).

Noise of variance v in the deflection makes a spring appear softer, by the share v / var(phi): the
true K is then between the estimate and the estimate divided by R^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.optimize import lsq_linear

from ...core import Array, InputError, as_array
from ...elastic import (
    CubicSpring,
    LinearSpring,
    Motor,
    PolynomialSpring,
    SlipElement,
    Spring,
    TableSpring,
    smooth_friction,
)
from ..signals.banded_equations import BandedEquations

LAWS = ("linear", "cubic", "polynomial", "table")
DEGREES = (2, 3, 4, 5)
PIECES = (4, 8, 16)
FEWEST = 50  # samples
SIGNIFICANT = 3.0  # standard errors
OUTLIER = 5.0  # robust standard deviations
BINS = 20  # intervals of the deflection; the scale of the residuals is the median over these
BLOCK = 100_000  # samples whose spectrum is computed together
MANY = 0.1  # of the samples or of the deflection range: leaving out more gives a warning
REACHES = 0.01, 0.3  # of the range of deflections, at which a slip element is tried
NODES = 12  # of them
SLIP_ROUNDS = 2  # of fitting law and slip element in turn
CLEAR = 10.0  # difference of BIC from which a slip element belongs to the law
SOFTEST = 0.02  # least slope of a table, as a share of the mean stiffness


class Parameter(NamedTuple):
    """A value, its standard error and its unit."""

    name: str
    value: float
    error: float
    unit: str

    def __str__(self) -> str:
        return f"{self.name:<20}{self.value:>12.6g} +- {self.error:.2g} {self.unit}"


@dataclass(frozen=True, eq=False)
class SpringFit:
    """The result of :func:`identify_spring` for one joint.

    spring, damping : the law s and d >= 0, N m s/rad. bias : b, N m. parameters : all of these
    with standard errors; for a table, the torques at its points. covered : the deflections that
    occurred, rad. rms : of the residuals, N m. hysteresis : width between the branches of rising
    and falling deflection, N m, with standard error, NaN if the deflection never reverses. slip :
    the element that explains it, if it is significant, with which the law was then fitted, without
    damping. count, independent, outliers : samples used, the equivalent number of independent
    samples, and samples left out.
    tried : BIC of every law that was tried, the best first. recorded : the deflections of all
        samples, outliers too.
    """

    joint: str
    law: str
    spring: Spring
    damping: float
    bias: float
    parameters: tuple[Parameter, ...]
    covered: tuple[float, float]
    rms: float
    r_squared: float
    hysteresis: tuple[float, float]
    count: int
    independent: float
    outliers: int
    tried: tuple[tuple[str, float], ...]
    prismatic: bool = False
    recorded: tuple[float, float] | None = None
    slip: SlipElement | None = None

    def torque(self, deflection: Any, rate: Any = 0.0) -> Array:
        """Predicted torque samples at phi and phi', with damping and bias, N m."""
        s = self.spring.torque(deflection, beyond="continue")
        return np.asarray(s + self.damping * np.asarray(rate) + self.bias)

    def warning(self) -> str:
        """Why leaving out the outliers is questionable (too many, or an entire part of the range);
        empty if it is not."""
        reasons = []
        if self.outliers > MANY * (self.outliers + self.count):
            reasons.append(f"{self.outliers / (self.outliers + self.count):.0%} of the samples")
        if self.recorded is not None:
            lower, upper = self.recorded
            if self.covered[1] - self.covered[0] < (1.0 - MANY) * (upper - lower):
                unit = "m" if self.prismatic else "rad"
                reasons.append(f"the ends of the deflections {lower:.4g} to {upper:.4g} {unit}")
        return (
            f"outliers: {' and '.join(reasons)} left out; compare with a fit of all samples"
            if reasons
            else ""
        )

    def describe(self) -> str:
        """A line for each parameter, and the quality of the fit."""
        force, angle = ("N", "m") if self.prismatic else ("N m", "rad")
        width, error = self.hysteresis
        lines = [f"{self.joint}: {self.law}"]
        lines += [f"    {parameter}" for parameter in self.parameters]
        lines.append(f"    deflections {self.covered[0]:.4g} to {self.covered[1]:.4g} {angle}")
        lines.append(
            f"    residuals {self.rms:.3g} {force} rms, R^2 {self.r_squared:.6f}; {self.count} "
            f"samples, equivalent to {self.independent:.0f} independent ones; {self.outliers} "
            f"outliers left out"
        )
        if self.warning():
            lines.append(f"    WARNING: {self.warning()}")
        if width > SIGNIFICANT * error:
            lines.append(
                f"    hysteresis {width:.3g} +- {error:.2g} {force} between rising and falling"
            )
        if self.r_squared < 0.95:
            lines.append(
                f"    noise of the deflection may make the spring appear up to "
                f"{1 / self.r_squared:.2f} times too soft"
            )
        if len(self.tried) > 1:
            best = self.tried[0][1]
            others = ", ".join(f"{law} (BIC +{bic - best:.0f})" for law, bic in self.tried[1:4])
            lines.append(f"    next best: {others}")
        return "\n".join(lines)

    def to_yaml(self) -> str:
        """The `spring` of the joint's entry in an actuator file, with standard errors as
        comments."""
        force, angle = ("N", "m") if self.prismatic else ("N m", "rad")
        errors = {each.name: each.error for each in self.parameters}
        entries = self.spring.description(force, angle)
        if self.damping > 0.0:
            unit = f"{force} s/{angle}"
            value = f"{{value: {self.damping:.6g}, unit: {unit}, side: link}}"
            entries.append((f"damping: {value}", "damping"))
        if self.slip is not None:
            entries.append((_described(self.slip, force, angle), ""))
        lower, upper = self.covered
        lines = [
            f"# identified from {lower:.4g} to {upper:.4g} {angle}; {self.rms:.2g} {force} rms"
        ]
        if self.warning():
            lines.append(f"# WARNING: {self.warning()}")
        lines += [f"{text}  # +- {errors[name]:.2g}" if name else text for text, name in entries]
        return "\n".join(["spring:", *(f"  {each}" for each in lines)])


def _belongs(slip: _Slip, residuals: Array, independent: float) -> bool:
    """Whether a slip element is significant, and explains clearly more than its two parameters."""
    total = float(residuals @ residuals)
    gain = independent * log(total / max(total - slip.explained, 1e-9 * total))
    error = slip.error(residuals - slip.torque * slip.across)
    return slip.torque > SIGNIFICANT * error and gain > CLEAR


def _described(slip: SlipElement, force: str, angle: str) -> str:
    """A slip element in the `spring` of an actuator file."""
    stiffness = f"{{value: {slip.stiffness:.6g}, unit: {force}/{angle}, side: link}}"
    torque = f"{{value: {slip.torque:.6g}, unit: {force}, side: link}}"
    return f"hysteresis: [{{stiffness: {stiffness}, torque: {torque}}}]"


def identify_spring(
    deflection: Any,
    torque: Any,
    rate: Any = None,
    *,
    law: str = "auto",
    damping: bool | None = None,
    bias: bool = True,
    robust: bool = False,
    joint: str = "joint",
    prismatic: bool = False,
) -> SpringFit:
    """The law of one spring from samples of phi, Q and phi', (k,) each, in chronological order.

    Parameters
    ----------
    rate : phi' in rad/s; without it, damping is not identified.
    law : one of LAWS, or "auto": the smallest BIC decides.
    damping : whether the spring has a damper; None: the smallest BIC decides.
    bias : whether the torque may have a constant error. It is zero for a table whose deflections do
        not include zero, because it cannot be separated from that law.
    robust : leave out samples beyond OUTLIER robust standard deviations of an iteratively
        reweighted fit.
    joint : its name, for messages. prismatic : units N and m instead of N m and rad.

    Raises InputError, with the reason, for insufficient data: too few samples, no movement of the
    deflection, an insignificant or negative stiffness, no increasing law.
    """
    phi, Q = as_array("deflection", deflection, ()), as_array("torque", torque, ())
    given = [phi, Q] if rate is None else [phi, Q, as_array("rate", rate, ())]
    if phi.ndim != 1 or any(row.shape != phi.shape for row in given):
        shapes = ", ".join(str(row.shape) for row in given)
        raise InputError(f"joint '{joint}': expected rows (k,) of equal length, got {shapes}")
    if law != "auto" and law not in LAWS:
        raise InputError(f"law '{law}': must be auto or one of {', '.join(LAWS)}")
    if damping and rate is None:
        raise InputError(f"joint '{joint}': damping requires the rate of the deflection")
    phid = None if rate is None else given[2]
    try:
        _require_excitation(phi, Q)
        keep = _inliers(phi, Q, phid) if robust else np.ones(len(phi), dtype=bool)
        recorded = float(phi.min()), float(phi.max())
        phi, Q, phid = phi[keep], Q[keep], None if phid is None else phid[keep]
        found = _fits(phi, Q, phid, law, damping, bias)
    except InputError as error:
        raise InputError(f"joint '{joint}': {error}") from None

    richest = min(found, key=lambda fit: float(fit.residuals @ fit.residuals))
    independent = len(Q) / correlation_time(richest.residuals)
    ranked = sorted(found, key=lambda fit: fit.bic(independent))
    best, slip = ranked[0], _hysteresis(ranked[0], phi)
    width, element = (float("nan"), float("nan")), None
    if slip is not None and _belongs(slip, best.residuals, independent):
        for _ in range(SLIP_ROUNDS):
            ranked = _fits(phi, Q - slip.torque * slip.shape, phid, law, False, bias)
            independent = len(Q) / correlation_time(ranked[-1].residuals)
            ranked = sorted(ranked, key=lambda fit: fit.bic(independent))
            best = ranked[0]
            whole = replace(best, residuals=best.residuals + slip.torque * slip.shape)
            slip = _hysteresis(whole, phi) or slip
        element = SlipElement(slip.torque / slip.reach, slip.torque)
        width = abs(2.0 * slip.torque), 2.0 * slip.error(best.residuals)
    elif slip is not None:
        left = best.residuals - slip.torque * slip.across
        width = abs(2.0 * slip.torque), 2.0 * slip.error(left)
    return SpringFit(
        joint,
        best.name,
        best.spring,
        best.damping,
        best.bias,
        best.parameters("N" if prismatic else "N m", "m" if prismatic else "rad"),
        (float(phi.min()), float(phi.max())),
        float(np.sqrt(np.mean(best.residuals**2))),
        float(1.0 - np.var(best.residuals) / np.var(Q)),
        width,
        len(Q),
        independent,
        int((~keep).sum()),
        tuple((fit.name, fit.bic(independent)) for fit in ranked),
        prismatic,
        recorded,
        element,
    )


def motor_side_torque(motor: Motor, velocity: Any, acceleration: Any, motor_torque: Any) -> Array:
    """Q = tau_m - M_m theta'' - friction(theta') in N m, all on the link side of the gear."""
    v = as_array("velocity", velocity, ())
    friction = smooth_friction(v, motor.viscous, motor.coulomb, motor.coulomb_velocity)
    inertial = motor.inertia * as_array("acceleration", acceleration, ())
    return np.asarray(as_array("motor_torque", motor_torque, ()) - inertial - friction)


def correlation_time(residuals: Array) -> float:
    """Correlation time in samples: 1 + 2 sum rho_k, up to k of five times the result (Sokal)."""
    x = residuals - residuals.mean()
    size = len(x)
    power = np.abs(np.fft.rfft(x, 2 * size)) ** 2
    correlation = np.fft.irfft(power)[: max(size // 4, 1)]
    if correlation[0] <= 0.0:
        return 1.0
    times = 2.0 * np.cumsum(correlation / correlation[0]) - 1.0
    enough = np.arange(len(times)) >= 5.0 * times
    return float(max(1.0, times[np.argmax(enough) if enough.any() else -1]))


class _Slip(NamedTuple):
    """torque : at which the element slips, N m. reach : its deflection then, rad. shape : (k,) its
    torque over `torque`, and across : (k,) what the law leaves of it. explained : sum of
    squares."""

    torque: float
    reach: float
    shape: Array
    across: Array
    explained: float

    def error(self, left: Array) -> float:
        """The standard error of the torque, from the residuals (k,) that law and element leave."""
        return float(_standard_errors(self.across[:, None], left, np.eye(1))[0])


@dataclass(frozen=True, eq=False)
class _Law:
    """A law linear in its parameters: the columns (k, p), a mask of the parameters that are slopes
    and must be positive, and the spring for given values."""

    name: str
    columns: Callable[[Array], Array]
    rising: NDArray[np.bool_]
    spring: Callable[[Array], Spring]
    names: tuple[tuple[str, int], ...] = ()  # with the power of the deflection; empty for a table
    owns_constant: bool = False


@dataclass(frozen=True, eq=False)
class _Fit:
    name: str
    law: _Law
    spring: Spring
    values: Array  # of the law, then damping, then bias
    damped: bool
    biased: bool
    design: Array
    residuals: Array

    @property
    def damping(self) -> float:
        return float(self.values[len(self.law.rising)]) if self.damped else 0.0

    @property
    def bias(self) -> float:
        return float(self.values[-1]) if self.biased else 0.0

    def bic(self, independent: float) -> float:
        size, p = len(self.residuals), len(self.values)
        variance = max(float(self.residuals @ self.residuals) / size, 1e-300)
        return independent * log(variance) + p * log(max(independent, 2.0))

    def parameters(self, force: str, angle: str) -> tuple[Parameter, ...]:
        errors = _standard_errors(self.design, self.residuals, np.eye(len(self.values)))
        parameters = [
            Parameter(name, float(value), float(error), _unit(force, angle, power))
            for (name, power), value, error in zip(
                self.law.names, self.values, errors, strict=False
            )
        ]
        if isinstance(self.spring, TableSpring):
            points = np.array(self.spring.deflections)
            count = len(self.law.rising)
            rows = np.zeros((len(points), len(self.values)))
            rows[:, :count] = self.law.columns(points)
            torques = self.spring.torques
            spread = _standard_errors(self.design, self.residuals, rows)
            parameters += [
                Parameter(f"s({x:.4g})", float(y), float(error), force)
                for x, y, error in zip(points, torques, spread, strict=True)
            ]
        if self.damped:
            error = float(errors[len(self.law.rising)])
            parameters.append(Parameter("damping", self.damping, error, f"{force} s/{angle}"))
        if self.biased:
            parameters.append(Parameter("bias", self.bias, float(errors[-1]), force))
        return tuple(parameters)


def _standard_errors(design: Array, residuals: Array, combinations: Array) -> Array:
    """Standard errors (m,) of combinations (m, p) of the parameters of a design (k, p)."""
    scale = np.linalg.norm(design, axis=0)
    table = np.column_stack((design / scale, residuals))
    parts = np.array_split(table, -(-len(design) // BLOCK))
    bands = BandedEquations(table.shape[1], len(parts[0]))
    for part in parts:
        bands.add(part)
    return bands.standard_errors(np.zeros(len(scale)), combinations / scale)


def _unit(force: str, angle: str, power: int) -> str:
    return f"{force}/{angle}" + (f"^{power}" if power > 1 else "")


def _laws(phi: Array, law: str) -> list[_Law]:
    lower, upper = float(phi.min()), float(phi.max())
    free = np.zeros(max(DEGREES), dtype=bool)
    laws = []
    if law in ("auto", "linear"):
        laws.append(
            _Law("linear", _powers(1), free[:1], lambda c: LinearSpring(float(c[0])), (("K", 1),))
        )
    if law in ("auto", "cubic"):
        laws.append(
            _Law(
                "cubic",
                _powers(1, 3),
                free[:2],
                lambda c: CubicSpring(float(c[0]), float(c[1])),
                (("K", 1), ("K3", 3)),
            )
        )
    if law in ("auto", "polynomial"):
        for degree in DEGREES:
            orders = tuple(range(1, degree + 1))
            laws.append(
                _Law(
                    f"polynomial of degree {degree}",
                    _powers(*orders),
                    free[:degree],
                    lambda c: PolynomialSpring(tuple(c.tolist()), travel=(lower, upper)),
                    tuple((f"c{i}", i) for i in orders),
                )
            )
    if law in ("auto", "table"):
        laws += [_table(lower, upper, pieces) for pieces in PIECES]
    return laws


def _powers(*orders: int) -> Callable[[Array], Array]:
    return lambda phi: np.stack([phi**i for i in orders], axis=-1)


def _table(lower: float, upper: float, pieces: int) -> _Law:
    """A cubic spline on equal pieces, by the B-spline coefficients of its slope, which bounds keep
    positive; zero at zero deflection if the samples include it, else with its own constant."""
    degree = 3
    breaks = np.linspace(lower, upper, pieces + 1)
    knots = np.concatenate((np.full(degree, lower), breaks, np.full(degree, upper)))
    count = len(knots) - degree - 1
    from_slopes = np.tril(np.ones((count, count)))
    from_slopes[:, 1:] *= (knots[degree + 1 : -1] - knots[1:count]) / degree
    basis = BSpline(knots, from_slopes, degree)
    crosses_zero = lower < 0.0 < upper
    first = 1 if crosses_zero else 0
    origin = basis(0.0)[first:] if crosses_zero else np.zeros(count)
    points = np.linspace(lower, upper, pieces + 1)

    def columns(phi: Array) -> Array:
        return np.asarray(basis(np.clip(phi, lower, upper))[..., first:] - origin)

    def spring(values: Array) -> Spring:
        return TableSpring(tuple(points.tolist()), tuple((columns(points) @ values).tolist()))

    rising = np.arange(count) > 0
    return _Law(
        f"table of {pieces + 1} points", columns, rising[first:], spring, (), not crosses_zero
    )


def _fits(
    phi: Array, Q: Array, phid: Array | None, law: str, damping: bool | None, bias: bool
) -> list[_Fit]:
    choices = [damping] if damping is not None else [False] + [True] * (phid is not None)
    fits, reasons = [], []
    for each in _laws(phi, law):
        for damped in choices:
            try:
                fits.append(_fit(each, phi, Q, phid if damped else None, bias))
            except InputError as error:
                reasons.append(f"{each.name}: {error}")
    if not fits:
        raise InputError(f"no spring law fits: {'; '.join(reasons)}")
    return fits


def _fit(law: _Law, phi: Array, Q: Array, phid: Array | None, bias: bool) -> _Fit:
    columns = [law.columns(phi)]
    if phid is not None:
        columns.append(phid[:, None])
    biased = bias and not law.owns_constant
    if biased:
        columns.append(np.ones((len(phi), 1)))
    X = np.concatenate(columns, axis=1)
    slope = np.polynomial.polynomial.polyfit(phi, Q, 1)[1]
    lower = np.full(X.shape[1], -np.inf)
    lower[: len(law.rising)][law.rising] = SOFTEST * slope
    values = _least_squares(X, Q, lower)
    spring = law.spring(values[: len(law.rising)])
    count = len(law.rising)
    if phid is not None and values[count] <= 0.0:
        raise InputError(f"its damping of {values[count]:.3g} is not positive")
    name = law.name + (", damped" if phid is not None else "")
    predicted = X @ values
    if isinstance(spring, TableSpring):
        predicted += spring.torque(phi, beyond="continue") - X[:, :count] @ values[:count]
    return _Fit(name, law, spring, values, phid is not None, biased, X, Q - predicted)


def _least_squares(X: Array, y: Array, lower: Array) -> Array:
    """The parameters above their lower bounds."""
    scale = np.linalg.norm(X, axis=0)
    if not (scale > 0.0).all():
        raise InputError("parts of its deflection range contain no samples")
    together = np.concatenate((X / scale, y[:, None]), axis=1)
    R: Array = np.asarray(np.linalg.qr(together, mode="r"))
    square, target = R[:-1, :-1], R[:-1, -1]
    if np.linalg.cond(square) > 1e8:
        raise InputError("the samples do not determine its parameters separately")
    if np.isinf(lower).all():
        values = np.linalg.solve(square, target)
    else:
        values = lsq_linear(square, target, (lower * scale, np.inf), method="bvls").x
    return np.asarray(values / scale)


def _hysteresis(best: _Fit, phi: Array) -> _Slip | None:
    """The slip element that explains most of the residuals beside the law; None if the deflection
    never reverses."""
    reaches = np.geomspace(*REACHES, NODES) * float(np.ptp(phi))
    X, slip = best.design, None
    for reach, own in zip(reaches, play(phi, reaches).T, strict=True):
        across = own - X @ np.linalg.lstsq(X, own, rcond=None)[0]
        size = float(across @ across)
        if size < 1e-6 * len(own):
            continue
        torque = float(across @ best.residuals) / size
        if slip is None or torque**2 * size > slip.explained:
            slip = _Slip(torque, float(reach), own, across, torque**2 * size)
    return slip


def play(phi: Array, reaches: Array) -> Array:
    """z (k, r) of slip elements with the given deflections at which they slip: each follows phi and
    is limited to -1 and 1 there. It starts at zero."""
    state, found = np.zeros(len(reaches)), np.empty((len(phi), len(reaches)))
    for k, step in enumerate(np.diff(phi, prepend=phi[:1])):
        state = np.clip(state + step / reaches, -1.0, 1.0)
        found[k] = state
    return found


def _inliers(phi: Array, Q: Array, phid: Array | None) -> NDArray[np.bool_]:
    """Mask of the samples to keep, by residuals of a polynomial of degree 5 with Huber's weights.

    The scale of the residuals is the median over equal bins of the deflection: a joint that rests
    for most of the time has most samples at one place, with less noise than in motion.
    """
    lower, upper = np.quantile(phi, (0.005, 0.995))
    which = np.clip(np.floor(BINS * (phi - lower) / max(upper - lower, 1e-300)), 0, BINS - 1)
    bins = [members for b in range(BINS) if (members := which == b).sum() >= FEWEST / 10]
    scaled = phi / np.abs(phi).max()
    columns = [scaled**i for i in range(max(DEGREES) + 1)] + ([] if phid is None else [phid])
    X = np.stack(columns, axis=-1)
    weight = np.ones(len(Q))
    for _ in range(20):
        root = np.sqrt(weight)
        residual = Q - X @ np.linalg.lstsq(X * root[:, None], Q * root, rcond=None)[0]
        residual -= np.median([np.median(residual[each]) for each in bins])
        size = np.abs(residual)
        spread = 1.4826 * float(np.median([np.median(size[each]) for each in bins]))
        if spread == 0.0:
            return np.ones(len(Q), dtype=bool)
        weight = np.minimum(1.0, 1.345 * spread / np.maximum(size, 1e-300))
    return np.asarray(size <= OUTLIER * spread)


def _require_excitation(phi: Array, Q: Array) -> None:
    """Raise InputError if the samples do not determine a positive stiffness."""
    if len(phi) < FEWEST:
        raise InputError(f"{len(phi)} samples; at least {FEWEST} are needed")
    spread, values = float(np.ptp(phi)), len(np.unique(phi))
    if values < ceil(FEWEST / 10):
        raise InputError(
            f"the deflection hardly changed ({values} distinct values within {spread:.3g}); "
            f"move the joint under varying torques, or model it as rigid"
        )
    x = phi - phi.mean()
    slope = float(x @ Q) / float(x @ x)
    residuals = Q - Q.mean() - slope * x
    error = np.sqrt(np.mean(residuals**2) / float(x @ x) * correlation_time(residuals))
    error = max(error, 1e-9 * float(np.abs(Q).max()) / spread)  # rounding
    if slope < -SIGNIFICANT * error:
        raise InputError(
            f"the torque falls with the deflection ({slope:.4g}); check the signs: the deflection "
            f"is motor minus link position, and positive torque is exerted by the motor on the link"
        )
    if slope <= SIGNIFICANT * error:
        raise InputError(
            f"deflections of {spread:.3g} do not determine the stiffness: {slope:.3g} +- "
            f"{error:.2g}; excite the joint more, or model it as rigid"
        )
