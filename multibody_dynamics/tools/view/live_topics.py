# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Running nodes as a source of states, which they do not notice.

Subscriptions are best effort, so that no publisher waits for this process, and of the queued
messages only the newest are kept.
"""

import time
from collections import deque
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ...dynamics.core import Array
from ...dynamics.elastic import Actuators
from ...dynamics.model import MultibodyModel
from ...nodes.base.messages import SECOND, nanoseconds, read_wrench
from ...nodes.base.qos import LATCHED, best_effort
from ..base.node_parameters import CONTROLLER, FEEDFORWARD
from ..base.processes import RunError
from ..base.subscriptions import take_all
from .sources import PLOTTED, Curves
from .viewed_motion import EXTERNAL, PUBLISHED, RobotState, motors_along

WINDOW = 10.0  # s of the plots
OLD = 0.5  # s after which a wrench or a contact is no longer shown
DEPTH = 8  # messages in a queue, for joints whose states come in several messages
FEEDFORWARDS = (FEEDFORWARD, "task_space_node")


class LiveTopics:
    """The states on the topics of a namespace; missing ones are unknown."""

    def __init__(self, node: Node, model: MultibodyModel, actuators: Actuators | None) -> None:
        self._model, self._actuators = model, actuators
        self._index = {joint: i for i, joint in enumerate(model.joint_names)}
        self._motors = {
            name: j for j, name in enumerate(actuators.motor_names if actuators else ())
        }
        n = model.n
        self._q, self._error, self._external = (np.full(n, np.nan) for _ in range(3))
        self._torque = np.full((3, n), np.nan)
        self._theta = np.full(len(self._motors), np.nan)
        self._contact = self._pushed = -np.inf
        self._wrench: tuple[tuple[str, Array], ...] = ()
        self._stamp = 0.0
        self._state: RobotState | None = None
        self._history: deque[tuple[float, Array]] = deque()
        self._inputs: list[tuple[Any, Any]] = []

        def listen(topic: str, take: Any, kind: Any = JointState) -> None:
            made = node.create_subscription(kind, topic, lambda message: None, best_effort(DEPTH))
            self._inputs.append((made, take))

        listen("joint_states", self._on_links)
        listen("motor_states", self._on_motors)
        listen("external_wrench", self._on_wrench, WrenchStamped)
        listen(f"{CONTROLLER}/tracking_error", lambda m: self._fill(self._error, m, m.position))
        listen(f"{CONTROLLER}/{EXTERNAL}", self._on_external)
        for name in FEEDFORWARDS:
            for k, topic in enumerate(PUBLISHED):
                listen(f"{name}/{topic}", lambda m, k=k: self._fill(self._torque[k], m, m.effort))

    def _fill(self, rows: Array, message: JointState, values: Any) -> None:
        for name, value in zip(message.name, values, strict=False):
            if name in self._index:
                rows[self._index[name]] = value

    def _on_links(self, message: JointState) -> None:
        self._fill(self._q, message, message.position)
        if any(message.effort):
            self._fill(self._torque[0], message, message.effort)
        self._stamp = nanoseconds(message.header.stamp) / SECOND

    def _on_motors(self, message: JointState) -> None:
        for name, value in zip(message.name, message.position, strict=False):
            if name in self._motors:
                self._theta[self._motors[name]] = value

    def _on_external(self, message: JointState) -> None:
        self._contact = time.monotonic()
        self._fill(self._external, message, message.effort)

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._pushed = time.monotonic()
        if message.header.frame_id in self._model.frames:
            self._wrench = ((message.header.frame_id, np.array(read_wrench(message))),)

    def add_controls(self, gui: Any) -> None:
        """None: the nodes are in control."""

    def state(self) -> RobotState | None:
        """The newest state; None until positions of all joints have arrived."""
        is_new = False
        for subscription, take in self._inputs:
            for message, _ in take_all(subscription):
                take(message)
                is_new = True
        if np.isnan(self._q).any():
            return None
        now = time.monotonic()
        old = self._state
        acts = old is not None and bool(old.wrenches or np.isfinite(old.external).any())
        if not (is_new or acts) and old is not None:
            return old
        nothing = np.full(self._model.n, np.nan)
        if self._actuators is not None and np.isfinite(self._theta).all():
            motor = self._theta @ self._actuators.link_of_motors
        else:
            rest = np.stack([self._q, *np.zeros((4, self._model.n))])
            motor = motors_along(self._actuators, rest, np.nan_to_num(self._torque))
        self._state = RobotState(
            self._q.copy(),
            motor,
            self._torque.copy(),
            self._error.copy(),
            self._external.copy() if now - self._contact < OLD else nothing,
            self._wrench if now - self._pushed < OLD else (),
        )
        self._remember(self._stamp or now)
        return self._state

    def _remember(self, at: float) -> None:
        history = self._history
        if history and at < history[-1][0]:  # a simulation has been started again
            history.clear()
        if not history or at > history[-1][0]:
            history.append((at, np.stack([*self._torque, self._error])))
        while history[-1][0] - history[0][0] > WINDOW:
            history.popleft()

    def curves(self) -> Curves | None:
        """The last seconds."""
        if len(self._history) < 2:
            return None
        t = np.array([at for at, _ in self._history])
        rows = np.array([row for _, row in self._history])
        known = {
            name: rows[:, k] for k, name in enumerate(PLOTTED) if np.isfinite(rows[:, k]).any()
        }
        return Curves(t, known, (t[-1] - WINDOW, t[-1]))


def wait_for_description(node: Node, seconds: float) -> str:
    """The URDF on the topic robot_description. Raises RunError if none arrives in time."""
    made = node.create_subscription(String, "robot_description", lambda message: None, LATCHED)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for message, _ in take_all(made):
            return str(message.data)
        time.sleep(0.05)
    raise RunError(
        f"no robot on {node.resolve_topic_name('robot_description')} for {seconds:g} s; --urdf"
        " names its file"
    )
