# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The outcome of a requested motion: whether the robot follows it and arrives, within the
tolerances of FollowJointTrajectory, and the error code and text of its result. Uses ROS messages,
but no node.

The criteria are those of joint_trajectory_controller: path tolerances while the motion lasts, then
goal tolerances, until the goal is reached or its time tolerance has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from ...dynamics.core import Array
from ..base.messages import MessageError, joints_listed

ERASED = -1.0  # in a goal: no tolerance
QUANTITIES = ("position", "velocity")  # accelerations are not measured


class ErrorCode(IntEnum):
    """`error_code` of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


# The code of a rejected trajectory, by MessageError.reason; any other reason is an invalid goal.
REFUSALS = {
    "unnamed": ErrorCode.INVALID_JOINTS,
    "repeated joint": ErrorCode.INVALID_JOINTS,
    "unknown joint": ErrorCode.INVALID_JOINTS,
    "missing joint": ErrorCode.INVALID_JOINTS,
    "in the past": ErrorCode.OLD_HEADER_TIMESTAMP,
}


class GoalResult(NamedTuple):
    """How a motion ended."""

    code: ErrorCode
    text: str


class JointTolerance(Protocol):
    """The fields of control_msgs/msg/JointTolerance that are used."""

    name: str
    position: float
    velocity: float


@dataclass(frozen=True, eq=False)
class GoalTolerances:
    """Tolerances of a motion.

    path, goal: (2, n) maximum deviations of position and velocity; inf: no limit. goal_time: s
    after the end of the motion within which the goal must be reached.
    """

    path: Array
    goal: Array
    goal_time: float

    @classmethod
    def of_parameters(
        cls, n: int, *, path: float, goal: float, stopped_velocity: float, goal_time: float
    ) -> GoalTolerances:
        """The same tolerances for all joints; 0: no limit."""
        columns = [[path or np.inf, np.inf], [goal or np.inf, stopped_velocity or np.inf]]
        first, last = (np.repeat(np.array(column)[:, None], n, axis=1) for column in columns)
        return cls(first, last, goal_time or np.inf)

    def changed(
        self,
        joint_names: Sequence[str],
        path: Iterable[JointTolerance],
        goal: Iterable[JointTolerance],
        goal_time: float,
    ) -> GoalTolerances:
        """These tolerances, changed by a goal: 0 keeps one, -1 removes it. Raises MessageError."""
        return GoalTolerances(
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
            text = f"{field}: '{entry.name}' is not among {joints_listed(joint_names)}"
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
        raise MessageError("tolerance", f"{what} is {wanted:g}; must be positive, 0 or -1")
    return wanted


class TrajectoryGoal:
    """Monitors a motion until it ends. end: time at which its last point is due, ns."""

    def __init__(self, joint_names: Sequence[str], tolerances: GoalTolerances, end: int) -> None:
        self.joint_names, self.tolerances, self.end = tuple(joint_names), tolerances, end

    def judge(
        self, time: int, desired: Array, position: Array, velocity: Array
    ) -> GoalResult | None:
        """The verdict once the motion has ended, None before.

        desired: (5, n) at `time` (ns). position, velocity: (n,) measured; NaN where not measured,
        and then not checked.
        """
        errors = np.abs([desired[0] - position, desired[1] - velocity])
        if time < self.end:
            missed = self._missed(errors, self.tolerances.path, "motion")
            return GoalResult(ErrorCode.PATH_TOLERANCE_VIOLATED, missed) if missed else None
        missed = self._missed(errors, self.tolerances.goal, "goal")
        if not missed:
            return GoalResult(ErrorCode.SUCCESSFUL, "goal reached")
        late = 1e-9 * (time - self.end)
        if late <= self.tolerances.goal_time:
            return None
        return GoalResult(
            ErrorCode.GOAL_TOLERANCE_VIOLATED,
            f"{missed}; the last point was due {late:.3g} s ago; allowed:"
            f" {self.tolerances.goal_time:g} s (goal_time_tolerance)",
        )

    def _missed(self, errors: Array, allowed: Array, what: str) -> str:
        """Describe the first joint that is too far off; "" if none is."""
        beyond = errors > allowed
        if not beyond.any():
            return ""
        k, j = np.argwhere(beyond)[0]
        whose = f"'{self.joint_names[j]}'" if k == 0 else f"the speed of '{self.joint_names[j]}'"
        return f"{whose} is {errors[k, j]:.4g} from the {what}; allowed: {allowed[k, j]:g}"
