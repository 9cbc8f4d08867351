# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The faults of an arm: how they are reported, how ~/enable clears them, and the last torques
before a node falls silent."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from ...dynamics.control import REPORT, Arm, Command, Event, Mode
from ..base.diagnostics import ERROR, STALE
from ..base.messages import SECOND
from ..base.runtime import ManagedNode
from .followed_motion import FollowedMotion
from .state_pairs import StateInputs
from .trajectory_goal import ErrorCode

LONGEST_APPROACH = 1.0  # s after which the approach to the holding torque ends, reached or not
PERIOD = 1e-3  # s, before the first period is known
SILENT = "sending the holding torque, then nothing; brakes or drives must stop the arm"


class ArmFaults:
    """Keeps a node from following motions while its arm has a fault: an :class:`.MotionInhibitor`.

    states : of which some may be missing. answer : takes what has changed when ~/enable has cleared
    a fault.
    """

    def __init__(
        self,
        node: ManagedNode[Any],
        arm: Arm,
        states: StateInputs,
        answer: Callable[[Command], object],
    ) -> None:
        self._node, self._arm, self._states, self._answer = node, arm, states, answer

    def report(self, command: Command, followed: FollowedMotion) -> None:
        """Log faults that have begun or ended, and what else the arm has noticed; what has begun is
        counted, and a fault ends the goal."""
        for event in command.events:
            self._report(event, command.mode, followed)
        noticed = {}
        if command.slowed:
            noticed["oscillation"] = command.slowed
        if command.contact is not None and self._node.parameters.collision_reaction == REPORT:
            noticed["contact"] = command.contact.text
        for name, text in noticed.items():
            self._node.get_logger().warning(f"{name}: {text}")
            followed.events.add(name, text)

    def _report(self, event: Event, mode: Mode, followed: FollowedMotion) -> None:
        log, fault = self._node.get_logger(), event.fault
        if event.is_over:
            log.info(str(event))
            return
        log.error(f"{event}: {SILENT if mode is Mode.LOST else self._arm.answer}")
        followed.events.add(fault.text, event.text)
        is_tracking = fault.text == "tracking error"
        code = ErrorCode.PATH_TOLERANCE_VIOLATED if is_tracking else ErrorCode.INVALID_GOAL
        followed.end_goal(str(event), code)

    def present(self) -> str:
        """Why the arm may not follow motions now; "" if it may."""
        fault = self._arm.supervisor.fault
        return "" if fault is None else f"{fault.text}: {self._arm.supervisor.text}"

    def problem(self) -> tuple[bytes, str] | None:
        """The fault or, before the first cycle, the states that are missing, for a status."""
        if fault := self.present():
            return ERROR, fault
        if self._states.has_begun:
            return None
        awaited = self._states.awaited
        missing = f"no state received yet for {awaited}" if awaited else ""
        return STALE, missing or "no matching pair of states yet"

    def refusal(self) -> str:
        """Why ~/enable cannot clear the fault now; "" if it can."""
        arm, allowed = self._arm, self._node.parameters.recovery_speed
        if self._states.missing:
            return arm.supervisor.text
        speed = arm.measured.speed
        k = int(speed.argmax())
        if arm.supervisor.is_final and speed[k] > allowed:
            name = arm.model.joint_names[k]
            return f"'{name}' still moves at {speed[k]:.3g}; allowed: {allowed:g} (recovery_speed)"
        return ""

    def clear(self) -> None:
        """Follow motions again once the arm is at rest, because ~/enable was called."""
        if self._arm.supervisor.is_final:
            self._arm.resume_from_balance(self._states.stamp)
        self._arm.clear_fault()
        self._answer(self._arm.command(self._states.stamp))


def approach_rest(arm: Arm, stamp: int, last_stamp: int) -> Iterator[Command]:
    """The torque that holds the arm at its last position, at `stamp` (ns); if rate limits do not
    allow it in one step after the torque of `last_stamp`, it is approached cycle by cycle, sleeping
    in between."""
    period = arm.times.period or PERIOD
    last = stamp + int(SECOND * LONGEST_APPROACH)
    step = min(1e-9 * (stamp - last_stamp), period)
    while True:
        command = arm.rest(stamp, step)
        yield command
        is_reached = not any(cut.quantity == "torque rate" for cut in command.cuts)
        if is_reached or stamp >= last:
            return
        step = period
        time.sleep(step)
        stamp += int(SECOND * step)
