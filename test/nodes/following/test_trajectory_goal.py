# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tolerances of a goal, and its outcome."""

from types import SimpleNamespace

import numpy as np
import pytest

from multibody_dynamics.nodes.base.messages import SECOND, MessageError
from multibody_dynamics.nodes.following.trajectory_goal import (
    ErrorCode,
    GoalTolerances,
    TrajectoryGoal,
)

NAMES = ("shoulder", "elbow")
END = 1_700_000_000 * SECOND
DEFAULTS = GoalTolerances.of_parameters(
    2, path=0.2, goal=0.05, stopped_velocity=0.01, goal_time=0.5
)
UNMEASURED = np.full(2, np.nan)


def tolerance(name: str, position: float = 0.0, velocity: float = 0.0) -> SimpleNamespace:
    return SimpleNamespace(name=name, position=position, velocity=velocity)


def judge(time, off=(0.0, 0.0), speed=(0.0, 0.0), tolerances=DEFAULTS):
    """The verdict `time` s after the end, with the robot off by `off` and moving at `speed`."""
    desired = np.zeros((5, 2))
    desired[0] = 0.3, -0.4
    position = desired[0] + off
    goal = TrajectoryGoal(NAMES, tolerances, END)
    return goal.judge(END + round(SECOND * time), desired, position, np.asarray(speed))


def test_zero_means_no_tolerance():
    none = GoalTolerances.of_parameters(2, path=0.0, goal=0.0, stopped_velocity=0.0, goal_time=0.0)
    assert judge(-1.0, (9.0, 9.0), (9.0, 9.0), none) is None
    assert judge(0.0, (9.0, 9.0), (9.0, 9.0), none).code == ErrorCode.SUCCESSFUL


def test_a_goal_keeps_erases_or_replaces_the_defaults():
    changed = DEFAULTS.changed(
        NAMES,
        [tolerance("elbow", 0.7, 0.9)],
        [tolerance("elbow", velocity=-1.0), tolerance("shoulder", -1.0)],
        0.0,
    )
    np.testing.assert_array_equal(changed.path, [[0.2, 0.7], [np.inf, 0.9]])
    np.testing.assert_array_equal(changed.goal, [[np.inf, 0.05], [0.01, np.inf]])
    assert changed.goal_time == 0.5
    assert DEFAULTS.changed(NAMES, [], [], 2.0).goal_time == 2.0
    assert DEFAULTS.changed(NAMES, [], [], -1.0).goal_time == np.inf
    np.testing.assert_array_equal(DEFAULTS.path, [[0.2, 0.2], [np.inf, np.inf]])  # as before


@pytest.mark.parametrize(
    ("path", "goal", "goal_time", "reason", "says"),
    [
        ([tolerance("knee", 0.1)], [], 0.0, "unknown joint", "path_tolerance: 'knee'"),
        ([], [tolerance("knee")], 0.0, "unknown joint", "goal_tolerance: 'knee'"),
        ([tolerance("elbow", -0.5)], [], 0.0, "tolerance", "position of 'elbow' is -0.5"),
        ([], [tolerance("elbow", 0.0, np.nan)], 0.0, "tolerance", "velocity of 'elbow' is nan"),
        ([], [], -3.0, "tolerance", "goal_time_tolerance is -3"),
    ],
)
def test_invalid_tolerances_are_rejected(path, goal, goal_time, reason, says):
    with pytest.raises(MessageError, match=says) as caught:
        DEFAULTS.changed(NAMES, path, goal, goal_time)
    assert caught.value.reason == reason


def test_along_the_path_only_path_tolerances_count():
    assert judge(-1e-9, (0.19, -0.19), (5.0, 5.0)) is None
    verdict = judge(-1e-9, (0.1, -0.25))
    assert verdict.code == ErrorCode.PATH_TOLERANCE_VIOLATED
    assert verdict.text == "'elbow' is 0.25 from the motion; allowed: 0.2"
    slow = DEFAULTS.changed(NAMES, [tolerance("elbow", 0.0, 0.5)], [], 0.0)
    assert judge(-1.0, speed=(0.0, 0.6), tolerances=slow).text == (
        "the speed of 'elbow' is 0.6 from the motion; allowed: 0.5"
    )
    assert judge(-1.0, speed=UNMEASURED, tolerances=slow) is None


def test_the_goal_is_reached_when_the_robot_is_close_and_at_rest():
    assert judge(0.0, (0.04, -0.04), (0.009, 0.0)).code == ErrorCode.SUCCESSFUL
    assert judge(0.0, (0.04, -0.04), UNMEASURED).code == ErrorCode.SUCCESSFUL
    assert judge(0.0, speed=(0.0, 0.02)) is None  # keeps waiting
    assert judge(0.5, (0.06, 0.0)) is None
    verdict = judge(0.6, (0.06, 0.0))
    assert verdict.code == ErrorCode.GOAL_TOLERANCE_VIOLATED
    assert verdict.text == (
        "'shoulder' is 0.06 from the goal; allowed: 0.05; the last point was due 0.6 s ago;"
        " allowed: 0.5 s (goal_time_tolerance)"
    )
    patient = DEFAULTS.changed(NAMES, [], [], -1.0)
    assert judge(1e6, (0.06, 0.0), tolerances=patient) is None
