"""Friction, payload and inertial parameters from measured torques, by least squares.

The torques are linear in all of these, tau = Y pi + friction (see `regressor`). The search is
restricted to physically consistent bodies: their pseudo-inertia is positive definite, written as
U U^T with U upper triangular and a positive diagonal (C. Rucker, P. M. Wensing, "Smooth
parameterization of rigid-body inertia", IEEE RA-L 7(2), 2022), which replaces a linear matrix
inequality by ten unconstrained numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from ..core import Array, InputError, as_array
from ..model import MultibodyModel
from ..rigid import inverse_dynamics
from .joint_friction import COULOMB_VELOCITY, JointFriction
from .regressor import (
    UPPER,
    inertial_parameters,
    inverse_dynamics_regressor,
    is_physically_consistent,
    pseudo_inertia,
    with_inertial_parameters,
)

KINDS = ("friction", "payload", "inertia")
FRICTION = ("viscous", "coulomb", "offset")
PRIOR = 1e-3  # weight of the initial values, per body, as a share of the torques' variance
ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
FAR = 50.0  # larger logarithms belong to no realistic body and may overflow
CHUNK = 2000  # states whose regressor is in memory at a time


@dataclass(frozen=True, eq=False)
class Identified:
    """The result of :func:`identify_parameters`.

    `parameters` (10 n,) are those of the bodies with everything they carry, `payload` (10,) those
    of the payload in the frame of its body. `errors` {name: standard error} of the friction assume
    white residuals. `rms` (2, n) in N m is that of the residuals before and after identification,
    over the samples used.
    """

    model: MultibodyModel
    friction: JointFriction
    parameters: Array
    payload: Array | None
    errors: dict[str, float]
    rms: Array
    rank: int


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
) -> Identified:
    """Friction, payload or inertial parameters that best explain recorded torques.

    All arrays are (k, n).

    Parameters
    ----------
    kinds : one or more of "friction" (viscous, smooth Coulomb, offset of every joint), "payload"
        (ten parameters of a load on one body, consistent) and "inertia" (all bodies, consistent).
    payload_body : the body that carries the payload; the last one if None.
    coulomb_velocity : rad/s, at which the smooth Coulomb friction is 76 % of its full value.
    prior : weight, relative to the variance of the torques, of the regularisation that keeps
        parameters near their initial values if the torques do not determine them. Each joint is
        weighted by its own variance.

    Raises InputError for unknown kinds, wrong shapes, NaN, and too few samples.
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

    count = len(used) + 3 * model.n * with_friction
    if len(Q) * model.n < 2 * count:
        raise InputError(
            f"too few samples: {len(Q)} of {model.n} joints for {count} parameters; at least two "
            f"torques per parameter are needed"
        )
    weight = 1.0 / np.maximum(Q.std(axis=0), 1e-3 * max(float(np.abs(Q).max()), 1e-9))
    before = _residual(model, rows, JointFriction.none(model.n), Q)
    left = Q - model.reflected_inertia * rows[2] if "inertia" in kinds else before
    velocity = coulomb_velocity if with_friction else None
    triangle = _triangle(model, rows, left, used, weight, velocity)
    R, target = triangle[:count, :count], triangle[:count, count]
    free_values = _solved(R, target, start, len(free), prior * np.sqrt(len(Q)))
    rank = int(np.linalg.matrix_rank(R / np.maximum(np.linalg.norm(R, axis=0), 1e-300), tol=1e-9))

    inertial = free_values[: len(used)]
    parameters = known.copy()
    payload = None
    if "inertia" in kinds:
        parameters[used] = inertial
    elif "payload" in kinds:
        payload = inertial
        parameters[used] += inertial
    viscous, coulomb, offset = (
        free_values[len(used) :].reshape(3, model.n) if with_friction else np.zeros((3, model.n))
    )
    friction = JointFriction.smooth_coulomb(viscous, coulomb, offset, coulomb_velocity)
    found = with_inertial_parameters(model, parameters) if len(used) else model
    after = _residual(found, rows, friction, Q)
    freedom = max(1.0 - rank / Q.size, 1.0 / Q.size)
    variance = ((after * weight) ** 2).mean(axis=0) / freedom
    return Identified(
        found,
        friction,
        parameters,
        payload,
        _errors(R, variance, model, len(used), with_friction),
        np.sqrt(np.stack([np.mean(before**2, axis=0), np.mean(after**2, axis=0)])),
        rank,
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
            by_x[block, block] = _derivative(each)
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


def _derivative(theta: Array) -> Array:
    """(10, 10) of the ten parameters by theta (10,)."""
    U = _upper(theta)
    scale = np.exp(theta[0])
    columns = [_ten(2.0 * U @ U.T)]
    for i, j in ENTRIES:
        D = np.zeros((4, 4))
        D[i, j] = U[i, i] if i == j else scale
        columns.append(_ten(D @ U.T + U @ D.T))
    return np.stack(columns, axis=-1)


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


def _friction_columns(qd: Array, coulomb_velocity: float) -> list[Array]:
    n = qd.shape[-1]
    factors = qd, np.tanh(qd / coulomb_velocity), np.ones_like(qd)
    return [factor[..., None] * np.eye(n) for factor in factors]


def _triangle(
    model: MultibodyModel,
    rows: list[Array],
    left: Array,
    used: NDArray[np.int64],
    weight: Array,
    coulomb_velocity: float | None,
) -> Array:
    """R (p + 1, p + 1) of a QR decomposition of the weighted equations of all samples.

    The unknowns are the inertial parameters `used` and, with a velocity, those of the friction; the
    last column is the right side `left` (k, n). Regressors are large and therefore computed for
    CHUNK states at a time.
    """
    triangle: Array | None = None
    for begin in range(0, len(left), CHUNK):
        part = slice(begin, begin + CHUNK)
        columns = [inverse_dynamics_regressor(model, *(row[part] for row in rows)).Y[..., used]]
        if coulomb_velocity is not None:
            columns += _friction_columns(rows[1][part], coulomb_velocity)
        table = np.concatenate([*columns, left[part, :, None]], axis=-1) * weight[:, None]
        stacked = table.reshape(-1, table.shape[-1])
        if triangle is not None:
            stacked = np.concatenate([triangle, stacked])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    assert triangle is not None
    return triangle


def _residual(model: MultibodyModel, rows: list[Array], friction: JointFriction, Q: Array) -> Array:
    """(k, n) torques Q (k, n) less those of the model and of the friction."""
    wanted = inverse_dynamics(model, *rows).tau
    return np.asarray(Q - wanted - friction.torque(rows[1]))


def _errors(
    R: Array, variance: Array, model: MultibodyModel, inertial: int, with_friction: bool
) -> dict[str, float]:
    """Standard errors of the friction, with the inertial parameters marginalised: these come first
    in R, so the last rows of R contain the friction after a fit of the inertias."""
    if not with_friction:
        return {}
    square = R[inertial:, inertial:]
    inverse = np.linalg.pinv(square.T @ square)
    names = [f"{joint}.{kind}" for kind in FRICTION for joint in model.joint_names]
    spread = np.sqrt(np.tile(variance, len(FRICTION)) * np.diag(inverse))
    return {name: float(error) for name, error in zip(names, spread, strict=True)}
