# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The task-space node over the real middleware, in a separate process."""

import math
import time
from functools import partial
from signal import SIGTERM
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform, Twist
from nav_msgs.msg import Path
from rosgraph_msgs.msg import Clock
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import (
    JointTrajectory,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

import urdf_parts
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.urdf import parse_urdf
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.nodes.task_space.path_planning import PathLimits, PathPlanner
from ros_harness import FIRST_START, PATIENCE, RosHarness, ros

__all__ = ["ros"]  # the fixture

NODE = "task_space_node"
STEP = SECOND // 250  # of the simulated clock
NAMES = ("turret", "shoulder", "elbow")
link = partial(urdf_parts.link, mass=3.0, inertia="0.02 0.05 0.04 0.001")
joint = partial(urdf_parts.joint, rpy="0.1 0.2 -0.1", limit="-2.5 2.5 6 400")
ROBOT = urdf_parts.robot(
    "arm",
    urdf_parts.link("floor"),
    joint("bolts", "fixed", "floor", "stand", "0.5 -0.2 0.1"),
    urdf_parts.link("stand"),
    joint("turret", "revolute", "stand", "column", "0 0 0.3", "0 0 1"),
    link("column", com="0.01 0.02 0.1"),
    joint("shoulder", "revolute", "column", "upper_arm", "0.05 0 0.2", "0 1 0"),
    link("upper_arm", com="0.2 0.01 0.02"),
    joint("elbow", "revolute", "upper_arm", "forearm", "0.4 0.03 0", "0 1 0"),
    link("forearm", com="0.15 0 0.01"),
    joint("flange", "fixed", "forearm", "tool", "0.3 0 0"),
    urdf_parts.link("tool"),
)
MODEL = parse_urdf(ROBOT)
Q0 = np.array([0.2, -0.4, 0.7])
TASK = dyn.tasks.Task("tool", "position")
LIMITS = PathLimits(0.6, 2.0, 4.0, 8.0, 0.03, 0.005)
START = dyn.frame_pose(MODEL, Q0, "tool")


def settings(**changes: Any) -> dict[str, Any]:
    return {
        "robot_description": ROBOT,
        "command_joints": list(NAMES),
        "autostart": True,
        "ramp_time": 0.0,
        "state_timeout": 2.0,
        "tool": "tool",
        "components": "position",
        "path_shape": "line",
        "stop_duration": 0.2,
        "start_tolerance": 1.0,  # on a busy computer the joint states of the test come late
        "trajectory_period": 0.005,
        **LIMITS._asdict(),
        **changes,
    }


def stamp_of(message: Any) -> int:
    return nanoseconds(message.header.stamp)


def counted(ros: RosHarness, key: str) -> int:
    return int(ros.diagnosis(": inputs")[2].get(key, 0))


def beside(x: float, y: float) -> np.ndarray:
    """A position (3,) relative to the initial one of the tool."""
    return moved(x, y, 0.0)[:3, 3]


def moved(x: float, y: float, z: float) -> np.ndarray:
    pose = START.copy()
    pose[:3, 3] += x, y, z
    return pose


def fill(position: Any, rotation: Any, pose: np.ndarray) -> None:
    for name, value in zip("xyz", pose[:3, 3], strict=True):
        setattr(position, name, float(value))
    for name, value in zip("xyzw", Rotation.from_matrix(pose[:3, :3]).as_quat(), strict=True):
        setattr(rotation, name, float(value))


class ToolArm:
    """A robot that is always at the desired position, and the outputs of the node."""

    def __init__(self, ros: RosHarness, *, simulated_time: bool = False) -> None:
        self.ros = ros
        self.clock = ros.publisher(Clock, "/clock") if simulated_time else None
        self.now = 100 * SECOND if simulated_time else time.time_ns()
        self.torque = ros.record(JointState, f"{NODE}/torque")
        self.rate = ros.record(JointState, f"{NODE}/torque_rate")
        self.acceleration = ros.record(JointState, f"{NODE}/torque_acceleration")
        self.motor = ros.record(JointTrajectory, f"{NODE}/motor_command")
        self.shown = ros.record(JointTrajectory, "joint_trajectory")
        self.state = ros.publisher(JointState, "joint_states")
        self.target = ros.publisher(PoseStamped, "target_pose")
        self.path = ros.publisher(Path, "cartesian_path")
        self.stream = ros.publisher(MultiDOFJointTrajectory, "cartesian_trajectory")

    def joints(self, k: int = -1) -> np.ndarray:
        """The desired q of one cycle; the joints are rigid."""
        return np.array(self.motor[k].points[0].positions)

    def tool(self, k: int = -1) -> np.ndarray:
        return dyn.frame_pose(MODEL, self.joints(k), "tool")[:3, 3]

    def send(self) -> None:
        """The state of now; with simulated time, one step later."""
        self.now = self.now + STEP if self.clock else time.time_ns()
        if self.clock:
            message = Clock()
            set_stamp(message.clock, self.now)
            self.clock.publish(message)
        q = self.joints() if self.motor else Q0
        message = JointState(name=list(NAMES), position=q.tolist())
        set_stamp(message.header.stamp, self.now)
        self.state.publish(message)

    def step(self) -> None:
        """One step of simulated time, and its answer; on a busy computer it merely takes longer."""
        self.send()
        self.ros.until(lambda: stamp_of(self.motor[-1]) >= self.now, "an answer")

    def drive(self, condition: Any, what: str, patience: float = PATIENCE) -> Any:
        each = self.step if self.clock and self.motor else self.send
        return self.ros.until(condition, what, each=each, patience=patience)

    def drive_for(self, seconds: float) -> None:
        end = self.now + round(SECOND * seconds)
        self.drive(lambda: self.now > end, "time to pass")

    def is_resting(self) -> bool:
        return not np.any(self.motor[-1].points[0].velocities)

    def wake(self) -> None:
        """Wait until the node holds: the test may have paused for longer than its timeout."""
        count = len(self.motor)
        self.drive(lambda: len(self.motor) > count + 1, "commands")

    def go(self, pose: np.ndarray, frame: str = "floor", stamp: int = 0) -> None:
        message = PoseStamped()
        message.header.frame_id = frame
        set_stamp(message.header.stamp, stamp)
        fill(message.pose.position, message.pose.orientation, pose)
        self.target.publish(message)

    def go_through(self, poses: Any, frame: str = "floor") -> None:
        message = Path()
        message.header.frame_id = frame
        for pose in poses:
            message.poses.append(PoseStamped())
            fill(message.poses[-1].pose.position, message.poses[-1].pose.orientation, pose)
        self.path.publish(message)

    def follow(
        self, times: Any, positions: Any, rates: Any = (), stamp: int = 0, name: str = "tool"
    ) -> None:
        """Send points (k, 3) with derivatives: velocities, or velocities and accelerations."""
        message = MultiDOFJointTrajectory(joint_names=[name])
        message.header.frame_id = "floor"
        set_stamp(message.header.stamp, stamp)
        for k, t in enumerate(times):
            transform = Transform()
            pose = moved(0, 0, 0)
            pose[:3, 3] = positions[k]
            fill(transform.translation, transform.rotation, pose)
            point = MultiDOFJointTrajectoryPoint(transforms=[transform])
            for field, rows in zip(("velocities", "accelerations"), rates, strict=False):
                twist = Twist()
                for axis, value in zip("xyz", rows[k], strict=True):
                    setattr(twist.linear, axis, float(value))
                setattr(point, field, [twist])
            set_stamp(point.time_from_start, round(SECOND * t))
            message.points.append(point)
        self.stream.publish(message)

    def arrive(self, what: str) -> None:
        count = len(self.shown)
        self.drive(lambda: len(self.shown) > count, f"the plan of the motion {what}")
        self.drive(lambda: not self.is_resting(), f"the start of the motion {what}")
        self.drive(self.is_resting, f"the end of the motion {what}")


def test_paths_are_followed_stopped_and_replaced(ros):
    node = ros.start(NODE, settings(use_sim_time=True))
    arm = ToolArm(ros, simulated_time=True)  # a busy computer cannot make the motion jump
    arm.drive(lambda: arm.motor, "a command")
    np.testing.assert_allclose(arm.joints(), Q0, rtol=0, atol=1e-12)

    # A target in the frame of a link: every output equals that of the library at its stamp.
    goal = moved(-0.15, 0.2, 0.1)
    arm.go(dyn.se3.inverse(dyn.frame_pose(MODEL, Q0, "column")) @ goal, "column")
    arm.arrive("to a pose")
    assert np.abs(arm.tool() - goal[:3, 3]).max() < 1e-9
    planner = PathPlanner(MODEL, TASK, dyn.tasks.RedundancyResolution(), MODEL.limits)
    plan = planner.plan(Q0, goal[None], LIMITS, shape="line")
    (shown,) = arm.shown
    last = shown.points[-1]
    end = stamp_of(shown) + nanoseconds(last.time_from_start)
    begin = end - round(SECOND * plan.duration)
    moving, off = 0, 0.0
    rows = zip(arm.torque, arm.rate, arm.acceleration, arm.motor, strict=False)
    for torque, rate, acceleration, motor in rows:
        t = 1e-9 * (stamp_of(torque) - begin)
        if not 0 < t < plan.duration:
            continue
        state = plan(t)
        Q = np.array(dyn.inverse_dynamics(MODEL, *state))
        np.testing.assert_allclose([torque.effort, rate.effort], Q[:2], rtol=0, atol=1e-6)
        np.testing.assert_allclose(acceleration.effort, Q[2], rtol=0, atol=1e-6 * np.abs(Q).max())
        np.testing.assert_allclose(motor.points[0].positions, state[0], rtol=0, atol=1e-9)
        off = max(off, planner.errors(plan.wanted(t), state[0])[0])
        moving += 1
    assert moving > 30
    assert off < 1e-9
    speeds = [
        np.linalg.norm(dyn.tasks.task_motion(MODEL, TASK, *plan(t)).twist[3:])
        for t in np.linspace(0, plan.duration, 100)
    ]
    assert max(speeds) <= LIMITS.linear_speed * (1 + 1e-9)
    assert shown.joint_names == list(NAMES)
    np.testing.assert_allclose(last.positions, arm.joints(), rtol=0, atol=1e-9)
    assert not np.any(last.velocities)

    # A path through poses, stopped halfway: the tool stays on it. Then the whole path.
    poses = [moved(-0.1, 0.1, 0.05), moved(-0.15, -0.05, 0.1), moved(-0.05, -0.1, 0.0)]
    arm.wake()
    arm.go_through(poses)
    arm.drive(lambda: not arm.is_resting(), "the path")
    arm.drive_for(0.3)
    arm.go_through([])
    arm.drive(arm.is_resting, "the stop")
    stopped = arm.tool()
    assert min(np.linalg.norm(stopped - pose[:3, 3]) for pose in poses) > 1e-3
    arm.go_through(poses)
    arm.arrive("through poses")
    assert np.abs(arm.tool() - poses[-1][:3, 3]).max() < 1e-9
    joints = [point.positions for point in arm.shown[-1].points]
    way = dyn.frame_pose(MODEL, joints, "tool")[:, :3, 3]
    for pose in poses:
        assert np.linalg.norm(way - pose[:3, 3], axis=1).min() < 2e-3  # between two points
    arm.wake()

    # A target that arrives on the way to another one: stop on the path, continue from there.
    arm.go(moved(0, 0.2, 0))
    arm.drive(lambda: not arm.is_resting(), "the motion")
    arm.drive_for(0.2)
    arm.go(goal)
    arm.drive(lambda: np.abs(arm.tool() - goal[:3, 3]).max() < 1e-9, "the other target")
    stamps = 1e-9 * np.array([stamp_of(m) - begin for m in arm.motor])
    positions = np.array([m.points[0].positions for m in arm.motor])
    velocities = np.array([m.points[0].velocities for m in arm.motor])
    steps = np.diff(stamps)[:, None]
    mean = (velocities[1:] + velocities[:-1]) / 2
    assert np.abs(np.diff(positions, axis=0) / steps - mean).max() < 50 * steps.max() ** 2

    measures = dyn.tasks.manipulability(MODEL, TASK, arm.joints())
    arm.drive(lambda: ros.diagnosis(": task")[1] == "holding", "the hold")
    values = ros.diagnosis(": task")[2]
    assert math.isclose(
        float(values["smallest singular value"]), measures.smallest_singular_value, rel_tol=1e-5
    )
    assert values["nearest to its limit"] in NAMES
    assert ros.leave(node, SIGTERM) == 0
    assert "Traceback" not in node.output


def test_a_stream_is_followed_and_ends_with_a_stop(ros):
    ros.start(NODE, settings(use_sim_time=True))
    arm = ToolArm(ros, simulated_time=True)
    arm.drive(lambda: arm.motor, "a command")
    omega, radius = 3.0, 0.06
    center = moved(-0.12, 0.0, 0.05)[:3, 3]
    arm.go(moved(-0.12, radius, 0.05))
    arm.arrive("to the circle")

    def circle(t: Any) -> np.ndarray:
        """(3, k, 3): positions, velocities, accelerations; the speed rises in half a second."""
        x = np.clip(t / 0.5, 0.0, 1.0)
        up = x**4 * (35 + x * (-84 + x * (70 - 20 * x)))
        rise = 140 * (x * (1 - x)) ** 3 / 0.5
        way = 0.5 * x**5 * (7 + x * (-14 + x * (10 - 2.5 * x))) + np.maximum(t - 0.5, 0.0)
        phi = omega * way
        e, n = (
            np.stack([0 * phi, np.cos(phi), np.sin(phi)], axis=-1),
            np.stack([0 * phi, -np.sin(phi), np.cos(phi)], axis=-1),
        )
        v, a = (omega * up)[..., None], (omega * rise)[..., None]
        return np.array([center + radius * e, radius * v * n, radius * (a * n - v**2 * e)])

    begin, sent = arm.now + SECOND // 10, 0.0
    first = len(arm.motor)
    while arm.now < begin + 3.1 * SECOND:
        if sent < min(1e-9 * (arm.now - begin) + 0.04, 3.0):  # twenty points, 40 ms apart
            times = sent + 0.04 * np.arange(1, 21)
            rows = circle(times)
            arm.follow(times, rows[0], rows[1:], stamp=begin)
            sent += 0.04
        arm.step()
    arm.drive(arm.is_resting, "the stop")
    assert counted(ros, "cartesian_trajectory: jump") == 0
    off = [
        np.linalg.norm(arm.tool(k) - circle(np.array(t))[0])
        for k in range(first, len(arm.motor))
        if 0.0 < (t := 1e-9 * (stamp_of(arm.motor[k]) - begin)) < 3.0
    ]
    print(f"stream: off by {max(off):.2e} m at most, median {np.median(off):.2e} m, {len(off)}")
    assert len(off) > 100
    assert max(off) < 1e-4
    assert not np.any(arm.rate[-1].effort)


def test_a_tool_trajectory_is_a_stream_if_it_is_named(ros):
    topic = "cartesian_trajectory"
    changes = {"stream_topics": [topic], "stream_acceleration": [4.0]}
    ros.start(NODE, settings(use_sim_time=True, **changes))
    arm = ToolArm(ros, simulated_time=True)
    arm.drive(lambda: arm.motor, "a command")
    begin, sent, speed = arm.now + SECOND // 10, 0.0, 0.05
    way = np.array([0.0, 1.0, 0.0])
    place = START[:3, 3]
    while arm.now < begin + 2 * SECOND:
        if sent < min(1e-9 * (arm.now - begin), 1.5):  # three points, 0.1 s apart
            times = sent + 0.1 * np.arange(1, 4)
            rows = place + speed * np.minimum(times, 1.5)[:, None] * way
            arm.follow(times, rows, stamp=begin)
            sent += 0.1
        arm.step()
    arm.drive(arm.is_resting, "the stop")
    np.testing.assert_allclose(arm.tool(), place + 1.5 * speed * way, atol=1e-6)
    speeds = np.array([np.linalg.norm(m.points[0].velocities) for m in arm.motor])
    moving = np.flatnonzero(speeds > 0.5 * speeds.max())
    assert (speeds[moving[0] : moving[-1]] > 0.3 * speeds.max()).all()  # no stop on the way
    reference = ros.diagnosis(": reference")[2]
    assert (reference["follows"], reference["topics of streams"]) == ("a stream", topic)
    assert int(reference["stream: messages"]) > 10


def test_impossible_requests_are_rejected_before_the_robot_moves(ros):
    start, here = START[:3, 3], [0.0, 1.0]
    unfinished = np.array([start, [math.nan, 0, 0]])
    no_rotation = PoseStamped()
    no_rotation.header.frame_id, no_rotation.pose.orientation.w = "floor", 0.5
    turned = dyn.frame_pose(MODEL, Q0 + np.array([2.6, 0, 0]), "tool")
    elbows = np.array([[0.2, 0.4, angle] for angle in np.linspace(-1.0, 1.0, 401)])
    sigma = dyn.tasks.manipulability(MODEL, TASK, elbows).smallest_singular_value
    stretched = dyn.frame_pose(MODEL, elbows[sigma.argmin()], "tool")
    ros.start(NODE, settings(start_tolerance=0.1))
    arm = ToolArm(ros)
    arm.drive(lambda: arm.motor, "a command")
    at_once = {
        "target_pose: not finite": lambda: arm.go(moved(0.1, math.nan, 0.0)),
        "target_pose: unknown frame": lambda: arm.go(START, "elsewhere"),
        "target_pose: no rotation": lambda: arm.target.publish(no_rotation),
        "target_pose: stale": lambda: arm.go(START, stamp=time.time_ns() - 5 * SECOND),
        "cartesian_path: not finite": lambda: arm.go_through([START, moved(math.nan, 0, 0)]),
        "cartesian_trajectory: unknown joint": lambda: arm.follow(here, [start] * 2, name="hand"),
        "cartesian_trajectory: not finite": lambda: arm.follow([0.5, 1.0], unfinished),
        "cartesian_trajectory: unreachable": lambda: arm.follow([1.0], [beside(2.0, 0)]),
        "cartesian_trajectory: jump": lambda: arm.follow([0.0, 1.0], [beside(0, 0.15)] * 2),
        "cartesian_trajectory: velocity limit": lambda: arm.follow([0.02], [beside(0, 0.1)]),
        "cartesian_trajectory: in the past": lambda: arm.follow(
            [1.0], [start], stamp=time.time_ns() - 5 * SECOND
        ),
    }
    for send in at_once.values():
        send()
    arm.drive(lambda: all(counted(ros, key) == 1 for key in at_once), "the rejections")
    planned = {
        "target_pose: unreachable": lambda: arm.go(moved(2.0, 0.0, 0.0)),
        "target_pose: joint limit": lambda: arm.go(turned),
        "target_pose: singularity": lambda: arm.go(stretched),
    }
    for key, send in planned.items():
        send()
        # an unreachable pose takes the longest, in a process that makes way for others
        arm.drive(lambda key=key: counted(ros, key) == 1, key, patience=FIRST_START)
    assert ros.call(SetBool, f"{NODE}/enable", SetBool.Request(data=False)).success
    arm.go(moved(-0.1, 0, 0))
    arm.drive(lambda: counted(ros, "target_pose: not enabled"), "the rejection")
    assert not any(np.any(message.effort) for message in arm.rate)
    np.testing.assert_allclose(arm.joints(), Q0, rtol=0, atol=1e-12)
    assert not arm.shown

    # A newer target replaces a pending motion and one that is being planned.
    assert ros.call(SetBool, f"{NODE}/enable", SetBool.Request(data=True)).success
    later = time.time_ns() + 2 * SECOND
    arm.follow([0.5, 1.0], [beside(0, 0.05), beside(0, 0.1)], stamp=later)
    arm.go_through([moved(0.0, 0.01 * k, 0.0) for k in range(1, 5)])
    arm.go_through([])
    arm.drive(lambda: counted(ros, "cartesian_path: superseded") == 1, "the end of planning")
    arm.drive(lambda: ros.diagnosis(": task")[1] == "holding", "the hold")
    arm.drive(lambda: time.time_ns() > later + SECOND // 10, "the time of the replaced motion")
    np.testing.assert_allclose(arm.joints(), Q0, rtol=0, atol=1e-12)

    # The newest target counts and is rejected; the current motion has been stopped.
    arm.go(moved(-0.1, 0.2, 0.0))
    arm.drive(lambda: not arm.is_resting(), "the motion")
    arm.go(moved(2.0, 0.0, 0.0))
    arm.drive(lambda: counted(ros, "target_pose: unreachable") == 2, "the rejection")
    arm.drive(arm.is_resting, "the stop")
    assert 0.0 < np.linalg.norm(arm.tool() - start) < 0.2
