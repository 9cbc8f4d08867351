# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where a node gets its robot: parameters or, if these do not name one, the topic
`robot_description`."""

from typing import TypeVar

from std_msgs.msg import String

from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import inspect_model
from .parameters import ParameterError
from .qos import LATCHED
from .robot import RobotParameters, load_model
from .runtime import ManagedNode

P = TypeVar("P", bound=RobotParameters)


class RobotSource:
    """The robot of a node, which waits for a late robot_description.

    With autostart, the node starts once the description has arrived. `description` is the newest
    one received, "" before the first.
    """

    def __init__(self, node: ManagedNode[P]) -> None:
        self._node = node
        self.description = ""
        node.create_subscription(String, "robot_description", self._on_description, LATCHED)
        node.start_after(lambda: "a robot_description" if self._is_missing else "")

    def load(self) -> MultibodyModel:
        """Load the robot. Raises the errors of :func:`.load_model`."""
        if self._is_missing:
            topic = self._node.resolve_topic_name("robot_description")
            raise ParameterError(
                f"no robot: nothing received on {topic} yet; try again, or set"
                " robot_file or robot_description"
            )
        model = load_model(self._node.parameters, self.description)
        for finding in inspect_model(model):
            if finding.severe:
                text = f"WRONG in the robot: {finding.text}; see `multibody_dynamics inspect`"
                self._node.get_logger().error(text)
        return model

    @property
    def _is_missing(self) -> bool:
        return self._is_needed and not self.description

    @property
    def _is_needed(self) -> bool:
        p = self._node.parameters
        return not (p.robot_file or p.robot_description)

    def _on_description(self, message: String) -> None:
        node = self._node
        is_new = message.data != self.description
        self.description = message.data
        if not self._is_needed or not is_new:
            return
        if node.is_configured:
            node.get_logger().warning(
                "received a new robot_description; it takes effect when the node is next configured"
            )
        elif node.parameters.autostart:
            node.start_or_leave()
