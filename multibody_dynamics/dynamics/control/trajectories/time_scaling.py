# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Time scaling: slow a motion down uniformly until torques, rates, speeds and deflections stay
within their limits.

Along the same path s >= 1 times slower, q^(k) scales by s^-k. With the torque g of gravity and
passive springs, d of passive dampers, and N = Q - g - d for the inertial and velocity torques of
the given motion (quadratic in the rates of q),

    Q = g + s^-1 d + s^-2 N,
    Q' = s^-1 g' + s^-2 d' + s^-3 N',
    Q'' = s^-2 g'' + s^-3 d'' + s^-4 N'',

where N, N', N'' come from inverse dynamics without gravity. All of these are computed once per
instant; each trial of s then costs a few sums and the flat map of springs and motors,
:func:`.motor_motion`. Limits on Q' correspond to the torque-rate limits of time-optimal planning
([M21], introduction), with the time profile of the motion kept.

A slower motion does not necessarily satisfy more limits: s^-1 g' and s^-3 N' may cancel in the
given motion but not in a slower one. The search therefore increases s in steps of 1 %, and bisects
only within the step that first satisfies all limits. Between samples in time, the maxima of the
utilisation are found by finer sampling around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ...core import (
    Array,
    IndependentCopies,
    InputError,
    TrajectoryError,
    as_array,
    as_real,
    read_only,
)
from ...elastic import Actuators, motor_motion
from ...model import MultibodyModel
from ...motion import Reference, Trajectory
from ...rigid import inverse_dynamics, passive_torques

STEP = 5e-3  # s, longest time between the first samples; finer where knots are close
PER_SEGMENT = 16  # samples between two knots, at least
ENOUGH = 400  # samples between two knots: they resolve its polynomials, however long it takes
FEWEST = 256  # samples of the whole motion
MOST = 3_000_000  # first samples times joints: 2 GB
FINER = 8  # how much finer each round of refinement samples around a maximum
NEAR = 0.95  # share of the largest value above which maxima are refined
NEGLIGIBLE = 1e-6  # utilisation below which a maximum is not refined
ROUNDS = 12
SCAN = 1.01  # ratio of successive trials of s

_ORDER = np.arange(5.0)[:, None]


JOINT_QUANTITIES = (
    "joint_torque", "torque_rate", "joint_speed", "joint_acceleration", "joint_jerk",
)  # fmt: skip
MOTOR_QUANTITIES = ("motor_torque", "motor_speed", "deflection")
QUANTITIES = (*JOINT_QUANTITIES, *MOTOR_QUANTITIES)


@dataclass(frozen=True, eq=False)
class MotionLimits(IndependentCopies):
    """Limits on the motion of n joints and m motors: arrays, or one number for all; None or inf for
    no limit.

    All limits are magnitudes on the link side of the gear; for prismatic joints, units are N, N/s,
    m/s and m. `deflection` may also hold the ends of the springs' travel, (m, 2), where an infinite
    end means no limit. Raises InputError, naming the joint, for a limit that is not positive.
    """

    joint_names: tuple[str, ...]
    joint_torque: Any = None  # (n,) Q, N m
    torque_rate: Any = None  # (n,) Q', N m/s
    joint_speed: Any = None  # (n,) q', rad/s
    joint_acceleration: Any = None  # (n,) q'', rad/s^2
    joint_jerk: Any = None  # (n,) q''', rad/s^3
    motor_torque: Any = None  # (m,) tau_m, N m
    motor_speed: Any = None  # (m,) theta', rad/s
    deflection: Any = None  # (m,) or (m, 2) of the spring in front of each motor, rad
    motor_names: tuple[str, ...] = ()  # as in the actuators; default: those of the joints

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        motors = tuple(self.motor_names) or names
        object.__setattr__(self, "joint_names", names)
        object.__setattr__(self, "motor_names", motors)
        for quantity in QUANTITIES:
            owner, owners = ("joint", names) if quantity in JOINT_QUANTITIES else ("motor", motors)
            given = getattr(self, quantity)
            limit = as_real(quantity, np.inf if given is None else given)
            if quantity == "deflection" and limit.shape == (len(owners), 2):
                for j in np.flatnonzero(~(limit[:, 0] < limit[:, 1])).tolist():
                    raise InputError(
                        f"deflection of '{owners[j]}': ends {limit[j]} are not increasing"
                    )
                object.__setattr__(self, quantity, read_only(limit))
                continue
            if limit.shape not in ((), (len(owners),)):
                raise InputError(f"{quantity}: expected {len(owners)} limits, got {limit.shape}")
            limit = np.full(len(owners), limit)
            for j in np.flatnonzero(~(limit > 0.0)).tolist():
                raise InputError(
                    f"{quantity} of {owner} '{owners[j]}': limit {limit[j]} is not positive"
                )
            object.__setattr__(self, quantity, read_only(limit))

    @classmethod
    def of_robot(
        cls,
        model: MultibodyModel,
        actuators: Actuators,
        *,
        torque_rate: Any = None,
        deflection: Any = None,
    ) -> MotionLimits:
        """The limits of a robot: those of effort, velocity, acceleration and jerk from the robot
        description, torque and speed of the motors from the actuators.

        If no `deflection` is given, it is limited to the travel of each spring.
        """
        if deflection is None:
            deflection = actuators.spring_travel
        return cls(
            model.joint_names,
            joint_torque=model.limits.effort,
            torque_rate=torque_rate,
            joint_speed=model.limits.velocity,
            joint_acceleration=model.limits.acceleration,
            joint_jerk=model.limits.jerk,
            motor_torque=actuators.torque_limit,
            motor_speed=actuators.speed_limit,
            deflection=deflection,
            motor_names=actuators.motor_names,
        )


class LimitUse(NamedTuple):
    """The largest utilisation of one limit of one joint along a motion."""

    quantity: str  # a field of MotionLimits
    joint: str  # or motor; the only motor of a joint has the name of the joint
    utilisation: float  # |value| / |limit|; for a travel: 0 in its middle, 1 at its ends
    value: float  # with its sign, like the limit
    limit: float
    time: float  # s, on the time axis of the motion

    def __str__(self) -> str:
        return (
            f"{self.quantity} of joint '{self.joint}' is {self.value:.4g} at {self.time:.4g} s, "
            f"{self.utilisation:.1%} of its limit {self.limit:.4g}"
        )


class LimitHistory(NamedTuple):
    """The utilisation of c finite limits along the whole motion, before and after time scaling.

    `times` (k,) in s are those of the given motion. Utilisations (k, c) are signed: 1 is at the
    upper limit, -1 at the lower one.
    """

    limits: tuple[tuple[str, str], ...]  # quantity and joint, as in LimitUse
    times: Array
    before: Array
    after: Array


@dataclass(frozen=True, eq=False)
class TimeScaling:
    """The result of :func:`scale_time`.

    trajectory : the motion, `factor` times slower, from the same start time; times in `after` are
        on its time axis, those in `before` on that of the given motion.
    before, after : the utilisation of every finite limit, the largest first.
    history : the same at all sampled instants.
    """

    trajectory: Reference
    factor: float
    before: tuple[LimitUse, ...]
    after: tuple[LimitUse, ...]
    history: LimitHistory

    @property
    def binding(self) -> LimitUse | None:
        """The limit that a faster motion would violate; None if the motion was not slowed down."""
        return self.after[0] if self.factor > 1.0 else None

    def describe(self) -> str:
        """A table with one line per limit: quantity, joint, utilisation before and after."""
        after = {use[:2]: use for use in self.after}
        lines = [f"{self.factor:.6g} times slower; binding: {self.binding or 'nothing'}"]
        for use in self.before:
            then = after[use[:2]]
            lines.append(
                f"{use.quantity:13s} {use.joint:20s} {use.utilisation:8.1%} at {use.time:.3f} s"
                f" -> {then.utilisation:7.1%} at {then.time:.3f} s"
            )
        return "\n".join(lines)


class SlowedReference(Reference):
    """Another reference, `factor` times slower, from the same start time."""

    def __init__(self, reference: Reference, factor: float) -> None:
        start = reference.start_time
        super().__init__(reference.joint_names, start, start + factor * reference.duration)
        self.reference, self.factor = reference, factor
        self._rates = factor**-_ORDER
        self._first = reference(start) * self._rates
        self._last = reference(reference.end_time) * self._rates

    def _inside(self, t: float) -> Array:
        return self.reference(self.start_time + (t - self.start_time) / self.factor) * self._rates

    def extremes(self) -> tuple[Array, Array]:
        least, greatest = self.reference.extremes()
        return least * self._rates, greatest * self._rates


def slow_down(reference: Reference, factor: float) -> Reference:
    """The same motion, `factor` >= 1 times slower, from the same start time.

    A Trajectory stays a Trajectory, with the same polynomials. Raises TrajectoryError for other
    factors, and for a reference that starts in motion, whose initial velocity would have to jump.
    """
    if not (isfinite(factor) and factor >= 1.0):
        raise TrajectoryError(f"slow_down: factor is {factor}, must be at least 1 and finite")
    if factor == 1.0:
        return reference
    if reference(reference.start_time)[1:].any():
        raise TrajectoryError(
            f"the motion does not start at rest (t = {reference.start_time:.9g} s): slowing it "
            f"down would make its initial velocity jump; stop first, or plan more time for its "
            f"points"
        )
    if isinstance(reference, Trajectory):
        knots = reference.start_time + factor * (reference.knots - reference.start_time)
        return Trajectory(reference.joint_names, knots, reference.states * factor**-_ORDER)
    return SlowedReference(reference, factor)


def scale_time(
    reference: Reference,
    model: MultibodyModel,
    actuators: Actuators,
    limits: MotionLimits,
    *,
    stiffness: Any = None,
    tolerance: float = 1e-6,
    slowest: float = 1e3,
) -> TimeScaling:
    """Slow the motion down by the smallest factor s >= 1 that satisfies all `limits`.

    Parameters
    ----------
    reference : must start at rest if it has to be slowed down.
    model : the links, without the rotors that `actuators` has, see
        :meth:`.Actuators.refuse_counting_twice`.
    actuators : actuators of any kind, without damping in the springs.
    stiffness : (v,) constant second outputs of joints that have one, see :func:`.motor_motion`.
    tolerance : relative, of s and of the limits, for maxima that are visible in samples at most
        STEP apart, with PER_SEGMENT to ENOUGH between knots. If a larger s violates limits again,
        the search may miss a range of s narrower than 1 % that satisfies them.
    slowest : the largest factor to try.

    Raises TrajectoryError if no factor up to `slowest` satisfies the limits; the message names
    quantity, joint and time, and states if gravity alone violates the limit at a standstill. Raises
    InputError if the joints of the arguments differ, a spring is damped, or the motion is too long.
    """
    _check_scaling(reference, model, actuators, limits)
    if not 1e-12 <= tolerance < 1.0:
        raise InputError(f"tolerance is {tolerance}: must be at least 1e-12 and below 1")
    if not 1.0 <= slowest < np.inf:
        raise InputError(f"slowest is {slowest}: must be at least 1 and finite")
    motion = _SampledMotion(reference, model, actuators, limits, stiffness)

    factor = 1.0
    motion.refine(factor, tolerance)
    for _ in range(ROUNDS):
        factor = _smallest_factor(motion, factor, tolerance, slowest)
        motion.refine(factor, tolerance)
        if motion.utilisation(factor).max() <= 1.0 + tolerance:
            break
    else:
        raise TrajectoryError(
            f"the search did not converge: finer samples still show higher maxima: "
            f"{motion.uses(factor)[0]}"
        )
    trajectory = slow_down(reference, factor)
    history = motion.history(factor)
    return TimeScaling(trajectory, factor, motion.uses(1.0), motion.uses(factor), history)


def _check_scaling(
    reference: Reference, model: MultibodyModel, actuators: Actuators, limits: MotionLimits
) -> None:
    for what, names, right in (
        ("reference", reference.joint_names, model.joint_names),
        ("actuators", actuators.joint_names, model.joint_names),
        ("limits", limits.joint_names, model.joint_names),
        ("limits of motors", limits.motor_names, actuators.motor_names),
    ):
        if names != right:
            raise InputError(f"{what}: expected {', '.join(right)}, got {', '.join(names)}")
    for i in np.flatnonzero(actuators.is_damped).tolist():
        raise InputError(
            f"joint '{model.joint_names[i]}': its spring is damped, so its deflection depends on "
            f"the past motion; set the damping to zero for time scaling"
        )
    actuators.refuse_counting_twice(model.reflected_inertia)


def _smallest_factor(
    motion: _SampledMotion, start: float, tolerance: float, slowest: float
) -> float:
    """The smallest s >= start that keeps all limits at the samples: 1 % steps, then bisection."""
    worst = np.zeros(1, dtype=np.intp)

    def is_kept(s: float) -> bool:
        """Usually decided by the samples that were the worst ones at the last s."""
        nonlocal worst
        if motion.utilisation(s, worst).max() > 1.0:
            return False
        use = motion.utilisation(s)
        worst = np.unique(use.argmax(axis=0))
        return bool(use[worst].max() <= 1.0)

    below, s = start, start
    while not is_kept(s):
        if s >= slowest:
            at_rest = motion.uses(np.inf)[0]
            if at_rest.utilisation >= 1.0:
                raise TrajectoryError(f"no motion is slow enough: even at a standstill, {at_rest}")
            raise TrajectoryError(f"{s:g} times slower is still too fast: {motion.uses(s)[0]}")
        below, s = s, min(s * SCAN, slowest)
    while s - below > 0.1 * tolerance * s:
        middle = 0.5 * (below + s)
        below, s = (below, middle) if is_kept(middle) else (middle, s)
    return s


class _SampledMotion:
    """A motion and its torques at sampled times, from which every slower one follows."""

    def __init__(
        self,
        reference: Reference,
        model: MultibodyModel,
        actuators: Actuators,
        limits: MotionLimits,
        stiffness: Any,
    ) -> None:
        n = model.n
        self.reference, self.model, self.actuators = reference, model, actuators
        self.stiffness: Array | None = None
        if stiffness is not None:
            count = len(actuators.variable_joints)
            self.stiffness = np.zeros((3, count))
            self.stiffness[0] = as_array("stiffness", stiffness, (count,))
        self.weightless = model.with_gravity((0.0, 0.0, 0.0))
        # a column for each quantity of each joint or motor
        columns = [np.outer(getattr(limits, name), (-1, 1)) for name in QUANTITIES[:-1]]
        ends = limits.deflection
        columns.append(ends if ends.ndim == 2 else np.outer(ends, (-1, 1)))
        lower, upper = np.concatenate(columns).T
        is_limited = np.isfinite(lower) & np.isfinite(upper)
        lower, upper = np.where(is_limited, (lower, upper), [[-1.0], [1.0]])
        self.middle: Array = 0.5 * (lower + upper)
        self.reach: Array = np.where(is_limited, 0.5 * (upper - lower), np.inf)
        self.names = [(name, joint) for name in JOINT_QUANTITIES for joint in model.joint_names]
        self.names += [
            (name, motor) for name in MOTOR_QUANTITIES for motor in actuators.motor_names
        ]
        self.times: Array = np.empty(0)
        self.states: Array = np.empty((0, 5, n))  # of the given motion, as the next three
        self.static, self.damping, self.motion = (np.empty((0, 3, n)) for _ in range(3))
        self.add(_first_samples(reference))

    def add(self, times: Array) -> None:
        states = self.reference.sample(times)
        rows = np.moveaxis(states, 1, 0)
        total = np.stack(_all_rates(inverse_dynamics(self.model, *rows)), axis=1)
        free = np.stack(_all_rates(inverse_dynamics(self.weightless, *rows)), axis=1)
        springs, dampers = np.swapaxes(passive_torques(self.model, *rows), 1, 2)
        order = np.argsort(np.concatenate((self.times, times)), kind="stable")
        for name, new in (
            ("times", times),
            ("states", states),
            ("static", total - free + springs),
            ("damping", dampers),
            ("motion", free - springs - dampers),
        ):
            setattr(self, name, np.concatenate((getattr(self, name), new))[order])

    def values(self, s: float, at: Any = ...) -> Array:
        """The columns (k, 5 n + 3 m) of the motion s times slower, at all samples or those with the
        indices `at`; s = inf: at a standstill."""
        rates = s**-_ORDER
        state = self.states[at] * rates
        torque = self.static[at] * rates[:3] + self.damping[at] * rates[1:4]
        torque += self.motion[at] * rates[2:]
        motors = motor_motion(self.actuators, state, torque, self.stiffness, beyond="continue")
        return np.concatenate(
            [
                torque[:, 0],
                torque[:, 1],
                *(state[:, k] for k in (1, 2, 3)),
                motors.torque,
                motors.velocity,
                motors.deflection,
            ],
            axis=1,
        )

    def shares(self, s: float, at: Any = ...) -> Array:
        """Signed utilisation of the limits, (k, 5 n + 3 m): -1 at the lower, 1 at the upper one."""
        return np.asarray((self.values(s, at) - self.middle) / self.reach)

    def utilisation(self, s: float, at: Any = ...) -> Array:
        """Utilisation of the limits, (k, 5 n + 3 m): distance from their middle over half their
        width."""
        return np.abs(self.shares(s, at))

    def history(self, s: float) -> LimitHistory:
        limited = np.flatnonzero(np.isfinite(self.reach))
        names = tuple(self.names[i] for i in limited.tolist())
        before, after = (self.shares(each)[:, limited] for each in (1.0, s))
        return LimitHistory(names, self.times, before, after)

    def refine(self, s: float, tolerance: float) -> None:
        """Sample more finely around the maxima of every utilisation until they stop growing."""
        shortest = 1e-9 * (self.times[-1] - self.times[0])
        for _ in range(ROUNDS):
            use = self.utilisation(s)
            peaks = use.max(axis=0)
            rises = np.ones(use.shape, dtype=bool)
            falls = rises.copy()
            rises[1:] = use[1:] > use[:-1]
            falls[:-1] = use[:-1] >= use[1:]
            is_peak = rises & falls & (use >= NEAR * peaks) & (peaks > NEGLIGIBLE)
            k = np.flatnonzero(is_peak.any(axis=1))
            intervals = np.unique(np.concatenate((k - 1, k)))
            gaps = np.diff(self.times)
            intervals = intervals[(intervals >= 0) & (intervals < len(gaps))]
            intervals = intervals[gaps[intervals] > shortest]
            if not len(intervals):
                return
            parts = np.arange(1, FINER) / FINER
            new = self.times[intervals, None] + gaps[intervals, None] * parts
            self.add(new.ravel())
            if (self.utilisation(s).max(axis=0) - peaks).max() <= 0.1 * tolerance:
                return

    def uses(self, s: float) -> tuple[LimitUse, ...]:
        """The largest utilisation of every finite limit, in descending order."""
        values, use = self.values(s), self.utilisation(s)
        start = self.times[0]
        uses = []
        for i in np.flatnonzero(np.isfinite(self.reach)).tolist():
            k = int(use[:, i].argmax())
            elapsed = float(self.times[k] - start)
            side = np.copysign(self.reach[i], values[k, i] - self.middle[i])
            uses.append(
                LimitUse(
                    *self.names[i],
                    float(use[k, i]),
                    float(values[k, i]),
                    float(self.middle[i] + side),
                    float(start) + elapsed * (s if isfinite(s) else 1.0),
                )
            )
        return tuple(sorted(uses, key=lambda each: -each.utilisation))


def _first_samples(reference: Reference) -> Array:
    """Times from start to end, no further apart than STEP, and all knots among them."""
    ends = [reference.start_time, reference.end_time]
    knots = reference.knots if isinstance(reference, Trajectory) else np.array(ends)
    if reference.duration == 0.0:
        return np.array(ends[:1])
    step = min(STEP, reference.duration / FEWEST)
    counts = np.maximum(PER_SEGMENT, np.ceil(np.diff(knots) / step)).astype(int)
    n = len(reference.joint_names)
    if counts.sum() > MOST // n:
        raise InputError(
            f"{len(knots)} points over {reference.duration:.4g} s are too many for {n} joints: at "
            f"most {MOST // (n * PER_SEGMENT)} points and {STEP * (MOST // n):.4g} s are scaled "
            "at once; leave out points, or split the motion at rest (are its times in seconds?)"
        )
    counts = np.minimum(counts, ENOUGH)
    inner = [
        np.linspace(a, b, count, endpoint=False)
        for a, b, count in zip(knots[:-1], knots[1:], counts.tolist(), strict=True)
    ]
    return np.concatenate([*inner, ends[1:]])


def _all_rates(torques: Sequence[Array | None]) -> list[Array]:
    return [row for row in torques if row is not None]
