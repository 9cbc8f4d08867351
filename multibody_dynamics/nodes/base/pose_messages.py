# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions of tools and bases in messages: checked, and transformed to inertial axes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, Transform, Twist, Vector3
from nav_msgs.msg import Path
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from ...dynamics.core import Array
from ...dynamics.lie import se3
from ...dynamics.tasks import TaskMotion
from .messages import SECOND, MessageError, nanoseconds, set_stamp, unusable

NORM_TOLERANCE = 1e-3  # of a quaternion

Frames = Callable[[str], Array]  # from a frame id to its pose (4, 4); raises MessageError


class CartesianRequest(NamedTuple):
    """Points of a tool motion: start in ns, None for now; times (k,) in s after the start; poses
    (k, 4, 4), hybrid twists and accelerations (k, 6) in inertial axes; orders: how many of the
    latter two are given."""

    start: int | None
    times: Array
    poses: Array
    twists: Array
    accelerations: Array
    orders: int

    def motion(self, i: int) -> TaskMotion:
        return TaskMotion(self.poses[i], self.twists[i], self.accelerations[i])


def read_pose(pose: Pose, what: str = "the pose") -> Array:
    """(4, 4); an almost normalised quaternion is normalised. Raises MessageError."""
    return pose_matrix(pose.position, pose.orientation, what)


def pose_message(pose: Array, frame: str = "") -> PoseStamped:
    """The message of a pose (4, 4) relative to a frame."""
    message = PoseStamped()
    message.header.frame_id = frame
    write_pose(message.pose, pose)
    return message


def write_pose(message: Pose | Transform, pose: Array) -> None:
    """Write a pose (4, 4), m, to a message."""
    from scipy.spatial.transform import Rotation  # slow to import, and no controller sends a pose

    is_pose = isinstance(message, Pose)
    write_components(message.position if is_pose else message.translation, pose[:3, 3])
    rotation = Rotation.from_matrix(pose[:3, :3]).as_quat()
    write_components(message.orientation if is_pose else message.rotation, rotation)


def write_components(message: Point | Vector3 | Quaternion, values: Array) -> None:
    """Write x, y and z (3,), or x, y, z and w (4,) of a quaternion."""
    for name, value in zip("xyzw", values.tolist(), strict=False):
        setattr(message, name, value)


def read_target(message: PoseStamped, frames: Frames) -> Array:
    """(1, 4, 4) in inertial axes."""
    return (frames(message.header.frame_id) @ read_pose(message.pose))[None]


def read_path(message: Path, frames: Frames) -> Array:
    """(k, 4, 4) in inertial axes; poses without a frame_id use that of the path. Ignores stamps."""
    poses = [
        frames(item.header.frame_id or message.header.frame_id)
        @ read_pose(item.pose, f"pose {k + 1}")
        for k, item in enumerate(message.poses)
    ]
    return np.array(poses).reshape(-1, 4, 4)


def read_cartesian_trajectory(
    message: MultiDOFJointTrajectory, tool: str, frames: Frames
) -> CartesianRequest:
    """The motion of the single joint `tool`.

    Velocities, and accelerations with them, may be omitted in all points. They are hybrid: linear
    and angular, of the tool's origin, along the axes of the frame.
    """
    start = nanoseconds(message.header.stamp) or None
    points = message.points
    if points and list(message.joint_names) != [tool]:
        raise MessageError(
            "unknown joint", f"joint_names is {list(message.joint_names)}; expected ['{tool}']"
        )
    frame = frames(message.header.frame_id) if points else np.eye(4)
    counts = [[len(getattr(p, x)) for p in points] for x in ("velocities", "accelerations")]
    orders = sum(all(n == 1 for n in column) for column in counts)
    for name, column in zip(("velocities", "accelerations"), counts, strict=True):
        if set(column) - {0, 1} or len(set(column)) > 1:
            raise MessageError(
                "wrong length", f"{name}: expected one in every point, or none in any point"
            )
    if orders == 1 and counts[0] and counts[0][0] == 0:
        raise MessageError("wrong length", "the points have accelerations but no velocities")
    poses = np.empty((len(points), 4, 4))
    rates = np.zeros((2, len(points), 6))
    for k, point in enumerate(points):
        if len(point.transforms) != 1:
            raise MessageError(
                "wrong length", f"point {k} has {len(point.transforms)} transforms; expected one"
            )
        (transform,) = point.transforms
        poses[k] = frame @ pose_matrix(transform.translation, transform.rotation, f"point {k}")
        for row, twists in zip(rates, (point.velocities, point.accelerations), strict=True):
            if twists:
                row[k] = _twist(twists[0], f"point {k}") @ np.kron(np.eye(2), frame[:3, :3].T)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points]
    return CartesianRequest(start, np.array(times), poses, *rates, orders)


def cartesian_trajectory_message(
    joint: str, start: int, times: Array, poses: Array, twists: Array, accelerations: Array
) -> MultiDOFJointTrajectory:
    """The motion of a joint as :func:`read_cartesian_trajectory` reads it: times (k,) in s from
    `start` (ns), poses (k, 4, 4), and hybrid twists and accelerations (k, 6)."""
    message = MultiDOFJointTrajectory(joint_names=[joint])
    set_stamp(message.header.stamp, start)
    for t, pose, *rates in zip(times, poses, twists, accelerations, strict=True):
        place, moving = Transform(), [Twist(), Twist()]
        write_pose(place, pose)
        for twist, row in zip(moving, rates, strict=True):
            write_components(twist.angular, row[:3])
            write_components(twist.linear, row[3:])
        point = MultiDOFJointTrajectoryPoint(
            transforms=[place], velocities=moving[:1], accelerations=moving[1:]
        )
        set_stamp(point.time_from_start, round(SECOND * t))  # Duration has the same fields
        message.points.append(point)
    return message


def read_imu(message: Imu) -> tuple[Array, Array]:
    """Angular velocity and specific force, (3,) rad/s and (3,) m/s^2, in the axes of the IMU.

    Raises MessageError, also for what the IMU says that it does not measure: covariance -1.
    """
    found = []
    for name in ("angular_velocity", "linear_acceleration"):
        vector = getattr(message, name)
        row = np.array([vector.x, vector.y, vector.z])
        if getattr(message, f"{name}_covariance")[0] == -1.0:
            raise MessageError("not measured", f"{name}_covariance[0] is -1: there is no {name}")
        if len(unusable(row)):
            raise MessageError("not finite", f"{name} is {row}")
        found.append(row)
    return found[0], found[1]


def pose_matrix(position: Point | Vector3, orientation: Quaternion, what: str) -> Array:
    """(4, 4) from a position and a quaternion. Raises MessageError."""
    p = np.array([position.x, position.y, position.z])
    x, y, z, w = (getattr(orientation, name) for name in "xyzw")
    if len(unusable(np.array([*p, x, y, z, w]))):
        raise MessageError("not finite", f"{what}: position {p}, quaternion {[x, y, z, w]}")
    size = float(np.linalg.norm([x, y, z, w]))
    if abs(size - 1.0) > NORM_TOLERANCE:
        raise MessageError(
            "no rotation", f"{what}: the quaternion has the norm {size:.4g}; expected 1"
        )
    x, y, z, w = np.array([x, y, z, w]) / size
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return se3.from_rotation_translation(R, p)


def _twist(twist: Twist, what: str) -> Array:
    """(6,) twist: angular part first here, whereas the message has the linear part first."""
    row = np.array([getattr(v, x) for v in (twist.angular, twist.linear) for x in "xyz"])
    if len(unusable(row)):
        raise MessageError("not finite", f"{what}: the twist (angular, linear) is {row}")
    return row
