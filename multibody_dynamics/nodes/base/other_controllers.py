# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Notices on the ROS graph that somebody else commands the same robot.

Two publishers on one topic of commands, or a robot that listens to the commands of two controllers,
get alternating torques, of which every single one looks right.
"""

from collections.abc import Iterator
from typing import Any

from rclpy.lifecycle import LifecycleNode
from rclpy.topic_endpoint_info import TopicEndpointInfo

from .diagnostics import ERROR, OK, Status

COMMANDS = "/commands"  # end of the names of topics with the commands of a controller


class OtherControllers:
    """Looks for controllers besides `node`, which publishes its commands on `topic`."""

    def __init__(self, node: LifecycleNode, topic: str) -> None:
        self._node, self._topic = node, topic
        self._said = ""
        self.statuses()

    def statuses(self) -> Iterator[Status]:
        """What is found now, as a status; what has changed is logged."""
        found = "; ".join(self.found())
        if found != self._said:
            log = self._node.get_logger()
            if found:
                log.error(f"{found}: a robot must have one controller; stop the others")
            else:
                log.info(f"no other controller publishes commands beside {self._topic}")
        self._said = found
        text = found or "no other controller"
        return iter([Status("commands", ERROR if found else OK, text, {"topic": self._topic})])

    def found(self) -> Iterator[str]:
        """Other controllers, in words."""
        node, topic = self._node, self._topic
        publishers = [_name(each) for each in node.get_publishers_info_by_topic(topic)]
        if len(publishers) > 1:
            yield f"{len(publishers)} publishers of {topic} ({', '.join(sorted(publishers))})"
        robots = self._robots(topic)
        for other, types in node.get_topic_names_and_types():
            is_like_ours = other.endswith(COMMANDS) and "std_msgs/msg/Float64MultiArray" in types
            if other == topic or not is_like_ours:
                continue
            rivals = {_name(each) for each in node.get_publishers_info_by_topic(other)}
            if rivals and (both := robots & self._robots(other)):
                yield f"{', '.join(sorted(both))} listens to {topic} and {other}"

    def _robots(self, topic: str) -> set[str]:
        """The nodes that listen to a topic of commands, but for recorders and displays, which
        listen to joint states, too."""
        states: Any = self._node.resolve_topic_name("joint_states")
        listening, recording = (
            {_name(each) for each in self._node.get_subscriptions_info_by_topic(name)}
            for name in (topic, states)
        )
        return listening - recording


def _name(endpoint: TopicEndpointInfo) -> str:
    return f"{endpoint.node_namespace.rstrip('/')}/{endpoint.node_name}"
