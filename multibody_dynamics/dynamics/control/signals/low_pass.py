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

from math import exp, factorial

import numpy as np

from ...core import Array, IndependentCopies, compiled_exactly, inlined_exactly
from .derivative_filter import positive

ORDER = 4


@inlined_exactly
def low_pass_weights(bandwidth, step):
    """The weights of a step: of the lags before each, then of the input on each."""
    a = bandwidth * step
    first = exp(-a)
    second = first * a
    third = first * a * a / 2.0
    fourth = first * a * a * a / 6.0
    two = first + second
    three = two + third
    return first, second, third, fourth, 1.0 - first, 1.0 - two, 1.0 - three, 1.0 - (three + fourth)


@inlined_exactly
def advance_low_pass(lags, i, weights, value):
    """Advance the lags of signal i by a step in which the input is `value`."""
    a, b, c, d, on_first, on_second, on_third, on_fourth = weights
    first = lags[0, i]
    second = lags[1, i]
    third = lags[2, i]
    lags[3, i] = on_fourth * value + a * lags[3, i] + b * third + c * second + d * first
    lags[2, i] = on_third * value + a * third + b * second + c * first
    lags[1, i] = on_second * value + a * second + b * first
    lags[0, i] = on_first * value + a * first


def _advance_all(lags, rate, bandwidth, step, values):
    """Advance the lags of all signals, and compute the rates of the outputs."""
    weights = low_pass_weights(bandwidth, step)
    for i in range(values.shape[0]):
        advance_low_pass(lags, i, weights, values[i])
        rate[i] = bandwidth * (lags[2, i] - lags[3, i])


_ADVANCE = compiled_exactly(_advance_all)


class LowPass(IndependentCopies):
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
        self._input = np.zeros(count)
        _ADVANCE(self.lags, self.rate, self.bandwidth, 0.0, self._input)  # compiles

    def reset(self) -> None:
        """Set output and rate to zero."""
        self.lags[:] = self.rate[:] = 0.0

    def update(self, step: float, value: Array) -> Array:
        """Advance by `step` s, in which the input is `value` (count,), and return the output."""
        self._input[:] = value
        _ADVANCE(self.lags, self.rate, self.bandwidth, step, self._input)
        return self.value


def low_pass_step(bandwidth: float, step: float) -> tuple[Array, Array]:
    """Transition (ORDER, ORDER) and input gain (ORDER, 1) of the lags over `step` s."""
    a = bandwidth * step
    weights = [exp(-a) * a**j / factorial(j) for j in range(ORDER)]
    transition = sum(weight * np.eye(ORDER, k=-j) for j, weight in enumerate(weights))
    return np.asarray(transition), 1.0 - np.cumsum(weights)[:, None]
