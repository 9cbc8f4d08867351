# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""References for elastic robots: joint motions continuous through the fourth derivative.

The motor torque of an elastic joint depends on q''''. A reference therefore provides q, q', q'',
q''' and q'''' at any time, all of them continuous. Two kinds share the interface `Reference`:
points connected by polynomials (`interpolate`, `splice`, `hold`, `stop`), and `sum_of_sines`.

Between two points the motion is the polynomial of degree 9 determined by the derivatives 0..4 at
both. Derivatives that are not given are chosen to minimise the integral of the squared jerk over
the whole motion. If only positions are given this is the quintic spline, except near the ends,
where the motion starts and stops at rest. The jerk is minimised rather than a higher derivative
because the natural spline of degree 9 overshoots wildly between unevenly spaced points. As the
cost is an integral over time, the remainder of an optimal motion is optimal: resending the
remaining points of a trajectory changes nothing at one of its points, and little in between.

The `shape` of a motion says what happens between points of which only positions are given:

    "least_jerk"  only the above; such a motion overshoots: 0.5, 1.5, 1.5, 1.5 reaches 1.76
    "held"        a joint whose position is the same in two successive points rests between them,
                  and does not leave the range of the points in the segments on either side; only
                  from the first point, where the motion begins, it may take a run-up
    "monotone"    the same, and no segment leaves the range of its two points: a joint turns round
                  at points only, as in piecewise cubic Hermite interpolation (Fritsch and Butland
                  1984). More jerk, and less surprise

Times are seconds on the time axis of the trajectory. Keep them near zero (since the start, not
since 1970), or the rounding of t becomes visible in q''''. Positions are in rad, or in m for
prismatic joints.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, reduce
from math import comb, isfinite, perm
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from ..core import (
    Array,
    IndependentCopies,
    TrajectoryError,
    as_array,
    as_real,
    check_sequence,
    compiled_exactly,
    computable_rows,
    inlined_exactly,
    inlined_with_arrays,
    refused_as,
)

SHORTEST = 1e-9  # s, least time between points, the resolution of messages
BATCH = 1024  # times that are evaluated at once, which bounds memory
SHAPES = ("least_jerk", "held", "monotone")
STEEPEST = 1.125  # times the mean velocities on either side, at a point with no acceleration
ROUNDING = 1e-9  # rad or m, by which a segment may leave the range of its points
REST = float(np.finfo(np.float32).eps)  # speed below which a point is at rest, rad/s or m/s

# Hermite basis on [0, 1]: ten polynomials, of which polynomial k has datum k equal to one and the
# other data zero. The data are the derivatives 0..4 at 0, then those at 1.
_ORDER = np.tile(np.arange(5.0), 2)
_BINOMIAL = np.array([1.0, 9.0, 36.0, 84.0, 126.0, 126.0, 84.0, 36.0, 9.0, 1.0])


def _bernstein_tables() -> Array:
    """(5, 10, 10): Bernstein coefficients of derivatives 0..4 of the basis, raised to degree 9.

    The derivative of sum_i c_i B_i, raised again, has the coefficients

        c'_i = (9 - i) (c_i+1 - c_i) + i (c_i - c_i-1).
    """
    tables = np.zeros((5, 10, 10))
    for r in range(5):  # the data of order r determine coefficients r..4 from either end
        for i in range(r, 5):
            tables[0, i, r] = comb(i, r) / perm(9, r)
            tables[0, 9 - i, 5 + r] = (-1.0) ** r * tables[0, i, r]
    n, up = np.arange(10.0), np.arange(1.0, 10.0)
    slope = np.diag(2.0 * n - 9.0) + np.diag(up[::-1], 1) - np.diag(up, -1)  # c to c'
    for k in range(4):
        tables[k + 1] = slope @ tables[k]
    return tables


_TABLES = _bernstein_tables()


def _bernstein(u: Any) -> list[Any]:
    """The ten Bernstein polynomials of degree 9 at u in [0, 1], a number or an array."""
    rising, falling = [1.0], [1.0]
    for _ in range(9):
        rising.append(rising[-1] * u)
        falling.append(falling[-1] * (1.0 - u))
    terms = zip(_BINOMIAL.tolist(), rising, reversed(falling), strict=True)
    return [b * r * f for b, r, f in terms]


@inlined_exactly
def bernstein(u, basis):
    """Fill `basis` with the ten Bernstein polynomials of degree 9 at u."""
    power = 1.0
    for i in range(10):
        basis[i] = _BINOMIAL[i] * power
        power *= u
    power = 1.0
    for i in range(9, -1, -1):
        basis[i] *= power
        power *= 1.0 - u


@inlined_with_arrays
def evaluate_polynomial(table, u, state):
    """Fill `state` (5, n) with the sum of the Bernstein polynomials at u in [0, 1] times the rows
    of the table (10, 5, n)."""
    basis = np.zeros(10)
    bernstein(u, basis)
    for k in range(5):
        for j in range(state.shape[1]):
            value = basis[0] * table[0, k, j]
            for i in range(1, 10):
                value += basis[i] * table[i, k, j]
            state[k, j] = value


_EVALUATE = compiled_exactly(evaluate_polynomial)


@inlined_exactly
def smooth_step(t, ramp):
    """s..s'''' at 0 <= t <= ramp, where s' is a C3 step from 0 to 1; s rises from 0 to ramp / 2."""
    u = t / ramp
    r = u * (1.0 - u)
    return (
        ramp * (u * u * u * u * u * (7.0 + u * (-14.0 + u * (10.0 - 2.5 * u)))),
        u * u * u * u * (35.0 + u * (-84.0 + u * (70.0 - 20.0 * u))),
        140.0 * (r * r * r) / ramp,
        420.0 * (r * r) * (1.0 - 2.0 * u) / (ramp * ramp),
        840.0 * r * (1.0 - 5.0 * r) / (ramp * ramp * ramp),
    )


@cache
def _compile() -> None:
    """Compile what a motion needs, before a control cycle evaluates one."""
    _EVALUATE(np.zeros((10, 5, 1)), 0.0, np.zeros((5, 1)))


def hermite_basis(k: int, x: Array) -> Array:
    """(m, 10) derivative k of the ten polynomials at places x (m,) in [0, 1]."""
    return np.transpose(_bernstein(x)) @ _TABLES[k]


def _jerk_roots() -> Array:
    """(7, 10) matrix J: |J x|^2 is the integral of the squared third derivative of data x."""
    node, weight = np.polynomial.legendre.leggauss(7)  # exact to degree 13; the integrand has 12
    return np.sqrt(0.5 * weight)[:, None] * hermite_basis(3, 0.5 * (node + 1.0))


_JERK = _jerk_roots()
_PARABOLA = np.array([[1.0, 0.5], [1.0, 1.0], [0.0, 1.0]])  # q, q', q'' at 1 from q', q'' at 0
_GRID = np.linspace(0.0, 1.0, 65)


class Reference(IndependentCopies, ABC):
    """A joint motion q(t) with its derivatives through the fourth, all continuous.

    Before `start_time` and after `end_time` the first and the last position are held. If the motion
    does not start (end) at rest, an earlier (later) time raises TrajectoryError. Immutable and
    thread-safe.
    """

    _first: Array  # state (5, n) at start_time, and at end_time
    _last: Array

    def __init__(self, joint_names: Sequence[str], start_time: float, end_time: float) -> None:
        self.joint_names = _checked_names(joint_names)
        if not self.joint_names or len(set(self.joint_names)) < len(self.joint_names):
            raise TrajectoryError(
                f"joint names must be non-empty and unique, got {list(joint_names)}"
            )
        self.start_time = float(start_time)
        self.end_time = float(end_time)

    @abstractmethod
    def _inside(self, t: float) -> Array:
        """State (5, n) at start_time < t < end_time."""

    def _inside_all(self, times: Array) -> Array:
        """States (k, 5, n) at such times (k,)."""
        return np.array([self._inside(t) for t in times.tolist()])

    @abstractmethod
    def extremes(self) -> tuple[Array, Array]:
        """Smallest and largest values (5, n) of q..q'''', from samples; accurate to about 1 %."""

    def __call__(self, t: float) -> Array:
        """State (5, n) at time t: q, q', q'', q''', q'''' in rad (m), rad/s, ..., rad/s^4."""
        if not isinstance(t, float) and _array("t", t, ()).ndim:
            raise TrajectoryError(f"t: expected one time, got {t!r}; sample() takes several")
        if self.start_time < t < self.end_time:
            return self._inside(t)
        return self._outside(t).copy()

    def evaluate(self, t: float, out: Array) -> None:
        """Write the state at time t into `out` (5, n)."""
        out[...] = self._inside(t) if self.start_time < t < self.end_time else self._outside(t)

    def sample(self, times: Any) -> Array:
        """States (k, 5, n) at the times (k,)."""
        times = _array("times", times, ())
        if times.ndim != 1:
            raise TrajectoryError(f"times: expected (k,), got shape {times.shape}")
        states = np.empty((len(times), 5, self.n))
        is_inside = (self.start_time < times) & (times < self.end_time)
        for k in np.flatnonzero(~is_inside):
            states[k] = self._outside(times[k])
        inside = np.flatnonzero(is_inside)
        for first in range(0, len(inside), BATCH):
            some = inside[first : first + BATCH]
            states[some] = self._inside_all(times[some])
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
        """Peak magnitudes (5, n) of q..q'''', to compare with limits."""
        return np.maximum(*np.abs(self.extremes()))

    def _outside(self, t: float) -> Array:
        if not isfinite(t):
            raise TrajectoryError(f"a trajectory has no state at t = {t}")
        early = t <= self.start_time
        edge, state = (self.start_time, self._first) if early else (self.end_time, self._last)
        if t != edge and np.count_nonzero(state[1:]):  # any() takes five times as long
            raise TrajectoryError(
                f"no state at t = {t:.9g} s: the trajectory is in motion at its"
                f" {'start' if early else 'end'}, t = {edge:.9g} s; splice or stop it while it runs"
            )
        return state


class Trajectory(Reference):
    """Polynomials of degree 9 between knots; made by `interpolate`, `splice`, `hold` and `stop`.

    knots : (m,) s, increasing. states : (m, 5, n), q..q'''' at the knots. Both read-only.
    """

    def __init__(self, joint_names: Sequence[str], knots: Array, states: Array) -> None:
        super().__init__(joint_names, knots[0], knots[-1])
        _compile()
        self.knots, self.states = knots.copy(), states.copy()
        self.knots.flags.writeable = self.states.flags.writeable = False
        self._first, self._last = self.states[0], self.states[-1]
        step = np.diff(knots)
        data = _segments(states, step)
        # Here and in _inside, sums are formed term by term, as in generated controllers. A matrix
        # product rounds differently, and gains on positions amplify that.
        table = _TABLES[:, :, 0, None, None] * data[0]  # (5, 10, m - 1, n)
        for k in range(1, 10):
            table += _TABLES[:, :, k, None, None] * data[k]
        table /= _powers(step)[:, None, :, None]
        table[0] += states[:-1, 0]
        by_order = states.swapaxes(0, 1)
        table[:, 0], table[:, -1] = by_order[:, :-1], by_order[:, 1:]  # no rounding at the knots
        # per segment (10, 5, n): the row of Bernstein polynomials times this is the state
        rows = np.ascontiguousarray(table.transpose(2, 1, 0, 3))  # compiled for these alone
        self._segments, self._table = list(rows), rows.reshape(len(step), 10, 5 * self.n)
        self._starts = knots.tolist()
        self._rates = (1.0 / step).tolist()

    def _inside(self, t: float) -> Array:
        i = bisect_right(self._starts, t) - 1
        state: Array = np.empty_like(self._segments[i][0])
        _EVALUATE(self._segments[i], (t - self._starts[i]) * self._rates[i], state)
        return state

    def _inside_all(self, times: Array) -> Array:
        i = np.searchsorted(self._starts, times, side="right") - 1
        basis = _bernstein(((times - self.knots[i]) * np.take(self._rates, i))[:, None])
        terms = (basis[k] * self._table[i, k] for k in range(10))  # added one by one, as in _inside
        return reduce(np.add, terms).reshape(len(times), 5, -1)

    def extremes(self) -> tuple[Array, Array]:
        least = self.states.min(axis=0).ravel()
        greatest = self.states.max(axis=0).ravel()
        # A polynomial stays within the range of its Bernstein coefficients. It needs no samples if
        # these are within the range of the values at the knots.
        low, high = self._table.min(axis=1), self._table.max(axis=1)
        segment, entry = np.nonzero((low < least) | (high > greatest))
        samples = self._table[segment, :, entry] @ np.array(_bernstein(_GRID))
        np.minimum.at(least, entry, samples.min(axis=1))
        np.maximum.at(greatest, entry, samples.max(axis=1))
        return least.reshape(5, -1), greatest.reshape(5, -1)


class SumOfSines(Reference):
    """A periodic motion with a time law that starts and stops smoothly; made by `sum_of_sines`."""

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
        self._omega = omega = np.arange(1.0, a.shape[1] + 1.0)[:, None] * frequency  # (L, n)
        a, b = a.T / omega, b.T / omega
        # derivatives of a sin(wt) - b cos(wt) on (sin, cos), each turned by a quarter: (5, 2 L, n)
        quarters = [(a, -b), (b, a), (-a, b), (-b, -a), (a, -b)]
        rows = [np.vstack(pair) * np.tile(omega**k, (2, 1)) for k, pair in enumerate(quarters)]
        self._table = np.array(rows)
        self._first, self._last = self._inside(self.start_time), self._inside(self.end_time)

    def _inside(self, t: float) -> Array:
        elapsed, left = t - self.start_time, self.end_time - t
        half = 0.5 * self._ramp
        if elapsed < self._ramp:
            s0, *rates = smooth_step(elapsed, self._ramp)
            s = (s0 - half, *rates)
        elif left < self._ramp:
            s0, s1, s2, s3, s4 = smooth_step(left, self._ramp)
            s = (self._length - (s0 - half), s1, -s2, s3, -s4)
        else:
            s = (elapsed - self._ramp, 1.0, 0.0, 0.0, 0.0)
        phase = self._omega * s[0]
        waves = np.concatenate((np.sin(phase), np.cos(phase)))
        motion = np.einsum("kfj,fj->kj", self._table, waves)
        motion[0] += self._offset
        return motion if s[1] == 1.0 else chain_rule(s) @ motion

    def extremes(self) -> tuple[Array, Array]:
        step = min(self._ramp, 2.0 * np.pi / self._omega.max()) / 64.0
        count = 2 + int(self.duration / step)
        samples = self.sample(np.linspace(self.start_time, self.end_time, count))
        return samples.min(axis=0), samples.max(axis=0)


def interpolate(
    joint_names: Sequence[str],
    times: Any,
    positions: Any,
    velocities: Any = None,
    accelerations: Any = None,
    *,
    start: Any = None,
    end: Any = None,
    shape: str = "held",
) -> Trajectory:
    """Minimum-jerk trajectory through given points, as in trajectory_msgs/JointTrajectory.

    times : (k,) s, not negative, increasing.
    positions, velocities, accelerations : (k, n) or k rows. None omits a whole argument, a row or
        an element; a row may also be empty, as in messages, or all NaN. A point without any data is
        an error, as is any other NaN. The first point needs all positions unless `start` is given,
        the last unless `end` is; other points may have velocities alone.
    start, end : (5, n) states at the first and last time. Default: rest at the first and the last
        position. In that case a velocity given there is an error, and an acceleration is ignored:
        planners give the one just after the start, but a motion from rest begins with zero.
    shape : one of SHAPES, see the module.

    Raises TrajectoryError that names the point and the joint.
    """
    joint_names, knots = _checked_names(joint_names), _checked_times(times)
    data = _checked_points(joint_names, len(knots), positions, velocities, accelerations)
    _put_state(data[0], "start", "first", start, joint_names)
    _put_state(data[-1], "end", "last", end, joint_names)
    return Trajectory(joint_names, knots, _shaped(knots, data, shape))


def splice(
    running: Reference,
    t: float,
    times: Any,
    positions: Any,
    velocities: Any = None,
    accelerations: Any = None,
    *,
    end: Any = None,
    lead: float = 1e-3,
    shape: str = "held",
) -> Trajectory:
    """Trajectory from the state of `running` at time t through new points, continuous to q''''.

    The points are as in `interpolate`, in the joint order of `running` and on its time axis. Those
    at or before t + lead (s) are dropped; if none remains, TrajectoryError is raised. Without the
    lead, a point just after t that deviates from the running motion, if only by rounding, would
    require very large derivatives. Compare `peak_values` with the limits before following the
    result.
    """
    names = running.joint_names
    start = running(t)
    knots = _checked_times(times)
    data = _checked_points(names, len(knots), positions, velocities, accelerations)
    later = knots > t + lead
    if not later.any():
        raise TrajectoryError(
            f"all {len(knots)} points are in the past: the last was due at {knots[-1]:.9g} s,"
            f" and it is now {t:.9g} s (with a lead of {lead:.9g} s)"
        )
    _put_state(data[-1], "end", "last", end, names)
    knots = np.concatenate(([t], knots[later]))
    data = np.concatenate((start[None], data[later]))
    return Trajectory(names, knots, _shaped(knots, data, shape))


def hold(joint_names: Sequence[str], q: Any, time: float = 0.0) -> Trajectory:
    """Trajectory at rest at q (n,) at all times; `time` is its start_time and end_time."""
    names = _checked_names(joint_names)
    states = np.zeros((1, 5, len(names)))
    states[0, 0] = _array("q", q, (len(names),), names)
    return Trajectory(names, np.atleast_1d(_array("time", time, ())), states)


def stop(
    running: Reference, t: float, *, duration: float | None = None, acceleration: Any = None
) -> Trajectory:
    """Minimum-jerk trajectory from the state of `running` at time t to rest, at any position.

    Give either the `duration` (s) or `acceleration` limits (n,) > 0. With limits, all joints stop
    together in the shortest time (within 5 %, from 1 ms to 100 s) in which none exceeds its limit
    or, if larger, its acceleration at t. If the jerk at t makes that impossible, the time with the
    least excess is taken; every state is accepted.
    """
    if (duration is None) == (acceleration is None):
        raise TrajectoryError("stop: give either a duration or acceleration limits")
    state, names = running(t), running.joint_names
    if not state[1:].any():
        return hold(names, state[0], t)
    if duration is None:
        limits = _array("acceleration", acceleration, (len(names),), names)
        if not limits.min() > 0.0:
            raise TrajectoryError(f"stop: acceleration limits must be positive, got {limits}")
        duration = _stop_duration(state, limits)
    _check_positive("stop: the duration", duration)
    data = np.zeros((2, 5, len(names)))
    data[0], data[1, 0] = state, np.nan
    knots = np.array([t, t + duration])
    return Trajectory(names, knots, _least_jerk(knots, data))


def _stop_duration(state: Array, limits: Array) -> float:
    """Shortest time (s) of a stop from `state` (5, n) within acceleration limits (n,)."""
    durations = np.geomspace(1e-3, 1e2, 240)
    travel = -_JERK[:, 5] @ _JERK[:, 1:5] / (_JERK[:, 5] @ _JERK[:, 5])  # of least jerk
    basis = hermite_basis(2, _GRID)
    response = basis[:, 1:5] + np.outer(basis[:, 5], travel)
    start = state[1:] * durations[:, None, None] ** (np.arange(1.0, 5.0)[:, None] - 2.0)
    peaks = np.abs(response @ start).max(axis=1)
    excess = (peaks / np.maximum(limits, np.abs(state[2]))).max(axis=1)
    kept = excess <= 1.0 + 1e-9
    return float(durations[np.argmax(kept) if kept.any() else np.argmin(excess)])


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
    """Exciting motion for dynamic identification (C. Gaz et al., RA-L 2019; [12] of [M21]).

    q_j = q0_j + sum_l a_jl / (l w) sin(l w s) - b_jl / (l w) cos(l w s),  l = 1..L

    with the offset q0 (n,), the velocity amplitudes a, b (n, L), and the frequency w in rad/s, a
    number or (n,). The time s = t - start_time - ramp runs from 0 to `duration`; during `ramp`
    seconds before and after, ds/dt rises smoothly from 0 to 1 and falls back to 0. The motion thus
    starts at rest at s = -ramp / 2, ends at rest at duration + ramp / 2, and never leaves its path.
    """
    n = len(joint_names)
    harmonics = np.shape(a)[-1] if np.ndim(a) else 0
    offset = _array("offset", offset, (n,), joint_names)
    a = _array("a", a, (n, harmonics), joint_names)
    b = _array("b", b, (n, harmonics), joint_names)
    if np.ndim(frequency) == 0:
        frequency = np.repeat(frequency, n)
    frequency = _array("frequency", frequency, (n,), joint_names)
    for name, value in (("frequency", frequency.min()), ("duration", duration), ("ramp", ramp)):
        _check_positive(f"sum_of_sines: {name}", value)
    return SumOfSines(joint_names, offset, a, b, frequency, duration, ramp, start_time)


def match_joints(
    wanted: Sequence[str], given: Sequence[str], *, others: bool = False
) -> NDArray[np.intp]:
    """Indices p (n,) that put `given` into the order of `wanted`: given[p[i]] == wanted[i].

    others : whether `given` may have further joints. Raises TrajectoryError that lists duplicate,
    unknown and missing joints.
    """
    index = {name: i for i, name in enumerate(given)}
    faults = {
        "duplicate": [name for i, name in enumerate(given) if index[name] != i],
        "unknown": [name for name in index if name not in set(wanted) and not others],
        "missing": [name for name in wanted if name not in index],
    }
    if any(faults.values()):
        found = "; ".join(f"{what}: {', '.join(who)}" for what, who in faults.items() if who)
        raise TrajectoryError(f"joints do not match ({found}); expected {', '.join(wanted)}")
    return np.array([index[name] for name in wanted], dtype=np.intp)


def chain_rule(s: Sequence[float]) -> Array:
    """Matrix (5, 5) from d^k q/ds^k to d^k q/dt^k, k = 0..4, given s, s', s'', s''', s''''."""
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


def _powers(step: Array) -> Array:
    """(5, m - 1): powers 0 to 4 of the lengths of segments."""
    rows = np.ones((5, len(step)))
    rows[1:] = step
    return np.multiply.accumulate(rows, axis=0)


def _segments(states: Array, step: Array) -> Array:
    """(10, m - 1, n): states at both ends of each segment, relative to its start, in units of its
    length."""
    by_order = states.swapaxes(0, 1)
    data = np.concatenate((by_order[:, :-1], by_order[:, 1:]))
    data[5] -= data[0]
    data[0] = 0.0
    data *= np.tile(_powers(step), (2, 1))[:, :, None]
    return data


def _shaped(knots: Array, data: Array, shape: str) -> Array:
    """Complete the states at the knots (m, 5, n) in one of SHAPES."""
    if shape not in SHAPES:
        raise TrajectoryError(f"shape is '{shape}': expected one of {', '.join(SHAPES)}")
    states = _least_jerk(knots, data)
    q = data[:, 0]
    if shape == SHAPES[0] or len(knots) < 3 or np.isnan(q).any():
        return states
    data, step = data.copy(), np.diff(knots)
    # (m, n): of this joint, only the position is given
    is_free: NDArray[np.bool_] = np.asarray(np.isnan(data[:, 1:]).all(axis=1))
    change = np.diff(q, axis=0)
    is_held: NDArray[np.bool_] = np.asarray(change == 0.0)
    is_held[0] &= shape == "monotone"  # the first point may be passed at speed
    ends_hold: NDArray[np.bool_] = np.zeros(q.shape, dtype=bool)
    ends_hold[1:] |= is_held
    ends_hold[:-1] |= is_held
    data[:, 1:] = np.where((ends_hold & is_free)[:, None], 0.0, data[:, 1:])
    judged = ends_hold[1:] | ends_hold[:-1]
    if shape == "monotone":
        judged[:] = True
        turns = np.zeros(q.shape, dtype=bool)
        turns[1:-1] = change[1:] * change[:-1] < 0.0
        data[:, 1] = np.where(turns & is_free, 0.0, data[:, 1])
    if not ends_hold.any() and shape == "held":
        return states
    slopes = np.zeros(q.shape)
    for k, j in np.argwhere(is_free[1:-1]).tolist():
        before, after = change[k : k + 2, j] / step[k : k + 2]
        slope = monotone_slope(before, after, step[k], step[k + 1])
        # of degree 9, with higher derivatives zero, is monotone if 4 (v + w) <= 9 times its mean
        most = STEEPEST * min(abs(before), abs(after))
        slopes[k + 1, j] = np.clip(slope, -most, most)
    while True:  # each time, there is less to choose
        states = _least_jerk(knots, data)
        local = np.tensordot(hermite_basis(0, _GRID), _segments(states, step), 1)
        beyond = np.maximum(-local, local - np.abs(change)) * (change >= 0.0)
        beyond += np.maximum(local, -local - np.abs(change)) * (change < 0.0)
        far = beyond.max(axis=0) > ROUNDING * (1.0 + np.abs(change))
        turns_late = np.minimum(states[:-1, 1] * change, states[1:, 1] * change) < 0.0
        leaves = judged & (far | turns_late)
        bent = np.isnan(data[:, 2:]).any(axis=1) & is_free
        worse = np.zeros(q.shape, dtype=bool)  # ends of segments that leave their range
        worse[1:] |= leaves
        worse[:-1] |= leaves
        worse &= bent
        if not worse.any():
            return states
        data[:, 1] = np.where(worse, slopes, data[:, 1])
        data[:, 2:] = np.where(worse[:, None], 0.0, data[:, 2:])


@inlined_exactly
def monotone_slope(before, after, h, k):
    """The velocity at a point between intervals h and k with these mean velocities: their weighted
    harmonic mean, zero at extrema, so that the cubic spline is monotone on either side."""
    if before * after <= 0.0:
        return 0.0
    a = h + 2.0 * k
    b = 2.0 * h + k
    return (a + b) / (a / before + b / after)


def _least_jerk(knots: Array, data: Array) -> Array:
    """Complete the states (m, 5, n) at the knots: NaN becomes the value that minimises the jerk.

    With the stacked states x the cost is x^T H x with a banded H, and (H x)_free = 0. The free part
    is positive definite because the first state is given.
    """
    m, _, n = data.shape
    for i in np.flatnonzero(np.isnan(data).all(axis=(1, 2))).tolist():
        raise TrajectoryError(
            f"the point at {knots[i]:.9g} s has no position, velocity or acceleration, or only NaN"
        )
    given = ~np.isnan(data).reshape(5 * m, n)
    if given.all():
        return data
    step = np.diff(knots)
    if step.min() < SHORTEST:
        raise TrajectoryError(
            f"two points at {knots[step.argmin()]:.9g} s are {step.min():.3g} s apart, too close to"
            f" connect; the minimum is {SHORTEST:g} s"
        )
    units = step ** _ORDER[:, None]
    blocks = (_JERK.T @ _JERK)[:, :, None] * units[:, None] * (units / step**5)
    diagonals = np.zeros((10, 5 * m))  # lower diagonals of H, as LAPACK stores them
    for d in range(10):
        for j in range(10 - d):
            diagonals[d, j : j + 5 * (m - 1) : 5] += blocks[j + d, j]

    states = data.copy()
    states[:, 0] -= data[0, 0]
    states[np.isnan(data)] = 0.0
    alike: dict[bytes, list[int]] = {}  # joints with the same given entries share a factorisation
    for j in range(n):
        alike.setdefault(given[:, j].tobytes(), []).append(j)
    for joints in alike.values():
        free = ~given[:, joints[0]]
        states[:, :, joints] = _minimise(diagonals, free, states[:, :, joints], step)
    states[:, 0] += data[0, 0]
    return np.where(np.isnan(data), states, data)


def _minimise(diagonals: Array, free: NDArray[np.bool_], states: Array, step: Array) -> Array:
    """Minimise the cost over the `free` (5 m,) entries of the states by Newton's method.

    In exact arithmetic one step would suffice. Next to a segment that is 1e5 times shorter, the
    contribution of the longer one to H is lost to rounding. Two more steps restore it from the
    gradient, which is computed without loss from the deviation of each segment from a parabola.
    """
    size = len(free)
    lower = diagonals.copy()
    for d in range(10):
        lower[d, : size - d] *= free[d:] & free[: size - d]
    lower[0] += ~free
    try:
        factor = cholesky_banded(lower, lower=True)
    except np.linalg.LinAlgError:
        raise TrajectoryError(
            f"the points are too unevenly spaced, with steps of {step.min():.3g} s to"
            f" {step.max():.3g} s"
        ) from None
    units = (step ** (_ORDER[:, None] - 5.0))[:, :, None]
    for _ in range(3):
        local = _segments(states, step)
        local[5:8] -= np.tensordot(_PARABOLA, local[1:3], 1)
        local[1:3] = 0.0
        slope = np.tensordot(_JERK.T, np.tensordot(_JERK, local, 1), 1) * units
        gradient = np.zeros_like(states)
        gradient[:-1] += slope[:5].swapaxes(0, 1)
        gradient[1:] += slope[5:].swapaxes(0, 1)
        change = cho_solve_banded((factor, True), gradient.reshape(size, -1) * free[:, None])
        states = states - change.reshape(states.shape)
    return states


def _array(
    name: str, value: Any, tail: tuple[int, ...], labels: Sequence[str] | None = None
) -> Array:
    with refused_as(TrajectoryError):
        return as_array(name, value, tail, labels)


def _checked_names(joint_names: Any) -> tuple[str, ...]:
    with refused_as(TrajectoryError):
        check_sequence("joint_names", joint_names, "names")
    return tuple(joint_names)


def _check_positive(name: str, value: float) -> None:
    with refused_as(TrajectoryError):
        number = as_real(name, value)
    if number.ndim or not (isfinite(number) and number > 0.0):
        raise TrajectoryError(f"{name} must be positive and finite, got {value}")


def _checked_times(times: Any) -> Array:
    times = _array("times", times, ())
    with refused_as(TrajectoryError):
        computable_rows("times: ", times)
    if times.ndim != 1:
        raise TrajectoryError(f"times: expected one per point, got shape {times.shape}")
    if times.size == 0:
        raise TrajectoryError("the trajectory has no points; to end a motion use stop()")
    if times[0] < 0.0:
        raise TrajectoryError(f"times[0] = {times[0]:.9g} s is negative")
    for i in np.flatnonzero(np.diff(times) <= 0.0) + 1:
        raise TrajectoryError(
            f"times must increase, but times[{i}] = {times[i]:.9g} s"
            f" follows times[{i - 1}] = {times[i - 1]:.9g} s"
        )
    return times


def _checked_points(joint_names: Sequence[str], count: int, *kinds: Any) -> Array:
    """Derivatives 0..4 at the points, (count, 5, n); NaN if not given."""
    data = np.full((count, 5, len(joint_names)), np.nan)
    for k, kind in enumerate(("positions", "velocities", "accelerations")):
        if kinds[k] is None:
            continue
        if _is_plain(kinds[k], (count, len(joint_names))):
            data[:, k] = kinds[k]
            continue
        rows = _as_list(kind, kinds[k])
        if len(rows) != count:
            raise TrajectoryError(f"{kind}: expected {count} rows, one per point, got {len(rows)}")
        for i, row in enumerate(rows):
            if row is not None:
                _put_row(data[i, k], f"{kind}[{i}]", row, joint_names)
    return data


def _is_plain(table: Any, shape: tuple[int, int]) -> bool:
    """Whether each row of a table is finite or all NaN, which needs no further checks."""
    if not isinstance(table, np.ndarray) or table.shape != shape or table.dtype != np.float64:
        return False
    return bool((np.isfinite(table).all(axis=1) | np.isnan(table).all(axis=1)).all())


def _put_row(out: Array, name: str, row: Any, joint_names: Sequence[str]) -> None:
    """Write the given values of one row to `out` (n,)."""
    values = _as_list(name, row)
    if len(values) not in (0, len(out)):
        raise TrajectoryError(
            f"{name} has {len(values)} values for {len(out)} joints ({', '.join(joint_names)})"
        )
    if all(isinstance(value, Real) and value != value for value in values):
        return
    for j, value in enumerate(values):
        if value is None:
            continue
        if not isinstance(value, Real) or not isfinite(value):
            raise TrajectoryError(
                f"{name} of joint '{joint_names[j]}' is {value}, not a finite real number"
            )
        out[j] = value


def _as_list(name: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise TrajectoryError(f"{name}: expected a row of values, got {values!r}") from None


def _put_state(out: Array, name: str, which: str, state: Any, joint_names: Sequence[str]) -> None:
    """Set `out` (5, n), the data of the first or last point, to the given state or to rest."""
    if state is not None:
        state = _array(name, state, (5, len(joint_names)), joint_names)
        for k, kind in enumerate(("position", "velocity")):
            differs = np.abs(out[k] - state[k]) > 1e-9 * (1.0 + np.abs(state[k]))
            for j in np.flatnonzero(differs).tolist():
                raise TrajectoryError(
                    f"joint '{joint_names[j]}' has the {kind} {state[k, j]:.9g} in `{name}`,"
                    f" but {out[k, j]:.9g} at the {which} point"
                )
        out[...] = state
        return
    for j in np.flatnonzero(np.isnan(out[0])).tolist():
        raise TrajectoryError(
            f"joint '{joint_names[j]}' has no position at the {which} point;"
            " velocities are not integrated"
        )
    for j in np.flatnonzero(np.abs(out[1]) > REST).tolist():
        raise TrajectoryError(
            f"joint '{joint_names[j]}' has the velocity {out[1, j]:.6g} at the {which} point;"
            f" a trajectory {name}s at rest (in Python, unless its full state is given as `{name}`)"
        )
    out[1:] = 0.0
