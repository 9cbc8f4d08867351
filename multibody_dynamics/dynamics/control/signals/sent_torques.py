# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torques that were sent, and when each of them acts after a known delay.

A torque sent at t_k is held from t_k + delay until the next one takes effect, at t_(k+1) + delay.
To compare a measured state with a torque, take the one that acted at that time, not the one that
was sent last: :meth:`SentTorques.mean` gives it for any interval, even if the delay is not a
multiple of the cycle or the cycles are of unequal length.
"""

import numpy as np

from ...core import Array, IndependentCopies, InputError

CAPACITY = 1024  # torques; the older half is dropped when it is full


class SentTorques(IndependentCopies):
    """The most recent torques (count, m) that were sent, with their times.

    Attributes: `times` (CAPACITY,) in s and `torques` (CAPACITY, m) in N m, of which the first
    `count` rows are used, oldest first. The first torque counts as having acted at all times before
    the second takes effect.
    """

    def __init__(self, motors: int) -> None:
        self.times: Array = np.zeros(CAPACITY)
        self.torques: Array = np.zeros((CAPACITY, motors))
        self.count = 0

    def reset(self) -> None:
        """Forget all torques."""
        self.count = 0

    def push(self, t: float, torque: Array) -> None:
        """Add a torque (m,) that was sent at t in s, later than all previous ones.

        Raises InputError for a time that is not later.
        """
        count = self.count
        if count and not t > self.times[count - 1]:
            raise InputError(
                f"a torque sent at {t} s cannot follow one sent at {self.times[count - 1]} s"
            )
        if count == CAPACITY:
            count //= 2
            self.times[:count] = self.times[count:]
            self.torques[:count] = self.torques[count:]
        self.times[count] = t
        self.torques[count] = torque
        self.count = count + 1

    def mean(self, start: float, end: float, delay: float) -> Array:
        """The mean torque (m,) that acted from `start` to `end` in s, if every torque takes effect
        `delay` s after it was sent; for an empty interval, the torque at its end.

        Raises InputError if no torque has been sent.
        """
        if not self.count:
            raise InputError("no torque has been sent yet: push one first")
        effective = self.times[: self.count] + delay
        last = max(int(np.searchsorted(effective, end, "left")) - 1, 0)
        first = max(int(np.searchsorted(effective, start, "right")) - 1, 0)
        if first >= last:
            return self.torques[last].copy()
        edges = np.empty(last - first + 2)
        edges[0], edges[-1] = start, end
        edges[1:-1] = effective[first + 1 : last + 1]
        shares = np.diff(edges) / (end - start)
        return np.asarray(shares @ self.torques[first : last + 1])
