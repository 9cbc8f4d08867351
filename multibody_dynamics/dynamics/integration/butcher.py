# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Explicit Runge-Kutta methods, defined by their Butcher tableaux.

    k_j = F(t + c_j h, x + h sum_l a_jl k_l),     x(t + h) = x + h sum_j b_j k_j

A second row of weights estimates the error; polynomials b_j(s) give the state at t + s h within the
step (dense output). See Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I,
sections II.1, II.5 and II.6.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Array, InputError, as_array, read_only


@dataclass(frozen=True, eq=False)
class ButcherTableau:
    """An explicit Runge-Kutta method of s stages; immutable.

    Attributes
    ----------
    a : (s, s), zero on and above the diagonal.
    b : (s,) weights, with sum 1.
    order : order of the method.
    error : (s,) b minus the weights of an embedded method; None for fixed steps only.
    error_order : the lower of the two orders.
    dense : (s, d) coefficients of b_j(s) for the powers s, s^2, ... s^d; None without dense output.

    Raises InputError for an implicit or inconsistent method.
    """

    name: str
    a: Array
    b: Array
    order: int
    error: Array | None = None
    error_order: int = 0
    dense: Array | None = None

    def __post_init__(self) -> None:
        what = f"method '{self.name}'"
        b = as_array(f"{what}: b", self.b, (np.shape(self.b)[-1],))
        fixed: dict[str, Any] = {"a": as_array(f"{what}: a", self.a, (b.size, b.size)), "b": b}
        if self.error is not None:
            fixed["error"] = as_array(f"{what}: error", self.error, b.shape)
        if self.dense is not None:
            fixed["dense"] = as_array(f"{what}: dense", self.dense, np.shape(self.dense)[-1:])
        if np.triu(fixed["a"]).any():
            raise InputError(
                f"{what}: only explicit methods are supported; a must be zero on and above the "
                "diagonal"
            )
        if abs(b.sum() - 1.0) > 1e-12:
            raise InputError(f"{what}: the weights b sum to {b.sum():g}, not to 1")
        for key, value in fixed.items():
            object.__setattr__(self, key, read_only(value))

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def c(self) -> Array:
        """(s,) times of the stages as fractions of the step: the row sums of a."""
        return np.asarray(self.a.sum(axis=1))

    def weights(self, s: float) -> Array:
        """b_j(s) (s,), the weights of the state at t + s h; InputError without dense output."""
        if self.dense is None:
            raise InputError(f"method '{self.name}' has no dense output")
        return np.asarray(self.dense @ s ** np.arange(1, self.dense.shape[1] + 1))


def _lower(*rows: Any) -> Array:
    """The square matrix with these rows below the diagonal."""
    a = np.zeros((len(rows) + 1, len(rows) + 1))
    for j, row in enumerate(rows):
        a[j + 1, : j + 1] = row
    return a


EULER = ButcherTableau("euler", _lower(), [1.0], 1)  # type: ignore[arg-type]
MIDPOINT = ButcherTableau("rk2", _lower([1 / 2]), np.array([0, 1.0]), 2)
HEUN = ButcherTableau("heun", _lower([1]), np.array([1, 1]) / 2, 2)
KUTTA = ButcherTableau("rk3", _lower([1 / 2], [-1, 2]), np.array([1, 4, 1]) / 6, 3)
RK4 = ButcherTableau("rk4", _lower([1 / 2], [0, 1 / 2], [0, 0, 1]), np.array([1, 2, 2, 1]) / 6, 4)
DORMAND_PRINCE = ButcherTableau(
    "dormand_prince",
    _lower(
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ),
    np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0]),
    5,
    error=np.array(
        [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
    ),
    error_order=4,
    # Shampine 1986: order 4, with a derivative that is continuous between steps.
    dense=np.array(
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408,
             701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    ),
)  # fmt: skip

METHODS = {method.name: method for method in (EULER, MIDPOINT, HEUN, KUTTA, RK4, DORMAND_PRINCE)}


def tableau(method: str | ButcherTableau) -> ButcherTableau:
    """The tableau of this name, or `method` itself; InputError for an unknown name."""
    if isinstance(method, ButcherTableau):
        return method
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; known: {', '.join(METHODS)}")
    return METHODS[method]
