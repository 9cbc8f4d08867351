# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of a moving base: the topics `base_trajectory`, `base_odometry` and `base_imu`."""

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...dynamics.control import BaseReference
from ...dynamics.core import Array
from ...dynamics.lie import se3
from ...dynamics.model import MultibodyModel
from ..base.cycle_supervisor import CycleSupervisor
from ..base.messages import MessageError, nanoseconds
from ..base.node_inputs import Inputs
from ..base.pose_messages import read_cartesian_trajectory, read_imu, read_pose
from ..base.qos import RELIABLE, best_effort
from ..base.runtime import ManagedNode

FIXED = "fixed"


class BaseInput:
    """Listens, from activation on, to the topic that the parameter `base_motion` names, if any, and
    reports the silence of one that measures.

    reference : the motion of the base; None for a fixed one.
    """

    reference: BaseReference | None = None

    def __init__(
        self, node: ManagedNode[Any], model: MultibodyModel, inputs: Inputs, clock: CycleSupervisor
    ) -> None:
        p = node.parameters
        self._model, self._supervisor = model, clock
        if p.base_motion == FIXED:
            return
        self.reference = BaseReference(p.base_bandwidth, p.state_timeout, model.gravity)
        message, answer, qos = {
            "trajectory": (MultiDOFJointTrajectory, self._on_trajectory, RELIABLE),
            "odometry": (Odometry, self._on_odometry, best_effort(8)),
            "imu": (Imu, self._on_imu, best_effort(8)),
        }[p.base_motion]
        topic = f"base_{p.base_motion}"
        inputs.listen(message, topic, answer, qos)
        if qos is not RELIABLE:
            silent = MessageError("stale", "none within state_timeout; the base is taken to rest")
            self._watchdog = clock.watch(lambda: inputs.reject(topic, silent))

    def at(self, time: int) -> tuple[Array, Array] | None:
        """Pose and rates at `time` (ns), see :meth:`.BaseReference.at`; None for a fixed base."""
        return None if self.reference is None else self.reference.at(time)

    def restart(self) -> None:
        """Forget everything, because time jumped."""
        if self.reference is not None:
            self.reference.restart()

    def _on_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        assert self.reference is not None
        plan_base(self.reference, self._model, message, self._supervisor.now())

    def _on_odometry(self, message: Odometry) -> None:
        assert self.reference is not None
        stamp = nanoseconds(message.header.stamp)
        self._supervisor.check_stamp(stamp)
        frame = base_frame(self._model, message.child_frame_id)
        pose = read_pose(message.pose.pose) @ se3.inverse(frame)
        self.reference.measure(stamp, pose)
        self._watchdog.feed()

    def _on_imu(self, message: Imu) -> None:
        assert self.reference is not None
        stamp = nanoseconds(message.header.stamp)
        self._supervisor.check_stamp(stamp)
        pose = base_frame(self._model, message.header.frame_id)
        omega, force = (pose[:3, :3] @ row for row in read_imu(message))
        self.reference.sense(stamp, omega, force, pose[:3, 3])
        self._watchdog.feed()


def plan_base(
    reference: BaseReference, model: MultibodyModel, message: MultiDOFJointTrajectory, now: int
) -> None:
    """Let the base of `model` follow a `base_trajectory`, from `now` (ns) on if it has no stamp.

    Raises MessageError, and the RequestError of :meth:`.BaseReference.plan`.
    """
    frame = next(iter(message.joint_names), "")
    back = se3.inverse(base_frame(model, frame))
    request = read_cartesian_trajectory(message, frame, lambda _: np.eye(4))
    if np.abs(back - np.eye(4)).max() > 1e-9 and request.orders:
        raise MessageError(
            "unknown joint", f"velocities are those of '{model.base_name}', not '{frame}'"
        )
    if len(request.times) < 2 or (np.diff(request.times) <= 0.0).any():
        raise MessageError("trajectory", "expected two or more points with increasing times")
    rates = (request.twists, request.accelerations)[: request.orders]
    reference.plan(request.start or now, request.times, request.poses @ back, *rates)


def base_frame(model: MultibodyModel, name: str) -> Array:
    """(4, 4) pose of a frame that belongs to the base, in that of the base. Raises MessageError."""
    frame = model.frames.get(name)
    if frame is None or frame.body >= 0:
        known = [key for key, each in model.frames.items() if each.body < 0]
        raise MessageError(
            "unknown frame",
            f"'{name}' is not fixed to the base of the robot; expected {', '.join(known)}",
        )
    return frame.pose
