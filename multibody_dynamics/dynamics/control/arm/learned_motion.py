# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A desired motion with the learned correction of a repeated trajectory.

The law follows the corrected motion; `desired` is the motion without correction, against which
errors are judged and recorded. A hold drops the correction immediately, because it starts at a
measured position; a stop, or a trajectory without correction, fades it out.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...core import SECOND, Array, IndependentCopies
from ...model import JointLimits
from ..trajectories.iterative_learning import IterativeLearning, Run, trajectory_key
from ..trajectories.learned_correction import FadingCorrection
from .desired_motion import DesiredMotion, TrajectoryRequest

FADE = 0.5  # s, of a change of corrections; its fourth derivative grows with 1 / FADE^4
SETTLING = 0.3  # s at rest after a trajectory, recorded as part of its run
LATE = 0.02  # s by which a trajectory may start later than its stamp and still be learned
START_TOLERANCE = 1e-3  # rad or m from the start of earlier runs


class Learner(Protocol):
    """Learns from runs, in the background."""

    @property
    def learns(self) -> bool:
        """Whether runs are learned from."""

    @property
    def is_busy(self) -> bool:
        """Whether a run is still being evaluated."""

    def of_trajectory(self, key: str, start: Array, duration: float) -> IterativeLearning | None:
        """What has been learned about this trajectory; None if there is nothing to apply."""

    def skip(self, why: str) -> None:
        """Record why nothing is learned from this run."""

    def submit(self, run: Run) -> None:
        """Evaluate a run."""


class Recording(IndependentCopies):
    """The samples of a run. origin, end: ns, of the trajectory; duration: s, of the run."""

    def __init__(self, origin: int, end: int, duration: float, n: int) -> None:
        self.origin, self.end, self.duration = origin, end, duration
        self._rows = np.empty((4096, 1 + 2 * n))
        self._count, self._n = 0, n

    def add(self, t: float, error: Array, applied: Array) -> None:
        """Add a sample at t (s since the start), if it belongs to the run."""
        if not 0.0 <= t <= self.duration:
            return
        if self._count == len(self._rows):
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        row, n = self._rows[self._count], self._n
        row[0], row[1 : 1 + n], row[1 + n :] = t, error, applied
        self._count += 1

    def run(self) -> Run:
        """The run; if it was cut off at rest, its last sample is repeated until the end."""
        rows = self._rows[: self._count]
        if self._count > 1 and rows[-1, 0] < self.duration:
            step = max(rows[-1, 0] / (self._count - 1), 1e-4)
            missing = np.arange(rows[-1, 0] + step, self.duration, step)
            tail = np.repeat(rows[-1:], len(missing), axis=0)
            tail[:, 0] = missing
            rows = np.concatenate((rows, tail))
        times, error, applied = np.split(rows.copy(), (1, 1 + self._n), axis=1)
        return Run(times[:, 0], error, applied)


class LearnedMotion(DesiredMotion):
    """A :class:`DesiredMotion` with the correction found by a learner.

    fade : s, duration of a change of corrections, FADE by default; may be set at any time.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        limits: JointLimits,
        learner: Learner,
        turn: Array | None = None,
    ) -> None:
        super().__init__(joint_names, limits, turn)
        n = len(self.joint_names)
        self._learner, self.fade = learner, FADE
        self._correction = FadingCorrection(n)
        self._applied, self._start = np.zeros((2, 5, n))
        self._epoch = self._time = 0  # ns: zero of the correction's time axis; last evaluation
        self._recording: Recording | None = None

    def release(self) -> None:
        super().release()
        self._drop()

    def hold(self, position: Array, time: int) -> None:
        super().hold(position, time)
        self._drop()
        self._epoch = self._time = time

    def stop(self, duration: float) -> None:
        super().stop(duration)
        self._end_run()
        self._change(None, self._time)

    def evaluate(self, time: int, out: Array) -> None:
        super().evaluate(time, out)
        self._time = time
        self._correction.evaluate(self._seconds(time), self._applied)
        out += self._applied

    def look_ahead(self, time: int, out: Array) -> None:
        super().look_ahead(time, out)
        self._correction.add_to(self._seconds(time), out)

    def follow(self, request: TrajectoryRequest, measured: Array, **options: Any) -> None:
        super().follow(request, measured, **options)
        self._end_run()
        self._prepare(request)

    def stream(self, request: TrajectoryRequest, *arguments: Any, **options: Any) -> None:
        had_begun = self.streamed is not None
        super().stream(request, *arguments, **options)
        if not had_begun:  # what was learned of a trajectory does not apply
            self._end_run()
            self._change(None, self._time)

    def record(self, time: int, error: Array) -> None:
        recording = self._recording
        if recording is None:
            return
        t = 1e-9 * (time - recording.origin)
        recording.add(t, error, self._applied[0])
        if t >= recording.duration:
            self._end_run()

    def _prepare(self, request: TrajectoryRequest) -> None:
        """Correct the trajectory that was just accepted, and record it if it can be learned."""
        learner = self._learner
        begin = (self._next or (self._origin, None))[0]
        origin = begin if request.start is None else request.start
        super().look_ahead(begin, self._start)
        position = self._start[0].copy()
        tables = request.times, request.positions, request.velocities, request.accelerations
        duration = float(request.times[-1]) + SETTLING
        key = trajectory_key(self.joint_names, *tables)
        learning = learner.of_trajectory(key, position, duration)
        if learning is None:
            self._change(None, self._time)
            return
        self._change(learning.correction, origin)
        if not learner.learns:
            return
        away = float(np.abs(position - learning.start).max())
        if learner.is_busy:
            learner.skip("not learned: the last run is still being evaluated")
        elif begin - origin > int(SECOND * LATE):
            learner.skip(f"not learned: it began {1e-9 * (begin - origin):.3g} s after its stamp")
        elif np.abs(self._start[1]).max() > START_TOLERANCE:
            learner.skip("not learned: the trajectory did not start at rest")
        elif away > START_TOLERANCE:
            learner.skip(f"not learned: it started {away:.2g} away from the start of the first run")
        else:
            end = origin + round(SECOND * float(request.times[-1]))
            self._recording = Recording(origin, end, learning.duration, len(position))

    def _change(self, correction: object, origin: int) -> None:
        self._correction.change(
            correction,  # type: ignore[arg-type]
            origin=self._seconds(origin),
            now=self._seconds(self._time),
            duration=self.fade,
        )

    def _seconds(self, time: int) -> float:
        return 1e-9 * (time - self._epoch)

    def _end_run(self) -> None:
        """Learn from the run that is being recorded, if its trajectory has ended."""
        recording, self._recording = self._recording, None
        if recording is None:
            return
        if self._time >= recording.end and self._learner.learns:
            self._learner.submit(recording.run())
        else:
            self._learner.skip("not learned: the trajectory was not completed")

    def _drop(self) -> None:
        self._correction.reset()
        self._applied[:] = 0.0
        if self._recording is not None:
            self._learner.skip("not learned: the trajectory was interrupted")
        self._recording = None
