# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Runs in which one joint moves at a time: for friction, for springs and for motors.

All runs start and end at rest at one configuration, are continuous to the fourth derivative, and
stay within the limits: the joint keeps to the interval about its position in which no limit is
exceeded at rest, and a run that exceeds a limit in motion is made slower or smaller until it fits.

    "friction"  constant velocities, back and forth over the same path: in half the difference
                between both directions, gravity and other torques that depend on the position
                cancel, and friction remains
    "steps"     moves from rest to rest, as fast as the limits allow, with pauses in which springs
                ring
    "chirps"    sines whose frequency rises, for resonances, stiffness and inertia of the motors
"""

from collections.abc import Sequence
from math import comb
from typing import Literal, get_args

import numpy as np

from ...core import Array, DynamicsError, InputError, as_array
from ...motion import Reference, Trajectory, chain_rule
from .motion_limits import ExcitationLimits, LimitUse

RunKind = Literal["friction", "steps", "chirps"]
RUN_KINDS: tuple[str, ...] = get_args(RunKind)
SPEEDS = (0.05, 0.15, 0.35, 0.65, 0.95)  # shares of the fastest cruise
CRUISE = 3.0  # s, longest duration of a cruise
CRUISE_SHARE = 0.4  # of the interval is travelled at constant speed by the fastest cruise
STEP_SHARES = (0.1, 0.3)  # of the interval
PAUSE = 0.6  # s after each step
CHIRP = (0.2, 8.0)  # Hz
CHIRP_DURATION = 12.0  # s
CHIRP_SHARE = 0.1  # of the interval
WINDOW = 1.0  # s in which a chirp fades in and out
KNOT = 0.004  # s between the knots of a chirp
GRID = 121  # positions at which the interval of a joint is examined
POSES = 300  # random configurations, of which the best one is chosen
SMALLER, LEAST_SMALLER = 0.7, 0.97  # scale factors from one attempt to the next
ATTEMPTS = 40
CHECK, FINE_CHECK = 5e-3, 1e-3  # s; slow cruises begin with ramps of some 10 ms
COMFORT = 0.7  # greatest use of a limit at rest with which a configuration is taken at once
PEAK_SPEED = 315.0 / 128.0  # of a move from rest to rest, in units of distance / duration
PEAK_ACCELERATION = 9.372  # in units of distance / duration^2
RAMP_ACCELERATION = 35.0 / 16.0  # of a change of speed, in units of speed / duration
SLOWEST = {"prismatic": 0.1}  # m/s, where the model has no speed limit; else 1 rad/s
QUICK = 0.3  # s to reach full speed, where there is no acceleration limit


def resting_pose(limits: ExcitationLimits, *, seed: int = 0) -> Array:
    """A configuration (n,) at rest far from all limits: mid-range if possible, or a random one.

    Raises DynamicsError if none of the configurations tried is within the limits.
    """
    middle = 0.5 * (limits.lower + limits.upper)
    rng = np.random.default_rng(seed)
    size = limits.upper - limits.lower
    tried = np.vstack([middle, limits.lower + size * rng.uniform(0.2, 0.8, (POSES, len(size)))])
    used = limits.at_rest(tried)
    if used.min() > 1.0:
        raise DynamicsError(
            f"{limits.model.name}: none of {len(tried)} configurations is within the limits"
        )
    comfortable = np.flatnonzero(used < COMFORT)
    return tried[comfortable[0] if len(comfortable) else used.argmin()]


def single_joint_run(
    limits: ExcitationLimits, kind: RunKind, pose: Array, joints: Sequence[str] | None = None
) -> Reference:
    """One run of each joint, one after the other, from `pose` (n,) back to it.

    Raises InputError for an unknown kind or joint, and DynamicsError if a joint has no room.
    """
    if kind not in RUN_KINDS:
        raise InputError(f"run '{kind}': expected one of {', '.join(RUN_KINDS)}")
    model = limits.model
    q = as_array("pose", pose, (model.n,), model.joint_names)
    knots, states = [np.zeros(1)], [_rest(q)[None]]
    for joint in model.joint_names if joints is None else joints:
        times, rows = _of_joint(limits, kind, q, model.joint_index(joint))
        knots.append(knots[-1][-1] + times[1:])
        states.append(rows[1:])
    return Trajectory(model.joint_names, np.concatenate(knots), np.concatenate(states))


def _of_joint(limits: ExcitationLimits, kind: str, q: Array, j: int) -> tuple[Array, Array]:
    """Knots (k,) and states (k, 5, n) of one run of joint j within the limits."""
    name = limits.model.joint_names[j]
    lower, upper = free_interval(limits, q, j)
    build = {"friction": _friction, "steps": _steps, "chirps": _chirp}[kind]
    share, worst = 1.0, None
    for _ in range(ATTEMPTS):
        times, own = build(limits, q[j], (lower, upper), j, share)
        states = np.repeat(_rest(q)[None], len(times), axis=0)
        states[:, :, j] = own
        motion = Trajectory(limits.model.joint_names, times, states)
        worst = exceeded_limit(limits, motion) or exceeded_limit(limits, motion, FINE_CHECK)
        if worst is None:
            return times, states
        share *= max(SMALLER, min(1.0 / worst.used, LEAST_SMALLER))
    raise DynamicsError(f"joint '{name}': no room for a run of {kind}; {worst}")


def exceeded_limit(
    limits: ExcitationLimits, motion: Reference, step: float = CHECK
) -> LimitUse | None:
    """The limit that a motion exceeds most at times `step` seconds apart, or None."""
    count = int(np.ceil(motion.duration / step)) + 1
    times = np.linspace(motion.start_time, motion.end_time, count)
    uses = limits.uses(times, motion.sample(times))
    return uses[0] if uses and uses[0].used > 1.0 else None


def free_interval(limits: ExcitationLimits, q: Array, j: int) -> tuple[float, float]:
    """The interval about q[j] in which joint j may rest while the others stay at q (n,).

    Raises DynamicsError if q itself exceeds a limit.
    """
    places = np.linspace(limits.lower[j], limits.upper[j], GRID)
    places = np.sort(np.append(places, q[j]))
    here = int(np.searchsorted(places, q[j]))
    rows = np.repeat(q[None], len(places), axis=0)
    rows[:, j] = places
    free = limits.at_rest(rows) <= 1.0
    if not free[here]:
        use = exceeded_limit(limits, Trajectory(limits.model.joint_names, np.array([0.0, 0.1]),
                                          np.repeat(_rest(q)[None], 2, axis=0)))  # fmt: skip
        raise DynamicsError(f"joint '{limits.model.joint_names[j]}': no room at this pose; {use}")
    first = last = here
    while first > 0 and free[first - 1]:
        first -= 1
    while last < len(places) - 1 and free[last + 1]:
        last += 1
    return float(places[first]), float(places[last])


def _rest(q: Array) -> Array:
    state = np.zeros((5, len(q)))
    state[0] = q
    return state


def _speed_and_acceleration(limits: ExcitationLimits, j: int, share: float) -> tuple[float, float]:
    speed = float(limits.velocity[j])
    if not np.isfinite(speed):
        speed = SLOWEST.get(limits.model.joint_types[j], 1.0)
    acceleration = float(limits.acceleration[j])
    if not np.isfinite(acceleration):
        acceleration = RAMP_ACCELERATION * speed / QUICK
    return share * speed, share * acceleration


class _Path:
    """Knots of one coordinate, joined by polynomials of degree 9."""

    def __init__(self, q: float, speed: float, acceleration: float) -> None:
        self.times, self.states = [0.0], [np.array([q, 0.0, 0.0, 0.0, 0.0])]
        self._speed, self._acceleration = speed, acceleration

    def _add(self, duration: float, q: float, speed: float = 0.0) -> None:
        self.times.append(self.times[-1] + duration)
        self.states.append(np.array([q, speed, 0.0, 0.0, 0.0]))

    def move(self, q: float) -> None:
        """From rest to rest."""
        distance = abs(q - self.states[-1][0])
        if distance > 0.0:
            by_speed = PEAK_SPEED * distance / self._speed
            by_acceleration = np.sqrt(PEAK_ACCELERATION * distance / self._acceleration)
            self._add(max(by_speed, by_acceleration), q)

    def pause(self, duration: float) -> None:
        self._add(duration, self.states[-1][0])

    def cruise(self, speed: float, length: float) -> None:
        """At constant speed over a length, from rest to rest; speed may be negative."""
        ramp = RAMP_ACCELERATION * abs(speed) / self._acceleration
        start = self.states[-1][0] + 0.5 * speed * ramp
        end = start + np.copysign(length, speed)
        self._add(ramp, start, speed)
        self._add(length / abs(speed), end, speed)
        self._add(ramp, end + 0.5 * speed * ramp)

    def rows(self) -> tuple[Array, Array]:
        return np.array(self.times), np.array(self.states)


def _friction(
    limits: ExcitationLimits, q: float, interval: tuple[float, float], j: int, share: float
) -> tuple[Array, Array]:
    lower, upper = interval
    room = upper - lower
    speed, acceleration = _speed_and_acceleration(limits, j, share)
    fastest = np.sqrt((1.0 - CRUISE_SHARE) * room * acceleration / RAMP_ACCELERATION)
    speed = min(speed, fastest)
    path = _Path(q, speed, acceleration)
    for each in SPEEDS:
        v = each * speed
        ramp = RAMP_ACCELERATION * v / acceleration
        length = min(v * CRUISE, room - v * ramp)
        travel = length + v * ramp
        start = min(max(q - 0.5 * travel, lower), upper - travel)
        path.move(start)
        path.cruise(v, length)
        path.cruise(-v, length)
    path.move(q)
    return path.rows()


def _steps(
    limits: ExcitationLimits, q: float, interval: tuple[float, float], j: int, share: float
) -> tuple[Array, Array]:
    lower, upper = interval
    path = _Path(q, *_speed_and_acceleration(limits, j, share))
    for each in STEP_SHARES:
        for side in (1.0, -1.0):
            path.move(min(max(q + side * each * (upper - lower), lower), upper))
            path.pause(PAUSE)
            path.move(q)
            path.pause(PAUSE)
    return path.rows()


def _chirp(
    limits: ExcitationLimits, q: float, interval: tuple[float, float], j: int, share: float
) -> tuple[Array, Array]:
    """A sine of linearly rising frequency whose amplitude falls with its square.

    The acceleration then has the same amplitude at all frequencies above a corner, below which the
    amplitude is constant.
    """
    lower, upper = interval
    _, acceleration = _speed_and_acceleration(limits, j, 1.0)
    room = max(min(q - lower, upper - q), 0.0)
    amplitude = min(CHIRP_SHARE * (upper - lower), room)
    corner = np.sqrt(acceleration / max(amplitude, 1e-9))
    times = np.linspace(0.0, CHIRP_DURATION, int(CHIRP_DURATION / KNOT) + 1)
    first, last = (2.0 * np.pi * f for f in CHIRP)
    rate = (last - first) / CHIRP_DURATION
    states = np.empty((len(times), 5))
    for row, t in zip(states, times.tolist(), strict=True):
        w = first + rate * t
        phase = (w - first) * (w + first) / (2.0 * rate)
        sine = chain_rule((phase, w, rate, 0.0, 0.0)) @ np.array(
            [np.sin(phase), np.cos(phase), -np.sin(phase), -np.cos(phase), np.sin(phase)]
        )
        row[:] = _product(_product(_window(t), _fall(w, rate, corner)), sine)
    states *= share * amplitude
    states[:, 0] += q
    return times, states


def _window(t: float) -> Array:
    """1 with derivatives, rising from 0 at the start and falling to 0 at the end, C4."""
    left = CHIRP_DURATION - t
    u, sign = (t / WINDOW, 1.0) if t < left else (left / WINDOW, -1.0)
    if u >= 1.0:
        return np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    rise = np.polynomial.Polynomial([0, 0, 0, 0, 0, 126, -420, 540, -315, 70])
    return np.array([(rise.deriv(k) if k else rise)(u) * (sign / WINDOW) ** k for k in range(5)])


def _fall(w: float, rate: float, corner: float) -> Array:
    """1 / (1 + (w / corner)^2) and its time derivatives for a frequency w of constant rate."""
    x, factor = w / corner, rate / corner
    z = 1.0 / (1.0 + 1j * x)  # the fall is its real part
    parts = [z]
    for k in range(1, 5):
        parts.append(parts[-1] * z * (-1j) * k * factor)
    return np.array([part.real for part in parts])


def _product(x: Array, y: Array) -> Array:
    """The value and four derivatives of a product."""
    return np.array([sum(comb(k, r) * x[r] * y[k - r] for r in range(k + 1)) for k in range(5)])
