# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Limits of a streamed motion (:mod:`.streams`) that the torques of the motors can follow.

A stream is not known beforehand, so its torques cannot be checked as those of a trajectory are.
Instead, accelerations A and averaged interval L are chosen such that the flat map of the robot,
friction included, stays within the torques of the motors and their rates at SAMPLES random states
in the box that A and L leave,

    |q'| <= V,  |q''| <= A,  |q'''| <= 4.375 A / L,  |q''''| <= 30.06 A / L^2,  ...

Accelerations have one common factor: the torque of every motor, by itself, would accelerate its
joint alone by the largest of them. The limits of the drives still apply to what is sent.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import factorial
from typing import Any

import numpy as np

from ...core import Array, InputError, as_array, check_setting, setting
from ...elastic import Actuators, motor_motion
from ...model import JointLimits, MultibodyModel
from ...motion import JointCommandLimits, StreamLimits, compile_streams, streams
from ...rigid import inverse_dynamics, mass_matrix

SAMPLES = 256
UNLIMITED_SPEED = 2.0  # rad/s or m/s, of joints without a velocity limit
QUICKEST = 0.2  # s, to reach the velocity limit at least
SMOOTHING = 0.08  # s, the shortest averaged interval that is chosen
LONGEST = 2.0  # s, the longest one
HELD = 0.8  # share of a motor's torque; poses that need more to hold the arm do not count
STEPS = 14  # of each bisection
INSTANT = 1e-5  # s, for the rates of torques


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """How streams of targets are followed, documented by the declarations."""

    # fmt: off
    stream_delay: float = setting(1.0, unit="intervals of the stream", bounds=(0.0, 10.0),
        meaning="delay with which the targets of a stream are followed, less the time by which its"
        " points reach ahead; with less than one interval, more of the motion is extrapolated")
    stream_smoothing: float = setting(0.0, unit="s", bounds=(0.0, 10.0),
        meaning="interval over which a stream is averaged; 0: 0.08 s, or longer if"
        " torque_rate_limits need it")
    stream_acceleration: tuple[float, ...] = setting((), unit="rad/s^2 or m/s^2",
        meaning="limits of the accelerations of a streamed motion: one value, or one per joint of"
        " the robot; empty: what the torques of the motors allow")
    # fmt: on

    def __post_init__(self) -> None:
        for each in fields(StreamSettings):
            check_setting(each, getattr(self, each.name), is_bounded=True)


def design_stream(
    model: MultibodyModel,
    actuators: Actuators,
    limits: JointLimits,
    motors: JointCommandLimits,
    settings: StreamSettings | None = None,
    *,
    stiffness: Any = None,
) -> StreamLimits:
    """The limits of streams for a robot. Takes some tenths of a second; afterwards, streams are
    compiled.

    limits : of positions and velocities. motors : limits of torques and their rates. stiffness :
    (v,) second outputs of joints that have one, see :func:`.motor_motion`.

    Raises InputError if not even a slow stream keeps the torque rates.
    """
    compile_streams()
    settings = settings or StreamSettings()
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, UNLIMITED_SPEED)
    states = _RandomStates(model, actuators, limits, motors, speed, stiffness)
    smoothing = settings.stream_smoothing or SMOOTHING
    if settings.stream_acceleration:
        given = np.array(settings.stream_acceleration, dtype=np.float64)
        count = len(given)
        if count not in (1, model.n) or not (np.isfinite(given) & (given > 0.0)).all():
            raise InputError(
                f"stream_acceleration is {given.tolist()}: expected one positive number, or one for"
                f" each of the {model.n} joints"
            )
        acceleration = np.broadcast_to(given, (model.n,)).copy()
    else:
        largest = states.largest_acceleration()
        keeps_rates = bool(settings.stream_smoothing)

        def is_slow(factor: float) -> bool:
            torque, rate = states.use(factor * largest, smoothing)
            return torque <= 1.0 and (rate <= 1.0 or not keeps_rates)

        acceleration = largest * _greatest(is_slow, 1e-3, 1.0)
    if not settings.stream_smoothing:
        longest = LONGEST
        if states.use(acceleration, longest)[1] > 1.0:
            raise InputError(
                "torque_rate_limits: even streams that are averaged over"
                f" {longest:g} s exceed them; set stream_acceleration or raise the limits"
            )

        def is_smooth(per: float) -> bool:
            return bool(states.use(acceleration, 1.0 / per)[1] <= 1.0)

        smoothing = 1.0 / _greatest(is_smooth, 1.0 / longest, 1.0 / SMOOTHING)
    return StreamLimits(
        limits.lower.copy(), limits.upper.copy(), speed, acceleration, smoothing,
        settings.stream_delay,
    )  # fmt: skip


def _greatest(is_kept: Callable[[float], bool], low: float, high: float) -> float:
    """The greatest number between `low` and `high` for which `is_kept`, by bisection; `low` if
    there is none."""
    if is_kept(high):
        return high
    for _ in range(STEPS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low


class _RandomStates:
    """States in the box of a stream, as shares of its bounds."""

    def __init__(
        self,
        model: MultibodyModel,
        actuators: Actuators,
        limits: JointLimits,
        motors: JointCommandLimits,
        speed: Array,
        stiffness: Any,
    ) -> None:
        self._model, self._actuators, self._speed = model, actuators, speed
        self._torque_limit = np.asarray(motors.torque)
        self._rate_limit = np.asarray(motors.torque_rate)
        self._second: Array | None = None
        if actuators.variable_joints:
            self._second = np.zeros((3, len(actuators.variable_joints)))
            self._second[0] = as_array("stiffness", stiffness, (len(actuators.variable_joints),))
        rng = np.random.default_rng(0)
        lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
        upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
        q = model.within_reach(rng.uniform(lower, upper, (4 * SAMPLES, model.n)))
        held = np.abs(
            self._torques(np.concatenate((q[:, None], np.zeros((len(q), 4, model.n))), 1))
        )
        used = (held / self._torque_limit).max(axis=1)
        kept = np.argsort(used, kind="stable")[: max(SAMPLES, int((used <= HELD).sum()))]
        self._q = q[np.sort(kept)[:SAMPLES]]
        self._shares = rng.uniform(-1.0, 1.0, (SAMPLES, 5, model.n))

    def largest_acceleration(self) -> Array:
        """(n,) to which its motors alone would accelerate each joint, or a quick start."""
        quick = self._speed / QUICKEST
        own = mass_matrix(self._model, self._q).diagonal(axis1=1, axis2=2).min(axis=0)
        torque = np.zeros(self._model.n)
        np.add.at(torque, self._actuators.joint_of_motor, self._torque_limit)
        inertia = own.copy()
        np.add.at(inertia, self._actuators.joint_of_motor, self._actuators.motor_inertia)
        return np.asarray(np.minimum(quick, torque / inertia))

    def use(self, acceleration: Array, smoothing: float) -> tuple[float, float]:
        """The largest shares of the limits of torque and torque rate."""
        factors = (1.0, streams.JERK_FACTOR, streams.JOUNCE_FACTOR, streams.CRACKLE_FACTOR)
        bounds = [self._speed, *(f * acceleration / smoothing**k for k, f in enumerate(factors))]
        rates = self._shares * np.array(bounds)
        taylor = np.concatenate((self._q[:, None], rates), axis=1)
        before, after = (self._torques(_moved(taylor, t)) for t in (-INSTANT, INSTANT))
        rate = (after - before) / (2.0 * INSTANT)
        return (
            float((np.abs(after) / self._torque_limit).max()),
            float((np.abs(rate) / self._rate_limit).max()),
        )

    def _torques(self, states: Array) -> Array:
        """(k, m) of the motors in states (k, 5, n)."""
        actuators = self._actuators
        torque = inverse_dynamics(self._model, *np.moveaxis(states, 1, 0))
        rows = np.stack([np.asarray(row) for row in torque], axis=1)
        deflection = None
        if actuators.is_damped.any():
            deflection = np.array(
                [actuators.settled_deflection(each, beyond="continue") for each in rows]
            )
        motors = motor_motion(
            actuators, states, rows, self._second, deflection=deflection, beyond="continue"
        )
        return motors.torque


def _moved(taylor: Array, t: float) -> Array:
    """q..q'''' (k, 5, n) at t, from the derivatives 0..5 at 0."""
    rows = [sum(taylor[:, k + i] * (t**i / factorial(i)) for i in range(6 - k)) for k in range(5)]
    return np.stack(rows, axis=1)
