# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The desired motion with its learned correction: what is applied, recorded and learned."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import IterativeLearning, LearningSettings
from multibody_dynamics.dynamics.control.arm.desired_motion import TrajectoryRequest
from multibody_dynamics.dynamics.control.arm.learned_motion import LearnedMotion
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.model.multibody_model import JointLimits
from multibody_dynamics.nodes.base.messages import SECOND
from multibody_dynamics.nodes.following.trajectory_learner import TrajectoryLearner

NAMES = ("a", "b")
STEP = SECOND // 500
OFFSET = np.array([1e-3, -2e-3])  # the robot lags behind its reference by this


class Robot:
    """Follows a motion with a constant error, and records it."""

    def __init__(self, path) -> None:
        self.texts: list[str] = []
        self.learner = TrajectoryLearner(path, "r", NAMES, LearningSettings(), self.texts.append)
        self.learner.learns = True
        wide = np.full(2, 10.0)
        limits = JointLimits(lower=-wide, upper=wide, velocity=wide, effort=wide)
        self.motion = LearnedMotion(NAMES, limits, self.learner)
        self.motion.fade = 0.1
        self.now = 7 * SECOND
        self.motion.hold(np.zeros(2), self.now)
        self.rows = np.zeros((5, 2))
        self.run(0.01)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * SECOND / STEP)):
            self.now += STEP
            self.motion.evaluate(self.now, self.rows)
            q = self.rows[0] - OFFSET
            self.motion.record(self.now, self.motion.desired[0] - q)

    def follow(self, start: int | None = None, end: float = 0.2) -> None:
        points = np.array([[0.3, end], [0.0, 0.0]])
        request = TrajectoryRequest(start, np.array([0.4, 0.8]), points, None, None)
        self.motion.follow(request, np.zeros(2), tolerance=1.0, lead=0.0)

    def wait(self) -> None:
        if self.learner._work is not None:
            self.learner._work.result()


def test_a_constant_error_is_learned_in_one_run_and_written(tmp_path):
    robot = Robot(tmp_path / "x.npz")
    robot.follow()
    robot.run(1.2)
    robot.wait()
    np.testing.assert_allclose(robot.learner.learning.correction(0.5)[0], OFFSET, atol=1e-12)
    robot.follow(start=robot.now + SECOND // 5)  # fades in before it starts
    robot.run(1.4)
    robot.wait()
    found = IterativeLearning.load(tmp_path / "x.npz")
    assert [run.rms > 1e-9 for run in found.figures] == [True, False]
    np.testing.assert_allclose(robot.rows[0], robot.motion.desired[0] + OFFSET, atol=1e-9)
    ahead = np.empty((5, 2))
    robot.motion.look_ahead(robot.now, ahead)
    np.testing.assert_array_equal(ahead, robot.rows)
    robot.motion.stop(0.2)
    robot.run(0.3)
    np.testing.assert_array_equal(robot.rows, robot.motion.desired)


def test_a_run_may_be_cut_off_at_rest_but_not_before(tmp_path):
    robot = Robot(tmp_path / "x.npz")
    robot.follow()
    robot.run(0.85)
    robot.follow()  # the next run, at once
    robot.wait()
    assert len(robot.learner.learning.figures) == 1
    robot.run(1.2)
    robot.wait()  # a run that begins while the last one is evaluated is not learned from
    robot.follow()
    robot.run(0.5)
    robot.motion.stop(0.2)
    assert "not completed" in robot.texts[-1]
    robot.run(1.0)
    robot.motion.hold(np.zeros(2), robot.now)
    robot.follow()
    robot.run(0.3)
    runs = len(robot.learner.learning.figures)
    robot.motion.hold(robot.rows[0].copy(), robot.now)  # a fault
    robot.wait()
    assert "interrupted" in robot.texts[-1]
    assert len(robot.learner.learning.figures) == runs
    robot.run(0.01)
    np.testing.assert_array_equal(robot.rows, robot.motion.desired)


def test_other_starts_and_trajectories_are_not_learned(tmp_path):
    robot = Robot(tmp_path / "x.npz")
    robot.follow()
    robot.run(1.2)
    robot.wait()
    robot.follow(start=robot.now - SECOND // 10)
    assert "0.1 s after its stamp" in robot.texts[-1]
    robot.run(1.2)
    robot.follow(end=0.1)
    assert "another trajectory" in robot.texts[-1]
    robot.run(0.3)
    robot.follow()
    assert "at rest" in robot.texts[-1]
    robot.motion.hold(np.array([0.01, 0.0]), robot.now)
    robot.follow()
    assert "it started 0.01 away from the start" in robot.texts[-1]
    assert len(robot.learner.learning.figures) == 1
    robot.learner.learns = False
    other = Robot(tmp_path / "x.npz")
    np.testing.assert_allclose(other.learner.learning.correction(0.5)[0], OFFSET, atol=1e-12)


def test_a_file_of_another_robot_is_rejected(tmp_path):
    robot = Robot(tmp_path / "x.npz")
    robot.follow()
    robot.run(1.2)
    robot.learner.close()
    with pytest.raises(InputError, match="for the robot 'r', not for 'other'"):
        TrajectoryLearner(tmp_path / "x.npz", "other", NAMES, LearningSettings(), print)
