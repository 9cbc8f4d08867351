# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The subscriptions, timers and services that a node has from `activate` to `deactivate`.

EventsExecutor may deliver events that were queued before their subscription or timer was destroyed.
The node can no longer handle them then, so they are dropped here.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

from rclpy.clock import Clock
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer


class Activation(ExitStack):
    """Creates entities of a node; `close` destroys them and runs the callbacks, last first.

    `is_over`: whether it has been closed.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node
        self.is_over = False

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], object],
        quality: object,
        *,
        raw: bool = False,
    ) -> Subscription:
        """Like `Node.create_subscription`."""
        handler = self._while_active(callback)
        made = self._node.create_subscription(kind, topic, handler, quality, raw=raw)
        self.callback(self._node.destroy_subscription, made)
        return made

    def timer(
        self, period: float, callback: Callable[[], object], clock: Clock | None = None
    ) -> Timer:
        """Like `Node.create_timer`."""
        made = self._node.create_timer(period, self._while_active(callback), clock=clock)
        self.callback(self._node.destroy_timer, made)
        return made

    def service(self, kind: type, name: str, callback: Callable[[Any, Any], object]) -> None:
        """Like `Node.create_service`."""
        made = self._node.create_service(kind, name, callback)
        self.callback(self._node.destroy_service, made)

    def close(self) -> None:
        """Destroy everything and drop events that are still queued."""
        self.is_over = True
        super().close()

    def _while_active(self, callback: Callable[..., object]) -> Callable[..., None]:
        @wraps(callback)
        def call(*arguments: Any) -> None:
            if not self.is_over:
                callback(*arguments)

        return call
