# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Collects pairs of joint and motor states, from which springs are watched."""

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...validation.drift_statistics import DriftSums, spring_sums
from ..base.messages import JointStates
from ..following.state_pairs import StatePairs


class SpringSamples:
    """Collects pairs at the rate of the comparison, until they are `taken`.

    links : the newest joint state, with position and effort of the joints `used`, by their indices.
    prefix : prefix of the joint names in messages.
    """

    def __init__(
        self, actuators: Actuators, links: JointStates, used: Sequence[int], prefix: str
    ) -> None:
        self._actuators, self._links, self._used = actuators, links, list(used)
        self._elastic = [j for j in used if actuators.actuators[j].series_spring]
        names = [prefix + actuators.joint_names[j] for j in self._elastic]
        self._motors = JointStates(names, ("position",))
        self._pairs = StatePairs(links, self._motors, needs_links=True)
        self._rows: list[Array] = []
        self._next = 0

    def add_links(self, tolerance: float, period: float) -> None:
        """Record that `links` has a new state; `period` in s, of the samples that are kept."""
        if self._pairs.add(self._links, tolerance):
            self._keep(period)

    def add_motors(self, message: JointState, tolerance: float, period: float) -> None:
        """Add a motor state. Raises MessageError if it is invalid."""
        if self._motors.has_jumped_back(message, 0, 0):
            self._motors.restart()
        if self._motors.accept(message, 0) and self._pairs.add(self._motors, tolerance):
            self._keep(period)

    def taken(self) -> DriftSums | None:
        """The sums of all samples since the last call; None without any."""
        if not self._rows:
            return None
        q, theta, torque = np.stack(self._rows, axis=1)
        self._rows.clear()
        return spring_sums(self._actuators, q, theta, torque)

    def _keep(self, period: float) -> None:
        stamp = self._pairs.stamp
        if 0 < self._next - stamp <= round(1e9 * period):
            return
        self._next = stamp + round(1e9 * period)
        rows = np.full((3, len(self._actuators.joint_names)), np.nan)
        rows[0, self._used] = self._links.position
        rows[1, self._elastic] = self._motors.position
        rows[2, self._elastic] = self._links.effort[np.isin(self._used, self._elastic)]
        self._rows.append(rows)
