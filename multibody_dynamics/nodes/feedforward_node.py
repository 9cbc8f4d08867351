# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torque feedforward for robots with elastic joints: receives a trajectory and publishes joint
torques with their first two rates, and motor commands, in one cycle per joint state.

The desired motion q..q'''' is evaluated at the stamp of each complete joint state plus `lookahead`,
and every output carries this stamp. The measured state is used for the first hold, and to reject
motions that would begin with a jump; it is not fed back. docs/feedforward_node.md has the details.
"""

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from sensor_msgs.msg import JointState

from ..dynamics.control import DesiredMotion
from ..dynamics.core import Array
from ..dynamics.motion import joint_turns
from .base.cycle_supervisor import CycleSupervisor
from .base.diagnostics import ERROR, STALE, Diagnostics, Status
from .base.messages import SECOND, JointStates
from .base.node_inputs import Inputs
from .base.other_controllers import OtherControllers
from .base.qos import best_effort
from .base.robot_source import RobotSource
from .base.runtime import ManagedNode
from .following.base_input import BaseInput
from .following.controlled_robot import controlled_robot
from .following.feedforward_setup import FeedforwardSetup
from .following.followed_motion import FollowedMotion
from .following.following_parameters import FeedforwardParameters
from .following.motor_limits import MotorLimits
from .following.stiffness_input import StiffnessInput
from .following.stream_input import StreamInput
from .following.torque_ramp import TorqueRamp
from .following.trajectory_action import TrajectoryAction
from .following.trajectory_input import TrajectoryInput
from .following.wrench_input import WrenchInput

FOREVER = 1e9  # s; a step so long that no rate limit applies


class FeedforwardNode(ManagedNode[FeedforwardParameters]):
    """A node that follows trajectories of the joints with the torque feedforward."""

    def __init__(self) -> None:
        super().__init__("feedforward_node", FeedforwardParameters)
        self._source = RobotSource(self)

    def configure(self) -> None:
        robot = controlled_robot(self._source.load(), self.parameters)
        self._setup = FeedforwardSetup(self, robot)
        self._action = TrajectoryAction(self, robot.model.joint_names)

    def activate(self) -> None:
        robot = self._setup.robot
        motion = DesiredMotion(robot.model.joint_names, robot.soft_limits, joint_turns(robot.model))
        self._cycle = cycle = FeedforwardCycle(self, self._setup, motion, action=self._action)
        TrajectoryInput(self, cycle.inputs, cycle.followed, self._action, robot.model.transmissions)

    def reconfigure(self, values: FeedforwardParameters) -> None:
        self._setup.reconfigure(values)
        if not self.activation.is_over:
            self._cycle.limits.set(values)


class FeedforwardCycle:
    """The cycle of a node from activation on: joint states in, torques and motor commands out.

    motion : what the robot follows; whoever receives motions passes them to `followed`.
    action : told how goals end, if there is one. after_cycle : called after every cycle.

    Attributes: `inputs`, `supervisor`, `followed`, `limits` and `diagnostics`, for other parts of
    the node.
    """

    def __init__(
        self,
        node: ManagedNode[FeedforwardParameters],
        setup: FeedforwardSetup,
        motion: DesiredMotion,
        *,
        action: TrajectoryAction | None = None,
        after_cycle: Callable[[], object] = lambda: None,
    ) -> None:
        p, robot, law = node.parameters, setup.robot, setup.law
        self._node, self._law, self._outputs = node, law, setup.outputs
        self._motion, self._stiffness, self._after_cycle = motion, setup.stiffness, after_cycle
        self._measured = measured = JointStates(
            robot.model.joint_names, also=("velocity",), check=setup.position_check,
            transmissions=robot.model.transmissions,
        )  # fmt: skip
        self.limits = limits = MotorLimits(robot, p)
        self._ramp = TorqueRamp(len(robot.actuators.motors))
        self._sent: Array = np.zeros(len(robot.actuators.motors))  # the last torque
        self._safe_position: Array | None = None
        self._fault: tuple[bytes, str] | None = None  # that the safe output answers

        self.inputs = inputs = Inputs(node)
        self.supervisor = supervisor = CycleSupervisor(
            node, inputs, cycle=self._run, on_jump=self._restart,
            has_state=lambda: bool(measured.stamp) and not self._watchdog.stale,
        )  # fmt: skip
        self.followed = followed = FollowedMotion(
            node, motion, lambda: measured.position, supervisor.events,
            action=action, on_enable=setup.position_check.accept_next,
        )  # fmt: skip
        node.activation.callback(self._publish_safe_output, "the node was deactivated")
        stiffness = setup.stiffness.feasible(p.initial_stiffness, law.joint_torque)
        StreamInput(node, inputs, followed, robot, limits, stiffness)
        self._wrench = WrenchInput(
            node, robot.model, inputs, supervisor, lambda: measured.position, limits.joint_torque
        )
        self._base = BaseInput(node, robot.model, inputs, supervisor)
        StiffnessInput(node, inputs, setup.stiffness, followed, limits, lambda: law.joint_torque)
        inputs.listen(JointState, "joint_states", self._on_state, best_effort(p.state_queue_depth))
        self._watchdog = supervisor.watch(self._on_stale)
        self.diagnostics = Diagnostics(node, robot.model.name, self._statuses)
        self.diagnostics.add(OtherControllers(node, self._outputs.command_topic).statuses)
        node.get_logger().info(f"active; gravity is {setup.gravity}; springs: {p.variant}")

    def _restart(self, why: str) -> None:
        """Reset everything that depends on time; the next state starts a new hold."""
        self.supervisor.restart(why)
        self.followed.release(why)
        self._stiffness.release()
        self._wrench.wrench.restart()
        self._base.restart()
        self._measured.restart()
        self._safe_position = None
        self._ramp.end()

    # The cycle

    def _on_state(self, message: JointState) -> None:
        begin = time.monotonic_ns()
        if self.supervisor.take("joint_states", self._measured, message):
            self._watchdog.feed()
            if not self.supervisor.has_timer:
                self._run(self._measured.stamp, begin)

    def _run(self, stamp: int, begin: int) -> None:
        """Run one cycle with this stamp (ns), which began at `begin`, monotonic ns."""
        supervisor, motion, law = self.supervisor, self._motion, self._law
        if supervisor.reject_if_late("joint_states", stamp):
            return
        if motion.is_active and (gap := supervisor.stamp_gap(stamp)):
            self._restart(gap)
        if not motion.is_active:
            self._begin(stamp)
        if step := supervisor.step_to(stamp):
            law.advance(step)
        desired_time = stamp + int(SECOND * self._node.parameters.lookahead)
        motion.evaluate(desired_time, law.desired)
        base = self._base.at(desired_time)
        if base is not None:
            law.move_base(*base)
        self.limits.count(self._stiffness.evaluate(desired_time, law.joint_torque))
        law.stiffness[:] = self._stiffness.rows
        self.followed.judge(stamp, law.desired, self._measured.velocity)
        self._wrench.write(stamp, law.desired, law.applied_wrenches, base)
        law.update()
        for problem in law.problems():
            self.limits.cuts.add(problem, problem)
        if law.is_finite():
            self._output(stamp, step)
            self._fault = None
            supervisor.record(begin, stamp)
        else:
            supervisor.events.add("output not finite")
            self._wrench.wrench.drop()  # which may be the cause
            self._publish_safe_output(law.failure())
        self._after_cycle()

    def _begin(self, stamp: int) -> None:
        """Hold the position of the safe output if the robot is close to it, otherwise the measured
        position."""
        p, law = self._node.parameters, self._law
        position, safe = self._measured.position, self._safe_position
        if safe is not None and np.abs(safe - position).max() <= p.start_tolerance:
            position = safe
        else:
            self._ramp.begin(stamp, self._sent)
        self._safe_position = None
        self.followed.hold(position, stamp)
        law.hold(position)  # its torques determine the feasible stiffness, which is not measured
        self._stiffness.begin(p.initial_stiffness, None, law.joint_torque, stamp, p.ramp_time)

    def _output(self, stamp: int, step: float) -> None:
        """Ramp, limit and publish the output of the law, `step` s after the last one."""
        p, law = self._node.parameters, self._law
        wanted = self._ramp.apply(law.motor.torque, stamp, p.ramp_time)
        self._sent = self.limits.torque(wanted, self._sent, step)
        motors = self.limits.motion(np.array(law.motor[:2]))
        self.supervisor.last_stamp = stamp
        self._outputs.publish(stamp, int(SECOND * p.lookahead), law, self._sent, motors)

    # The safe output

    def _on_stale(self) -> None:
        missing, log = "no complete joint state", self._node.get_logger()
        silence = f"{missing} for {self._watchdog.age():.3f} s"
        if self._motion.is_active:
            log.error(f"{silence}: holding against gravity", throttle_duration_sec=1.0)
        else:
            log.warning(f"{silence}: nothing to publish yet", throttle_duration_sec=5.0)
        self.supervisor.events.add("joint_states stale")
        self._publish_safe_output(missing)
        self.diagnostics.publish()

    def _publish_safe_output(self, why: str) -> None:
        """End the goal, and publish, stamped now, outputs that hold the robot at rest at the last
        desired position against gravity."""
        self._fault = ERROR, why
        self.followed.end_goal(why)
        if not self._motion.is_active:
            return
        law, supervisor = self._law, self.supervisor
        law.hold(law.desired[0])
        # No later output can complete a ramp or catch up with a rate limit, so this one must be the
        # full hold.
        self._ramp.end()
        if law.is_finite():
            self._output(supervisor.next_stamp(), FOREVER)
            self._fault = ERROR, f"{why}: safe output"
        else:
            supervisor.events.add("safe output not finite")
        self._safe_position = law.desired[0].copy()
        self._motion.release()
        supervisor.statistics.restart()

    # Diagnostics

    def _statuses(self) -> Iterator[Status]:
        measured, fault = self._measured, self._fault
        if not self.supervisor.statistics.total:
            fault = STALE, f"no state received yet for {', '.join(measured.missing)}"
        yield self.supervisor.status({"age of the state [s]": self._watchdog.age()}, fault)
        yield self.inputs.status({"joint_states: messages without our joints": measured.foreign})
        yield self.limits.status()
        values = {"ramp": self._ramp.gain} | self._stiffness.report(self._law.joint_torque)
        yield self.followed.status("safe output" if self._fault else self._motion.mode, values)


main = FeedforwardNode.main


if __name__ == "__main__":
    sys.exit(main())
