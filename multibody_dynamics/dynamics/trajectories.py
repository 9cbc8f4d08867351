"""References for elastic robots: joint motions continuous through the fourth derivative.

The motor torque of an elastic joint contains q'''', so a reference is a function t -> q, q', q'', q''',
q'''' without jumps, from its first instant to its last. Three kinds share one interface,
`Reference`: interpolated points (`interpolate`, `splice`, `hold`, `stop`), and a sum of sines.

The interpolation: between two points a polynomial of degree 9, which is fixed by the five derivatives
0..4 at both. Those that are not given are chosen so that the integral of the squared jerk over the
whole motion is smallest: a banded, symmetric positive definite system. Where only positions are given,
this is the quintic spline, away from the ends, which take degree 9 to start and stop at rest. Minimum
jerk rather than a higher derivative, because the natural spline of degree 9 overshoots wildly as soon
as points are unevenly spaced; and an integral over time, because what remains of an optimal motion is
optimal: sending the rest of a running trajectory again changes nothing.

Times are seconds on the trajectory's own axis; keep it near zero (seconds since start, not since
1970), or the rounding of t shows in q''''. Angles in rad, displacements in m.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BPoly
from scipy.linalg import solveh_banded

from .errors import TrajectoryError
from .inputs import Array, as_array

DERIVATIVES = ("q", "q'", "q''", "q'''", "q''''")
REST = float(np.finfo(np.float32).eps)  # speed below which a point is at rest, rad/s or m/s

# Hermite basis on [0, 1]: column k is the polynomial whose k-th datum is one and the others zero; the
# data are the derivatives 0..4 at 0, then those at 1.
_ORDER = np.tile(np.arange(5.0), 2)
_HERMITE = BPoly.from_derivatives([0.0, 1.0], [np.eye(10)[:5], np.eye(10)[5:]])


def _jerk_energy() -> Array:
    """(10, 10): integral over [0, 1] of the product of the third derivatives of the basis."""
    node, weight = np.polynomial.legendre.leggauss(7)
    jerk = _HERMITE.derivative(3)(0.5 * (node + 1.0))
    return 0.5 * jerk.T @ (weight[:, None] * jerk)


def _bernstein_tables() -> Array:
    """(5, 10, 10): Bernstein coefficients, raised to degree 9, of the derivatives 0..4 of the basis."""
    tables = np.empty((5, 10, 10))
    for k in range(5):
        c = _HERMITE.derivative(k).c[:, 0]
        while len(c) < 10:
            weight = np.arange(len(c) + 1)[:, None] / len(c)
            zero = np.zeros((1, 10))
            c = weight * np.vstack((zero, c)) + (1.0 - weight) * np.vstack((c, zero))
        tables[k] = c
    return tables


_ENERGY = _jerk_energy()
_TABLES = _bernstein_tables()
_POWER = np.arange(10.0)
_COMPLEMENT = 9.0 - _POWER
_BINOMIAL = np.array([1.0, 9.0, 36.0, 84.0, 126.0, 126.0, 84.0, 36.0, 9.0, 1.0])
_GRID = np.linspace(0.0, 1.0, 65)


class Reference(ABC):
    """A joint motion q(t) with its derivatives through the fourth, all continuous.

    Before `start_time` and after `end_time` the first and last positions are held. Where the motion
    does not begin (or end) at rest, asking for an earlier (later) time raises TrajectoryError.
    Immutable, without buffers: threads may share it.
    """

    def __init__(self, joint_names: Sequence[str], start_time: float, end_time: float) -> None:
        self.joint_names = tuple(joint_names)
        self.start_time = float(start_time)
        self.end_time = float(end_time)

    _first: Array  # states (5, n) at start_time and end_time
    _last: Array

    @abstractmethod
    def _inside(self, t: float) -> Array:
        """State (5, n) at start_time < t < end_time."""

    @abstractmethod
    def extremes(self) -> tuple[Array, Array]:
        """Least and greatest values (5, n) of q..q'''', found on a grid: good to about 0.1 %."""

    def __call__(self, t: float) -> Array:
        """State (5, n) at time t: q, q', q'', q''', q'''' in rad (m), rad/s, ... rad/s^4."""
        if self.start_time < t < self.end_time:
            return self._inside(t)
        return self._outside(t).copy()

    def evaluate(self, t: float, out: Array) -> None:
        """Write the state at time t into `out` (5, n)."""
        out[...] = self._inside(t) if self.start_time < t < self.end_time else self._outside(t)

    def sample(self, times: Any) -> Array:
        """States (k, 5, n) at the times (k,)."""
        states = np.empty((len(times), 5, self.n))
        for t, state in zip(times, states, strict=True):
            self.evaluate(float(t), state)
        return states

    @property
    def n(self) -> int:
        return len(self.joint_names)

    @property
    def duration(self) -> float:
        return self.end_time - self.start_time

    @property
    def is_at_rest_at_end(self) -> bool:
        return not self._last[1:].any()

    def peak_values(self) -> Array:
        """Greatest magnitudes (5, n) of q..q'''', to compare with limits."""
        return np.maximum(*np.abs(self.extremes()))

    def _outside(self, t: float) -> Array:
        if not isfinite(t):
            raise TrajectoryError(f"a trajectory was asked for its state at t = {t}")
        early = t <= self.start_time
        edge, state = (self.start_time, self._first) if early else (self.end_time, self._last)
        if t != edge and state[1:].any():
            raise TrajectoryError(
                f"no state at t = {t:.9g} s: the trajectory is in motion at its"
                f" {'start' if early else 'end'}, t = {edge:.9g} s; splice or stop it in time"
            )
        return state


class Trajectory(Reference):
    """Polynomials of degree 9 between knots; made by `interpolate`, `splice`, `hold` and `stop`.

    knots : (m,) s, increasing. states : (m, 5, n), q..q'''' at the knots. Both read-only.
    """

    def __init__(self, joint_names: Sequence[str], knots: Array, states: Array) -> None:
        super().__init__(joint_names, knots[0], knots[-1])
        self.knots, self.states = knots.copy(), states.copy()
        self.knots.flags.writeable = self.states.flags.writeable = False
        self._first, self._last = self.states[0], self.states[-1]
        step = np.diff(knots)
        table = _TABLES @ _segments(states, step)[:, None] / _powers(step, 5)[:, :, None, None]
        table[:, 0] += states[:-1, None, 0]
        table[:, :, 0], table[:, :, -1] = states[:-1], states[1:]  # no rounding at the knots
        # per segment (10, 5n): the row of Bernstein polynomials times this is the state, flat
        self._tables = list(table.transpose(0, 2, 1, 3).reshape(len(step), 10, -1))
        self._starts = knots.tolist()
        self._rates = (1.0 / step).tolist()

    def _inside(self, t: float) -> Array:
        i = bisect_right(self._starts, t) - 1
        return (_bernstein((t - self._starts[i]) * self._rates[i]) @ self._tables[i]).reshape(5, -1)

    def extremes(self) -> tuple[Array, Array]:
        if not self._tables:
            return self._first.copy(), self._first.copy()
        values = (_bernstein(_GRID[:, None]) @ np.array(self._tables)).reshape(-1, 5, self.n)
        return values.min(axis=0), values.max(axis=0)


class SumOfSines(Reference):
    """Periodic exciting motion along its own time s, which starts and stops smoothly; see `sum_of_sines`."""

    def __init__(
        self,
        joint_names: Sequence[str],
        offset: Array,
        a: Array,
        b: Array,
        frequency: Array,
        duration: float,
        ramp: float,
        start_time: float,
    ) -> None:
        super().__init__(joint_names, start_time, start_time + duration + 2.0 * ramp)
        self._length, self._ramp = duration, ramp
        self._offset = offset.copy()
        omega = np.arange(1.0, a.shape[1] + 1.0)[:, None] * frequency  # (L, n)
        a, b = a.T / omega, b.T / omega
        # the derivatives of a sin(wt) - b cos(wt) on (sin, cos) turn by a quarter each: (5, 2L, n)
        quarters = [(a, -b), (b, a), (-a, b), (-b, -a), (a, -b)]
        self._table = np.array([np.vstack(quarters[k]) * np.tile(omega, (2, 1)) ** k for k in range(5)])
        self._omega = omega
        self._first, self._last = self._inside(self.start_time), self._inside(self.end_time)

    def _inside(self, t: float) -> Array:
        elapsed, left = t - self.start_time, self.end_time - t
        if elapsed < self._ramp:
            s = _ramp_up(elapsed, self._ramp)
        elif left < self._ramp:
            s0, s1, s2, s3, s4 = _ramp_up(left, self._ramp)
            s = (self._length - s0, s1, -s2, s3, -s4)
        else:
            s = (elapsed - self._ramp, 1.0, 0.0, 0.0, 0.0)
        phase = self._omega * s[0]
        motion = np.einsum("kfj,fj->kj", self._table, np.concatenate((np.sin(phase), np.cos(phase))))
        motion[0] += self._offset
        return motion if s[1] == 1.0 else chain_rule(s) @ motion

    def extremes(self) -> tuple[Array, Array]:
        step = min(self._ramp, 2.0 * np.pi / self._omega.max()) / 64.0
        times = np.linspace(self.start_time, self.end_time, 2 + int(self.duration / step))
        values = self.sample(times)
        return values.min(axis=0), values.max(axis=0)


def interpolate(
    joint_names: Sequence[str],
    times: Any,
    positions: Any,
    velocities: Any = None,
    accelerations: Any = None,
    *,
    start: Any = None,
    end: Any = None,
) -> Trajectory:
    """The smoothest motion through the given points, as in trajectory_msgs/JointTrajectory.

    times : (k,) s, not negative, increasing.
    positions, velocities, accelerations : (k, n) or k rows. Not given is None, for the whole
        argument, a row (an empty one too, as in messages) or an element; a row of NaN in velocities
        and accelerations. A position must be given at the last point and, without `start`, at the first.
        Positions of points in between are found where there are none: velocities alone may lead there.
    start, end : (5, n) states at the first and last time. Default: at the first and last position, at
        rest. Accelerations given there are then disregarded, since planners state the value just
        after the start, while a motion from rest begins with zero; a velocity there is an error.

    Raises TrajectoryError, which names the point and the joint.
    """
    knots = _checked_times(times)
    data = _checked_points(joint_names, len(knots), positions, velocities, accelerations)
    _put_state(data[0], "start", "first", start, joint_names)
    _put_state(data[-1], "end", "last", end, joint_names)
    return Trajectory(joint_names, knots, _least_jerk(knots, data))


def splice(
    running: Reference,
    t: float,
    times: Any,
    positions: Any,
    velocities: Any = None,
    accelerations: Any = None,
    *,
    end: Any = None,
    lead: float = 0.0,
) -> Trajectory:
    """From the state of `running` at time t through new points; continuous through q'''' at t.

    Points as in `interpolate`, in the joint order of `running`, times on its axis. Those at or before
    t + lead are dropped; if none is left, TrajectoryError. A point very soon after t, and off the running
    motion, takes very large derivatives: give a `lead` (s), and compare `peak_values` with the limits.
    """
    names = running.joint_names
    knots = _checked_times(times)
    data = _checked_points(names, len(knots), positions, velocities, accelerations)
    start = running(t)
    later = knots > t + lead
    if not later.any():
        raise TrajectoryError(
            f"all {len(knots)} points are in the past: the last is due at {knots[-1]:.9g} s,"
            f" and now is {t:.9g} s" + (f" with a lead of {lead:.9g} s" if lead else "")
        )
    _put_state(data[-1], "end", "last", end, names)
    knots = np.concatenate(([t], knots[later]))
    data = np.concatenate((start[None], data[later]))
    return Trajectory(names, knots, _least_jerk(knots, data))


def hold(joint_names: Sequence[str], q: Any, time: float = 0.0) -> Trajectory:
    """Rest at q (n,), at all times; `time` is its start_time and end_time."""
    states = np.zeros((1, 5, len(joint_names)))
    states[0, 0] = as_array("q", q, (len(joint_names),), joint_names)
    return Trajectory(joint_names, np.array([time], dtype=np.float64), states)


# acceleration of a stop with free end position on the grid, from h^k q^(k), k = 1..4, at its start
_STOP_TRAVEL = -_ENERGY[5, 1:5] / _ENERGY[5, 5]
_STOP_ACCELERATION = (lambda a: a[:, 1:5] + np.outer(a[:, 5], _STOP_TRAVEL))(
    _HERMITE.derivative(2)(_GRID)
)
_STOP_DURATIONS = np.geomspace(1e-3, 1e2, 240)


def stop(
    running: Reference, t: float, *, duration: float | None = None, acceleration: Any = None
) -> Trajectory:
    """From the state of `running` at time t to rest, wherever that is, with least jerk.

    Either the `duration` (s) is given, or `acceleration` limits (n,): then all joints stop together
    in the least time (to 5 %, within 1 ms to 100 s) in which no joint exceeds its limit, or, where it is
    larger, its acceleration at t. If the jerk at t carries some joint beyond that in any case,
    the duration with the least excess is taken: a stop is never refused.
    """
    state = running(t)
    names = running.joint_names
    if not state[1:].any():
        return hold(names, state[0], t)
    if (duration is None) == (acceleration is None):
        raise TrajectoryError("stop: give either a duration or acceleration limits")
    if duration is None:
        limit = as_array("acceleration", acceleration, (len(names),), names)
        if limit.min() <= 0.0:
            raise TrajectoryError(f"stop: acceleration limits must be positive, got {limit}")
        scaled = state[1:] * _powers(_STOP_DURATIONS, 5)[:, 1:, None]
        peak = np.abs(_STOP_ACCELERATION @ scaled).max(axis=1) / _STOP_DURATIONS[:, None] ** 2
        excess = (peak / np.maximum(limit, np.abs(state[2]))).max(axis=1)
        best = np.argmax(excess <= 1.0 + 1e-9) if excess.min() <= 1.0 + 1e-9 else np.argmin(excess)
        duration = float(_STOP_DURATIONS[best])
    if not (isfinite(duration) and duration > 0.0):
        raise TrajectoryError(f"stop: the duration must be positive, got {duration} s")
    data = np.zeros((2, 5, len(names)))
    data[0], data[1, 0] = state, np.nan
    knots = np.array([t, t + duration])
    return Trajectory(names, knots, _least_jerk(knots, data))


def sum_of_sines(
    joint_names: Sequence[str],
    offset: Any,
    a: Any,
    b: Any,
    frequency: Any,
    duration: float,
    *,
    ramp: float = 0.5,
    start_time: float = 0.0,
) -> SumOfSines:
    """Exciting motion of dynamic identification, C. Gaz et al., RA-L 2019 (the reference [12] of [M21]).

    q_j(s) = q0_j + sum_l a_jl / (l w) sin(l w s) - b_jl / (l w) cos(l w s), l = 1..L, with the offset q0
    (n,), the velocity amplitudes a, b (n, L) in rad/s and the frequency w in rad/s, one or (n,). The motion
    runs along s = t - start_time - ramp, 0 <= s <= duration. Before and after, for `ramp` seconds,
    ds/dt rises from 0 to 1 and falls back, C4: it starts and ends at rest and leaves neither the path nor,
    longer than ramp / 2, the stretch of s.
    """
    n = len(joint_names)
    offset = as_array("offset", offset, (n,), joint_names)
    harmonics = np.shape(a)[-1] if np.ndim(a) == 2 else 1
    a = as_array("a", a, (n, harmonics), joint_names)
    b = as_array("b", b, (n, harmonics), joint_names)
    frequency = np.broadcast_to(as_array("frequency", frequency, ()), (n,))
    if not frequency.min() > 0.0:
        raise TrajectoryError(f"sum_of_sines: the frequency must be positive, got {frequency} rad/s")
    for name, value in (("duration", duration), ("ramp", ramp)):
        if not (isfinite(value) and value > 0.0):
            raise TrajectoryError(f"sum_of_sines: {name} must be positive, got {value} s")
    return SumOfSines(joint_names, offset, a, b, frequency, duration, ramp, start_time)


def match_joints(wanted: Sequence[str], given: Sequence[str]) -> NDArray[np.intp]:
    """Indices p (n,) that put `given` into the order of `wanted`: given[p[i]] == wanted[i].

    Raises TrajectoryError that names duplicate, unknown and missing joints.
    """
    index = {name: i for i, name in enumerate(given)}
    faults = {
        "given twice": [name for i, name in enumerate(given) if index[name] != i],
        "unknown": [name for name in index if name not in set(wanted)],
        "missing": [name for name in wanted if name not in index],
    }
    if any(faults.values()):
        found = "; ".join(f"{what}: {', '.join(who)}" for what, who in faults.items() if who)
        raise TrajectoryError(f"joints do not match. {found}. Expected: {', '.join(wanted)}")
    return np.array([index[name] for name in wanted], dtype=np.intp)


def chain_rule(s: Sequence[float]) -> Array:
    """(5, 5) matrix that maps d^k q/ds^k to d^k q/dt^k, k = 0..4, for s, s', s'', s''', s'''' (Faa di Bruno)."""
    _, s1, s2, s3, s4 = s
    return np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, s1, 0.0, 0.0, 0.0],
            [0.0, s2, s1**2, 0.0, 0.0],
            [0.0, s3, 3.0 * s1 * s2, s1**3, 0.0],
            [0.0, s4, 4.0 * s1 * s3 + 3.0 * s2**2, 6.0 * s1**2 * s2, s1**4],
        ]
    )


def _ramp_up(t: float, ramp: float) -> tuple[float, float, float, float, float]:
    """s..s'''' at 0 <= t <= ramp, where s' rises from 0 to 1 as a C3 step and s reaches zero."""
    u = t / ramp
    return (
        ramp * (u**5 * (7.0 + u * (-14.0 + u * (10.0 - 2.5 * u))) - 0.5),
        u**4 * (35.0 + u * (-84.0 + u * (70.0 - 20.0 * u))),
        140.0 * (u * (1.0 - u)) ** 3 / ramp,
        420.0 * (u * (1.0 - u)) ** 2 * (1.0 - 2.0 * u) / ramp**2,
        840.0 * u * (1.0 - u) * (1.0 - 5.0 * u * (1.0 - u)) / ramp**3,
    )


def _bernstein(u: float | Array) -> Array:
    """(..., 10): Bernstein polynomials of degree 9 at u in [0, 1]."""
    return _BINOMIAL * u**_POWER * (1.0 - u) ** _COMPLEMENT


def _powers(step: Array, count: int) -> Array:
    """(m, count): step^0, step^1, ..."""
    return step[:, None] ** np.arange(count)


def _segments(states: Array, step: Array) -> Array:
    """(m - 1, 10, n): states at both ends of each segment, its own start as origin and its length as unit."""
    data = np.concatenate((states[:-1], states[1:]), axis=1)
    data[:, 5] -= data[:, 0]
    data[:, 0] = 0.0
    return data * step[:, None, None] ** _ORDER[:, None]


def _least_jerk(knots: Array, data: Array) -> Array:
    """Complete the states (m, 5, n) at the knots: NaN becomes the value of least total squared jerk.

    With x the stacked derivatives, the cost is x^T H x, H block-tridiagonal; free entries satisfy
    (H x)_free = 0. The state at the first knot must be given, which makes this positive definite.
    """
    m, _, n = data.shape
    given = ~np.isnan(data).reshape(5 * m, n)
    if given.all():
        return data
    step = np.diff(knots)
    units = step[:, None] ** _ORDER
    energy = _ENERGY / step[:, None, None] ** 5
    diagonals = np.zeros((10, 5 * m))  # lower diagonals of H, as LAPACK stores them
    blocks = energy * units[:, :, None] * units[:, None, :]
    for d in range(10):
        for j in range(10 - d):
            diagonals[d, j : j + 5 * (m - 1) : 5] += blocks[:, j + d, j]

    origin = data[0, 0]
    known = np.where(np.isnan(data), 0.0, data)
    known[:, 0] = np.where(np.isnan(data[:, 0]), 0.0, data[:, 0] - origin)
    slope = units[:, :, None] * (energy @ _segments(known, step))
    gradient = np.zeros((m, 5, n))
    gradient[:-1] += slope[:, :5]
    gradient[1:] += slope[:, 5:]

    solution = np.empty((5 * m, n))
    patterns, which = np.unique(given, axis=1, return_inverse=True)
    for p, fixed in enumerate(patterns.T):  # joints with the same entries given share one factorisation
        joints = which.ravel() == p
        free = ~fixed
        lower = diagonals.copy()
        for d in range(10):
            lower[d, : 5 * m - d] *= free[d:] & free[: 5 * m - d]
        lower[0] += fixed
        right = -gradient.reshape(5 * m, n)[:, joints] * free[:, None]
        solution[:, joints] = solveh_banded(lower, right, lower=True)
    solution = solution.reshape(m, 5, n)
    solution[:, 0] += origin
    return np.where(np.isnan(data), solution, data)


def _checked_times(times: Any) -> Array:
    times = as_array("times", times, np.shape(times)[:1])
    if times.size == 0:
        raise TrajectoryError("the trajectory has no points; to stop a motion use stop()")
    if times.ndim != 1:
        raise TrajectoryError(f"times: expected one per point, got shape {times.shape}")
    if times[0] < 0.0:
        raise TrajectoryError(f"times[0] = {times[0]:.9g} s is negative")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        i = int(late[0]) + 1
        raise TrajectoryError(
            f"times must increase: times[{i}] = {times[i]:.9g} s"
            f" follows times[{i - 1}] = {times[i - 1]:.9g} s"
        )
    return times


def _checked_points(joint_names: Sequence[str], count: int, *kinds: Any) -> Array:
    """(count, 5, n) derivatives 0..4 at the points, NaN where not given."""
    n = len(joint_names)
    if n == 0 or len(set(joint_names)) != n:
        raise TrajectoryError(f"joint names must be there and differ, got {list(joint_names)}")
    data = np.full((count, 5, n), np.nan)
    for k, (kind, rows) in enumerate(zip(("positions", "velocities", "accelerations"), kinds, strict=True)):
        if rows is None:
            continue
        if np.ndim(rows) == 0 or len(rows) != count:
            found = "one number" if np.ndim(rows) == 0 else f"{len(rows)} rows"
            raise TrajectoryError(f"{kind}: {count} points need {count} rows, got {found}")
        for i, row in enumerate(rows):
            if row is not None:
                _put_row(data[i, k], f"{kind}[{i}]", row, joint_names, nan_is_none=k > 0)
    return data


def _put_row(
    out: Array, name: str, row: Any, joint_names: Sequence[str], *, nan_is_none: bool
) -> None:
    """Write what is given of one row into `out` (n,)."""
    values = list(row) if np.ndim(row) else [row]
    if len(values) not in (0, len(out)) or np.ndim(row) == 0:
        raise TrajectoryError(
            f"{name} has {len(values)} values for {len(out)} joints ({', '.join(joint_names)})"
        )
    if nan_is_none and all(value is not None and value != value for value in values):
        return
    for j, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, Real) or not isfinite(value):
            raise TrajectoryError(f"{name} of joint '{joint_names[j]}' is {value!r}, not a finite number")
        out[j] = value


def _put_state(
    out: Array, name: str, which: str, state: Any, joint_names: Sequence[str]
) -> None:
    """Make `out` (5, n), the data of the first or last point, the given state, or rest."""
    if state is None:
        for j in np.flatnonzero(np.isnan(out[0])):
            raise TrajectoryError(
                f"joint '{joint_names[j]}' has no position at the {which} point;"
                " velocities are not integrated"
            )
        for j in np.flatnonzero(np.abs(out[1]) > REST):
            raise TrajectoryError(
                f"joint '{joint_names[j]}' has the velocity {out[1, j]:.6g} at the {which} point: a"
                f" trajectory {name}s at rest unless its full state is given as `{name}`"
            )
        out[1:] = 0.0
        return
    state = as_array(name, state, (5, len(joint_names)), joint_names)
    for k in (0, 1):
        for j in np.flatnonzero(np.abs(out[k] - state[k]) > 1e-9 * (1.0 + np.abs(state[k]))):
            raise TrajectoryError(
                f"joint '{joint_names[j]}': {DERIVATIVES[k]} is {state[k, j]:.9g} in `{name}` but"
                f" {out[k, j]:.9g} at the {which} point"
            )
    out[...] = state
