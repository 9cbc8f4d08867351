# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The moving base of the simulated arm, and what odometry and an IMU at its origin measure."""

import threading

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...dynamics.control import BaseReference
from ...dynamics.core import Array
from ...dynamics.lie import convert_twist, se3
from ...dynamics.plant import Plant
from ...simulation.mujoco_robot import MujocoRobot
from ..base.outputs import Outputs
from ..base.pose_messages import write_components, write_pose
from ..following.base_input import plan_base


class SimulatedBase:
    """Moves the base of `plant` along the topic `base_trajectory`, unless it is free; publishes,
    with the other `outputs`, what is measured of it as `base_odometry` and `base_imu`.

    Messages arrive in the executor's thread; the plant runs in a separate thread.
    """

    def __init__(self, plant: Plant, outputs: Outputs) -> None:
        self._plant = plant
        self._free = plant if isinstance(plant, MujocoRobot) and plant.is_base_free else None
        self._lock = threading.Lock()
        self._odometry = Odometry(child_frame_id=plant.model.base_name)
        self._odometry.header.frame_id = "world"
        self._imu = Imu(orientation=self._odometry.pose.pose.orientation)
        self._imu.header.frame_id = plant.model.base_name
        self._imu.angular_velocity = self._odometry.twist.twist.angular
        outputs.message("base_odometry", self._odometry)
        outputs.message("base_imu", self._imu)
        self.restart()

    def restart(self) -> None:
        """Return to rest at the origin."""
        with self._lock:
            self._reference = BaseReference()

    def accept(self, message: MultiDOFJointTrajectory, now: int) -> None:
        """Follow a trajectory, from `now` (ns) on if it has no stamp. Raises MessageError and
        RequestError."""
        with self._lock:
            plan_base(self._reference, self._plant.model, message, now)

    def move(self, time: int) -> None:
        """Let the base of the plant move as at `time`, ns, with the wrenches that act on its links,
        until now in the frame of the base."""
        wrenches = self._plant.applied_wrenches
        if self._free is not None:
            pose, _, _ = self._free.base
        else:
            with self._lock:
                pose, rates = self._reference.at(time)
                self._plant.move_base(pose, rates)
                pose = pose.copy()
        wrenches[:] = wrenches @ se3.coAd(pose).T

    def measure(self, time: int) -> None:
        """Write what is measured at `time`, ns, to the messages: twist, angular velocity and
        specific force along the axes of the base."""
        pose, twist, acceleration = self._state(time)
        write_pose(self._odometry.pose.pose, pose)
        omega, v = twist[:3], twist[3:]
        gravity = pose[:3, :3].T @ self._plant.model.gravity
        write_components(self._imu.angular_velocity, omega)
        write_components(self._odometry.twist.twist.linear, v)
        force = acceleration[3:] + np.cross(omega, v) - gravity
        write_components(self._imu.linear_acceleration, force)

    def _state(self, time: int) -> tuple[Array, Array, Array]:
        """Pose (4, 4) of the base at `time`, ns, its twist (6,) in body-fixed representation, and
        the rate of that."""
        if self._free is not None:
            return self._free.base
        with self._lock:
            pose, rates = self._reference.at(time)
            twist, acceleration = convert_twist(pose, rates[:2], "spatial", "body")
            return pose.copy(), twist, acceleration
