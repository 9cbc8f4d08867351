"""What a node has from `activate` to `deactivate`: subscriptions, timers and services.

What came in before one of these was destroyed, EventsExecutor hands over after that: it stands in
a queue. By then the node is no longer ready for it, so it is dropped here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

from rclpy.clock import Clock
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer


class Activation(ExitStack):
    """`close` destroys what was made here, and calls what was given to `callback`, last first."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node
        self._is_over = False

    def subscribe(
        self,
        kind: type,
        topic: str,
        callback: Callable[[Any], object],
        quality: object,
        *,
        raw: bool = False,
    ) -> Subscription:
        """As `Node.create_subscription`."""
        handler = self._while_it_lasts(callback)
        made = self._node.create_subscription(kind, topic, handler, quality, raw=raw)
        self.callback(self._node.destroy_subscription, made)
        return made

    def timer(
        self, period: float, callback: Callable[[], object], clock: Clock | None = None
    ) -> Timer:
        """As `Node.create_timer`."""
        made = self._node.create_timer(period, self._while_it_lasts(callback), clock=clock)
        self.callback(self._node.destroy_timer, made)
        return made

    def service(self, kind: type, name: str, callback: Callable[[Any, Any], object]) -> None:
        """As `Node.create_service`."""
        made = self._node.create_service(kind, name, callback)
        self.callback(self._node.destroy_service, made)

    def close(self) -> None:
        """It is over."""
        self._is_over = True
        super().close()

    def _while_it_lasts(self, callback: Callable[..., object]) -> Callable[..., None]:
        @wraps(callback)
        def call(*arguments: Any) -> None:
            if not self._is_over:
                callback(*arguments)

        return call
