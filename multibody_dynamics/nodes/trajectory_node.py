# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sends a motion to `joint_trajectory`: a sum of sines, rest to rest through waypoints, or a file.

The node waits for the receiver, sends the motion with a stamp slightly in the future (it must
arrive before it starts), waits until it is over, and repeats it if requested. If the robot is
elsewhere, it first approaches the start of the motion. docs/trajectory_node.md describes topics,
parameters and behaviour.
"""

import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.core import InputError
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import (
    DERIVATIVES,
    MOST_POINTS,
    MOTIONS,
    Points,
    Reference,
    Trajectory,
    approach_time,
    approached,
    exciting_motion,
    interpolate,
    match_joints,
    reproduction_error,
    rest_to_rest_motion,
    sampled,
)
from ..validation.trajectory_files import ROWS, read_points
from .base.messages import SECOND, JointStates, MessageError, trajectory_message
from .base.parameters import ParameterError, parameter
from .base.qos import RELIABLE, best_effort
from .base.robot import RobotParameters, load_model
from .base.runtime import ManagedNode

POLL_PERIOD = 0.02  # s


@dataclass(frozen=True)
class TrajectoryParameters(RobotParameters):
    """The parameters of trajectory_node; docs/trajectory_node.md has them as a table."""

    # fmt: off
    elastic_joints_file: str = parameter("",
        meaning="YAML file of springs and motors, found like robot_file, whose couplings and"
        " transmissions apply; empty: none")
    motion: str = parameter("sum_of_sines", choices=(*MOTIONS, "file"),
        meaning="'sum_of_sines': the exciting motion of dynamic identification; 'rest_to_rest':"
        " through waypoints, from rest to rest; 'file': the points of trajectory_file")
    trajectory_file: str = parameter("",
        meaning="file: path of a trajectory (.csv or .yaml, or a bag with one JointTrajectory),"
        " absolute or relative to the working directory; 'multibody_dynamics excite' and"
        " 'scale-time' write such files")
    joints: tuple[str, ...] = parameter((),
        meaning="order of the joints in offset, cosine, sine and waypoints; empty: the robot's"
        " order")
    offset: tuple[float, ...] = parameter((), unit="rad or m",
        meaning="sum_of_sines: centre positions q0, one per joint; empty: derived from the joint"
        " limits")
    cosine: tuple[float, ...] = parameter((), unit="rad/s or m/s",
        meaning="sum_of_sines: cosine amplitudes a of the velocity: all harmonics of the first"
        " joint, then those of the next")
    sine: tuple[float, ...] = parameter((), unit="rad/s or m/s",
        meaning="sum_of_sines: sine amplitudes b of the velocity, in the order of cosine")
    frequency: float = parameter(0.15 * np.pi, unit="rad/s", bounds=(1e-3, 100.0),
        meaning="sum_of_sines: frequency of the first harmonic")
    ramp: float = parameter(1.0, unit="s", bounds=(0.01, 60.0),
        meaning="sum_of_sines: time to ramp up to full speed, and down to rest, in addition to"
        " duration")
    waypoints: tuple[float, ...] = parameter((), unit="rad or m",
        meaning="rest_to_rest: positions of all joints at the first waypoint, then at the next,"
        " evenly spaced in time; empty: derived from the joint limits")
    duration: float = parameter(10.0, "duration of the motion", unit="s", bounds=(0.1, 3600.0))
    reach: float = parameter(0.5, bounds=(0.01, 1.0),
        meaning="largest share of its half range that a joint uses in a motion derived from limits")
    speed: float = parameter(0.5, bounds=(0.01, 1.0),
        meaning="largest share of its velocity limit that a joint uses in a motion derived from"
        " limits, and in the approach")
    sample_period: float = parameter(0.02, unit="s", bounds=(0.001, 1.0),
        meaning="sum_of_sines: time between the points sent")

    start_delay: float = parameter(0.2, unit="s", bounds=(0.0, 120.0),
        meaning="time from sending to the stamp of the trajectory, for it to arrive and be planned")
    shortest_approach: float = parameter(1.0, unit="s", bounds=(0.01, 60.0),
        meaning="minimum duration of the approach, from the stamp to the first point of the motion;"
        " longer if the robot is far away")
    subscribers: int = parameter(1, bounds=(1, 100),
        meaning="number of subscribers to wait for; 2 with a recorder")
    ready_topic: str = parameter("",
        meaning="JointTrajectory topic to wait for, on which the receiver publishes once it accepts"
        " motions, such as feedforward_node/motor_command; empty: do not wait")
    patience: float = parameter(120.0, unit="s", bounds=(0.1, 3600.0),
        meaning="maximum time to wait for subscribers, ready_topic and joint_states; it begins anew"
        " while the node to which ready_topic belongs is there: it may still judge its law")
    repeat: int = parameter(1, bounds=(0, 1_000_000),
        meaning="how many times to send the motion; 0: forever")
    exit_when_done: bool = parameter(False,
        meaning="exit after the last motion; exit status 1 if nothing could be sent")
    # fmt: on

    def check(self) -> None:
        super().check()
        self._require_unique("joints")
        if self.motion == "rest_to_rest" and (self.offset or self.cosine or self.sine):
            raise ParameterError("offset, cosine and sine require the motion sum_of_sines")
        if self.motion == "sum_of_sines" and self.waypoints:
            raise ParameterError("waypoints require the motion rest_to_rest")
        if (self.motion == "file") != bool(self.trajectory_file):
            raise ParameterError(
                "motion 'file' and trajectory_file require each other: set both or neither"
            )


class TrajectoryNode(ManagedNode[TrajectoryParameters]):
    """The node; see the module and docs/trajectory_node.md."""

    def __init__(self) -> None:
        super().__init__("trajectory_node", TrajectoryParameters)

    # Life cycle

    def configure(self) -> None:
        p = self.parameters
        self._model = load_model(p)
        self._motion, self._points, quality = _motion_and_points(self._model, p)
        topic = "joint_trajectory"
        self._publisher = self.create_lifecycle_publisher(JointTrajectory, topic, RELIABLE)
        self.configuration.callback(self.destroy_lifecycle_publisher, self._publisher)
        self.get_logger().info(
            f"{p.motion} for {self._model.name}: {self._motion.duration:.2f} s,"
            f" {len(self._points.times)} points{quality}"
        )

    def activate(self) -> None:
        p = self.parameters
        model = self._model
        self._measured = JointStates(model.joint_names, transmissions=model.transmissions)
        self._end: int | None = None  # ns, ROS time, of the motion in progress
        self._sent, self._deadline = 0, time.monotonic() + p.patience
        activation = self.activation
        activation.callback(self._stop)
        activation.subscribe(JointState, "joint_states", self._on_state, best_effort())
        self._is_receiver_ready, self._receiver = not p.ready_topic, None
        if p.ready_topic:
            self._receiver = activation.subscribe(
                JointTrajectory, p.ready_topic, self._on_ready, best_effort(), raw=True
            )
        activation.timer(POLL_PERIOD, self._poll, Clock(clock_type=ClockType.STEADY_TIME))

    def _stop(self) -> None:
        """Stop a motion in progress with an empty trajectory, as with any controller."""
        if self._end is not None:
            self.get_logger().info("stopping the motion in progress")
            self._publisher.publish(JointTrajectory(joint_names=list(self._model.joint_names)))

    # Receiving states and sending the motion

    def _on_state(self, message: JointState) -> None:
        measured, now = self._measured, self._now()
        try:
            if measured.has_jumped_back(message, now, 0):
                measured.restart()
            measured.accept(message, now)
        except MessageError as error:
            self.warn_about("joint_states", f"ignored joint_states: {error}")

    def _on_ready(self, message: bytes) -> None:
        self._is_receiver_ready = True

    def _now(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _poll(self) -> None:
        p, now = self.parameters, self._now()
        if self._end is None:
            self._send_when_possible()
            return
        self._deadline = time.monotonic() + p.patience  # of the next wait
        if now >= self._end:
            self._end = None
            off = np.abs(self._measured.position - self._points.positions[-1])
            joint = self._model.joint_names[off.argmax()]
            self.get_logger().info(
                f"motion {self._sent}{f' of {p.repeat}' if p.repeat else ''} is over:"
                f" joint '{joint}' is {off.max():.2g} rad or m from its goal"
            )
            if self._sent == p.repeat:
                self._finish(0)
        elif self._end - now > self._length + SECOND:
            self.get_logger().warning(
                "the clock jumped back: sending the motion again", throttle_duration_sec=1.0
            )
            self._measured.restart()
            self._end = None

    def _send_when_possible(self) -> None:
        p, name = self.parameters, self.resolve_topic_name
        found = self._publisher.get_subscription_count()
        if found < p.subscribers:
            missing = f"only {found} of {p.subscribers} subscribers on {name('joint_trajectory')}"
            self._wait_for_receiver()
        elif not self._is_receiver_ready:
            missing = f"nothing received on {name(p.ready_topic)}"
            self._wait_for_receiver()
        elif not self._measured.stamp:
            missing = f"no complete state received on {name('joint_states')}"
        elif not self._now():
            missing = "use_sim_time is set, but nothing is published on /clock"
        else:
            if self._receiver is not None:  # no longer needed
                self.destroy_subscription(self._receiver)
                self._receiver = None
            self._send()
            return
        if time.monotonic() > self._deadline:
            self.get_logger().error(f"gave up after {p.patience} s without a motion: {missing}")
            self._finish(1)

    def _wait_for_receiver(self) -> None:
        """Let the patience begin anew while the node of ready_topic is there, but not active yet:
        it subscribes only then."""
        if not self.parameters.ready_topic:
            return
        receiver = self.resolve_topic_name(self.parameters.ready_topic).rpartition("/")[0]
        for node, namespace in self.get_node_names_and_namespaces():
            if f"{namespace.rstrip('/')}/{node}" == receiver:
                self._deadline = time.monotonic() + self.parameters.patience
                self.get_logger().info(
                    f"waiting until {receiver} is active", throttle_duration_sec=10.0
                )

    def _send(self) -> None:
        p, points = self.parameters, self._points
        distance = self._measured.position - points.positions[0]
        approach = max(approach_time(self._model, distance, p.speed), p.shortest_approach)
        start = self._now() + int(SECOND * p.start_delay)
        later = points._replace(times=approach + points.times)
        if p.motion == "rest_to_rest":
            assert isinstance(self._motion, Trajectory)
            later = approached(self._model, self._measured.position, approach, self._motion)
        self._publisher.publish(trajectory_message(self._model.joint_names, start, later))
        self._length = int(SECOND * (p.start_delay + later.times[-1]))
        self._end = start + int(SECOND * later.times[-1])
        self._sent += 1
        self.get_logger().info(
            f"sent {approach:.2f} s of approach and {self._motion.duration:.2f} s of motion"
        )

    def _finish(self, exit_code: int) -> None:
        """Exit as on a signal, or become inactive, because the work is done."""
        self.has_failed = bool(exit_code)
        if self.parameters.exit_when_done:
            signal.raise_signal(signal.SIGTERM)
        else:
            self.defer(lambda: self.state == "active" and self.trigger_deactivate())


def _motion_and_points(
    model: MultibodyModel, p: TrajectoryParameters
) -> tuple[Reference, Points, str]:
    """The motion, the points that are sent, and a remark for the log."""
    if p.motion == "file":
        points = read_file(model, Path(p.trajectory_file))
        _require_few(len(points.times), "write it with fewer points, or in parts")
        return interpolate(model.joint_names, *points), points, f" of {p.trajectory_file}"
    motion = make_motion(model, p)
    if isinstance(motion, Trajectory):
        return motion, Points(motion.knots, motion.states[:, 0]), ""
    count = motion.duration / p.sample_period
    _require_few(count, "increase sample_period, or shorten the motion")
    points = sampled(motion, p.sample_period)
    error = reproduction_error(motion, points)
    deviations = (f"{x:.1e} in {name}" for x, name in zip(error, DERIVATIVES, strict=True))
    return motion, points, "; interpolating them deviates by " + ", ".join(deviations)


def _require_few(count: float, remedy: str) -> None:
    """Raise ParameterError for a motion that takes too long to interpolate and to send."""
    if count > MOST_POINTS:
        raise ParameterError(
            f"the motion has {count:,.0f} points; at most {MOST_POINTS:,} fit into one trajectory:"
            f" {remedy}"
        )


def read_file(model: MultibodyModel, path: Path) -> Points:
    """The points of a trajectory file in the order of the robot's joints, beginning at zero.

    Raises InputError, which names the file, if it cannot be read or has other joints.
    """
    points = read_points(path).at_motors(model.transmissions)
    try:
        order = match_joints(model.joint_names, points.joint_names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    given = points.given()
    rows = (given.get(name) for name in ROWS)
    return Points(
        points.times - points.times[0], *(None if row is None else row[:, order] for row in rows)
    )


def make_motion(model: MultibodyModel, p: TrajectoryParameters) -> Reference:
    """The motion that the parameters describe, in the order of the robot's joints."""
    joints = p.joints or model.joint_names
    if set(joints) != set(model.joint_names):
        raise ParameterError(
            f"joints are {', '.join(joints)}; must be the robot's joints"
            f" {', '.join(model.joint_names)}"
        )
    order = [joints.index(name) for name in model.joint_names]

    def values_of(name: str) -> tuple[float, ...]:
        values: tuple[float, ...] = getattr(p, name)
        if len(values) % len(order):
            raise ParameterError(
                f"{name} has {len(values)} values; expected a multiple of {len(order)}, the number"
                " of joints"
            )
        return values

    def sorted_rows(name: str) -> list[float]:
        """The values, joint by joint."""
        return np.reshape(values_of(name), (len(order), -1))[order].ravel().tolist()

    if p.motion == "rest_to_rest":
        waypoints = np.reshape(values_of("waypoints"), (-1, len(order)))[:, order].ravel().tolist()
        return rest_to_rest_motion(
            model, duration=p.duration, waypoints=waypoints, reach=p.reach, speed=p.speed
        )
    return exciting_motion(
        model,
        duration=p.duration,
        ramp=p.ramp,
        frequency=p.frequency,
        offset=sorted_rows("offset"),
        cosine=sorted_rows("cosine"),
        sine=sorted_rows("sine"),
        reach=p.reach,
        speed=p.speed,
    )


main = TrajectoryNode.main


if __name__ == "__main__":
    sys.exit(main())
