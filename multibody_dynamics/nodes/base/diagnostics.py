# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Cycle statistics and event counts on /diagnostics, at no noticeable cost to the control cycle.

The cycle writes a few numbers into fixed buffers; percentiles and messages are computed once per
second.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType

from .runtime import ManagedNode

OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)
PERCENTILES = (50, 90, 99)


class CycleStatistics:
    """Period, duration and latency of the last `window` cycles.

    Times are in ns; `record` takes a fraction of a microsecond and retains no memory.
    """

    QUANTITIES = ("period", "stamp period", "compute", "latency")

    def __init__(self, window: int = 4096) -> None:
        self.total = 0
        self._samples = np.zeros((window, len(self.QUANTITIES)), dtype=np.int64)
        self._count = 0  # since the last report
        self._last_begin = 0
        self._last_stamp = 0

    def record(self, begin: int, end: int, stamp: int, published: int) -> None:
        """Add one cycle.

        begin, end: monotonic ns when the input arrived and after publishing. stamp: stamp of the
        input, ns. published: time of publishing, ns, on the clock of the stamp.
        """
        if self._last_begin:
            row = self._samples[self._count % len(self._samples)]
            row[0] = begin - self._last_begin
            row[1] = stamp - self._last_stamp
            row[2] = end - begin
            row[3] = published - stamp
            self._count += 1
        self._last_begin, self._last_stamp = begin, stamp
        self.total += 1

    def restart(self) -> None:
        """Forget the previous cycle, so no period spans a pause or a jump of the clock."""
        self._last_begin = 0

    def report(self, expected_period: float = 0.0) -> dict[str, float]:
        """Statistics in microseconds since the last report; resets the window.

        Missed cycles are counted from the steps between input stamps, in multiples of
        `expected_period` (s) or, if that is 0, of the median step.
        """
        count = min(self._count, len(self._samples))
        samples = self._samples[:count]
        self._count = 0
        figures: dict[str, float] = {"cycles": count}
        if count == 0:
            return figures
        for name, column in zip(self.QUANTITIES, samples.T, strict=True):
            figures |= _summary(name, 1e-3 * column)
        period = samples[:, 0]
        figures["jitter (standard deviation of period) [us]"] = 1e-3 * float(period.std())
        spread = figures["latency p99 [us]"] - figures["latency p50 [us]"]
        figures["spread of the latency (p99 - p50) [us]"] = spread
        step = 1e9 * expected_period or float(np.median(samples[:, 1]))
        if step > 0:
            figures["missed cycles"] = int(np.maximum(np.rint(samples[:, 1] / step) - 1, 0).sum())
        return figures


def _summary(name: str, microseconds: NDArray[np.float64]) -> dict[str, float]:
    percentiles = np.percentile(microseconds, PERCENTILES)
    return {
        f"{name} mean [us]": float(microseconds.mean()),
        **{f"{name} p{p} [us]": float(x) for p, x in zip(PERCENTILES, percentiles, strict=True)},
        f"{name} max [us]": float(microseconds.max()),
    }


class EventCounter:
    """Counts events by a short reason and keeps the text of the last one.

    Reasons come from a fixed vocabulary, so the table stays small. Anything that arrives from
    outside, such as joint names, belongs in the detail.
    """

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.recent = 0  # since the last report
        self.detail = ""

    def add(self, reason: str, detail: str = "") -> int:
        """Count one event; returns how often its reason has occurred, including this time."""
        self.totals[reason] = count = self.totals.get(reason, 0) + 1
        self.recent += 1
        self.detail = detail or reason
        return count

    def report(self) -> tuple[int, dict[str, object]]:
        """The number since the last report, and the totals with the last detail as key-values."""
        values: dict[str, object] = dict(self.totals)
        if self.detail:
            values["last"] = self.detail
        recent, self.recent = self.recent, 0
        return recent, values


class Status(NamedTuple):
    """What a node reports about one of its parts."""

    part: str
    level: bytes
    text: str
    values: Mapping[str, object]


def status_message(status: Status, node: str, robot: str) -> DiagnosticStatus:
    """The message of a node's status; floats are written with six significant digits."""
    return DiagnosticStatus(
        name=f"{node}: {status.part}",
        level=status.level,
        message=status.text,
        hardware_id=robot,
        values=[
            KeyValue(key=key, value=f"{x:.6g}" if isinstance(x, float) else str(x))
            for key, x in status.values.items()
        ],
    )


class Diagnostics:
    """Publishes the result of `statuses()` every `period` seconds and on demand, until the node is
    deactivated. robot: its name.

    Other parts of the node may `add` their statuses.
    Uses the steady clock, because a fault must be visible while simulated time is paused.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        robot: str,
        statuses: Callable[[], Iterable[Status]],
        period: float = 1.0,
    ) -> None:
        self._node, self._robot, self._sources = node, robot, [statuses]
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        node.activation.callback(node.destroy_publisher, self._publisher)
        node.activation.timer(period, self.publish, Clock(clock_type=ClockType.STEADY_TIME))

    def add(self, statuses: Callable[[], Iterable[Status]]) -> None:
        """Publish these statuses, too, after the others."""
        self._sources.append(statuses)

    def publish(self) -> None:
        """Publish now."""
        name = self._node.get_fully_qualified_name()
        message = DiagnosticArray(
            status=[
                status_message(status, name, self._robot)
                for statuses in self._sources
                for status in statuses()
            ]
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
