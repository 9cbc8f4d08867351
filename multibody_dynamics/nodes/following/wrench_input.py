# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The topic `external_wrench`: a contact wrench that someone else measures or announces."""

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped

from ...dynamics.core import Array
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import carry_wrenches, jacobian
from ..base.cycle_supervisor import CycleSupervisor
from ..base.external_wrench import ExternalWrench
from ..base.messages import MessageError, nanoseconds
from ..base.node_inputs import Inputs
from ..base.qos import best_effort
from ..base.runtime import ManagedNode

TOPIC = "external_wrench"


class WrenchInput:
    """Listens to `external_wrench` from activation on; `wrench` is what has been received.

    q : returns (n,) measured positions. limit : (n,) joint torques that the motors can hold; a
    wrench that needs more is rejected.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        model: MultibodyModel,
        inputs: Inputs,
        supervisor: CycleSupervisor,
        q: Callable[[], Array],
        limit: Array,
    ) -> None:
        self._node, self._model, self._q, self._limit = node, model, q, limit
        self._inputs, self._supervisor = inputs, supervisor
        self.wrench = ExternalWrench(model, node.parameters.wrench_link)
        inputs.listen(WrenchStamped, TOPIC, self._on_wrench, best_effort(1))

    def newest(self, stamp: int, state: Array) -> tuple[int, Array] | None:
        """The body, and W, W', W'' (3, 6) in the frame of the base at `stamp` (ns), to be called
        once per cycle; None before the first message. state: rows q, q', q''."""
        wrench, p = self.wrench, self._node.parameters
        if wrench.body is None:
            return None
        if wrench.expire(stamp, p.wrench_timeout):
            why = "none arrived within wrench_timeout; set to zero"
            self._inputs.reject(TOPIC, MessageError("stale", why))
        step = self._supervisor.step_to(stamp)
        return wrench.body, wrench.advance(step, p.wrench_filter_time, state)

    def write(
        self, stamp: int, state: Array, wrenches: Array, base: tuple[Array, Array] | None = None
    ) -> None:
        """Write the `newest` wrench, if there is one, to `wrenches` (n, 3, 6), and zero for all
        other bodies. base: pose (4, 4) and rates (4, 6), if it moves."""
        if (found := self.newest(stamp, state)) is not None:
            body, wrench = found
            if base is not None:
                carry_wrenches(base[0][None], base[1][None, :2], wrench[None])
            wrenches[:] = 0.0
            wrenches[body] = wrench

    def joint_torque(self, stamp: int, state: Array, q: Array) -> Array | None:
        """(n,) joint torques of the `newest` wrench at the measured positions q (n,)."""
        found = self.newest(stamp, state)
        if found is None:
            return None
        body, wrench = found
        J = jacobian(self._model, q, body, representation="spatial")
        return np.asarray(J.T @ wrench[0])

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._supervisor.check_stamp(nanoseconds(message.header.stamp))
        tolerance = self._node.parameters.wrench_tolerance
        self.wrench.accept(message, self._q(), (tolerance or np.inf) * self._limit)
