# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A low-pass with equal real poles whose states give the rate of its output.

Four first-order lags in series, z_i' = w (z_(i-1) - z_i), with the input z_0. The output is z_4,
and its rate w (z_3 - z_4) needs no differentiation: above w, noise of the input falls with the
fourth power of its frequency in the output, and still with the third in the rate. For an input that
is constant over a step h the solution is exact, with a = w h,

    z_i(h) = exp(-a) sum_(j < i) a^j / j! z_(i-j)(0) + (1 - exp(-a) sum_(j < i) a^j / j!) z_0.

All weights are positive and sum to one: the output never leaves the range of the inputs.
"""

from __future__ import annotations

from math import exp, factorial

import numpy as np

from ...core import Array
from .derivative_filter import positive

ORDER = 4


class LowPass:
    """Low-pass of `count` signals with ORDER poles at -bandwidth, in rad/s; the delay of slow
    signals is ORDER / bandwidth.

    Attributes: `value` and `rate` (count,), and the `lags` (ORDER, count) of which `value` is the
    last, which `update` overwrites in place. Not thread-safe. Raises InputError for a bandwidth
    that is not positive.
    """

    def __init__(self, count: int, bandwidth: float) -> None:
        self.bandwidth = positive("bandwidth", bandwidth, "rad/s")
        self.lags: Array = np.zeros((ORDER, count))
        self.value: Array = self.lags[-1]
        self.rate: Array = np.zeros(count)
        self._step = 0.0
        self._transition, self._gain = np.eye(ORDER), np.zeros((ORDER, 1))

    def reset(self) -> None:
        """Set output and rate to zero."""
        self.lags[:] = self.rate[:] = 0.0

    def update(self, step: float, value: Array) -> Array:
        """Advance by `step` s, in which the input is `value` (count,), and return the output."""
        if step != self._step:
            self._discretise(step)
        self.lags[:] = self._transition @ self.lags + self._gain * value
        np.subtract(self.lags[-2], self.lags[-1], out=self.rate)
        self.rate *= self.bandwidth
        return self.value

    def _discretise(self, step: float) -> None:
        self._transition, self._gain = low_pass_step(self.bandwidth, step)
        self._step = step


def low_pass_step(bandwidth: float, step: float) -> tuple[Array, Array]:
    """Transition (ORDER, ORDER) and input gain (ORDER, 1) of the lags over `step` s."""
    a = bandwidth * step
    weights = [exp(-a) * a**j / factorial(j) for j in range(ORDER)]
    transition = sum(weight * np.eye(ORDER, k=-j) for j, weight in enumerate(weights))
    return np.asarray(transition), 1.0 - np.cumsum(weights)[:, None]
