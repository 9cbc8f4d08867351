"""The hand of an arm with elastic joints goes through poses, over ROS 2: a picture of its path, of
its error, and of the torques.

Simulator and task_space_node run as processes of their own, in simulated time. What the hand should
do is taken from the joint_trajectory that the node shows.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path as PathMessage
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.signals import SignalHandlerOptions
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.core import Array
from ..dynamics.lie import se3, so3
from ..dynamics.model import MultibodyModel
from ..dynamics.motion import interpolate
from ..dynamics.rigid import frame_pose
from ..nodes.base.messages import JointMatcher, nanoseconds, read_trajectory
from ..nodes.base.robot import find_file
from ..resources import share_directory
from .analysis import load_quietly
from .environment import ros_settings
from .pictures import HOUSE_STYLE
from .processes import DemoError, NodeProcesses, refuse_company
from .recording import QUEUE

SIMULATOR, NODE = "elastic_robot_simulator_node", "task_space_node"
PARAMETERS = "config/task_demo.yaml"
SETTLING = 2_000_000_000  # ns: the arm swings a little when its brakes are opened
PATIENCE = 180.0  # s: the first start of all compiles
TORQUES = ("torque", "torque_rate", "torque_acceleration")

# Relative to where the hand is at first, in its own frame: screws (omega, v) in rad and m.
POSES = (
    (0.0, 0.3, 0.0, 0.10, 0.15, 0.05),
    (0.3, 0.0, 0.5, 0.15, 0.00, 0.10),
    (0.0, -0.3, 0.2, 0.00, -0.20, 0.05),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)


def run_task_demo(
    folder: Path, *, poses: Any = POSES, domain_id: int | None = None
) -> dict[str, float]:
    """Run it and write task_space.png and task_space.json; the figures of the latter.

    poses: screws (k, 6) from the first pose of the hand. Raises DemoError; Ctrl-C and SIGTERM end
    the nodes, too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(ros_settings(domain_id))
    file = share_directory() / PARAMETERS
    parameters = yaml.safe_load(file.read_text(encoding="utf-8"))
    p = parameters[f"/**/{NODE}"]["ros__parameters"]
    first = parameters[f"/**/{SIMULATOR}"]["ros__parameters"]["initial_positions"]
    model = load_quietly(find_file(p["robot_file"]))
    goals = frame_pose(model, first, p["tool"]) @ se3.exp(np.asarray(poses, dtype=np.float64))

    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    context = Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        with NodeProcesses() as nodes:
            for name in (SIMULATOR, NODE):
                nodes.start(
                    name,
                    file,
                    log=folder / f"{name}.log",
                    remappings={"motor_command": f"{NODE}/motor_command"}
                    if name == SIMULATOR
                    else None,
                )
            recording = _record(model, goals, context, nodes.check)
            codes = nodes.stop()
    finally:
        rclpy.try_shutdown(context=context)
        signal.signal(signal.SIGTERM, previous)
    for name, code in codes.items():
        if code != 0:
            raise DemoError(f"{name} left with status {code}; see its log in {folder}")
    return _evaluate(model, p["tool"], goals, recording, folder)


def _record(
    model: MultibodyModel, goals: Array, context: Context, check: Callable[[], None]
) -> dict[str, list[Any]]:
    """Send the path, and keep all messages until the robot rests again."""
    peer = rclpy.create_node("task_demo", context=context)
    executor = EventsExecutor(context=context)
    executor.add_node(peer)
    kinds = {"joint_states": JointState, "joint_trajectory": JointTrajectory}
    kinds |= {f"{NODE}/{name}": JointState for name in TORQUES}
    kinds[f"{NODE}/motor_command"] = JointTrajectory
    recording: dict[str, list[Any]] = {name: [] for name in kinds}
    for name, kind in kinds.items():
        peer.create_subscription(kind, name, recording[name].append, QUEUE)
    publisher = peer.create_publisher(PathMessage, "cartesian_path", QUEUE)

    def until(condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            check()
            refuse_company(peer)
            if time.monotonic() > deadline:
                raise DemoError(f"waited {PATIENCE:.0f} s in vain for {what}")
            executor.spin_once(timeout_sec=0.05)

    try:
        commands, states = recording[f"{NODE}/motor_command"], recording["joint_states"]
        until(lambda: commands and publisher.get_subscription_count(), "commands")
        rest = _stamp(commands[0]) + SETTLING
        until(lambda: _stamp(commands[-1]) > rest, "the arm to settle")
        publisher.publish(_path(model.base_name, goals))
        shown = recording["joint_trajectory"]
        until(lambda: shown, "a motion; a refusal is in the log of the node")
        end = _stamp(shown[0]) + nanoseconds(shown[0].points[-1].time_from_start) + 300_000_000
        until(lambda: _stamp(states[-1]) > end and _stamp(commands[-1]) > end, "the end")
    finally:
        executor.shutdown()
        peer.destroy_node()
    return recording


def _evaluate(
    model: MultibodyModel, tool: str, goals: Array, recording: dict[str, list[Any]], folder: Path
) -> dict[str, float]:
    names = model.joint_names
    shown = recording["joint_trajectory"][0]
    request = read_trajectory(shown, JointMatcher(names))
    begin, states = _stamp(shown), recording["joint_states"]
    assert request.positions is not None
    start = states[0].position
    reference = interpolate(
        names,
        np.r_[0.0, request.times],
        [start, *request.positions],
        [None, *request.velocities[:-1], None],  # type: ignore[index]
        [None, *request.accelerations[:-1], None],  # type: ignore[index]
    )
    length = reference.duration

    def table(topic: str, field: str) -> tuple[Array, Array]:
        times = np.array([1e-9 * (_stamp(m) - begin) for m in recording[topic]])
        rows = np.array([getattr(m, field) for m in recording[topic]])
        chosen = (times > -0.2) & (times < length + 0.3)
        return times[chosen], rows[chosen]

    times, q = table("joint_states", "position")
    wanted = frame_pose(model, reference.sample(times)[:, 0], tool)
    reached = frame_pose(model, q, tool)
    off = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=1)
    turned = np.linalg.norm(
        so3.log(np.swapaxes(wanted[:, :3, :3], 1, 2) @ reached[:, :3, :3]), axis=1
    )
    moving = (times > 0) & (times < length)
    goal = goals[-1]
    passed = [
        _nearest(lambda t: frame_pose(model, reference(t)[0], tool), length, C) for C in goals
    ]
    figures = {
        "duration [s]": length,
        "greatest error of the hand [um]": 1e6 * float(off[moving].max()),
        "root mean square of it [um]": 1e6 * float(np.sqrt((off[moving] ** 2).mean())),
        "greatest error of its orientation [urad]": 1e6 * float(turned[moving].max()),
        "from the goal at last [um]": 1e6 * float(np.linalg.norm((reached[-1] - goal)[:3, 3])),
        "from the poses on the way [um]": 1e6 * max(passed),
    }
    (folder / "task_space.json").write_text(json.dumps(figures, indent=2) + "\n")
    torques = [table(f"{NODE}/{name}", "effort") for name in TORQUES]
    _draw(folder / "task_space.png", names, goals, wanted, reached, times, off, turned, torques)
    return figures


def _nearest(motion: Callable[[float], Array], duration: float, goal: Array) -> float:
    """How near (m) a motion comes to the place of a pose."""

    def distance(t: float) -> float:
        return float(np.linalg.norm((motion(t) - goal)[:3, 3]))

    times = np.linspace(0.0, duration, 200)
    k = int(np.argmin([distance(t) for t in times]))
    bounds = (max(times[k] - times[1], 0.0), min(times[k] + times[1], duration))
    found = minimize_scalar(distance, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return float(found.fun)


def _draw(
    file: Path,
    names: tuple[str, ...],
    goals: Array,
    wanted: Array,
    reached: Array,
    times: Array,
    off: Array,
    turned: Array,
    torques: list[tuple[Array, Array]],
) -> None:
    """The path and its error on the left, the torques with their rates on the right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(HOUSE_STYLE)  # type: ignore[arg-type]
    figure = pyplot.figure(figsize=(12.0, 8.0), layout="constrained")
    grid = figure.add_gridspec(6, 2)
    space: Any = figure.add_subplot(grid[:4, 0], projection="3d")
    space.plot(*wanted[:, :3, 3].T, color="#56B4E9", lw=4.0, label="wanted")
    space.plot(*reached[:, :3, 3].T, color="#D55E00", lw=1.0, label="the elastic arm")
    for k, pose in enumerate(goals):
        for i, colour in enumerate(("#CC3311", "#117733", "#0077BB")):
            ends = np.stack([pose[:3, 3], pose[:3, 3] + 0.05 * pose[:3, i]])
            space.plot(*ends.T, color=colour, lw=2.0)
        space.text(*pose[:3, 3], f" {k + 1}")
    space.set(xlabel="x  [m]", ylabel="y  [m]", zlabel="z  [m]", title="path of the hand")
    space.yaxis.labelpad = 12.0
    space.set_aspect("equal")
    space.legend()
    for row, (values, label) in enumerate(
        ((1e6 * off, "position\n[µm]"), (1e6 * turned, "orientation\n[µrad]"))
    ):
        axis = figure.add_subplot(grid[4 + row, 0])
        axis.plot(times, values, color="#D55E00")
        axis.set(ylabel=label, xlim=(times[0], times[-1]), ylim=(0, None))
        if row == 0:
            axis.set_title("how far the hand of the elastic arm is off")
    axis.set_xlabel("time  [s]")
    labels = ("Q  [N m]", "Q'  [N m/s]", "Q''  [N m/s²]")
    for row, ((at, rows), label) in enumerate(zip(torques, labels, strict=True)):
        axis = figure.add_subplot(grid[2 * row : 2 * row + 2, 1])
        axis.plot(at, rows, lw=1.1, label=names)
        axis.set(ylabel=label, xlim=(times[0], times[-1]))
        if row == 0:
            axis.set_title("feedforward torques of the joints, and their rates")
            axis.legend(ncols=4, fontsize=7, loc="upper right", bbox_to_anchor=(1.0, 0.87))
    axis.set_xlabel("time  [s]")
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def _path(frame: str, poses: Array) -> PathMessage:
    message = PathMessage()
    message.header.frame_id = frame
    for pose in poses:
        item = PoseStamped()
        for name, value in zip("xyz", pose[:3, 3].tolist(), strict=True):
            setattr(item.pose.position, name, value)
        quaternion = Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()
        for name, value in zip("xyzw", quaternion, strict=True):
            setattr(item.pose.orientation, name, value)
        message.poses.append(item)
    return message


def _stamp(message: Any) -> int:
    return nanoseconds(message.header.stamp)
