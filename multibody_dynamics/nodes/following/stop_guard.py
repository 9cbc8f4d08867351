# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Checks that a stop succeeds: supervises the joint speeds while a fault is active. Uses no ROS.

A stop can fail: torques may arrive too late for any feedback, motors may lack friction, sensors may
be wrong, or somebody may push the arm. The guard detects two things: a joint that is too fast
for the motion being stopped, and an arm that does not come to rest in time. :class:`.Faults`
decides on the response.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.core import Array
from .faults import Fault

SECOND = 1_000_000_000  # ns
FASTER = 1.5  # times the speed at the fault
SHARE = 0.25  # of the velocity limit, in addition: braking one joint moves the others
UNLIMITED_SPEED = 2.0  # rad/s or m/s, velocity limit of joints that have none
LASTING = 50_000_000  # ns; shorter peaks may be caused by the velocity filters
AT_REST = 200_000_000  # ns below the speed of rest; an oscillation exceeds this speed again sooner
SLOWEST = 0.01  # rad/s or m/s; the speed of rest is never taken below this


class StopGuard:
    """Judges a stop from its beginning to rest, and the hold that follows.

    velocity_limits : (n,) rad/s or m/s of the joints; inf if there are none.

    Times are stamps in ns. The timeout keeps running while no states arrive, so an arm that is
    still moving when they return may have exceeded it.
    """

    def __init__(self, joint_names: tuple[str, ...], velocity_limits: Array) -> None:
        self.joint_names = joint_names
        self._limits = np.where(np.isfinite(velocity_limits), velocity_limits, UNLIMITED_SPEED)
        self._allowed: Array = np.zeros(len(joint_names))
        self.restart()

    def restart(self) -> None:
        """Forget all times, because the stamps jumped; the allowed speeds remain."""
        self._moving_since = self._slow_since = self._fast_since = -1

    def begin(self, speed: Array) -> None:
        """Begin a stop at the speeds (n,) of the joints."""
        self.restart()
        self._allowed[:] = FASTER * speed + SHARE * self._limits

    def allowed(self, limit: float) -> Array:
        """(n,) speeds that the stop may not exceed; limit: for all joints; 0: set by `begin`."""
        return np.full_like(self._allowed, limit) if limit else self._allowed

    def check(
        self, stamp: int, speed: Array, *, limit: float, timeout: float, rest_speed: float
    ) -> Fault | None:
        """The fault of a stop that fails, None otherwise.

        speed : (n,) of the joints. limit : see :meth:`allowed`. timeout : s. rest_speed : rad/s or
        m/s, below which a joint is at rest.
        """
        allowed = self.allowed(limit)
        excess = speed / allowed
        k = int(excess.argmax())
        if not excess[k] > 1.0:
            self._fast_since = -1
        elif self._fast_since < 0:
            self._fast_since = stamp
        elif stamp - self._fast_since >= LASTING:
            return Fault.stop_failed(
                f"'{self.joint_names[k]}' moves at {speed[k]:.3g}, too fast for a stop;"
                f" allowed: {allowed[k]:.3g} (stop_speed_limit)"
            )
        return self._not_at_rest(stamp, speed, timeout, rest_speed)

    def _not_at_rest(
        self, stamp: int, speed: Array, timeout: float, rest_speed: float
    ) -> Fault | None:
        k = int(speed.argmax())
        if self._moving_since < 0:
            self._moving_since = stamp
        if speed[k] <= max(rest_speed, SLOWEST):
            if self._slow_since < 0:
                self._slow_since = stamp
            if stamp - self._slow_since >= AT_REST:
                self._moving_since = stamp
            return None
        self._slow_since = -1
        lasted = stamp - self._moving_since
        if lasted <= timeout * SECOND:
            return None
        return Fault.stop_failed(
            f"'{self.joint_names[k]}' still moves at {speed[k]:.3g} after {lasted / SECOND:.3g} s;"
            f" allowed: {timeout:g} s (stop_timeout)"
        )
