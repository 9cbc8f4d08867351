# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Replay a recording through the running feedforward node over DDS; compare with the library.

The filtered recorded motion is sent to the node as a trajectory; then the recorded states are
published at any rate, with stamps relative to a new start time. The node responds to each with Q,
Q' and Q'' of the trajectory at that stamp. All responses are written to a bag and compared, stamp
by stamp, with the results that the library computes in this process for the same trajectory.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import rclpy
import yaml
from rclpy.context import Context
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ...dynamics.core import Array, InputError
from ...dynamics.model import MultibodyModel, load_couplings
from ...dynamics.rigid import inverse_dynamics
from ...nodes.base.messages import set_stamp
from ...nodes.base.qos import RELIABLE
from ...validation.comparison import Compared, validate
from ...validation.recordings import Recording
from ...validation.settings import Settings
from ...validation.survey import Survey
from ..base.models import load_quietly
from ..base.node_parameters import FEEDFORWARD
from ..base.processes import NodeProcesses, RunError
from ..base.recording import PERCENTILES, RATES, TOPICS, Recorder, reference_of
from ..base.recording import Recording as Received
from ..base.ros_settings import DOMAIN_VARIABLE, ros_context, ros_settings
from ..base.subscriptions import QUEUE

LONGEST = 60.0  # s of the recording that are replayed
APPROACH = 3.0  # s from rest at the first position into the motion
STOP = 1.0  # s to come to rest after its end
STATES = 200.0  # per s of the approach
# Number of unanswered states at which publishing pauses: all outstanding responses are then still
# in the node's queues, which resend lost messages.
IN_FLIGHT = RELIABLE.depth
PATIENCE = 180.0  # s for the node to start
SETTLED = 1.0  # s of silence after which no more responses are expected


@dataclass(frozen=True, eq=False)
class LiveCheck:
    """Result of a replay.

    sent, answered, lost : numbers of states, responses and lost messages
    difference : largest difference of Q, Q', Q'' from the library's results, as a share of their
        largest value
    latency : percentiles 50, 90, 99, 100, s
    bag : folder with everything received
    """

    sent: int
    answered: int
    lost: int
    difference: dict[str, float]
    latency: dict[str, float]
    real_time_factor: float
    bag: str

    @property
    def problems(self) -> list[str]:
        """Lost messages, and differences between the live node and the library."""
        found = []
        if self.answered != self.sent or self.lost:
            found.append(
                f"live: {self.sent} states sent, {self.answered} answered, "
                f"{self.lost} messages lost"
            )
        found += [
            f"live: {name} differs from the library's by {share:.2g} of its largest value"
            for name, share in self.difference.items()
            if not share <= 1e-9
        ]
        return found


def live_check(
    path: Path,
    settings: Settings,
    folder: Path,
    *,
    rate: float = 1.0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> LiveCheck:
    """Replay a recording through the node `rate` times as fast as it was recorded.

    The replay waits if the node falls behind. It uses only the links of the URDF. Writes
    live.urdf (without limits), live.yaml, live.log and the bag `live`. Raises InputError for
    recordings that cannot be replayed, RunError if the node does not respond.
    """
    bag = folder / "live"
    if bag.exists():
        raise InputError(f"{bag} already exists; bags are not overwritten")
    motion = _motion(path, settings)
    folder.mkdir(parents=True, exist_ok=True)
    urdf = folder / "live.urdf"
    urdf.write_bytes(_without_limits(settings.urdf.read_bytes()))
    model = load_quietly(urdf, settings.elastic_joints).with_gravity(settings.gravity)
    parameters = folder / "live.yaml"
    parameters.write_text(yaml.safe_dump(_parameters(model, urdf, settings)))
    os.environ.update(ros_settings())
    with ros_context() as context, NodeProcesses() as nodes:
        nodes.start(FEEDFORWARD, parameters, log=folder / "live.log")
        replay = _Replay(context, model, motion, nodes.check)
        try:
            replay.run(rate, progress)
            replay.recorder.write_bag(bag)
            return _checked(model, replay, _received(replay.recorder, model), bag)
        finally:
            replay.close()


class _Motion(NamedTuple):
    """The motion to replay: times (k,) s and states (5, k, n) of the trajectory; times (m,) s and
    rows (m, 3, n) of the recorded states, from the same origin."""

    times: Array
    state: Array
    recorded: Array
    rows: Array


def _motion(path: Path, settings: Settings) -> _Motion:
    """The first stretch without a gap, up to LONGEST. Raises InputError if it is under 1 s."""
    parts: list[Compared] = []
    looks: list[Survey] = []

    def keep(look: Survey, found: Compared) -> None:
        if look.held or len(look.sources) > 1:
            topics = ", ".join(sorted({source.topic for source in look.sources}))
            raise InputError(
                f"{path}: --live requires all joints in one message; here some are held, or "
                f"spread over several messages on {topics}"
            )
        looks[:] = [look]
        if not parts or found.times[0] < parts[0].times[0] + LONGEST:
            parts.append(found)

    validate(path, settings, listener=keep)
    t = np.concatenate([part.times for part in parts])
    state = np.concatenate([part.state for part in parts], axis=1)
    steps = np.diff(t)
    ends = np.flatnonzero((steps > 1.5 * np.median(steps)) | (steps <= 0.0))
    count = int(ends[0]) + 1 if len(ends) else len(t)
    count = min(count, int(np.searchsorted(t[:count], t[0] + LONGEST)))
    if count < 2 or t[count - 1] - t[0] < 1.0:
        raise InputError(f"{path}: the first stretch without a gap is too short for a replay")
    (look,) = looks
    (source,) = look.sources
    first, last = (look.origin + round(1e9 * t[k]) for k in (0, count - 1))
    moments, rows = [], []
    transmissions = settings.robot().model.transmissions
    recording = Recording(path, settings.effort, transmissions, settings.prefix)
    for batch in recording.read([source.topic]):
        columns = source.columns.get(batch.names)
        if columns is not None:
            stamp = batch.stamp if source.stamped else batch.received
            inside = (stamp >= first) & (stamp <= last)
            inside &= np.isfinite(batch.rows[:, 0][:, columns]).all(axis=1)
            moments.append(1e-9 * (stamp[inside] - first))
            rows.append(batch.rows[inside][:, :, columns])
            if stamp[0] > last:
                break
    recorded, order = np.unique(np.concatenate(moments), return_index=True)
    return _Motion(t[:count] - t[0], state[:, :count], recorded, np.concatenate(rows)[order])


def _without_limits(urdf: bytes) -> bytes:
    """The URDF with wide limits: the recorded motion is replayed even where it exceeds them."""
    robot = ElementTree.fromstring(urdf.lstrip())  # as load_urdf
    for limit in robot.iter("limit"):
        limit.attrib.update(lower="-1e4", upper="1e4", velocity="1e6", effort="1e9")
    return ElementTree.tostring(robot)


def _parameters(model: MultibodyModel, urdf: Path, settings: Settings) -> dict[str, Any]:
    robot, springs = settings.robot(), settings.elastic_joints
    values: dict[str, Any] = {
        "autostart": True,
        "robot_file": str(urdf.resolve()),
        "gravity": [float(x) for x in settings.gravity],
        "command_joints": list(model.joint_names),
        "stamp_tolerance": 0.0,  # the stamps are the recording's
        "start_tolerance": 10.0,
        "state_timeout": 10.0,
        "state_queue_depth": 1000,
    }
    if springs is not None and robot.actuators is not None and load_couplings(springs):
        values["elastic_joints_file"] = str(springs.resolve())
        values["command_joints"] = list(robot.actuators.motor_names)
    return {f"/**/{FEEDFORWARD}": {"ros__parameters": values}}


class _Replay:
    """Publishes states and the trajectory, and keeps the responses."""

    def __init__(
        self, context: Context, model: MultibodyModel, motion: _Motion, check: Callable[[], None]
    ) -> None:
        topics = {key: TOPICS[key] for key in ("joint_states", *RATES)}
        self.recorder = Recorder(context, "", topics)
        self._node = rclpy.create_node("replay", context=context)
        self._states = self._node.create_publisher(JointState, "joint_states", QUEUE)
        self._trajectories = self._node.create_publisher(JointTrajectory, "joint_trajectory", 1)
        self._names = list(model.joint_names)
        self._motion = motion
        self._check = check
        self.start = 0  # ns, stamp of the trajectory
        self.first = 0  # ns, stamp of the last state before the replay
        self.position = motion.state[0, 0]
        self.sent = 0
        self.elapsed = self.replayed = 0.0

    def close(self) -> None:
        self._node.destroy_node()
        self.recorder.close()

    def run(self, rate: float, progress: Callable[[int, int], None]) -> None:
        """Send the trajectory once the node responds, then all states. Raises RunError."""
        self._start()
        began = time.monotonic()
        approach = np.arange(0.0, APPROACH, 1.0 / STATES)
        moments = np.concatenate([approach, APPROACH + self._motion.recorded])
        hold = np.zeros((len(approach), 3, len(self.position)))
        hold[:, 0] = self.position
        rows = np.concatenate([hold, self._motion.rows])
        before = self._answered() - self.sent
        for k, moment in enumerate(moments):
            self._publish(self.start + round(1e9 * moment), *rows[k])
            while True:
                self.recorder.poll()
                late = self.sent + before - self._answered() >= IN_FLIGHT
                early = time.monotonic() < began + moment / rate
                if not (late or early):
                    break
                if late and time.monotonic() > began + moment / rate + PATIENCE:
                    raise RunError(f"{FEEDFORWARD} stopped responding at {moment:.3g} s")
                self._check()
                time.sleep(0.0005)
            progress(k + 1, len(moments))
        self.elapsed, self.replayed = time.monotonic() - began, float(moments[-1])
        self._settle()

    def _start(self) -> None:
        """Publish the first position until the node responds and has received the trajectory."""
        still = np.zeros_like(self.position)
        stamp = 1_000_000_000_000

        def publish_until(condition: Callable[[], bool]) -> None:
            def holds() -> bool:
                nonlocal stamp
                stamp += 10_000
                self._publish(stamp, self.position, still, still)
                return condition()

            self._until(holds, "respond")

        def is_ready() -> bool:
            has_answered = all(self.recorder.count(key) > 20 for key in RATES)
            return has_answered and self._trajectories.get_subscription_count() > 1

        publish_until(is_ready)
        self.start = stamp + 100_000_000
        self._trajectories.publish(self._trajectory())
        settled = time.monotonic() + SETTLED
        publish_until(lambda: time.monotonic() > settled)
        self._settle()
        self.first = stamp  # only later states are compared

    def _settle(self) -> None:
        """Wait until no more responses arrive."""
        count, since = -1, time.monotonic()

        def is_calm() -> bool:
            nonlocal count, since
            now = sum(self.recorder.count(key) for key in RATES)
            if now != count:
                count, since = now, time.monotonic()
            return time.monotonic() > since + SETTLED

        self._until(is_calm, "end its responses")

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        """As Recorder.until: another run on this domain is an error."""
        self.recorder.until(condition, lambda: f"{FEEDFORWARD} to {what}", PATIENCE, self._check)

    def _answered(self) -> int:
        """Number of complete responses: Q, Q' and Q''."""
        return min(self.recorder.count(key) for key in RATES)

    def _publish(self, stamp: int, *rows: Array) -> None:
        q, qd, effort = (row.tolist() if np.isfinite(row).all() else [] for row in rows)
        message = JointState(name=self._names, position=q, velocity=qd, effort=effort)
        set_stamp(message.header.stamp, stamp)
        self._states.publish(message)
        self.sent += 1

    def _trajectory(self) -> JointTrajectory:
        message = JointTrajectory(joint_names=self._names)
        set_stamp(message.header.stamp, self.start)
        q, qd, qdd = self._motion.state[:3].tolist()
        moments = self._motion.times.tolist()
        # A trajectory must end at rest: add a stop after the replayed motion.
        end = self._motion.state[0, -1] + 0.5 * STOP * self._motion.state[1, -1]
        still = [0.0] * len(end)
        for rows, last in ((q, end.tolist()), (qd, still), (qdd, still)):
            rows.append(last)
        for k, moment in enumerate([*moments, moments[-1] + STOP]):
            point = JointTrajectoryPoint(positions=q[k], velocities=qd[k], accelerations=qdd[k])
            set_stamp(point.time_from_start, round(1e9 * (APPROACH + moment)))
            message.points.append(point)
        return message


def _checked(model: MultibodyModel, replay: _Replay, recording: Received, bag: Path) -> LiveCheck:
    if recording.request is None:
        raise RunError("the recorder did not receive the trajectory over DDS")
    states = recording.series["joint_states"]
    ours = states.stamp > replay.first
    stamps, sent = states.stamp[ours], states.sent[ours]
    reference = reference_of(model.joint_names, recording.request, replay.position)
    expected = inverse_dynamics(
        model, *np.moveaxis(reference.sample(1e-9 * (stamps - replay.start)), 1, 0)
    )
    difference, answered, lost = {}, len(stamps), states.lost
    for (key, name), row in zip(RATES.items(), expected, strict=True):
        series = recording.series[key]
        _, here, there = np.intersect1d(stamps, series.stamp, return_indices=True)
        assert row is not None
        error = np.abs(series.values[there, 0] - row[here]).max() if len(here) else np.inf
        difference[name] = float(error / np.abs(row).max())
        answered, lost = min(answered, len(here)), lost + series.lost
    torque = recording.series["torque"]
    _, here, there = np.intersect1d(stamps, torque.stamp, return_indices=True)
    latency = 1e-9 * (torque.sent[there] - sent[here])
    values = np.percentile(latency, PERCENTILES) if len(latency) else [np.nan] * 4
    return LiveCheck(
        len(stamps),
        answered,
        lost,
        difference,
        {f"p{p}": float(x) for p, x in zip(PERCENTILES, values, strict=True)},
        replay.replayed / replay.elapsed,
        str(bag),
    )


def _received(recorder: Recorder, model: MultibodyModel) -> Received:
    try:
        return recorder.recording("rigid", model.joint_names)
    except InputError as error:  # joints of another robot on this domain
        raise RunError(
            f"other nodes on ROS domain {os.environ['ROS_DOMAIN_ID']}: {error}; stop them, or "
            f"choose another domain with {DOMAIN_VARIABLE}"
        ) from None
