# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Base class of nodes that follow trajectories and learn from their repetition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus

from ...dynamics.control import LearnedMotion, LearningSettings
from ...dynamics.core import Array, InputError
from ..base.diagnostics import OK
from ..base.parameters import ParameterError
from .flatness_controller_parameters import FlatnessControllerParameters
from .following import FollowingNode
from .trajectory_learner import TrajectoryLearner


class LearningNode(FollowingNode):
    """A :class:`FollowingNode` whose desired motion includes the correction in `learning_file`.

    A subclass calls `_motion.record` with the error against `_wanted` in every cycle in which the
    robot follows.
    """

    parameters: FlatnessControllerParameters
    _motion: LearnedMotion

    def __init__(self, name: str) -> None:
        self._learner: TrajectoryLearner | None = None
        super().__init__(name)

    def configure(self) -> None:
        super().configure()
        self._learner = self._make_learner(self.parameters)

    def _make_learner(self, p: FlatnessControllerParameters) -> TrajectoryLearner | None:
        if not p.learning_file:
            return None
        settings = LearningSettings(cutoff=p.learning_cutoff, limit=p.learning_limit)
        path = Path(p.learning_file).expanduser()
        model, log = self._model, self.get_logger().info
        try:
            learner = TrajectoryLearner(path, model.name, model.joint_names, settings, log)
        except InputError as error:
            raise ParameterError(f"learning_file: {error}") from None
        learner.learns = p.learn
        self.get_logger().info(f"learning_file {path}: {learner.note}")
        return learner

    def reconfigure(self, values: FlatnessControllerParameters) -> None:  # type: ignore[override]
        super().reconfigure(values)
        if self._learner is not None:
            self._learner.learns = values.learn

    def cleanup(self) -> None:
        super().cleanup()
        if self._learner is not None:
            self._learner.close()
            self._learner = None

    def _make_motion(self) -> LearnedMotion:
        return LearnedMotion(self._model.joint_names, self._soft_limits, self._learner)

    @property
    def _wanted(self) -> Array:
        return self._motion.wanted

    def _learning_statuses(self) -> Iterator[DiagnosticStatus]:
        """The status of learning, if there is a learning file."""
        learner = self._learner
        if learner is None:
            return
        values: dict[str, object] = {"file": str(learner.path), "learn": learner.learns}
        learning = learner.learning
        if learning is not None:
            values |= {"runs": len(learning.figures), "finished": learning.is_finished}
            if learning.figures:
                values |= {
                    "rms of the last run [rad or m]": learning.figures[-1].rms,
                    "rms of the best run [rad or m]": learning.best_rms,
                }
        yield self._status("learning", OK, learner.note, values)
