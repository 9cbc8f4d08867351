# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Iterative learning control: every repetition of a trajectory reduces its error.

    c_(j+1) = Q (c_j + gain (q_d - q_j)),        the law follows q_d + c

With an exact model, the flat map makes the robot follow its reference exactly: from reference to
link, the closed loop is the identity. The learning function, the inverse of the closed loop, is
therefore the identity as well, for every kind of actuator and every law with the full flat map, and
c with its four derivatives reaches motors and torques through the same map. With a wrong model, the
loop is T = 1 + Delta, and a run leaves the share Q (1 - gain T) = Q ((1 - gain) - gain Delta) of
the repeatable error. Delta is small below the resonances of the arm. The non-causal filter Q,
the projection onto the splines of :class:`.LearnedCorrection`, keeps to these frequencies; its
phase is zero, since the whole run is known.

Near a resonance that the law does not damp, Delta is large. There, earlier runs compensate for this
error of the model: with the differences Dc_k and De_k to them, after Q,

    c_(j+1) = c - sum_k a_k Dc_k + gain (e - sum_k a_k De_k),    a = arg min |e - sum_k a_k De_k|,

which is Anderson's acceleration of the iteration above, and solves for the few motions in which
T is far from 1.

Noise: a run leaves in c the part of the encoder noise that passes Q, a share 2 cutoff / rate of
its variance; it does not accumulate over the runs, because every run measures the error of c anew.

Stop rule: nothing is learned from a run that does not beat the best one by at least `improvement`.
The next run takes half the step from the best one, and after `patience` such runs the best
correction becomes final.

S. Arimoto, S. Kawamura, F. Miyazaki, J. Robotic Systems 1, 1984. D. Bristow, M. Tharayil,
A. Alleyne, A survey of iterative learning control, IEEE Control Systems Magazine 26, 2006 (Q-filter
and learning function). J. van de Wijdeven, O. Bosgra, Using basis functions in iterative learning
control, Int. J. Control 83, 2010. H. Walker, P. Ni, Anderson acceleration for fixed-point
iterations, SIAM J. Numer. Anal. 49, 2011.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core import Array, InputError, as_array, read_arrays, reading
from .learned_correction import LearnedCorrection

FORMAT = 1
CUTOFF = 12.0  # Hz


class Run(NamedTuple):
    """One run: times (k,) s since the start of the trajectory, and (k, n) in rad or m the error
    q_d - q against the desired motion without correction, and the correction that was applied."""

    times: Array
    error: Array
    applied: Array


class RunFigures(NamedTuple):
    """Errors of one run over all joints and times, in rad or m, and when it ended (ISO 8601)."""

    rms: float
    peak: float
    date: str


@dataclass(frozen=True)
class LearningSettings:
    """Settings of :class:`IterativeLearning`.

    Attributes
    ----------
    cutoff : cut-off of the Q-filter in Hz: the pieces of the spline are 1 / (2 cutoff) long.
    gain : share of the measured error that is added to the correction, above 0 and at most 1.
    limit : largest correction of a joint in rad or m; a number or one for each joint.
    improvement : share, 0 to below 1, by which the error must fall below that of the best run for a
        run to count as better.
    patience : number of runs without improvement after which learning ends.
    memory : number of earlier runs that are used for acceleration; 0 for none.

    Raises InputError for values out of range.
    """

    cutoff: float = CUTOFF
    gain: float = 1.0
    limit: float | tuple[float, ...] = 0.05
    improvement: float = 0.02
    patience: int = 2
    memory: int = 3

    def __post_init__(self) -> None:
        limits = np.atleast_1d(as_array("limit of the correction", self.limit, ()))
        checks = {
            f"cutoff is {self.cutoff} Hz: must be positive": 0.0 < self.cutoff < np.inf,
            f"gain is {self.gain}: must be above 0 and at most 1": 0.0 < self.gain <= 1.0,
            f"limit is {self.limit} (rad, or m for prismatic joints): must be positive": bool(
                (limits > 0.0).all()
            ),
            f"improvement is {self.improvement}: must be at least 0 and below 1": (
                0.0 <= self.improvement < 1.0
            ),
            f"patience is {self.patience} runs: must be 1 or more": self.patience >= 1,
            f"memory is {self.memory} runs: must be zero or more": self.memory >= 0,
        }
        for text, is_right in checks.items():
            if not is_right:
                raise InputError(f"learning: {text}")


def trajectory_key(joint_names: Sequence[str], *tables: Any) -> str:
    """A hash of joint names and arrays (times, positions ..; None is allowed), which identifies a
    trajectory: it changes with any bit of them."""
    digest = sha256("\0".join(joint_names).encode())
    for table in tables:
        if table is None:
            digest.update(b"none")
        else:
            rows = np.ascontiguousarray(table, dtype=np.float64)
            digest.update(f"{rows.shape}".encode() + rows.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class IterativeLearning:
    """The state of learning for one trajectory of one robot; immutable.

    >>> learning = IterativeLearning.of_trajectory(key, model.name, names, start, duration)
    >>> learning.correction.add_to(t, desired)  # in every cycle of a run
    >>> learning = learning.after(Run(times, error, applied))  # after the run

    Attributes
    ----------
    key : hash of the trajectory, see :func:`trajectory_key`.
    robot, joint_names : names of the robot and its joints.
    start : (n,) desired position at the start.
    correction : the correction for the next run.
    best : the correction of the best run; zero before the first.
    step : the correction learned from the best run; `correction` is `best`, moved all or part of
        the way to it.
    history : (h, 2, p, n) coefficients of the last runs' applied corrections and errors, after Q.
    figures : errors of all runs, in their order.
    stalls : runs since the best one.
    is_finished : whether the correction is final; later runs are only evaluated.
    last : the last run, or None.
    """

    key: str
    robot: str
    joint_names: tuple[str, ...]
    start: Array
    settings: LearningSettings
    correction: LearnedCorrection
    best: LearnedCorrection
    step: LearnedCorrection
    history: Array
    figures: tuple[RunFigures, ...] = ()
    stalls: int = 0
    is_finished: bool = False
    last: Run | None = field(default=None, repr=False)

    @classmethod
    def of_trajectory(
        cls,
        key: str,
        robot: str,
        joint_names: Sequence[str],
        start: Any,
        duration: float,
        settings: LearningSettings | None = None,
    ) -> IterativeLearning:
        """The state before the first run.

        duration : s, of the trajectory together with the time at rest after it that is to be
        learned as well.
        """
        settings, n = settings or LearningSettings(), len(joint_names)
        if (count := np.size(settings.limit)) not in (1, n):
            raise InputError(f"learning: limit has {count} values for {n} joints")
        position = as_array("start of the trajectory", start, (n,), joint_names).copy()
        none = LearnedCorrection.zero(duration, 0.5 / settings.cutoff, n)
        history = np.empty((0, 2, *none.coefficients.shape))
        return cls(key, robot, tuple(joint_names), position, settings, none, none, none, history)

    @property
    def duration(self) -> float:
        """Duration of a run, s."""
        return self.correction.duration

    @property
    def best_rms(self) -> float:
        """rad or m, of the best run; infinite before the first."""
        return min((run.rms for run in self.figures), default=np.inf)

    def after(self, run: Run, date: str = "") -> IterativeLearning:
        """The state after learning from this run. Raises InputError if the run does not fit."""
        run = self._checked(run)
        date = date or datetime.now(timezone.utc).isoformat(timespec="seconds")
        rms = float(np.sqrt((run.error**2).mean()))
        now = RunFigures(rms, float(np.abs(run.error).max()), date)
        known = replace(self, figures=(*self.figures, now), last=run)
        if self.is_finished:
            return known
        filtered = [self.correction.fitted(run.times, row).coefficients for row in run[:0:-1]]
        history = np.concatenate((self.history, [filtered]))[-1 - self.settings.memory :]
        known = replace(known, history=history)
        if rms < (1.0 - self.settings.improvement) * self.best_rms:
            step = LearnedCorrection(self.duration, self._learned(history))
            return replace(known, correction=step, best=self.correction, step=step, stalls=0)
        stalls = self.stalls + 1
        if stalls >= self.settings.patience:
            best = self.correction if rms < self.best_rms else self.best
            return replace(known, correction=best, best=best, stalls=stalls, is_finished=True)
        return replace(known, correction=self.best.mixed(self.step, 0.5**stalls), stalls=stalls)

    def _learned(self, history: Array) -> Array:
        """The coefficients (p, n) learned from the last run of a history (h, 2, p, n)."""
        settings, (c, e) = self.settings, history[-1]
        if len(history) > 1:
            changes = history[-1] - history[:-1]
            rows = changes[:, 1].reshape(len(changes), -1).T
            shares = np.linalg.lstsq(rows, e.ravel(), rcond=1e-3)[0]
            c, e = history[-1] - np.tensordot(shares, changes, 1)
        return np.clip(c + settings.gain * e, -np.asarray(settings.limit), settings.limit)

    def _checked(self, run: Run) -> Run:
        names = self.joint_names
        times = as_array("times of the run", run.times, ())
        shape = (len(names),)
        error = as_array("error of the run", run.error, shape, names)
        applied = as_array("applied correction", run.applied, shape, names)
        if times.ndim != 1 or not error.shape == applied.shape == (len(times), len(names)):
            raise InputError(
                f"run: expected times (k,), error and applied (k, {len(names)}), got shapes "
                f"{times.shape}, {error.shape}, {applied.shape}"
            )
        pieces = self.correction.pieces
        spacing = self.duration / pieces
        reach = np.concatenate(([0.0], times, [self.duration]))
        if len(times) < 2 * pieces or np.abs(np.diff(reach)).max() > spacing:
            raise InputError(
                f"run: {len(times)} samples leave gaps in the {self.duration:.3g} s of the "
                f"trajectory; at least two are needed in every {spacing:.3g} s"
            )
        return Run(times, error, applied)

    def require(self, key: str, robot: str, joint_names: Sequence[str]) -> None:
        """Raise InputError unless this was learned for the same trajectory, robot and joints."""
        if tuple(joint_names) != self.joint_names:
            raise InputError(
                f"the learned correction is for the joints {', '.join(self.joint_names)}, but the "
                f"robot has {', '.join(joint_names)}"
            )
        if robot != self.robot:
            raise InputError(
                f"the learned correction is for the robot '{self.robot}', not for '{robot}'"
            )
        if key != self.key:
            raise InputError(
                f"the learned correction is for another trajectory (hash {self.key[:12]}, this one "
                f"has {key[:12]}); use a separate file for each trajectory"
            )

    def __str__(self) -> str:
        if not self.figures:
            return "no runs yet"
        now, count = self.figures[-1], len(self.figures)
        state = "finished" if self.is_finished else "learning"
        return (
            f"run {count}: rms {1e3 * now.rms:.3g}, peak {1e3 * now.peak:.3g}; best rms "
            f"{1e3 * self.best_rms:.3g} (1e-3 rad or m); {state}"
        )

    # Files

    def save(self, path: str | Path) -> None:
        """Write everything to a NumPy file (.npz), which is replaced atomically."""
        path = Path(path)
        last = self.last or Run(np.empty(0), *np.empty((2, 0, len(self.joint_names))))
        content = {
            "format": FORMAT,
            "trajectory_hash": self.key,
            "robot": self.robot,
            "joint_names": np.array(self.joint_names),
            "start": self.start,
            "duration": self.duration,
            **asdict(self.settings),
            "correction": self.correction.coefficients,
            "best": self.best.coefficients,
            "step": self.step.coefficients,
            "history": self.history,
            "rms": [run.rms for run in self.figures],
            "peak": [run.peak for run in self.figures],
            "date": np.array([run.date for run in self.figures], dtype=str),
            "stalls": self.stalls,
            "is_finished": self.is_finished,
            "times": last.times,
            "error": last.error,
            "applied": last.applied,
        }
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with draft.open("wb") as file:
                np.savez(file, **content)
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise InputError(f"cannot write the learned correction to {path}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> IterativeLearning:
        """Read a file that :meth:`save` has written. Raises InputError for any other."""
        try:
            given = read_arrays(path)
        except InputError as error:
            raise InputError(f"cannot read a learned correction: {error}") from None
        with reading(path, "a learned correction"):
            return cls._of(given)

    @classmethod
    def _of(cls, given: dict[str, Array]) -> IterativeLearning:
        if (found := int(given["format"])) != FORMAT:
            raise InputError(f"format {found}; expected {FORMAT}")
        settings = {each.name: given[each.name].tolist() for each in fields(LearningSettings)}
        if isinstance(settings["limit"], list):
            settings["limit"] = tuple(settings["limit"])
        duration = float(given["duration"])
        figures = zip(given["rms"], given["peak"], given["date"], strict=True)
        last = Run(given["times"], given["error"], given["applied"])
        return cls(
            str(given["trajectory_hash"]),
            str(given["robot"]),
            tuple(str(name) for name in given["joint_names"]),
            given["start"],
            LearningSettings(**settings),
            LearnedCorrection(duration, given["correction"]),
            LearnedCorrection(duration, given["best"]),
            LearnedCorrection(duration, given["step"]),
            given["history"],
            tuple(RunFigures(float(rms), float(peak), str(date)) for rms, peak, date in figures),
            int(given["stalls"]),
            bool(given["is_finished"]),
            last if len(last.times) else None,
        )
