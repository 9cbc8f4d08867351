"""The demo: simulator, feedforward or controller, and trajectory as processes of their own, one run
per variant of the feedforward, then one per law and plant; robot and trajectory stay the same. Then
a report of what was recorded, of each of the two comparisons.

`prepare` makes everything that a run needs for any robot, `record` listens to a run that is under
way (it serves launch/demo.launch.py, too), and `run_demo` does both and starts the nodes itself.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ..dynamics.core import Array, InputError
from ..dynamics.elastic import VARIANTS, load_actuators
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import match_joints
from ..dynamics.rigid import mass_matrix
from ..nodes.base.messages import SECOND, TrajectoryRequest, nanoseconds
from ..nodes.base.robot import find_file
from ..nodes.trajectory_node import TrajectoryParameters, make_motion
from ..resources import share_directory
from .analysis import load_quietly, reference_of
from .control_analysis import LAWS, PLANTS, run_name
from .control_report import OUTPUTS as CONTROL_OUTPUTS
from .control_report import write_control_report
from .environment import ros_settings
from .pictures import error_unit
from .processes import DemoError, NodeProcesses
from .recording import (
    CONTROL_TOPICS,
    CONTROLLER,
    FEEDFORWARD,
    PARAMETERS,
    SIMULATOR,
    TOPICS,
    TRAJECTORY,
    Recorder,
    Recording,
    Topic,
    read_parameters,
)
from .report import OUTPUTS, write_report

REMAPPINGS = {SIMULATOR: {"motor_command": f"{FEEDFORWARD}/motor_command"}}
CONTROL_REMAPPINGS = {SIMULATOR: {"motor_torque_stamped": f"{CONTROLLER}/motor_torque"}}
CONTROL_FOLDER = "controllers"  # of their runs, in the folder of the demo

POLL_PERIOD = 0.01  # s
STATUS_PERIOD = 0.25  # s
START_PATIENCE = 180.0  # s: the first start of all compiles
END_PATIENCE = 60.0  # s beyond the end of the motion: time passes slowly on a busy computer
SETTLING = 3 * SECOND // 10  # ns that are recorded after it

# Springs and motors for a robot that comes without: every link, the others locked, swings against
# its locked motor at SPRING_FREQUENCY, and rotor and gear weigh MOTOR_SHARE of the link.
SPRING_FREQUENCY = 10.0  # Hz
MOTOR_SHARE = 0.5
GEAR_RATIO = 100.0
MOTION_NUMBERS = ("offset", "cosine", "sine", "waypoints")


@dataclass(frozen=True)
class Comparison:
    """What is compared: the node between simulator and trajectory, in runs that override parameters
    of the nodes."""

    configuration: str  # in config/
    controller: str
    topics: Mapping[str, Topic]
    remappings: Mapping[str, Mapping[str, str]]
    runs: Mapping[str, Mapping[str, Mapping[str, str]]]  # name: node: parameter
    outputs: tuple[str, ...]
    write: Callable[[Path], dict[str, Any]]

    @property
    def nodes(self) -> tuple[str, str, str]:
        return SIMULATOR, self.controller, TRAJECTORY


FEEDFORWARDS = Comparison(
    "demo.yaml",
    FEEDFORWARD,
    TOPICS,
    REMAPPINGS,
    {variant: {FEEDFORWARD: {"variant": variant}} for variant in VARIANTS},
    OUTPUTS,
    write_report,
)


def controllers(plants: Sequence[str] = PLANTS) -> Comparison:
    """The laws of the controller on one plant after the other."""
    return Comparison(
        "controllers_demo.yaml",
        CONTROLLER,
        CONTROL_TOPICS,
        CONTROL_REMAPPINGS,
        {
            run_name(plant, law): {SIMULATOR: {"plant": plant}, CONTROLLER: {"law": law}}
            for plant in plants
            for law in LAWS
        },
        CONTROL_OUTPUTS,
        write_control_report,
    )


def available_plants() -> tuple[str, ...]:
    """Those whose packages are installed: MuJoCo is an extra."""
    return PLANTS if find_spec("mujoco") else PLANTS[:1]


@dataclass(frozen=True)
class Demo:
    """What the nodes get: the file with the parameters of all three is in `folder`."""

    folder: Path
    model: MultibodyModel
    parameters: Mapping[str, Mapping[str, Any]]  # by node
    comparison: Comparison = FEEDFORWARDS

    @property
    def file(self) -> Path:
        return self.folder / PARAMETERS


def prepare(
    folder: Path,
    comparison: Comparison = FEEDFORWARDS,
    *,
    robot: str = "",
    elastic_joints: str = "",
    motion: str = "",
    duration: float | None = None,
    rate: float | None = None,
    real_time: bool = False,
    keep: bool = False,
) -> Demo:
    """Write the parameters of the demo for a robot (URDF file; '': the Panda) to `folder`.

    From the file of the comparison in config/; springs (YAML file) and motion that belong to other
    joints than the robot's are replaced by generated ones. rate: of the simulator, Hz. real_time:
    do not wait for commands that come late. keep: the runs that are in the folder. Raises
    DynamicsError or OSError for files that cannot be used, and joints with two motors.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    recordings = () if keep else folder.glob("*.npz")
    for name in (*comparison.outputs, *recordings):
        (folder / name).unlink(missing_ok=True)  # of an earlier demo
    parameters = read_parameters(share_directory() / "config" / comparison.configuration)
    simulator, controller, trajectory = (parameters[name] for name in comparison.nodes)
    file = find_file(robot or controller["robot_file"])
    model = load_quietly(file)
    names = model.joint_names

    is_ours = set(names) == set(trajectory["joints"])
    if not is_ours:
        for key in ("joints", *MOTION_NUMBERS):
            trajectory.pop(key, None)
    if motion and motion != trajectory["motion"]:
        trajectory["motion"] = motion
        for key in MOTION_NUMBERS:
            trajectory.pop(key, None)
    if duration is not None:
        trajectory["duration"] = float(duration)
    if elastic_joints or is_ours:
        springs = find_file(elastic_joints or controller["elastic_joints_file"])
    else:
        springs = folder / "elastic_joints.yaml"
        springs.write_text(generated_springs(model))
    if load_actuators(springs, names, model.joint_types).motor_names != names:
        raise InputError(f"{springs}: joints with two motors, which the demo cannot show")
    if rate is not None:
        simulator["update_rate"] = controller["expected_rate"] = float(rate)
        if controller is parameters.get(FEEDFORWARD):
            controller["lookahead"] = 1.5 / rate
        else:
            controller["command_delay"] = 1.0 / rate

    if real_time:
        simulator["lockstep"] = simulator["publish_clock"] = False
        simulator.pop("max_speed", None)
        controller["use_sim_time"] = trajectory["use_sim_time"] = False

    for node in parameters.values():
        node["robot_file"] = str(file)
    for node in (simulator, controller):
        node["elastic_joints_file"] = str(springs)
        node["command_joints"] = list(names)
    reference = make_motion(model, trajectory_parameters(trajectory))
    simulator["initial_positions"] = reference(reference.start_time)[0].tolist()

    demo = Demo(folder, model, parameters, comparison)
    text = yaml.safe_dump(
        {f"/**/{name}": {"ros__parameters": values} for name, values in parameters.items()},
        sort_keys=False,
        default_flow_style=None,
    )
    demo.file.write_text(
        f"# Of the demo's nodes, from config/{comparison.configuration} and its arguments.\n{text}"
    )
    return demo


def trajectory_parameters(values: Mapping[str, Any]) -> TrajectoryParameters:
    """The trajectory node's own parameters from those of a file."""
    own = {field.name for field in fields(TrajectoryParameters)} & values.keys()
    return TrajectoryParameters(
        **{key: tuple(values[key]) if isinstance(values[key], list) else values[key] for key in own}
    )


def generated_springs(model: MultibodyModel) -> str:
    """Springs and motors in the schema of config/elastic_joints/, from the robot's mass matrix."""
    rng = np.random.default_rng(0)
    limits = model.limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    poses = rng.uniform(lower, np.maximum(lower, upper), size=(32, model.n))
    inertia = np.mean([np.diag(mass_matrix(model, q)) for q in poses], axis=0)
    joints = {}
    for name, kind, m in zip(model.joint_names, model.joint_types, inertia.tolist(), strict=True):
        prismatic = kind == "prismatic"
        stiffness, mass = ("N/m", "kg") if prismatic else ("N m/rad", "kg m^2")
        ratio: Any = {"value": GEAR_RATIO, "unit": "rad/m"} if prismatic else GEAR_RATIO
        joints[name] = {
            **({"motion": "prismatic"} if prismatic else {}),
            "spring": {
                "law": "linear",
                "stiffness": _quantity(m * (2.0 * np.pi * SPRING_FREQUENCY) ** 2, stiffness),
            },
            "motor": {"gear_ratio": ratio, "inertia": _quantity(MOTOR_SHARE * m, mass)},
        }
    description = (
        f"generated for {model.name}: each link, the others locked, swings at {SPRING_FREQUENCY:g}"
        f" Hz against its locked motor; motors of {MOTOR_SHARE:g} of the link's inertia (means over"
        f" {len(poses)} configurations); no friction"
    )
    return yaml.safe_dump(
        {"description": description, "joints": joints}, sort_keys=False, width=100
    )


def _quantity(value: float, unit: str) -> dict[str, Any]:
    return {"value": float(f"{value:.4g}"), "unit": unit, "side": "link"}


def record(
    demo: Demo,
    variant: str,
    context: Context,
    check: Callable[[], None],
    is_over: Callable[[Recorder], bool],
    *,
    cpu: Callable[[], Mapping[str, float]] = dict,
    namespace: str = "",
) -> Recording:
    """Listen to one run until `is_over`, with a line of status.

    check: called all the time, to raise where a node is gone. cpu: processor time by node, s.
    Raises DemoError when nothing comes.
    """
    topics = demo.comparison.topics
    recorder = Recorder(context, namespace, topics)
    names = demo.model.joint_names

    def until(condition: Callable[[], bool], what: Callable[[], str], patience: float) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            check()
            recorder.refuse_company()
            if time.monotonic() > deadline:
                raise DemoError(f"waited {patience:.0f} s in vain for {what()}")
            time.sleep(POLL_PERIOD)
            recorder.poll()

    def silent() -> str:
        return "messages on " + ", ".join(
            topic.name for key, topic in topics.items() if not recorder.count(key)
        )

    try:
        until(lambda: all(map(recorder.count, topics)), silent, START_PATIENCE)
        until(lambda: bool(recorder.trajectories), lambda: "a trajectory", START_PATIENCE)
        request = recorder.request(names)
        assert request is not None
        line = StatusLine(variant, demo.model, request, recorder)
        begin, used = time.monotonic(), cpu()

        def is_done() -> bool:
            line.update()
            return is_over(recorder)

        until(is_done, lambda: "the end of the motion", float(request.times[-1]) + END_PATIENCE)
        elapsed = time.monotonic() - begin
        share = {name: (t - used[name]) / elapsed for name, t in cpu().items() if name in used}
        line.close()
        recorder.poll()
        return recorder.recording(variant, names, share)
    finally:
        recorder.close()


class StatusLine:
    """What happens now, in one line: on a terminal it is written again and again."""

    def __init__(
        self,
        variant: str,
        model: MultibodyModel,
        request: TrajectoryRequest,
        recorder: Recorder,
    ) -> None:
        self._variant, self._request, self._recorder = variant, request, recorder
        state, _ = recorder.newest("joint_states")[0]
        self._order = match_joints(model.joint_names, state.name)
        self._reference = reference_of(model.joint_names, request, self._position(state))
        self._unit = error_unit(model.joint_types)
        self._live = sys.stdout.isatty()
        self._next = 0.0
        self._peak = 0.0

    def update(self) -> None:
        """Write it anew, if it is time to."""
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
        if t >= self._request.times[0]:  # once the robot is where the motion begins
            self._peak = max(self._peak, error)
        period = (torques[-1][1] - torques[0][1]) / max(len(torques) - 1, 1)
        self._write(
            f"{max(t, 0.0):6.1f} of {self._request.times[-1]:.1f} s"
            f"   tracking error {1e3 * error:9.5f} {self._unit}   {1e9 / max(period, 1.0):5.0f} Hz"
            f"   state to torque {1e-6 * np.median(delays or [np.nan]):.2f} ms",
            end="",
        )

    def close(self) -> None:
        """The last word."""
        self._write(
            f"{self._request.times[-1]:.1f} s done, {self._recorder.count('torque')} torques"
            f" received, tracking error up to {1e3 * self._peak:.5f} {self._unit}",
            end="\n",
        )

    def _write(self, text: str, end: str) -> None:
        if self._live:
            print(f"\r{self._variant:<32}{text}\x1b[K", end=end, flush=True)
        elif end:
            print(f"{self._variant:<32}{text}", flush=True)

    def _position(self, state: JointState) -> Array:
        return np.array(state.position)[self._order]


def _stamp(message: Any) -> int:
    return nanoseconds(message.header.stamp)


def run_once(demo: Demo, variant: str, context: Context) -> Recording:
    """Start the three nodes, record until the trajectory node is done, end them."""
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
        )
        check()
        codes = nodes.stop()
    for name, code in codes.items():
        if code != 0:
            raise DemoError(f"{name} left with status {code}; see its log in {demo.folder}")
    return recording


def run_demo(demo: Demo, *, domain_id: int | None = None) -> dict[str, Any]:
    """Run all that is compared, write recordings and report; the figures of report.json.

    Raises NodeEndedError, DemoError. Ctrl-C and SIGTERM end the nodes, too.
    """
    os.environ.update(ros_settings(domain_id))
    with _terminating():
        for variant in demo.comparison.runs:
            with _context() as context:  # a new one has not met the nodes of the run before
                recording = run_once(demo, variant, context)
            recording.save(demo.folder / f"{variant}.npz")
    return demo.comparison.write(demo.folder)


def record_launched(folder: Path, variant: str, namespace: str = "") -> dict[str, Any]:
    """Record nodes that somebody else has started on what `prepare` wrote, until the motion is
    over; then write the report. Raises InputError where the folder is none of `prepare`."""
    if not (folder / PARAMETERS).is_file():
        raise InputError(f"{folder}: has no {PARAMETERS}, which launch/demo.launch.py writes")
    parameters = read_parameters(folder / PARAMETERS)
    demo = Demo(folder, load_quietly(Path(parameters[FEEDFORWARD]["robot_file"])), parameters)

    def is_over(recorder: Recorder) -> bool:
        sent = recorder.trajectories[0]
        end = _stamp(sent) + nanoseconds(sent.points[-1].time_from_start) + SETTLING
        return _stamp(recorder.newest("torque")[0][0]) > end

    with _terminating(), _context() as context:
        recording = record(demo, variant, context, lambda: None, is_over, namespace=namespace)
    recording.save(folder / f"{variant}.npz")
    return write_report(folder)


@contextmanager
def _context() -> Iterator[Context]:
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield context
    finally:
        rclpy.try_shutdown(context=context)


@contextmanager
def _terminating() -> Iterator[None]:
    """SIGTERM as Ctrl-C, so that the nodes are ended on it."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
