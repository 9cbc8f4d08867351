# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Supervises a cycle that runs once per joint state, or per tick of a timer: the clock and its
jumps, stamps of states and outputs, watchdogs for missing input, and statistics.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.clock import JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from sensor_msgs.msg import JointState

from .diagnostics import OK, WARN, CycleStatistics, EventCounter, Status
from .messages import SECOND, JointStates, MessageError
from .node_inputs import Inputs
from .runtime import ManagedNode
from .watchdog import Watchdog


class CycleSupervisor:
    """The clock, stamps, watchdogs and statistics of a node's cycle, from activation on.

    node : its parameters include update_rate, expected_rate, state_timeout and stamp_tolerance.
    inputs : where states are rejected.
    cycle : computes and publishes outputs from the newest state; called by the timer, if the
        parameter update_rate sets one, with their stamp (ns) and the monotonic time (ns) at which
        the cycle begins.
    has_state : whether there is a state from which the timer may run a cycle.
    on_jump : resets what depends on time, and calls `restart`; called with why time has jumped.

    Attributes: `now`, which reads the clock of the stamps, ns; `has_timer`, whether the timer runs
    the cycle; `last_stamp`, ns, of the last output, 0 before the first; `statistics`, of the
    cycles; `events`, which happened.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        inputs: Inputs,
        *,
        cycle: Callable[[int, int], object],
        has_state: Callable[[], bool],
        on_jump: Callable[[str], object],
    ) -> None:
        self._node, self._inputs = node, inputs
        self._cycle, self._has_state, self._on_jump = cycle, has_state, on_jump
        self.last_stamp = 0
        self.statistics = CycleStatistics()
        self.events = EventCounter()
        self._watchdogs: list[Watchdog] = []
        self._read_clock_type()
        jumps = node.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
            ),
            post_callback=self._on_time_jump,
        )
        node.activation.callback(jumps.unregister)
        rate = node.parameters.update_rate
        self.has_timer = bool(rate)
        if rate:
            node.activation.timer(1.0 / rate, self._on_timer)

    # Time

    def _read_clock_type(self) -> None:
        clock = self._node.get_clock()
        self._is_simulated = isinstance(clock, ROSClock) and clock.ros_time_is_active
        # For system time, this takes 0.1 us; rclpy's clock takes 4 us.
        self.now: Callable[[], int] = (
            (lambda: clock.now().nanoseconds) if self._is_simulated else time.time_ns
        )

    def _simulated_time(self) -> int | None:
        return self.now() if self._is_simulated else None

    def _on_time_jump(self, jump: TimeJump) -> None:
        self._read_clock_type()
        seconds = 1e-9 * jump.delta.nanoseconds
        self._on_jump(f"the clock jumped by {seconds:.3f} s" if seconds else "use_sim_time changed")

    def restart(self, why: str) -> None:
        """Forget the last cycle, because time has jumped."""
        self._node.get_logger().warning(
            f"{why}: resetting reference, filters and statistics", throttle_duration_sec=1.0
        )
        self.events.add("time jumped", why)
        self.last_stamp = 0
        self.statistics.restart()
        for watchdog in self._watchdogs:
            watchdog.feed()

    def watch(self, on_stale: Callable[[], object]) -> Watchdog:
        """Start a watchdog that calls `on_stale` when it is not fed for `state_timeout`.

        Safe outputs use the buffers and publishers of the control cycle, which have no locks.
        Therefore the watchdog's thread publishes nothing; it defers to the executor's thread.
        """
        node, activation = self._node, self._node.activation

        def look_again() -> None:
            if not activation.is_over and watchdog.stale:  # still no input
                on_stale()

        watchdog = Watchdog(
            lambda: node.parameters.state_timeout,
            lambda age: node.defer(look_again),
            simulated_time=self._simulated_time,
        )
        self._watchdogs.append(watchdog)
        activation.callback(watchdog.stop)
        watchdog.start()
        return watchdog

    # States and stamps

    def take(self, topic: str, states: JointStates, message: JointState) -> bool:
        """Accept a message; True if it completes a state in which every joint is new.

        Raises MessageError if the message is rejected.
        """
        now, tolerance = self.now(), int(SECOND * self._node.parameters.stamp_tolerance)
        if not now:
            raise MessageError(
                "no clock", "use_sim_time is set, but nothing is published on /clock"
            )
        if states.has_jumped_back(message, now, tolerance):
            self._on_jump(f"the clock and the stamps of {topic} jumped back")
        return states.accept(message, now, tolerance)

    def check_stamp(self, stamp: int) -> None:
        """Raise MessageError if a stamp (ns) is missing or too far from the clock."""
        tolerance = int(SECOND * self._node.parameters.stamp_tolerance)
        age = self.now() - stamp
        if not stamp:
            raise MessageError("no stamp", "the stamp is zero")
        if tolerance and abs(age) > tolerance:
            reason = "stale" if age > 0 else "from the future"
            raise MessageError(
                reason,
                f"the stamp is {1e-9 * abs(age):.3f} s"
                f" {'old' if age > 0 else 'ahead of the clock'}",
            )

    def reject_if_late(self, topic: str, stamp: int) -> bool:
        """Reject a state that is older than the last output."""
        if stamp > self.last_stamp:
            return False
        self._inputs.reject(topic, MessageError("out of order", "older than the last output"))
        return True

    def stamp_gap(self, stamp: int) -> str:
        """The gap between the last output and a state that comes more than `state_timeout` later,
        in words; "" if there is none. The watchdog may not have noticed it."""
        gap = stamp - self.last_stamp if self.last_stamp else 0
        is_long = gap > int(SECOND * self._node.parameters.state_timeout)
        return f"gap of {1e-9 * gap:.3f} s between two stamps" if is_long else ""

    def step_to(self, stamp: int) -> float:
        """Seconds since the last output; 0 for the first one."""
        return 1e-9 * (stamp - self.last_stamp) if self.last_stamp else 0.0

    def next_stamp(self) -> int:
        """ns, for an output that answers no state: now, or just after the last output."""
        return max(self.now(), self.last_stamp + 1)

    def _on_timer(self) -> None:
        if self._has_state():
            self._cycle(self.now(), time.monotonic_ns())

    # Statistics

    def record(self, begin: int, stamp: int) -> int:
        """Add a cycle that has just published to the statistics; returns the time, ns."""
        now = self.now()
        self.statistics.record(begin, time.monotonic_ns(), stamp, now)
        return now

    def status(self, ages: Mapping[str, float], fault: tuple[bytes, str] | None) -> Status:
        """The statistics of the cycle; a `fault`, (level, text), takes precedence."""
        p = self._node.parameters
        rate = p.update_rate or p.expected_rate
        figures = self.statistics.report(1.0 / rate if rate else 0.0) | ages
        if fault is not None:
            level, text = fault
        elif figures.get("missed cycles"):
            level, text = WARN, f"{figures['missed cycles']} cycles missed"
        elif not figures["cycles"]:
            level, text = OK, "simulated time is paused" if self._is_simulated else "no cycles"
        else:
            level, text = OK, f"{1e6 / figures['period mean [us]']:.0f} Hz"
        return Status("cycle", level, text, figures)
