# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A node that runs one cycle per joint state: clock and clock jumps, checks of message stamps,
watchdogs for missing input, and cycle statistics.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.clock import JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from sensor_msgs.msg import JointState

from ...dynamics.model import MultibodyModel
from .activation import Activation
from .diagnostics import OK, WARN, CycleStatistics, Diagnostics, EventCounter, status
from .messages import SECOND, JointStates, MessageError
from .robot_description import DescribedNode
from .watchdog import Watchdog


class CyclicNode(DescribedNode):
    """A lifecycle node that runs one cycle per joint state, or per tick of a timer.

    From `activate` on, it has `_last_stamp` (ns) of the last output, 0 before the first;
    `_statistics` of the cycles; and the counters `_events` and `_rejected`.
    """

    _model: MultibodyModel

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._activation: Activation | None = None

    # For subclasses

    @abstractmethod
    def _cycle(self, stamp: int, begin: int) -> None:
        """Compute and publish outputs with this stamp (ns) from the newest state.

        begin: monotonic ns at which the state arrived.
        """

    @abstractmethod
    def _statuses(self) -> Iterator[DiagnosticStatus]:
        """The statuses to publish on /diagnostics."""

    @property
    @abstractmethod
    def _has_state(self) -> bool:
        """Whether a timer-driven cycle has a state to start from."""

    # Life cycle

    def activate(self) -> None:
        self._activation = Activation(self)
        self._last_stamp = 0
        self._statistics = CycleStatistics()
        self._rejected, self._events = EventCounter(), EventCounter()
        self._watchdogs: list[Watchdog] = []
        self._read_clock_type()
        jumps = self.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
            ),
            post_callback=self._on_time_jump,
        )
        self._activation.callback(jumps.unregister)
        rate = self.parameters.update_rate
        self._timer = self._activation.timer(1.0 / rate, self._on_timer) if rate else None
        self._diagnostics = Diagnostics(self, self._statuses)
        self._activation.callback(self._diagnostics.close)

    def deactivate(self) -> None:
        if self._activation is not None:
            self._activation.close()
            self._activation = None

    @property
    def _is_running(self) -> bool:
        """Whether the node is between `activate` and `deactivate`."""
        return self._activation is not None

    def reconfigure(self, values: Any) -> None:
        if self._is_running:
            for watchdog in self._watchdogs:
                watchdog.timeout = values.state_timeout

    def _listen(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], object],
        quality: object,
        *,
        raw: bool = False,
    ) -> None:
        """Subscribe until `deactivate`; raw: the callback takes serialised messages."""
        assert self._activation is not None
        self._activation.subscribe(kind, topic, callback, quality, raw=raw)

    def _watch(self, on_stale: Callable[[], object]) -> Watchdog:
        """Start a watchdog that calls `on_stale` when no state arrives for `state_timeout`.

        Safe outputs use the buffers and publishers of the control cycle, which have no locks.
        Therefore the watchdog's thread publishes nothing; it defers to the executor's thread.
        """
        activation = self._activation
        assert activation is not None

        def look_again() -> None:
            if self._activation is activation and watchdog.stale:  # still no input
                on_stale()

        watchdog = Watchdog(
            self.parameters.state_timeout,
            lambda age: self.defer(look_again),
            simulated_time=self._simulated_time,
        )
        self._watchdogs.append(watchdog)
        activation.callback(watchdog.stop)
        watchdog.start()
        return watchdog

    # Time

    def _read_clock_type(self) -> None:
        clock = self.get_clock()
        simulated = isinstance(clock, ROSClock) and clock.ros_time_is_active
        # For system time, this takes 0.1 us; rclpy's clock takes 4 us.
        self._now = (lambda: clock.now().nanoseconds) if simulated else time.time_ns
        self._simulated_time = self._now if simulated else None

    def _on_time_jump(self, jump: TimeJump) -> None:
        self._read_clock_type()
        for watchdog in self._watchdogs:
            watchdog.simulated_time = self._simulated_time
        seconds = 1e-9 * jump.delta.nanoseconds
        self._restart(f"the clock jumped by {seconds:.3f} s" if seconds else "use_sim_time changed")

    def _restart(self, why: str) -> None:
        """Reset everything that depends on time."""
        self.get_logger().warning(
            f"{why}: resetting reference, filters and statistics", throttle_duration_sec=1.0
        )
        self._events.add("time jumped", why)
        self._last_stamp = 0
        self._statistics.restart()
        for watchdog in self._watchdogs:
            watchdog.feed()

    # Inputs

    def _take(self, topic: str, states: JointStates, message: JointState) -> bool:
        """Accept a state message; True if it completes a state in which every joint is new."""
        now, tolerance = self._now(), int(SECOND * self.parameters.stamp_tolerance)
        try:
            if not now:
                raise MessageError(
                    "no clock", "use_sim_time is set, but nothing is published on /clock"
                )
            if states.went_back(message, now, tolerance):
                self._restart(f"the clock and the stamps of {topic} jumped back")
            return states.accept(message, now, tolerance)
        except MessageError as error:
            self._reject(topic, error)
            return False

    def _on_timer(self) -> None:
        if self._has_state:
            self._cycle(self._now(), time.monotonic_ns())

    def _check_stamp(self, stamp: int) -> None:
        """Raise MessageError if a stamp (ns) is missing or too far from the node's clock."""
        tolerance = int(SECOND * self.parameters.stamp_tolerance)
        age = self._now() - stamp
        if not stamp:
            raise MessageError("no stamp", "the stamp is zero")
        if tolerance and abs(age) > tolerance:
            reason = "stale" if age > 0 else "from the future"
            raise MessageError(
                reason,
                f"the stamp is {1e-9 * abs(age):.3f} s"
                f" {'old' if age > 0 else 'ahead of the clock'}",
            )

    def _reject(self, topic: str, error: MessageError) -> None:
        self._rejected.add(f"{topic}: {error.reason}", f"{topic}: {error}")
        self.warn_about(topic, f"rejected {topic}: {error}")

    def _comes_late(self, topic: str, stamp: int) -> bool:
        """Reject a state that is older than the last output."""
        if stamp > self._last_stamp:
            return False
        self._reject(topic, MessageError("out of order", "older than the last output"))
        return True

    def _step_to(self, stamp: int) -> float:
        """Seconds since the last output; 0 for the first one."""
        return 1e-9 * (stamp - self._last_stamp) if self._last_stamp else 0.0

    # Diagnostics

    def _status(
        self, part: str, level: bytes, text: str, values: Mapping[str, object]
    ) -> DiagnosticStatus:
        name = f"{self.get_fully_qualified_name()}: {part}"
        return status(name, level, text, values, self._model.name)

    def _cycle_status(
        self, ages: Mapping[str, float], fault: tuple[bytes, str] | None
    ) -> DiagnosticStatus:
        """The statistics of the cycle; a `fault`, (level, text), takes precedence."""
        p = self.parameters
        rate = p.update_rate or p.expected_rate
        figures = self._statistics.report(1.0 / rate if rate else 0.0) | ages
        if fault is not None:
            level, text = fault
        elif figures.get("missed cycles"):
            level, text = WARN, f"{figures['missed cycles']} cycles missed"
        elif not figures["cycles"]:
            level, text = OK, "simulated time is paused" if self._simulated_time else "no cycles"
        else:
            level, text = OK, f"{1e6 / figures['period mean [us]']:.0f} Hz"
        return self._status("cycle", level, text, figures)

    def _inputs_status(self, more: Mapping[str, object]) -> DiagnosticStatus:
        recent, values = self._rejected.report()
        text = f"{recent} rejected in the last second" if recent else "none rejected"
        return self._status("inputs", WARN if recent else OK, text, values | more)
