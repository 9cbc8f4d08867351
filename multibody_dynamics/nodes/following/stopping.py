# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Base class of the flatness controller: its response to faults. It brings the arm to a damped
stop, checks that the stop succeeds, and clears the fault or falls silent.

faults.py decides which fault is active and which law stops the arm, and stop_guard.py whether a
stop fails; this module changes the law, writes the log, and publishes the last torque.
"""

from __future__ import annotations

import time
from abc import abstractmethod

import numpy as np
from std_srvs.srv import SetBool

from ...dynamics.control import ON_LINKS, FlatnessLaw
from ...dynamics.core import Array
from ..base.messages import SECOND, MessageError
from .faults import DELAY, TRACKING, Fault, Faults, Reaction
from .flatness_controller_parameters import FlatnessControllerParameters
from .following import FollowingNode
from .live_laws import LiveLaws
from .state_pairs import MeasuredSignals, missing_of
from .stop_guard import StopGuard
from .trajectory_goal import Code

LONGEST_APPROACH = 1.0  # s after which the approach to the holding torque ends, reached or not
PERIOD = 1e-3  # s, before the first period is known
STOP_TRANSFER = 0.05  # s for a damped stop to take over the torque
SILENT = "sending the holding torque, then nothing; brakes or drives must stop the arm"


class StoppingNode(FollowingNode):
    """A node that stops the arm when a fault occurs.

    A subclass sets `_law` and `_laws` at `configure`, and `_faults`, `_guard`, `_inputs`, `_error`
    (2, n), `_period` in s and `_is_checked` at `activate`.
    """

    Parameters = FlatnessControllerParameters
    _law: FlatnessLaw
    _faults: Faults
    _guard: StopGuard
    _inputs: MeasuredSignals
    _error: Array
    _period: float
    _is_checked: bool
    _laws: LiveLaws

    @abstractmethod
    def _publish(self, stamp: int, lookahead: int) -> None:
        """Publish the torque of the law; stamp, lookahead: ns."""

    def _switch(self) -> None:
        """Change over to the law that was accepted."""
        if self._is_running and self._faults.fault is None and self._motion.is_there:
            self._law.switch(self._laws.in_force, self.parameters.transfer_time)

    # Requests

    def _check_may_move(self) -> None:
        super()._check_may_move()
        if fault := self._faults.fault:
            raise MessageError("fault", f"{fault}; call ~/enable to clear the fault")

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        fault = self._faults.fault
        if request.data and fault and (refusal := self._enable_refusal(fault)):
            response.success, response.message = False, refusal
            return response
        super()._on_enable(request, response)
        if request.data and fault:
            self._faults.forgive()
            self._recover()
        return response

    def _enable_refusal(self, fault: Fault) -> str:
        """Why ~/enable cannot clear the fault now; empty if it can."""
        if self._faults.is_enable_refused:
            return fault.text
        speed, allowed = self._law.arm.speed, self.parameters.recovery_speed
        k = int(speed.argmax())
        if fault.is_final and speed[k] > allowed:
            name = self._model.joint_names[k]
            return f"'{name}' still moves at {speed[k]:.3g}; allowed: {allowed:g} (recovery_speed)"
        return ""

    # A stop

    def _judge_stop(self, stamp: int) -> None:
        """Check that the stop succeeds; clear its fault if it no longer applies."""
        p, law, faults = self.parameters, self._law, self._faults
        if faults.yields and faults.was_late(stamp):
            faults.stop_yielding()
        if failed := self._guard.check(
            stamp,
            law.arm.speed,
            limit=p.stop_speed_limit,
            timeout=np.inf if faults.yields else p.stop_timeout,
            rest_speed=p.recovery_speed,
        ):
            if not faults.yields:
                self._fail(failed)
                return
            self.get_logger().error(f"{faults.fault}: no longer yielding, {failed.text}")
            faults.stop_yielding()
            self._guard.begin(law.arm.speed)
        if faults.was_late(stamp) and not law.laws.tolerates_delay:
            law.laws.tolerate_delay(True)
            law.start(faults.stop_law, STOP_TRANSFER)
        elif law.name != faults.stop_law:
            law.switch(faults.stop_law, STOP_TRANSFER)  # motor states are back
        speed = float(np.abs(law.arm.motors[1]).max())
        if p.recover_automatically and faults.is_over(
            is_settled=law.arm.is_settled, speed=speed, recovery_speed=p.recovery_speed
        ):
            assert faults.fault is not None
            if self._may_resume(stamp, faults.fault.reason):
                self._recover()

    def _may_resume(self, stamp: int, why: str) -> bool:
        """Whether following may resume without ~/enable; if it has resumed too often, stay
        stopped."""
        p = self.parameters
        fault = self._faults.resume(stamp, why, limit=p.recovery_limit, window=p.recovery_window)
        if fault is not None:
            self._fail(fault)
        return fault is None

    # Faults

    def _fail(self, fault: Fault) -> None:
        """Bring the robot to a damped stop and hold it until the fault is cleared."""
        law, faults = self._law, self._faults
        is_first = faults.fault is None
        if not faults.take(fault):
            return
        if is_first:
            self._guard.begin(law.arm.speed)
        if fault.reason == DELAY or (is_first and faults.was_late(self._last_stamp)):
            law.laws.tolerate_delay(True)
        answer = "stopping" if fault.law == "hold" else fault.law.replace("_", " ")
        self.get_logger().error(f"{fault}: {SILENT if fault.is_final else answer}")
        self._events.add(fault.reason, fault.text)
        code = Code.PATH_TOLERANCE_VIOLATED if fault.reason == TRACKING else Code.INVALID_GOAL
        self._end_goal(str(fault), code)
        if fault.is_final:
            self._publish_safe_output()
        elif self._motion.is_there:
            law.start(faults.stop_law, STOP_TRANSFER)
            self._motion.hold(self._position, self._last_stamp)
        self._diagnostics.publish()

    def _recover(self) -> None:
        """Clear the fault and hold the current position under the chosen law."""
        fault = self._faults.end()
        assert fault is not None
        p, law = self.parameters, self._law
        self.get_logger().info(f"{fault.reason}: cleared, following again")
        if self._is_checked:
            law.laws.tolerate_delay(False)
        if fault.is_final:  # brakes may have held the arm: begin as at activation
            self._faults.has_begun = False
        if self._motion.is_there:  # after a silence, the next cycle starts a new hold anyway
            self._motion.hold(self._position, self._last_stamp)
            law.switch(self._laws.in_force, p.transfer_time)

    def _on_no_links(self) -> None:
        match self._faults.links_missing(self._law.name):
            case Reaction.WAIT:
                missing = missing_of([self._inputs.sides["links"]])
                why = missing or (
                    "no stamp matches the motors" if self._inputs.pairs.alone else "they have ended"
                )
                self.get_logger().warning(f"no link states yet: {why}")
            case Reaction.STOP:
                self._fail(self._faults.no_links())
            case Reaction.SILENCE:
                self._fall_silent()

    def _on_no_motors(self) -> None:
        fault = self._faults.no_motors()
        has_newer_links = self._inputs.sides["links"].stamp > self._last_stamp
        reaction = self._faults.motors_missing(has_newer_links)
        if reaction is Reaction.WAIT:
            self.get_logger().warning(f"{fault.text}: nothing to publish yet")
            return
        self._fail(fault)
        if reaction is Reaction.SILENCE:
            self._fall_silent()
        elif self._law.name != ON_LINKS:  # another fault was active
            self._law.start(ON_LINKS, STOP_TRANSFER)

    def _fall_silent(self) -> None:
        self._publish_safe_output()
        self._statistics.restart()
        self._diagnostics.publish()

    def _publish_safe_output(self) -> None:
        """Publish, stamped now, the torque that holds the arm at its last position, and drop the
        motion. If rate limits do not allow it in one step, it is approached cycle by cycle."""
        if not self._motion.is_there:
            return
        period = self._period or PERIOD
        stamp = max(self._now(), self._last_stamp + 1)
        last_stamp = stamp + int(SECOND * LONGEST_APPROACH)
        step = min(1e-9 * (stamp - self._last_stamp), period)  # since the last torque
        while self._publish_rest(stamp, step) and stamp < last_stamp:
            step = period
            time.sleep(step)
            stamp += int(SECOND * step)
        self._motion.release()

    def _publish_rest(self, stamp: int, step: float) -> bool:
        """Publish the torque that holds the arm at rest at its last position, as far as limits
        allow `step` s after the last torque; nothing if it is not finite.

        Returns whether a rate limit keeps the torque from its final value.
        """
        law, sent = self._law, self._law.transfer.torque
        torque = law.rest(self._position.copy())
        if not np.isfinite(torque).all():
            return False
        sent[:], cuts = self._limits.apply(torque, sent, step)
        self._count_cuts(cuts)
        self._error[:] = 0.0
        self._publish(stamp, 0)
        return any(cut.quantity == "torque rate" for cut in cuts)
