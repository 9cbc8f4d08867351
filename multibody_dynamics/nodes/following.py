"""What nodes have in common that make a robot follow a trajectory, once per state of the joints:
where the robot comes from, the desired motion, time and its jumps, the judgement of inputs, limits
and diagnostics.

A subclass adds the law. It writes `_make` (what `configure` needs beside the robot), `_cycle`,
`_publish_safe_output`, `_statuses`, and extends `activate`, where it subscribes to states.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import JumpThreshold, ROSClock, TimeJump
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.actuators import Actuators
from ..dynamics.inputs import Array
from ..dynamics.limits import JointCommandLimits, LimitEvent, distance_to_limits
from ..dynamics.model import MultibodyModel
from .desired_motion import DesiredMotion
from .diagnostics import (
    OK,
    WARN,
    CycleStatistics,
    Diagnostics,
    EventCounter,
    status,
)
from .external_wrench import ExternalWrench
from .following_parameters import FollowingParameters
from .messages import (
    SECOND,
    JointMatcher,
    JointStates,
    MessageError,
    TrajectoryRequest,
    nanoseconds,
    read_trajectory,
)
from .outputs import Outputs
from .parameters import ParameterError
from .qos import LATCHED, RELIABLE, best_effort
from .robot import load_actuators, load_model
from .runtime import ManagedNode
from .stiffness_reference import StiffnessReference
from .trajectory_action import TrajectoryAction
from .trajectory_goal import Code, Tolerances, TrajectoryGoal, Verdict
from .watchdog import Watchdog


class Law(Protocol):
    """What a subclass computes, as far as it matters here."""

    @property
    def desired(self) -> Array:
        """(5, n) where the robot should be in this cycle, with four derivatives."""

    @property
    def joint_torque(self) -> Array:
        """(n,) that the springs are under, for what stiffness can be had."""


class FollowingNode(ManagedNode):
    """A lifecycle node that follows `joint_trajectory`; see the module's text.

    From `configure` on: `_model`, `_actuators`, `_order` (indices of the motors in the order of
    command_joints), `_limits`, `_stiffness` of the joints where it varies, and `_law`, which
    `_make` sets. From `activate` on: `_motion`, `_motor_torque` (m,) as published last, with the
    stamp `_last_stamp`, and `_position` (n,), where the robot is.
    """

    Parameters = FollowingParameters
    _position: Array
    _law: Law

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._description = ""
        self._outputs: Outputs | None = None
        self._is_running = False  # between activate and deactivate
        self._goal: TrajectoryGoal | None = None  # of the motion, as long as it is not over
        self._action: TrajectoryAction | None = None
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    # For subclasses

    @abstractmethod
    def _make(self, model: MultibodyModel, actuators: Actuators) -> Outputs:
        """What `configure` needs beside the robot, and the publishers last."""

    @abstractmethod
    def _cycle(self, stamp: int, begin: int) -> None:
        """From the newest state to outputs with the stamp (ns); begin: when it arrived."""

    @abstractmethod
    def _publish_safe_output(self) -> None:
        """The last word; also where there is nothing to say yet."""

    @abstractmethod
    def _statuses(self) -> Iterator[DiagnosticStatus]:
        """What is published on /diagnostics."""

    @property
    @abstractmethod
    def _has_state(self) -> bool:
        """Whether there is a state that a timer's cycle may start from."""

    def _make_motion(self) -> DesiredMotion:
        """What is followed from `activate` on."""
        return DesiredMotion(self._model.joint_names, self._soft_limits)

    def _listen_to_motions(self) -> None:
        """Subscribe to what is to be followed, and serve the action."""
        self._listen(JointTrajectory, "joint_trajectory", self._on_trajectory, RELIABLE)
        rate = self.parameters.action_monitor_rate
        if self._action is not None or not rate:
            return  # it stays until `cleanup`, so that a last result gets out
        if not TrajectoryAction.is_installed():
            self.get_logger().info(
                "control_msgs is not installed: follow_joint_trajectory is not served, the topic"
                " joint_trajectory is"
            )
            return
        self._action = TrajectoryAction(
            self, self._model.joint_names, self._on_goal, self._on_cancel, rate
        )

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
        actuators = load_actuators(p, model)
        motors = actuators.motor_names
        for name in p.command_joints:
            if name not in motors:
                raise ParameterError(
                    f"command_joints: no joint '{name}'; the robot's are {', '.join(motors)}"
                )
        if p.wrench_link and model.body_index(p.wrench_link) < 0:
            raise ParameterError(f"wrench_link '{p.wrench_link}' does not move")
        soft_limits = model.limits._replace(
            lower=model.limits.lower + p.position_margin,
            upper=model.limits.upper - p.position_margin,
        )
        for k in np.flatnonzero(soft_limits.lower > soft_limits.upper):
            raise ParameterError(
                f"position_margin {p.position_margin} leaves no range for '{model.joint_names[k]}'"
            )
        self._model, self._actuators, self._soft_limits = model, actuators, soft_limits
        self._order = np.array([motors.index(name) for name in p.command_joints], dtype=np.intp)
        variable = actuators.variable_joints
        if len(p.initial_stiffness) not in (0, len(variable)):
            raise ParameterError(
                f"initial_stiffness has {len(p.initial_stiffness)} numbers; {len(variable)} are"
                " needed, or none"
            )
        self._matcher, self._variable = JointMatcher(model.joint_names), JointMatcher(variable)
        self._stiffness = StiffnessReference(actuators)
        self._outputs = self._make(model, actuators)
        self.reconfigure(p)
        self.get_logger().info(f"configured for {model.name}: {', '.join(model.joint_names)}")

    def activate(self) -> None:
        p = self.parameters
        self._motion = self._make_motion()
        self._motor_torque: Array = np.zeros(len(self._actuators.motors))
        self._last_stamp = 0
        self._enabled = p.enable_at_activation
        self._wrench = ExternalWrench(self._model, p.wrench_link)
        self._statistics = CycleStatistics()
        self._rejected, self._limited, self._events = EventCounter(), EventCounter(), EventCounter()
        self._watchdogs: list[Watchdog] = []
        self._subscriptions_made: list[object] = []

        self._read_clock_type()
        self._jumps = self.get_clock().create_jump_callback(
            JumpThreshold(
                min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
            ),
            post_callback=self._on_time_jump,
        )
        self._listen_to_motions()
        if self._stiffness.joint_names:
            self._listen(JointTrajectory, "stiffness_reference", self._on_stiffness, RELIABLE)
        self._listen(WrenchStamped, "external_wrench", self._on_wrench, best_effort(1))
        self._enable_service = self.create_service(SetBool, "~/enable", self._on_enable)
        self._timer = (
            self.create_timer(1.0 / p.update_rate, self._on_timer) if p.update_rate else None
        )
        self._diagnostics = Diagnostics(self, self._statuses)
        self._is_running = True

    def deactivate(self) -> None:
        if not self._is_running:
            return
        self._is_running = False
        for watchdog in self._watchdogs:
            watchdog.stop()
        self._jumps.unregister()
        self._end_goal("the node was deactivated")
        self._publish_safe_output()
        for subscription in self._subscriptions_made:
            self.destroy_subscription(subscription)
        self.destroy_service(self._enable_service)
        if self._timer is not None:
            self.destroy_timer(self._timer)
        self._diagnostics.close()

    def cleanup(self) -> None:
        if self._action is not None:
            self._action.close()
            self._action = None
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None

    def reconfigure(self, values: FollowingParameters) -> None:
        if self._is_running:
            for watchdog in self._watchdogs:
                watchdog.timeout = values.state_timeout
        if self._outputs is None:
            return
        actuators = self._actuators
        self._stiffness.torque_scale = values.torque_limit_scale
        rates = np.full(len(actuators.motors), np.inf)
        if values.torque_rate_limits:
            rates[self._order] = values.torque_rate_limits
        # The robot's effort limit is one of the joint: what several motors may do, it does not say.
        joints = actuators.joint_of_motor
        is_alone = np.bincount(joints)[joints] == 1
        efforts = np.where(is_alone, self._model.limits.effort[joints], np.inf)
        self._torque_limited_by = {
            name: "the robot's effort limit" if is_robot else "the motor's torque limit"
            for name, is_robot in zip(
                actuators.motor_names, efforts < actuators.torque_limit, strict=True
            )
        }
        self._limits = JointCommandLimits(
            actuators.motor_names,
            torque=values.torque_limit_scale * np.minimum(efforts, actuators.torque_limit),
            torque_rate=rates,
            motor_speed=actuators.speed_limit,
        )

    def _listen(
        self, kind: type, topic: str, callback: Callable[..., object], quality: object
    ) -> None:
        """Subscribe until `deactivate`."""
        self._subscriptions_made.append(self.create_subscription(kind, topic, callback, quality))

    def _watch(self, on_stale: Callable[[], object]) -> Watchdog:
        """A watchdog with the timeout of states that calls `on_stale` where they stop coming.

        Safe outputs use buffers and publishers of the control cycle, and these have no lock: so the
        watchdog's thread publishes nothing, it asks the executor's thread to.
        """

        def look_again() -> None:
            if self._is_running and watchdog.stale:  # no input came in between
                on_stale()

        watchdog = Watchdog(
            self.parameters.state_timeout,
            lambda age: self.defer(look_again),
            simulated_time=self._simulated_time,
        )
        self._watchdogs.append(watchdog)
        watchdog.start()
        return watchdog

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
        for watchdog in self._watchdogs:
            watchdog.simulated_time = self._simulated_time
        self._restart(f"the clock jumped by {1e-9 * jump.delta.nanoseconds:.3f} s")

    def _restart(self, why: str) -> None:
        """Forget everything that was tied to time; the next state begins a new hold."""
        self.get_logger().warning(f"{why}: reference, filters and statistics start anew")
        self._events.add("time jumped", why)
        self._end_goal(why)
        self._motion.release()
        self._stiffness.release()
        self._wrench.restart()
        self._last_stamp = 0
        self._statistics.restart()
        for watchdog in self._watchdogs:
            watchdog.feed()

    # Inputs

    def _take(self, topic: str, states: JointStates, message: JointState) -> bool:
        """Take in a message of states; True where it completes one in which every joint is new."""
        now, tolerance = self._now(), int(SECOND * self.parameters.stamp_tolerance)
        try:
            if not now:
                raise MessageError("no clock", "use_sim_time is set and nothing came on /clock")
            if states.went_back(message, now, tolerance):
                self._restart(f"stamps of {topic} and the clock went back")
            return states.accept(message, now, tolerance)
        except MessageError as error:
            self._refuse(topic, error)
            return False

    def _on_timer(self) -> None:
        if self._has_state:
            self._cycle(self._now(), time.monotonic_ns())

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            request = read_trajectory(message, self._matcher)
            if request.times.size == 0:
                self._motion.stop(self.parameters.stop_duration)
                self._on_new_motion()
            else:
                self._follow(request, self._tolerances())
        except MessageError as error:
            self._refuse("joint_trajectory", error)
        else:
            self._events.add("trajectories taken over")

    def _follow(self, request: TrajectoryRequest, tolerances: Tolerances) -> None:
        """Take over a trajectory with points. Raises MessageError; the running one then stays."""
        p = self.parameters
        self._check_may_move()
        self._motion.follow(
            request, self._position, tolerance=p.start_tolerance, lead=p.splice_lead
        )
        self._on_new_motion(tolerances)

    def _tolerances(self) -> Tolerances:
        p = self.parameters
        return Tolerances.of_parameters(
            self._model.n,
            path=p.path_tolerance,
            goal=p.goal_tolerance,
            stopped_velocity=p.stopped_velocity_tolerance,
            goal_time=p.goal_time_tolerance,
        )

    def _on_goal(self, goal: Any) -> None:
        """A goal of the action: follow it, or raise MessageError."""
        try:
            if not self._is_running:
                raise MessageError("not active", "the node is not active")
            request = read_trajectory(goal.trajectory, self._matcher)
            time = goal.goal_time_tolerance
            tolerances = self._tolerances().changed(
                self._model.joint_names,
                goal.path_tolerance,
                goal.goal_tolerance,
                time.sec + 1e-9 * time.nanosec,
            )
            self._follow(request, tolerances)
        except MessageError as error:
            self._refuse("follow_joint_trajectory", error)
            raise
        self._events.add("goals taken over")

    def _on_cancel(self) -> None:
        self._motion.stop(self.parameters.stop_duration)
        self._on_new_motion()

    def _on_stiffness(self, message: JointTrajectory) -> None:
        p = self.parameters
        try:
            request = read_trajectory(message, self._variable)
            if request.times.size == 0:
                self._stiffness.stop(p.stop_duration)
                return
            self._check_may_move()
            torque = self._law.joint_torque
            self._count_cuts(self._stiffness.follow(request, torque, p.splice_lead))
        except MessageError as error:
            self._refuse("stiffness_reference", error)

    def _check_may_move(self) -> None:
        """Raise MessageError where no trajectory may be taken over."""
        if not self._enabled:
            raise MessageError("not enabled", "the service ~/enable forbids motion")

    def _on_new_motion(self, tolerances: Tolerances | None = None) -> None:
        """Something was taken over, or a stop begun: it is judged from now on."""
        self._end_goal("another motion took its place")
        tolerances = tolerances or self._tolerances()
        self._goal = TrajectoryGoal(self._model.joint_names, tolerances, self._motion.end)

    def _end_goal(self, why: str, code: Code = Code.INVALID_GOAL) -> None:
        """The motion that is followed, if there is one, is over."""
        self._goal = None
        if self._action is not None:
            self._action.end(Verdict(code, why))

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            self._check_stamp(nanoseconds(message.header.stamp))
            self._wrench.accept(message)
        except MessageError as error:
            self._refuse("external_wrench", error)

    def _newest_wrench(self, stamp: int, step: float, state: Array) -> tuple[int, Array] | None:
        """On which body, and W, W', W'' (3, 6) in inertial axes; None as long as nothing came."""
        wrench, p = self._wrench, self.parameters
        if wrench.body is None:
            return None
        if wrench.expire(stamp, p.wrench_timeout):
            self._refuse("external_wrench", MessageError("stale", "no longer comes: taken as zero"))
        return wrench.body, wrench.advance(step, p.wrench_filter_time, state)

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
            self._end_goal("the service ~/enable forbids motion")
        self._enabled = request.data
        response.success = True
        response.message = "following trajectories" if request.data else "stopping, then holding"
        self.get_logger().info(response.message)
        return response

    def _refuse(self, topic: str, error: MessageError) -> None:
        self._rejected.add(f"{topic}: {error.reason}", f"{topic}: {error}")
        self.get_logger().warning(f"refused {topic}: {error}", throttle_duration_sec=1.0)

    # The cycle

    def _comes_late(self, topic: str, stamp: int) -> bool:
        """Refuse a state older than the last output."""
        if stamp > self._last_stamp:
            return False
        self._refuse(topic, MessageError("out of order", "older than the last output"))
        return True

    def _notice_leap(self, stamp: int) -> None:
        """Start anew where stamps leap ahead."""
        gap = stamp - self._last_stamp if self._last_stamp else 0
        if gap > int(SECOND * self.parameters.state_timeout) and self._motion.is_there:
            self._restart(f"{1e-9 * gap:.3f} s are missing between two stamps")  # no alarm yet

    def _step_to(self, stamp: int) -> float:
        """Seconds since the last output; 0 at the first."""
        return 1e-9 * (stamp - self._last_stamp) if self._last_stamp else 0.0

    def _hold_at(self, position: Array, stamp: int) -> None:
        """Rest at `position` from now on."""
        self._motion.hold(position, stamp)
        for k in np.flatnonzero(distance_to_limits(self._soft_limits, position) < 0.0):
            self.get_logger().warning(
                f"'{self._model.joint_names[k]}' stands at {position[k]:.4g}, outside its position"
                " limits: it may only be moved back"
            )

    def _judge_goal(self, stamp: int, velocity: Array) -> None:
        """Whether the robot follows the motion and arrives; velocity: (n,) as measured, or NaN."""
        goal, desired = self._goal, self._law.desired
        if goal is None:
            return
        if self._action is not None:
            self._action.report(stamp, desired, self._position, velocity)
        p = self.parameters
        time = stamp + int(SECOND * p.lookahead)
        verdict = goal.judge(time, desired, self._position, velocity)
        if verdict is None:
            return
        if verdict.code == Code.PATH_TOLERANCE_VIOLATED:
            self.get_logger().error(f"{verdict.text}: stopping")
            self._events.add("path tolerance", verdict.text)
            self._motion.stop(p.stop_duration)
        elif verdict.code == Code.GOAL_TOLERANCE_VIOLATED:
            self.get_logger().error(verdict.text)
            self._events.add("goal tolerance", verdict.text)
        self._end_goal(verdict.text, verdict.code)

    def _limit_torque(self, wanted: Array, step: float) -> None:
        """Set `_motor_torque` to what may be sent, `step` s after the last; cuts are counted."""
        # The first cycle knows no step: where rates are limited, next to nothing is allowed yet.
        self._motor_torque, cuts = self._limits.apply(wanted, self._motor_torque, step or 1e-9)
        self._count_cuts(cuts)

    def _limit_speed(self, speed: Array) -> None:
        """Cut the motor speeds (m,) in place."""
        speed[:], cuts = self._limits.apply_speed(speed)
        self._count_cuts(cuts)

    def _count_cuts(self, cuts: Iterable[LimitEvent]) -> None:
        for cut in cuts:
            by = self._torque_limited_by.get(cut.joint) if cut.quantity == "torque" else None
            self._limited.add(f"{cut.quantity} of {cut.joint}", f"{cut}, {by}" if by else str(cut))

    # Diagnostics

    def _status(
        self, part: str, level: bytes, text: str, values: Mapping[str, object]
    ) -> DiagnosticStatus:
        name = f"{self.get_fully_qualified_name()}: {part}"
        return status(name, level, text, values, self._model.name)

    def _cycle_status(
        self, ages: Mapping[str, float], fault: tuple[bytes, str] | None
    ) -> DiagnosticStatus:
        """Statistics of the cycle; `fault`, a level and its text, goes first."""
        p = self.parameters
        rate = p.update_rate or p.expected_rate
        figures = self._statistics.report(1.0 / rate if rate else 0.0) | ages
        if fault is not None:
            level, text = fault
        elif figures.get("missed cycles"):
            level, text = WARN, f"{figures['missed cycles']} cycles missed"
        elif not figures["cycles"]:
            level, text = OK, "simulated time stands still" if self._simulated_time else "no cycle"
        else:
            level, text = OK, f"{1e6 / figures['period mean [us]']:.0f} Hz"
        return self._status("cycle", level, text, figures)

    def _stiffness_values(self) -> dict[str, object]:
        return self._stiffness.report(self._law.joint_torque)

    def _inputs_status(self, more: Mapping[str, object]) -> DiagnosticStatus:
        recent, values = self._rejected.report()
        text = f"{recent} refused in the last second" if recent else "none refused"
        return self._status("inputs", WARN if recent else OK, text, values | more)

    def _limits_status(self) -> DiagnosticStatus:
        recent, values = self._limited.report()
        text = f"{recent} cuts in the last second" if recent else "nothing limited"
        return self._status("limits", WARN if recent else OK, text, values)
