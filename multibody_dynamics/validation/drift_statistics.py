# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sufficient statistics of torque residuals: all that is kept of days of motion.

Two kinds of equations explain the residuals e = measured - predicted, with small changes x of the
model's parameters as unknowns:

    torque of joint j   e_j = Y_j(q, q', q'') (m, m c) + viscous q'_j + Coulomb tanh(q'_j / v)
                              + offset
    spring of joint j   Q_j - f_j(theta - q) = change f_j(theta - q) + offset

with mass m and first moment m c of a payload, which all torques share. Sums of A^T A, A^T e and e^2
for every equation contain everything that least squares needs, in a few kilobytes for any length of
time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dynamics.core import Array
from ..dynamics.elastic import Actuators
from ..dynamics.identification import inverse_dynamics_regressor
from .comparison import Compared
from .settings import Robot

WIDTH = 7  # unknowns of one equation: four of a payload, three of a joint
LOAD = 4  # mass and first moment of a payload
OWN = 3  # viscous and Coulomb friction, offset
SPRING = 2  # relative change, offset
AT_REST = 0.02  # rad/s or m/s: slower joints may stick, and their friction can have any value
COULOMB_VELOCITY = 0.05  # rad/s or m/s, at which Coulomb friction is 76 % of its full value
SIZE = WIDTH**2 + WIDTH + 2  # numbers of one equation


class Layout(NamedTuple):
    """The unknowns of a robot with n joints, in one vector: payload, joints, springs."""

    n: int

    @property
    def size(self) -> int:
        return LOAD + (OWN + SPRING) * self.n

    def joint(self, j: int) -> NDArray[np.int64]:
        """Viscous and Coulomb friction and offset of a joint."""
        return np.arange(LOAD + OWN * j, LOAD + OWN * (j + 1))

    def spring(self, j: int) -> NDArray[np.int64]:
        """Relative change and offset of a spring."""
        first = LOAD + OWN * self.n + SPRING * j
        return np.arange(first, first + SPRING)

    def equation(self, k: int) -> NDArray[np.int64]:
        """The unknowns of equation k: torques of all joints, then their springs."""
        if k < self.n:
            return np.concatenate([np.arange(LOAD), self.joint(k)])
        return self.spring(k - self.n)


@dataclass(frozen=True, eq=False)
class DriftSums:
    """Sums over the samples of 2 n equations, each over its own unknowns, padded by zeros.

    packed : all numbers in one row, as in files: normal (2n, WIDTH, WIDTH), right (2n, WIDTH),
    square (2n,), count (2n,), which are the sums of A^T A, A^T e, e^2 and 1, and seconds, the
    duration of the motion.
    """

    packed: Array

    @classmethod
    def none(cls, n: int) -> DriftSums:
        """The sums of no samples, of a robot with n joints."""
        return cls(np.zeros(2 * n * SIZE + 1))

    @classmethod
    def of_torques(
        cls, A: Array, error: Array, used: NDArray[np.bool_], seconds: float
    ) -> DriftSums:
        """The sums of k samples of the torques: A (k, n, WIDTH), error and `used` (k, n)."""
        found = cls._of(A, error, used, 0)
        found.packed[-1] = seconds
        return found

    @classmethod
    def of_springs(cls, A: Array, error: Array, used: NDArray[np.bool_]) -> DriftSums:
        """The sums of k samples of the springs: A (k, n, SPRING), error and `used` (k, n)."""
        wide = np.zeros((*A.shape[:2], WIDTH))
        wide[..., :SPRING] = A
        return cls._of(wide, error, used, error.shape[1])

    @classmethod
    def _of(cls, A: Array, error: Array, used: NDArray[np.bool_], first: int) -> DriftSums:
        sums = cls.none(error.shape[1])
        A, error = np.where(used[..., None], A, 0.0), np.where(used, error, 0.0)
        rows = slice(first, first + error.shape[1])
        sums.normal[rows] = np.einsum("knp,knq->npq", A, A)
        sums.right[rows] = np.einsum("knp,kn->np", A, error)
        sums.square[rows] = (error**2).sum(axis=0)
        sums.count[rows] = used.sum(axis=0)
        return sums

    def __add__(self, other: DriftSums) -> DriftSums:
        return DriftSums(self.packed + other.packed)

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.packed) // (2 * SIZE)

    def _part(self, begin: int, *shape: int) -> Array:
        """A view of the numbers that follow the first `begin` of every equation."""
        k = 2 * self.n
        return self.packed[begin * k : (begin + prod(shape)) * k].reshape(k, *shape)

    @property
    def normal(self) -> Array:
        """(2n, WIDTH, WIDTH)"""
        return self._part(0, WIDTH, WIDTH)

    @property
    def right(self) -> Array:
        """(2n, WIDTH)"""
        return self._part(WIDTH**2, WIDTH)

    @property
    def square(self) -> Array:
        """(2n,)"""
        return self._part(SIZE - 2)

    @property
    def count(self) -> Array:
        """(2n,)"""
        return self._part(SIZE - 1)

    @property
    def seconds(self) -> float:
        """Duration of the motion."""
        return float(self.packed[-1])

    def weighted(self, variance: Array) -> tuple[Array, Array]:
        """Normal matrix (p, p) and right-hand side (p,) of all equations, each divided by its
        variance (2n,); equations with an infinite variance are left out."""
        layout = Layout(self.n)
        W, u = np.zeros((layout.size, layout.size)), np.zeros(layout.size)
        for k in np.flatnonzero(np.isfinite(variance)):
            places = layout.equation(int(k))
            c = len(places)
            W[np.ix_(places, places)] += self.normal[k, :c, :c] / variance[k]
            u[places] += self.right[k, :c] / variance[k]
        return W, u


def solved(W: Array, u: Array) -> Array:
    """x with W x = u; zero in directions that W does not determine. W (p, p), u (p,) or (p, m)."""
    scale = np.sqrt(np.maximum(np.diagonal(W), 1e-300))
    values, vectors = np.linalg.eigh(W / np.outer(scale, scale))
    known = values > RANK * values[-1]
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T
    scaled = u.T / scale
    return np.asarray((scaled @ inverse / scale).T)


@dataclass(frozen=True, eq=False)
class Noise:
    """The errors of the equations, learned from segments of one period.

    variance (2n,) : per sample, for weights; infinite for an equation without data. scatter (2n,
    WIDTH, WIDTH) : covariance of A^T e, whose columns are divided by the roots of the diagonal of
    A^T A. freedom : degrees of freedom of both.
    """

    variance: Array
    scatter: Array
    freedom: float

    @classmethod
    def learned(cls, segments: list[DriftSums]) -> Noise:
        """From the scatter of segments about the fit to all of them.

        Consecutive samples are not independent, and errors of the model vary slowly. The scatter is
        therefore that of sums over whole stretches. In each column, it is the largest one over
        stretches of one, two, four, ... segments, as long as at least FEWEST remain.
        """
        whole = sum(segments[1:], segments[0])
        k, layout = len(whole.count), Layout(whole.n)
        share = whole.square / np.maximum(whole.count, 1.0)
        rough = np.where(whole.count > 0, np.maximum(share, SMALLEST), np.inf)
        x = solved(*whole.weighted(rough))
        variance, scatter = np.full(k, np.inf), np.zeros((k, WIDTH, WIDTH))
        for e in np.flatnonzero(whole.count > 0):
            places = layout.equation(int(e))
            c = len(places)
            H = np.stack([each.normal[e, :c, :c] for each in segments])
            s = np.stack([each.right[e, :c] for each in segments]) - H @ x[places]
            found = _scatter(H, s) + EPSILON * share[e] * np.eye(c)
            factor = np.ones(c)
            while len(H) >= 2 * FEWEST:
                even = len(H) // 2 * 2
                H, s = H[0:even:2] + H[1:even:2], s[0:even:2] + s[1:even:2]
                coarse = np.diagonal(_scatter(H, s)) / np.diagonal(found)
                factor = np.maximum(factor, np.sqrt(coarse))
            scatter[e, :c, :c] = factor[:, None] * found * factor
            variance[e] = max(float(np.trace(scatter[e])) / c, SMALLEST)
        return cls(variance, scatter, float(max(len(segments) - WIDTH, 1)))

    def covariance(self, sums: DriftSums) -> Array:
        """Covariance (p, p) of the right-hand side of `sums.weighted(variance)`."""
        layout = Layout(sums.n)
        total = np.zeros((layout.size, layout.size))
        for e in np.flatnonzero(np.isfinite(self.variance)):
            places = layout.equation(int(e))
            c = len(places)
            size = np.sqrt(np.diagonal(sums.normal[e, :c, :c])) / self.variance[e]
            total[np.ix_(places, places)] += self.scatter[e, :c, :c] * np.outer(size, size)
        return total


RANK = 1e-9  # relative eigenvalue below which a direction counts as undetermined
FEWEST = 8  # stretches from which a scatter is estimated
SMALLEST, EPSILON = 1e-300, 1e-12  # prevent division by zero with exact models


def _scatter(H: Array, s: Array) -> Array:
    """Mean (c, c) of s s^T, divided by the roots of the diagonals of H (k, c, c); s (k, c)."""
    size = np.sqrt(np.diagonal(H, axis1=1, axis2=2))
    scaled = s / np.maximum(size, SMALLEST)
    return np.asarray(scaled.T @ scaled / len(s))


def torque_sums(robot: Robot, body: int, found: Compared, period: float) -> DriftSums:
    """The sums of compared states, `period` seconds apart; a payload is on a body, by its index."""
    q, qd, qdd = found.state[:3]
    k, n = q.shape
    A = np.zeros((k, n, WIDTH))
    Y = inverse_dynamics_regressor(robot.model, q, qd, qdd).Y
    A[..., :LOAD] = Y[..., 10 * body : 10 * body + LOAD]
    A[..., LOAD], A[..., LOAD + 1] = qd, np.tanh(qd / COULOMB_VELOCITY)
    A[..., LOAD + 2] = 1.0
    error = found.measured[0] - found.predicted[0]
    used = (np.abs(qd) > AT_REST) & np.isfinite(error)
    seconds = period * np.count_nonzero(used.any(axis=1))
    return DriftSums.of_torques(A, error, used, seconds)


def spring_sums(actuators: Actuators, q: Array, theta: Array, torque: Array) -> DriftSums:
    """The sums of k pairs of states: q, theta and joint torques (k, n). Only joints with a single
    spring between motor and link take part; NaN for the others."""
    n = q.shape[1]
    springs = np.zeros_like(q)
    used = np.zeros(q.shape, dtype=bool)
    for j, each in enumerate(actuators.actuators):
        if each.series_spring is not None:
            used[:, j] = np.isfinite(theta[:, j] - q[:, j] + torque[:, j])
            deflection = np.where(used[:, j], theta[:, j] - q[:, j], 0.0)
            springs[:, j] = each.series_spring.torque(deflection, beyond="continue")
    A = np.zeros((len(q), n, SPRING))
    A[..., 0], A[..., 1] = springs, 1.0
    return DriftSums.of_springs(A, torque - springs, used)
