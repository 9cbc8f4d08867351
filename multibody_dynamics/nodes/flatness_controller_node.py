# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The controller of an arm with elastic joints: receives link and motor states and a trajectory,
and publishes motor torques, in one cycle per pair of states.

Feedback compares the state with the reference at its own stamp plus `lookahead`; every output
carries the stamp of the states it responds to. Every fault leads to a defined state.
docs/flatness_controller_node.md describes topics, parameters and behaviour, and lists the faults.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.control import FlatnessLaw, FlatnessSettings
from ..dynamics.core import Array, DynamicsError
from ..dynamics.elastic import Actuators
from ..dynamics.model import MultibodyModel
from ..dynamics.rigid import jacobian
from .base.diagnostics import OK
from .base.messages import SECOND, MessageError, nanoseconds
from .base.qos import RELIABLE, best_effort
from .base.runtime import run
from .following import controller_report as report
from .following.collision_reaction import OFF, REPORT, RETRACT, CollisionReaction
from .following.controller_design import check_first, make_law, stop_report
from .following.controller_outputs import ControllerOutputs
from .following.faults import COLLISION, Fault, Faults
from .following.flatness_controller_parameters import FlatnessControllerParameters
from .following.impedance_reference import change_impedance
from .following.law_design import prepare_laws
from .following.learning_node import LearningNode
from .following.live_laws import LiveLaws
from .following.queued_cycles import QueuedCycles
from .following.state_pairs import MeasuredSignals
from .following.stop_guard import StopGuard
from .following.stopping import PERIOD, StoppingNode

COASTING = 2.5  # cycles without a pair, after which one side alone keeps the filters running


class FlatnessControllerNode(StoppingNode, LearningNode):
    """The node; see the module and docs/flatness_controller_node.md."""

    Parameters = FlatnessControllerParameters
    _outputs: ControllerOutputs
    _law: FlatnessLaw

    def __init__(self) -> None:
        super().__init__("flatness_controller_node")

    # Life cycle

    def _make(self, model: MultibodyModel, actuators: Actuators) -> ControllerOutputs:
        log = self.get_logger()
        self._law, p, self._designed_for = prepare_laws(
            lambda values: make_law(model, actuators, values, self._stiffness), self.parameters, log
        )
        self._filter_bandwidth = p.filter_bandwidth
        self._laws = LiveLaws(
            self._law,
            p,
            self._designed_for,
            logger=log,
            defer=self.defer,
            restore=self.restore,
        )
        infos, warnings = stop_report(self._law, p)
        for line in infos:
            log.info(line)
        for line in warnings:
            log.warning(line)
        detects = self._law.arm.detector is not None
        return ControllerOutputs(self, actuators, self._order, detects=detects)

    def activate(self) -> None:
        p, law, actuators = self.parameters, self._law, self._actuators
        names = actuators.joint_names, actuators.motor_names
        self._inputs = MeasuredSignals(*names, law.arm.estimator.signals, self._position_checks)
        self._queue = QueuedCycles(self.defer, self._cycle_newest)
        self._position = law.state.q
        self._error: Array = np.zeros((2, self._model.n))
        self._origin: int | None = None  # stamp at which the estimator's time is zero
        self._period = self._lead = 0.0  # s
        self._is_checked = bool(p.design_position)
        law.renew()
        self._laws.renew()
        super().activate()
        depth = best_effort(p.state_queue_depth)
        self._listen(JointState, "motor_states", partial(self._on_states, "motors"), depth)
        motors, links = self._watch(self._on_no_motors), None
        if self._inputs.pairs.needs_links:
            self._listen(JointState, "joint_states", partial(self._on_states, "links"), depth)
            links = self._watch(self._on_no_links)
        self._listen(JointTrajectory, "impedance_reference", self._on_impedance, RELIABLE)
        self._guard = StopGuard(self._model.joint_names, self._model.limits.velocity)
        self._collisions: CollisionReaction | None = None
        if law.arm.detector is not None:
            self._collisions = CollisionReaction(law.arm.detector, self._soft_limits)
        self._faults = Faults(motors, links, can_stop_on_links=law.laws.on_links is not None)
        self.get_logger().info(f"active; law: {self._laws.in_force}; state from {p.state_source}")

    def reconfigure(self, values: FlatnessControllerParameters) -> None:
        super().reconfigure(values)
        if self._outputs is None:
            return
        self._laws.choose(values, self._settings(values), self._switch)
        self._law.limit(self._limits)
        self._law.laws.adapt(values.adapt)
        if self._law.arm.detector is not None:
            self._law.arm.detector.scale = values.collision_threshold_scale

    def _settings(self, values: FlatnessControllerParameters) -> FlatnessSettings:
        """The settings of the law, with the filter for which it was judged."""
        judged = replace(values, filter_bandwidth=self._filter_bandwidth)
        return judged.settings(self._law.settings.collisions)

    def check(self, values: FlatnessControllerParameters) -> None:
        super().check(values)
        if self._outputs is not None:
            self._laws.check(self._settings(values))

    def cleanup(self) -> None:
        if self._outputs is not None:
            self._laws.close()
        super().cleanup()

    def _restart(self, why: str) -> None:
        was_following = self._motion.is_there
        super()._restart(why)
        if was_following:  # the arm may still be moving: a hold alone would stop it abruptly
            self._fail(Fault.time_jumped(why))
        self._inputs.pairs.restart()
        self._queue.cancel()
        self._law.restart()
        self._guard.restart()
        self._origin = None

    # Inputs

    def _on_states(self, side: str, message: JointState) -> None:
        """Run a cycle if this completes a pair, or if the other side is missing; if a cycle is
        overdue, keep the filters running."""
        begin = time.monotonic_ns()
        states, pairs, faults = self._inputs.sides[side], self._inputs.pairs, self._faults
        topic = "joint_states" if side == "links" else "motor_states"
        if not self._take(topic, states, message):
            return
        try:
            is_pair = pairs.add(states, self.parameters.pair_tolerance)
        except MessageError as error:
            self._reject(topic, error)
            is_pair = False
        faults.received(side, is_pair)
        is_alone = faults.runs_on(side)
        if is_pair or is_alone:
            self._inputs.read()
        if self._timer is not None:
            return
        if is_pair:
            self._queue.request(begin, self.parameters.state_timeout)
        elif is_alone:  # possibly before the watchdog has reported it
            self._on_no_motors() if side == "links" else self._on_no_links()
            self._cycle(states.stamp, begin)
        elif self._is_overdue(states.stamp):
            self._inputs.read()
            t = 1e-9 * (states.stamp - self._origin)
            self._law.coast(t, self._inputs.values, side, self._period)

    def _on_impedance(self, message: JointTrajectory) -> None:
        try:
            stamp = nanoseconds(message.header.stamp)
            if stamp:  # 0: now
                self._check_stamp(stamp)
            self._check_may_move()
            tune = self._laws.tune
            change_impedance(lambda values, s: tune(values, s, self._end_impedance), message)
        except MessageError as error:
            self._reject("impedance_reference", error)

    def _end_impedance(self, refusal: str) -> None:
        """Count an impedance whose stability has been judged; `refusal` is "" if it is accepted."""
        if refusal:
            self._reject("impedance_reference", MessageError("impedance refused", refusal))
        else:
            self._events.add("impedances accepted")

    def _is_overdue(self, stamp: int) -> bool:
        """Whether a pair is long overdue at `stamp`."""
        is_waiting = not self._queue.is_due and self._faults.has_begun and self._last_stamp > 0
        return is_waiting and stamp - self._last_stamp > int(SECOND * COASTING * self._period)

    def _cycle_newest(self, begin: int) -> None:
        if self._is_running:
            self._cycle(self._inputs.pairs.stamp, begin)

    @property
    def _has_state(self) -> bool:
        return self._faults.has_state(bool(self._inputs.pairs.stamp))

    # The cycle

    def _cycle(self, stamp: int, begin: int) -> None:
        if self._comes_late("motor_states", stamp):
            return
        if self._faults.fault is None:
            self._notice_leap(stamp)
        p, law = self.parameters, self._law
        try:
            self._measure(stamp)
            if self._faults.is_silent:
                self._last_stamp = stamp  # no output is due: the filters need not coast
                return
            if not self._is_checked:  # takes too long for a cycle: start with the next state
                name, designed_for = self._laws.in_force, self._designed_for
                if fault := check_first(law, p, name, designed_for, self._position):
                    self._fail(fault)
                self._is_checked = fault is None
                return
            if not self._motion.is_there:
                self._begin(stamp)
            step = self._step_to(stamp)
            self._refer(stamp, step)
            self._judge(stamp)
            if self._faults.is_silent:
                return
            # After missed cycles, the torque may change by no more than two cycles allow.
            law.update(min(step, 2.0 * self._period), self._lead, elapsed=step)
            problem = "" if law.is_finite() else "the computed torque is not finite"
        except DynamicsError as error:
            problem = str(error)
        if problem:
            self._wrench.drop()
            self._fail(Fault.not_finite(problem))
            self._publish_rest(stamp, self._step_to(stamp) or PERIOD)
            return
        self._count_cuts(law.transfer.events)
        self._limit_speed(law.reference.command.velocity)
        for reason, text in report.springs_beyond_travel(law):
            self._limited.add(reason, text)
        self._publish(stamp, int(SECOND * (p.lookahead + law.reference_lead)))
        now = self._now()
        self._statistics.record(begin, time.monotonic_ns(), stamp, now)
        self._faults.has_begun = True
        if fault := self._faults.late(stamp, now, p.latency_tolerance):
            self._fail(fault)

    def _measure(self, stamp: int) -> None:
        """Update the estimated state; a missing side is assumed to be at rest."""
        law, signals = self._law, self._inputs.values
        if self._origin is None:
            self._origin = stamp
        if self._faults.lacks_links:
            signals = law.arm.without_links(signals)
        elif self._faults.lacks_motors:
            signals = law.without_motors(signals)
        law.arm.announced[:] = 0.0
        if (wrench := self._newest_wrench(stamp, self._step_to(stamp), law.desired)) is not None:
            J = jacobian(
                self._model, law.arm.estimator.state.q, wrench[0], representation="spatial"
            )
            law.arm.announced[:] = J.T @ wrench[1][0]
        law.measure(1e-9 * (stamp - self._origin), signals)

    def _begin(self, stamp: int) -> None:
        """Hold the current position, starting from the torque that balances the springs or was sent
        last."""
        p, law = self.parameters, self._law
        self._faults.follow_punctually_from(stamp)
        q = law.arm.estimator.state.q
        if not self._faults.has_begun:
            law.transfer.torque[:] = law.arm.holding_torque()
        self._stiffness.begin(
            p.initial_stiffness, law.arm.springs, law.joint_torque, stamp, p.transfer_time
        )
        self._hold_at(q, stamp)
        chosen = self._faults.stop_law if self._faults.fault else self._laws.in_force
        law.start(chosen, p.transfer_time)

    def _refer(self, stamp: int, step: float) -> None:
        """Update the desired motion, stiffness and known external torques of this cycle."""
        p, law = self.parameters, self._law
        time = stamp + int(SECOND * (p.lookahead + law.reference_lead))
        self._motion.evaluate(time, law.desired)
        if step:  # a single long step, after missed cycles, is not the period
            self._period = min(step, 1.5 * self._period or step)
        delay = p.command_delay - law.reference_lead  # 0 if the state is predicted over the delay
        self._lead = p.feedforward_lead * self._period + delay
        self._motion.look_ahead(time + int(SECOND * self._lead), law.ahead)
        self._count_cuts(self._stiffness.evaluate(time, law.joint_torque))
        law.stiffness[:] = self._stiffness.rows

        law.external_torque[:] = law.arm.announced
        fault, collisions = self._faults.fault, self._collisions
        if fault is not None and fault.reason == COLLISION and collisions is not None:
            law.external_torque[:] = collisions.offset  # do not push against the contact
        elif p.observer_feedback and law.arm.observer is not None:
            law.external_torque[:] = law.arm.observer.residual  # includes the announced wrench

    def _judge(self, stamp: int) -> None:
        """Stop a robot that does not follow its reference; clear a fault that no longer applies."""
        p, law, faults = self.parameters, self._law, self._faults
        state = law.state
        np.subtract(self._wanted[:2], state[:2], out=self._error)
        self._notice_contact(stamp)
        if faults.fault is not None:
            self._judge_stop(stamp)
            return
        if law.arm.lost:
            self._fail(Fault.lost(law.arm.lost))
            return
        if fault := Fault.tracking(self._error[0], self._model.joint_names, p.tracking_tolerance):
            self._fail(fault)
            self._motion.evaluate(stamp, law.desired)
            law.ahead[:] = law.desired
            return
        self._motion.record(stamp + int(SECOND * p.lookahead), self._error[0])
        self._judge_goal(stamp, state.qd)

    def _notice_contact(self, stamp: int) -> None:
        """Report a contact, and react to it unless a fault is active already."""
        p, law, collisions = self.parameters, self._law, self._collisions
        if collisions is None or p.collision_reaction == OFF:
            return
        if self._faults.lacks_links or self._faults.lacks_motors:
            collisions.detector.reset()  # a side that is missing is not measured
            return
        contact = collisions.notice(stamp)
        if contact is None or self._faults.fault is not None:
            return
        self._outputs.publish_collision(contact, law)
        if p.collision_reaction == REPORT:
            self.get_logger().warning(f"contact: {contact.text}")
            self._events.add("contact", contact.text)
            return
        self._fail(collisions.fault(contact, p.collision_reaction))
        if p.collision_reaction == RETRACT:
            self._motion.go(*collisions.way_back(contact, self._position, p.retract_distance))
        self._motion.evaluate(stamp, law.desired)
        self._motion.look_ahead(stamp, law.ahead)
        law.external_torque[:] = collisions.offset

    def _publish(self, stamp: int, lookahead: int) -> None:
        self._last_stamp = stamp
        self._motor_torque = self._law.commanded()
        self._outputs.publish(stamp, lookahead, self._law, self._error, self._motor_torque)

    # Diagnostics

    def _statuses(self) -> Iterator[DiagnosticStatus]:
        p, law, faults, inputs = self.parameters, self._law, self._faults, self._inputs
        yield self._cycle_status(report.ages(faults), report.problem(faults, inputs))
        yield self._inputs_status(report.counts(inputs, self._queue.skipped))
        yield self._limits_status()

        _, values = self._events.report()
        values |= {"enabled": self._enabled}
        if self._motion.is_there:
            values |= report.largest_error(self._error, self._model.joint_names)
        values |= self._stiffness_values()
        mode = "stopped" if faults.fault else self._motion.mode
        yield self._status("reference", OK, mode, values)
        yield self._status("law", *report.law(law, self._laws, is_silent=faults.is_silent))
        yield self._status("estimator", *report.estimator(law))
        if (adaptation := law.adaptation) is not None:
            yield self._status("adaptation", *report.adaptation(adaptation))
        if self._collisions is not None:
            reaction = p.collision_reaction
            yield self._status("collisions", *report.collisions(self._collisions, reaction))
        yield from self._learning_statuses()


def main(args: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(FlatnessControllerNode, args)


if __name__ == "__main__":
    sys.exit(main())
