# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The controller of an arm with elastic joints: receives link and motor states and a trajectory,
and publishes motor torques, in one cycle per pair of states.

Feedback compares the state with the reference at its own stamp plus `lookahead`; every output
carries the stamp of the states it responds to. Every fault leads to a defined state.
docs/flatness_controller_node.md describes topics, parameters and behaviour, and lists the faults.
"""

import sys
from collections.abc import Iterator
from functools import partial

from ..dynamics.control import LINKS, MOTORS, NOT_FINITE, Command, Mode, Sample
from .base.cycle_supervisor import CycleSupervisor
from .base.diagnostics import Diagnostics, Status
from .base.messages import SECOND
from .base.node_inputs import Inputs
from .base.other_controllers import OtherControllers
from .base.robot_source import RobotSource
from .base.runtime import ManagedNode
from .following import controller_report as report
from .following.arm_faults import ArmFaults, approach_rest
from .following.base_input import BaseInput
from .following.controlled_robot import controlled_robot
from .following.controller_setup import ControllerSetup
from .following.cycle_trigger import CycleTrigger
from .following.flatness_controller_parameters import FlatnessControllerParameters
from .following.followed_motion import FollowedMotion
from .following.impedance_input import ImpedanceInput
from .following.motor_limits import MotorLimits
from .following.state_pairs import StateInputs
from .following.stiffness_input import StiffnessInput
from .following.stream_input import StreamInput
from .following.trajectory_action import TrajectoryAction
from .following.trajectory_input import TrajectoryInput
from .following.wrench_input import WrenchInput


class FlatnessControllerNode(ManagedNode[FlatnessControllerParameters]):
    """A node that follows trajectories of the joints with a control law of the whole arm."""

    def __init__(self) -> None:
        super().__init__("flatness_controller_node", FlatnessControllerParameters)
        self._source = RobotSource(self)

    def configure(self) -> None:
        robot = controlled_robot(self._source.load(), self.parameters)
        self._setup = ControllerSetup(self, robot)
        self._action = TrajectoryAction(self, robot.model.joint_names)

    def activate(self) -> None:
        self._cycle = ControllerCycle(self, self._setup, self._action)

    def check(self, values: FlatnessControllerParameters) -> None:
        self._setup.check(values)

    def reconfigure(self, values: FlatnessControllerParameters) -> None:
        self._setup.reconfigure(values)
        if not self.activation.is_over:
            self._cycle.reconfigure(values)


class ControllerCycle:
    """The cycle of the node from activation on: pairs of states in, motor torques out."""

    def __init__(
        self,
        node: ManagedNode[FlatnessControllerParameters],
        setup: ControllerSetup,
        action: TrajectoryAction,
    ) -> None:
        p, robot, arm = node.parameters, setup.robot, setup.arm
        self._node, self._setup, self._arm, self._outputs = node, setup, arm, setup.outputs
        self._is_checked = bool(p.design_position)
        self._is_silent, self._mode = True, Mode.INACTIVE
        arm.activate()
        setup.laws.renew()

        self._limits = MotorLimits(robot, p)
        self._states = states = StateInputs(
            robot.actuators,
            arm.measured.estimator.signals,
            setup.position_checks,
            can_stop_on_links=arm.laws.on_links is not None,
            transmissions=robot.model.transmissions,
        )
        self._inputs = inputs = Inputs(node)
        self._supervisor = supervisor = CycleSupervisor(
            node,
            inputs,
            cycle=lambda _, begin: self._trigger.on_timer(begin),
            has_state=lambda: states.has_state,
            on_jump=self._restart,
        )
        self._faults = faults = ArmFaults(node, arm, states, self._answer)
        self._followed = followed = FollowedMotion(
            node, arm.motion, lambda: arm.feedback.state.q, supervisor.events,
            action=action, inhibitor=faults, on_enable=self._accept_next_positions,
        )  # fmt: skip
        node.activation.callback(self._end)
        TrajectoryInput(node, inputs, followed, action, robot.model.transmissions)
        StreamInput(node, inputs, followed, robot, self._limits, arm.second.rows[0])
        self._wrench = WrenchInput(
            node, robot.model, inputs, supervisor,
            lambda: arm.measured.estimator.state.q, self._limits.joint_torque,
        )  # fmt: skip
        self._base = BaseInput(node, robot.model, inputs, supervisor)
        arm.base = self._base.reference
        ImpedanceInput(inputs, supervisor, followed, setup.laws)
        StiffnessInput(node, inputs, arm.second, followed, self._limits, lambda: arm.joint_torque)
        for side in states.topics:
            states.watch(side, supervisor.watch(partial(self._on_stale, side)))
        self._trigger = CycleTrigger(node, inputs, supervisor, states, arm, self._run)
        self._diagnostics = Diagnostics(node, robot.model.name, self._statuses)
        self._diagnostics.add(OtherControllers(node, self._outputs.command_topic).statuses)
        self.reconfigure(p)
        node.get_logger().info(f"active; law: {setup.laws.in_force}; state from {p.state_source}")

    def reconfigure(self, p: FlatnessControllerParameters) -> None:
        """Take over live parameters."""
        self._limits.set(p)
        self._arm.limit(self._limits.limits)

    def _restart(self, why: str) -> None:
        """Reset everything that depends on time."""
        self._supervisor.restart(why)
        self._followed.end_goal(why)
        self._arm.restart(why)
        self._wrench.wrench.restart()
        self._base.restart()
        self._states.restart()
        self._trigger.restart()

    def _end(self) -> None:
        self._followed.end_goal("the node was deactivated")
        self._publish_safe_output()
        self._arm.deactivate()

    # The cycle

    def _run(self, stamp: int, begin: int, *, is_late: bool = False) -> None:
        """Run one cycle with this stamp (ns), which began at `begin`, monotonic ns; is_late: a pair
        should have arrived."""
        states = self._states
        measured, wanted = self._arm.measured.estimator.state, self._arm.motion.desired
        external = self._wrench.joint_torque(stamp, wanted, measured.q)
        age = max(1e-9 * (self._supervisor.now() - stamp), 0.0)
        missing = states.missing
        why = states.why if missing else ""
        sample = Sample(stamp, states.signals, missing, why, external, is_late, age)
        if not self._is_checked:  # takes too long for a cycle: start with the next state
            self._is_checked = self._setup.check_first(sample)
            self._answer(self._arm.command(stamp))
            return
        command = self._arm.update(sample)
        if command.torque is None:
            self._answer(command)
            self._supervisor.last_stamp = stamp  # no output is due
            return
        self._publish(command)
        self._answer(command)
        states.has_begun = True
        now = self._supervisor.record(begin, stamp)
        self._arm.note_delay(now - self._trigger.wait)
        if not is_late:
            self._trigger.note_torque(now)

    def _answer(self, command: Command) -> None:
        """Report what has changed, fall silent if the arm is lost, and judge the goal."""
        self._faults.report(command, self._followed)
        if any(event.fault.code == NOT_FINITE for event in command.events if not event.is_over):
            self._wrench.wrench.drop()  # which may be the cause
        if command.contact is not None:
            self._outputs.publish_collision(command.contact, command)
        if command.mode is Mode.HOLDING and not self._mode.is_following:
            self._followed.warn_outside(command.q)
        self._mode = command.mode
        if command.mode is Mode.LOST and command.torque is None and not self._is_silent:
            self._publish_safe_output()
            self._supervisor.statistics.restart()
        if command.mode.is_following and command.torque is not None:
            lookahead = int(SECOND * self._node.parameters.lookahead)
            self._arm.motion.record(command.stamp + lookahead, command.error[0])
            self._followed.judge(command.stamp, command.desired, command.qd)
        if command.events or command.slowed:
            self._diagnostics.publish()

    def _publish(self, command: Command) -> None:
        """Send the torque, then everything else."""
        limits = self._limits
        self._supervisor.last_stamp = command.stamp
        self._outputs.send(command)
        self._outputs.publish(command, limits.motion(command.reference[:2]))
        limits.count(command.cuts)
        limits.count_travel(self._arm.measured.springs)
        self._is_silent = False

    # Missing states

    def _on_stale(self, side: str) -> None:
        """States of one side have timed out."""
        states, log = self._states, self._node.get_logger()
        if not states.has_begun:
            log.warning(states.waiting_for(side))
            return
        states.note_stale(side, self._supervisor.last_stamp)
        if self._arm.judges_returns:  # and takes them only if links and motors agree
            self._accept_next_positions(side)
        now = self._supervisor.next_stamp()
        self._answer(self._arm.update(Sample(now, None, states.missing, states.why)))

    def _accept_next_positions(self, *sides: str) -> None:
        """Accept the next positions of these sides, or of both."""
        for side in sides or (LINKS, MOTORS):
            self._setup.position_checks[side].accept_next()

    def _publish_safe_output(self) -> None:
        """Publish, stamped now, the torque that holds the arm at its last position."""
        if self._is_silent:
            return
        supervisor = self._supervisor
        for command in approach_rest(self._arm, supervisor.next_stamp(), supervisor.last_stamp):
            if command.torque is not None:
                self._publish(command)
        self._is_silent = True

    # Diagnostics

    def _statuses(self) -> Iterator[Status]:
        reaction = self._node.parameters.collision_reaction
        yield self._supervisor.status(self._states.ages, self._faults.problem())
        yield self._inputs.status(self._states.counts | self._trigger.counts)
        yield self._limits.status()
        yield from report.statuses(self._setup, self._followed, reaction)


main = FlatnessControllerNode.main


if __name__ == "__main__":
    sys.exit(main())
