# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Compares measured torques with those of the model while the robot moves.

It makes the comparison of `multibody_dynamics validate` on a stream of states: every output carries
the stamp of its state and is delayed by half the length of the filter. The states are recorded, and
at the end the node writes the same full report as the command. Only the stamps of the states
matter, so a robot, a simulation and `ros2 bag play` are treated alike. docs/validation_node.md
describes topics, parameters and behaviour.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sensor_msgs.msg import JointState

from ..validation.settings import Robot, Settings
from ..validation.state_stream import RunningResiduals, StateStream, warm_up
from .base.diagnostics import (
    ERROR,
    OK,
    STALE,
    WARN,
    CycleStatistics,
    Diagnostics,
    EventCounter,
    Status,
)
from .base.messages import JointMatcher, JointStates, nanoseconds
from .base.node_inputs import Inputs
from .base.outputs import Outputs
from .base.parameters import ParameterError, parameter
from .base.qos import best_effort
from .base.robot import find_file
from .base.robot_source import RobotSource
from .base.runtime import ManagedNode
from .base.watchdog import Watchdog
from .validation.compared_robot import ComparedRobotParameters
from .validation.reported_recordings import ReportedRecordings

QUEUE = 1000  # states; none may be lost during a comparison, which takes milliseconds


@dataclass(frozen=True)
class ValidationParameters(ComparedRobotParameters):
    """The parameters of validation_node; docs/validation_node.md has them as a table."""

    # fmt: off
    effort: str = parameter("joint", choices=("joint", "motor"),
        meaning="side of the springs on which the efforts are measured")
    cutoff: float = parameter(10.0, unit="Hz", bounds=(0.05, 1000.0),
        meaning="cut-off frequency of the zero-phase filter; at most a fifth of the rate of the"
        " states; the outputs are delayed by 3.6 periods of this frequency")
    compared_rate: float = parameter(0.0, unit="Hz", bounds=(0.0, 10000.0),
        meaning="rate of the outputs, rounded to an integer fraction of the rate of the states; 0:"
        " eight times the cut-off")

    window: float = parameter(1.0, unit="s", bounds=(1.0, 3600.0), live=True,
        meaning="time window of the running rms")
    max_rms_share: float = parameter(0.1, bounds=(0.0, 10.0), live=True,
        meaning="warn if the running rms exceeds this share of the robot's effort limit; 0: never")
    max_nrms: float = parameter(0.0, bounds=(0.0, 1000.0), live=True,
        meaning="warn if the normalised error since the first state exceeds this; 0: never")

    output: str = parameter("validation",
        meaning="folder of the recordings and their reports, recording_N; empty: do not record")
    silence: float = parameter(5.0, unit="s", bounds=(0.1, 3600.0), live=True,
        meaning="end a recording and write its report if no state arrives for this long")
    longest_recording: float = parameter(3600.0, unit="s", bounds=(1.0, 86400.0), live=True,
        meaning="end a recording after this long, and begin the next one")
    # fmt: on

    def check(self) -> None:
        super().check()
        if self.effort == "motor" and not self.elastic_joints_file:
            raise ParameterError("effort 'motor' requires elastic_joints_file")


class ValidationNode(ManagedNode[ValidationParameters]):
    """The node; see the module and docs/validation_node.md."""

    def __init__(self) -> None:
        super().__init__("validation_node", ValidationParameters)
        self._source = RobotSource(self)

    # Life cycle

    def configure(self) -> None:
        p = self.parameters
        model = self._source.load()
        self._urdf_text = "" if p.robot_file else p.robot_description or self._source.description
        self._robot: Robot = p.robot(model)
        used = p.measured(model)
        self._settings = Settings(
            urdf=find_file(p.robot_file) if p.robot_file else Path(),
            data=find_file(p.data_file) if p.data_file else None,
            elastic_joints=find_file(p.elastic_joints_file) if p.elastic_joints_file else None,
            effort=p.effort,
            gravity=p.gravity,
            prefix=p.prefix,
            held=p.held,
            cutoff=p.cutoff,
            rate=p.compared_rate or None,
            from_positions=p.from_positions,
        )
        self._names = [p.prefix + model.joint_names[i] for i in used]
        self._effort_limits = model.limits.effort[used]
        warm_up(self._robot, self._settings)
        self._outputs = Outputs(self)
        self._efforts = [
            self._outputs.joint_state(f"~/{name}", self._names, "effort")[0]
            for name in ("predicted_effort", "measured_effort", "residual")
        ]
        self.get_logger().info(f"configured for {model.name}: {', '.join(self._names)}")

    def activate(self) -> None:
        p = self.parameters
        self._recordings = ReportedRecordings(
            p.output,
            self.resolve_topic_name("joint_states"),
            self._robot,
            self._settings,
            self._urdf_text,
            self.get_logger(),
        )
        self._matcher = JointMatcher(self._names, self._robot.model.transmissions, p.prefix)
        self._inputs, self._events = Inputs(self), EventCounter()
        self._foreign = 0  # messages without our joints
        self._is_too_large = False
        self._restart()
        activation = self.activation
        activation.callback(self._recordings.close)  # waits for the report of the last recording
        activation.callback(self._end_recording)
        self._watchdog = Watchdog(
            lambda: self.parameters.silence, lambda age: self.defer(self._on_silence)
        )
        activation.callback(self._watchdog.stop)
        self._watchdog.start()
        self._inputs.listen(JointState, "joint_states", self._on_state, best_effort(QUEUE))
        Diagnostics(self, self._robot.model.name, self._statuses)

    # States

    def _restart(self) -> None:
        """Reset filters and statistics; the next state counts as the first."""
        self._states: JointStates | None = None
        self._running = RunningResiduals(len(self._names))
        self._statistics = CycleStatistics()
        self._is_finite = True

    def _on_state(self, message: JointState) -> None:
        begin = time.monotonic_ns()
        if self._matcher.match(message.name).source.size == 0:
            self._foreign += 1
            return
        if self._states is None:
            self._states = self._first(message)
        elif nanoseconds(message.header.stamp) and self._states.has_jumped_back(message, 0, 0):
            self._end(f"stamps jumped back by {self._seconds_back(message):.3f} s")
            self._states = self._first(message)
        self._record(message)
        if self._states.accept(message, 0):
            self._watchdog.feed()
            self._compare(begin)

    def _first(self, message: JointState) -> JointStates:
        """Begin a stream of states."""
        states, has_velocity = self.parameters.states(message, self._names, self._robot.model)
        self._stream = StateStream(self._robot, self._settings, velocity=has_velocity)
        return states

    def _seconds_back(self, message: JointState) -> float:
        assert self._states is not None
        return 1e-9 * (self._states.stamp - nanoseconds(message.header.stamp))

    def _compare(self, begin: int) -> None:
        states, stream = self._states, self._stream
        assert states is not None
        was_known = stream.look is not None
        rows = np.stack([states.position, states.velocity, states.effort])
        for compared in stream.push(states.stamp, rows):
            for k, t in enumerate(compared.times.tolist()):
                predicted = compared.predicted[0][k, stream.used]
                measured = compared.measured[0][k, stream.used]
                self._is_finite = bool(np.isfinite(predicted - measured).all())
                if not self._is_finite:
                    self._events.add("output not finite")
                    continue
                self._running.add(t, predicted, measured)
                self._efforts[0][:], self._efforts[1][:] = predicted, measured
                self._efforts[2][:] = predicted - measured
                stamp = stream.look.origin + round(1e9 * t)
                self._outputs.publish_all(stamp)
                self._statistics.record(begin, time.monotonic_ns(), stamp, states.stamp)
        if stream.look is not None and not was_known:
            self._log_filter()

    def _log_filter(self) -> None:
        stream, p = self._stream, self.parameters
        assert stream.look is not None
        signals = "positions and velocities" if stream.look.velocity else "positions"
        self.get_logger().info(
            f"{stream.rate:.5g} states/s with {signals}; cut-off {stream.look.cutoff:.4g} Hz,"
            f" outputs delayed by {stream.delay:.3g} s"
        )
        if stream.look.cutoff < p.cutoff:
            self.get_logger().warning(
                f"cut-off {p.cutoff:g} Hz exceeds a fifth of {stream.rate:.5g} states/s: lowered to"
                f" {stream.look.cutoff:.4g} Hz"
            )

    # Recordings

    def _record(self, message: JointState) -> None:
        self._recordings.add(message)
        if self._recordings.is_longer_than(self.parameters.longest_recording):
            self._end_recording()

    def _on_silence(self) -> None:
        is_silent = self._watchdog.stale and not self.activation.is_over
        if is_silent and self._states is not None:
            self._end(f"no state for {self._watchdog.age():.1f} s")

    def _end(self, why: str) -> None:
        """End the recording; later states are independent of it."""
        self.get_logger().info(f"{why}: resetting filters and statistics")
        self._events.add("restarted", why)
        self._end_recording()
        self._restart()

    def _end_recording(self) -> None:
        look = self._stream.look if self._states is not None else None
        self._recordings.end(look.cutoff if look else None)

    # Diagnostics

    def _statuses(self) -> Iterator[Status]:
        yield self._residual_status()
        yield self._comparison_status()
        yield self._inputs.status({"joint_states: messages without our joints": self._foreign})
        yield Status("recording", *self._recordings.status())

    def _residual_status(self) -> Status:
        p, total = self.parameters, self._running.total
        if not total.count:
            return Status("residual", STALE, "nothing compared yet", {})
        last = self._running.of_last(p.window)
        values: dict[str, object] = {}
        problems = []
        for j, name in enumerate(self._names):
            rms, nrms = float(last.rms[j]), float(total.normalized[j])
            values[f"{name} rms"] = rms
            values[f"{name} max"] = float(last.largest[j])
            values[f"{name} rms since the start"] = float(total.rms[j])
            allowed = p.max_rms_share * self._effort_limits[j]
            if p.max_rms_share and rms > allowed:
                problems.append(f"'{name}': rms {rms:.4g} in {p.window:g} s, allowed {allowed:.4g}")
            if not np.isfinite(nrms):  # the torque was constant
                continue
            values[f"{name} nrms since the start"] = nrms
            if p.max_nrms and nrms > p.max_nrms:
                problems.append(f"'{name}': nrms {nrms:.4g}, allowed {p.max_nrms:g}")
        if problems and not self._is_too_large:
            self.get_logger().warning(f"the robot deviates from the model: {'; '.join(problems)}")
        self._is_too_large = bool(problems)
        text = "; ".join(problems) or f"largest rms {last.rms.max():.4g}"
        return Status("residual", WARN if problems else OK, text, values)

    def _comparison_status(self) -> Status:
        stream = self._stream if self._states is not None else None
        figures: dict[str, object] = dict(self._statistics.report())
        _, events = self._events.report()
        if stream is None or stream.look is None:
            missing = self._states.missing if self._states is not None else self._names
            text = (
                f"no state received yet for {', '.join(missing)}"
                if missing
                else "estimating the rate"
            )
            return Status("comparison", STALE, text, figures | events)
        figures |= {
            "states per second": stream.rate,
            "cut-off [Hz]": stream.look.cutoff,
            "delay [s]": stream.delay,
            "velocities": "used" if stream.look.velocity else "from positions",
            "compared": self._running.total.count,
            "age of the state [s]": self._watchdog.age(),
        }
        if not self._is_finite:
            text = "the computed output is not finite and was not published"
            return Status("comparison", ERROR, text, figures | events)
        text = f"{stream.rate:.5g} states/s, delayed by {stream.delay:.3g} s"
        return Status("comparison", OK, text, figures | events)


main = ValidationNode.main


if __name__ == "__main__":
    sys.exit(main())
