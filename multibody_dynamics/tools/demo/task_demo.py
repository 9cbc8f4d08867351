# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The demo of task_space_node: the hand of an arm with elastic joints follows a path of poses.

Simulator and task_space_node run as separate processes, in simulated time. The desired motion of
the hand is taken from the joint_trajectory that the node publishes for display.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from nav_msgs.msg import Path as PathMessage
from rclpy.context import Context
from scipy.optimize import minimize_scalar

from ...dynamics.core import Array, read_yaml
from ...dynamics.lie import se3, so3
from ...dynamics.model import MultibodyModel
from ...dynamics.motion import interpolate
from ...dynamics.rigid import frame_pose
from ...nodes.base.messages import nanoseconds
from ...nodes.base.pose_messages import pose_message
from ...nodes.base.robot import find_file
from ...reporting.figures import SKY, VERMILION, legend_below, new_mosaic, save
from ...reporting.page import write_json
from ...resources import share_directory
from ..base.models import load_quietly
from ..base.node_parameters import SIMULATOR
from ..base.processes import NodeProcesses
from ..base.recording import RATES, Recorder, Recording, topics_of
from ..base.ros_settings import ros_context, ros_settings
from ..base.subscriptions import QUEUE

NODE = "task_space_node"
PARAMETERS = "config/task_demo.yaml"
SETTLING = 2_000_000_000  # ns: the arm oscillates a little when its brakes are released
PATIENCE = 180.0  # s: the very first start compiles
REST = 300_000_000  # ns, recorded after the motion

# Relative to the initial pose of the hand, in its own frame: screws (omega, v) in rad and m.
POSES = (
    (0.0, 0.3, 0.0, 0.10, 0.15, 0.05),
    (0.3, 0.0, 0.5, 0.15, 0.00, 0.10),
    (0.0, -0.3, 0.2, 0.00, -0.20, 0.05),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)


def run_task_demo(
    folder: Path, *, poses: Any = POSES, domain_id: int | None = None
) -> dict[str, float]:
    """Run the demo, write task_space.png and task_space.json, and return the latter's contents.

    poses : screws (k, 6) relative to the initial pose of the hand

    Ctrl-C and SIGTERM also stop the nodes. Raises RunError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(ros_settings(domain_id))
    file = share_directory() / PARAMETERS
    parameters = read_yaml(file)
    p = parameters[f"/**/{NODE}"]["ros__parameters"]
    first = parameters[f"/**/{SIMULATOR}"]["ros__parameters"]["initial_positions"]
    model = load_quietly(find_file(p["robot_file"]))
    goals = frame_pose(model, first, p["tool"]) @ se3.exp(np.asarray(poses, dtype=np.float64))

    remappings = {SIMULATOR: {"motor_command": f"{NODE}/motor_command"}}
    with ros_context() as context, NodeProcesses() as nodes:
        for name in (SIMULATOR, NODE):
            log = folder / f"{name}.log"
            nodes.start(name, file, log=log, remappings=remappings.get(name))
        recording = _record(model, goals, context, nodes.check)
        nodes.stop_cleanly()
    hand = _hand_motion(model, p["tool"], goals, recording)
    figures = _figures(hand)
    write_json(figures, folder / "task_space.json")
    _draw(folder / "task_space.png", model.joint_names, hand)
    return figures


def _record(
    model: MultibodyModel, goals: Array, context: Context, check: Callable[[], None]
) -> Recording:
    """Send the path and record all messages until the robot is at rest again."""
    recorder = Recorder(context, "", topics_of(NODE))
    peer = rclpy.create_node("task_demo", context=context)
    publisher = peer.create_publisher(PathMessage, "cartesian_path", QUEUE)

    def until(condition: Callable[[], object], what: str) -> None:
        recorder.until(condition, lambda: what, PATIENCE, check)

    def reached() -> int:
        """The stamp of the last state that was answered, ns."""
        message, _ = recorder.newest("motor_command")[0]
        return nanoseconds(message.header.stamp)

    try:
        until(lambda: recorder.count("motor_command") and publisher.get_subscription_count(),
              "motor commands")  # fmt: skip
        rest = reached() + SETTLING
        until(lambda: reached() > rest, "the arm to come to rest")
        path = PathMessage(poses=[pose_message(goal) for goal in goals])
        path.header.frame_id = model.base_name
        publisher.publish(path)
        until(lambda: recorder.trajectories,
              "a motion; if the path was rejected, the node's log states the reason")  # fmt: skip
        shown = recorder.trajectories[0]
        duration = nanoseconds(shown.points[-1].time_from_start)
        end = nanoseconds(shown.header.stamp) + duration + REST
        until(lambda: reached() > end, "the end of the motion")
        return recorder.recording(NODE, model.joint_names)
    finally:
        recorder.close()
        peer.destroy_node()


class _HandMotion(NamedTuple):
    """Poses (k, 4, 4) of the hand at `times` (k,) s, and torques as pairs of times and rows."""

    goals: Array
    duration: float  # s
    times: Array
    wanted: Array
    reached: Array
    passed: list[float]  # m: closest distances of the desired path to the goals
    torques: list[tuple[Array, Array]]

    @property
    def position_error(self) -> Array:
        """(k,) m."""
        return np.linalg.norm(self.reached[:, :3, 3] - self.wanted[:, :3, 3], axis=1)

    @property
    def orientation_error(self) -> Array:
        """(k,) rad."""
        transposed = np.swapaxes(self.wanted[:, :3, :3], 1, 2)
        return np.linalg.norm(so3.log(transposed @ self.reached[:, :3, :3]), axis=1)


def _hand_motion(
    model: MultibodyModel, tool: str, goals: Array, recording: Recording
) -> _HandMotion:
    """Desired and measured motion of the hand, from the messages."""
    request = recording.request
    assert request is not None
    assert request.start is not None
    assert request.positions is not None
    states = recording.series["joint_states"]
    reference = interpolate(
        model.joint_names,
        np.r_[0.0, request.times],
        [states.values[0, 0], *request.positions],
        [None, *request.velocities[:-1], None],  # type: ignore[index]
        [None, *request.accelerations[:-1], None],  # type: ignore[index]
    )
    duration = reference.duration

    def table(topic: str) -> tuple[Array, Array]:
        """The first row of its messages during the motion."""
        series = recording.series[topic]
        times = 1e-9 * (series.stamp - request.start)
        chosen = (times > -0.2) & (times < duration + 0.3)
        return times[chosen], series.values[chosen, 0]

    def pose(t: float) -> Array:
        return frame_pose(model, reference(t)[0], tool)

    times, q = table("joint_states")
    return _HandMotion(
        goals,
        duration,
        times,
        wanted=frame_pose(model, reference.sample(times)[:, 0], tool),
        reached=frame_pose(model, q, tool),
        passed=[_nearest(pose, duration, goal) for goal in goals],
        torques=[table(name) for name in RATES],
    )


def _figures(hand: _HandMotion) -> dict[str, float]:
    """The contents of task_space.json."""
    moving = (hand.times > 0) & (hand.times < hand.duration)
    off, turned = hand.position_error[moving], hand.orientation_error[moving]
    last = np.linalg.norm((hand.reached[-1] - hand.goals[-1])[:3, 3])
    return {
        "duration [s]": hand.duration,
        "largest error of the hand [um]": 1e6 * float(off.max()),
        "rms error of the hand [um]": 1e6 * float(np.sqrt((off**2).mean())),
        "largest orientation error of the hand [urad]": 1e6 * float(turned.max()),
        "final distance from the goal [um]": 1e6 * float(last),
        "distances from the poses on the way [um]": 1e6 * max(hand.passed),
    }


def _nearest(motion: Callable[[float], Array], duration: float, goal: Array) -> float:
    """The shortest distance (m) between a motion and the position of a pose."""

    def distance(t: float) -> float:
        return float(np.linalg.norm((motion(t) - goal)[:3, 3]))

    times = np.linspace(0.0, duration, 200)
    k = int(np.argmin([distance(t) for t in times]))
    bounds = (max(times[k] - times[1], 0.0), min(times[k] + times[1], duration))
    found = minimize_scalar(distance, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return float(found.fun)


def _draw(file: Path, joint_names: tuple[str, ...], hand: _HandMotion) -> None:
    """Draw the path and its error on the left, the torques and their rates on the right."""
    layout = [["path", "Q"]] * 2 + [["path", "Q'"]] * 2 + [["position", "Q''"], ["angle", "Q''"]]
    space = {"path": {"projection": "3d"}}
    figure, axes = new_mosaic(layout, (12.0, 8.0), per_subplot_kw=space)
    _draw_path(axes["path"], hand)
    limits = (hand.times[0], hand.times[-1])
    for name, values, label in (
        ("position", 1e6 * hand.position_error, "position\n[µm]"),
        ("angle", 1e6 * hand.orientation_error, "orientation\n[µrad]"),
    ):
        axes[name].plot(hand.times, values, color=VERMILION)
        axes[name].set(ylabel=label, xlim=limits, ylim=(0, None))
    axes["position"].set_title("error of the hand of the elastic arm")
    units = {"Q": "N m", "Q'": "N m/s", "Q''": "N m/s²"}
    for (name, unit), (at, rows) in zip(units.items(), hand.torques, strict=True):
        axes[name].plot(at, rows, lw=1.1, label=joint_names)
        axes[name].set(ylabel=f"{name}  [{unit}]", xlim=limits)
    axes["Q"].set_title("feedforward torques of the joints, and their rates")
    for name in ("angle", "Q''"):
        axes[name].set_xlabel("time  [s]")
    legend_below(figure, axes["Q"], ncols=7)
    save(figure, file)


def _draw_path(space: Any, hand: _HandMotion) -> None:
    """Desired and measured path in 3D axes, with the frames of the goals."""
    space.plot(*hand.wanted[:, :3, 3].T, color=SKY, lw=4.0, label="desired")
    space.plot(*hand.reached[:, :3, 3].T, color=VERMILION, lw=1.0, label="the elastic arm")
    for k, pose in enumerate(hand.goals):
        for i, colour in enumerate(("#CC3311", "#117733", "#0077BB")):
            ends = np.stack([pose[:3, 3], pose[:3, 3] + 0.05 * pose[:3, i]])
            space.plot(*ends.T, color=colour, lw=2.0)
        space.text(*pose[:3, 3], f" {k + 1}")
    space.set(xlabel="x  [m]", ylabel="y  [m]", zlabel="z  [m]", title="path of the hand")
    space.yaxis.labelpad = 12.0
    space.set_aspect("equal")
    space.legend()
