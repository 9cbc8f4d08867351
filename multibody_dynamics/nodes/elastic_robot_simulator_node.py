# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A simulated arm with elastic joints: receives motor commands, publishes link and motor states.

Each cycle, in a separate thread, reads the newest command, publishes the current state, and
advances the plant by one period under that command. A command computed from a state therefore acts
one period later, as on a robot whose drives read set points at the beginning of a period. The
reference of a `motor_command` applies to the time header.stamp + time_from_start and is
extrapolated from there at its velocity. docs/elastic_robot_simulator_node.md describes topics,
parameters and behaviour.
"""

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ..dynamics.core import Array, DynamicsError
from ..dynamics.plant import DelayLine
from .base.diagnostics import ERROR, OK, STALE, WARN, CycleStatistics, Diagnostics, Status
from .base.messages import SECOND, MessageError, nanoseconds, set_stamp
from .base.node_inputs import Inputs
from .base.outputs import Outputs
from .base.parameters import ParameterError
from .base.qos import RELIABLE, best_effort
from .base.runtime import ManagedNode
from .simulator.simulated_base import SimulatedBase
from .simulator.simulated_environment import SimulatedEnvironment, StiffnessCommands
from .simulator.simulated_sensors import DependentJoints, SimulatedSensors, driven, stepped
from .simulator.simulator_commands import PlantCommand, PlantCommands
from .simulator.simulator_pace import ClockPace, Pace, SteadyPace
from .simulator.simulator_parameters import SimulatorParameters
from .simulator.simulator_plant import OverloadCounter, make_robot

SILENT = 1.0  # s without a command in lockstep, after which the simulator says that it waits
PARTS = 10  # of this time, or of a shorter timeout
UNANSWERED = 0.25  # largest speed in lockstep without commands: no state waits for a controller
# that starts or returns then, and on a busy computer it would fall behind in real time

Due = tuple[PlantCommand, bool] | None
"""The command that the motors execute and whether it is stale; None: the brakes are engaged."""


class ElasticRobotSimulatorNode(ManagedNode[SimulatorParameters]):
    """The node; see the module and docs/elastic_robot_simulator_node.md."""

    def __init__(self) -> None:
        super().__init__("elastic_robot_simulator_node", SimulatorParameters)

    # Life cycle

    def configure(self) -> None:
        p = self.parameters
        simulated = p.publish_clock or p.time_source == "clock"
        if self.get_parameter("use_sim_time").value and not simulated:
            raise ParameterError(
                "use_sim_time is true, but the simulator runs on the steady clock; set "
                "publish_clock to make it the time source, time_source to 'clock' to follow an "
                "external clock, or use_sim_time to false"
            )
        robot = make_robot(p)
        self._plant = plant = robot.plant
        self._home, self._effects = robot.home, robot.effects
        self._stiffness_at_rest = plant.stiffness.copy()
        actuators = plant.actuators
        self._period = round(SECOND / p.update_rate)
        self._dt = 1e-9 * self._period
        self._commands = PlantCommands(
            p.command_interface, actuators.motor_names, robot.command_order
        )
        self._environment = SimulatedEnvironment(p, plant)
        self._stiffness = StiffnessCommands(actuators)
        self._zero = np.zeros(len(actuators.motors))
        self._time = 0  # ns of simulated time; continues from one activation to the next
        self._clock_publisher: Any = None
        if p.publish_clock:  # before the states, whose stamps would otherwise be in the future
            self._clock_publisher = self.create_lifecycle_publisher(Clock, "/clock", RELIABLE)
            self.configuration.callback(self.destroy_lifecycle_publisher, self._clock_publisher)
        self._outputs = outputs = Outputs(self)
        self._dependent = DependentJoints(plant)
        fields = ("position", "velocity", "effort")
        self._rows = [
            *outputs.joint_state("joint_states", self._dependent.names, *fields),
            *outputs.joint_state("motor_states", actuators.motor_names, *fields),
        ]
        self._base: SimulatedBase | None = None
        if p.base_motion != "fixed":
            self._base = SimulatedBase(plant, outputs)
        self.get_logger().info(
            f"configured for {plant.model.name} ({p.plant}): {', '.join(actuators.joint_names)}; "
            f"inner step {1e3 * plant.step_size:.3g} ms"  # type: ignore[attr-defined]
        )

    def activate(self) -> None:
        p, plant = self.parameters, self._plant
        self._environment.restart()
        self._stiffness.restart()
        plant.stiffness[:] = self._stiffness_at_rest
        plant.reset(self._home)
        self._mean_torque = plant.motor_torque.copy()
        self._sensors = SimulatedSensors(p, plant, self._dt, self._effects)
        self._sensors.restart()
        self._stamp = 0  # ns, of the newest state
        self._commands.restart(None if p.brakes_until_command else self._rest())
        first: Due = None if p.brakes_until_command else (self._commands.newest, False)
        self._delay = DelayLine(p.actuation_delay, self._dt, first)
        self._is_stale = False
        self._late: PlantCommand | None = None  # the newest command when an answer was overdue
        self._moved = 0  # ns of simulated time since the first command
        self._overloads = OverloadCounter(plant)
        self._reported = (0, 0, 0, 0)  # lost, saturated, overstretched, restarted so far
        self._statistics = CycleStatistics()
        self._pace = self._make_pace(p)
        self._inputs = inputs = Inputs(self)
        commands, quality = self._commands, best_effort()
        inputs.listen(commands.kind, commands.topic, self._on_command, quality)
        inputs.listen(WrenchStamped, "external_wrench", self._on_wrench, quality)
        if self._stiffness.joints:
            inputs.listen(JointState, "stiffness_command", self._stiffness.accept, quality)
        if self._base is not None:
            self._base.restart()
        if p.base_motion == "trajectory":
            inputs.listen(MultiDOFJointTrajectory, "base_trajectory", self._on_base, RELIABLE)
        if p.time_source == "clock":
            inputs.listen(Clock, "/clock", self._on_clock, quality)
        Diagnostics(self, plant.model.name, self._statuses)
        thread = threading.Thread(target=self._run, args=(self._pace,), name="plant", daemon=True)
        thread.start()
        self.activation.callback(thread.join)
        self.activation.callback(commands.leave)
        self.activation.callback(self._pace.leave)
        self.get_logger().info(f"active; commands: {commands.topic}")

    def _make_pace(self, p: SimulatorParameters) -> Pace:
        if p.time_source == "clock":
            return ClockPace(self._period)
        pace = SteadyPace(self._period, self._time if p.publish_clock else None)
        if p.lockstep:
            pace.speed = _speed(p, answered=False)
        return pace

    def check(self, values: SimulatorParameters) -> None:
        self._environment.check(values)

    # Messages, in the executor's thread

    def _on_command(self, message: Any) -> None:
        self._commands.accept(message, self._stamp, self.parameters.command_timeout)

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._environment.accept(message, self._stamp, self.parameters.wrench_timeout)

    def _on_base(self, message: MultiDOFJointTrajectory) -> None:
        assert self._base is not None
        self._base.accept(message, self._stamp)

    def _on_clock(self, message: Clock) -> None:
        if message.clock.sec < 0:  # as ManagedNode does
            return
        if self._pace.advance_to(nanoseconds(message.clock)):  # type: ignore[attr-defined]
            self.get_logger().warning(
                "/clock jumped back: continuing from its new time", throttle_duration_sec=1.0
            )
            self._commands.forget_stamps()
            self._environment.forget_wrench()
            if self._base is not None:
                self._base.restart()

    def _rest(self) -> PlantCommand:
        """The command of a robot without brakes before the first one arrives."""
        now, plant = time.monotonic_ns(), self._plant
        if self.parameters.command_interface != "motor_command":
            return PlantCommand(now, 0, self._zero)
        return PlantCommand(now, 0, plant.motor_torque.copy(), plant.theta.copy(), self._zero)

    # The plant, in its own thread

    def _run(self, pace: Pace) -> None:
        try:
            self._keep_time(pace)
        except DynamicsError as error:
            self.get_logger().error(f"simulation stopped: {error}")
        except Exception:
            if not rclpy.ok(context=self.context):
                return  # the publishers were destroyed with the context
            self.get_logger().error(f"simulation stopped:\n{traceback.format_exc()}")
        else:
            return
        self.defer(self._give_up)

    def _give_up(self) -> None:
        if self.state == "active":
            self.trigger_deactivate()

    def _keep_time(self, pace: Pace) -> None:
        commands = self._commands
        while (cycle := pace.next(self.parameters.max_lag)) is not None:
            begin = time.monotonic_ns()
            p = self.parameters
            if p.lockstep and commands.newest is not None:
                self._is_stale = not self._wait_for_answer(p)
                pace.speed = _speed(p, not self._is_stale)  # type: ignore[attr-defined]
            command = commands.newest  # read before the state is published
            self._publish(cycle.stamp)
            self._advance(command, cycle.stamp, p)
            end = time.monotonic_ns()
            self._statistics.record(begin, end, cycle.stamp, cycle.stamp + end - cycle.due)

    def _wait_for_answer(self, p: SimulatorParameters) -> bool:
        """Whether the newest state was answered in time; after a timeout, any command counts."""
        commands, log = self._commands, self.get_logger()
        timeout = max(p.lockstep_timeout, p.command_timeout)
        if self._is_stale:
            answered = commands.newest is not self._late
            if answered:
                log.info(f"{commands.topic} has arrived: in lockstep again")
        else:
            answered = self._awaited(timeout)
            if not answered:
                log.error(
                    f"no {commands.topic} for {timeout:g} s: not in lockstep until the next one"
                    f" arrives, but at {_speed(p, answered=False):g} of real time with"
                    f" {self._safe_command()}"
                )
        self._late = commands.newest
        return answered

    def _awaited(self, timeout: float) -> bool:
        """Whether the newest state is answered within `timeout` s. They are counted in parts: while
        this process is suspended, only one part passes, and queued answers are read after it."""
        topic, part = self._commands.topic, min(timeout, SILENT) / PARTS
        for k in range(round(timeout / part)):
            if self._commands.wait(self._stamp, part):
                return True
            if k + 1 == PARTS and timeout > SILENT:
                self.get_logger().warning(
                    f"no {topic} for {SILENT:g} s: simulated time waits for it,"
                    f" {timeout:g} s at most (lockstep_timeout)",
                    throttle_duration_sec=10.0,
                )
        return False

    def _safe_command(self) -> str:
        """What the motors do without commands."""
        if self.parameters.command_interface == "motor_command":
            return "drives that hold the last reference"
        return "zero torque, under which the arm falls"

    def _publish(self, stamp: int) -> None:
        """Publish the readings of all sensors with one stamp."""
        sensors, outputs = self._sensors, self._outputs
        of_links = sensors.links.position, sensors.links.velocity, sensors.torque
        readings = (
            *self._dependent.added(*of_links),
            sensors.motors.position,
            sensors.motors.velocity,
            self._mean_torque,
        )
        for row, values in zip(self._rows, readings, strict=True):
            row[:] = values
        if self._base is not None:
            self._base.measure(stamp)
        self._stamp = stamp
        if self._clock_publisher is not None:
            self._time = stamp
            message = Clock()
            set_stamp(message.clock, stamp)
            self._clock_publisher.publish(message)
        outputs.publish_all(stamp)

    def _advance(self, command: PlantCommand | None, stamp: int, p: SimulatorParameters) -> None:
        """Advance the plant by one period from the state with this stamp."""
        due: Due = None
        if command is not None:
            if not p.lockstep:
                self._is_stale = command.age(stamp) > p.command_timeout
            due = command, self._is_stale
        parts = self._delay.push(due)
        if due is None:
            return
        if self._environment.apply(p, self._moved, stamp):
            self._inputs.reject(
                "external_wrench",
                MessageError("stale", "none arrived within wrench_timeout; set to zero"),
            )
        self._stiffness.apply(self._plant)
        if self._base is not None:
            self._base.move(stamp + self._period // 2)
        since = 0.0
        mean = np.zeros_like(self._mean_torque)
        for duration, part in parts:
            acting = self._plant.motor_torque  # the brakes are engaged until a command takes effect
            if part is not None:
                acting = self._move(*part, stamp, since, duration, p)
            mean += duration / self._dt * acting
            since += duration
        self._mean_torque = mean
        self._moved += self._period
        self._overloads.check()
        self._sensors.update()

    def _move(
        self,
        command: PlantCommand,
        is_stale: bool,
        stamp: int,
        since: float,
        duration: float,
        p: SimulatorParameters,
    ) -> Array:
        """Advance the plant under one command, from `since` s after the state with this stamp.

        Returns the mean torques of the motors (m,).
        """
        plant = self._plant
        if command.position is None:
            return stepped(plant, self._zero if is_stale else command.torque, duration)
        elapsed = 0.0 if command.time is None else 1e-9 * (stamp - command.time) + since
        reach = p.drive_interpolation
        position = command.position + min(max(elapsed, -reach), reach) * command.velocity
        is_moving = abs(elapsed) <= reach and not is_stale
        velocity = command.velocity if is_moving else self._zero
        return driven(plant, position, velocity, command.torque, duration)

    # Diagnostics, in the executor's thread

    def _statuses(self) -> Iterator[Status]:
        statistics, self._statistics = self._statistics, CycleStatistics()
        pace, overloads, before = self._pace, self._overloads, self._reported
        restarts = getattr(pace, "restarts", 0)
        self._reported = (pace.lost, overloads.saturated, overloads.overstretched, restarts)
        new = zip(self._reported, before, strict=True)
        lost, saturated, overstretched, restarted = (count - old for count, old in new)

        figures = statistics.report(self._dt)
        figures |= {"real time lost [s]": 1e-9 * pace.lost, "moved [s]": 1e-9 * self._moved}
        if self.parameters.publish_clock:
            figures["simulated time [s]"] = 1e-9 * self._time
        if restarted:
            level, text = WARN, "/clock jumped back: restarted from its new time"
        elif lost:
            level, text = WARN, f"cannot keep up with real time: {1e-9 * lost:.3f} s lost"
        elif figures["cycles"]:
            level, text = OK, f"{1e6 / figures['period mean [us]']:.0f} Hz"
        else:
            waits = self.parameters.time_source == "clock"
            level, text = STALE, "waiting for /clock" if waits else "no cycles"
        yield Status("real time", level, text, figures)

        recent, values = self._inputs.report()
        commands = self._commands
        command = commands.newest
        if command is None:
            brakes = "brakes engaged" if self.parameters.brakes_until_command else "no brakes"
            level, text = STALE, f"waiting for the first {commands.topic}; {brakes}"
        elif self._is_stale:
            age = 1e-9 * (time.monotonic_ns() - command.received)
            level, text = ERROR, f"no {commands.topic} for {age:.3f} s: {self._safe_command()}"
        elif recent:
            level, text = WARN, f"{recent} rejected in the last second"
        else:
            level, text = OK, "none rejected"
        yield Status("commands", level, text, values)

        found = [
            f"torque limit reached in {saturated} cycles" if saturated else "",
            f"spring beyond its travel in {overstretched} cycles" if overstretched else "",
        ]
        text = "; ".join(filter(None, found)) or "within all limits"
        motors = {
            "inner step [ms]": 1e3 * self._plant.step_size,  # type: ignore[attr-defined]
            "cycles at a torque limit": overloads.saturated,
            "cycles beyond a spring's travel": overloads.overstretched,
            "springs beyond their travel": ", ".join(sorted(overloads.beyond)),
            "payload [kg]": self._environment.payload_mass,
        }
        level = WARN if saturated or overstretched else OK
        yield Status("motors", level, text, motors)


def _speed(p: SimulatorParameters, answered: bool) -> float:
    """The speed in lockstep while the newest states are answered, or are not."""
    return p.max_speed if answered else min(p.max_speed or UNANSWERED, UNANSWERED)


main = ElasticRobotSimulatorNode.main


if __name__ == "__main__":
    sys.exit(main())
