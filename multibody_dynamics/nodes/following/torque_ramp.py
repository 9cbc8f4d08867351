# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A ramp from the last motor torques to those of a law. Uses no ROS."""

import numpy as np

from ...dynamics.core import Array


class TorqueRamp:
    """Blends m torques with continuous slope: the share of the law is x^2 (3 - 2 x) at the share x
    of the ramp's duration.

    Attribute `gain`: the share of the law in the last torques; 0 before the first.
    """

    def __init__(self, m: int) -> None:
        self.gain = 0.0
        self._start: int | None = None  # ns, while the ramp lasts
        self._torque: Array = np.zeros(m)

    def begin(self, stamp: int, torque: Array) -> None:
        """Begin a ramp from `torque` (m,) at `stamp` (ns)."""
        self._start, self._torque = stamp, torque

    def end(self) -> None:
        """Pass on the full torques of the law from now on."""
        self._start = None

    def apply(self, torque: Array, stamp: int, duration: float) -> Array:
        """The blended torques (m,) at `stamp` (ns); torque: of the law. duration: s."""
        self.gain = self._gain(stamp, duration)
        return torque if self.gain == 1.0 else self._torque + self.gain * (torque - self._torque)

    def _gain(self, stamp: int, duration: float) -> float:
        if self._start is None:
            return 1.0
        x = 1e-9 * (stamp - self._start) / duration if duration else 1.0
        if x >= 1.0:
            self._start = None
            return 1.0
        return x * x * (3.0 - 2.0 * x)
