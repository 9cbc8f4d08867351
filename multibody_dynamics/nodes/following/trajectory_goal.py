"""What becomes of a motion that was asked for: whether the robot follows it and arrives, as the
tolerances of FollowJointTrajectory have it, and with which code and words it ends. No ROS but its
messages.

As joint_trajectory_controller judges: distances along the path as long as the motion lasts; then
distances at its end, for as long as the goal may take to be reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from ...dynamics.core import Array
from ..base.messages import MessageError, joints_listed

ERASED = -1.0  # in a goal: without this tolerance
QUANTITIES = ("position", "velocity")  # accelerations are not measured


class Code(IntEnum):
    """`error_code` of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


# What a trajectory is refused for, by MessageError.reason; anything else is an invalid goal.
REFUSALS = {
    "unnamed": Code.INVALID_JOINTS,
    "repeated joint": Code.INVALID_JOINTS,
    "unknown joint": Code.INVALID_JOINTS,
    "missing joint": Code.INVALID_JOINTS,
    "in the past": Code.OLD_HEADER_TIMESTAMP,
}


class Verdict(NamedTuple):
    """How a motion ended."""

    code: Code
    text: str


class JointTolerance(Protocol):
    """control_msgs/msg/JointTolerance, as far as it is used."""

    name: str
    position: float
    velocity: float


@dataclass(frozen=True, eq=False)
class Tolerances:
    """path, goal: (2, n) greatest distances of position and velocity, inf where any is allowed.
    goal_time: s after its end that a motion may take to come within `goal`."""

    path: Array
    goal: Array
    goal_time: float

    @classmethod
    def of_parameters(
        cls, n: int, *, path: float, goal: float, stopped_velocity: float, goal_time: float
    ) -> Tolerances:
        """The same for all joints; 0 is none."""
        columns = [[path or np.inf, np.inf], [goal or np.inf, stopped_velocity or np.inf]]
        first, last = (np.repeat(np.array(column)[:, None], n, axis=1) for column in columns)
        return cls(first, last, goal_time or np.inf)

    def changed(
        self,
        joint_names: Sequence[str],
        path: Iterable[JointTolerance],
        goal: Iterable[JointTolerance],
        goal_time: float,
    ) -> Tolerances:
        """What a goal asks for in place of these: 0 keeps, -1 erases. Raises MessageError."""
        return Tolerances(
            _changed(self.path, joint_names, "path_tolerance", path),
            _changed(self.goal, joint_names, "goal_tolerance", goal),
            _chosen(self.goal_time, goal_time, "goal_time_tolerance"),
        )


def _changed(
    table: Array, joint_names: Sequence[str], field: str, entries: Iterable[JointTolerance]
) -> Array:
    table = table.copy()
    for entry in entries:
        if entry.name not in joint_names:
            text = f"{field}: '{entry.name}' not among {joints_listed(joint_names)}"
            raise MessageError("unknown joint", text)
        j = joint_names.index(entry.name)
        for k, quantity in enumerate(QUANTITIES):
            what = f"{field}: {quantity} of '{entry.name}'"
            table[k, j] = _chosen(table[k, j], getattr(entry, quantity), what)
    return table


def _chosen(default: float, wanted: float, what: str) -> float:
    if wanted == 0.0:
        return default
    if abs(wanted - ERASED) < 1e-6:
        return np.inf
    if not wanted > 0.0:
        raise MessageError("tolerance", f"{what} is {wanted:g}; positive, 0 or -1 are allowed")
    return wanted


class TrajectoryGoal:
    """A motion that is followed, until it is over.

    end: ns, when its last point is due.
    """

    def __init__(self, joint_names: Sequence[str], tolerances: Tolerances, end: int) -> None:
        self.joint_names, self.tolerances, self.end = tuple(joint_names), tolerances, end

    def judge(self, time: int, desired: Array, position: Array, velocity: Array) -> Verdict | None:
        """How it ended; None as long as it has not.

        desired: (5, n) at `time` (ns). position, velocity: (n,) as measured, NaN where not: that is
        not judged.
        """
        errors = np.abs([desired[0] - position, desired[1] - velocity])
        if time < self.end:
            missed = self._missed(errors, self.tolerances.path, "motion")
            return Verdict(Code.PATH_TOLERANCE_VIOLATED, missed) if missed else None
        missed = self._missed(errors, self.tolerances.goal, "goal")
        if not missed:
            return Verdict(Code.SUCCESSFUL, "goal reached")
        late = 1e-9 * (time - self.end)
        if late <= self.tolerances.goal_time:
            return None
        return Verdict(
            Code.GOAL_TOLERANCE_VIOLATED,
            f"{missed}, {late:.3g} s after its end; allowed: {self.tolerances.goal_time:g} s",
        )

    def _missed(self, errors: Array, allowed: Array, what: str) -> str:
        """Which joint is too far off, "" where none is."""
        beyond = errors > allowed
        if not beyond.any():
            return ""
        k, j = np.argwhere(beyond)[0]
        whose = f"'{self.joint_names[j]}'" if k == 0 else f"the speed of '{self.joint_names[j]}'"
        return f"{whose} is {errors[k, j]:.4g} from the {what}; allowed: {allowed[k, j]:g}"
