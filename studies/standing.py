# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A quadruped with springs squats on four feet over ROS 2: planned, fed forward and simulated.

    scripts/environment.sh python -m studies.standing [--quick]

`stance_motion` plans the motion, this program sends it, feedforward_node finds the contact forces
and commands the drives, and MuJoCo simulates the robot on its floor, in lockstep. Prints the rms
error of the trunk with Q' and Q'' and without, see docs/moving_base.md.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import Array
from multibody_dynamics.dynamics.motion import Points
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, trajectory_message
from multibody_dynamics.nodes.base.pose_messages import (
    cartesian_trajectory_message,
    read_imu,
    read_pose,
)
from multibody_dynamics.nodes.base.qos import RELIABLE, best_effort
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.base.node_parameters import FEEDFORWARD, SIMULATOR, read_parameters
from multibody_dynamics.tools.base.processes import NodeProcesses, RunError
from multibody_dynamics.tools.base.ros_settings import ros_context, ros_settings

CONFIG = share_directory() / "config"
PARAMETERS = CONFIG / "standing_quadruped.yaml"
MODEL = dyn.load_urdf(CONFIG / "mechanisms" / "quadruped.urdf")
GIVEN = read_parameters(PARAMETERS)
FEET, FRICTION = GIVEN["/**"]["contact_frames"], GIVEN["/**"]["contact_friction"]
STANDING = GIVEN[SIMULATOR]["initial_positions"]  # rad
THERE = [0.04, 0.0, 0.02, 0.01, 0.01, -0.03]  # rad and m: down and to the side
TIMES = np.arange(0.0, 1.0001, 0.01)  # s, of the points that are sent
VARIANTS = ("full", "quasi_static")
LOCKSTEP = {"plant": "mujoco", "publish_clock": "true", "lockstep": "true", "max_speed": "0.3"}
# slowly, because this program reads every state
PATIENCE = 240.0  # s, for a first start, which compiles


class Performed(NamedTuple):
    """rms : error of the trunk, m. height : farthest that a foot leaves the ground, m. imu : rad/s
    and m/s^2 before the motion."""

    rms: float
    height: float
    imu: tuple[Array, Array]


def plan() -> dyn.tasks.StanceMotion:
    """There within half a second, and back; the base begins at the origin."""
    there = dyn.interpolate(["s"], [0.0, 0.5, 1.0], [[0.0], [1.0], [0.0]])
    path = dyn.tasks.line(np.eye(4), dyn.se3.exp(THERE), there)
    feet = [dyn.tasks.Contact(foot, friction=FRICTION) for foot in FEET]
    return dyn.tasks.stance_motion(MODEL, feet, TIMES, path.sample(TIMES), STANDING)


def send(motion: dyn.tasks.StanceMotion, start: int, joints: Any, bases: Any) -> None:
    """Publish a plan that begins at `start`, ns."""
    base = motion.base
    rates = dyn.convert_twist(base.pose, [base.twist, base.acceleration], "spatial", "hybrid")
    bases.publish(cartesian_trajectory_message(MODEL.base_name, start, TIMES, base.pose, *rates))
    rows = np.moveaxis(motion.states[:, :3], 1, 0)
    joints.publish(trajectory_message(MODEL.joint_names, start, Points(TIMES, *rows)))


def perform(motion: dyn.tasks.StanceMotion, variant: str, folder: Path) -> Performed:
    """Let nodes perform the motion. Raises RunError if they do not."""
    with ros_context() as context, NodeProcesses() as nodes:
        follows = {"variant": variant, "use_sim_time": "true"}
        commands = {"motor_command": f"{FEEDFORWARD}/motor_command"}
        for name, own, remapped in (
            (SIMULATOR, LOCKSTEP, commands),
            (FEEDFORWARD, follows, {}),
        ):
            nodes.start(
                name, PARAMETERS, log=folder / f"{variant}_{name}.log",
                overrides={"autostart": "true"} | own, remappings=remapped,
            )  # fmt: skip
        here = rclpy.create_node("standing", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(here)
        seen: dict[str, list[Any]] = {}
        topics: dict[str, tuple[type, str]] = {
            "trunk": (Odometry, "base_odometry"),
            "imu": (Imu, "base_imu"),
            "joints": (JointState, "joint_states"),
            "commands": (JointTrajectory, f"{FEEDFORWARD}/motor_command"),
        }
        for key, (kind, topic) in topics.items():
            seen[key] = []
            here.create_subscription(kind, topic, seen[key].append, best_effort(1000))
        joints = here.create_publisher(JointTrajectory, "joint_trajectory", RELIABLE)
        bases = here.create_publisher(MultiDOFJointTrajectory, "base_trajectory", RELIABLE)

        def until(is_over: Callable[[], object], what: str) -> None:
            end = time.monotonic() + PATIENCE
            while not is_over():
                nodes.check()
                if time.monotonic() > end:
                    raise RunError(f"waited {PATIENCE:g} s for {what}; logs: {folder}")
                executor.spin_once(timeout_sec=0.1)

        def now() -> int:
            return nanoseconds(seen["trunk"][-1].header.stamp) if seen["trunk"] else 0

        until(lambda: len(seen["commands"]) > 200, "commands of feedforward_node")
        start, at_rest = now() + SECOND, read_imu(seen["imu"][-1])
        send(motion, start, joints, bases)
        until(lambda: now() > start + SECOND, "the motion")
        here.destroy_node()
        nodes.stop_cleanly()
    return measured(motion, start, seen["trunk"], seen["joints"], at_rest)


def measured(
    motion: dyn.tasks.StanceMotion,
    start: int,
    odometry: list[Odometry],
    states: list[JointState],
    at_rest: tuple[Array, Array],
) -> Performed:
    """What trunk and feet did."""
    order = [states[0].name.index(name) for name in MODEL.joint_names]
    positions = {nanoseconds(each.header.stamp): each.position for each in states}
    poses = {nanoseconds(each.header.stamp): read_pose(each.pose.pose) for each in odometry}
    standing, off, heights = poses[min(poses)], [], []
    for t, planned in zip(TIMES, motion.base.pose, strict=True):
        stamp = start + round(SECOND * t)
        if stamp in poses and stamp in positions:
            pose, q = poses[stamp], np.array(positions[stamp])[order]
            off.append(pose[:3, 3] - (standing @ planned)[:3, 3])
            base = dyn.BaseMotion(pose)
            heights += [dyn.frame_pose(MODEL, q, foot, base=base)[2, 3] for foot in FEET]
    if len(off) < 0.5 * len(TIMES):
        raise RunError(f"only {len(off)} of {len(TIMES)} states were received")
    return Performed(float(np.sqrt(np.mean(np.square(off)))), float(np.abs(heights).max()), at_rest)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="only with Q' and Q''")
    options = parser.parse_args(arguments)
    os.environ.update(ros_settings())
    motion = plan()
    with tempfile.TemporaryDirectory() as folder:
        for variant in VARIANTS[: 1 if options.quick else None]:
            found = perform(motion, variant, Path(folder))
            print(f"{variant:<14}rms error of the trunk {1e3 * found.rms:.4f} mm", flush=True)


if __name__ == "__main__":
    main()
