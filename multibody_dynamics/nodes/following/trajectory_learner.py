# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Learning of a repeated trajectory, and its file, outside the control cycle."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from rclpy.impl.rcutils_logger import RcutilsLogger

from ...dynamics.control import IterativeLearning, LearningSettings, Run
from ...dynamics.core import Array, BackgroundThread, InputError
from ...dynamics.model import MultibodyModel
from ..base.parameters import ParameterError
from ..base.scheduling import lower_thread_priority
from .flatness_controller_parameters import FlatnessControllerParameters


class TrajectoryLearner:
    """The learned correction of one trajectory, in memory and in a file.

    Runs are evaluated, and the file is written, in a separate thread.

    Parameters
    ----------
    path : of the file. If it exists, its correction is used, with the settings with which it was
        learned; otherwise it is created after the first run.
    robot, joint_names : of the robot; InputError if those of the file differ.
    settings : of a new file.
    log : called with a text after every run, from that thread, and when a run is skipped, from the
        thread of the caller.

    Attributes: `learning`, replaced as a whole; None before the first trajectory of a new file.
    `learns`: whether runs are learned from; may be set at any time.
    """

    def __init__(
        self,
        path: Path,
        robot: str,
        joint_names: Sequence[str],
        settings: LearningSettings,
        log: Callable[[str], None],
    ) -> None:
        self.path, self.robot, self.joint_names = path, robot, tuple(joint_names)
        self.settings, self._log, self.learns = settings, log, False
        self.learning: IterativeLearning | None = None
        self.note = "no run yet"
        self._thread = BackgroundThread("learning", lower_thread_priority)
        self._work: Future[None] | None = None
        if path.exists():
            self.learning = IterativeLearning.load(path)
            self.learning.require(self.learning.key, robot, joint_names)
            self.note = str(self.learning)
        elif not path.parent.is_dir():
            raise InputError(f"folder {path.parent} does not exist")

    @property
    def is_busy(self) -> bool:
        """Whether a run is still being evaluated."""
        return self._work is not None and not self._work.done()

    def of_trajectory(self, key: str, start: Array, duration: float) -> IterativeLearning | None:
        """What has been learned about this trajectory; None if unusable, and `note` states the
        reason.

        A new file begins with the first trajectory while `learns` is set.
        """
        if self.learning is None:
            if not self.learns:
                self.note = f"{self.path} does not exist yet; set `learn` to create it"
                return None
            self.learning = IterativeLearning.of_trajectory(
                key, self.robot, self.joint_names, start, duration, self.settings
            )
        try:
            self.learning.require(key, self.robot, self.joint_names)
        except InputError as error:
            self.skip(f"{error}; followed without correction")
            return None
        return self.learning

    def skip(self, why: str) -> None:
        """Record why nothing is learned from this run."""
        self.note = why
        self._log(f"learning: {why}")

    def submit(self, run: Run) -> None:
        """Evaluate a run and write the file, in the other thread."""
        try:
            self._work = self._thread.submit(self._learn, run)
        except RuntimeError as error:  # can't start new thread
            self.skip(str(error))

    def _learn(self, run: Run) -> None:
        assert self.learning is not None
        try:
            self.learning = self.learning.after(run)
            self.note = str(self.learning)
            self.learning.save(self.path)
        except InputError as error:
            self.note = str(error)
        except Exception as error:  # the thread must not end silently
            self.note = f"{type(error).__name__}: {error}"
        self._log(f"learning: {self.note}")

    def close(self) -> None:
        """Finish the evaluation of the last run."""
        self._thread.close(wait=True)


def learner_of(
    p: FlatnessControllerParameters, model: MultibodyModel, log: RcutilsLogger
) -> TrajectoryLearner | None:
    """The learner that the parameters describe; None without a `learning_file`. Raises
    ParameterError for a file of another robot."""
    if not p.learning_file:
        return None
    settings = LearningSettings(cutoff=p.learning_cutoff, limit=p.learning_limit)
    path = Path(p.learning_file).expanduser()
    try:
        learner = TrajectoryLearner(path, model.name, model.joint_names, settings, log.info)
    except InputError as error:
        raise ParameterError(f"learning_file: {error}") from None
    learner.learns = p.learn
    log.info(f"learning_file {path}: {learner.note}")
    return learner
