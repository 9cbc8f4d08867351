# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Run and record a demo: simulator, feedforward or controller, and trajectory as processes.

`run_demo` starts the nodes with the parameters that `prepare` wrote, once for each run of the
comparison. `record` records a run in progress, including one started by launch/demo.launch.py.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from rclpy.context import Context
from sensor_msgs.msg import JointState

from ...dynamics.control import TrajectoryRequest
from ...dynamics.core import Array, InputError
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import match_joints
from ...nodes.base.messages import SECOND, nanoseconds
from ...reporting.progress import StatusLine
from ..base.models import load_quietly
from ..base.node_parameters import FEEDFORWARD, PARAMETERS, read_parameters
from ..base.processes import NodeProcesses
from ..base.recording import Recorder, Recording, reference_of
from ..base.ros_settings import ros_context, ros_settings
from .analysis import stop_reason
from .page import error_unit
from .preparation import Demo
from .report import write_report

STATUS_PERIOD = 0.25  # s
START_PATIENCE = 180.0  # s: the very first start compiles
END_PATIENCE = 60.0  # s beyond the end of the motion: simulated time is slow on a busy computer
SETTLING = 3 * SECOND // 10  # ns, recorded after the end of the motion


def record(
    demo: Demo,
    variant: str,
    context: Context,
    check: Callable[[], None],
    is_over: Callable[[Recorder], bool],
    *,
    cpu: Callable[[], Mapping[str, float]] = dict,
    namespace: str = "",
    bag: Path | None = None,
) -> Recording:
    """Record one run until `is_over`, showing a status line.

    check : called repeatedly, to raise if a node has exited
    cpu : CPU time by node, s
    bag : also write the messages and the robot's description into this bag, replacing an old one

    Raises RunError if no messages arrive.
    """
    topics = demo.comparison.topics
    recorder = Recorder(context, namespace, topics)
    names = demo.model.joint_names

    def silent() -> str:
        return "messages on " + ", ".join(
            topic.name for key, topic in topics.items() if not recorder.count(key)
        )

    try:
        recorder.until(lambda: all(map(recorder.count, topics)), silent, START_PATIENCE, check)
        recorder.until(lambda: recorder.trajectories, lambda: "a trajectory", START_PATIENCE, check)
        request = recorder.request(names)
        assert request is not None
        line = RunStatus(variant, demo.model, request, recorder)
        begin, used = time.monotonic(), cpu()

        def is_done() -> bool:
            line.update()
            return is_over(recorder)

        patience = float(request.times[-1]) + END_PATIENCE
        recorder.until(is_done, lambda: "the end of the motion", patience, check)
        elapsed = time.monotonic() - begin
        share = {name: (t - used[name]) / elapsed for name, t in cpu().items() if name in used}
        recorder.poll()
        line.close(stop_reason(recorder.diagnostics, demo.comparison.controller, request.start))
        if bag is not None:
            rmtree(bag, ignore_errors=True)
            recorder.write_bag(bag, demo.robot_file.read_text(encoding="utf-8"))
        return recorder.recording(variant, names, share, demo.motor_names)
    finally:
        recorder.close()


class RunStatus:
    """Progress of a run in one line."""

    def __init__(
        self, variant: str, model: MultibodyModel, request: TrajectoryRequest, recorder: Recorder
    ) -> None:
        self._variant, self._request, self._recorder = variant, request, recorder
        state, _ = recorder.newest("joint_states")[0]
        self._order = match_joints(model.joint_names, state.name, others=True)
        self._reference = reference_of(model.joint_names, request, self._position(state))
        self._unit = error_unit(model.joint_types)
        self._line = StatusLine()
        self._next = 0.0
        self._peak = 0.0

    def update(self) -> None:
        """Rewrite the line if it is due."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + STATUS_PERIOD
        states = self._recorder.newest("joint_states", 100)
        torques = self._recorder.newest("torque", 60)
        sent = {_stamp(message): at for message, at in states}
        delays = [at - sent[_stamp(message)] for message, at in torques if _stamp(message) in sent]
        state, _ = states[-1]
        t = 1e-9 * (_stamp(state) - (self._request.start or 0))
        error = np.abs(self._position(state) - self._reference(t)[0]).max()
        if t >= self._request.times[0]:  # after the approach to the first point
            self._peak = max(self._peak, error)
        period = (torques[-1][1] - torques[0][1]) / max(len(torques) - 1, 1)
        self._write(
            f"{max(t, 0.0):6.1f} of {self._request.times[-1]:.1f} s"
            f"   tracking error {1e3 * error:9.5f} {self._unit}   {1e9 / max(period, 1.0):5.0f} Hz"
            f"   state to torque {1e-6 * np.median(delays or [np.nan]):.2f} ms"
        )

    def close(self, stopped: str) -> None:
        """Write the final line; stopped: why the arm was stopped before the end, or ""."""
        if stopped:
            self._write(f"stopped: {stopped}", stays=True)
            return
        self._write(
            f"{self._request.times[-1]:.1f} s done, {self._recorder.count('torque')} torques"
            f" received, tracking error up to {1e3 * self._peak:.5f} {self._unit}",
            stays=True,
        )

    def _write(self, text: str, *, stays: bool = False) -> None:
        self._line.show(f"{self._variant:<32}{text}", stays=stays)

    def _position(self, state: JointState) -> Array:
        return np.array(state.position)[self._order]


def _stamp(message: Any) -> int:
    return nanoseconds(message.header.stamp)


def run_once(demo: Demo, variant: str, context: Context) -> Recording:
    """Start the three nodes, record until the trajectory node exits, and stop the nodes."""
    comparison = demo.comparison
    with NodeProcesses() as nodes:
        _, _, sender = (
            nodes.start(
                name,
                demo.file,
                log=demo.folder / f"{variant}_{name}.log",
                overrides=comparison.runs[variant].get(name),
                remappings=comparison.remappings.get(name),
            )
            for name in comparison.nodes
        )

        def check() -> None:
            nodes.check(may_leave=[sender])

        recording = record(
            demo,
            variant,
            context,
            check,
            lambda recorder: sender.exit_code is not None,
            cpu=nodes.cpu_seconds,
            bag=demo.folder / f"{variant}_bag",
        )
        check()
        nodes.stop_cleanly()
    return recording


def run_demo(demo: Demo, *, domain_id: int | None = None) -> dict[str, Any]:
    """Perform all runs, write recordings and report, and return the contents of report.json.

    Ctrl-C (KeyboardInterrupt) also stops the nodes. Raises RunError.
    """
    os.environ.update(ros_settings(domain_id))
    for variant in demo.comparison.runs:
        with ros_context() as context:  # a new one, without the previous nodes
            recording = run_once(demo, variant, context)
        recording.save(demo.folder / f"{variant}.npz")
    return demo.comparison.write(demo.folder)


def record_launched(folder: Path, variant: str, namespace: str = "") -> dict[str, Any]:
    """Record nodes that were started elsewhere with the parameters written by `prepare`, until the
    motion ends; then write the report. Raises InputError for a folder without parameters."""
    if not (folder / PARAMETERS).is_file():
        raise InputError(f"{folder} has no {PARAMETERS}, which launch/demo.launch.py writes")
    parameters = read_parameters(folder / PARAMETERS)
    p = parameters[FEEDFORWARD]
    model = load_quietly(Path(p["robot_file"]), p["elastic_joints_file"] or None)
    demo = Demo(folder, model, parameters)

    def is_over(recorder: Recorder) -> bool:
        sent = recorder.trajectories[0]
        end = _stamp(sent) + nanoseconds(sent.points[-1].time_from_start) + SETTLING
        return _stamp(recorder.newest("torque")[0][0]) > end

    with ros_context() as context:
        recording = record(demo, variant, context, lambda: None, is_over, namespace=namespace)
    recording.save(folder / f"{variant}.npz")
    return write_report(folder)
