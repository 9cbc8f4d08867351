"""A live table in the terminal: torque, rate and margins of joints, periods and ages of topics.

multibody_dynamics monitor --urdf ROBOT.urdf
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dynamics.core import Array
from ..dynamics.model import MultibodyModel
from .processes import DemoError

WINDOW = 1000  # messages over which a period is taken
REFRESH = 0.2  # s
# Of the nodes, the one that closes a loop first: beside it another may only be watched.
TORQUES = (
    "flatness_controller_node/motor_torque",
    "task_space_node/torque",
    "feedforward_node/torque",
)
CLEAR = "\x1b[H\x1b[J"


class Topic:
    """How often something comes, by the clock of this computer, and how old the last one is."""

    def __init__(self, name: str, stale_after: float) -> None:
        self.name = name
        self.count = 0
        self._stale_after = stale_after
        self._arrivals: deque[float] = deque(maxlen=WINDOW)

    def add(self, now: float) -> None:
        """A message came; now in s."""
        self.count += 1
        self._arrivals.append(now)

    def line(self, now: float) -> str:
        """Period (median and greatest), age, and whether that is too long."""
        if not self._arrivals:
            return f"{self.name:<44} nothing yet"
        age = now - self._arrivals[-1]
        stale = "   STALE" if age > self._stale_after else ""
        steps = 1e3 * np.diff(self._arrivals)
        period = f"{np.median(steps):8.2f} ms, at most {steps.max():.2f}" if len(steps) else "-"
        return f"{self.name:<44} every {period}   {age:6.2f} s old   {self.count} messages{stale}"


class Monitor:
    """What is known of each joint, from messages that may carry any joints in any order."""

    def __init__(self, model: MultibodyModel | None = None) -> None:
        self._model = model
        self._torque: dict[str, float] = {}
        self._peak: dict[str, float] = {}
        self._rate: dict[str, float] = {}
        self._position: dict[str, float] = {}
        self._stamp: dict[str, float] = {}

    def add_torques(self, names: Sequence[str], effort: Sequence[float], stamp: float) -> None:
        """Torques, N m or N, at a stamp in s; the rate is that between two stamps."""
        for name, value in zip(names, effort, strict=False):
            step = stamp - self._stamp.get(name, stamp)
            if step > 0.0:
                self._rate[name] = (value - self._torque[name]) / step
            self._torque[name], self._stamp[name] = value, stamp
            self._peak[name] = max(self._peak.get(name, 0.0), abs(value))

    def add_positions(self, names: Sequence[str], position: Sequence[float]) -> None:
        """Positions, rad or m."""
        self._position.update(zip(names, position, strict=False))

    def lines(self) -> list[str]:
        """The table: a row per joint of the model, or of what came where there is no model."""
        head = ("joint", "torque", "peak", "rate", "limit", "left", "position", "to a stop")
        lines = [f"{head[0]:<24}" + "".join(f"{text:>11}" for text in head[1:])]
        names = self._model.joint_names if self._model else tuple(self._torque)
        for name in names:
            lower, upper, effort = self._limits(name)
            torque = self._torque.get(name, np.nan)
            q = self._position.get(name, np.nan)
            room = min(q - lower, upper - q) if np.isfinite(q) else np.nan
            share = 1.0 - abs(torque) / effort if 0.0 < effort < np.inf else np.nan
            cells = [torque, self._peak.get(name, np.nan), self._rate.get(name, np.nan), effort]
            row = "".join(_cell(x) for x in cells)
            row += _cell(100.0 * share, "%") + _cell(q) + _cell(room)
            lines.append(f"{name:<24}{row}{_mark(share, room)}")
        return lines

    def _limits(self, name: str) -> tuple[float, float, float]:
        if self._model is None or name not in self._model.joint_names:
            return -np.inf, np.inf, np.inf
        limits: Array = np.transpose(self._model.limits)[self._model.joint_names.index(name)]
        return float(limits[0]), float(limits[1]), float(limits[3])


def _cell(value: float, unit: str = "") -> str:
    return f"{f'{value:.4g}{unit}' if np.isfinite(value) else '-':>11}"


def _mark(share: float, room: float) -> str:
    return "  !" if share < 0.1 or room < 0.05 else ""


def find_torques(
    count_publishers: Callable[[str], int], spin: Callable[[], object], end: float
) -> str:
    """The first of TORQUES that someone publishes; `spin` until then, or raise DemoError at `end`,
    s of the monotonic clock."""
    while True:
        for topic in TORQUES:
            if count_publishers(topic):
                return topic
        if time.monotonic() > end:
            raise DemoError(
                f"nobody publishes torques on {', '.join(TORQUES)}; is a node active, and in this"
                " namespace and ROS domain? --torques names another topic"
            )
        spin()


def watch(
    monitor: Monitor,
    torques: str | None,
    states: str,
    *,
    namespace: str = "",
    stale_after: float = 0.2,
    once: bool = False,
    timeout: float = 10.0,
) -> None:
    """Show the table until Ctrl-C; with `once`, as soon as torques came, or raise DemoError after
    `timeout` s. Without `torques` the topic is looked for, see `find_torques`. Levels and messages
    of /diagnostics that are not OK stand below it."""
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions
    from sensor_msgs.msg import JointState

    from ..nodes.base.messages import SECOND, nanoseconds
    from ..nodes.base.qos import best_effort

    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    executor = None
    try:
        node = rclpy.create_node("multibody_dynamics_monitor", namespace=namespace)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        end = time.monotonic() + timeout

        def spin() -> None:
            executor.spin_once(timeout_sec=0.05)

        def count_publishers(topic: str) -> int:
            return node.count_publishers(node.resolve_topic_name(topic))

        if torques is None:
            if not once:
                print(f"looking for {', '.join(TORQUES)}", flush=True)
            torques = find_torques(count_publishers, spin, end if once else np.inf)
        topics = {name: Topic(name, stale_after) for name in (torques, states)}
        faults: dict[str, str] = {}

        def on_torques(message: Any) -> None:
            topics[torques].add(time.monotonic())
            stamp = nanoseconds(message.header.stamp) / SECOND
            monitor.add_torques(message.name, message.effort, stamp)

        def on_states(message: Any) -> None:
            topics[states].add(time.monotonic())
            monitor.add_positions(message.name, message.position)

        def on_diagnostics(message: Any) -> None:
            for status in message.status:
                faults.pop(status.name, None)
                if status.level != status.OK:
                    faults[status.name] = status.message

        node.create_subscription(JointState, torques, on_torques, best_effort())
        node.create_subscription(JointState, states, on_states, best_effort())
        node.create_subscription(DiagnosticArray, "/diagnostics", on_diagnostics, best_effort())
        shown = 0.0
        while True:
            spin()
            now = time.monotonic()
            if once and now > end:
                raise DemoError(f"no torques on {node.resolve_topic_name(torques)} for {timeout} s")
            if now < shown + REFRESH or (once and topics[torques].count < 2):
                continue
            shown = now
            lines = [*monitor.lines(), "", *(topic.line(now) for topic in topics.values())]
            lines += [f"{name}: {text}" for name, text in faults.items()]
            print((CLEAR if sys.stdout.isatty() else "") + "\n".join(lines), flush=True)
            if once:
                return
    finally:
        if executor is not None:
            executor.shutdown()
        rclpy.try_shutdown()
