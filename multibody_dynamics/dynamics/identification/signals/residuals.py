# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Statistics of predicted compared with measured torques, computed in pieces and combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import Array, InputError, as_array

ROUNDING = 1e-12  # of the mean: what filters leave of a constant signal


@dataclass(frozen=True, eq=False)
class Residuals:
    """Statistics of k samples of n signals, error = predicted - measured.

    Adding pieces in the same order gives the same numbers, no matter how the pieces were computed.

    Attributes
    ----------
    count : k. mean : (2, n) of predicted and measured. spread : (2, 2, n) sums of products of their
    deviations from the means. absolute, squared : (n,) sums of |error| and error^2.
    largest, when : (n,) the largest |error| and its time in s.
    """

    count: int
    mean: Array
    spread: Array
    absolute: Array
    squared: Array
    largest: Array
    when: Array

    @classmethod
    def none(cls, n: int) -> Residuals:
        """The statistics of no samples."""
        zero = np.zeros(n)
        return cls(0, np.zeros((2, n)), np.zeros((2, 2, n)), zero, zero, zero, np.full(n, np.nan))

    @classmethod
    def of(cls, times: Any, predicted: Any, measured: Any) -> Residuals:
        """The statistics of samples (k, n) at times (k,)."""
        pair = np.stack([as_array("predicted", predicted, ()), as_array("measured", measured, ())])
        t = as_array("times", times, ())
        if pair.ndim != 3 or t.shape != pair.shape[1:2]:
            raise InputError(f"expected samples (k, n) at times (k,), got {pair.shape[1:]}")
        if len(t) == 0:
            return cls.none(pair.shape[2])
        mean = pair.mean(axis=1)
        deviation = pair - mean[:, None]
        error = np.abs(pair[0] - pair[1])
        worst = error.argmax(axis=0)
        return cls(
            len(t),
            mean,
            np.einsum("akj,bkj->abj", deviation, deviation),
            error.sum(axis=0),
            (error**2).sum(axis=0),
            error[worst, np.arange(error.shape[1])],
            t[worst],
        )

    def __add__(self, other: Residuals) -> Residuals:
        if self.count == 0 or other.count == 0:
            return other if self.count == 0 else self
        count = self.count + other.count
        step = other.mean - self.mean
        between = step[:, None] * step[None, :] * (self.count * other.count / count)
        later = other.largest > self.largest
        return Residuals(
            count,
            self.mean + step * (other.count / count),
            self.spread + other.spread + between,
            self.absolute + other.absolute,
            self.squared + other.squared,
            np.where(later, other.largest, self.largest),
            np.where(later, other.when, self.when),
        )

    @property
    def rms(self) -> Array:
        """(n,) sqrt(mean(error^2))."""
        return np.asarray(np.sqrt(self.squared / max(self.count, 1)))

    @property
    def mean_absolute(self) -> Array:
        """(n,) mean(|error|)."""
        return np.asarray(self.absolute / max(self.count, 1))

    @property
    def bias(self) -> Array:
        """(n,) mean(error)."""
        return np.asarray(self.mean[0] - self.mean[1])

    @property
    def deviation(self) -> Array:
        """(n,) standard deviation of the measured values."""
        return self._deviations[1]

    @property
    def _deviations(self) -> Array:
        """(2, n) of predicted and measured values; 0 where only rounding has changed them."""
        found = np.sqrt(self.spread[[0, 1], [0, 1]] / max(self.count, 1))
        return np.where(found > ROUNDING * np.abs(self.mean), found, 0.0)

    @property
    def normalized(self) -> Array:
        """(n,) rms / deviation, the unexplained share: 1 if only the mean is predicted.

        Infinite for a constant measured signal, unless it was predicted exactly.
        """
        return _ratio(self.rms, self.deviation)

    @property
    def r_squared(self) -> Array:
        """(n,) 1 - normalized^2."""
        return np.asarray(1.0 - self.normalized**2)

    @property
    def correlation(self) -> Array:
        """(n,) correlation of predicted and measured values; NaN where either is constant."""
        size = np.sqrt(self.spread[0, 0] * self.spread[1, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((self._deviations > 0.0).all(axis=0), self.spread[0, 1] / size, np.nan)

    def figures(self, names: Sequence[str]) -> dict[str, dict[str, float]]:
        """All statistics as floats, by name of the signal."""
        columns = {
            "rms": self.rms,
            "mae": self.mean_absolute,
            "max": self.largest,
            "worst at": self.when,
            "bias": self.bias,
            "correlation": self.correlation,
            "r2": self.r_squared,
            "nrms": self.normalized,
        }
        return {
            name: {key: float(column[j]) for key, column in columns.items()}
            for j, name in enumerate(names)
        }


def _ratio(part: Array, whole: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(part == 0.0, 0.0, part / whole)
