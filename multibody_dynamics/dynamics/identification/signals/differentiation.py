# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Zero-phase filtering and differentiation of sampled signals, with a stated cut-off.

The gain is H(f) = erfc((f - fc) / (sqrt(2) s)) / 2, s = fc / 5: one half at the cut-off fc, 0.994
at fc / 2, below 1e-6 at 2 fc. A derivative of order k has the gain (2 pi i f)^k H(f). Kernels are
symmetric about their sample, which avoids delay, and of finite length: filtering a long recording
in pieces gives the same values as filtering it as a whole.
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import oaconvolve, welch
from scipy.special import erfc

from ...core import Array, IndependentCopies, InputError, as_array

WIDTH = 0.2  # of the transition: s as a share of the cut-off
REACH = 4.5  # standard deviations of the envelope of the kernels
DEGREE = 4  # polynomials up to this degree pass without error
DIRECT = 100  # length of a kernel, per output sample, up to which sums are faster than FFTs
HIGHEST = 0.2  # the largest cut-off, as a share of the sampling rate
LOWEST = 5e-5  # the smallest one: designing longer kernels takes gigabytes
NOISE_BAND = 0.25  # share of the sampling rate above which there is only noise
ABOVE_NOISE = 4.0  # power density, relative to that of the noise, below which there is no signal


class ZeroPhaseFilter(IndependentCopies):
    """Low-pass filter and derivatives 0 ... orders - 1 of signals sampled at `rate`, Hz.

    Each value depends on `reach` samples on either side of its own. Raises InputError for a cut-off
    below 5e-5 or above 0.2 of the rate.
    """

    def __init__(self, rate: float, cutoff: float, orders: int = 5) -> None:
        lowest, highest = LOWEST * rate * (1.0 - 1e-9), HIGHEST * rate * (1.0 + 1e-9)
        if not 0.0 < lowest <= cutoff <= highest:
            raise InputError(
                f"cut-off {cutoff:g} Hz: must be {LOWEST:g} to {HIGHEST:g} of the sampling rate,"
                f" which is {rate:g} Hz if the times are right"
            )
        self.rate, self.cutoff = rate, cutoff
        envelope = 1.0 / (2.0 * np.pi * WIDTH * cutoff)  # s, its standard deviation
        self.reach = max(int(np.ceil(REACH * envelope * rate)), DEGREE)
        self.kernels = self._kernels(orders)

    def _kernels(self, orders: int) -> Array:
        """(orders, 2 reach + 1): the inverse Fourier transforms, by the trapezoidal rule."""
        t = np.arange(-self.reach, self.reach + 1) / self.rate
        f = np.linspace(0.0, (1.0 + 6.5 * WIDTH) * self.cutoff, 50 * (2 + int(REACH)))
        gain = 0.5 * erfc((f - self.cutoff) / (np.sqrt(2.0) * WIDTH * self.cutoff))
        weight = 2.0 * gain * f[1] / self.rate
        weight[0] /= 2.0
        phase = 2.0 * np.pi * np.outer(f, t)
        rows = [
            (weight * (2.0 * np.pi * f) ** k) @ np.cos(phase + k * np.pi / 2.0)
            for k in range(orders)
        ]
        # Correct the effect of truncation on polynomials, by a polynomial times the first kernel.
        x = t / t[-1]
        powers = np.stack([x**m for m in range(DEGREE + 1)])
        window = np.abs(rows[0]) * powers
        wanted = np.zeros((orders, DEGREE + 1))
        for k in range(min(orders, DEGREE + 1)):
            wanted[k, k] = np.prod(np.arange(1, k + 1)) * (-1.0) ** k / t[-1] ** k
        kernels = np.stack(rows)
        missing = wanted - kernels @ powers.T
        return np.asarray(kernels + np.linalg.solve(window @ powers.T, missing.T).T @ window)

    def gain(self, frequency: Any) -> Array:
        """The gain of the low-pass at frequencies in Hz: that of the finite kernel."""
        angle = 2.0 * np.pi * np.asarray(frequency, dtype=np.float64) / self.rate
        distance = np.arange(1, self.reach + 1)
        half = self.kernels[0, self.reach :]
        return np.asarray(half[0] + 2.0 * np.cos(angle[..., None] * distance) @ half[1:])

    def __call__(
        self, samples: Any, *, first: int = 0, step: int = 1, orders: int | None = None
    ) -> Array:
        """Values (orders, m, n) of evenly timed samples (k, n); of all orders by default.

        The values are those at the samples reach + first, reach + first + step, ..., as far as all
        samples that they depend on exist; m may be zero.
        """
        rows = as_array("samples", samples, ())
        if rows.ndim != 2:
            raise InputError(f"samples: expected shape (k, n), got {rows.shape}")
        kernels = self.kernels[:orders]
        if len(rows) <= 2 * self.reach + first:
            return np.zeros((len(kernels), 0, rows.shape[1]))
        origin = rows[len(rows) // 2]  # keeps rounding errors small
        rows = rows - origin
        if kernels.shape[1] <= DIRECT * step:
            windows = sliding_window_view(rows[first:], kernels.shape[1], axis=0)[::step]
            backwards = np.ascontiguousarray(kernels[:, ::-1])
            values = np.moveaxis(backwards @ windows.swapaxes(1, 2), 1, 0)
        else:
            values = oaconvolve(rows[None], kernels[..., None], mode="valid", axes=1)
            values = values[:, first::step]
        values[0] += origin
        return values


def noise_cutoff(samples: Any, rate: float) -> Array:
    """Frequencies (n,) in Hz above which the signals (k, n) are lost in their noise.

    The noise is assumed to be white; its power density is the median of the density above a quarter
    of the sampling rate. The signal ends at the first frequency above its peak where the density
    (Welch's method) falls below four times that of the noise. There the optimal linear (Wiener)
    filter has the gain 3/4, for the signal and for all its derivatives. The result is at most 0.2
    of the rate, the value for a signal without noise, and zero for a constant signal.

    Raises InputError for fewer than 32 samples.
    """
    rows = as_array("samples", samples, ())
    if rows.ndim != 2 or len(rows) < 32:
        raise InputError(f"samples: expected (k, n) with k >= 32, got {rows.shape}")
    size = min(len(rows), max(256, 2 ** int(np.log2(8.0 * rate))))
    f, power = welch(rows, rate, nperseg=size, axis=0, detrend="linear", window="blackmanharris")
    floor = np.median(power[f > NOISE_BAND * rate], axis=0)
    cutoffs = np.full(rows.shape[1], HIGHEST * rate)
    for j, density in enumerate(power.T):
        peak = 1 + int(np.argmax(density[1:]))
        if density[peak] <= 1e-24 * (1.0 + np.abs(rows[:, j]).max()) ** 2:
            cutoffs[j] = 0.0
            continue
        below = density[peak:] < ABOVE_NOISE * floor[j]
        if below.any():
            cutoffs[j] = min(f[peak + int(np.argmax(below))], cutoffs[j])
    return cutoffs
