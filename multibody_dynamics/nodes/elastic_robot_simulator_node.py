"""An arm with elastic joints in simulation: motor commands in, link and motor states out.

A cycle, on its own thread: take the newest command, publish the state of now, advance the plant by
one period under that command. A command computed from a state therefore acts one period later, as
on a robot whose drives take set points at the period's begin. The reference of `motor_command` is
understood to be for the time header.stamp + time_from_start, and moves on at its velocity from
there. docs/elastic_robot_simulator_node.md describes topics, parameters and behaviour.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.elastic_robot import ElasticRobot, MotorDrive
from ..dynamics.errors import DynamicsError
from ..dynamics.inputs import Array
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
from .messages import (
    SECOND,
    JointMatcher,
    MessageError,
    joint_state_message,
    nanoseconds,
    read_command_array,
    read_motor_command,
    set_stamp,
    view,
)
from .parameters import ParameterError, parameter
from .qos import RELIABLE, best_effort
from .robot import ElasticRobotParameters, load_joints, load_model
from .runtime import ManagedNode, run


@dataclass(frozen=True)
class SimulatorParameters(ElasticRobotParameters):
    """See the descriptions; docs/elastic_robot_simulator_node.md has them as a table."""

    link_viscous_friction: tuple[float, ...] = parameter(
        (),
        "on the link side of the springs: one for all or one per joint of command_joints;"
        " empty: none",
        unit="N m s/rad or N s/m",
    )
    command_interface: str = parameter(
        "motor_command",
        "'motor_torque': torques as they come; 'motor_command': drives close a PD around"
        " reference and torque feedforward",
        choices=("motor_torque", "motor_command"),
    )
    initial_positions: tuple[float, ...] = parameter(
        (),
        "where activation puts the links, at rest, in the order of command_joints;"
        " empty: zero, or the joint limit next to it",
        unit="rad or m",
    )
    brakes_until_command: bool = parameter(
        True, "after activation the robot stands still until the first command"
    )
    command_timeout: float = parameter(
        0.1,
        "without a command for this long: zero torque, or the drives hold their last reference",
        unit="s",
        bounds=(0.001, 60.0),
        live=True,
    )
    drive_bandwidth: float = parameter(
        15.0,
        "of the drives' position loops, each motor by itself",
        unit="Hz",
        bounds=(0.1, 1000.0),
    )
    drive_damping_ratio: float = parameter(1.0, "of the drives' position loops", bounds=(0.0, 10.0))
    drive_interpolation: float = parameter(
        0.02,
        "a reference moves on at its velocity for at most this long, then it stands still",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    update_rate: float = parameter(
        1000.0, "cycles, and published states, per second", unit="Hz", bounds=(1.0, 10000.0)
    )
    step: float = parameter(
        0.0,
        "inner step of the integrator; 0: by the fastest mode, at most 0.25 ms",
        unit="s",
        bounds=(0.0, 0.01),
    )
    publish_clock: bool = parameter(
        False,
        "be the time source: publish /clock and stamp with simulated time, which waits for the"
        " simulation; otherwise stamp with system time",
    )
    lockstep: bool = parameter(
        False,
        "wait, for at most command_timeout, until the state before has been answered by a"
        " motor_command: simulated time slows down instead of losing cycles; needs publish_clock",
    )
    max_lag: float = parameter(
        0.05,
        "when further behind real time than this, give up catching up and report the loss",
        unit="s",
        bounds=(0.001, 10.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        n = len(self.command_joints)
        for name, allowed in (("initial_positions", (0, n)), ("link_viscous_friction", (0, 1, n))):
            count = len(getattr(self, name))
            if count not in allowed:
                raise ParameterError(
                    f"{name} has {count} numbers for {n} command_joints; allowed: {allowed}"
                )
        if self.lockstep and not (self.publish_clock and self.command_interface == "motor_command"):
            raise ParameterError(
                "lockstep needs publish_clock, for time to wait, and the command_interface"
                " motor_command, whose stamps tell which state it answers"
            )
        if self.command_timeout * self.update_rate < 1.0:
            raise ParameterError(
                f"command_timeout ({self.command_timeout} s) is shorter than one cycle at "
                f"update_rate {self.update_rate} Hz"
            )


class Command(NamedTuple):
    """The newest command, in the model's joint order; replaced as a whole, never changed."""

    received: int  # ns, steady clock
    torque: Array  # motor torque, or the feedforward of the drives
    position: Array | None = None  # of the motors, for the drives; None: torque control
    velocity: Array | None = None
    time: int | None = None  # ns on the stamps' clock, that position is for; None: now


class Outputs:
    """The publishers and their messages, made once and filled in place."""

    def __init__(self, node: ElasticRobotSimulatorNode, robot: ElasticRobot, clock: bool) -> None:
        names = robot.joints.joint_names
        create = node.create_lifecycle_publisher
        links, motors = (
            joint_state_message(names, "position", "velocity", "effort") for _ in range(2)
        )
        self._clock = Clock()
        self._stamps = (self._clock.clock, links.header.stamp, motors.header.stamp)
        self._rows = [
            (view(links.position), robot.q),
            (view(links.velocity), robot.qd),
            (view(links.effort), robot.joint_torque),
            (view(motors.position), robot.theta),
            (view(motors.velocity), robot.thetad),
            (view(motors.effort), robot.motor_torque),
        ]
        self._publishers = [
            (create(JointState, "joint_states", RELIABLE), links),
            (create(JointState, "motor_states", RELIABLE), motors),
        ]
        if clock:  # before the states, so that their stamps are not in the future
            self._publishers.insert(0, (create(Clock, "/clock", RELIABLE), self._clock))
        self._node = node

    def publish(self, time: int) -> None:
        """Publish the state of the robot with one stamp (ns)."""
        for stamp in self._stamps:
            set_stamp(stamp, time)
        for row, values in self._rows:
            row[:] = values
        for publisher, message in self._publishers:
            publisher.publish(message)

    def close(self) -> None:
        for publisher, _ in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)


class ElasticRobotSimulatorNode(ManagedNode):
    """See the module's text and docs/elastic_robot_simulator_node.md."""

    Parameters = SimulatorParameters

    def __init__(self) -> None:
        super().__init__("elastic_robot_simulator_node")
        self._outputs: Outputs | None = None
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()
        self._answered = threading.Condition()
        self._time = 0  # ns, simulated; goes on from one activation to the next
        self._stamp = 0  # ns, of the newest state

    # Life cycle

    def configure(self) -> None:
        p = self.parameters
        if self.get_parameter("use_sim_time").value and not p.publish_clock:
            raise ParameterError(
                "use_sim_time is true, but the simulator runs by the steady clock; set "
                "publish_clock to be the time source, or use_sim_time to false"
            )
        model = load_model(p)
        names = model.joint_names
        order = p.command_joints or names
        if p.command_interface == "motor_torque" and not p.command_joints:
            raise ParameterError(
                "command_joints is empty; name the joints of motor_torque in order"
            )
        if set(order) != set(names):
            raise ParameterError(
                f"command_joints {', '.join(order)}: must be the robot's joints {', '.join(names)}"
            )
        joints = load_joints(p, model)
        self._order = np.array([names.index(name) for name in order], dtype=np.intp)
        home = np.clip(0.0, model.limits.lower, model.limits.upper)
        if p.initial_positions:
            home[self._order] = p.initial_positions
        viscous = np.zeros(model.n)
        if p.link_viscous_friction:
            viscous[self._order] = p.link_viscous_friction
        self._home, self._zero = home, np.zeros(model.n)
        self._robot = ElasticRobot(
            model,
            joints,
            step=p.step or None,
            drive=MotorDrive.from_bandwidth(
                model,
                joints,
                home,
                bandwidth=p.drive_bandwidth,
                damping_ratio=p.drive_damping_ratio,
            )
            if p.command_interface == "motor_command"
            else None,
            link_viscous=viscous,
        )
        self._robot.reset(home)
        self._command_joints = tuple(order)
        self._matcher = JointMatcher(names)
        self._period = round(SECOND / p.update_rate)
        self._time = 0
        self._outputs = Outputs(self, self._robot, p.publish_clock)
        self.get_logger().info(
            f"configured for {model.name}: {', '.join(names)}; inner step "
            f"{1e3 * self._robot.step_size:.3g} ms"
        )

    def activate(self) -> None:
        p = self.parameters
        self._robot.reset(self._home)
        self._command = None if p.brakes_until_command else self._rest()
        self._last_stamp = 0
        self._is_stale = False
        self._lost = 0  # ns of real time given up since activation
        self._saturated = 0  # cycles
        self._reported = (0, 0)  # of these two
        self._statistics = CycleStatistics()
        self._rejected = EventCounter()
        kinds = {
            "motor_torque": (Float64MultiArray, self._on_motor_torque),
            "motor_command": (JointTrajectory, self._on_motor_command),
        }
        kind, callback = kinds[p.command_interface]
        self._subscription = self.create_subscription(
            kind, p.command_interface, callback, best_effort()
        )
        self._diagnostics = Diagnostics(self, self._statuses)
        self._leave.clear()
        self._thread = threading.Thread(
            target=self._run, args=(self._outputs,), name="plant", daemon=True
        )
        self._thread.start()
        self.get_logger().info(f"active; commands: {p.command_interface}")

    def deactivate(self) -> None:
        if self._thread is None:
            return
        self._leave.set()
        with self._answered:
            self._answered.notify_all()
        self._thread.join()
        self._thread = None
        self.destroy_subscription(self._subscription)
        self._diagnostics.close()

    def cleanup(self) -> None:
        if self._outputs is not None:
            self._outputs.close()
            self._outputs = None

    # Commands, on the executor's thread

    def _on_motor_torque(self, message: Float64MultiArray) -> None:
        try:
            given = read_command_array(message, self._command_joints)
        except MessageError as error:
            self._refuse(error)
            return
        torque = np.empty_like(given)
        torque[self._order] = given
        self._command = Command(time.monotonic_ns(), torque)

    def _on_motor_command(self, message: JointTrajectory) -> None:
        now = time.monotonic_ns()
        try:
            command = read_motor_command(message, self._matcher)
            # Duration and Time have the same fields.
            due = command.stamp + nanoseconds(message.points[0].time_from_start)
            if command.stamp and abs(due - self._stamp) > SECOND * self.parameters.command_timeout:
                raise MessageError(
                    "stale" if due < self._stamp else "from the future",
                    f"the reference is for {1e-9 * (due - self._stamp):.3f} s from now",
                )
            fresh = self._command is not None and not self._is_stale
            if fresh and 0 < command.stamp < self._last_stamp:
                raise MessageError(
                    "out of order",
                    f"the stamp is {1e-9 * (self._last_stamp - command.stamp):.6f} s before one "
                    f"already used",
                )
        except MessageError as error:
            self._refuse(error)
            return
        self._command = Command(
            now,
            torque=self._zero if command.effort is None else command.effort,
            position=command.position,
            velocity=self._zero if command.velocity is None else command.velocity,
            time=due if command.stamp else None,
        )
        with self._answered:
            self._last_stamp = command.stamp
            self._answered.notify()

    def _rest(self) -> Command:
        """What a robot without brakes has before the first command."""
        now = time.monotonic_ns()
        if self._robot.drive is None:
            return Command(now, self._zero)
        theta, hold = self._robot.theta.copy(), self._robot.motor_torque.copy()
        return Command(now, hold, theta, self._zero)

    def _refuse(self, error: MessageError) -> None:
        topic = self._interface
        self._rejected.add(f"{topic}: {error.reason}", f"{topic}: {error}")
        self.get_logger().warning(f"refused {topic}: {error}", throttle_duration_sec=1.0)

    # The plant, on its own thread

    def _run(self, outputs: Outputs) -> None:
        try:
            self._keep_time(outputs)
        except DynamicsError as error:
            self.get_logger().error(f"simulation stopped: {error}")
        except Exception:
            if not rclpy.ok(context=self.context):
                return  # publishers are gone with the context
            self.get_logger().error(f"simulation stopped:\n{traceback.format_exc()}")
        else:
            return
        self.defer(self._give_up)

    def _give_up(self) -> None:
        if self.state == "active":
            self.trigger_deactivate()

    def _keep_time(self, outputs: Outputs) -> None:
        """A cycle at every period of the steady clock; several at once to make up for a delay."""
        wake = time.monotonic_ns()
        to_system_time = time.time_ns() - wake
        while not self._leave.is_set():
            begin = time.monotonic_ns()
            late = begin - wake
            if late < 0:
                time.sleep(-1e-9 * late)
                continue
            p = self.parameters
            limit = int(SECOND * p.max_lag)
            if late > limit:
                self._lost += late
                wake = begin
            self._time += self._period
            if p.publish_clock:
                stamp = self._time
            else:
                if abs(time.time_ns() - begin - to_system_time) > limit:  # the clock was set
                    to_system_time = time.time_ns() - begin
                stamp = wake + to_system_time
            if p.lockstep and self._command is not None and not self._is_stale:
                with self._answered:
                    self._answered.wait_for(
                        lambda: self._last_stamp >= self._stamp or self._leave.is_set(),
                        p.command_timeout,
                    )
            command = self._command  # before this state is known to anybody
            self._stamp = stamp
            outputs.publish(stamp)
            self._advance(time.monotonic_ns(), stamp, command)
            end = time.monotonic_ns()
            self._statistics.record(begin, end, stamp, stamp + end - wake)
            wake += self._period

    def _advance(self, now: int, stamp: int, command: Command | None) -> None:
        """One period of the plant from the state with `stamp`."""
        p, robot = self.parameters, self._robot
        dt = 1e-9 * self._period
        if command is None:  # the brakes are closed
            return
        self._is_stale = now - command.received > int(SECOND * p.command_timeout)
        if command.position is None:
            robot.step(self._zero if self._is_stale else command.torque, dt)
        else:
            elapsed = 0.0 if command.time is None else 1e-9 * (stamp - command.time)
            reach = p.drive_interpolation
            position = command.position + min(max(elapsed, -reach), reach) * command.velocity
            is_moving = abs(elapsed) <= reach and not self._is_stale
            velocity = command.velocity if is_moving else self._zero
            robot.follow(position, velocity, command.torque, dt)
        if (np.abs(robot.motor_torque) >= robot.joints.torque_limit).any():
            self._saturated += 1

    # Diagnostics, on the executor's thread

    def _statuses(self) -> Iterator[DiagnosticStatus]:
        node, robot = self.get_fully_qualified_name(), self._robot.model.name
        statistics, self._statistics = self._statistics, CycleStatistics()
        (lost, saturated), self._reported = self._reported, (self._lost, self._saturated)
        lost, saturated = self._reported[0] - lost, self._reported[1] - saturated

        figures = statistics.report(1e-9 * self._period)
        figures |= {
            "real time lost [s]": 1e-9 * self._lost,
            "simulated time [s]": 1e-9 * self._time,
        }
        if lost:
            level, text = WARN, f"cannot keep up with real time: {1e-9 * lost:.3f} s lost"
        elif figures["cycles"]:
            level, text = OK, f"{1e6 / figures['period mean [us]']:.0f} Hz"
        else:
            level, text = STALE, "no cycle"
        yield status(f"{node}: real time", level, text, figures, robot)

        recent, values = self._rejected.report()
        command = self._command
        if command is None:
            brakes = "brakes closed" if self.parameters.brakes_until_command else "no brakes"
            level, text = STALE, f"waiting for the first {self._interface}; {brakes}"
        elif self._is_stale:
            age = 1e-9 * (time.monotonic_ns() - command.received)
            safe = "zero torque" if command.position is None else "drives hold the last reference"
            level, text = ERROR, f"no {self._interface} for {age:.3f} s: {safe}"
        elif recent:
            level, text = WARN, f"{recent} refused in the last second"
        else:
            level, text = OK, "none refused"
        yield status(f"{node}: commands", level, text, values, robot)

        text = f"torque limit reached in {saturated} cycles" if saturated else "no torque limited"
        motors = {
            "inner step [ms]": 1e3 * self._robot.step_size,
            "cycles at a torque limit": self._saturated,
        }
        yield status(f"{node}: motors", WARN if saturated else OK, text, motors, robot)

    @property
    def _interface(self) -> str:
        return self.parameters.command_interface


def main(args: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(ElasticRobotSimulatorNode, args)


if __name__ == "__main__":
    sys.exit(main())
