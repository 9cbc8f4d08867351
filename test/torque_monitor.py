# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A separate process that judges every motor torque that a controller publishes.

It knows nothing of the controller but the promises of docs/safety.md:

- every number is finite, and within the torque limits of motors and robot;
- from one message to the next, a torque changes by no more than its rate limit allows;
- stamps increase, unless the controller or its clock was restarted;
- every torque belongs to the states whose stamp it carries, which are not older than the watchdog;
  a torque of another stamp is on the reference, within the watchdog, or else a safe output, of
  which there is one sequence for each silence.

`judge` is the judgement itself; the program feeds it from ROS and writes the verdict when it ends:

    torque_monitor.py --ros-args --params-file FILE     (torque_limits, torque_rate_limits, ...)
"""

import json
import math
import signal
import sys
import threading
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass, field
from pathlib import Path

SECOND = 1_000_000_000  # ns
ROUND_OFF = 1e-9
KEPT = 20_000  # stamps of states
PENDING = 1000  # torques whose states may still arrive: topics have no common order


@dataclass
class Verdict:
    """What was seen. `violations`: the first of each kind of broken promise, with its numbers."""

    torques: int = 0
    states: int = 0
    safe_outputs: list[int] = field(default_factory=list)  # sequences of torques that answer no
    # state: the first stamp of each
    on_reference: list[int] = field(default_factory=list)  # the same, while states may be late
    old_answers: int = 0  # torques that answer a state older than the watchdog
    restarts: int = 0  # stamps that went back by more than a second, or a new publisher
    violations: dict[str, str] = field(default_factory=dict)


class Judge:
    """Judges torques and states in the order in which they arrive.

    limits, rates : of each motor, N m and N m/s; watchdog : s
    """

    def __init__(self, limits: list[float], rates: list[float], watchdog: float) -> None:
        self._limits, self._rates = limits, rates
        self._watchdog = round(SECOND * watchdog)
        self._states: OrderedDict[int, None] = OrderedDict()
        self._newest_state = 0
        self._untied: deque[tuple[int, int]] = deque()  # stamp, age on arrival
        self._last: tuple[int, list[float]] | None = None
        self._is_safe = self._is_on_reference = False
        self._verdict = Verdict()

    def conclude(self) -> Verdict:
        """The judgement of everything that has arrived."""
        while self._untied:
            self._tie(*self._untied.popleft())
        return self._verdict

    def state(self, stamp: int) -> None:
        """A state of links or motors was published."""
        self._verdict.states += 1
        self._states[stamp] = None
        self._newest_state = stamp
        if len(self._states) > KEPT:
            self._states.popitem(last=False)

    def restart(self) -> None:
        """The controller was started again."""
        self._verdict.restarts += 1
        self._last, self._is_safe, self._is_on_reference = None, False, False

    def torque(self, stamp: int, efforts: list[float]) -> None:
        """A torque was published."""
        verdict = self._verdict
        verdict.torques += 1
        if len(efforts) != len(self._limits):
            self._violated("length", stamp, f"{len(efforts)} torques")
            return
        for j, (effort, limit) in enumerate(zip(efforts, self._limits, strict=True)):
            if not math.isfinite(effort):
                self._violated("finite", stamp, f"motor {j}: {effort}")
            elif abs(effort) > limit * (1.0 + ROUND_OFF):
                self._violated("torque limit", stamp, f"motor {j}: {effort}, limit {limit}")
        if self._last is not None:
            self._compare(stamp, efforts, *self._last)
        self._last = stamp, list(efforts)
        self._untied.append((stamp, self._newest_state - stamp))
        if len(self._untied) > PENDING:
            self._tie(*self._untied.popleft())

    def _compare(self, stamp: int, efforts: list[float], before: int, old: list[float]) -> None:
        step = stamp - before
        if step < -SECOND:
            self._verdict.restarts += 1  # the clock was set back
            return
        if step <= 0:
            self._violated("rising stamps", stamp, f"after {before}")
            return
        for j, (new, past, rate) in enumerate(zip(efforts, old, self._rates, strict=True)):
            if abs(new - past) > rate * step / SECOND * (1.0 + 1e-6) + 1e-9:
                self._violated(
                    "torque rate", stamp, f"motor {j}: {past} to {new} in {step} ns, limit {rate}"
                )

    def _tie(self, stamp: int, age: int) -> None:
        """A torque answers the state of its stamp; others are on the reference, or safe outputs."""
        if stamp in self._states:
            self._verdict.old_answers += age > self._watchdog
            self._is_safe = self._is_on_reference = False
        elif -age < self._watchdog:
            if not self._is_on_reference:
                self._verdict.on_reference.append(stamp)
            self._is_on_reference = True
        elif not self._is_safe:
            self._is_safe = True
            self._verdict.safe_outputs.append(stamp)

    def _violated(self, kind: str, stamp: int, text: str) -> None:
        self._verdict.violations.setdefault(kind, f"at {stamp}: {text}")


def main() -> int:
    """Watch until SIGINT or SIGTERM, then write the verdict."""
    import rclpy
    from rclpy.experimental import EventsExecutor
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from rclpy.signals import SignalHandlerOptions
    from sensor_msgs.msg import JointState

    leave = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: leave.set())
    rclpy.init(args=sys.argv, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("torque_monitor")
    get = lambda name, kind: node.declare_parameter(name, kind).value  # noqa: E731
    judge = Judge(
        list(get("torque_limits", [1.0])), list(get("torque_rates", [1.0])), get("watchdog", 0.1)
    )
    verdict = Path(get("verdict", "verdict.json"))
    controller = get("controller", "flatness_controller_node")
    reliable = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)

    def stamp(message: JointState) -> int:
        return message.header.stamp.sec * SECOND + message.header.stamp.nanosec

    publishers: set[bytes] = set()
    torques = f"{controller}/motor_torque"

    def on_torque(message: JointState) -> None:
        now = {bytes(info.endpoint_gid) for info in node.get_publishers_info_by_topic(torques)}
        if publishers and now - publishers:
            judge.restart()
        publishers.update(now)
        judge.torque(stamp(message), list(message.effort))

    for topic in ("joint_states", "motor_states"):
        node.create_subscription(JointState, topic, lambda m: judge.state(stamp(m)), reliable)
    node.create_subscription(JointState, torques, on_torque, reliable)
    executor = EventsExecutor()
    executor.add_node(node)
    while not leave.is_set():
        executor.spin_once(timeout_sec=0.05)
    for _ in range(200):  # what is still queued
        executor.spin_once(timeout_sec=0.002)
    verdict.write_text(json.dumps(asdict(judge.conclude())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
