# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Demo motions of a robot, and the points that represent them in a message; independent of ROS.

All motions begin and end at rest. Without explicit numbers a motion is derived from the limits of
the joints, also of their efforts, which works for any robot that can hold itself.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core import Array, InputError, TrajectoryError
from ..model import MultibodyModel
from ..rigid import held_position, inverse_dynamics
from .trajectories import Reference, Trajectory, interpolate, sum_of_sines

MOST_POINTS = 200_000  # in a trajectory; interpolating them takes seconds
DERIVATIVES = ("q", "q'", "q''", "q'''", "q''''")
MOTIONS = ("sum_of_sines", "rest_to_rest")
HARMONICS = 5
WAYPOINTS = 8
# Largest q', q'' and q''' of the polynomial of degree 9 from rest to rest over 1 in 1 s
PEAKS = (315.0 / 128.0, 9.371977, 78.750000)
GOLDEN = 0.5 * (
    np.sqrt(5.0) - 1.0
)  # its multiples modulo 1 are evenly spread: phases that look random

# Largest share of an effort limit that a motion takes, and the steps in which it becomes smaller.
STRAIN = 0.9
SMALLER = 0.8

# Assumed range and speed of joints without limits.
UNLIMITED_HALF_RANGE = {"prismatic": 0.2}  # m; all others pi rad
UNLIMITED_SPEED = {"prismatic": 0.5}  # m/s; all others 2 rad/s


class Points(NamedTuple):
    """Points of a motion, as in a JointTrajectory: times (k,) in s, the others (k, n) or None."""

    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None


def exciting_motion(
    model: MultibodyModel,
    *,
    duration: float,
    ramp: float,
    frequency: float,
    offset: Sequence[float] = (),
    cosine: Sequence[float] = (),
    sine: Sequence[float] = (),
    reach: float = 0.5,
    speed: float = 0.5,
) -> Reference:
    """A sum of sines, see :func:`.sum_of_sines`, extended by `ramp` seconds at both ends.

    `offset` (n,) in rad; `cosine` and `sine` (n L,), joint by joint, are velocity amplitudes in
    rad/s; give all three or none. Without them each joint moves about the middle of its range and
    uses the fractions `reach` of half its range and `speed` of its velocity limit. `frequency` is
    in rad/s.
    """
    n = model.n
    if offset or cosine or sine:
        _check_counts(model, offset=(offset, n), cosine=(cosine, None), sine=(sine, len(cosine)))
        a, b = np.reshape(cosine, (n, -1)), np.reshape(sine, (n, -1))
        return sum_of_sines(model.joint_names, offset, a, b, frequency, duration, ramp=ramp)
    phase = 2.0 * np.pi * np.modf(GOLDEN * np.arange(1, n * HARMONICS + 1))[0].reshape(n, -1)
    a, b = np.cos(phase), np.sin(phase)

    def motion(middle: Array, size: Array) -> Reference:
        a_scaled, b_scaled = size[:, None] * a, size[:, None] * b
        return sum_of_sines(
            model.joint_names, middle, a_scaled, b_scaled, frequency, duration, ramp=ramp
        )

    return motion(*_fitted(model, motion, reach, speed))


def rest_to_rest_motion(
    model: MultibodyModel,
    *,
    duration: float,
    waypoints: Sequence[float] = (),
    reach: float = 0.5,
    speed: float = 0.5,
) -> Reference:
    """Minimum-jerk motion from rest to rest through points that are evenly spaced in time.

    `waypoints` (k n,) in rad, point by point. Without them each joint moves back and forth about
    the middle of its range and ends where it began; `reach` and `speed` are as in
    :func:`exciting_motion`.
    """
    n = model.n
    if waypoints:
        if len(waypoints) % n or len(waypoints) < 2 * n:
            raise InputError(
                f"waypoints: expected two or more points of {n} numbers, one per joint, got "
                f"{len(waypoints)} numbers in total"
            )
        shape = np.reshape(waypoints, (-1, n))
        return interpolate(model.joint_names, np.linspace(0.0, duration, len(shape)), shape)
    k, j = np.arange(WAYPOINTS)[:, None], np.arange(n)
    shape = np.cos(2.0 * np.pi * GOLDEN * (k + 1) * (1.0 + 0.3 * j))
    shape[-1] = shape[0]
    times = np.linspace(0.0, duration, WAYPOINTS)

    def motion(middle: Array, size: Array) -> Reference:
        return interpolate(model.joint_names, times, middle + size * shape)

    return motion(*_fitted(model, motion, reach, speed))


def sampled(motion: Reference, period: float) -> Points:
    """Points of a motion at intervals of at most `period` seconds, with q' and q''."""
    count = int(np.ceil(motion.duration / period - 1e-9)) + 1
    times = np.linspace(0.0, motion.duration, count)
    states = motion.sample(motion.start_time + times)
    return Points(times, states[:, 0], states[:, 1], states[:, 2])


def reproduction_error(motion: Reference, points: Points) -> Array:
    """Largest errors (5,) of q ... q'''' between the points if `interpolate` connects them."""
    again = interpolate(motion.joint_names, *points)
    times = np.linspace(0.0, motion.duration, 8 * len(points.times) + 1)
    difference = again.sample(times) - motion.sample(motion.start_time + times)
    return np.abs(difference).max(axis=(0, 2))


def approached(model: MultibodyModel, q: Array, duration: float, motion: Trajectory) -> Points:
    """The points of a motion after an approach from q (n,) to its first one, reached at rest.

    The approach, of `duration` s, has points as close together as those of the motion: a spline
    whose intervals differ much swings beyond them.
    """
    way = interpolate(model.joint_names, [0.0, duration], [q, motion.states[0, 0]])
    count = int(np.clip(duration / np.diff(motion.knots).min(), 1, MOST_POINTS))
    times = np.linspace(0.0, duration, count, endpoint=False)[1:]
    rows = np.concatenate((way.sample(times), motion.states))[:, :3].swapaxes(0, 1)
    return Points(np.concatenate((times, duration + motion.knots)), *rows)


def approach_time(model: MultibodyModel, distance: Array, speed: float) -> float:
    """Time in s in which every joint can travel the distance (n,), from rest to rest, at the
    fraction `speed` of its velocity limit and within those of acceleration and jerk. The peak speed
    of a C4 motion is PEAKS[0] of its mean."""
    _, _, velocity = _limits(model)
    rates = speed * velocity, model.limits.acceleration, model.limits.jerk
    return max(
        float(((peak * np.abs(distance) / rate) ** (1.0 / k)).max())
        for k, (peak, rate) in enumerate(zip(PEAKS, rates, strict=True), start=1)
    )


def _fitted(
    model: MultibodyModel, motion: Callable[[Array, Array], Reference], reach: float, speed: float
) -> tuple[Array, Array]:
    """Middle and size (n,) for which motion(middle, size) uses these fractions of its limits, or
    less where the efforts require it. The middle is that of the range, or the closest position at
    which the robot can hold itself."""
    centre, half_range, velocity = _limits(model)
    held = held_position(model, centre)
    middle = centre if held is None else held
    room = half_range - np.abs(middle - centre)
    unit = motion(np.zeros(model.n), np.ones(model.n)).peak_values()
    sizes = [reach * room / unit[0], speed * velocity / unit[1]]
    sizes += [model.limits.acceleration / unit[2], model.limits.jerk / unit[3]]
    size = np.min(sizes, axis=0)
    while held is not None and _strain(model, motion(middle, size)) > STRAIN:
        size = SMALLER * size
    return middle, size


def _strain(model: MultibodyModel, motion: Reference) -> float:
    """The largest share of an effort limit that a motion of the links takes."""
    times = np.linspace(motion.start_time, motion.end_time, 201)
    q, qd, qdd = motion.sample(times)[:, :3].swapaxes(0, 1)
    torque, effort = np.abs(inverse_dynamics(model, q, qd, qdd).tau), model.limits.effort
    return float(np.where(effort > 0.0, torque / np.where(effort > 0.0, effort, 1.0), 0.0).max())


def _limits(model: MultibodyModel) -> tuple[Array, Array, Array]:
    """Middle of the range, half the range, and speed limit of every joint, each (n,), finite."""
    lower, upper, velocity = model.limits[:3]
    types = model.joint_types
    bounded = np.isfinite(lower) & np.isfinite(upper)
    free = [UNLIMITED_HALF_RANGE.get(kind, np.pi) for kind in types]
    safe_lower, safe_upper = np.where(bounded, lower, -1.0), np.where(bounded, upper, 1.0)
    middle = 0.5 * (safe_lower + safe_upper)
    half_range = np.where(bounded, 0.5 * (safe_upper - safe_lower), free)
    speed = np.where(np.isfinite(velocity), velocity, [UNLIMITED_SPEED.get(k, 2.0) for k in types])
    for i in np.flatnonzero((half_range <= 0.0) | (speed <= 0.0)):
        raise TrajectoryError(
            f"joint '{model.joint_names[i]}' cannot move: range {lower[i]:g} ... {upper[i]:g},"
            f" velocity limit {velocity[i]:g}; specify the motion explicitly"
        )
    return middle, half_range, speed


def _check_counts(model: MultibodyModel, **given: tuple[Sequence[float], int | None]) -> None:
    for name, (values, count) in given.items():
        if not values or len(values) % model.n or (count is not None and len(values) != count):
            wanted = f"{count}" if count is not None else f"a multiple of {model.n}"
            raise InputError(
                f"{name} has {len(values)} numbers for {model.n} joints, expected {wanted};"
                f" offset, cosine and sine must be given together"
            )
