"""Friction, payload and inertial parameters from measured torques, by least squares.

The torques are linear in all of these, tau = Y pi + friction (see `regressor`). The search is
restricted to physically consistent bodies: their pseudo-inertia is positive definite, written as
U U^T with U upper triangular and a positive diagonal (C. Rucker, P. M. Wensing, "Smooth
parameterization of rigid-body inertia", IEEE RA-L 7(2), 2022), which replaces a linear matrix
inequality by ten unconstrained numbers theta.

Torques and regressor pass the same filter (`parallel_filter`), and the covariance takes the
correlation of the errors in time into account (`banded_equations`). With x = x(theta, friction),
J its derivative, H the normal matrix, M the covariance of A^T e and l the weight of the initial
theta, the covariance of x is

    J (P J^T M J P + l^4 s^2 P_theta P_theta^T) J^T,    P = (J^T H J + l^2 1_theta)^-1.

The second term is the share of the prior, whose standard deviation is s; l^2 = v / s^2 with the
mean variance v of the errors, defined such that M is about v H.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from ...core import Array, InputError, as_array
from ...model import MultibodyModel
from ...rigid import inverse_dynamics
from ..signals.banded_equations import BandedEquations, inverse_of, norms, widening
from ..signals.parallel_filter import ParallelFilter
from .joint_friction import COULOMB_VELOCITY, JointFriction
from .regressor import (
    INERTIAL,
    UPPER,
    base_parameters,
    inertial_parameters,
    inverse_dynamics_regressor,
    is_physically_consistent,
    pseudo_inertia,
    with_inertial_parameters,
)

KINDS = ("friction", "payload", "inertia")
FRICTION = ("viscous", "coulomb", "offset")
PRIOR = 1.0  # standard deviation of the log-Cholesky numbers about their initial values
LIGHTEST = 1e-5  # weight of the prior for torques without errors, per root of the samples
PRIOR_SHARE = 0.1  # of a variance; parameters with more are not determined by the torques
ONTO = 1e-3  # relative distance from the combinations that have an effect on the torques
NEAR = 0.5  # standard error of a pseudo-inertia, relative to itself, from which its boundary counts
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
FAR = 50.0  # larger logarithms belong to no realistic body and may overflow


class Estimate(NamedTuple):
    """A value and its standard error; both NaN if the torques do not determine it."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Identified:
    """The result of :func:`identify_parameters`.

    `parameters` (10 n,) are those of the bodies with everything they carry, `payload` (10,) those
    of the payload in the frame of its body. `rms` (2, n) in N m is that of the residuals before and
    after identification, over the `count` samples used (after filtering).

    `estimates` {name: value and standard error}: "JOINT.viscous", "JOINT.coulomb", "JOINT.offset",
    and "BODY.mass", "BODY.mx", ... "BODY.Izz" of the payload or of the bodies, as in
    :func:`parameter_names`. `combinations`, after an identification of "inertia", contains the same
    for the base parameters by their description ("BODY.m +1 OTHER.m ..."): torques determine only
    these combinations, and few parameters of a body alone. The interval of 1.96 standard errors on
    either side contains the true value in 95 % of recordings.
    """

    model: MultibodyModel
    friction: JointFriction
    parameters: Array
    payload: Array | None
    estimates: dict[str, Estimate]
    combinations: dict[str, Estimate]
    rms: Array
    rank: int
    count: int


# long: the steps of one least-squares problem, in order.
# wide: the rows of a recording, and options.
def identify_parameters(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    torque: Any,
    *,
    kinds: Sequence[str] = ("friction",),
    payload_body: str | int | None = None,
    coulomb_velocity: float = COULOMB_VELOCITY,
    prior: float = PRIOR,
    rate: float | None = None,
    cutoff: float | None = None,
    starts: Sequence[int] = (0,),
) -> Identified:
    """Friction, payload or inertial parameters that best explain recorded torques.

    All arrays are (k, n), in chronological order.

    Parameters
    ----------
    kinds : one or more of "friction" (viscous, smooth Coulomb, offset of every joint), "payload"
        (ten parameters of a load on one body, consistent) and "inertia" (all bodies, consistent).
    payload_body : the body that carries the payload; the last one if None.
    coulomb_velocity : rad/s, at which the smooth Coulomb friction is 76 % of its full value.
    prior : standard deviation of the numbers of :func:`log_cholesky` about their initial values.
        Its weight relative to that of the torques follows from the residuals. A payload begins as
        100 g at the origin of its body.
    rate : Hz, of evenly timed samples. Without it, the errors of the samples must be independent of
        each other, or the standard errors are wrong.
    cutoff : Hz, of the filter that torques and regressor pass; None: no filter. The states should
        come from a filter with about twice this cut-off: no later filter restores what they lack.
        Requires a rate.
    starts : indices of the samples at which a stretch without gaps begins.

    Each joint is weighted by the variance of its torque. Raises InputError for unknown kinds, wrong
    shapes, NaN, and too few samples.
    """
    _check_kinds(kinds)
    rows = [
        as_array(x, y, (model.n,)) for x, y in zip(("q", "qd", "qdd"), (q, qd, qdd), strict=True)
    ]
    Q = as_array("torque", torque, (model.n,))
    if any(row.shape != Q.shape for row in rows) or Q.ndim != 2:
        raise InputError(
            f"expected four arrays (k, {model.n}), got {[x.shape for x in (*rows, Q)]}"
        )
    body = model.n - 1 if payload_body is None else model.body_index(payload_body)
    free = range(model.n) if "inertia" in kinds else [body] if "payload" in kinds else []
    with_friction = "friction" in kinds
    known = inertial_parameters(model)
    used = np.array([10 * i + k for i in free for k in range(10)], dtype=np.int64)
    start = _speck() if "payload" in kinds else known[used]
    velocity = coulomb_velocity if with_friction else None
    table = _Table(model, rows, Q, used, velocity, known_inertia="inertia" not in kinds)

    bands, triangle = _sums(table, len(rows[0]), rate, cutoff, starts)
    x_size, count = table.columns, int(bands.counts.sum())
    R, target = triangle[:x_size, :x_size], triangle[:x_size, x_size]
    weight = 0.0
    if free:
        unweighted: Array = np.asarray(np.linalg.lstsq(R, target, rcond=1e-10)[0], np.float64)
        weight = np.sqrt(_mean_variance(bands, unweighted)) / prior
        weight = max(weight, LIGHTEST * np.sqrt(count))
    x = _solved(R, target, start, len(free), weight)
    rank = int(np.linalg.matrix_rank(R / np.maximum(np.linalg.norm(R, axis=0), 1e-300), tol=1e-9))

    parameters = known.copy()
    payload = None
    if "inertia" in kinds:
        parameters[used] = x[: len(used)]
    elif "payload" in kinds:
        payload = x[: len(used)]
        parameters[used] += payload
    viscous, coulomb, offset = (
        x[len(used) :].reshape(3, model.n) if with_friction else np.zeros((3, model.n))
    )
    before = np.zeros(x_size)
    if "inertia" in kinds:
        before[: len(used)] = known
    power = np.stack([bands.power(each).sum(axis=1) for each in (before, x)])
    errors = _Errors(bands, x, len(used), weight, prior)
    names = [f"{model.body_names[i]}.{name}" for i in free for name in ("mass", *INERTIAL[1:])]
    if with_friction:
        names += [f"{joint}.{kind}" for kind in FRICTION for joint in model.joint_names]
    combinations = {}
    if "inertia" in kinds:
        base = base_parameters(model)
        wide = np.zeros((base.rank, x_size))
        wide[:, : len(used)] = base.combination
        combinations = dict(zip(base.describe().splitlines(), errors.of(wide), strict=True))
    return Identified(
        with_inertial_parameters(model, parameters) if len(used) else model,
        JointFriction.smooth_coulomb(viscous, coulomb, offset, coulomb_velocity),
        parameters,
        payload,
        dict(zip(names, errors.of(np.eye(x_size)), strict=True)),
        combinations,
        np.sqrt(power / count) / table.weight,
        rank,
        count,
    )


def _check_kinds(kinds: Sequence[str]) -> None:
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds or len(set(kinds)) != len(kinds):
        raise InputError(
            f"kinds: expected some of {', '.join(KINDS)}, each once; got {list(kinds)}"
        )
    if "payload" in kinds and "inertia" in kinds:
        raise InputError(
            "kinds: torques cannot distinguish a payload from the inertia of its body; choose one"
        )


def consistent_parameters(theta: Any) -> Array:
    """The ten parameters (..., 10) of the body with log-Cholesky numbers theta (..., 10).

    (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3): pseudo-inertia U U^T, U = exp(alpha) times
    [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]. Every theta
    gives a possible body, and every possible body has one.
    """
    U = _upper(as_array("theta", theta, (10,)))
    return _ten(U @ np.swapaxes(U, -1, -2))


def log_cholesky(parameters: Any) -> Array:
    """The inverse (..., 10) of :func:`consistent_parameters`.

    Raises InputError for parameters that are not physically consistent.
    """
    values = as_array("parameters", parameters, (10,))
    if not np.all(is_physically_consistent(values)):
        raise InputError(
            "parameters: not physically consistent: the pseudo-inertia is not positive definite"
        )
    J = pseudo_inertia(values)[..., ::-1, ::-1]
    U = np.linalg.cholesky(J)[..., ::-1, ::-1]  # upper triangular
    scale = U[..., 3, 3]
    u = U / scale[..., None, None]
    diagonal = [np.log(u[..., i, i]) for i in range(3)]
    rest = [u[..., 0, 1], u[..., 1, 2], u[..., 0, 2], u[..., 0, 3], u[..., 1, 3], u[..., 2, 3]]
    return np.stack([np.log(scale), *diagonal, *rest], axis=-1)


def nearest_consistent(parameters: Any, share: float = 1e-4) -> Array:
    """Physically consistent parameters (..., 10) close to the given ones, which may be
    inconsistent.

    Eigenvalues of the second moments about the COM are raised to at least `share` of the largest
    one, and a mass below 1 g to 1 g.
    """
    values = as_array("parameters", parameters, (10,))
    J = pseudo_inertia(values)
    mass = np.maximum(J[..., 3, 3], 1e-3)
    c = J[..., :3, 3] / mass[..., None]
    Sigma = J[..., :3, :3] - mass[..., None, None] * c[..., :, None] * c[..., None, :]
    w, v = np.linalg.eigh(Sigma)
    w = np.maximum(w, np.maximum(share * np.abs(w).max(axis=-1), 1e-7)[..., None])
    Sigma = (v * w[..., None, :]) @ np.swapaxes(v, -1, -2)
    J = np.zeros_like(J)
    J[..., :3, :3] = Sigma + mass[..., None, None] * c[..., :, None] * c[..., None, :]
    J[..., :3, 3] = J[..., 3, :3] = mass[..., None] * c
    J[..., 3, 3] = mass
    return _ten(J)


def _solved(R: Array, target: Array, start: Array, bodies: int, prior: float) -> Array:
    """Least squares of R x = target, the first 10 * bodies of x consistent."""
    count = len(target)
    if bodies == 0:
        scale = np.maximum(np.linalg.norm(R, axis=0), 1e-300)
        return np.asarray(np.linalg.lstsq(R / scale, target, rcond=1e-10)[0] / scale)
    theta = log_cholesky(nearest_consistent(start.reshape(-1, 10)))
    inertial = 10 * bodies

    def split(x: Array) -> Array:
        consistent = consistent_parameters(x[:inertial].reshape(-1, 10)).ravel()
        return np.concatenate([consistent, x[inertial:]])

    def residual(x: Array) -> Array:
        return np.concatenate([R @ split(x) - target, prior * (x[:inertial] - theta.ravel())])

    def derivative(x: Array) -> Array:
        by_x = np.zeros((count, count))
        for i, each in enumerate(x[:inertial].reshape(-1, 10)):
            block = slice(10 * i, 10 * i + 10)
            by_x[block, block] = consistent_derivative(each)
        by_x[inertial:, inertial:] = np.eye(count - inertial)
        hold = np.eye(count)[:inertial] * prior
        return np.concatenate([R @ by_x, hold])

    # The friction enters linearly: start from its best fit at the initial inertia.
    rest = np.linalg.lstsq(
        R[:, inertial:], target - R[:, :inertial] @ consistent_parameters(theta).ravel(), rcond=None
    )[0]
    begin = np.concatenate([theta.ravel(), rest])
    found = least_squares(residual, begin, derivative, method="lm", x_scale="jac", max_nfev=300)
    return split(found.x)


def _upper(theta: Array) -> Array:
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = np.moveaxis(np.clip(theta, -FAR, FAR), -1, 0)
    o, one = np.zeros_like(alpha), np.ones_like(alpha)
    rows = [
        [np.exp(d1), s12, s13, t1],
        [o, np.exp(d2), s23, t2],
        [o, o, np.exp(d3), t3],
        [o, o, o, one],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1)) * np.exp(alpha)[..., None, None]


def consistent_derivative(theta: Array) -> Array:
    """(..., 10, 10) of the ten parameters by theta (..., 10)."""
    U = _upper(theta)
    columns = np.swapaxes(U, -1, -2)
    D = np.zeros((*theta.shape[:-1], 10, 4, 4))
    D[..., 0, :, :] = U @ columns
    for k, (i, j) in enumerate(ENTRIES, start=1):
        size = U[..., i, i] if i == j else U[..., 3, 3]
        D[..., k, i, :] = size[..., None] * columns[..., j, :]
    return np.swapaxes(_ten(D + np.swapaxes(D, -1, -2)), -1, -2)


def _ten(J: Array) -> Array:
    """Parameters (..., 10) of a pseudo-inertia (..., 4, 4)."""
    Sigma = J[..., :3, :3]
    inertia = np.trace(Sigma, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - Sigma
    upper = [inertia[..., i, j] for i, j in UPPER]
    return np.stack([J[..., 3, 3], *(J[..., i, 3] for i in range(3)), *upper], axis=-1)


def _speck() -> Array:
    """The initial payload of the search: 100 g, 10 cm wide, at the origin of its body."""
    parameters = np.zeros(10)
    parameters[0] = 0.1
    parameters[[4, 7, 9]] = 0.1 * 0.05**2
    return parameters


@dataclass(frozen=True, eq=False)
class _Table:
    """The equations of all samples, each joint weighted by the variance of its torque.

    The unknowns are the inertial parameters `used` and, with a velocity, those of the friction. The
    last column is the right side.
    """

    model: MultibodyModel
    rows: list[Array]
    torque: Array
    used: NDArray[np.int64]
    velocity: float | None
    known_inertia: bool

    @property
    def columns(self) -> int:
        """The number of unknowns."""
        return len(self.used) + 3 * self.model.n * (self.velocity is not None)

    @property
    def weight(self) -> Array:
        """(n,) inverse standard deviations of the torques."""
        largest = max(float(np.abs(self.torque).max()), 1e-9)
        return np.asarray(1.0 / np.maximum(self.torque.std(axis=0), 1e-3 * largest))

    def __call__(self, part: slice) -> Array:
        """(k, n, columns + 1) of a slice of the samples."""
        q, qd, qdd = (row[part] for row in self.rows)
        model = self.model
        columns = []
        if len(self.used):
            columns.append(inverse_dynamics_regressor(model, q, qd, qdd).Y[..., self.used])
        if self.velocity is not None:
            factors = qd, np.tanh(qd / self.velocity), np.ones_like(qd)
            columns += [factor[..., None] * np.eye(model.n) for factor in factors]
        if self.known_inertia:
            left = self.torque[part] - inverse_dynamics(model, q, qd, qdd).tau
        else:
            left = self.torque[part] - model.reflected_inertia * qdd
        return np.concatenate([*columns, left[..., None]], axis=-1) * self.weight[:, None]


def _sums(
    table: _Table, total: int, rate: float | None, cutoff: float | None, starts: Sequence[int]
) -> tuple[BandedEquations, Array]:
    """The sums of the filtered equations, and R (p + 1, p + 1) of their QR decomposition."""
    if cutoff is not None and rate is None:
        raise InputError(f"cutoff {cutoff:g} Hz: requires the rate of the samples")
    ends = [*starts[1:], total]
    if list(starts) != sorted(set(starts)) or starts[0] != 0 or starts[-1] >= max(total, 1):
        raise InputError(
            f"starts: must ascend from 0 and be less than the number of samples, {total}"
        )
    stretches = [slice(begin, end) for begin, end in zip(starts, ends, strict=True)]
    filtered = ParallelFilter(rate or 1.0, cutoff)
    counts = [filtered.count(each) for each in stretches]
    n = table.model.n
    if sum(counts) * n < 2 * table.columns:
        reach = f", after filtering over {2 * filtered.reach} samples" if cutoff else ""
        raise InputError(
            f"too few samples: {sum(counts)} of {n} joints{reach}, for {table.columns} parameters; "
            f"at least two torques per parameter are needed"
        )
    # Independent samples have one spectrum, and therefore one band.
    bands = BandedEquations(n, table.columns, filtered.longest(counts) if rate else 1)
    triangle = np.zeros((0, table.columns + 1))
    for stretch in stretches:
        for block in filtered.blocks(table, stretch):
            bands.add(block)
            stacked = np.concatenate([triangle, block.reshape(-1, block.shape[-1])])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    return bands, triangle


def _mean_variance(bands: BandedEquations, x: Array) -> float:
    """v of the errors left by x: the mean of the eigenvalues of H^-1 M."""
    inverse = inverse_of(bands.normal())
    M = bands.covariance(bands.spectra(x)[0])
    size = float(np.trace(inverse @ bands.normal()))
    return float(np.trace(inverse @ M)) / max(size, 1.0)


class _Errors:
    """Standard errors of linear combinations of the parameters x (p,) found by `_solved`.

    The first `inertial` of them depend on log-Cholesky numbers with this weight of their prior.
    """

    def __init__(
        self, bands: BandedEquations, x: Array, inertial: int, weight: float, prior: float
    ) -> None:
        self._bands, self._x, self._inertial = bands, x, inertial
        H, J = bands.normal(), np.eye(len(x))
        held = np.zeros(len(x))
        for k in range(0, inertial, 10):
            block = slice(k, k + 10)
            J[block, block] = consistent_derivative(log_cholesky(nearest_consistent(x[block])))
            held[block] = weight**2
        within = J.T @ H @ J + np.diag(held)
        self._inverse = inverse_of(within)  # P
        self._J, self._prior = J, held * prior  # l^2 s
        self._density, self._spread = bands.spectra(x)
        # Combinations that have an effect at all are in the range of H.
        self._inverse_of_H, self._H, self._norms = inverse_of(H), H, norms(H)
        self._uncertain = self._close_to_the_boundary()

    def _close_to_the_boundary(self) -> NDArray[np.int64]:
        """Indices of the second moments of a payload, if the bounds of physical consistency may
        have shifted them.

        With the pseudo-inertia U U^T and its error D, this is so if the mean square of U^-1 D U^-T
        has an eigenvalue of NEAR^2 or more. For links, which torques determine only in
        combinations, the share of the prior shows the same.
        """
        if self._inertial != 10:
            return np.zeros(0, dtype=np.int64)
        ten = slice(0, 10)
        half = self._J @ self._inverse
        covariance = half @ self._J.T @ self._bands.covariance(self._density) @ self._J @ half.T
        covariance += (half * self._prior) @ (half * self._prior).T
        U = np.linalg.cholesky(pseudo_inertia(nearest_consistent(self._x[ten])))
        total = np.zeros((4, 4))
        sizes, directions = np.linalg.eigh(covariance[ten, ten])
        for size, direction in zip(sizes, directions.T, strict=True):
            E = np.linalg.solve(U, np.linalg.solve(U, pseudo_inertia(direction)).T)
            total += max(float(size), 0.0) * E @ E.T
        return np.arange(4, 10) if np.linalg.eigvalsh(total)[-1] >= NEAR**2 else np.arange(0)

    def of(self, combinations: Array) -> list[Estimate]:
        """Values and standard errors of combinations (m, p) @ x."""
        weights = self._J @ self._inverse @ self._J.T @ combinations.T
        M = self._bands.covariance(self._density)
        variance = np.einsum("pm,pq,qm->m", weights, M, weights)
        variance *= widening(self._bands.freedom(self._density, self._spread, weights)) ** 2
        by_prior = self._prior[:, None] * (self._inverse @ self._J.T @ combinations.T)
        prior = np.sum(by_prior**2, axis=0)
        error = np.sqrt(variance + prior)
        onto = combinations @ self._inverse_of_H @ self._H
        scaled = combinations / self._norms
        away = np.linalg.norm(onto / self._norms - scaled, axis=1)
        size = np.linalg.norm(scaled, axis=1)
        error[size == 0.0] = np.nan
        known = (away < ONTO * size) & (prior <= PRIOR_SHARE * error**2)
        known &= ~np.any(combinations[:, self._uncertain] != 0.0, axis=1)
        values = combinations @ self._x
        return [
            Estimate(float(value), float(each)) if use else Estimate(float("nan"), float("nan"))
            for value, each, use in zip(values, error, known, strict=True)
        ]
