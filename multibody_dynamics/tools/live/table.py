# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The live table of `multibody_dynamics monitor`: torques, rates and margins of all joints, with
periods and ages of the topics."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...dynamics.core import Array
from ...dynamics.model import MultibodyModel
from ..base.processes import RunError
from ..base.ros_settings import ros_node

WINDOW = 1000  # messages from which a period is estimated
REFRESH = 0.2  # s
STATES_PATIENCE = 2.0  # s for positions to arrive after the torques, with `once`
# Nodes that close a loop come first: any other node may be running for display only.
TORQUES = (
    "flatness_controller_node/motor_torque",
    "task_space_node/torque",
    "feedforward_node/torque",
)
CLEAR = "\x1b[H\x1b[J"


class TopicTiming:
    """Period of a topic on this computer's clock, and age of its last message."""

    def __init__(self, name: str, stale_after: float) -> None:
        self.name = name
        self.count = 0
        self._stale_after = stale_after
        self._arrivals: deque[float] = deque(maxlen=WINDOW)

    def add(self, now: float) -> None:
        """Count a message that arrived at `now`, s."""
        self.count += 1
        self._arrivals.append(now)

    def line(self, now: float) -> str:
        """Period (median and maximum), age, and whether the topic is stale."""
        if not self._arrivals:
            return f"{self.name:<44} no message yet"
        age = now - self._arrivals[-1]
        stale = "   STALE" if age > self._stale_after else ""
        steps = 1e3 * np.diff(self._arrivals)
        period = f"{np.median(steps):8.2f} ms, at most {steps.max():.2f}" if len(steps) else "-"
        return f"{self.name:<44} every {period}   {age:6.2f} s old   {self.count} messages{stale}"


class JointTable:
    """The last values of each joint, from messages with any joints in any order."""

    def __init__(self, model: MultibodyModel | None = None) -> None:
        self._model = model
        self._torque: dict[str, float] = {}
        self._peak: dict[str, float] = {}
        self._rate: dict[str, float] = {}
        self._position: dict[str, float] = {}
        self._stamp: dict[str, float] = {}

    def add_torques(self, names: Sequence[str], effort: Sequence[float], stamp: float) -> None:
        """Add torques, N m or N, with a stamp in s; their rate is the slope between two stamps."""
        for name, value in zip(names, effort, strict=False):
            step = stamp - self._stamp.get(name, stamp)
            if step > 0.0:
                self._rate[name] = (value - self._torque[name]) / step
            self._torque[name], self._stamp[name] = value, stamp
            self._peak[name] = max(self._peak.get(name, 0.0), abs(value))

    def add_positions(self, names: Sequence[str], position: Sequence[float]) -> None:
        """Add positions, rad or m."""
        self._position.update(zip(names, position, strict=False))

    def lines(self) -> list[str]:
        """The table, with a row per joint of the model, followed by the received names that are no
        joints of it, such as the two motors of an antagonistic joint."""
        head = ("joint", "torque", "peak", "rate", "limit", "left", "position", "to a stop")
        lines = [f"{head[0]:<24}" + "".join(f"{text:>11}" for text in head[1:])]
        joints = self._model.joint_names if self._model else ()
        for name in dict.fromkeys((*joints, *self._torque)):
            lower, upper, effort = self._limits(name)
            torque = self._torque.get(name, np.nan)
            q = self._position.get(name, np.nan)
            room = min(q - lower, upper - q) if np.isfinite(q) else np.nan
            share = 1.0 - abs(torque) / effort if 0.0 < effort < np.inf else np.nan
            cells = [torque, self._peak.get(name, np.nan), self._rate.get(name, np.nan), effort]
            row = "".join(_cell(x) for x in cells)
            row += _cell(100.0 * share, "%") + _cell(q) + _cell(room)
            mark = "  !" if share < 0.1 or room < 0.05 else ""
            lines.append(f"{name:<24}{row}{mark}")
        return lines

    def _limits(self, name: str) -> tuple[float, float, float]:
        if self._model is None or name not in self._model.joint_names:
            return -np.inf, np.inf, np.inf
        limits: Array = np.transpose(self._model.limits)[self._model.joint_names.index(name)]
        return float(limits[0]), float(limits[1]), float(limits[3])


def _cell(value: float, unit: str = "") -> str:
    return f"{f'{value:.4g}{unit}' if np.isfinite(value) else '-':>11}"


def find_torques(
    count_publishers: Callable[[str], int], spin: Callable[[], object], end: float
) -> str:
    """The first topic of TORQUES that has a publisher.

    Calls `spin` until then; raises RunError at `end`, s of the monotonic clock.
    """
    while True:
        for topic in TORQUES:
            if count_publishers(topic):
                return topic
        if time.monotonic() > end:
            raise RunError(
                f"no publisher of torques on {', '.join(TORQUES)}; is a node active in this"
                " namespace and ROS domain? --torques selects another topic"
            )
        spin()


def watch(
    table: JointTable,
    torques: str | None,
    states: str,
    *,
    namespace: str = "",
    stale_after: float = 0.2,
    once: bool = False,
    timeout: float = 10.0,
) -> None:
    """Show the table until Ctrl-C, followed by all messages on /diagnostics that are not OK.

    With `once`, show it a single time as soon as torques and positions have arrived, without the
    positions if they take longer than STATES_PATIENCE. Raises RunError if no torques arrive within
    `timeout` s. :func:`find_torques` chooses the topic if `torques` is None.
    """
    with spinning_node("multibody_dynamics_monitor", namespace) as (node, spin):
        end = time.monotonic() + timeout if once else np.inf
        if torques is None:
            if not once:
                print(f"looking for {', '.join(TORQUES)}", flush=True)
            torques = find_torques(
                lambda topic: node.count_publishers(node.resolve_topic_name(topic)), spin, end
            )
        topics = {name: TopicTiming(name, stale_after) for name in (torques, states)}
        faults = _subscribe(node, table, topics[torques], topics[states])
        shown = 0.0
        while True:
            spin()
            now = time.monotonic()
            has_torques = topics[torques].count >= 2
            if now > end and not has_torques:
                raise RunError(f"no torques on {node.resolve_topic_name(torques)} for {timeout} s")
            if not has_torques:
                enough = now + STATES_PATIENCE
            is_complete = has_torques and (topics[states].count > 0 or now > enough)
            if now < shown + REFRESH or (once and not is_complete):
                continue
            shown = now
            lines = [*table.lines(), "", *(topic.line(now) for topic in topics.values())]
            lines += [f"{name}: {text}" for name, text in faults.items()]
            print((CLEAR if sys.stdout.isatty() else "") + "\n".join(lines), flush=True)
            if once:
                return


@contextmanager
def spinning_node(
    name: str, namespace: str = "", domain_id: int | None = None
) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A node, and a function that handles its next message."""
    from rclpy.executors import SingleThreadedExecutor

    with ros_node(name, namespace, domain_id) as node:
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)
        try:
            yield node, lambda: executor.spin_once(timeout_sec=0.05)
        finally:
            executor.shutdown()


def _subscribe(
    node: Any, table: JointTable, torques: TopicTiming, states: TopicTiming
) -> dict[str, str]:
    """Fill the table from the topics; returns the current faults by name, kept up to date."""
    from diagnostic_msgs.msg import DiagnosticArray
    from sensor_msgs.msg import JointState

    from ...nodes.base.messages import SECOND, nanoseconds
    from ...nodes.base.qos import best_effort

    faults: dict[str, str] = {}

    def on_torques(message: JointState) -> None:
        torques.add(time.monotonic())
        stamp = nanoseconds(message.header.stamp) / SECOND
        table.add_torques(message.name, message.effort, stamp)

    def on_states(message: JointState) -> None:
        states.add(time.monotonic())
        table.add_positions(message.name, message.position)

    def on_diagnostics(message: DiagnosticArray) -> None:
        for status in message.status:
            faults.pop(status.name, None)
            if status.level != status.OK:
                faults[status.name] = status.message

    node.create_subscription(JointState, torques.name, on_torques, best_effort())
    node.create_subscription(JointState, states.name, on_states, best_effort())
    node.create_subscription(DiagnosticArray, "/diagnostics", on_diagnostics, best_effort())
    return faults
