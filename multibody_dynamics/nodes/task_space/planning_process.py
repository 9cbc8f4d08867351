# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tool motions, read from large messages and planned in another process: the control cycle goes on.

Reading a path of 3,000 poses takes 0.2 s, and planning it takes seconds; in the node itself, most
of this time would hold the interpreter's lock. The process makes its own `PathPlanner` when the
node is configured. It computes one thing after the other; a request that a newer one has replaced,
or that the node no longer wants because it is being deactivated, ends after its present step.
"""

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, NamedTuple

from nav_msgs.msg import Path
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import MultiDOFJointTrajectory

from ...dynamics.control import TrajectoryRequest
from ...dynamics.core import Array, BackgroundProcess, InputError
from ...dynamics.model import JointLimits, MultibodyModel
from ...dynamics.motion import Reference
from ...dynamics.rigid import frame_pose
from ...dynamics.tasks import PosePath, RedundancyResolution, Task
from ..base.messages import MessageError
from ..base.pose_messages import read_cartesian_trajectory, read_path
from ..following.large_trajectories import Rejection
from .path_planning import PathLimits, PathPlanner

LARGE = 4_000  # bytes; from about 25 poses or points on
COUNTER = 8  # bytes of the number of the newest request


class PlannerSetup(NamedTuple):
    """The arguments of `PathPlanner`."""

    model: MultibodyModel
    task: Task
    resolution: RedundancyResolution
    limits: JointLimits


class PlannedPath(NamedTuple):
    """The arguments of `JointPath` and `PathMotion` besides the solver and the joint names."""

    path: PosePath
    grid: Array
    states: Array
    law: Reference


class Ticket(NamedTuple):
    """Whether a request is still the newest one.

    The node keeps the number in a file without a name, which the planning process reads through
    /proc (Linux only, like the nodes): such a file does not outlive the node, even if it is killed.
    """

    process: int
    file: int
    number: int

    def __call__(self) -> bool:
        try:
            with open(f"/proc/{self.process}/fd/{self.file}", "rb") as file:
                return int.from_bytes(file.read(COUNTER), "little") == self.number
        except (FileNotFoundError, ProcessLookupError):  # the node has ended
            return False


class PlanningProcess:
    """Runs the functions below for one node.

    defer: calls a function in the thread of the executor.
    """

    def __init__(self, setup: PlannerSetup, defer: Callable[[Callable[[], object]], None]) -> None:
        self._setup = setup
        self._newest = tempfile.TemporaryFile(prefix="planning_")  # noqa: SIM115
        self._number = 0
        self._process = BackgroundProcess(defer=defer)
        self.drop()
        self._process.submit(warm_up, setup)

    def drop(self) -> None:
        """Mark the request that is being planned as no longer wanted."""
        self._number += 1
        os.pwrite(self._newest.fileno(), self._number.to_bytes(COUNTER, "little"), 0)

    def close(self) -> None:
        """End the process."""
        self._process.close()
        self._newest.close()

    def submit(
        self, then: Callable[[Any], object], function: Callable[..., Any], *arguments: Any
    ) -> None:
        """Compute function(setup, wanted, *arguments), and call `then` with the result, or with a
        MessageError, in the executor's thread. The request replaces any earlier one."""
        self.drop()
        ticket = Ticket(os.getpid(), self._newest.fileno(), self._number)
        self._process.deliver(
            lambda found: then(_result(found)), _attempt, function, self._setup, ticket, *arguments
        )


def _result(future: Future[Any]) -> Any:
    try:
        found = future.result()
    except (Exception, CancelledError) as error:  # the process has ended: lack of memory, kill
        return MessageError("path", f"planning failed: {type(error).__name__}: {error}")
    return MessageError(*found) if isinstance(found, Rejection) else found


# In the process

_made: list[tuple[PlannerSetup, PathPlanner]] = []  # the planner of the present setup


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except MessageError as error:
        return Rejection(error.reason, str(error))
    except InputError as error:
        return Rejection("path", str(error))


def warm_up(setup: PlannerSetup) -> None:
    """Make the planner, which compiles or loads its machine code."""
    _made[:] = [(setup, PathPlanner(*setup))]


def _planner(setup: PlannerSetup) -> PathPlanner:
    if not _made:  # the process was started again
        warm_up(setup)
    return _made[0][1]


def _frames(setup: PlannerSetup, q: Array) -> Callable[[str], Array]:
    def frame(name: str) -> Array:
        if name not in setup.model.frames:
            raise MessageError("unknown frame", f"the robot has no link '{name}'")
        return frame_pose(setup.model, q, name)

    return frame


def read_poses(setup: PlannerSetup, ticket: Ticket, data: bytes, q: Array) -> Array:
    """The poses (k, 4, 4) of a serialised Path; q (n,): the desired position when it arrived."""
    return read_path(deserialize_message(data, Path), _frames(setup, q))


def plan_path(
    setup: PlannerSetup, ticket: Ticket, q: Array, poses: Array, limits: PathLimits, shape: str
) -> PlannedPath:
    """The motion from rest at q (n,) through poses (k, 4, 4); see `PathPlanner.plan`."""
    motion = _planner(setup).plan(q, poses, limits, shape=shape, is_wanted=ticket)
    return PlannedPath(motion.path.path, motion.path.grid, motion.path.states, motion.law)


def convert_points(
    setup: PlannerSetup, ticket: Ticket, data: bytes, q: Array, limits: PathLimits, stop: float
) -> TrajectoryRequest:
    """The joint points of a serialised tool trajectory; see `PathPlanner.joint_points`."""
    message = deserialize_message(data, MultiDOFJointTrajectory)
    request = read_cartesian_trajectory(message, setup.task.body, _frames(setup, q))
    return _planner(setup).joint_points(request, q, limits, stop, is_wanted=ticket)
