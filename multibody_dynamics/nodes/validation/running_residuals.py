# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Running statistics of the deviation of measured from predicted torques. Does not use ROS."""

from __future__ import annotations

from collections import deque

from ...dynamics.core import Array
from ...dynamics.identification import Residuals


class RunningResiduals:
    """Statistics of all samples since the start, `total`, and of those of the last seconds."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.total = Residuals.none(n)
        self._samples: deque[tuple[float, Array, Array]] = deque()

    def add(self, t: float, predicted: Array, measured: Array) -> None:
        """Add one sample (n,) at t, s."""
        self.total += Residuals.of([t], predicted[None], measured[None])
        self._samples.append((t, predicted, measured))

    def of_last(self, seconds: float) -> Residuals:
        """The statistics of the last seconds; forgets older samples."""
        samples = self._samples
        while samples and samples[0][0] <= samples[-1][0] - seconds:
            samples.popleft()
        if not samples:
            return Residuals.none(self._n)
        times, predicted, measured = zip(*samples, strict=True)
        return Residuals.of(times, predicted, measured)
