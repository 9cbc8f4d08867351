# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Models of sensors and of signal transmission: resolution, noise, bandwidth and delay.

Every source of noise is seeded: the same seed and the same signal give the same readings, bit for
bit. Readings are sampled once per control period, as by real hardware.
"""

from collections import deque
from math import exp, floor, inf, pi
from typing import Any, Generic, TypeVar

import numpy as np

from ..core import Array, IndependentCopies, InputError, as_array

T = TypeVar("T")


class Encoder(IndependentCopies):
    """Encoders: positions with additive white noise, rounded to the resolution; velocities by
    differences.

    Parameters
    ----------
    size : number of encoders.
    period : between two readings, s.
    resolution : step of the position in rad or m; 0: none. Positions are rounded to the nearest
        multiple, so the mean error is zero.
    noise : standard deviation of the position, rad or m.
    velocity_bandwidth : bandwidth in Hz of the first-order low-pass filter after the difference
        quotient of two positions; inf: the plain difference quotient; None: the true velocity, as
        from a tachometer.
    seed : anything that np.random.default_rng accepts.

    `position` and `velocity` (size,) hold the last reading and are overwritten in place. Raises
    InputError for values out of range.
    """

    def __init__(
        self,
        size: int,
        period: float,
        *,
        resolution: float = 0.0,
        noise: float = 0.0,
        velocity_bandwidth: float | None = None,
        seed: Any = 0,
    ) -> None:
        _check("period", period, positive=True)
        _check("resolution", resolution)
        _check("noise", noise)
        self._period, self._resolution, self._noise = period, resolution, noise
        if velocity_bandwidth is not None and not velocity_bandwidth > 0.0:
            raise InputError(
                f"velocity_bandwidth is {velocity_bandwidth} Hz: must be positive, or None for the "
                f"true velocity"
            )
        self._differentiates = velocity_bandwidth is not None
        self._decay_factor = _decay_factor(velocity_bandwidth or inf, period)
        self._random = np.random.default_rng(seed)
        self.position: Array = np.zeros(size)
        self.velocity: Array = np.zeros(size)

    def restart(self, position: Any, velocity: Any) -> None:
        """Take the first reading; the velocity filter starts at `velocity`."""
        self._measure(position)
        self.velocity[:] = as_array("velocity", velocity, self.velocity.shape)

    def update(self, position: Any, velocity: Any) -> None:
        """Take the next reading, one period after the last one."""
        before = self.position.copy()
        self._measure(position)
        if self._differentiates:
            difference = (self.position - before) / self._period
            self.velocity[:] = difference + self._decay_factor * (self.velocity - difference)
        else:
            self.velocity[:] = as_array("velocity", velocity, self.velocity.shape)

    def _measure(self, position: Any) -> None:
        read = as_array("position", position, self.position.shape)
        if self._noise:
            read = read + self._noise * self._random.standard_normal(read.shape)
        if self._resolution:
            read = self._resolution * np.round(read / self._resolution)
        self.position[:] = read


class TorqueSensor(IndependentCopies):
    """Torque sensors: torques after a first-order low-pass filter, with additive white noise.

    bandwidth: in Hz; inf for no filter. noise: standard deviation in N m. The other parameters are
    those of :class:`Encoder`. `torque` (size,) holds the last reading.
    """

    def __init__(
        self, size: int, period: float, *, bandwidth: float = inf, noise: float = 0.0, seed: Any = 0
    ) -> None:
        _check("period", period, positive=True)
        _check("noise", noise)
        if not bandwidth > 0.0:
            raise InputError(f"bandwidth is {bandwidth} Hz: must be positive, or inf for no filter")
        self._decay_factor, self._noise = _decay_factor(bandwidth, period), noise
        self._random = np.random.default_rng(seed)
        self._filtered: Array = np.zeros(size)
        self.torque: Array = np.zeros(size)

    def restart(self, torque: Any) -> None:
        """Take the first reading, as if the torque had been constant for a long time."""
        self._filtered[:] = as_array("torque", torque, self.torque.shape)
        self._read()

    def update(self, torque: Any) -> None:
        """Take the next reading, one period after the last one."""
        torque = as_array("torque", torque, self.torque.shape)
        self._filtered[:] = torque + self._decay_factor * (self._filtered - torque)
        self._read()

    def _read(self) -> None:
        self.torque[:] = self._filtered
        if self._noise:
            self.torque += self._noise * self._random.standard_normal(self.torque.shape)


class DelayLine(IndependentCopies, Generic[T]):
    """Commands of any type that take effect after a fixed delay, which may end within a cycle.

    delay and period in s; `initial` acts until the first command takes effect.
    """

    def __init__(self, delay: float, period: float, initial: T) -> None:
        _check("delay", delay)
        _check("period", period, positive=True)
        whole = floor(delay / period + 1e-9)
        late = delay - whole * period
        self._period = period
        self._late = late if late > 1e-9 * period else 0.0
        self._line: deque[T] = deque([initial] * (whole + 2), maxlen=whole + 2)

    def push(self, command: T) -> tuple[tuple[float, T], ...]:
        """Add the command given at the beginning of a cycle and return the commands that act during
        the cycle, as pairs (duration in s, command); the durations add up to the period."""
        self._line.append(command)
        before, now = self._line[0], self._line[1]
        if self._late == 0.0:
            return ((self._period, now),)
        return ((self._late, before), (self._period - self._late, now))


def _decay_factor(bandwidth: float, period: float) -> float:
    """The share of the old value that remains after one period of a first-order low-pass filter."""
    if not bandwidth >= 0.0:
        raise InputError(f"bandwidth is {bandwidth} Hz: must be zero or greater")
    return exp(-2.0 * pi * bandwidth * period)


def _check(name: str, value: float, *, positive: bool = False) -> None:
    if not (0.0 < value < inf or (value == 0.0 and not positive)):
        right = "positive" if positive else "zero or greater"
        raise InputError(f"{name} is {value}: must be {right} and finite")
