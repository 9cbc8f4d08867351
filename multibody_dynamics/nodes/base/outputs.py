# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The messages that a node publishes every cycle: preallocated, filled in place, with one stamp."""

from collections.abc import Iterable, Sequence
from typing import Any

from builtin_interfaces.msg import Time
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectoryPoint

from ...dynamics.core import Array
from .messages import (
    command_array_message,
    joint_state_message,
    motor_command_message,
    set_stamp,
    view,
)
from .qos import RELIABLE
from .runtime import ManagedNode


def fill(rows: Iterable[Array], values: Iterable[Array]) -> None:
    """Write values to the views of a message."""
    for row, value in zip(rows, values, strict=True):
        row[:] = value


class Outputs:
    """Publishers that publish together, in the order of their creation, until a node is cleaned up.

    Each method creates a publisher and returns views into its message; values written to a view
    are published by the next `publish_all`.
    """

    def __init__(self, node: ManagedNode[Any]) -> None:
        self._node = node
        node.configuration.callback(self.close)
        self._stamp = Time()
        self._publishers: list[tuple[Any, Any]] = []

    @property
    def command_topic(self) -> str:
        """The resolved name of the first topic, on which commands are published."""
        return str(self._publishers[0][0].topic_name)

    def command_array(self, topic: str, names: Sequence[str]) -> Array:
        """A Float64MultiArray labelled with `names`."""
        message = command_array_message(names)
        self._add(Float64MultiArray, topic, message)
        return view(message.data)

    def joint_state(self, topic: str, names: Sequence[str], *fields: str) -> list[Array]:
        """A JointState with these fields (of position, velocity, effort)."""
        message = joint_state_message(names, *fields)
        self.message(topic, message)
        return [view(getattr(message, field)) for field in fields]

    def motor_command(
        self, topic: str, names: Sequence[str]
    ) -> tuple[JointTrajectoryPoint, list[Array]]:
        """A JointTrajectory of one point with positions, velocities, accelerations and effort."""
        message = motor_command_message(names)
        self.message(topic, message)
        (point,) = message.points
        rows = point.positions, point.velocities, point.accelerations, point.effort
        return point, [view(row) for row in rows]

    def message(self, topic: str, message: Any) -> None:
        """A message with a header, which the caller fills in place."""
        message.header.stamp = self._stamp
        self._add(type(message), topic, message)

    def publish_all(self, stamp: int) -> None:
        """Publish all messages, with this stamp (ns)."""
        set_stamp(self._stamp, stamp)
        self._publish(slice(None))

    def _publish(self, which: slice) -> None:
        """Publish some of the messages, with the present stamp."""
        for publisher, message in self._publishers[which]:
            publisher.publish(message)

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher, _ in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)

    def _add(self, kind: type, topic: str, message: Any) -> None:
        self._publishers.append(
            (self._node.create_lifecycle_publisher(kind, topic, RELIABLE), message)
        )
