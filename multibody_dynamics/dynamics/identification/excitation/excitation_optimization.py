# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Optimal exciting motions: the Fourier series that are most informative about the parameters.

Minimises a criterion of the information (`information_criterion`) subject to the limits of the
motion (`motion_constraints`) by sequential quadratic programming (D. Kraft, "A software package for
sequential quadratic programming", DFVLR-FB 88-28, 1988; SLSQP of SciPy) with exact gradients, from
several random starts, of which the best is returned. The smooth inequalities become sharper in
stages. Each stage begins at the best motion so far. After a stage that diverges, the next ones are
confined to a trust region, because the linearised limits are poor approximations far away. Finally,
the motion is checked at every millisecond and, if it exceeds a limit, is scaled down about its
centre: no motion is returned that violates a limit at these times. A motion along which the loops
of the robot do not close counts as far outside the limits.
"""

import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ...core import Array, DynamicsError, InputError, worker_processes
from ...motion import Reference
from .fourier_form import FourierForm
from .information_criterion import InformationCriterion
from .motion_constraints import MotionConstraints
from .motion_limits import ExcitationLimits, LimitUse

SHARPNESS = (30.0, 30.0, 100.0, 100.0, 400.0)  # of the stages, of equal length
ASTRAY = 100.0  # growth of the merit that ends a stage: ten times the width of a limit
FIRST_REACH = 0.3  # of the scaled coefficients about their start, once a stage has failed
WIDER, NARROWER = 1.5, 0.3  # reach after a stage that was successful, and after one that was not
CENTRES = 200  # random configurations tried as the centre of a motion
INNER = 0.7  # share of the range in which centres lie
REACH = 0.5  # share of the limits that a random start may use
SHRINKS = 30
FITS = 40  # attempts to make a motion fit, each smaller by a factor between these
LEAST_SHRINK, MOST_SHRINK = 0.9, 0.9995
CHECK = 1e-3  # s between the times at which the result is checked
PENALTY = 10.0  # on the greatest excess of a limit; more than a smaller motion would cost
FAR = 1e3  # instead of an infinite criterion
POLL = 0.2  # s


class Start(NamedTuple):
    """One random start: its seed, its criterion (infinite: no motion found), its coefficients, and
    whether Ctrl-C ended it."""

    seed: int
    criterion: float
    coefficients: Array
    interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Excitation:
    """The result of :func:`optimal_excitation`.

    motion : from rest to rest. criterion : of the optimised form, smaller is better.
    uses : of the limits along the motion, at every millisecond, the most used first.
    starts : all random starts, in the order of their seeds. is_complete : False if Ctrl-C ended the
    search, of which this is the best motion so far.
    """

    motion: Reference
    form: FourierForm
    coefficients: Array
    criterion: float
    uses: tuple[LimitUse, ...]
    starts: tuple[Start, ...]
    is_complete: bool = True


class _StoppedError(Exception):
    """The time is up, or Ctrl-C was pressed."""


class _DivergedError(Exception):
    """The search has diverged to far outside the limits."""


def optimal_excitation(
    criterion: InformationCriterion,
    limits: ExcitationLimits,
    form: FourierForm,
    *,
    starts: int = 8,
    iterations: int = 200,
    seconds: float | None = None,
    seed: int = 0,
    processes: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Excitation:
    """The Fourier motion with the best criterion that was found within the limits.

    Parameters
    ----------
    form : of the motion. One repetition is optimised; the result has all of them.
    starts : number of random starts, with the seeds seed, seed + 1, ...
    iterations : of each start. Equal arguments give equal results, if no time limit is met.
    seconds : time limit; starts still running then end with the best motion found so far. It
        includes the compilation of the dynamics, if these have not been used before.
    processes : number of processes for the starts.
    progress : called with the number of iterations done and the number in all.

    Ctrl-C (KeyboardInterrupt) ends the search with the best motion so far, if there is one.
    Raises InputError for numbers that are not positive, and DynamicsError if no configuration is
    within the limits or no motion about one of them excites all parameters.
    """
    for name, number in (("starts", starts), ("iterations", iterations), ("processes", processes)):
        if number < 1:
            raise InputError(f"{name} is {number}; it must be positive")
    deadline = np.inf if seconds is None else time.time() + seconds
    single = replace(form, repetitions=min(form.repetitions, 1.0))
    jobs = [
        Job(criterion, limits, single, seed + k, iterations, deadline, optional=k >= processes)
        for k in range(starts)
    ]
    optima = _all(jobs, min(processes, starts), iterations, progress)
    is_complete = len(optima) == starts and not any(start.interrupted for start in optima)
    for best in sorted(optima, key=lambda start: start.criterion):
        if not np.isfinite(best.criterion):
            break
        fitting = within_limits(limits, form, best.coefficients, CHECK)
        if fitting is None:
            continue
        coefficients, uses = fitting
        motion = form.reference(limits.model.joint_names, coefficients)
        constraints = MotionConstraints(single, limits)
        rows = constraints.motion(coefficients)[:3].swapaxes(0, 1)
        value, _ = criterion(rows, single.duration)
        return Excitation(motion, form, coefficients, value, uses, tuple(optima), is_complete)
    if not is_complete:
        raise KeyboardInterrupt
    raise DynamicsError(
        f"{limits.model.name}: no exciting motion within the limits was found from {starts} random"
        " starts; the starting configurations exceed "
        + "; ".join(str(use) for use in _obstacles(limits))
    )


def within_limits(
    limits: ExcitationLimits, form: FourierForm, coefficients: Array, step: float
) -> tuple[Array, tuple[LimitUse, ...]] | None:
    """The coefficients, with smaller amplitudes if necessary, and the limits that they then use.

    The result is within all limits at times at most `step` seconds apart; None if there is none.
    """

    share = 1.0
    times = np.linspace(0.0, form.duration, int(np.ceil(form.duration / step)) + 1)
    states = form.reference(limits.model.joint_names, coefficients).sample(times)
    centre = np.zeros(states.shape[1:])
    centre[0] = coefficients[0]
    for _ in range(FITS):
        try:
            uses = limits.uses(times, centre + share * (states - centre))
        except DynamicsError:  # the loops do not close
            share *= LEAST_SHRINK
            continue
        if not uses or uses[0].used <= 1.0:
            scaled = np.concatenate([coefficients[:1], share * coefficients[1:]])
            return scaled, tuple(uses)
        share *= max(LEAST_SHRINK, min(1.0 / uses[0].used, MOST_SHRINK))
    return None


def _obstacles(limits: ExcitationLimits) -> list[LimitUse]:
    """The limits that the middle of the joint ranges exceeds at rest, or else uses most."""
    states = np.zeros((2, 5, limits.model.n))
    states[:, 0] = 0.5 * (limits.lower + limits.upper)
    uses = limits.uses(np.array([0.0, 1.0]), states)
    return [use for use in uses if use.used > 1.0][:4] or uses[:1]


class _Problem:
    """The minimisation in scaled coefficients x, for one sharpness."""

    def __init__(
        self, criterion: InformationCriterion, limits: ExcitationLimits, form: FourierForm
    ) -> None:
        self.criterion, self.form, self.limits = criterion, form, limits
        self.constraints = MotionConstraints(form, limits, SHARPNESS[0])
        self.scale = _scales(limits, form)
        self.count = len(criterion.columns.names)
        self._last: tuple[Array, tuple[Array, Array]] | None = None

    def sharpen(self, sharpness: float) -> None:
        self.constraints.sharpness = sharpness
        self._last = None

    def coefficients(self, x: Array) -> Array:
        return x.reshape(self.scale.shape) * self.scale

    def cost(self, x: Array) -> tuple[float, Array]:
        """The criterion per parameter, and its gradient."""
        rows = self.constraints.motion(self.coefficients(x))[:3].swapaxes(0, 1)
        value, bars = np.inf, None
        with suppress(DynamicsError):  # the loops do not close
            value, bars = self.criterion(rows, self.form.duration)
        if bars is None or not np.isfinite(value):
            return FAR, np.zeros_like(x)
        basis = self.constraints.basis[:3]
        slope = np.tensordot(basis, bars, axes=((0, 1), (1, 0)))
        return value / self.count, (slope * self.scale).ravel() / self.count

    def merit(self, x: Array) -> float:
        """The cost with a penalty for the greatest excess of a limit."""
        return self.cost(x)[0] + PENALTY * max(0.0, -float(self.slack(x).min()))

    def _evaluated(self, x: Array) -> tuple[Array, Array]:
        if self._last is None or not np.array_equal(self._last[0], x):
            try:
                found = self.constraints.evaluate(self.coefficients(x))
            except DynamicsError:  # the loops do not close
                found = self._far_outside
            self._last = x.copy(), found
        return self._last[1]

    @cached_property
    def _far_outside(self) -> tuple[Array, Array]:
        """All limits exceeded, by 100 %."""
        rest = np.zeros(self.scale.shape)
        rest[0] = self.limits.model.home
        values, slopes = self.constraints.evaluate(rest)
        return np.full_like(values, -1.0), np.zeros_like(slopes)

    def slack(self, x: Array) -> Array:
        return self._evaluated(x)[0]

    def slack_slope(self, x: Array) -> Array:
        slope = self._evaluated(x)[1] * self.scale
        return np.asarray(slope.reshape(len(slope), -1))


def _scales(limits: ExcitationLimits, form: FourierForm) -> Array:
    """(size, n) the largest useful value of each coefficient."""
    half = 0.5 * (limits.upper - limits.lower)
    order = np.arange(1, int(form.harmonics) + 1)[:, None] * 2.0 * np.pi / form.period
    largest = np.minimum(np.minimum(limits.velocity, half * order), limits.acceleration / order)
    return np.concatenate([half[None], largest, largest])


def _first(problem: _Problem, rng: np.random.Generator) -> Array | None:
    """A random motion within the limits, (size n,) scaled; None if none was found."""
    limits = problem.limits
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    x = np.zeros(problem.scale.shape)
    for _ in range(CENTRES):
        x[0] = (middle + INNER * half * rng.uniform(-1.0, 1.0, len(half))) / problem.scale[0]
        x[1:] = 0.0
        if problem.slack(x.ravel()).min() > 0.0:
            break
    else:
        return None
    waves = rng.normal(size=x[1:].shape) / np.sqrt(len(x))
    share = REACH
    for _ in range(SHRINKS):
        x[1:] = share * waves
        if problem.slack(x.ravel()).min() > 0.0:
            return x.ravel()
        share *= 0.8
    return None


class Job(NamedTuple):
    """One random start; deadline in s since the epoch, after which an optional one is not begun."""

    criterion: InformationCriterion
    limits: ExcitationLimits
    form: FourierForm
    seed: int
    iterations: int
    deadline: float
    optional: bool


def optimised(job: Job, count: Callable[[], object] = lambda: None) -> Start:
    """One start of :func:`optimal_excitation`; `count` is called after every iteration."""
    nothing = Start(job.seed, np.inf, np.zeros((job.form.size, job.limits.model.n)))
    if job.optional and time.time() > job.deadline:
        return nothing
    problem = _Problem(job.criterion, job.limits, job.form)
    first = _first(problem, np.random.default_rng(job.seed))
    if first is None:
        return nothing
    best, reach, least, astray, interrupted = first, np.inf, np.inf, np.inf, False

    def note(x: Array) -> None:
        nonlocal best, least
        count()
        merit = problem.merit(x)
        if merit < least:
            best, least = x.copy(), merit
        if time.time() > job.deadline:
            raise _StoppedError
        if merit > astray:
            raise _DivergedError

    try:
        for sharpness in SHARPNESS:
            problem.sharpen(sharpness)
            least = start = problem.merit(best)
            astray = start + ASTRAY if np.isinf(reach) else np.inf
            bounds = None if np.isinf(reach) else np.stack([best - reach, best + reach], axis=1)
            with suppress(_DivergedError):
                minimize(
                    problem.cost,
                    best,
                    jac=True,
                    method="SLSQP",
                    bounds=bounds,
                    constraints={"type": "ineq", "fun": problem.slack, "jac": problem.slack_slope},
                    callback=note,
                    options={"maxiter": max(1, job.iterations // len(SHARPNESS)), "ftol": 1e-6},
                )
            if least < start:
                reach *= WIDER
            else:
                reach = min(FIRST_REACH, NARROWER * reach)
    except _StoppedError:
        pass
    except KeyboardInterrupt:
        interrupted = True
    step = float(problem.constraints.times[1]) / 4.0
    fitting = within_limits(job.limits, job.form, problem.coefficients(best), step)
    if fitting is None:
        return nothing._replace(interrupted=interrupted)
    value = problem.cost((fitting[0] / problem.scale).ravel())[0]
    criterion = value * problem.count if value < FAR else np.inf
    return Start(job.seed, criterion, fitting[0], interrupted)


# Processes

STOPPED = -(2**60)  # counted iterations after Ctrl-C
_counter: Any = None


def _share(counter: Any) -> None:
    global _counter
    _counter = counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process tells when to stop


def _counted(job: Job) -> Start:
    def one_more() -> None:
        with _counter.get_lock():
            if _counter.value < 0:
                raise _StoppedError
            _counter.value += 1

    return optimised(job._replace(deadline=-np.inf) if _counter.value < 0 else job, one_more)


def _all(
    jobs: Sequence[Job], processes: int, iterations: int, progress: Callable[[int, int], None]
) -> list[Start]:
    """All starts, in order; those that Ctrl-C ended are marked, and may be fewer."""
    total = len(jobs) * iterations
    optima: list[Start] = []
    progress(0, total)
    if processes == 1:
        count = 0

        def one_more() -> None:
            nonlocal count
            count += 1
            progress(min(count, total - 1), total)

        for k, job in enumerate(jobs):
            try:
                optima.append(optimised(job, one_more))
            except KeyboardInterrupt:
                break
            count = (k + 1) * iterations
            if optima[-1].interrupted:
                break
        progress(total, total)
        return optima
    counter = get_context("spawn").Value("l", 0)
    with worker_processes(processes, _share, counter) as executor:
        assert executor is not None
        futures = [executor.submit(_counted, job) for job in jobs]
        left, interrupted = set(futures), False
        while left:
            try:
                _, left = wait(left, POLL, FIRST_COMPLETED)
                ended = (len(jobs) - len(left)) * iterations
                progress(min(max(counter.value, ended), total - bool(left)), total)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted, counter.value = True, STOPPED
        return [future.result()._replace(interrupted=interrupted) for future in futures]
