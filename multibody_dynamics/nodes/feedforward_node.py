"""Torque feedforward for robots with elastic joints: a trajectory in, joint torques with their
first two rates and motor commands out, one cycle per joint state.

The desired motion q..q'''' is evaluated at the stamp of each complete joint state plus `lookahead`,
and every output carries that stamp. The measured state starts the first hold and judges jumps; it
is not fed back. docs/feedforward_node.md describes topics, parameters and behaviour.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.inputs import Array
from ..dynamics.limits import JointCommandLimits, distance_to_limits
from ..dynamics.model import MultibodyModel
from ..dynamics.se3 import coAd
from ..dynamics.wrenches import wrench_to_world
from .desired_motion import DesiredMotion
from .diagnostics import (
    ERROR,
    OK,
    STALE,
    WARN,
    CycleStatistics,
    Diagnostics,
    EventCounter,
    status,
)
from .feedforward_law import FeedforwardLaw, WrenchFilter
from .feedforward_parameters import FeedforwardParameters
from .messages import (
    SECOND,
    JointMatcher,
    JointStates,
    MessageError,
    command_array_message,
    joint_state_message,
    motor_command_message,
    nanoseconds,
    read_trajectory,
    read_wrench,
    set_stamp,
    view,
)
from .parameters import ParameterError
from .qos import LATCHED, RELIABLE, best_effort
from .robot import load_joints, load_model
from .runtime import ManagedNode, run
from .watchdog import Watchdog

FOREVER = 1e9  # s: longer than any limited rate needs


class Outputs:
    """The publishers and their messages, made once and filled in place."""

    def __init__(self, node: FeedforwardNode, model: MultibodyModel, order: Sequence[int]) -> None:
        names = model.joint_names
        self._node = node
        self._order = np.array(order, dtype=np.intp)
        self._stamp = Time()
        self._torques = [joint_state_message(names, "effort") for _ in range(3)]
        self._motor = motor_command_message(names)
        self._commands = command_array_message([names[k] for k in order])
        for message in (*self._torques, self._motor):
            message.header.stamp = self._stamp  # one object: all carry the same stamp
        self._torque_rows = [view(message.effort) for message in self._torques]
        point = self._motor.points[0]
        self._motor_rows = [
            view(field)
            for field in (point.positions, point.velocities, point.accelerations, point.effort)
        ]
        self._command_row = view(self._commands.data)
        create = node.create_lifecycle_publisher
        self._publishers = [
            (create(Float64MultiArray, "~/commands", RELIABLE), self._commands),
            (create(JointTrajectory, "~/motor_command", RELIABLE), self._motor),
            (create(JointState, "~/torque", RELIABLE), self._torques[0]),
            (create(JointState, "~/torque_rate", RELIABLE), self._torques[1]),
            (create(JointState, "~/torque_acceleration", RELIABLE), self._torques[2]),
        ]

    def publish(self, stamp: int, lookahead: int, law: FeedforwardLaw, motor_torque: Array) -> None:
        """Publish everything with one stamp: the commands first, they are waited for.

        lookahead: from the stamp to the time that the commands are for. Both in ns.
        """
        set_stamp(self._stamp, stamp)
        set_stamp(self._motor.points[0].time_from_start, lookahead)
        for row, values in zip(self._torque_rows, law.torque, strict=True):
            row[:] = values
        for row, values in zip(self._motor_rows, law.motor, strict=True):
            row[:] = values
        self._motor_rows[3][:] = motor_torque
        np.take(motor_torque, self._order, out=self._command_row)
        for publisher, message in self._publishers:
            publisher.publish(message)

    def close(self) -> None:
        for publisher, _ in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)


class FeedforwardNode(ManagedNode):
    """See the module's text and docs/feedforward_node.md."""

    Parameters = FeedforwardParameters

    def __init__(self) -> None:
        super().__init__("feedforward_node")
        self._description = ""
        self._outputs: Outputs | None = None
        self._is_running = False  # between activate and deactivate
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    # Life cycle

    def start(self) -> bool:
        if self._needs_description() and not self._description:
            self.get_logger().info("waiting for a robot_description to start with")
            return False
        return super().start()

    def configure(self) -> None:
        p = self.parameters
        if not p.command_joints:
            raise ParameterError("command_joints is empty; name the joints of ~/commands in order")
        model = self._load_model()
        joints = load_joints(p, model)
        order = [model.joint_index(name) for name in p.command_joints]
        if p.wrench_link and model.body_index(p.wrench_link) < 0:
            raise ParameterError(f"wrench_link '{p.wrench_link}' does not move")
        self._model = model
        self._law = FeedforwardLaw(
            model, joints, gravity_compensated_by_robot=p.gravity_compensated_by_robot
        )
        self._order = order
        self._soft_limits = model.limits._replace(
            lower=model.limits.lower + p.position_margin,
            upper=model.limits.upper - p.position_margin,
        )
        for k in np.flatnonzero(self._soft_limits.lower > self._soft_limits.upper):
            raise ParameterError(
                f"position_margin {p.position_margin} leaves no range for '{model.joint_names[k]}'"
            )
        self._matcher = JointMatcher(model.joint_names)
        self._outputs = Outputs(self, model, order)
        self.reconfigure(p)
        self.get_logger().info(f"configured for {model.name}: {', '.join(model.joint_names)}")

    def activate(self) -> None:
        p = self.parameters
        clock = self.get_clock()
        self._measured = JointStates(self._model.joint_names)
        self._motion = DesiredMotion(self._model.joint_names, self._soft_limits)
        self._safe_position: Array | None = None
        self._enabled = p.enable_at_activation
        self._ramp_begin: int | None = None  # while the ramp lasts: since when, from which torque
        self._ramp_from = np.zeros(self._model.n)
        self._gain = 0.0
        self._last_stamp = 0
        self._motor_torque = np.zeros(self._model.n)
        self._is_finite = True
        self._is_stopping = False  # for the path tolerance
        self._contact = WrenchFilter()
        self._wrench = np.zeros(6)
        self._wrench_frame = ""
        self._wrench_stamp = 0
        self._law.applied_wrenches[:] = 0.0
        self._is_stale = False
        self._statistics = CycleStatistics()
        self._rejected, self._limited, self._events = EventCounter(), EventCounter(), EventCounter()

        self._read_clock_type()
        self._jumps = clock.create_jump_callback(
            JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
            ),
            post_callback=self._on_time_jump,
        )
        self._watchdog = Watchdog(
            p.state_timeout,
            # The safe output uses buffers and publishers of the control cycle, and these have no
            # lock: so the watchdog's thread publishes nothing, it asks the executor's thread to.
            lambda age: self.defer(self._on_stale),
            simulated_time=self._simulated_time,
        )
        subscribe = self.create_subscription
        self._subscriptions_made = [
            subscribe(JointState, "joint_states", self._on_state, best_effort(p.state_queue_depth)),
            subscribe(JointTrajectory, "joint_trajectory", self._on_trajectory, RELIABLE),
            subscribe(WrenchStamped, "external_wrench", self._on_wrench, best_effort(1)),
        ]
        self._enable_service = self.create_service(SetBool, "~/enable", self._on_enable)
        self._timer = (
            self.create_timer(1.0 / p.update_rate, self._on_timer) if p.update_rate else None
        )
        self._diagnostics = Diagnostics(self, self._statuses)
        self._watchdog.start()
        self._is_running = True
        gravity = "left to the robot" if p.gravity_compensated_by_robot else "in all torques"
        self.get_logger().info(f"active; gravity is {gravity}; springs: {p.variant}")

    def deactivate(self) -> None:
        if not self._is_running:
            return
        self._is_running = False
        self._watchdog.stop()
        self._jumps.unregister()
        self._publish_safe_output()
        for subscription in self._subscriptions_made:
            self.destroy_subscription(subscription)
        self.destroy_service(self._enable_service)
        if self._timer is not None:
            self.destroy_timer(self._timer)
        self._diagnostics.close()

    def cleanup(self) -> None:
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None

    def reconfigure(self, values: FeedforwardParameters) -> None:
        if self._is_running:
            self._watchdog.timeout = values.state_timeout
        if self._outputs is None:
            return
        law, n = self._law, self._model.n
        law.variant = values.variant
        rates = np.full(n, np.inf)
        if values.torque_rate_limits:
            rates[self._order] = values.torque_rate_limits
        self._limits = JointCommandLimits(
            self._model.joint_names,
            torque=values.torque_limit_scale
            * np.minimum(self._model.limits.effort, law.joints.torque_limit),
            torque_rate=rates,
            motor_speed=law.joints.speed_limit,
        )

    # The robot

    def _needs_description(self) -> bool:
        return not (self.parameters.robot_file or self.parameters.robot_description)

    def _load_model(self) -> MultibodyModel:
        p = self.parameters
        if self._needs_description() and not self._description:
            topic = self.resolve_topic_name("robot_description")
            raise ParameterError(
                f"no robot: nothing received on {topic} yet; try again, or set"
                " robot_file or robot_description"
            )
        return load_model(p, self._description)

    def _on_description(self, message: String) -> None:
        if (
            self._needs_description()
            and self._is_configured()
            and message.data != self._description
        ):
            self.get_logger().warning(
                "a new robot_description: it counts from the next configure on"
            )
        self._description = message.data
        if self.parameters.autostart and self._needs_description() and not self._is_configured():
            self.start()

    # Time

    def _read_clock_type(self) -> None:
        clock = self.get_clock()
        simulated = isinstance(clock, ROSClock) and clock.ros_time_is_active
        # 0.1 us instead of 4 where the clock is the system's
        self._now = (lambda: clock.now().nanoseconds) if simulated else time.time_ns
        self._simulated_time = self._now if simulated else None

    def _on_time_jump(self, jump: TimeJump) -> None:
        self._read_clock_type()
        self._watchdog.simulated_time = self._simulated_time
        self._restart(f"the clock jumped by {1e-9 * jump.delta.nanoseconds:.3f} s")

    def _restart(self, why: str) -> None:
        """Forget everything that was tied to time; the next state begins a new hold."""
        self.get_logger().warning(f"{why}: reference, filters and statistics start anew")
        self._events.add("time jumped", why)
        self._measured.restart()
        self._motion.release()
        self._safe_position = self._ramp_begin = None
        self._contact = WrenchFilter()
        self._wrench_stamp = 0
        self._law.applied_wrenches[:] = 0.0
        self._last_stamp = 0
        self._statistics.restart()
        self._watchdog.feed()

    # Inputs

    def _on_state(self, message: JointState) -> None:
        begin = time.monotonic_ns()
        now, tolerance = self._now(), int(SECOND * self.parameters.stamp_tolerance)
        try:
            if not now:
                raise MessageError("no clock", "use_sim_time is set and nothing came on /clock")
            if self._measured.went_back(message, now, tolerance):
                self._restart("stamps of joint_states and the clock went back")
            if not self._measured.accept(message, now, tolerance):
                return
        except MessageError as error:
            self._refuse("joint_states", error)
            return
        self._watchdog.feed()
        if self._timer is None:
            self._cycle(self._measured.stamp, begin)

    def _on_timer(self) -> None:
        if self._measured.stamp and not self._watchdog.stale:
            self._cycle(self._now(), time.monotonic_ns())

    def _on_trajectory(self, message: JointTrajectory) -> None:
        p = self.parameters
        try:
            request = read_trajectory(message, self._matcher)
            if request.times.size == 0:
                self._motion.stop(p.stop_duration)
            elif not self._enabled:
                raise MessageError("not enabled", "the service ~/enable forbids motion")
            else:
                self._motion.follow(
                    request,
                    self._measured.position,
                    tolerance=p.start_tolerance,
                    lead=p.splice_lead,
                )
        except MessageError as error:
            self._refuse("joint_trajectory", error)
        else:
            self._is_stopping = False
            self._events.add("trajectories taken over")

    def _on_wrench(self, message: WrenchStamped) -> None:
        frame, stamp = message.header.frame_id, nanoseconds(message.header.stamp)
        frames = self._model.frames
        link = self.parameters.wrench_link or frame
        try:
            wrench = read_wrench(message)
            self._check_stamp(stamp)
            if stamp <= self._wrench_stamp:
                raise MessageError("out of order", "the stamp is not newer than the last one")
            if frame not in frames:
                raise MessageError("unknown frame", f"the robot has no link '{frame}'")
            if link not in frames or frames[link].body < 0:
                raise MessageError(
                    "unknown frame", f"'{link}' does not move; set wrench_link to what it acts on"
                )
        except MessageError as error:
            self._refuse("external_wrench", error)
            return
        if frame != self._wrench_frame:  # the filter's state is in the axes of the old one
            self._contact = WrenchFilter()
        self._wrench[:], self._wrench_frame, self._wrench_stamp = wrench, frame, stamp
        self._wrench_body = self._model.body_index(link)

    def _check_stamp(self, stamp: int) -> None:
        """Raise MessageError for a stamp (ns) that is missing or too far from the node's clock."""
        tolerance = int(SECOND * self.parameters.stamp_tolerance)
        age = self._now() - stamp
        if not stamp:
            raise MessageError("no stamp", "the stamp is zero")
        if tolerance and abs(age) > tolerance:
            reason = "stale" if age > 0 else "from the future"
            raise MessageError(reason, f"the stamp is {1e-9 * age:.3f} s old")

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self._motion.is_there and not request.data:
            self._motion.stop(self.parameters.stop_duration)
        self._enabled = request.data
        response.success = True
        response.message = "following trajectories" if request.data else "stopping, then holding"
        self.get_logger().info(response.message)
        return response

    def _refuse(self, topic: str, error: MessageError) -> None:
        self._rejected.add(f"{topic}: {error.reason}", f"{topic}: {error}")
        self.get_logger().warning(f"refused {topic}: {error}", throttle_duration_sec=1.0)

    def _begin(self, stamp: int) -> None:
        """Hold where the robot is, or where the safe output holds it if that is near."""
        position, safe = self._measured.position, self._safe_position
        if safe is not None and np.abs(safe - position).max() <= self.parameters.start_tolerance:
            position = safe
        else:
            self._ramp_begin = stamp
            self._ramp_from = self._motor_torque
        self._safe_position = None
        self._motion.hold(position, stamp)
        for k in np.flatnonzero(distance_to_limits(self._soft_limits, position) < 0.0):
            self.get_logger().warning(
                f"'{self._model.joint_names[k]}' stands at {position[k]:.4g}, outside its position"
                " limits: it may only be moved back"
            )

    # The cycle

    def _cycle(self, stamp: int, begin: int) -> None:
        if stamp <= self._last_stamp:
            self._refuse("joint_states", MessageError("out of order", "older than the last output"))
            return
        p, law = self.parameters, self._law
        gap = stamp - self._last_stamp if self._last_stamp else 0
        if gap > int(SECOND * p.state_timeout) and self._motion.is_there:  # no alarm yet
            self._restart(f"{1e-9 * gap:.3f} s are missing between two stamps")
        if not self._motion.is_there:
            self._begin(stamp)
        step = 1e-9 * (stamp - self._last_stamp) if self._last_stamp else 0.0
        self._motion.evaluate(stamp + int(SECOND * p.lookahead), law.desired)
        self._watch_path()
        self._apply_wrench(stamp, step)
        law.update()
        if self._output(stamp, step):
            self._is_stale = False
            self._statistics.record(begin, time.monotonic_ns(), stamp, self._now())
        else:  # whatever made it so is dropped, and the robot held
            self._wrench[:] = 0.0
            self._contact = WrenchFilter()
            self._publish_safe_output()

    def _watch_path(self) -> None:
        """Stop a motion that the robot does not follow."""
        p = self.parameters
        if not p.path_tolerance or self._motion.mode != "moving" or self._is_stopping:
            return
        distance = np.abs(self._law.desired[0] - self._measured.position)
        k = int(distance.argmax())
        if distance[k] > p.path_tolerance:
            joint = self._model.joint_names[k]
            why = f"'{joint}' is {distance[k]:.4g} from the motion; allowed: {p.path_tolerance:g}"
            self.get_logger().error(f"{why}: stopping")
            self._events.add("path tolerance", why)
            self._motion.stop(p.stop_duration)
            self._is_stopping = True

    def _apply_wrench(self, stamp: int, step: float) -> None:
        """Put the newest wrench, with rates, on the body it acts on."""
        if not self._wrench_stamp:
            return
        p = self.parameters
        if abs(stamp - self._wrench_stamp) > int(SECOND * p.wrench_timeout):
            if self._wrench.any():
                self._refuse(
                    "external_wrench", MessageError("stale", "no longer comes: taken as zero")
                )
            self._wrench[:] = 0.0
        rows = self._contact.advance(self._wrench, step, p.wrench_filter_time)
        q, qd, qdd = self._law.desired[:3]
        body, pose = self._model.frames[self._wrench_frame]
        if body < 0:  # given in a frame that does not move
            rows = rows @ coAd(pose).T
        else:
            rows = wrench_to_world(self._model, q, qd, qdd, self._wrench_frame, rows)
        self._law.applied_wrenches[:] = 0.0
        self._law.applied_wrenches[self._wrench_body] = rows

    def _output(self, stamp: int, step: float) -> bool:
        """Ramp, limit and publish what the law says, `step` s after the last output.

        Nothing that is not finite leaves; False if it would have.
        """
        law = self._law
        self._is_finite = law.is_finite()
        if not self._is_finite:
            self._events.add("output not finite")
            return False
        self._gain = self._ramp(stamp)
        wanted = law.motor.torque
        if self._gain < 1.0:
            wanted = self._ramp_from + self._gain * (wanted - self._ramp_from)
        # The first cycle knows no step: where rates are limited, next to nothing is allowed yet.
        self._motor_torque, cuts = self._limits.apply(wanted, self._motor_torque, step or 1e-9)
        law.motor.velocity[:], speed_cuts = self._limits.apply_speed(law.motor.velocity)
        for cut in (*cuts, *speed_cuts):
            self._limited.add(f"{cut.quantity} of {cut.joint}", str(cut))
        self._last_stamp = stamp
        lookahead = int(SECOND * self.parameters.lookahead)
        self._outputs.publish(stamp, lookahead, law, self._motor_torque)
        return True

    def _ramp(self, stamp: int) -> float:
        """From 0 to 1 with continuous slope, over `ramp_time`."""
        if self._ramp_begin is None:
            return 1.0
        duration = self.parameters.ramp_time
        x = 1e-9 * (stamp - self._ramp_begin) / duration if duration else 1.0
        if x >= 1.0:
            self._ramp_begin = None
            return 1.0
        return x * x * (3.0 - 2.0 * x)

    # The safe output

    def _on_stale(self) -> None:
        if not self._is_running or not self._watchdog.stale:  # input came in between
            return
        self._is_stale = True
        silence = f"no complete joint state for {self._watchdog.age():.3f} s"
        if self._motion.is_there:
            self.get_logger().error(f"{silence}: holding with gravity")
        else:
            self.get_logger().warning(f"{silence}: nothing to publish yet")
        self._events.add("joint_states stale")
        self._publish_safe_output()
        self._diagnostics.publish()

    def _publish_safe_output(self) -> None:
        """Once: rest at the last desired position, held against gravity; stamped now."""
        if not self._motion.is_there:
            return
        law = self._law
        law.desired[1:] = 0.0
        law.applied_wrenches[:] = 0.0
        law.update()
        # Nothing follows to complete a ramp or a limited rate, so this one is the whole hold.
        self._ramp_begin = None
        self._output(max(self._now(), self._last_stamp + 1), FOREVER)
        self._safe_position = law.desired[0].copy()
        self._motion.release()
        self._statistics.restart()

    # Diagnostics

    def _statuses(self) -> Iterator[DiagnosticStatus]:
        node, robot = self.get_fully_qualified_name(), self._model.name
        p = self.parameters
        expected = 1.0 / p.expected_rate if p.expected_rate else 0.0
        if p.update_rate:
            expected = 1.0 / p.update_rate
        figures = self._statistics.report(expected) | {"age of the state [s]": self._watchdog.age()}
        if not self._statistics.total:
            level, text = STALE, f"no state yet of {', '.join(self._measured.missing)}"
        elif self._is_stale:
            level, text = ERROR, f"no joint state for {self._watchdog.age():.1f} s: safe output"
        elif not self._is_finite:
            level, text = ERROR, "the output would not be finite: nothing is published"
        elif figures.get("missed cycles"):
            level, text = WARN, f"{figures['missed cycles']} cycles missed"
        elif not figures["cycles"]:
            level, text = OK, "simulated time stands still" if self._simulated_time else "no cycle"
        else:
            level, text = OK, f"{1e6 / figures['period mean [us]']:.0f} Hz"
        yield status(f"{node}: cycle", level, text, figures, robot)

        recent, values = self._rejected.report()
        values["joint_states: none of our joints"] = self._measured.foreign
        text = f"{recent} refused in the last second" if recent else "none refused"
        yield status(f"{node}: inputs", WARN if recent else OK, text, values, robot)

        recent, values = self._limited.report()
        text = f"{recent} cuts in the last second" if recent else "nothing limited"
        yield status(f"{node}: limits", WARN if recent else OK, text, values, robot)

        _, values = self._events.report()
        values |= {"enabled": self._enabled, "ramp": float(self._gain)}
        if self._motion.is_there:
            deviation = np.abs(self._law.desired[0] - self._measured.position)
            k = int(deviation.argmax())
            values["largest deviation"] = float(deviation[k])
            values["of joint"] = self._model.joint_names[k]
        mode = "safe output" if self._is_stale else self._motion.mode
        yield status(f"{node}: reference", OK, mode, values, robot)


def main(args: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(FeedforwardNode, args)


if __name__ == "__main__":
    sys.exit(main())
