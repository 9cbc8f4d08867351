# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torque feedforward for robots with elastic joints: receives a trajectory and publishes joint
torques with their first two rates, and motor commands, in one cycle per joint state.

The desired motion q..q'''' is evaluated at the stamp of each complete joint state plus `lookahead`,
and every output carries the stamp of this state. The measured state is used for the first hold, and
to reject motions that would begin with a jump; it is not fed back. docs/feedforward_node.md
describes topics, parameters and behaviour.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState

from ..dynamics.control import FeedforwardLaw
from ..dynamics.core import Array
from ..dynamics.elastic import Actuators
from ..dynamics.model import MultibodyModel
from .base.diagnostics import ERROR, OK, STALE
from .base.messages import SECOND, JointStates, set_stamp
from .base.outputs import Outputs
from .base.qos import best_effort
from .base.runtime import run
from .following.feedforward_parameters import FeedforwardParameters
from .following.following import FollowingNode

FOREVER = 1e9  # s; a step so long that no rate limit applies


class FeedforwardOutputs(Outputs):
    """The publishers of the node; commands are published first, because drives wait for them."""

    def __init__(self, node: FeedforwardNode) -> None:
        super().__init__(node)
        joints, motors = node._actuators.joint_names, node._actuators.motor_names
        self._order = node._order
        self._commands = self.command_array("~/commands", [motors[k] for k in self._order])
        self._point, self._motor_rows = self.motor_command("~/motor_command", motors)
        self._torque_rows = [
            self.joint_state(f"~/{name}", joints, "effort")[0]
            for name in ("torque", "torque_rate", "torque_acceleration")
        ]

    def publish(self, stamp: int, lookahead: int, law: FeedforwardLaw, motor_torque: Array) -> None:
        """Publish one cycle; the commands apply `lookahead` ns after `stamp` (ns)."""
        set_stamp(self._point.time_from_start, lookahead)
        for row, values in zip(self._torque_rows, law.torque, strict=True):
            row[:] = values
        for row, values in zip(self._motor_rows, law.motor, strict=True):
            row[:] = values
        self._motor_rows[3][:] = motor_torque
        np.take(motor_torque, self._order, out=self._commands)
        self.publish_all(stamp)


class FeedforwardNode(FollowingNode):
    """A node that follows trajectories, with the torque feedforward as its law.

    `TaskSpaceNode` inherits from it: law, cycle and outputs are the same, and only the source of
    the desired motion differs.
    """

    Parameters = FeedforwardParameters
    _outputs: FeedforwardOutputs
    _law: FeedforwardLaw

    def __init__(self, name: str = "feedforward_node") -> None:
        super().__init__(name)

    # Life cycle

    def _make(self, model: MultibodyModel, actuators: Actuators) -> FeedforwardOutputs:
        self._law = FeedforwardLaw(
            model,
            actuators,
            gravity_compensated_by_robot=self.parameters.gravity_compensated_by_robot,
        )
        return FeedforwardOutputs(self)

    def activate(self) -> None:
        p = self.parameters
        names, check = self._model.joint_names, self._position_checks["links"]
        self._measured = JointStates(names, also=("velocity",), check=check)
        self._position = self._measured.position
        self._safe_position: Array | None = None
        self._ramp_begin: int | None = None  # ns, while the ramp lasts
        self._ramp_from: Array = np.zeros(len(self._actuators.motors))
        self._gain = 0.0
        self._is_finite = True
        self._is_stale = False
        self._law.applied_wrenches[:] = 0.0
        super().activate()
        self._listen(JointState, "joint_states", self._on_state, best_effort(p.state_queue_depth))
        self._watchdog = self._watch(self._on_stale)
        gravity = (
            "compensated by the robot"
            if p.gravity_compensated_by_robot
            else "included in all torques"
        )
        self.get_logger().info(f"active; gravity is {gravity}; springs: {p.variant}")

    def reconfigure(self, values: FeedforwardParameters) -> None:
        super().reconfigure(values)
        if self._outputs is not None:
            self._law.variant = values.variant

    def _restart(self, why: str) -> None:
        super()._restart(why)
        self._measured.restart()
        self._safe_position = self._ramp_begin = None
        self._law.applied_wrenches[:] = 0.0
        self._law.settle()

    # Inputs

    def _on_state(self, message: JointState) -> None:
        begin = time.monotonic_ns()
        if self._take("joint_states", self._measured, message):
            self._watchdog.feed()
            if self._timer is None:
                self._cycle(self._measured.stamp, begin)

    @property
    def _has_state(self) -> bool:
        return bool(self._measured.stamp) and not self._watchdog.stale

    def _begin(self, stamp: int) -> None:
        """Hold the position of the safe output if the robot is close to it, otherwise the measured
        position."""
        position, safe = self._measured.position, self._safe_position
        if safe is not None and np.abs(safe - position).max() <= self.parameters.start_tolerance:
            position = safe
        else:
            self._ramp_begin = stamp
            self._ramp_from = self._motor_torque
        self._safe_position = None
        self._hold_at(position, stamp)
        p, law = self.parameters, self._law
        law.desired[0], law.desired[1:] = position, 0.0
        law.settle()
        law.update()  # its torques determine the feasible stiffness, which is not measured here
        goal = p.initial_stiffness
        self._stiffness.begin(goal, None, law.joint_torque, stamp, p.ramp_time)

    # The cycle

    def _cycle(self, stamp: int, begin: int) -> None:
        if self._comes_late("joint_states", stamp):
            return
        self._notice_leap(stamp)
        p, law = self.parameters, self._law
        if not self._motion.is_there:
            self._begin(stamp)
        step = self._step_to(stamp)
        if step:
            law.advance(step)
        desired_time = stamp + int(SECOND * p.lookahead)
        self._motion.evaluate(desired_time, law.desired)
        self._count_cuts(self._stiffness.evaluate(desired_time, law.joint_torque))
        law.stiffness[:] = self._stiffness.rows
        self._judge_goal(stamp, self._measured.velocity)
        wrench = self._newest_wrench(stamp, step, law.desired)
        if wrench is not None:
            law.applied_wrenches[:] = 0.0
            law.applied_wrenches[wrench[0]] = wrench[1]
        law.update()
        for problem in law.problems():
            self._limited.add(problem, problem)
        self._is_finite = self._output(stamp, step)
        if self._is_finite:
            self._is_stale = False
            self._statistics.record(begin, time.monotonic_ns(), stamp, self._now())
        else:  # drop the wrench, which may be the cause, and hold the robot
            self._wrench.drop()
            self._end_goal("the computed torque is not finite")
            self._publish_safe_output()

    def _output(self, stamp: int, step: float) -> bool:
        """Ramp, limit and publish the output of the law, `step` s after the last one.

        If it is not finite, publish nothing and return False.
        """
        law = self._law
        if not law.is_finite():
            self._events.add("output not finite")
            return False
        self._gain = self._ramp(stamp)
        wanted = law.motor.torque
        if self._gain < 1.0:
            wanted = self._ramp_from + self._gain * (wanted - self._ramp_from)
        self._limit_torque(wanted, step)
        self._limit_speed(law.motor.velocity)
        self._last_stamp = stamp
        lookahead = int(SECOND * self.parameters.lookahead)
        self._outputs.publish(stamp, lookahead, law, self._motor_torque)
        return True

    def _ramp(self, stamp: int) -> float:
        """The gain of the ramp: from 0 to 1 with continuous slope during `ramp_time`."""
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
        self._is_stale = True
        silence = f"no complete joint state for {self._watchdog.age():.3f} s"
        if self._motion.is_there:
            self.get_logger().error(
                f"{silence}: holding against gravity", throttle_duration_sec=1.0
            )
        else:
            self.get_logger().warning(
                f"{silence}: nothing to publish yet", throttle_duration_sec=5.0
            )
        self._events.add("joint_states stale")
        self._end_goal(silence)
        self._publish_safe_output()
        self._diagnostics.publish()

    def _publish_safe_output(self) -> None:
        """Publish, stamped now, outputs that hold the robot at rest at the last desired position
        against gravity."""
        if not self._motion.is_there:
            return
        law = self._law
        law.desired[1:] = law.stiffness[1:] = 0.0
        law.applied_wrenches[:] = 0.0
        law.settle()
        law.update()
        # No later output can complete a ramp or catch up with a rate limit, so this one must be the
        # full hold.
        self._ramp_begin = None
        self._output(max(self._now(), self._last_stamp + 1), FOREVER)
        self._safe_position = law.desired[0].copy()
        self._motion.release()
        self._statistics.restart()

    # Diagnostics

    def _statuses(self) -> Iterator[DiagnosticStatus]:
        fault = None
        if not self._statistics.total:
            fault = STALE, f"no state received yet for {', '.join(self._measured.missing)}"
        elif self._is_stale:
            fault = ERROR, f"no joint state for {self._watchdog.age():.1f} s: safe output"
        elif not self._is_finite:
            fault = ERROR, "the computed torque is not finite: safe output"
        yield self._cycle_status({"age of the state [s]": self._watchdog.age()}, fault)
        yield self._inputs_status(
            {"joint_states: messages without our joints": self._measured.foreign}
        )
        yield self._limits_status()

        _, values = self._events.report()
        values |= {"enabled": self._enabled, "ramp": float(self._gain)}
        values |= self._stiffness_values()
        if self._motion.is_there:
            deviation = np.abs(self._law.desired[0] - self._measured.position)
            k = int(deviation.argmax())
            values["largest deviation"] = float(deviation[k])
            values["joint with the largest deviation"] = self._model.joint_names[k]
        mode = "safe output" if self._is_stale else self._motion.mode
        yield self._status("reference", OK, mode, values)


def main(args: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(FeedforwardNode, args)


if __name__ == "__main__":
    sys.exit(main())
