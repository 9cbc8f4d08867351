"""Motions to show a robot with, and the points that carry them in a message. No ROS.

Both kinds begin and end at rest. Where a motion is not given by numbers it is made from the limits
of the joints, so that any robot has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..core import Array, InputError, TrajectoryError
from ..model import MultibodyModel
from .trajectories import Reference, interpolate, sum_of_sines

DERIVATIVES = ("q", "q'", "q''", "q'''", "q''''")
MOTIONS = ("sum_of_sines", "rest_to_rest")
HARMONICS = 5
WAYPOINTS = 8
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)  # its multiples modulo 1 never bunch: phases that look random

# What counts as the range and speed of a joint that states none.
UNLIMITED_HALF_RANGE = {"prismatic": 0.2}  # m; all others pi rad
UNLIMITED_SPEED = {"prismatic": 0.5}  # m/s; all others 2 rad/s


class Points(NamedTuple):
    """A motion as a JointTrajectory carries it: times (k,) s, the rest (k, n) or None."""

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
    """A sum of sines, see :func:`.sum_of_sines`; `ramp` seconds longer at both ends.

    offset (n,) in rad, cosine and sine (n L,) row by row, the amplitudes of the velocity in rad/s;
    all three or none. frequency in rad/s. Without numbers each joint moves about the middle of its
    range, and reach and speed are the shares of half range and velocity limit that it may use.
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
    """From rest through points evenly spaced in time to rest, with least jerk.

    waypoints (k n,) in rad, point by point. Without them each joint moves to and fro about the
    middle of its range, ending where it began; reach and speed are as in :func:`exciting_motion`.
    """
    n = model.n
    if waypoints:
        if len(waypoints) % n or len(waypoints) < 2 * n:
            raise InputError(
                f"waypoints: {len(waypoints)} numbers; a multiple of {n} (the joints), two or more"
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
    """The motion every `period` seconds or a little less, with velocities and accelerations."""
    count = int(np.ceil(motion.duration / period - 1e-9)) + 1
    times = np.linspace(0.0, motion.duration, count)
    states = motion.sample(motion.start_time + times)
    return Points(times, states[:, 0], states[:, 1], states[:, 2])


def reproduction_error(motion: Reference, points: Points) -> Array:
    """(5,) greatest differences of q..q'''' between the motion and what `interpolate` makes of the
    points, in between them."""
    again = interpolate(motion.joint_names, *points)
    times = np.linspace(0.0, motion.duration, 8 * len(points.times) + 1)
    difference = again.sample(times) - motion.sample(motion.start_time + times)
    return np.abs(difference).max(axis=(0, 2))


def approach_time(model: MultibodyModel, distance: Array, speed: float) -> float:
    """Seconds in which every joint can go the distance (n,), rest to rest, at this share of its
    velocity limit. From rest to rest, C4, the greatest speed is 315/128 times the mean."""
    _, _, velocity = _limits(model)
    return float((315.0 / 128.0 * np.abs(distance) / (speed * velocity)).max())


def _fitted(
    model: MultibodyModel,
    motion: Callable[[Array, Array], Reference],
    reach: float,
    speed: float,
) -> tuple[Array, Array]:
    """Middle and size (n,) with which motion(middle, size) uses the shares of range and speed."""
    middle, half_range, velocity = _limits(model)
    unit = motion(np.zeros(model.n), np.ones(model.n)).peak_values()
    return middle, np.minimum(reach * half_range / unit[0], speed * velocity / unit[1])


def _limits(model: MultibodyModel) -> tuple[Array, Array, Array]:
    """Middle of the range, half range and speed of every joint, (n,) each, all finite."""
    lower, upper, velocity, _ = model.limits
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
            f" velocity limit {velocity[i]:g}; give the motion in numbers"
        )
    return middle, half_range, speed


def _check_counts(model: MultibodyModel, **given: tuple[Sequence[float], int | None]) -> None:
    for name, (values, count) in given.items():
        if not values or len(values) % model.n or (count is not None and len(values) != count):
            wanted = f"{count}" if count is not None else f"a multiple of {model.n}"
            raise InputError(
                f"{name}: {len(values)} numbers, expected {wanted} for {model.n} joints;"
                f" offset, cosine and sine belong together"
            )
