# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Watches a robot over days, and reports when it no longer behaves as before, and why.

The differences between measured and predicted torques during the first hours of motion are the
reference. Later, the node reports a changed payload, changed friction or torque offset of a joint,
or changed stiffness of a spring, as a warning on /diagnostics. It needs little memory and keeps its
statistics on disk. docs/drift_node.md describes topics, parameters and behaviour.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from ..dynamics.core import InputError, declared
from ..validation.drift_statistics import AT_REST, torque_sums
from ..validation.drift_watch import DriftSettings, DriftWatch
from ..validation.settings import Robot, Settings
from ..validation.state_stream import StateStream, warm_up
from .base.diagnostics import ERROR, OK, STALE, WARN, Diagnostics, Status
from .base.messages import JointStates
from .base.node_inputs import Inputs
from .base.parameters import ParameterError, parameter
from .base.qos import best_effort
from .base.robot_source import RobotSource
from .base.runtime import ManagedNode
from .validation.compared_robot import ComparedRobotParameters
from .validation.spring_samples import SpringSamples

QUEUE = 1000  # states that may wait while statistics are written to the disk
WARMTHS = ("cold", "cool", "lukewarm", "warm")


@dataclass(frozen=True)
class DriftParameters(ComparedRobotParameters):
    """The parameters of drift_node; docs/drift_node.md has them as a table."""

    # fmt: off
    payload_link: str = parameter("", "link on which a payload may change; empty: the last one")
    cutoff: float = parameter(5.0, unit="Hz", bounds=(0.05, 1000.0),
        meaning="cut-off frequency of the zero-phase filter; at most a fifth of the rate of the"
        " states")
    pair_tolerance: float = parameter(0.0, unit="s", bounds=(0.0, 0.1),
        meaning="largest difference between the stamps of a joint state and a motor state that are"
        " paired")

    state_file: str = parameter("drift.npz",
        meaning="file in which the reference and the last days are kept; empty: start a new"
        " reference at every activation")
    # fmt: on
    segment: float = declared(DriftSettings, "segment")
    block: float = declared(DriftSettings, "block")
    reference: float = declared(DriftSettings, "reference")
    warm_up_time: float = declared(DriftSettings, "warm_up_time")
    remembered_days: float = declared(DriftSettings, "remembered_days")
    false_alarm_level: float = declared(DriftSettings, "false_alarm_level")
    least_payload: float = declared(DriftSettings, "least_payload")
    least_friction: float = declared(DriftSettings, "least_friction")
    least_offset: float = declared(DriftSettings, "least_offset")
    least_stiffness: float = declared(DriftSettings, "least_stiffness")

    def check(self) -> None:
        super().check()
        try:
            self.settings()
        except InputError as error:
            raise ParameterError(str(error)) from None

    def settings(self) -> DriftSettings:
        """The settings of the watch. Raises InputError if they are inconsistent."""
        return DriftSettings(
            **{each.name: getattr(self, each.name) for each in fields(DriftSettings)}
        )


class DriftNode(ManagedNode[DriftParameters]):
    """The node; see the module and docs/drift_node.md."""

    def __init__(self) -> None:
        super().__init__("drift_node", DriftParameters)
        self._source = RobotSource(self)

    # Life cycle

    def configure(self) -> None:
        p = self.parameters
        model = self._source.load()
        self._robot: Robot = p.robot(model)
        self._used = p.measured(model)
        self._settings = Settings(
            urdf=Path(),
            gravity=p.gravity,
            prefix=p.prefix,
            held=p.held,
            cutoff=p.cutoff,
            from_positions=p.from_positions,
        )
        self._names = [p.prefix + model.joint_names[i] for i in self._used]
        self._body = model.body_index(p.payload_link) if p.payload_link else model.n - 1
        warm_up(self._robot, self._settings)
        self.get_logger().info(f"configured for {model.name}: {', '.join(self._names)}")

    def activate(self) -> None:
        p = self.parameters
        self._watch = DriftWatch(self._robot, p.settings(), self._body, self._settings)
        self._file = Path(p.state_file) if p.state_file else None
        self._failure = ""
        self._remember()
        self._inputs = Inputs(self)
        self._reported: tuple[str, ...] = ()
        self._restart()
        self.activation.callback(self._save)
        quality = best_effort(QUEUE)
        self._inputs.listen(JointState, "joint_states", self._on_state, quality)
        if self._robot.actuators is not None:
            self._inputs.listen(JointState, "motor_states", self._on_motors, quality)
        self.activation.service(Trigger, "~/reset_reference", self._on_reset)
        Diagnostics(self, self._robot.model.name, self._statuses)

    # Memory

    def _remember(self) -> None:
        """Continue from the state file, if there is one."""
        if self._file is None or not self._file.exists():
            return
        try:
            self._watch.load(self._file)
        except InputError as error:
            raise ParameterError(f"state_file: {error}") from None
        self.get_logger().info(f"continuing from {self._file}: {self._watch.judged} blocks so far")

    def _save(self) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._watch.save(self._file)
            self._failure = ""
        except OSError as error:
            self._failure = f"{self._file} cannot be written: {error}"
            self.get_logger().error(self._failure)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Any:
        self._watch.forget()
        self._reported = ()
        self._save()
        response.success, response.message = True, "a new reference begins"
        self.get_logger().info(response.message)
        return response

    # States

    def _restart(self) -> None:
        """Reset the filter; the next state counts as the first. Statistics remain."""
        self._states: JointStates | None = None
        self._springs: SpringSamples | None = None

    def _on_state(self, message: JointState) -> None:
        if self._states is None:
            self._states = self._first(message)
        elif self._states.has_jumped_back(message, 0, 0):
            self.get_logger().info("stamps jumped back: resetting the filter")
            self._states = self._first(message)
        if not self._states.accept(message, 0):
            return
        if self._springs is not None:
            self._springs.add_links(self.parameters.pair_tolerance, self._period)
        states = self._states
        rows = np.stack([states.position, states.velocity, states.effort])
        for found in self._stream.push(states.stamp, rows):
            self._add(states.stamp, found)

    def _on_motors(self, message: JointState) -> None:
        if self._springs is not None:
            self._springs.add_motors(message, self.parameters.pair_tolerance, self._period)

    def _first(self, message: JointState) -> JointStates:
        """Begin a stream of states."""
        states, has_velocity = self.parameters.states(message, self._names, self._robot.model)
        self._stream = StateStream(self._robot, self._settings, velocity=has_velocity)
        actuators = self._robot.actuators
        if actuators is not None:
            self._springs = SpringSamples(actuators, states, self._used, self.parameters.prefix)
        return states

    @property
    def _period(self) -> float:
        """Period of the samples, s; 0 until it is known."""
        return 1.0 / (8.0 * self._stream.look.cutoff) if self._stream.look else 0.0

    def _add(self, stamp: int, found: Any) -> None:
        """Add compared states, and the pairs of joint and motor states of the same period."""
        sums = torque_sums(self._robot, self._body, found, self._period)
        springs = self._springs.taken() if self._springs is not None else None
        if springs is not None and (np.abs(found.state[1]) > AT_REST).any():
            sums = sums + springs
        if self._watch.add(stamp, sums):
            self._report()
            self._save()

    # Reports

    def _report(self) -> None:
        """Log drift that begins, changes its cause, or ends."""
        causes = tuple(f"{each.kind} {each.name}" for each in self._watch.drifts)
        if causes == self._reported:
            return
        self._reported = causes
        text = "; ".join(each.text for each in self._watch.drifts)
        if text:
            self.get_logger().warning(f"the robot has changed: {text}")
        else:
            self.get_logger().info("the robot agrees with its reference again")

    def _statuses(self) -> Iterator[Status]:
        watch = self._watch
        values: dict[str, object] = {"blocks judged": watch.judged, "warmth": watch.warmth}
        for each in watch.drifts:
            values[f"{each.kind} of {each.name}"] = each.text
        if watch.drifts:
            text = "; ".join(each.text for each in watch.drifts)
            yield Status("drift", WARN, text, values)
        elif watch.judged:
            yield Status("drift", OK, "agrees with the reference", values)
        else:
            yield Status("drift", STALE, "no block judged yet", values)
        progress = {
            f"{name}, complete": share
            for name, (share, _) in zip(WARMTHS, watch.progress(), strict=True)
        }
        if self._failure:
            yield Status("memory", ERROR, self._failure, dict(progress))
        else:
            kept = str(self._file or "no state_file: nothing is kept after deactivation")
            yield Status("memory", OK, kept, dict(progress))
        inputs = self._inputs.status({})
        if self._states is None or not self._states.stamp:
            missing = self._states.missing if self._states is not None else self._names
            inputs = inputs._replace(level=STALE, text=f"no state yet for {', '.join(missing)}")
        yield inputs


main = DriftNode.main


if __name__ == "__main__":
    sys.exit(main())
