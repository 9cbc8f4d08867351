# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A node in the process of the test, as a place for one component at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from multibody_dynamics.nodes.base.runtime import ManagedNode
from ros_harness import NAMESPACE, RosHarness


class LiveNode(ManagedNode[Any]):
    """Calls `create` with itself when it is activated; `logged` has what it warned about topics."""

    def __init__(self, create: Callable[[LiveNode], object], table: type, **options: Any) -> None:
        super().__init__("live", table, namespace=NAMESPACE, **options)
        self.activate = lambda: create(self)
        self.logged: list[str] = []
        self.warn_about = lambda topic, text: self.logged.append(text)

    def turn(self) -> None:
        """Handle one event, if there is one."""
        self.executor.spin_once(timeout_sec=0.001)


@contextmanager
def live_node(
    ros: RosHarness, create: Callable[[LiveNode], object], table: type, **parameters: Any
) -> Iterator[LiveNode]:
    """An active node in the domain of `ros`."""
    context = Context()
    rclpy.init(context=context, domain_id=ros.context.get_domain_id())
    given = [Parameter(name, value=value) for name, value in parameters.items()]
    node = LiveNode(create, table, context=context, parameter_overrides=given)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        assert node.start()
        yield node
    finally:
        node.activation.close()
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)
