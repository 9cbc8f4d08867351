"""The controller of an arm with elastic joints: link and motor states and a trajectory in, motor
torques out, one cycle per pair of states.

Feedback compares the state with the reference of its own stamp plus `lookahead`; every output
carries that stamp. Whatever goes wrong ends in a declared state: see the table of faults in
docs/flatness_controller_node.md, which describes topics, parameters and behaviour.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from ..dynamics.core import Array, DynamicsError, InputError
from ..dynamics.elastic import Actuators
from ..dynamics.model import MultibodyModel
from ..dynamics.rigid import jacobian
from .base.diagnostics import ERROR, OK, STALE, WARN
from .base.messages import SECOND, JointStates, MessageError, set_stamp
from .base.outputs import Outputs
from .base.parameters import ParameterError
from .base.qos import best_effort
from .base.runtime import run
from .following.flatness_controller_parameters import FlatnessControllerParameters
from .following.flatness_law import ON_LINKS, FlatnessLaw
from .following.following import FollowingNode
from .following.state_pairs import StatePairs, missing_of
from .following.trajectory_goal import Code

FOREVER = 1e9  # s: longer than any limited rate needs
COASTING = 2.5  # cycles without one side, after which the other alone keeps the filters going
STOP_TRANSFER = 0.05  # s, in which a damped stop takes over the torque
LATE = 0.1  # s of torques that all come too late, after which the robot is stopped

# Of joint_states and motor_states, what the estimator's signals are
SIGNALS = {
    "link_position": ("links", "position"),
    "joint_torque": ("links", "effort"),
    "motor_position": ("motors", "position"),
    "motor_torque": ("motors", "effort"),
}


class Fault(NamedTuple):
    """Why the robot is being stopped and held. `is_latched`: only ~/enable ends it."""

    reason: str
    text: str
    is_latched: bool


NO_LINKS = "link states missing"
NO_MOTORS = "motor states missing"
TRACKING = "tracking error"
DELAY = "torques too late"
LOST = "state estimate lost"
NOT_FINITE = "no finite torque"


class ControllerOutputs(Outputs):
    """The commands first, they are waited for."""

    def __init__(self, node: FlatnessControllerNode) -> None:
        super().__init__(node)
        joints, motors = node._actuators.joint_names, node._actuators.motor_names
        self._order = node._order
        self._commands = self.command_array("~/commands", [motors[k] for k in self._order])
        (self._torque,) = self.joint_state("~/motor_torque", motors, "effort")
        self._point, self._motor_rows = self.motor_command("~/motor_command", motors)
        self._state_rows = self.joint_state(
            "~/estimated_state", joints, "position", "velocity", "effort"
        )
        self._error_rows = self.joint_state("~/tracking_error", joints, "position", "velocity")
        # Stiffnesses that no motor sets, for whoever does.
        each = [(i, j) for i, a, m, j in node._actuators.each() if a.second_output and len(m) == 1]
        self._free = [j for _, j in each]
        names = [joints[i] for i, _ in each]
        self._free_rows = (
            self.joint_state("~/stiffness_command", names, "position", "velocity") if names else []
        )

    def publish(
        self, stamp: int, lookahead: int, law: FlatnessLaw, error: Array, torque: Array
    ) -> None:
        """error: (2, n) of positions and velocities. stamp and lookahead in ns."""
        set_stamp(self._point.time_from_start, lookahead)
        np.take(torque, self._order, out=self._commands)
        self._torque[:] = torque
        for row, values in zip(self._motor_rows, law.reference.result, strict=True):
            row[:] = values
        self._motor_rows[3][:] = torque
        state = law.estimator.state
        for row, values in zip(
            self._state_rows, (state.q, state.qd, law.joint_torque), strict=True
        ):
            row[:] = values
        for row, values in zip(self._error_rows, error, strict=True):
            row[:] = values
        for row, values in zip(self._free_rows, law.stiffness, strict=False):
            row[:] = values[self._free]
        self.publish_all(stamp)


class FlatnessControllerNode(FollowingNode):
    """See the module's text and docs/flatness_controller_node.md."""

    Parameters = FlatnessControllerParameters
    _outputs: ControllerOutputs
    _law: FlatnessLaw

    def __init__(self) -> None:
        super().__init__("flatness_controller_node")

    # Life cycle

    def _make(self, model: MultibodyModel, actuators: Actuators) -> ControllerOutputs:
        p = self.parameters
        if len(p.design_position) not in (0, model.n):
            raise ParameterError(
                f"design_position has {len(p.design_position)} numbers; {model.n} are needed, or"
                " none"
            )
        self._law = FlatnessLaw(model, actuators, p)
        if p.initial_stiffness:  # which springs are measured with
            ends = self._stiffness.bounds(np.zeros(model.n))
            self._law.stiffness[0] = np.clip(p.initial_stiffness, *ends)
        if p.design_position:
            self._law.design(p, np.array(p.design_position))
        else:  # that is for later; but what must be compiled for it is compiled now
            with suppress(InputError):
                self._law.design(p, np.clip(0.0, model.limits.lower, model.limits.upper))
        return ControllerOutputs(self)

    def activate(self) -> None:
        p, law = self.parameters, self._law
        names = {"links": self._actuators.joint_names, "motors": self._actuators.motor_names}
        fields = {
            side: [
                field for owner, field in map(SIGNALS.get, law.estimator.signals) if owner == side
            ]
            for side in names
        }
        states = {side: JointStates(names[side], fields[side]) for side in names}
        self._pairs = StatePairs(**states, needs_links=bool(fields["links"]))
        self._incoming = {
            name: getattr(states[SIGNALS[name][0]], SIGNALS[name][1])
            for name in law.estimator.signals
        }
        self._signals = {name: row.copy() for name, row in self._incoming.items()}
        self._due: int | None = None  # when the pair arrived that a cycle is due for
        self._skipped = 0
        self._position = law.estimator.state.q
        self._error: Array = np.zeros((2, self._model.n))
        self._fault: Fault | None = None
        self._is_silent = True  # as long as the last word was not followed by another
        self._punctual = 0  # stamp of the last state whose torque was not late
        self._origin: int | None = None
        self._period = self._lead = 0.0  # s
        self._is_designed = bool(p.design_position)
        law.restart()
        super().activate()
        depth = best_effort(p.state_queue_depth)
        self._listen(JointState, "motor_states", self._on_motors, depth)
        self._motors_watchdog = self._watch(self._on_no_motors)
        self._links_watchdog = None
        if self._pairs.needs_links:
            self._listen(JointState, "joint_states", self._on_links, depth)
            self._links_watchdog = self._watch(self._on_no_links)
        self.get_logger().info(f"active; law: {p.law}; state from {p.state_source}")

    def reconfigure(self, values: FlatnessControllerParameters) -> None:
        super().reconfigure(values)
        if self._outputs is None:
            return
        self._law.limit(self._limits)
        if not self._is_running:
            return
        if self._fault is None and self._motion.is_there:
            self._law.switch(values.law, values.transfer_time)

    def _restart(self, why: str) -> None:
        super()._restart(why)
        self._pairs.restart()
        self._due = None
        self._law.restart()
        self._origin = None

    # Inputs

    def _on_links(self, message: JointState) -> None:
        begin = time.monotonic_ns()
        if self._take("joint_states", self._pairs.links, message):
            self._on_new("joint_states", self._pairs.links, begin)

    def _on_motors(self, message: JointState) -> None:
        begin = time.monotonic_ns()
        if self._take("motor_states", self._pairs.motors, message):
            self._motors_watchdog.feed()
            self._on_new("motor_states", self._pairs.motors, begin)

    def _on_new(self, topic: str, states: JointStates, begin: int) -> None:
        """One side is new: if the pair is, a cycle; if the other is missing, one without it."""
        try:
            is_pair = self._pairs.add(states, self.parameters.pair_tolerance)
        except MessageError as error:
            self._refuse(topic, error)
            is_pair = False
        if is_pair and self._links_watchdog is not None:
            self._links_watchdog.feed()  # states that are never in step are as good as missing
        elif states is self._pairs.links and self._may_lack_motors:
            assert self._links_watchdog is not None
            self._links_watchdog.feed()
        is_alone = self._lacks_motors if states is self._pairs.links else self._lacks_links
        if is_pair or is_alone:
            self._read()
        if self._timer is not None:
            return
        if is_pair:
            self._cycle_soon(begin)
        elif is_alone:  # the watchdog need not have said so yet
            self._on_no_motors() if states is self._pairs.links else self._on_no_links()
            self._cycle(states.stamp, begin)
        elif self._is_overdue(states.stamp):
            self._coast(states)

    def _is_overdue(self, stamp: int) -> bool:
        """Whether a pair should have been there long before `stamp`, and none is."""
        if self._due is not None or not (self._statistics.total and self._last_stamp):
            return False
        return stamp - self._last_stamp > int(SECOND * COASTING * self._period)

    def _read(self) -> None:
        """Keep the signals as they are now: what comes next may be half of another pair."""
        for name, row in self._incoming.items():
            self._signals[name][:] = row

    def _cycle_soon(self, begin: int) -> None:
        """A cycle when all is read that has arrived: pairs that queued up meanwhile are skipped but
        for the newest. In lockstep there is never more than one."""
        if self._due is None:
            self.defer(self._cycle_newest)
        else:
            self._skipped += 1
        self._due = begin

    def _cycle_newest(self) -> None:
        begin, self._due = self._due, None
        if begin is not None and self._is_running:
            self._cycle(self._pairs.stamp, begin)

    @property
    def _lacks_links(self) -> bool:
        """Whether cycles must do with the motors, the arm having been known before."""
        return (
            self._links_watchdog is not None
            and self._links_watchdog.stale
            and bool(self._statistics.total)
        )

    @property
    def _may_lack_motors(self) -> bool:
        """Whether motor states are missing, and the law can do without."""
        return (
            self._motors_watchdog.stale
            and self._law.on_links is not None
            and bool(self._statistics.total)
        )

    @property
    def _lacks_motors(self) -> bool:
        """Whether cycles must do with the links, the arm having been known before."""
        return (
            self._may_lack_motors
            and self._links_watchdog is not None
            and not self._links_watchdog.stale
        )

    @property
    def _has_state(self) -> bool:
        if self._motors_watchdog.stale:
            return self._lacks_motors
        return bool(self._pairs.stamp) or self._lacks_links

    def _check_may_move(self) -> None:
        super()._check_may_move()
        if self._fault is not None:
            raise MessageError("fault", f"{self._fault.text}; the service ~/enable ends it")

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        missing = self._motors_watchdog.stale or self._lacks_links
        if request.data and self._fault is not None and missing:
            response.success, response.message = False, self._fault.text
            return response
        super()._on_enable(request, response)
        if request.data and self._fault is not None:
            self._recover()
        return response

    # The cycle

    def _cycle(self, stamp: int, begin: int) -> None:
        if self._comes_late("motor_states", stamp):
            return
        if self._fault is None:
            self._notice_leap(stamp)
        p, law = self.parameters, self._law
        try:
            self._measure(stamp)
            if not self._is_designed:  # which takes long: the next state is the first
                law.design(p, self._position)
                law.restart()
                self._is_designed = True
                return
            if not self._motion.is_there:
                self._begin(stamp)
            step = self._step_to(stamp)
            self._refer(stamp, step)
            self._judge(stamp)
            # Where cycles are missing, nothing may change by more than in two of them.
            law.update(min(step, 2.0 * self._period), self._lead)
            problem = "" if law.is_finite() else "the torque would not be finite"
        except DynamicsError as error:
            problem = str(error)
        if problem:
            self._wrench.drop()
            self._fail(NOT_FINITE, problem, is_latched=True)
            self._publish_rest(stamp)
            return
        self._count_cuts(law.transfer.events)
        self._limit_speed(law.reference.command.velocity)
        self._report_springs()
        self._publish(stamp, int(SECOND * p.lookahead))
        now = self._now()
        self._statistics.record(begin, time.monotonic_ns(), stamp, now)
        self._judge_delay(stamp, now)

    def _coast(self, states: JointStates) -> None:
        """Let the filters follow one side while states of the other are late, that being as fast
        as it was: a stop begins at the right speed."""
        law = self._law
        state = law.estimator.state
        self._read()
        if states is self._pairs.motors:
            guess = {"link_position": state.q + self._period * state.qd}
        elif law.on_links is not None:
            guess = {"motor_position": state.theta + self._period * state.thetad}
        else:
            return
        law.measure(1e-9 * (states.stamp - self._origin), self._signals | guess)

    def _measure(self, stamp: int) -> None:
        law, signals = self._law, self._signals
        if self._origin is None:
            self._origin = stamp
        if self._lacks_links:  # as the model has them, at rest
            theta, Q = signals["motor_position"], law.gravity
            k = law.stiffness[:2]
            q = self._actuators.link_position(theta, Q, stiffness=k, beyond="continue")
            signals = signals | {"link_position": q, "joint_torque": Q}
        elif self._lacks_motors:  # likewise
            signals = signals | {"motor_position": law.motors_at_rest(signals["link_position"])}
        law.measure(1e-9 * (stamp - self._origin), signals)

    def _begin(self, stamp: int) -> None:
        """Hold where the robot is, with the torque that holds it or was sent last."""
        p, law = self.parameters, self._law
        self._punctual = stamp
        q = law.estimator.state.q
        if not self._statistics.total:
            law.transfer.torque[:] = law.holding_torque()
        self._stiffness.begin(
            p.initial_stiffness, law.springs, law.joint_torque, stamp, p.transfer_time
        )
        self._hold_at(q, stamp)
        law.start(self._stop if self._fault else p.law, p.transfer_time)

    def _refer(self, stamp: int, step: float) -> None:
        """Desired motion, stiffness and known external torques of this cycle."""
        p, law = self.parameters, self._law
        time = stamp + int(SECOND * p.lookahead)
        self._motion.evaluate(time, law.desired)
        if step:  # a single long step, where cycles are missing, is no period
            self._period = min(step, 1.5 * self._period or step)
        self._lead = p.feedforward_lead * self._period + p.command_delay
        self._motion.look_ahead(time + int(SECOND * self._lead), law.ahead)
        self._count_cuts(self._stiffness.evaluate(time, law.joint_torque))
        law.stiffness[:] = self._stiffness.rows

        law.external_torque[:] = 0.0
        wrench = self._newest_wrench(stamp, step, law.desired)
        if p.observer_feedback and law.observer is not None:  # which finds the wrench too
            law.external_torque[:] = law.observer.residual
        elif wrench is not None:
            body, rows = wrench
            J = jacobian(self._model, law.estimator.state.q, body, representation="spatial")
            law.external_torque[:] = J.T @ rows[0]

    def _judge(self, stamp: int) -> None:
        """Stop a robot that does not follow; let one go on that recovered."""
        p, law = self.parameters, self._law
        state = law.estimator.state
        np.subtract(law.desired[0], state.q, out=self._error[0])
        np.subtract(law.desired[1], state.qd, out=self._error[1])
        if self._fault is not None:
            if law.name != self._stop:
                law.switch(self._stop, STOP_TRANSFER)  # motors are back
            if (
                p.recover_automatically
                and not self._fault.is_latched
                and not (self._lacks_links or self._lacks_motors)
                and law.is_settled
                and np.abs(law.motors[1]).max() <= p.recovery_speed
            ):
                self._recover()
            return
        if law.lost:
            self._fail(LOST, law.lost, is_latched=False)
            return
        distance = np.abs(self._error[0])
        k = int(distance.argmax())
        if p.tracking_tolerance and distance[k] > p.tracking_tolerance:
            self._fail(
                TRACKING,
                f"'{self._model.joint_names[k]}' is {distance[k]:.4g} from the reference;"
                f" allowed: {p.tracking_tolerance:g}",
                is_latched=True,
            )
            self._motion.evaluate(stamp, law.desired)
            law.ahead[:] = law.desired
            return
        self._judge_goal(stamp, state.qd)

    def _judge_delay(self, stamp: int, published: int) -> None:
        """Stop a robot whose torques keep coming late: in the end every law fails from that."""
        allowed, delay = self.parameters.latency_tolerance, 1e-9 * (published - stamp)
        if not allowed or delay <= allowed:
            self._punctual = stamp
        elif stamp - self._punctual > int(SECOND * LATE):
            self._punctual = stamp
            text = f"{1e3 * delay:.3g} ms after their states, and none in time for {LATE:g} s"
            allowance = f"allowed: {1e3 * allowed:g} (latency_tolerance)"
            self._fail(DELAY, f"{text}; {allowance}", is_latched=True)

    def _report_springs(self) -> None:
        springs = self._law.springs
        beyond = springs.beyond_travel
        if beyond.any():
            for j in np.flatnonzero(beyond).tolist():
                name = self._actuators.motor_names[j]
                text = f"{name}: its spring is at {springs.deflection[j]:.4g}, beyond its travel"
                self._limited.add(f"travel of {name}", text)

    def _publish(self, stamp: int, lookahead: int) -> None:
        self._last_stamp = stamp
        self._is_silent = False
        self._motor_torque = self._law.commanded()
        self._outputs.publish(stamp, lookahead, self._law, self._error, self._motor_torque)

    # Faults

    @property
    def _stop(self) -> str:
        """The law that stops the arm with the states that there are."""
        return ON_LINKS if self._lacks_motors else "hold"

    def _fail(self, reason: str, text: str, *, is_latched: bool) -> None:
        """Stop the robot, damped, and hold it until the fault is over."""
        law, before = self._law, self._fault
        if before is not None and (before.reason == reason or before.is_latched > is_latched):
            return
        self._fault = Fault(reason, text, is_latched)
        if reason == DELAY:
            law.stand_delay(True)
        self.get_logger().error(f"{reason}: {text}: stopping")
        self._events.add(reason, text)
        code = Code.PATH_TOLERANCE_VIOLATED if reason == TRACKING else Code.INVALID_GOAL
        self._end_goal(f"{reason}: {text}", code)
        if self._motion.is_there:
            law.start(self._stop, STOP_TRANSFER)
            self._motion.hold(self._position, self._last_stamp)
        self._diagnostics.publish()

    def _recover(self) -> None:
        """The fault is over: hold where the robot is, under the chosen law."""
        assert self._fault is not None
        p, law = self.parameters, self._law
        self.get_logger().info(f"{self._fault.reason}: over, following again")
        self._fault = None
        if self._is_designed:
            law.stand_delay(False)
        if self._motion.is_there:  # after a silence the next cycle begins, wherever the robot is
            self._motion.hold(self._position, self._last_stamp)
            law.switch(p.law, p.transfer_time)

    def _on_no_links(self) -> None:
        if self._motors_watchdog.stale:
            if self._law.name == ON_LINKS:  # now neither is there
                self._fall_silent()
            return  # otherwise, the other watchdog tells
        assert self._links_watchdog is not None
        if not self._statistics.total:
            missing = missing_of([self._pairs.links]) or "none in step with the motors"
            self.get_logger().warning(f"no link state yet: {missing}")
            return
        text = f"no joint_states that go with motor_states for {self._links_watchdog.age():.3f} s"
        self._fail(NO_LINKS, text, is_latched=False)

    def _on_no_motors(self) -> None:
        text = f"no motor_states for {self._motors_watchdog.age():.3f} s"
        if not self._statistics.total:
            self.get_logger().warning(f"{text}: nothing to publish yet")
            return
        if self._may_lack_motors and self._pairs.links.stamp > self._last_stamp:
            assert self._links_watchdog is not None
            self._links_watchdog.feed()  # which went by pairs until now
        self._fail(NO_MOTORS, text, is_latched=False)
        if not self._lacks_motors:
            self._fall_silent()
        elif self._law.name != ON_LINKS:  # there was another fault before
            self._law.start(ON_LINKS, STOP_TRANSFER)

    def _fall_silent(self) -> None:
        self._publish_safe_output()
        self._statistics.restart()
        self._diagnostics.publish()

    def _publish_safe_output(self) -> None:
        """Once: what holds the arm where it was last, stamped now; then the motion is forgotten."""
        if self._motion.is_there:
            self._publish_rest(max(self._now(), self._last_stamp + 1))
            self._motion.release()
            self._is_silent = True

    def _publish_rest(self, stamp: int) -> None:
        """The torque of rest at the last position, if there is one."""
        law = self._law
        torque = law.rest(self._position.copy())
        if not np.isfinite(torque).all():
            return
        # Nothing follows to complete a limited rate, so this one is the whole hold.
        law.transfer.torque[:], cuts = self._limits.apply(torque, law.transfer.torque, FOREVER)
        self._count_cuts(cuts)
        self._error[:] = 0.0
        self._publish(stamp, 0)

    # Diagnostics

    def _statuses(self) -> Iterator[DiagnosticStatus]:
        p, law = self.parameters, self._law
        ages = {"age of the motor state [s]": self._motors_watchdog.age()}
        if self._links_watchdog is not None:
            ages["age of the link state [s]"] = self._links_watchdog.age()
        states = [self._pairs.links, self._pairs.motors][not self._pairs.needs_links :]
        fault = None
        if self._fault is not None:
            fault = ERROR, f"{self._fault.reason}: {self._fault.text}"
        elif not self._statistics.total:
            missing = missing_of(states)
            fault = STALE, f"no state yet of {missing}" if missing else "no pair of states yet"
        yield self._cycle_status(ages, fault)
        names = ["joint_states", "motor_states"][not self._pairs.needs_links :]
        foreign = zip(names, states, strict=True)
        more: dict[str, object] = {f"{k}: none of our joints": v.foreign for k, v in foreign}
        more["pairs skipped"] = self._skipped
        more["states without their fellow"] = self._pairs.alone
        yield self._inputs_status(more)
        yield self._limits_status()

        _, values = self._events.report()
        values |= {"enabled": self._enabled}
        if self._motion.is_there:
            k = int(np.abs(self._error[0]).argmax())
            values["largest tracking error"] = float(abs(self._error[0, k]))
            values["of joint"] = self._model.joint_names[k]
        values |= self._stiffness_values()
        mode = "safe output" if self._is_silent and self._fault else self._motion.mode
        yield self._status("reference", OK, "stopped" if self._fault else mode, values)

        law_values = {"chosen": p.law, "share in the torque": float(law.transfer.share)}
        yield self._status("law", WARN if law.name != p.law else OK, law.name, law_values)

        settled = law.is_settled
        values = {"source": p.state_source, "starts": law.estimator.starts}
        if law.estimator.refused:
            values["samples not believed"] = law.estimator.refused
        if law.observer is not None:
            residual = law.observer.residual
            k = int(np.abs(residual).argmax())
            values["largest external torque [N m or N]"] = float(residual[k])
            values["at joint"] = self._model.joint_names[k]
        text = "settled" if settled else "settling"
        yield self._status("estimator", OK if settled else WARN, text, values)


def main(args: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(FlatnessControllerNode, args)


if __name__ == "__main__":
    sys.exit(main())
