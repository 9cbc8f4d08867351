"""A node whose robot comes by parameters or, where these do not name one, on the topic
`robot_description`."""

from __future__ import annotations

from std_msgs.msg import String

from ...dynamics.model import MultibodyModel
from .parameters import ParameterError
from .qos import LATCHED
from .robot import load_model
from .runtime import ManagedNode


class DescribedNode(ManagedNode):
    """`configure` calls `_load_model`. One that starts by itself waits for the description.

    `_description`: the newest that came, "" before.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._description = ""
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    def start(self) -> bool:
        if self._needs_description() and not self._description:
            self.get_logger().info("waiting for a robot_description to start with")
            return False
        return super().start()

    def _load_model(self) -> MultibodyModel:
        """Raises ModelError, and ParameterError where no robot is given."""
        if self._needs_description() and not self._description:
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
                "a new robot_description: it counts from the next configure on"
            )
        elif self.parameters.autostart:
            self.start()
