# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Records topics into a bag: finds them, subscribes, and counts what is lost.

Messages are taken from their queues without an executor (see `subscriptions`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ...dynamics.core import InputError
from ...validation.recordings.bag_library import interfaces
from ..base.subscriptions import QUEUE, PublicationCount, take_all
from .bag_writer import BagWriter, RecordedTopic
from .message_definitions import MessageTypes

if TYPE_CHECKING:
    from rosbags.interfaces import Qos, QosTime

DEFAULT = (
    "joint_states",
    "motor_states",
    "motor_torque",
    "robot_description",
    "*/commands",
    "*/motor_torque",
)
"""What is recorded if no topics are named."""


@dataclass(frozen=True, eq=False)
class TopicResult:
    """How much of a topic was recorded.

    recorded : messages in the bag. unreceived : published, but not received. unwritten : received,
    but not in the bag. longest_step : between two successive header stamps, s; 0 without stamps.
    """

    name: str
    recorded: int
    unreceived: int
    unwritten: int
    longest_step: float

    @property
    def lost(self) -> int:
        return self.unreceived + self.unwritten


class TopicRecorder:
    """Records topics into the bag `folder`: call `look` and `poll` repeatedly, then `close`.

    topics : names or patterns (`*/commands`), relative to the namespace of the node; None: all
    topics in this namespace. optional : whether topics may be absent.
    """

    def __init__(
        self, node: Node, folder: Path, topics: Sequence[str] | None, *, optional: bool = False
    ) -> None:
        self._node, self._optional = node, optional
        self._wanted = None if topics is None else tuple(map(self._absolute, topics))
        self._types = MessageTypes()
        self._writer = BagWriter(folder)
        self._subscriptions: dict[str, Any] = {}
        self._counts: dict[str, PublicationCount] = {}
        self.unsupported: dict[str, str] = {}  # reasons why topics cannot be recorded

    @property
    def failure(self) -> str:
        """Why nothing can be written any more; empty if it can."""
        return self._writer.failure

    @property
    def waiting(self) -> int:
        """Bytes that wait for the disk."""
        return self._writer.waiting

    def missing(self) -> list[str]:
        """Names and patterns without a recorded topic."""
        if self._wanted is None or self._optional:
            return []
        return [
            wanted
            for wanted in self._wanted
            if not any(fnmatchcase(name, wanted) for name in self._subscriptions)
        ]

    def look(self) -> list[str]:
        """Subscribe to new topics that have publishers; returns their names. Call it repeatedly."""
        new = []
        for name, kinds in self._node.get_topic_names_and_types():
            if not self._is_wanted(name) or name in self.unsupported:
                continue
            publishers = self._node.get_publishers_info_by_topic(name)
            if name in self._subscriptions:
                count = self._counts[name]
                count.publishers = max(count.publishers, len(publishers))
            elif publishers:
                try:
                    self._subscribe(name, kinds[0], publishers)
                    new.append(name)
                except InputError as error:
                    self.unsupported[name] = str(error)
        return new

    def poll(self) -> None:
        """Take all received messages; call it at least every second."""
        for name, subscription in self._subscriptions.items():
            count = self._counts[name]
            for message, info in take_all(subscription):
                count.add(info.get("publication_sequence_number"), message)  # not in Humble
                received = info["received_timestamp"] or time.time_ns()
                self._writer.add(name, received, message)

    def close(self) -> None:
        """Unsubscribe, and complete the bag."""
        self.poll()
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._writer.close()

    def results(self) -> list[TopicResult]:
        """One per topic, sorted by name."""
        found = []
        for name, count in sorted(self._counts.items()):
            unwritten = self._writer.lost(name)
            recorded, step = count.received - unwritten, 1e-9 * count.longest_step
            found.append(TopicResult(name, recorded, count.lost, unwritten, step))
        return found

    def _absolute(self, name: str) -> str:
        if name.startswith("/"):
            return name
        return f"{self._node.get_namespace().rstrip('/')}/{name}"

    def _is_wanted(self, name: str) -> bool:
        if self._wanted is None:
            hidden = name.rpartition("/")[2].startswith("_")
            return name.startswith(self._absolute("")) and not hidden
        return any(fnmatchcase(name, wanted) for wanted in self._wanted)

    def _subscribe(self, name: str, kind: str, publishers: list[TopicEndpointInfo]) -> None:
        found = self._types.find(kind)
        offered = [publisher.qos_profile for publisher in publishers]
        quality = QoSProfile(
            depth=QUEUE.depth,
            reliability=_common(offered, "reliability", ReliabilityPolicy.RELIABLE,
                                ReliabilityPolicy.BEST_EFFORT),
            durability=_common(offered, "durability", DurabilityPolicy.TRANSIENT_LOCAL,
                               DurabilityPolicy.VOLATILE),
        )  # fmt: skip
        self._writer.add_topic(RecordedTopic(name, found, [*map(_offered, offered)]))
        self._counts[name] = count = PublicationCount(stamped=found.is_stamped)
        count.publishers = len(publishers)
        self._subscriptions[name] = self._node.create_subscription(
            found.message, name, lambda message: None, quality, raw=True
        )


def _common(offered: Iterable[QoSProfile], policy: str, strong: Any, weak: Any) -> Any:
    """The strong policy if all publishers offer it; otherwise the weak one, which matches all."""
    return strong if all(getattr(each, policy) == strong for each in offered) else weak


def _offered(profile: QoSProfile) -> Qos:
    """The quality of service of a publisher, as rosbags writes it."""

    def span(duration: Any) -> QosTime:
        return interfaces.QosTime(*divmod(duration.nanoseconds, 1_000_000_000))

    return interfaces.Qos(
        interfaces.QosHistory[profile.history.name],
        profile.depth,
        interfaces.QosReliability[profile.reliability.name],
        interfaces.QosDurability[profile.durability.name],
        span(profile.deadline),
        span(profile.lifespan),
        interfaces.QosLiveliness[profile.liveliness.name],
        span(profile.liveliness_lease_duration),
        profile.avoid_ros_namespace_conventions,
    )
