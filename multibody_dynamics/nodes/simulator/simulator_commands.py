# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motor commands of the simulated arm: checks them and keeps the newest one, on any interface."""

import threading
import time
from typing import Any, NamedTuple

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ...dynamics.core import Array
from ..base.messages import (
    SECOND,
    JointMatcher,
    JointStates,
    MessageError,
    nanoseconds,
    read_command_array,
    read_motor_command,
)

INTERFACES = {
    "motor_torque": ("motor_torque", Float64MultiArray),
    "motor_command": ("motor_command", JointTrajectory),
    "stamped_motor_torque": ("motor_torque_stamped", JointState),
}
"""Topic and type of each command interface."""


class PlantCommand(NamedTuple):
    """A command in the order of the motors; replaced as a whole, never modified."""

    received: int  # ns, steady clock
    state: int  # ns, stamp of the newest state at that time
    torque: Array  # motor torque, or the feedforward of the drives
    position: Array | None = None  # motor position for the drives; None: torque control
    velocity: Array | None = None
    time: int | None = None  # ns on the clock of the stamps, to which position refers; None: now

    def age(self, stamp: int) -> float:
        """Age in s on whichever clock advanced less: silence is not a fault in a paused simulation.

        After simulated time has jumped back, the steady clock alone counts.
        """
        age = time.monotonic_ns() - self.received
        return 1e-9 * (min(age, stamp - self.state) if stamp >= self.state else age)


class PlantCommands:
    """Checks the messages of one command interface and keeps the newest command.

    motors: their names. order: the motors in the order of messages without names. `newest` is None
    before the first command.
    """

    def __init__(self, interface: str, motors: tuple[str, ...], order: tuple[str, ...]) -> None:
        self.topic, self.kind = INTERFACES[interface]
        self._read = {
            "motor_torque": self._read_array,
            "motor_command": self._read_motor_command,
            "stamped_motor_torque": self._read_stamped,
        }[interface]
        self._motors, self._order = motors, order
        self._place = np.array([motors.index(name) for name in order], dtype=np.intp)
        self._matcher = JointMatcher(motors)
        self._state = JointStates(motors, ("effort",))
        self._zero: Array = np.zeros(len(motors))
        self._answered = threading.Condition()
        self.restart(None)

    def restart(self, initial: PlantCommand | None) -> None:
        """Forget all commands; `initial` applies until the next one."""
        self.newest = initial
        self.answers = 0  # ns, stamp of the state that the newest command answers
        self._is_left = False

    def accept(self, message: Any, stamp: int, timeout: float) -> None:
        """Accept one message; raise MessageError for a defect.

        stamp: stamp of the newest state, ns; commands that differ from it by more than `timeout`
        s are rejected.
        """
        now = time.monotonic_ns()
        answers, command = self._read(message, now, stamp, timeout)
        with self._answered:
            self.newest, self.answers = command, answers
            self._answered.notify()

    def forget_stamps(self) -> None:
        """Accept older stamps again, because time jumped back."""
        self.answers = 0

    def wait(self, stamp: int, timeout: float) -> bool:
        """Wait `timeout` s for an answer to the state of `stamp` (ns); True if there is one, or
        after `leave`."""
        with self._answered:
            return self._answered.wait_for(lambda: self.answers >= stamp or self._is_left, timeout)

    def leave(self) -> None:
        """End a wait, and every later one until `restart`."""
        with self._answered:
            self._is_left = True
            self._answered.notify()

    def _read_array(
        self, message: Float64MultiArray, now: int, stamp: int, timeout: float
    ) -> tuple[int, PlantCommand]:
        torque = np.empty(len(self._motors))
        torque[self._place] = read_command_array(message, self._order)
        return 0, PlantCommand(now, stamp, torque)

    def _read_stamped(
        self, message: JointState, now: int, stamp: int, timeout: float
    ) -> tuple[int, PlantCommand]:
        self._matcher.require_all(message.name)
        self._state.restart()
        self._state.accept(message, stamp, int(SECOND * timeout))
        answers = self._state.stamp
        self._reject_older(answers, stamp, timeout)
        return answers, PlantCommand(now, stamp, self._state.effort)

    def _read_motor_command(
        self, message: JointTrajectory, now: int, stamp: int, timeout: float
    ) -> tuple[int, PlantCommand]:
        command = read_motor_command(message, self._matcher)
        # Duration has the same fields as Time.
        due = command.stamp + nanoseconds(message.points[0].time_from_start)
        if command.stamp and abs(due - stamp) > SECOND * timeout:
            side = "before" if due < stamp else "after"
            raise MessageError(
                "stale" if due < stamp else "from the future",
                f"the reference is for {1e-9 * abs(due - stamp):.3f} s {side} the newest state",
            )
        if command.stamp:
            self._reject_older(command.stamp, stamp, timeout)
        return command.stamp, PlantCommand(
            now,
            stamp,
            torque=self._zero if command.effort is None else command.effort,
            position=command.position,
            velocity=self._zero if command.velocity is None else command.velocity,
            time=due if command.stamp else None,
        )

    def _reject_older(self, answers: int, stamp: int, timeout: float) -> None:
        is_fresh = self.newest is not None and self.newest.age(stamp) <= timeout
        if is_fresh and answers < self.answers:
            raise MessageError(
                "out of order",
                f"the stamp is {1e-9 * (self.answers - answers):.6f} s older than one already used",
            )
