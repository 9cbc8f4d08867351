# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of one run of the nodes: read from the topics, kept as arrays, saved in one file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from numpy.typing import NDArray
from rclpy.context import Context
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ...dynamics.control import TrajectoryRequest
from ...dynamics.core import Array, InputError, read_arrays, reading
from ...dynamics.motion import Reference, hold, match_joints, splice
from ...nodes.base.messages import JointMatcher, nanoseconds, read_trajectory
from ...validation.recordings.bag_library import latched_quality, message_types, new_bag
from .node_parameters import CONTROLLER, FEEDFORWARD
from .processes import RunError
from .ros_settings import DOMAIN_VARIABLE
from .subscriptions import QUEUE, PublicationCount, take_all

STATES = ("joint_states", "motor_states")
STATE = ("position", "velocity", "effort")
RATES = {"torque": "Q", "torque_rate": "Q'", "torque_acceleration": "Q''"}  # by key of TOPICS
POLL_PERIOD = 0.01  # s
STRING = "std_msgs/msg/String"
PERCENTILES = (50, 90, 99, 100)


class Topic(NamedTuple):
    """A topic and the numbers in its messages, one for each joint or for each motor."""

    name: str
    kind: type
    rows: Callable[[Any], list[Any]]  # message -> k sequences of n numbers
    is_of_motors: bool = False


def _fields(*names: str) -> Callable[[Any], list[Any]]:
    return lambda message: [getattr(message, name) for name in names]


def _point(message: JointTrajectory) -> list[Any]:
    point = message.points[0]
    return [point.positions, point.velocities, point.accelerations, point.effort]


def topics_of(node: str) -> dict[str, Topic]:
    """The topics of a run of feedforward_node or task_space_node."""
    states = {
        name: Topic(name, JointState, _fields(*STATE), name == "motor_states") for name in STATES
    }
    torques = {name: Topic(f"{node}/{name}", JointState, _fields("effort")) for name in RATES}
    command = Topic(f"{node}/motor_command", JointTrajectory, _point, True)
    return {**states, **torques, "motor_command": command}


TOPICS = topics_of(FEEDFORWARD)
"""The topics of a run with the feedforward."""

CONTROL_TOPICS = {
    "joint_states": TOPICS["joint_states"],
    "motor_states": TOPICS["motor_states"],
    "torque": Topic(f"{CONTROLLER}/motor_torque", JointState, _fields("effort"), True),
}
"""The topics of a run with the controller."""


class Series(NamedTuple):
    """The m messages of one topic.

    stamp : (m,) ns, header stamps
    sent : (m,) ns, system time of publication
    values : (m, k, n), k rows of each message in the order of the model's joints or motors
    published : messages sent from the first to the last of these, as counted by the publisher
    """

    stamp: NDArray[np.int64]
    sent: NDArray[np.int64]
    values: Array
    published: int

    @property
    def lost(self) -> int:
        return self.published - len(self.stamp)


@dataclass(frozen=True, eq=False)
class Recording:
    """One run.

    request : the trajectory as it was sent
    cpu : processors used by each node during the motion
    diagnostics : [{stamp, name, level, message, values}], one per status received; stamp in ns
    """

    variant: str
    joint_names: tuple[str, ...]
    series: Mapping[str, Series]
    request: TrajectoryRequest | None
    cpu: Mapping[str, float] = field(default_factory=dict)
    diagnostics: Sequence[Mapping[str, Any]] = ()

    def save(self, path: Path) -> None:
        """Write an .npz file."""
        arrays = {
            f"{name}.{key}": value
            for name, series in self.series.items()
            for key, value in series._asdict().items()
        }
        facts = {
            "variant": self.variant,
            "joint_names": self.joint_names,
            "cpu": dict(self.cpu),
            "diagnostics": list(self.diagnostics),
            "start": None,
        }
        if self.request is not None:
            facts["start"] = self.request.start
            for key in ("times", "positions", "velocities", "accelerations"):
                rows = getattr(self.request, key)
                arrays[f"request.{key}"] = np.empty(0) if rows is None else rows
        np.savez(path, facts=np.array(json.dumps(facts)), **arrays)

    @classmethod
    def load(cls, path: Path, arrays: Mapping[str, NDArray[Any]] | None = None) -> Recording:
        """Read a file written by `save`; arrays: of this file, if they have been read. Raises
        InputError, naming the file, for any other."""
        file = read_arrays(path) if arrays is None else arrays
        with reading(path, "a recording of the demo"):
            return cls._of(file, json.loads(str(file["facts"])))

    @classmethod
    def _of(cls, file: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Recording:
        names = [key.removesuffix(".stamp") for key in file if key.endswith(".stamp")]
        series = {
            name: Series(*(file[f"{name}.{key}"] for key in Series._fields[:3]),
                         int(file[f"{name}.published"]))
            for name in names
        }  # fmt: skip
        request = None
        if "request.times" in file:
            rows = (file[f"request.{k}"] for k in ("positions", "velocities", "accelerations"))
            request = TrajectoryRequest(
                facts["start"],
                file["request.times"],
                *(array if array.size else None for array in rows),
            )
        return cls(
            facts["variant"],
            tuple(facts["joint_names"]),
            series,
            request,
            facts["cpu"],
            facts["diagnostics"],
        )


class Recorder:
    """Subscribes to all topics and keeps the serialised messages until `recording`."""

    def __init__(
        self, context: Context, namespace: str = "", topics: Mapping[str, Topic] = TOPICS
    ) -> None:
        self._node = rclpy.create_node("recorder", namespace=namespace, context=context)
        self._topics = topics
        self._taken: dict[str, list[tuple[bytes, dict[str, int]]]] = {key: [] for key in topics}
        subscribe = self._node.create_subscription
        self._subscriptions = {
            key: subscribe(topic.kind, topic.name, lambda message: None, QUEUE, raw=True)
            for key, topic in topics.items()
        }
        self._on_trajectory = subscribe(
            JointTrajectory, "joint_trajectory", lambda message: None, 10
        )
        self._on_diagnostics = subscribe(DiagnosticArray, "/diagnostics", lambda message: None, 100)
        self.trajectories: list[JointTrajectory] = []  # those with points
        self.diagnostics: list[dict[str, Any]] = []

    def poll(self) -> None:
        """Take all queued messages; call it at least once a second, before the queues overflow."""
        for key, subscription in self._subscriptions.items():
            self._taken[key] += take_all(subscription)
        self.trajectories += (sent for sent, _ in take_all(self._on_trajectory) if sent.points)
        self.diagnostics += [
            {
                "stamp": nanoseconds(message.header.stamp),
                "name": status.name,
                "level": status.level[0],
                "message": status.message,
                "values": {item.key: item.value for item in status.values},
            }
            for message, _ in take_all(self._on_diagnostics)
            for status in message.status
        ]

    def until(
        self,
        condition: Callable[[], object],
        what: Callable[[], str],
        patience: float,
        check: Callable[[], None],
    ) -> None:
        """Poll until the condition holds.

        check : called repeatedly, to raise if a node has exited

        Raises RunError after `patience` s, naming `what` was awaited, or if another run is
        publishing on this domain.
        """
        deadline = time.monotonic() + patience
        while not condition():
            check()
            count = self._node.count_publishers("joint_states")
            if count > 1:
                raise RunError(
                    f"{count} nodes publish joint_states on ROS domain"
                    f" {self._node.context.get_domain_id()}: another run is in progress there;"
                    f" choose another domain, with --domain-id for demos or by {DOMAIN_VARIABLE}"
                )
            if time.monotonic() > deadline:
                raise RunError(f"timed out after {patience:.0f} s waiting for {what()}")
            time.sleep(POLL_PERIOD)
            self.poll()

    def count(self, key: str) -> int:
        """Number of messages received so far on a topic, given by its key."""
        return len(self._taken[key])

    def write_bag(self, folder: Path, description: str = "") -> None:
        """Write all messages into a new bag, at their times of publication, and the URDF of the
        robot, if it is given, on the latched topic robot_description."""
        found = [
            (info["source_timestamp"], topic.name, topic.kind, raw)
            for key, topic in self._topics.items()
            for raw, info in self._taken[key]
        ]
        found.sort(key=lambda item: item[0])
        store, connections = message_types(), {}
        with new_bag(folder) as writer:
            if description and found:
                made = writer.add_connection(
                    "/robot_description",
                    STRING,
                    typestore=store,
                    offered_qos_profiles=[latched_quality()],
                )
                text = store.types[STRING](description)
                writer.write(made, found[0][0], bytes(store.serialize_cdr(text, STRING)))
            for at, name, kind, raw in found:
                if name not in connections:
                    connections[name] = writer.add_connection(
                        name if name.startswith("/") else f"/{name}",
                        f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}",
                        typestore=store,
                    )
                writer.write(connections[name], at, raw)

    def newest(self, key: str, count: int = 1) -> list[tuple[Any, int]]:
        """The last messages of a topic and their times of publication, ns of system time."""
        kind = self._topics[key].kind
        return [
            (deserialize_message(data, kind), info["source_timestamp"])
            for data, info in self._taken[key][-count:]
        ]

    def request(self, joint_names: Sequence[str]) -> TrajectoryRequest | None:
        """The first trajectory that was sent, or None."""
        if not self.trajectories:
            return None
        return read_trajectory(self.trajectories[0], JointMatcher(joint_names))

    def recording(
        self,
        variant: str,
        joint_names: Sequence[str],
        cpu: Mapping[str, float] | None = None,
        motor_names: Sequence[str] = (),
    ) -> Recording:
        """Everything received so far as arrays, in the order of the names; by default, motors have
        those of the joints."""
        names = {False: joint_names, True: motor_names or joint_names}
        return Recording(
            variant,
            tuple(joint_names),
            {
                key: self._series(key, names[topic.is_of_motors])
                for key, topic in self._topics.items()
            },
            self.request(joint_names),
            cpu or {},
            self.diagnostics,
        )

    def close(self) -> None:
        self._node.destroy_node()

    def _series(self, key: str, own_names: Sequence[str]) -> Series:
        topic, taken = self._topics[key], self._taken[key]
        stamp, sent = np.empty((2, len(taken)), dtype=np.int64)
        count = PublicationCount()
        values: list[Array] = []
        known: list[str] = []
        order = np.empty(0, dtype=np.intp)
        for k, (data, info) in enumerate(taken):
            message = deserialize_message(data, topic.kind)
            names = message.joint_names if topic.kind is JointTrajectory else message.name
            if names != known:
                known, order = list(names), match_joints(own_names, names, others=True)
            stamp[k], sent[k] = nanoseconds(message.header.stamp), info["source_timestamp"]
            values.append(np.array(topic.rows(message))[:, order])
            count.add(info.get("publication_sequence_number"), data)  # none in Humble
        rows = np.array(values) if values else np.empty((0, 1, len(own_names)))
        return Series(stamp, sent, rows, count.received + count.lost)


def reference_of(
    joint_names: Sequence[str], request: TrajectoryRequest, position: Array, lead: float = 0.01
) -> Reference:
    """The feedforward's reference for a trajectory received while it held `position` (n,).

    Its time is zero at the trajectory's stamp, which must have been in the future on receipt.
    lead : the node's parameter splice_lead, s

    Raises InputError if the trajectory has no stamp.
    """
    if request.start is None:
        raise InputError("the trajectory has no stamp, so its start time is unknown")
    later = request.times > lead
    rows = (request.positions, request.velocities, request.accelerations)
    return splice(
        hold(joint_names, position),
        0.0,
        request.times[later],
        *(None if row is None else row[later] for row in rows),
    )
