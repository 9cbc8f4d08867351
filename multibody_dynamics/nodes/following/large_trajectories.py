# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Trajectories with many points, planned in another process, so that the control cycle goes on.

A JointTrajectory takes about 40 us per point to read, to interpolate and to compare with the
limits, and most of that holds the interpreter's lock. The motion is planned from the state that the
robot will have when planning is done; if it takes longer, it is planned again with more notice. A
trajectory whose stamp does not leave enough time is planned in the cycle's own process instead,
because it would otherwise begin late.
"""

import struct
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from ...dynamics.control import DesiredMotion, Planned, Splice, TrajectoryRequest, plan
from ...dynamics.core import Array, BackgroundProcess
from ...dynamics.model import JointLimits, Transmission
from ..base.messages import SECOND, JointMatcher, MessageError, read_trajectory

LARGE = 16_000  # bytes; from about 100 points of seven joints on
NOTICE = SECOND // 2  # ns, at least
NOTICE_PER_BYTE = 2_000  # ns; about four times the time that planning takes
START_UP = 5 * SECOND  # ns, for the process to start
ATTEMPTS = 4
STAMP = 4  # offset of the stamp in a serialised message, behind the header of the CDR


class Job(NamedTuple):
    """Everything that the process needs besides the message."""

    joint_names: tuple[str, ...]
    limits: JointLimits
    splice: Splice
    tolerance: float
    lead: float
    turn: Array
    shape: str
    transmissions: tuple[Transmission, ...] = ()


class LargeTrajectory(NamedTuple):
    """A trajectory as it was requested, and the motion through its points."""

    request: TrajectoryRequest
    planned: Planned


class Rejection(NamedTuple):
    """The arguments of a MessageError."""

    reason: str
    text: str


class LargeTrajectories:
    """Plans one large trajectory at a time; a newer one supersedes it.

    defer: calls a function in the thread of the executor.
    """

    def __init__(
        self,
        defer: Callable[[Callable[[], object]], None],
        transmissions: tuple[Transmission, ...] = (),
    ) -> None:
        self._transmissions = transmissions
        self._process = BackgroundProcess(defer=defer)
        self._has_started = False

    @property
    def is_busy(self) -> bool:
        """Whether a trajectory is being planned."""
        return self._process.is_busy

    def has_time(self, data: bytes, motion: DesiredMotion) -> bool:
        """Whether the stamp of a serialised message leaves time to plan it in the process."""
        start = _start(data)
        notice = _notice(data) + (0 if self._has_started else START_UP)
        return start is None or start - motion.time >= notice

    def drop(self) -> bool:
        """Forget the trajectory that is being planned; True if there was one."""
        return self._process.drop()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def plan(
        self,
        data: bytes,
        motion: DesiredMotion,
        *,
        tolerance: float,
        lead: float,
        shape: str,
        then: Callable[[LargeTrajectory | MessageError], object],
        attempt: int = 1,
    ) -> None:
        """Plan the serialised message, and call `then` with the result in the executor's thread.

        Raises MessageError if there is no motion yet from which it could start.
        """
        self.drop()
        start = _start(data)
        splice = motion.splice(start, _notice(data) << (attempt - 1))
        job = Job(
            motion.joint_names, motion.limits, splice, tolerance, lead, motion.turn, shape,
            self._transmissions,
        )  # fmt: skip

        def again() -> None:
            if start is not None:  # it is due: plan it here
                now = job._replace(splice=motion.splice(start))
                then(_result(plan_message(data, now)))
            elif attempt == ATTEMPTS:
                then(MessageError("planned too late", "the motion began before it was planned"))
            else:
                options = {"tolerance": tolerance, "lead": lead, "shape": shape, "then": then}
                self.plan(data, motion, **options, attempt=attempt + 1)

        def finish(result: Future[LargeTrajectory | Rejection]) -> None:
            failure = result.exception()
            if failure is not None:  # the process has ended, for example for lack of memory
                then(MessageError("trajectory", f"planning failed: {failure}"))
                return
            planned = _result(result.result())
            is_planned = isinstance(planned, LargeTrajectory) and motion.is_active
            if is_planned and not motion.fits(planned.planned.splice):
                again()
            else:
                then(planned)

        self._process.replace(finish, plan_message, data, job)
        self._has_started = True


def _result(found: LargeTrajectory | Rejection) -> LargeTrajectory | MessageError:
    return MessageError(*found) if isinstance(found, Rejection) else found


def _notice(data: bytes) -> int:
    """Time in ns that planning a serialised message may take."""
    return NOTICE + NOTICE_PER_BYTE * len(data)


def plan_message(data: bytes, job: Job) -> LargeTrajectory | Rejection:
    """Read and plan a serialised JointTrajectory."""
    try:
        message = deserialize_message(data, JointTrajectory)
        request = read_trajectory(message, JointMatcher(job.joint_names, job.transmissions))
        return LargeTrajectory(request, plan(job.joint_names, job.limits, request, *job[2:7]))
    except MessageError as error:
        return Rejection(error.reason, str(error))


def start_of(data: bytes) -> int:
    """The stamp of a serialised message that begins with a header, ns."""
    is_little_endian = data[1] & 1
    seconds, rest = struct.unpack_from("<iI" if is_little_endian else ">iI", data, STAMP)
    return int(seconds * SECOND + rest)


def _start(data: bytes) -> int | None:
    """The stamp of a serialised message; None if it is zero."""
    return start_of(data) or None
