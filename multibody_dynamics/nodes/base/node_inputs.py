# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The topics that a node listens to: rejected messages are counted, logged and reported."""

from collections.abc import Callable, Mapping
from typing import Any

from .diagnostics import OK, WARN, EventCounter, Status
from .messages import MessageError
from .runtime import ManagedNode


class Inputs:
    """The subscriptions of a node from activation on."""

    def __init__(self, node: ManagedNode[Any]) -> None:
        self._node = node
        self._rejected = EventCounter()
        self._reasons: dict[str, object] = {}  # of the last rejection on each topic

    def listen(
        self,
        kind: type,
        topic: str,
        accept: Callable[[Any], object],
        quality: object,
        *,
        raw: bool = False,
    ) -> None:
        """Call `accept` with every message until the node is deactivated; one for which it raises
        MessageError is rejected. raw: it takes serialised messages."""

        def receive(message: Any) -> None:
            try:
                accept(message)
            except MessageError as error:
                self.reject(topic, error)

        self._node.activation.subscribe(kind, topic, receive, quality, raw=raw)

    def reject(self, topic: str, error: MessageError) -> None:
        """Count a message that is rejected, and log why, at most once per second for each topic;
        the next report has the reason in any case."""
        self._rejected.add(f"{topic}: {error.reason}")
        self._reasons[f"last rejected {topic}"] = str(error)
        self._node.warn_about(topic, f"rejected {topic}: {error}")

    def report(self) -> tuple[int, dict[str, object]]:
        """The number of rejected messages since the last report, the totals by reason, and why the
        last one on each topic was rejected."""
        recent, _ = self._rejected.report()
        return recent, self._rejected.totals | self._reasons

    def status(self, more: Mapping[str, object]) -> Status:
        """The report as a status, with more values."""
        recent, values = self.report()
        text = f"{recent} rejected in the last second" if recent else "none rejected"
        return Status("inputs", WARN if recent else OK, text, values | more)
