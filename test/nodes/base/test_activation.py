# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Entities created for one activation end with it, over the real middleware."""

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from std_msgs.msg import String
from std_srvs.srv import Trigger

from multibody_dynamics.nodes.base.activation import Activation
from ros_harness import RELIABLE, RosHarness, ros

__all__ = ["ros"]  # the fixture

LONG = Duration(seconds=20)


@pytest.fixture(params=[EventsExecutor, SingleThreadedExecutor])
def listener(request, ros: RosHarness) -> Iterator[tuple]:
    """A node and its executor, in the domain of `ros`."""
    context = Context()
    rclpy.init(context=context, domain_id=ros.context.get_domain_id())
    node = rclpy.create_node("listener", namespace="/test", context=context)
    executor = request.param(context=context)
    executor.add_node(node)
    yield node, executor
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_queued_events_are_dropped_and_all_entities_destroyed(ros, listener):
    node, executor = listener
    heard, ticks, after = [], [], []
    before = [len(list(x)) for x in (node.subscriptions, node.timers, node.services)]
    activation = Activation(node)
    activation.subscribe(String, "words", lambda m: heard.append(m.data), RELIABLE)
    activation.timer(0.001, lambda: ticks.append(1))
    activation.service(Trigger, "do", lambda request, response: response)
    activation.callback(after.append, "left")
    words = ros.publisher(String, "words")

    def speak() -> None:
        words.publish(String(data="early"))
        executor.spin_once(timeout_sec=0.01)

    ros.until(lambda: heard and ticks, "a message and a tick", each=speak)
    for _ in range(50):
        words.publish(String(data="late"))
    assert words.wait_for_all_acked(LONG)  # received, but not yet taken
    activation.close()
    assert [len(list(x)) for x in (node.subscriptions, node.timers, node.services)] == before
    assert after == ["left"]
    count = len(ticks)

    marks = []
    node.create_subscription(String, "marks", marks.append, RELIABLE)
    mark = ros.publisher(String, "marks")
    mark.publish(String())
    ros.until(lambda: marks, "the mark", each=lambda: executor.spin_once(timeout_sec=0.01))
    assert "late" not in heard
    assert len(ticks) == count
