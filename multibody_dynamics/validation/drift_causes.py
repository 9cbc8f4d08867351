# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Finds which change of a robot explains why its residuals differ from earlier ones.

Two periods share all unknowns of `drift_statistics`, except for those of one cause, which may have
changed by d in the later one: the Chow test (G. C. Chow, "Tests of equality between sets of
coefficients in two linear regressions", Econometrica 28(3), 1960). With the normal equations W_0,
u_0 and W, u of the two periods, x = (W_0 + W)^-1 (u_0 + u) and the unknowns S of the cause,

    d = K^-1 s,    s = (u - W x)_S,    K = W_SS - W_S (W_0 + W)^-1 W_S^T.

The errors are not white. s is linear in u_0 and u, so the covariance C of d follows from those of
`Noise`, and d^T C^-1 d is compared with its F distribution. Among the significant causes, the one
that explains most, s^T K^-1 s, is accepted first, and the others are then tested together with it:
once the true causes are included, only noise remains.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ..dynamics.core import Array
from .drift_statistics import LOAD, DriftSums, Layout, Noise, solved

MOST = 4  # causes at once
NOTHING = np.zeros(0, dtype=np.int64)
DETERMINED = 1e-6  # relative eigenvalue below which a direction counts as undetermined
KNOWN = 0.99  # share of an unknown in the directions that are determined
PENALTY = 10.0  # per unknown of a cause: of two that explain equally much, the simpler is preferred


class Cause(NamedTuple):
    """A change: its kind (payload, friction, offset, spring), the index of the joint, and the
    unknowns."""

    kind: str
    joint: int
    unknowns: NDArray[np.int64]


class Change(NamedTuple):
    """A cause with the changes (k,) of its unknowns and their standard errors.

    known (k,) : whether the motion determines each of them. probability : probability of such a
    change without a cause, for all causes that were tested together. explained : reduction of the
    weighted sum of squared errors.
    """

    cause: Cause
    value: Array
    error: Array
    known: NDArray[np.bool_]
    probability: float
    explained: float


def all_causes(n: int) -> list[Cause]:
    """A payload, and for every joint its friction, an offset of its torque, and its spring."""
    layout = Layout(n)
    causes = [Cause("payload", -1, np.arange(LOAD))]
    for j in range(n):
        own = layout.joint(j)
        causes.append(Cause("friction", j, own[:2]))
        causes.append(Cause("offset", j, own[2:]))
        causes.append(Cause("spring", j, layout.spring(j)[:1]))
    return causes


def changes(before: DriftSums, now: DriftSums, noise: Noise, level: float) -> list[Change]:
    """The causes that together explain the difference of two periods, beginning with the one that
    explains most.

    noise : learned from the first period. level : probability of finding any cause where there is
    none.
    """
    test = PeriodComparison(before, now, noise)
    causes = all_causes(now.n)
    found: list[Change] = []
    free = NOTHING
    while len(found) < MOST:
        tested = [
            change._replace(probability=min(1.0, change.probability * len(causes)))
            for cause in causes
            if not np.isin(cause.unknowns, free).any()
            if (change := test.of(cause, free)) is not None
        ]
        significant = [each for each in tested if each.probability <= level]
        if not significant:
            break
        best = max(significant, key=lambda each: each.explained - PENALTY * len(each.value))
        found.append(best)
        free = np.concatenate([free, best.cause.unknowns])
    return test.together(found, free)


class PeriodComparison:
    """The normal equations of two periods, and the covariances of their right-hand sides."""

    def __init__(self, before: DriftSums, now: DriftSums, noise: Noise) -> None:
        W0, u0 = before.weighted(noise.variance)
        self._W, self._u = now.weighted(noise.variance)
        self._both = W0 + self._W
        self._x = solved(self._both, u0 + self._u)
        self._C0, self._C = noise.covariance(before), noise.covariance(now)
        self._freedom = noise.freedom

    def of(self, cause: Cause, free: NDArray[np.int64] = NOTHING) -> Change | None:
        """The change by a cause, with the unknowns `free` also allowed to have changed; None if
        the data do not determine it."""
        value, C, known, explained, rank = self._solution(np.concatenate([free, cause.unknowns]))
        own = slice(len(free), None)
        d, C, known = value[own], C[own, own], known[own]
        rank -= self._solution(free)[4]
        scale = np.sqrt(np.maximum(np.diagonal(C), 1e-300))
        sizes, directions = np.linalg.eigh(C / np.outer(scale, scale))
        kept = sizes > DETERMINED
        k = min(int(kept.sum()), rank)
        if k < 1:
            return None
        along = (directions.T @ (d / scale))[kept][-k:]
        gain = float(np.sum(along**2 / sizes[kept][-k:]))
        probability = float(stats.f.sf(gain / k, k, self._freedom))
        return Change(cause, d, scale, known, probability, explained)

    def together(self, found: list[Change], free: NDArray[np.int64]) -> list[Change]:
        """The changes of all causes when all of them are allowed."""
        if not found:
            return []
        value, C, known, _, _ = self._solution(free)
        error = np.sqrt(np.diagonal(C))
        ends = np.cumsum([len(each.value) for each in found])[:-1]
        parts = zip(found, *(np.split(x, ends) for x in (value, error, known)), strict=True)
        return [each._replace(value=d, error=e, known=k) for each, d, e, k in parts]

    def _solution(
        self, places: NDArray[np.int64]
    ) -> tuple[Array, Array, NDArray[np.bool_], float, int]:
        """The changes of unknowns, their covariance, which of them are determined, what they
        explain, and the rank."""
        W = self._W
        own = W[np.ix_(places, places)]
        P = solved(self._both, W[:, places]).T  # W_S (W_0 + W)^-1
        K = own - P @ W[:, places]
        scale = np.sqrt(np.maximum(np.diagonal(own), 1e-300))
        values, vectors = np.linalg.eigh(K / np.outer(scale, scale))
        kept = values > DETERMINED
        vectors = vectors[:, kept]
        inverse = (vectors / values[kept]) @ vectors.T / np.outer(scale, scale)
        known = (vectors**2).sum(axis=1) > KNOWN
        select = np.eye(len(W))[places] - P
        C = select @ self._C @ select.T + P @ self._C0 @ P.T
        s = (self._u - W @ self._x)[places]
        explained = float(s @ inverse @ s)
        return inverse @ s, inverse @ C @ inverse, known, explained, int(kept.sum())
