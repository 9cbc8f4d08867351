# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sends a pose to a running task_space_node, and reads its answer from /diagnostics."""

import time
from collections.abc import Callable, Sequence

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation

from ...dynamics.lie import se3
from ...nodes.base.pose_messages import pose_message
from ...nodes.base.qos import RELIABLE
from ..base.processes import RunError
from .table import spinning_node

TOPIC = "target_pose"
ACCEPTED = f"{TOPIC} accepted"
LAST_REJECTED = f"last rejected {TOPIC}"
REPORTED = 2.0  # s, in which nodes have reported; what else listens has no diagnostics


def send_pose(
    position: Sequence[float],
    rpy: Sequence[float],
    frame: str,
    *,
    namespace: str = "",
    domain_id: int | None = None,
    timeout: float = 10.0,
) -> str:
    """Send a pose in m and rad, relative to the link `frame`, and return the node's answer.

    Raises RunError if no node listens or answers within `timeout` s, or if it rejects the pose.
    """
    rotation = Rotation.from_euler("xyz", rpy).as_matrix()
    message = pose_message(se3.from_rotation_translation(rotation, position), frame)
    with spinning_node("send_pose", namespace, domain_id) as (node, spin):
        return _Sender(node, spin, timeout).send(message)


class _Sender:
    """The counts of accepted and rejected poses in the newest diagnostics of each node, and the
    reason of its last rejection. The log of a node may leave a reason out."""

    def __init__(self, node: Node, spin: Callable[[], None], timeout: float) -> None:
        self._node, self._spin, self._timeout = node, spin, timeout
        self._counts: dict[str, dict[str, int]] = {}
        self._reasons: dict[str, str] = {}
        self._publisher = node.create_publisher(PoseStamped, TOPIC, RELIABLE)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def send(self, message: PoseStamped) -> str:
        self._wait(lambda: self._publisher.get_subscription_count(), "no node listens on")
        end = time.monotonic() + REPORTED
        self._wait(
            lambda: self._counts and (self._have_all_reported() or time.monotonic() > end),
            "no diagnostics of a node that listens on",
        )
        before = {node: dict(counts) for node, counts in self._counts.items()}
        self._publisher.publish(message)
        self._wait(lambda: self._answers(before), "the node plans, without an answer to")
        node, what = self._answers(before)[0]
        if what == ACCEPTED:
            return f"{ACCEPTED}: the tool moves"
        reason = self._reasons.get(node, f"its reason is in the log of {node}")
        raise RunError(f"rejected {TOPIC}: {reason}")

    def _have_all_reported(self) -> bool:
        return self._listeners() <= self._counts.keys()

    def _answers(self, before: dict[str, dict[str, int]]) -> list[tuple[str, str]]:
        """Nodes, and what they have counted since then."""
        return [
            (node, what)
            for node, counts in before.items()
            for what, count in self._counts[node].items()
            if count > counts.get(what, 0)
        ]

    def _wait(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + self._timeout
        while not condition():
            if time.monotonic() > end:
                topic = self._node.resolve_topic_name(TOPIC)
                raise RunError(
                    f"{what} {topic} within {self._timeout:g} s (--timeout); a node that starts for"
                    " the first time compiles for up to a minute"
                )
            self._spin()

    def _listeners(self) -> set[str]:
        """The nodes that take poses, with their namespaces."""
        topic = self._node.resolve_topic_name(TOPIC)
        found = self._node.get_subscriptions_info_by_topic(topic)
        return {f"{each.node_namespace.strip('/')}/{each.node_name}".strip("/") for each in found}

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        nodes = self._listeners()
        for status in message.status:
            node, _, part = status.name.rpartition(": ")
            if node.strip("/") not in nodes or part not in ("inputs", "reference"):
                continue
            counts = self._counts.setdefault(node, {})
            for item in status.values:
                if item.key.startswith(TOPIC):
                    counts[item.key] = int(item.value)
                elif item.key == LAST_REJECTED:
                    self._reasons[node] = item.value
