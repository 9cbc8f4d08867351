# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Corrections of a desired motion found by iterative learning, for the control cycle.

A :class:`LearnedCorrection` is a spline c(t) of degree 5 over the time since the start of a
trajectory, with four continuous derivatives: the law receives q_d + c, q_d' + c' .. in place of
q_d .. q_d'''', and the flat map turns them into motor motions and torques. The first five B-spline
coefficients are equal, and so are the last five: c', c'', c''', c'''' vanish at both ends, and c is
constant before the start and after the end.

A :class:`FadingCorrection` changes from one correction to the next within a given time, again
with four continuous derivatives.
"""

from __future__ import annotations

from functools import cached_property
from math import factorial
from typing import NamedTuple

import numpy as np

from ...core import Array, IndependentCopies, InputError, read_only

DEGREE = 5
ENDS = 5  # equal coefficients at each end
LEAST_PIECES = 4

# Row r, column k: the factor of x^(k - r) in the r-th derivative of x^k.
_FACTORS = np.array(
    [
        [factorial(k) / factorial(k - r) if k >= r else 0.0 for k in range(DEGREE + 1)]
        for r in range(5)
    ]
)
_POWERS = np.maximum(np.arange(DEGREE + 1) - np.arange(5)[:, None], 0)
_EXPONENTS = np.arange(DEGREE + 1, dtype=np.float64)

# From 0 to 1 on [0, 1] with four derivatives that vanish at both ends.
_FADE = np.polynomial.Polynomial((0, 0, 0, 0, 0, 126, -420, 540, -315, 70))
_FADES = tuple(_FADE.deriv(r) if r else _FADE for r in range(5))
_BINOMIALS = np.array([[factorial(k) / factorial(j) / factorial(k - j) if j <= k else 0.0
                        for j in range(5)] for k in range(5)])  # fmt: skip


class LearnedCorrection(IndependentCopies):
    """A correction c(t) (n,) of a desired motion, with four derivatives.

    >>> correction = LearnedCorrection.zero(duration=2.0, spacing=0.05, n=7)
    >>> correction.add_to(t, desired)  # (5, n) q .. q'''', in place

    Parameters
    ----------
    duration : duration of the correction in s; it is constant before 0 and after `duration`.
    coefficients : (p, n) in rad or m, the free B-spline coefficients; their largest magnitude
        bounds that of c. The p + 3 pieces are equally long.

    Not thread-safe: :meth:`evaluate` uses internal arrays. Raises InputError for wrong shapes.
    """

    def __init__(self, duration: float, coefficients: Array) -> None:
        rows = np.array(coefficients, dtype=np.float64)
        if rows.ndim != 2 or len(rows) < LEAST_PIECES - ENDS + 2 or not np.isfinite(rows).all():
            raise InputError(
                f"coefficients of the correction: expected finite numbers of shape (p, n), got "
                f"shape {rows.shape}"
            )
        if not 0.0 < duration < np.inf:
            raise InputError(f"duration of the correction is {duration} s: must be positive")
        self.duration = float(duration)
        self.coefficients = read_only(rows)
        self.pieces = len(rows) - 2 + 2 * ENDS - DEGREE
        self._polynomials = self._piecewise()
        self._powers: Array = np.zeros(DEGREE + 1)
        self._rows: Array = np.zeros((5, DEGREE + 1))
        self._value: Array = np.zeros((5, rows.shape[1]))

    @classmethod
    def zero(cls, duration: float, spacing: float, n: int) -> LearnedCorrection:
        """No correction yet. spacing : s, largest length of a piece."""
        pieces = max(LEAST_PIECES, int(np.ceil(duration / spacing)))
        return cls(duration, np.zeros((pieces + DEGREE + 2 - 2 * ENDS, n)))

    @property
    def n(self) -> int:
        return int(self.coefficients.shape[1])

    @cached_property
    def _spread(self) -> Array:
        """(pieces + 5, p): from the free coefficients to all, equal at the ends."""
        p = len(self.coefficients)
        rows = np.clip(np.arange(self.pieces + DEGREE) - (ENDS - 1), 0, p - 1)
        return np.eye(p)[rows]

    @property
    def _knots(self) -> Array:
        inner = np.linspace(0.0, self.duration, self.pieces + 1)
        return np.concatenate((np.zeros(DEGREE), inner, np.full(DEGREE, self.duration)))

    def _piecewise(self) -> Array:
        """(pieces, 6, n) coefficients in powers of the time since the start of each piece."""
        from scipy.interpolate import BSpline

        spline = BSpline(self._knots, self._spread @ self.coefficients, DEGREE)
        starts = np.linspace(0.0, self.duration, self.pieces + 1)[:-1]
        rows = [spline.derivative(k)(starts) if k else spline(starts) for k in range(DEGREE + 1)]
        return np.stack([row / factorial(k) for k, row in enumerate(rows)], axis=1)

    def fitted(self, times: Array, values: Array) -> LearnedCorrection:
        """The correction of the same duration and pieces that fits values (k, n) at times (k,)
        best, in the sense of least squares.

        This projection is the Q-filter of the learning: its phase is zero, and it removes
        everything faster than half a period per piece. Samples may be irregular; where a piece has
        too few, the solution with the smallest coefficients is used.
        """
        from scipy.interpolate import BSpline

        inside = np.clip(times, 0.0, self.duration)
        basis = BSpline(self._knots, self._spread, DEGREE)(inside)
        return LearnedCorrection(self.duration, np.linalg.lstsq(basis, values, rcond=1e-9)[0])

    def mixed(self, other: LearnedCorrection, share: float) -> LearnedCorrection:
        """This correction, moved by a share of the way to another one of the same shape."""
        step = other.coefficients - self.coefficients
        return LearnedCorrection(self.duration, self.coefficients + share * step)

    def evaluate(self, t: float, out: Array) -> None:
        """Write c, c', c'', c''', c'''' at t in s to `out` (5, n)."""
        if not 0.0 <= t < self.duration:
            out[0] = self.coefficients[0 if t < 0.0 else -1]
            out[1:] = 0.0
            return
        length = self.duration / self.pieces
        piece = min(int(t / length), self.pieces - 1)
        np.power(t - piece * length, _EXPONENTS, out=self._powers)
        np.take(self._powers, _POWERS, out=self._rows)
        np.multiply(self._rows, _FACTORS, out=self._rows)
        np.matmul(self._rows, self._polynomials[piece], out=out)

    def __call__(self, t: float) -> Array:
        """(5, n) c, c', c'', c''', c'''' at t."""
        out = np.empty((5, self.n))
        self.evaluate(t, out)
        return out

    def add_to(self, t: float, motion: Array) -> None:
        """Add the correction at t to a desired motion (5, n), in place."""
        self.evaluate(t, self._value)
        motion += self._value


class _Layer(NamedTuple):
    """A correction that takes over from the ones before it."""

    correction: LearnedCorrection | None  # None: zero
    origin: float  # s, the time at which the correction starts
    begin: float  # s, when it begins to take over
    duration: float  # s, of the transition


class FadingCorrection(IndependentCopies):
    """A sequence of corrections with smooth transitions. Initially zero.

    >>> fading = FadingCorrection(n)
    >>> fading.change(correction, origin=10.5, now=10.0, duration=0.5)
    >>> fading.add_to(10.2, desired)  # (5, n), in place

    All times are in s on the same axis. Not thread-safe.
    """

    def __init__(self, n: int) -> None:
        self._layers: list[_Layer] = []
        self._sum, self._next = np.zeros((2, 5, n))
        self._weights: Array = np.zeros(5)

    @property
    def is_zero(self) -> bool:
        """Whether there is no correction."""
        return not self._layers

    def reset(self) -> None:
        """Drop all corrections immediately."""
        self._layers.clear()

    def change(
        self, correction: LearnedCorrection | None, *, origin: float, now: float, duration: float
    ) -> None:
        """Change over to a correction, or to none, from `now` on within `duration` s.

        origin : s, when the trajectory of the correction starts. Up to then, a correction is
        constant, and if `now` is not later, only the difference to this constant fades: the
        correction itself is complete from the start. Transitions that have ended by `now` are
        final: times before `now` can no longer be evaluated.
        """
        if correction is None and self.is_zero:
            return
        done = [k for k, each in enumerate(self._layers) if now >= each.begin + each.duration]
        if done:
            del self._layers[: done[-1]]
        self._layers.append(_Layer(correction, origin, now, max(duration, 1e-9)))

    def evaluate(self, t: float, out: Array) -> None:
        """Write the correction at t and its derivatives to `out` (5, n)."""
        out[:] = 0.0
        for layer in self._layers:
            if layer.correction is None:
                self._next[:] = 0.0
            else:
                layer.correction.evaluate(t - layer.origin, self._next)
            self._blend(layer, t, out)

    def _blend(self, layer: _Layer, t: float, out: Array) -> None:
        u = (t - layer.begin) / layer.duration
        if u >= 1.0:
            out[:] = self._next
        elif u > 0.0:  # next - (1 - fade) gap
            for r, fade in enumerate(_FADES):
                self._weights[r] = fade(u) / layer.duration**r
            gap = self._next - out  # what is missing where the transition begins
            if layer.correction is not None and layer.begin <= layer.origin:
                gap = -out
                gap[0] += layer.correction.coefficients[0]
            out[:] = self._next - gap
            for k in range(5):
                for j in range(k + 1):  # Leibniz
                    out[k] += _BINOMIALS[k, j] * self._weights[k - j] * gap[j]

    def add_to(self, t: float, motion: Array) -> None:
        """Add the correction at t to a desired motion (5, n), in place."""
        if self._layers:
            self.evaluate(t, self._sum)
            motion += self._sum
