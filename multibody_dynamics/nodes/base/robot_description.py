# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A node whose robot is given by parameters or, if these do not name one, by the topic
`robot_description`."""

from __future__ import annotations

from std_msgs.msg import String

from ...dynamics.model import MultibodyModel
from .parameters import ParameterError
from .qos import LATCHED
from .robot import load_model
from .runtime import ManagedNode


class DescribedNode(ManagedNode):
    """A node that can wait for a robot_description; its `configure` calls `_load_model`.

    With autostart, it starts once the description has arrived. `_description` is the newest one
    received, "" before the first.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._description = ""
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    def start(self) -> bool:
        if self.is_waiting:
            self.get_logger().info("waiting for a robot_description before starting")
            return False
        return super().start()

    @property
    def is_waiting(self) -> bool:
        return self._needs_description() and not self._description

    def _load_model(self) -> MultibodyModel:
        """Load the robot. Raises ModelError, and ParameterError if no robot is given."""
        if self.is_waiting:
            topic = self.resolve_topic_name("robot_description")
            raise ParameterError(
                f"no robot: nothing received on {topic} yet; try again, or set"
                " robot_file or robot_description"
            )
        return load_model(self.parameters, self._description)

    def _needs_description(self) -> bool:
        return not (self.parameters.robot_file or self.parameters.robot_description)

    def _on_description(self, message: String) -> None:
        is_new = message.data != self._description
        self._description = message.data
        if not self._needs_description() or not is_new:
            return
        if self._is_configured():
            self.get_logger().warning(
                "received a new robot_description; it takes effect when the node is next configured"
            )
        elif self.parameters.autostart:
            self.start_or_leave()
