# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The components of `base` as one base class, for nodes that are not composed of them yet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from sensor_msgs.msg import JointState

from ...dynamics.model import MultibodyModel
from .cycle_supervisor import CycleSupervisor
from .diagnostics import CycleStatistics, Diagnostics, EventCounter, Status
from .messages import JointStates, MessageError
from .node_inputs import Inputs
from .parameters import NodeParameters
from .robot_source import RobotSource
from .runtime import ManagedNode


class CyclicNode(ManagedNode[Any]):
    """A node with `RobotSource`, `Inputs`, `CycleSupervisor` and `Diagnostics`."""

    Parameters: ClassVar[type[NodeParameters]]
    _model: MultibodyModel

    def __init__(self, name: str) -> None:
        super().__init__(name, self.Parameters)
        self._source = RobotSource(self)
        self._load_model = self._source.load

    @abstractmethod
    def _cycle(self, stamp: int, begin: int) -> None:
        """Compute and publish outputs with this stamp (ns) from the newest state."""

    @abstractmethod
    def _statuses(self) -> Iterator[Status]:
        """The statuses to publish on /diagnostics."""

    @property
    @abstractmethod
    def _has_state(self) -> bool:
        """Whether a timer-driven cycle has a state to start from."""

    def activate(self) -> None:
        self._activation = self.activation
        self._messages = Inputs(self)
        self._supervisor = supervisor = CycleSupervisor(
            self,
            self._messages,
            cycle=lambda stamp, begin: self._cycle(stamp, begin),
            has_state=lambda: self._has_state,
            on_jump=lambda why: self._restart(why),
        )
        self._timer = supervisor.has_timer or None
        self._listen, self._watch = self._messages.listen, supervisor.watch
        self._reject, self._check_stamp = self._messages.reject, supervisor.check_stamp
        self._comes_late, self._step_to = supervisor.comes_late, supervisor.step_to
        self._cycle_status, self._inputs_status = supervisor.status, self._messages.status
        self._diagnostics = Diagnostics(self, self._model.name, lambda: self._statuses())

    @property
    def _is_running(self) -> bool:
        """Whether the node is between `activate` and `deactivate`."""
        return not self.activation.is_over

    @property
    def _now(self) -> Callable[[], int]:
        return self._supervisor.now

    @property
    def _last_stamp(self) -> int:
        return self._supervisor.last_stamp

    @_last_stamp.setter
    def _last_stamp(self, stamp: int) -> None:
        self._supervisor.last_stamp = stamp

    @property
    def _statistics(self) -> CycleStatistics:
        return self._supervisor.statistics

    @property
    def _events(self) -> EventCounter:
        return self._supervisor.events

    def _restart(self, why: str) -> None:
        """Reset everything that depends on time."""
        self._supervisor.restart(why)

    def _take(self, topic: str, states: JointStates, message: JointState) -> bool:
        """Accept a state message; True if it completes a state in which every joint is new."""
        try:
            return self._supervisor.take(topic, states, message)
        except MessageError as error:
            self._reject(topic, error)
            return False

    def _status(self, part: str, level: bytes, text: str, values: Mapping[str, object]) -> Status:
        return Status(part, level, text, values)
