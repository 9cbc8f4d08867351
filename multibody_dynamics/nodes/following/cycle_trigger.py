# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""When a controller runs a cycle, and on which states."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from sensor_msgs.msg import JointState

from ...dynamics.control import Arm
from ..base.cycle_supervisor import CycleSupervisor
from ..base.messages import SECOND, MessageError
from ..base.node_inputs import Inputs
from ..base.qos import best_effort
from ..base.runtime import ManagedNode
from .state_pairs import StateInputs

TICK = 0.004  # s, from one cycle without a pair to the next
WORTH_A_LINE = 0.01  # s without a pair; shorter gaps are only counted
BURST = 0.01  # s, in which the messages that queued up while the process was suspended arrive
BACKLOG = 0.25  # share of a period; a pair that is read sooner after a cycle was queued


class Cycle(Protocol):
    """Computes and sends a torque."""

    def __call__(self, stamp: int, begin: int, *, is_late: bool = False) -> None:
        """Run one cycle with this stamp (ns), which began at `begin`, monotonic ns; is_late: a pair
        should have arrived."""


class CycleTrigger:
    """Runs a cycle on every pair of states, and on those of one side while the other is missing;
    while pairs are late, every TICK without states, so that the torque follows the reference. With
    a timer, each tick of it uses the newest states, or waits for the next ones if they were used.

    cycle : called with the stamp of the states; those that are older than the last torque, or whose
    time a cycle without states has answered, are left out.

    Attribute `wait`: ns, for which a state may wait for the timer.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        inputs: Inputs,
        supervisor: CycleSupervisor,
        states: StateInputs,
        arm: Arm,
        cycle: Cycle,
    ) -> None:
        self._node, self._inputs, self._supervisor = node, inputs, supervisor
        self._states, self._arm, self._cycle = states, arm, cycle
        self._newest = NewestPair(node.defer, self._run)
        self._late_cycles = 0
        self.restart()
        self.wait = round(SECOND * node.parameters.period) if supervisor.has_timer else 0
        for side, topic in states.topics.items():
            quality = best_effort(node.parameters.state_queue_depth)
            inputs.listen(JointState, topic, partial(self._on_states, side, topic), quality)
        if not supervisor.has_timer:
            node.activation.timer(TICK, self._on_tick)
        node.activation.callback(self._newest.cancel)

    def restart(self) -> None:
        """Forget all states and torques, because time jumped."""
        self._newest.cancel()
        self._answered = self._sent_at = 0  # ns, stamp of the last late cycle; of the last torque
        self._unused = 0  # ns, stamp of states that the timer has not used
        self._is_owed = False  # whether a tick of the timer waits for states

    def note_torque(self, now: int) -> None:
        """Note that a torque answered states at `now` (ns)."""
        self._sent_at = now

    @property
    def counts(self) -> dict[str, object]:
        """How many pairs had no cycle, and cycles no pair."""
        return {"pairs skipped": self._newest.skipped, "cycles without a pair": self._late_cycles}

    def _on_states(self, side: str, topic: str, message: JointState) -> None:
        begin = time.monotonic_ns()
        supervisor, states, p = self._supervisor, self._states, self._node.parameters
        if not supervisor.take(topic, states.sides[side], message):
            return
        try:
            is_pair = states.add(side, p.pair_tolerance)
        except MessageError as error:
            self._inputs.reject(topic, error)
            is_pair = False
        if not (is_pair or states.runs_on(side)):
            return
        states.read()
        stamp = states.stamp if is_pair else states.sides[side].stamp
        if supervisor.has_timer and not self._is_owed:
            self._unused = stamp
            return
        self._is_owed = False
        if is_pair:
            self._newest.take(begin, stamp, p.state_timeout)
        else:
            self._run(stamp, begin)

    def on_timer(self, begin: int) -> None:
        """Run a cycle on the newest states with their stamp, or, if there are none, as soon as
        some arrive: each counts once."""
        stamp, self._unused = self._unused, 0
        self._is_owed = not stamp
        if stamp:
            self._run(stamp, begin)
        else:
            self._on_tick()

    def _on_tick(self) -> None:
        """While pairs are late, keep the torque on the reference."""
        arm, timeout = self._arm, self._node.parameters.state_timeout
        if self._newest.is_due or not (self._sent_at and arm.supervisor.mode.is_following):
            return
        late = self._supervisor.now() - self._sent_at
        if arm.times.is_late(1e-9 * late) and 1e-9 * late < timeout:
            self._run_without_pair(self._states.stamp + late, late)

    def _run_without_pair(self, stamp: int, late: int) -> None:
        if stamp <= max(self._answered, self._supervisor.last_stamp):
            return
        self._late_cycles += 1
        self._answered = stamp
        if 1e-9 * late >= WORTH_A_LINE:
            self._node.get_logger().warning(
                f"no matching states for {1e-9 * late:.3f} s: the torque follows the reference",
                throttle_duration_sec=1.0,
            )
        self._cycle(stamp, time.monotonic_ns(), is_late=True)

    def _run(self, stamp: int, begin: int) -> None:
        if stamp <= self._answered:  # states have become later
            self._newest.skipped += 1
            self._sent_at = self._supervisor.now()
        elif not self._supervisor.reject_if_late("motor_states", stamp):
            self._cycle(stamp, begin)


class NewestPair:
    """Runs a cycle on every pair at once, or, if pairs have queued up, on the last of them, once
    all queued messages have been read.

    After a silence, a cycle waits for the newest pair: if this process was suspended, the queue
    fills while it is read, and cycles on part of it would hide the gap in the stamps.

    defer: calls a function in the executor's thread, after the queued messages.
    cycle: called with the stamp of the newest pair, and its arrival in ns of the `clock`.
    """

    def __init__(
        self,
        defer: Callable[[Callable[[], None]], None],
        cycle: Callable[[int, int], None],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.skipped = 0  # pairs that were queued behind a newer one
        self._defer, self._cycle, self._clock = defer, cycle, clock
        self._due: int | None = None  # arrival of the pair that the next cycle will use, if any
        self._arrival = self._stamp = 0  # of the last pair, if any
        self._ended = 0  # the last cycle, at this time

    @property
    def is_due(self) -> bool:
        """Whether a pair waits for its cycle."""
        return self._due is not None

    def take(self, arrival: int, stamp: int, timeout: float) -> None:
        """Run a cycle on a pair with this arrival and stamp (ns), or soon; if none arrived for more
        than `timeout` s before it, wait a moment first."""
        since, period = arrival - self._arrival, stamp - self._stamp
        is_first, self._arrival, self._stamp = not self._arrival, arrival, stamp
        if self._due is not None:
            self.skipped += 1
            self._due = arrival
        elif is_first or (arrival - self._ended >= BACKLOG * period and since <= SECOND * timeout):
            self._run_on(arrival)
        else:
            self._due = arrival
            if since > SECOND * timeout:
                threading.Timer(BURST, self._defer, [self._run]).start()
            else:
                self._defer(self._run)

    def cancel(self) -> None:
        """Drop the pair that waits for its cycle."""
        self._due = None

    def _run(self) -> None:
        arrival, self._due = self._due, None
        if arrival is not None:
            self._run_on(arrival)

    def _run_on(self, arrival: int) -> None:
        self._cycle(self._stamp, arrival)
        self._ended = self._clock()
