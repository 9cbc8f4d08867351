# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Paths in SE(3): motions of an end-effector frame, continuous through the jounce.

Every path is a product of exponentials, [M21] (4), with screws X_i in the moving frame,

    C(t) = C_0 exp(X_1 q_1(t)) ... exp(X_m q_m(t)),

a serial chain with joint functions q_i that are continuous through the fourth derivative. Twist,
acceleration, jerk and jounce follow from [M21] Algorithm 1. `screw_motion` is a chain of one
joint, a `line` of two, a `circle` and an `arc` of up to three. In a `spline`, joint i moves from
pose i - 1 to pose i, X_i = log(C_{i-1}^-1 C_i), and q_i is the minimum-jerk motion that is 0 at
all poses before and 1 at all poses after. The path passes exactly through the poses. If only
positions differ, it equals the path of `interpolate`; with more than `WINDOW` poses, the two agree
to about 1e-5 of the distances. No coordinates of rotations are used, so there are no singularities.

Paths can be retimed, concatenated and multiplied: `a @ b` is the motion b relative to a frame that
moves along a.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core import (
    Array,
    IndependentCopies,
    InputError,
    TrajectoryError,
    as_array,
    compiled,
    exactly,
    leibniz,
    times,
)
from ..lie import Representation, check_representation, convert_twist, se3, so3
from ..lie.exponentials import exp_se3
from ..lie.screws import (
    ad,
    add,
    add3,
    add_screws,
    cross,
    load_screw,
    matmul,
    muladd,
    muladd_screw,
    rotate,
    scale,
    store_vector,
)
from ..model.joints import unit
from ..motion import Reference, Trajectory, chain_rule, interpolate, stop
from .tool_task import TaskMotion

WINDOW = 12  # poses before and after its own two that a joint of a spline depends on
JOINED = 1e-9  # rad and m: largest gap between the end of one path and the start of the next


def _chain(base, screws, states, poses, rates):
    """Write the poses (N, 4, 4) and spatial twists with three derivatives (N, 4, 6) of a chain.

    base (4, 4), screws (m, 6) in the moving frame, states (N, 5, m): q and its derivatives.
    """
    C = base
    for k in range(states.shape[0]):
        R = (C[0, 0], C[0, 1], C[0, 2], C[1, 0], C[1, 1], C[1, 2], C[2, 0], C[2, 1], C[2, 2])
        p = (C[0, 3], C[1, 3], C[2, 3])
        V0 = V1 = V2 = V3 = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        for i in range(screws.shape[0]):
            X = screws[i]
            w, v = (X[0], X[1], X[2]), (X[3], X[4], X[5])
            q, q1, q2, q3, q4 = states[k, :, i]
            e = rotate(R, w)
            S0 = (e, add(rotate(R, v), cross(p, e)))
            S1 = ad(V0, S0)
            S2 = add_screws(ad(V1, S0), ad(V0, S1))
            S3 = add_screws(muladd_screw(2, ad(V1, S1), ad(V2, S0)), ad(V0, S2))
            V3 = muladd_screw(q4, S0, muladd_screw(3 * q3, S1, V3))
            V3 = muladd_screw(3 * q2, S2, muladd_screw(q1, S3, V3))
            V2 = muladd_screw(q3, S0, muladd_screw(2 * q2, S1, muladd_screw(q1, S2, V2)))
            V1 = muladd_screw(q2, S0, muladd_screw(q1, S1, V1))
            V0 = muladd_screw(q1, S0, V0)
            E, d = exp_se3((scale(q, w), scale(q, v)))
            p = add(p, rotate(R, d))
            R = matmul(R, E)
        for r in range(3):
            for c in range(3):
                poses[k, r, c] = R[3 * r + c]
            poses[k, r, 3] = p[r]
            poses[k, 3, r] = 0.0
            for j, V in enumerate((V0, V1, V2, V3)):
                rates[k, j, r] = V[0][r]
                rates[k, j, r + 3] = V[1][r]
        poses[k, 3, 3] = 1.0


def _hybrid(poses, rates):
    """Convert spatial rates (N, 4, 6) to hybrid ones in place: v + omega x r, differentiated."""
    for k in range(poses.shape[0]):
        r = (poses[k, 0, 3], poses[k, 1, 3], poses[k, 2, 3])
        w0, v0 = load_screw(rates[k], 0, 0)
        w1, v1 = load_screw(rates[k], 1, 0)
        w2, v2 = load_screw(rates[k], 2, 0)
        w3, v3 = load_screw(rates[k], 3, 0)
        r1 = add(v0, cross(w0, r))
        r2 = add3(v1, cross(w1, r), cross(w0, r1))
        r3 = add3(v2, cross(w2, r), muladd(2, cross(w1, r1), cross(w0, r2)))
        turned = muladd(3, add(cross(w2, r1), cross(w1, r2)), cross(w0, r3))
        store_vector(rates[k], 0, 3, r1)
        store_vector(rates[k], 1, 3, r2)
        store_vector(rates[k], 2, 3, r3)
        store_vector(rates[k], 3, 3, add3(v3, cross(w3, r), turned))


_compiled_chain = compiled(_chain)
_compiled_hybrid = compiled(_hybrid)


def _moved(base: Array, screws: Array, states: Array) -> tuple[Array, Array]:
    """Poses and rates of a chain as new arrays; the parameters are those of `_chain`."""
    poses, rates = np.empty((len(states), 4, 4)), np.empty((len(states), 4, 6))
    _compiled_chain(base, screws, states, poses, rates)
    return poses, rates


class PosePath(IndependentCopies, ABC):
    """The motion of a frame in time, with continuous twist, acceleration, jerk and jounce.

    Before `start_time` and after `end_time` the path rests at its ends; if its time law does not
    rest there, such times raise TrajectoryError. Immutable and thread-safe.
    """

    def __init__(self, start_time: float, end_time: float) -> None:
        self.start_time, self.end_time = float(start_time), float(end_time)

    @abstractmethod
    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        """Poses (N, 4, 4) and spatial twist ... jounce (N, 4, 6) at the times (N,)."""

    def __call__(self, t: float, representation: Representation = "hybrid") -> TaskMotion:
        """Pose (4, 4), twist, acceleration, jerk and jounce (6,) at time t (s)."""
        return self._motion(exactly("t", t, ())[None], representation, ())

    def sample(self, at: Any, representation: Representation = "hybrid") -> TaskMotion:
        """Pose (k, 4, 4), twist, acceleration, jerk and jounce (k, 6) at the times (k,) in s."""
        checked = as_array("times", at, ())
        if checked.ndim != 1:
            raise TrajectoryError(f"times: expected shape (k,), got {checked.shape}")
        return self._motion(checked, representation, (len(checked),))

    def _motion(
        self, at: Array, representation: Representation, shape: tuple[int, ...]
    ) -> TaskMotion:
        check_representation(representation)
        if not np.isfinite(at).all():
            raise TrajectoryError(f"times must be finite, got {at}")
        poses, rates = self.spatial_rates(at)
        if representation == "hybrid":
            rates = np.ascontiguousarray(rates)
            _compiled_hybrid(poses, rates)
        rows = list(rates.swapaxes(0, 1))
        if representation in ("body", "mixed"):
            rows = convert_twist(poses, rows, "spatial", representation)
        twist, acceleration, jerk, jounce = (row.reshape(*shape, 6) for row in rows)
        pose = poses.reshape(*shape, 4, 4)
        return TaskMotion(pose, twist, acceleration, jerk, jounce, representation)

    @property
    def duration(self) -> float:
        """Duration in s."""
        return self.end_time - self.start_time

    def peak_values(self, count: int = 1000) -> Array:
        """Peak norms (4, 2) of omega and r' and of their first three derivatives, over `count`
        samples; r is the origin of the frame; rad, m, per s^k."""
        motion = self.sample(np.linspace(self.start_time, self.end_time, count))
        rows = np.stack(motion.rates).reshape(4, -1, 2, 3)
        return np.asarray(np.linalg.norm(rows, axis=3).max(axis=1))

    def retimed(self, law: Reference) -> PosePath:
        """The same path with another time law: at time t, the state of this path at its time s(t).

        `law` has one coordinate, s in seconds, which stays between `start_time` and `end_time`.
        """
        return Retimed(self, law)

    def within(self, limits: Any) -> PosePath:
        """The same path, slowed down uniformly until no peak exceeds `limits` (4, 2).

        The limits are in the units of :meth:`peak_values`; use infinity for none. A path that is
        slow enough is returned unchanged.
        """
        bounds = np.asarray(limits, dtype=np.float64)
        if bounds.shape != (4, 2) or not np.all(bounds > 0):
            raise TrajectoryError(f"limits: expected (4, 2) positive numbers, got {limits}")
        excess = (self.peak_values() / bounds).max(axis=1) ** (1 / np.arange(1.0, 5.0))
        factor = float(excess.max())
        return self if factor <= 1 else Stretched(self, factor)

    def __matmul__(self, other: PosePath) -> PosePath:
        """C(t) = C_self(t) C_other(t): `other` relative to a frame that moves along this path."""
        return Product(self, other)


class ScrewChain(PosePath):
    """C_0 exp(X_1 s) ... exp(X_m s) with one time law s(t) for all joints."""

    def __init__(self, start: Array, screws: Array, law: Reference) -> None:
        super().__init__(law.start_time, law.end_time)
        self._start, self._screws, self._law = start.copy(), screws.copy(), law

    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        states = np.repeat(self._law.sample(at), len(self._screws), axis=2)
        return _moved(self._start, self._screws, states)


class _Piece(NamedTuple):
    """A spline between two poses: the chain of those joints that move there."""

    base: Array
    screws: Array
    law: Trajectory


class PoseSpline(PosePath):
    """A path through poses (k, 4, 4) at times (k,) in s; made by :func:`spline`.

    The function of a joint still deviates from 0 and 1 several poses away from its own two; the
    deviation shrinks by a factor of about 0.4 per pose. `WINDOW` poses away, the joint is set to
    rest.
    """

    def __init__(self, at: Array, poses: Array) -> None:
        super().__init__(at[0], at[-1])
        self.times, self.poses = at.copy(), poses.copy()
        self.times.flags.writeable = self.poses.flags.writeable = False
        count = len(at)
        screws = se3.log(se3.inverse(poses[:-1]) @ poses[1:])
        states = np.zeros((count, 5, count - 1))
        for i in range(count - 1):
            states[i + 1 :, 0, i] = 1.0
            seen = slice(max(i - WINDOW, 0), i + WINDOW + 2)
            steps = interpolate(["q"], at[seen], states[seen, 0, i : i + 1], shape="least_jerk")
            states[seen, :, i] = steps.states[..., 0]
        self._pieces = []
        for k in range(count - 1):
            moving = slice(max(k - WINDOW, 0), k + WINDOW + 1)
            names = [f"q{i}" for i in range(count - 1)[moving]]
            law = Trajectory(names, at[k : k + 2], states[k : k + 2, :, moving])
            self._pieces.append(_Piece(poses[moving.start], screws[moving], law))

    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        clipped = np.clip(at, self.start_time, self.end_time)
        which = np.clip(
            np.searchsorted(self.times, clipped, side="right") - 1, 0, len(self._pieces) - 1
        )
        poses, rates = np.empty((len(at), 4, 4)), np.empty((len(at), 4, 6))
        for k in np.unique(which):
            here = which == k
            base, screws, law = self._pieces[k]
            poses[here], rates[here] = _moved(base, screws, law.sample(clipped[here]))
        return poses, rates


class Retimed(PosePath):
    """A path at its own time s(t); made by :meth:`PosePath.retimed`."""

    def __init__(self, path: PosePath, law: Reference) -> None:
        if law.n != 1:
            raise TrajectoryError(f"law: expected a time law with one coordinate, got {law.n}")
        super().__init__(law.start_time, law.end_time)
        self._path, self._law = path, law

    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        states = self._law.sample(at)[:, :, 0]
        poses, rates = self._path.spatial_rates(states[:, 0])
        rules = np.array([chain_rule(state)[1:, 1:] for state in states])
        return poses, rules @ rates


class Stretched(PosePath):
    """A path that takes `factor` times as long; made by :meth:`PosePath.within`."""

    def __init__(self, path: PosePath, factor: float) -> None:
        super().__init__(path.start_time, path.start_time + factor * path.duration)
        self._path, self._factor = path, factor

    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        own = self._path.start_time + (at - self.start_time) / self._factor
        poses, rates = self._path.spatial_rates(own)
        return poses, rates / self._factor ** np.arange(1.0, 5.0)[:, None]


class Product(PosePath):
    """C_a(t) C_b(t): V = V_a + Ad_{C_a} V_b, and the Leibniz rule; made by `a @ b`."""

    def __init__(self, first: PosePath, second: PosePath) -> None:
        start = min(first.start_time, second.start_time)
        super().__init__(start, max(first.end_time, second.end_time))
        self._first, self._second = first, second

    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        first, V = self._first.spatial_rates(at)
        second, U = self._second.spatial_rates(at)
        adV = [se3.ad(V[:, k]) for k in range(3)]
        Ads = [se3.Ad(first)]  # Ad' = ad_V Ad
        for k in range(3):
            Ads.append(leibniz(k, np.matmul, adV, Ads))
        relative = [leibniz(k, times, Ads, U.swapaxes(0, 1)) for k in range(4)]
        return first @ second, V + np.stack(relative, axis=1)


class PathSequence(PosePath):
    """Paths one after the other, with rests in between; made by :func:`concatenate`."""

    def __init__(self, paths: Sequence[PosePath], starts: Array) -> None:
        self._paths, self._starts = tuple(paths), starts
        super().__init__(starts[0], starts[-1] + paths[-1].duration)

    def spatial_rates(self, at: Array) -> tuple[Array, Array]:
        which = np.maximum(np.searchsorted(self._starts, at, side="right") - 1, 0)
        poses, rates = np.empty((len(at), 4, 4)), np.empty((len(at), 4, 6))
        for k in np.unique(which):
            path, here = self._paths[k], which == k
            own = path.start_time + at[here] - self._starts[k]
            poses[here], rates[here] = path.spatial_rates(own)
        return poses, rates


Law = float | Reference


def screw_motion(start: Any, goal: Any, law: Law) -> PosePath:
    """Path from one pose (4, 4) to another about and along one fixed axis: C_0 exp(X s).

    X = log(C_0^-1 C_1) turns by at most half a turn. `law` is the duration in s of a minimum-jerk
    motion from rest to rest, or a :class:`.Reference` with one coordinate s, which is 0 at the
    start and 1 at the goal.

    Raises InputError for an invalid pose, NaN and infinity, TrajectoryError for an invalid law.
    """
    C0, C1 = _one_pose("start", start), _one_pose("goal", goal)
    return ScrewChain(C0, se3.log(se3.inverse(C0) @ C1)[None], _law(law))


def line(start: Any, goal: Any, law: Law) -> PosePath:
    """Path with the origin on a straight line and the orientation on the geodesic R_0 exp(omega s).

    Arguments and errors are those of :func:`screw_motion`.
    """
    C0, C1 = _one_pose("start", start), _one_pose("goal", goal)
    way = C0[:3, :3].T @ (C1[:3, 3] - C0[:3, 3])
    turn = so3.log(C0[:3, :3].T @ C1[:3, :3])
    screws = np.zeros((2, 6))
    screws[0, 3:], screws[1, :3] = way, turn
    return ScrewChain(C0, screws, _law(law))


def circle(
    start: Any,
    center: Any,
    axis: Any,
    angle: float,
    law: Law,
    *,
    pitch: float = 0.0,
    orientation: Any = "turning",
) -> PosePath:
    """Path on a circle about the line through `center` (3,) along `axis` (3,), by `angle` (rad).

    The angle may be several turns; with a `pitch` (m/rad) the path is a helix. The `orientation` is
    "turning" (with the radius), "fixed", or a rotation (3, 3) that is reached at the end on the
    geodesic. Other arguments and errors are those of :func:`screw_motion`.
    """
    C0 = _one_pose("start", start)
    c, n = exactly("center", center, (3,)), unit("axis", axis)
    phi, h = (float(exactly(*x, ())) for x in (("angle", angle), ("pitch", pitch)))
    Y = np.concatenate([n, np.cross(c, n) + h * n]) * phi
    screws = [times(se3.Ad(se3.inverse(C0)), Y)]
    if not isinstance(orientation, str):
        R = so3.as_rotation("orientation", orientation)
        screws += [_turn(-C0[:3, :3].T @ n * phi), _turn(so3.log(C0[:3, :3].T @ R))]
    elif orientation == "fixed":
        screws += [_turn(-C0[:3, :3].T @ n * phi)]
    elif orientation != "turning":
        raise InputError(f"orientation: expected 'turning', 'fixed' or (3, 3), got '{orientation}'")
    return ScrewChain(C0, np.stack(screws), _law(law))


def arc(start: Any, via: Any, goal: Any, law: Law) -> PosePath:
    """Path on the circle through three points: the origin of `start`, `via` (3,), that of `goal`.

    The orientation follows the geodesic to that of `goal`. Raises TrajectoryError if the points are
    collinear; other arguments and errors are those of :func:`screw_motion`.
    """
    C0, C1, p = _one_pose("start", start), _one_pose("goal", goal), exactly("via", via, (3,))
    a, b = p - C0[:3, 3], C1[:3, 3] - C0[:3, 3]
    n = np.cross(a, b)
    if not np.linalg.norm(n) > 1e-9 * np.linalg.norm(a) * np.linalg.norm(b):
        raise TrajectoryError("arc: the three points lie on a line, or two coincide")
    lever = np.cross((a @ a) * b - (b @ b) * a, n) / (2 * (n @ n))  # from the start to the centre
    e = n / np.linalg.norm(n)
    to_goal = b - lever
    angle = float(np.arctan2(np.cross(-lever, to_goal) @ e, -lever @ to_goal) % (2 * np.pi))
    return circle(C0, C0[:3, 3] + lever, e, angle, law, orientation=C1[:3, :3])


def spline(at: Any, poses: Any) -> PoseSpline:
    """Path through poses (k, 4, 4) at times (k,) in s, from rest to rest; see :class:`PoseSpline`.

    The motion does not stop at the poses in between, and it turns by less than half a turn from one
    pose to the next. The resulting motion of a body depends neither on the inertial frame nor on
    the frame of the body that is guided through the poses, since X_i is the same motion for all of
    its points.

    Raises InputError for an invalid pose, NaN and infinity, TrajectoryError for fewer than two
    poses and for times that do not increase.
    """
    C, t = se3.as_pose("poses", poses), as_array("times", at, ())
    if t.ndim != 1 or C.shape != (len(t), 4, 4) or len(t) < 2:
        raise TrajectoryError(
            f"a spline needs times (k,) and poses (k, 4, 4), k >= 2; got {t.shape}, {C.shape}"
        )
    for k in np.flatnonzero(np.diff(t) <= 0):
        raise TrajectoryError(f"times must increase, but {t[k + 1]:.9g} s follows {t[k]:.9g} s")
    return PoseSpline(t, C)


def concatenate(paths: Sequence[PosePath], pauses: float | Sequence[float] = 0.0) -> PosePath:
    """One path after another, with pauses (s) in between, on the time axis of the first.

    Raises TrajectoryError if a path does not start where the previous one ends, or if either is not
    at rest there.
    """
    if not paths:
        raise TrajectoryError("concatenate: no paths given")
    waits, gaps = as_array("pauses", pauses, ()), len(paths) - 1
    if waits.shape not in ((), (gaps,)):
        raise InputError(f"pauses: expected a number or {gaps} of them, got shape {waits.shape}")
    waits = np.broadcast_to(waits, (gaps,))
    if np.any(waits < 0):
        raise TrajectoryError(f"pauses cannot be negative, got {pauses}")
    for k, (before, after) in enumerate(pairwise(paths)):
        ends, starts = before(before.end_time), after(after.start_time)
        gap = np.abs(ends.pose - starts.pose).max()
        if gap > JOINED:
            raise TrajectoryError(f"path {k + 1} starts {gap:.3g} away from where path {k} ends")
        moving = max(
            np.abs(np.stack(motion.rates) / (JOINED + peaks.max(axis=1))[:, None]).max()
            for motion, peaks in ((ends, before.peak_values(99)), (starts, after.peak_values(99)))
        )
        if moving > JOINED:
            raise TrajectoryError(f"paths {k} and {k + 1} are not at rest where they meet")
    durations = np.array([path.duration for path in paths[:-1]])
    starts_at = paths[0].start_time + np.r_[0.0, np.cumsum(durations + waits)]
    return PathSequence(paths, starts_at)


def redirect(
    running: PosePath, t: float, goal: Any, duration: float, *, stopping: float | None = None
) -> PosePath:
    """Path from the state of `running` at time t to rest at `goal` (4, 4).

    Continuous through the jounce. The path is a product of two motions: the running path stops
    along itself within `stopping` s (default: half of the duration), while the screw motion from
    that stop to the goal begins. The errors are those of :func:`screw_motion`.
    """
    goal = _one_pose("goal", goal)
    passing = np.zeros((2, 5, 1))  # s = t before braking
    passing[:, 0, 0], passing[:, 1] = (t, t + 1.0), 1.0
    now = Trajectory(["s"], np.array([t, t + 1.0]), passing)
    braking = stop(now, t, duration=duration / 2 if stopping is None else stopping)
    slowed = running.retimed(braking)
    rest = slowed(braking.end_time).pose
    correction = se3.log(se3.inverse(rest) @ goal)
    law = interpolate(["s"], [t, t + duration], [[0.0], [1.0]])
    return slowed @ ScrewChain(np.eye(4), correction[None], law)


def _turn(omega: Array) -> Array:
    return np.concatenate([omega, np.zeros(3)])


def _one_pose(name: str, value: Any) -> Array:
    pose = se3.as_pose(name, value)
    if pose.shape != (4, 4):
        raise InputError(f"{name}: expected one pose (4, 4), got {pose.shape}")
    return pose


def _law(law: Law) -> Reference:
    if isinstance(law, Reference):
        if law.n != 1:
            raise TrajectoryError(f"law: expected a time law with one coordinate, got {law.n}")
        return law
    duration = float(exactly("duration", law, ()))
    if not duration > 0:
        raise TrajectoryError(f"the duration must be positive, got {law}")
    return interpolate(["s"], [0.0, duration], [[0.0], [1.0]])
