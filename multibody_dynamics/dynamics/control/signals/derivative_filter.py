# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Velocity, acceleration and jerk from sampled positions, causal.

A chain of m integrators, q^(m) taken as zero, corrected by the measured position y,

    x' = A x + L (y - x_0),    L_i = C(m, i + 1) w^(i+1),    all m poles at -w.

Its position error is (s / (s + w))^m y, so it follows polynomials below degree m exactly. Sampled
with the exact transition exp(A h) of the chain over any step h, and with the poles at exp(-w h), it
is the fading-memory polynomial filter (critically damped alpha-beta and alpha-beta-gamma filters),
which also follows these polynomials exactly, for any sequence of steps. With b = exp(-w h) and
d = 1 - b,

    m = 2:  K = (1 - b^2, d^2 / h)
    m = 3:  K = (1 - b^3, 3/2 d^2 (1 + b) / h, d^3 / h^2)
    m = 4:  K = (1 - b^4, d^2 (11 + 14 b + 11 b^2) / (6 h), 2 d^3 (1 + b) / h^2, d^4 / h^3)

Phase: at low frequency only the highest derivative m - 1 lags, by m h / d - (m + 1) h / 2, about
m / w - h / 2; the others have no delay there, because their errors are of order (s / w)^2 and
higher. Choose one order more than needed where lag matters more than noise. Noise: white noise of
standard deviation n per sample appears in derivative k as about c n w^k sqrt(w h), with

    m = 2:  c = 1.12, 0.50      m = 3:  c = 1.44, 1.32, 0.43      m = 4:  c = 1.70, 2.40, 1.59, 0.40

:meth:`DerivativeFilter.delay`, `response` and `noise_gain` give the exact values for a step.
"""

from collections.abc import Sequence
from math import exp, expm1, factorial, isfinite, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_lyapunov

from ...core import (
    Array,
    IndependentCopies,
    InputError,
    as_array,
    compiled_exactly,
    inlined_exactly,
)

ORDERS = (2, 3, 4)
MAX_STEP = 0.05  # s
BRIDGED = 4.0  # multiple of max_step up to which gaps are bridged with the mean velocity
SETTLED = 0.01  # of the initial error
# Settling times in units of 1 / pole: the roots x of SETTLED = exp(-x) sum_(k < m) x^k / k!.
SETTLING = {2: 6.638352067993813, 3: 8.405946914885464, 4: 10.045117514831617}


@inlined_exactly
def filter_gains(order, pole, step):
    """The gains K of an update, zero from the order on."""
    d = -expm1(-pole * step)
    b = 1.0 - d
    if order == 2:
        return d * (1.0 + b), d * d / step, 0.0, 0.0
    if order == 3:
        return (
            d * (1.0 + b + b * b),
            1.5 * d * d * (1.0 + b) / step,
            d * d * d / (step * step),
            0.0,
        )
    return (
        d * (1.0 + b) * (1.0 + b * b),
        d * d * (11.0 + 14.0 * b + 11.0 * b * b) / 6.0 / step,
        2.0 * d * d * d * (1.0 + b) / (step * step),
        d * d * d * d / (step * step * step),
    )


@inlined_exactly
def advance_filter(state, drift, order, pole, step, since, y, first):
    """Advance positions and derivatives, rows of `state`, in the columns from `first` on, by `step`
    to the positions y, `since` after those before them; `drift` is that of :func:`coast_filter`."""
    gains = filter_gains(order, pole, since)
    half = step * step / 2.0
    sixth = step * step * step / 6.0
    for k in range(y.shape[0]):
        i = first + k
        x1 = state[1, i]
        x2 = state[2, i] if order > 2 else 0.0
        x3 = state[3, i] if order > 3 else 0.0
        predicted = state[0, i] + drift[i] + step * x1 + half * x2 + sixth * x3
        drift[i] = 0.0
        innovation = y[k] - predicted
        state[0, i] = predicted + gains[0] * innovation
        state[1, i] = x1 + step * x2 + half * x3 + gains[1] * innovation
        if order > 2:
            state[2, i] = x2 + step * x3 + gains[2] * innovation
        if order > 3:
            state[3, i] = x3 + gains[3] * innovation


@inlined_exactly
def coast_filter(state, drift, step, velocity, acceleration, first):
    """Carry these columns along a reference by `step`, without a sample: the differences from its
    position and velocity stay as they are. `drift` is how far the difference of the velocities
    moves the joints meanwhile; the next sample would otherwise count it as motion once more."""
    for k in range(velocity.shape[0]):
        i = first + k
        drift[i] += step * (state[1, i] - velocity[k])
        state[0, i] += step * velocity[k] + step * step / 2.0 * acceleration[k]
        state[1, i] += step * acceleration[k]


@inlined_exactly
def rest_filter(state, drift, count, first):
    """Let these columns rest where they are."""
    for k in range(count):
        drift[first + k] = 0.0
    for row in range(1, state.shape[0]):
        for k in range(count):
            state[row, first + k] = 0.0


@inlined_exactly
def start_filter(state, drift, y, gap, max_step, first):
    """Start these columns at rest at y; after a gap of up to BRIDGED max_step, with the mean
    velocity in it."""
    for k in range(y.shape[0]):
        i = first + k
        drift[i] = 0.0
        moved = y[k] - state[0, i]
        for row in range(state.shape[0]):
            state[row, i] = 0.0
        state[0, i] = y[k]
        if 0.0 < gap <= BRIDGED * max_step:
            state[1, i] = moved / gap


_ADVANCE = compiled_exactly(advance_filter)
_COAST = compiled_exactly(coast_filter)
_START = compiled_exactly(start_filter)


class DerivativeFilter(IndependentCopies):
    """Positions of n joints and their derivatives to order - 1 from sampled positions; causal.

    >>> velocity_filter = DerivativeFilter(names, order=3, bandwidth=40.0)
    >>> q, qd, qdd = velocity_filter.update(t, measured_q)

    Parameters
    ----------
    order : m = 2, 3 or 4: how many derivatives, from the position on, are estimated.
    bandwidth : w / (2 pi) in Hz, of the m poles.
    max_step : s; a longer gap between two samples restarts the filter.

    Attributes: `state` (m, n), which `update` overwrites in place; `starts`: how often the filter
    has started. Not thread-safe. Raises InputError for values out of range.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        order: int,
        bandwidth: float,
        *,
        max_step: float = MAX_STEP,
    ) -> None:
        if order not in ORDERS:
            raise InputError(f"order of the filter is {order!r}: must be 2, 3 or 4")
        self.joint_names, self.order = tuple(joint_names), int(order)
        self.bandwidth = positive("bandwidth", bandwidth, "Hz")
        self._pole = 2.0 * pi * self.bandwidth
        self.max_step = positive("max_step", max_step, "s")
        self.state: Array = np.zeros((order, len(self.joint_names)))
        self.starts = 0
        self._measured = still = np.zeros(len(self.joint_names))
        self._drift: Array = still.copy()
        _START(self.state, self._drift, still, 0.0, self.max_step, 0)  # compiles
        _ADVANCE(self.state, self._drift, self.order, self._pole, 1.0, 1.0, still, 0)
        _COAST(self.state, self._drift, 1.0, still, still, 0)
        self.reset()

    def reset(self) -> None:
        """Clear the state: the next sample restarts the filter."""
        self._time: float | None = None
        self._sampled: float | None = None
        self._started = 0.0
        self.state[:] = self._drift[:] = 0.0

    def update(self, t: float, position: Any) -> Array:
        """Update `state` (m, n) with the position (n,) measured at t in s, and return it.

        The first sample starts the filter at rest at that position, as does any sample after a gap
        or a jump backwards of more than `max_step`. After a gap of up to 4 `max_step` the filter
        starts with the mean velocity during the gap instead, because the joint may be moving. A t
        that equals the last one, or is up to `max_step` earlier, changes nothing. Raises InputError
        for wrong shapes, NaN or infinity, and then changes nothing.
        """
        self._measured[:] = as_array(
            "position", position, (len(self.joint_names),), self.joint_names
        )
        return self.advance(t, self._measured)

    def advance(self, t: float, position: Array) -> Array:
        """Like :meth:`update`, with a position (n,) that the caller has checked."""
        step, since = time_step(t, self._time), time_step(t, self._sampled)
        if -self.max_step <= step <= 0.0:
            return self.state
        if 0.0 < step <= self.max_step:
            _ADVANCE(self.state, self._drift, self.order, self._pole, step, since, position, 0)
        else:
            _START(self.state, self._drift, position, since, self.max_step, 0)
            self.starts += 1
            self._started = t
        self._time = self._sampled = t
        return self.state

    def coast(self, t: float, velocity: Array, acceleration: Array) -> Array:
        """Carry `state` to t in s along a reference (n,), without a sample: the differences from
        its position and velocity stay as they are. The next sample corrects it for the whole time
        since the last one, however long."""
        step = time_step(t, self._time)
        if 0.0 < step <= self.max_step:
            _COAST(self.state, self._drift, step, velocity, acceleration, 0)
            self._time = t
        return self.state

    @property
    def settling_time(self) -> float:
        """Time in s from a start until an error in the highest derivative, the slowest one, has
        decayed to 1 %."""
        return SETTLING[self.order] / self._pole

    @property
    def is_settled(self) -> bool:
        """Whether at least a settling time has passed since the last start."""
        return self._time is not None and self._time - self._started >= self.settling_time

    def delay(self, step: float) -> Array:
        """(m,) s by which each estimate lags behind slow motions, sampled every `step` s."""
        m = self.order
        lag = np.zeros(m)
        lag[-1] = m * step / -expm1(-self._pole * step) - 0.5 * (m + 1) * step
        return lag

    def response(self, frequency: Any, step: float) -> NDArray[np.complex128]:
        """Ratio (..., m) of each estimate to the true derivative of a sine of `frequency` (...) > 0
        in Hz.

        x = z (z - exp(A h))^-1 K e from the innovation e = ((z - 1) / (z - b))^m y.
        """
        w = self._pole * positive("step", step, "s")
        s = 2j * pi * step * np.asarray(frequency, dtype=np.float64)  # per step
        transition, gain = discretised(self.order, w, 1.0)
        rise = np.expm1(s)  # z - 1
        innovation = (rise / (rise - expm1(-w))) ** self.order
        x = np.zeros((*s.shape, self.order), dtype=np.complex128)
        for k in reversed(range(self.order)):
            x[..., k] = (x @ transition[k] + np.exp(s) * gain[k] * innovation) / rise
        return np.asarray(x / s[..., None] ** np.arange(self.order))

    def noise_gain(self, step: float) -> Array:
        """(m,) ratios of the standard deviations of the estimates to that of white noise in the
        samples, in 1/s^k.

        The quantisation error of an encoder of resolution r is roughly white, with the standard
        deviation r / sqrt(12), while the joint moves several r per step.
        """
        w = self._pole * positive("step", step, "s")
        transition, gain = discretised(self.order, w, 1.0)
        # Time in units of 1 / w makes the equation well-conditioned.
        units = (-expm1(-w)) ** np.arange(self.order)
        F = (transition - np.outer(gain, transition[0])) * units / units[:, None]
        K = gain / units
        variance = np.diag(solve_discrete_lyapunov(F, np.outer(K, K)))
        return np.asarray(np.sqrt(variance) * units / step ** np.arange(self.order))


def filter_matrices(order: int, bandwidth: float, step: float) -> tuple[Array, Array]:
    """(A, K) of one update of a :class:`DerivativeFilter` with `bandwidth` in Hz after `step` s: x
    = A x + K (y - (A x)_0), for linear analysis."""
    return discretised(order, 2.0 * pi * bandwidth, step)


def discretised(order: int, pole: float, step: float) -> tuple[Array, Array]:
    """exp(A h) (m, m) of the chain of integrators and the gains K (m,), see above."""
    powers = np.cumprod([1.0] + [step] * (order - 1))
    transition = np.zeros((order, order))
    for i in range(order):
        for j in range(i, order):
            transition[i, j] = powers[j - i] / factorial(j - i)
    b, d = exp(-pole * step), -expm1(-pole * step)
    first = -expm1(-order * pole * step)
    gains = {
        2: (first, d * d),
        3: (first, 1.5 * d * d * (1.0 + b), d * d * d),
        4: (
            first,
            d * d * (11.0 + 14.0 * b + 11.0 * b * b) / 6.0,
            2.0 * d * d * d * (1.0 + b),
            d * d * d * d,
        ),
    }
    return transition, np.array(gains[order]) / powers


def time_step(t: float, before: float | None) -> float:
    """Time since the last update, s; inf at the first. InputError for a time that is not finite."""
    if not isfinite(t):
        raise InputError(f"t is {t} s: must be finite")
    return float("inf") if before is None else t - before


def positive(name: str, value: float, unit: str) -> float:
    """A setting as a float; InputError where it is not positive and finite."""
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"{name} is {value} {unit}: must be positive and finite")
    return float(value)
