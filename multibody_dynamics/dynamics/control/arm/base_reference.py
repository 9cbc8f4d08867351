# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The motion of a moving base over time, planned or measured: a rail, a ship, a mobile platform.

Its coordinates are x, y, z of its origin and yaw, pitch and roll, R = R_z R_y R_x. A planned motion
is C4 through its points. A measured one is filtered by a :class:`.DerivativeFilter` with three
derivatives and continued from its last sample to the time that is asked for. Of measured poses, the
jounce is then zero, so Q'' lacks what the base contributes to it by its fourth derivative; an IMU
measures one and two derivatives more, so that nothing is missing (:mod:`.inertial_rates`). What it
measures is continued for no more than the time constant of the filter and then held: beyond that,
the derivatives add more noise than motion.
"""

from typing import Any

import numpy as np

from ...core import SECOND, Array, IndependentCopies, RequestError, TrajectoryError
from ...model import floating, model_from_screws
from ...model.records import POSE, POSITION, TWIST
from ...motion import Reference, in_nearest_turn, interpolate
from ...rigid import InverseDynamicsSolver
from ..signals.derivative_filter import DerivativeFilter
from .inertial_rates import inertial_rates

COORDINATES = ("x", "y", "z", "yaw", "pitch", "roll")
TURN = np.array([0.0, 0.0, 0.0, 2.0 * np.pi, 0.0, 2.0 * np.pi])
STEEPEST = np.deg2rad(80.0)  # pitch; at 90 degrees, yaw and roll have the same axis
FREE_FALL = 0.3  # of gravity: an IMU that feels less at first has subtracted it


class BaseReference(IndependentCopies):
    """Pose and spatial rates of the base at any time; at rest where it is until there are data.

    bandwidth : Hz, of the filter for what is measured. timeout : s, for which a measured motion is
        continued after its last sample; the base is then taken to rest. gravity : (3,) m/s^2, of
        the model, for an IMU.
    """

    def __init__(
        self, bandwidth: float = 20.0, timeout: float = 0.1, gravity: Any = (0.0, 0.0, -9.81)
    ) -> None:
        self.timeout = timeout
        self.state: Array = np.zeros((5, 6))
        self.pose, self.rates = np.eye(4), np.zeros((4, 6))
        self._gravity, self._imu_place = np.array([gravity], dtype=np.float64), np.zeros((1, 3))
        self._is_inertial = False  # whether `state` is that of an IMU
        self._planned: Reference | None = None
        self._filter = DerivativeFilter(COORDINATES, 4, bandwidth, max_step=timeout)
        self._origin = 0  # ns, of the planned motion, or of the last sample
        self._is_measured = False
        free = model_from_screws(
            [-1], [floating()], [np.eye(4)], np.zeros((1, 6, 6)), joint_names=[COORDINATES]
        )
        self._motion = InverseDynamicsSolver(free, "spatial", specialise=False)
        self._turn = free.body_in_joint[-1, :3, :3]

    def restart(self) -> None:
        """Forget what was received, because time jumped; the base rests where it is."""
        self._rest()
        self._planned, self._is_measured = None, False
        self._filter.reset()

    def plan(
        self,
        begin: int,
        times: Array,
        poses: Array,
        twists: Array | None = None,
        accelerations: Array | None = None,
    ) -> None:
        """Follow points from `begin` (ns) on: times (k,) in s after it, poses (k, 4, 4), and hybrid
        twists and accelerations (k, 6), if known. A running motion is continued C4, and points that
        are not later than `begin` are dropped; the first motion starts at its first point, with the
        rates given there. Raises RequestError."""
        self._use(is_inertial=False)
        near, rows = self.state[0], []
        for pose in poses:
            near = coordinates(pose, near)
            rows.append(near)
        count = 1 + (twists is not None) + (accelerations is not None)
        rates = [_coordinate_rates(q, twists, accelerations, k) for k, q in enumerate(rows)]
        tables = np.array([(q, *rate) for q, rate in zip(rows, rates, strict=True)])
        tables = tables.swapaxes(0, 1)[:count]  # (count, k, 6)
        if self._planned is None:
            start, begin = np.zeros((5, 6)), begin + round(SECOND * times[0])
            times = times - times[0]
            start[:count] = tables[:, 0]
        else:
            start = self._planned(1e-9 * (begin - self._origin))
        later = times > 0.0
        if not later.any():
            raise RequestError("trajectory", "no point lies in the future")
        given = np.concatenate((np.full((count, 1, 6), np.nan), tables[:, later]), axis=1)
        given[0, 0] = start[0]
        try:
            motion = interpolate(COORDINATES, [0.0, *times[later]], *given, start=start)
        except TrajectoryError as error:
            raise RequestError("trajectory", str(error)) from None
        self._planned, self._origin, self._is_measured = motion, begin, False

    def measure(self, stamp: int, pose: Array) -> None:
        """Take a measured pose (4, 4) at `stamp` (ns). Raises RequestError, as for an old one."""
        self._use(is_inertial=False)
        q = coordinates(pose, self._filter.state[0] if self._is_measured else self.state[0])
        self._take(stamp, q)

    def sense(
        self, stamp: int, angular_velocity: Array, specific_force: Array, place: Array
    ) -> None:
        """Take what an IMU at `place` (3,), m, measures at `stamp` (ns): (3,) rad/s and (3,) m/s^2,
        upwards at rest; all in the axes of the base. Raises RequestError as long as there has been
        no gravity in it."""
        self._use(is_inertial=True)
        self._imu_place[0] = place
        self._take(stamp, np.concatenate((angular_velocity, specific_force)))

    def _take(self, stamp: int, row: Array) -> None:
        if self._is_measured and stamp <= self._origin:
            raise RequestError("out of order", "the stamp is not newer than the last one")
        found = self._filter.advance(1e-9 * stamp, row)[0]
        if self._is_inertial and not self._is_measured:
            size, g = np.linalg.norm(found[3:]), np.linalg.norm(self._gravity)
            if size < FREE_FALL * g:
                raise RequestError(
                    "no gravity",
                    f"linear_acceleration has no gravity: it is {size:.3g} m/s^2; at rest, the"
                    f" specific force is {g:.3g} m/s^2 upwards",
                )
        self._planned, self._origin, self._is_measured = None, stamp, True

    def _use(self, *, is_inertial: bool) -> None:
        """Forget what another kind of source has said."""
        if is_inertial != self._is_inertial:
            self._is_inertial, self._is_measured = is_inertial, False
            self._filter.reset()
            self.state[:], self.pose[:] = 0.0, np.eye(4)
            if is_inertial:
                self.state[0, 3:] = -self._gravity[0]

    def _rest(self) -> None:
        """Where the base is, or was measured last; on an IMU, with its last specific force."""
        self.state[1:] = 0.0
        if self._is_measured:
            self.state[0] = self._filter.state[0]
        if self._is_inertial:
            self.state[0, :3] = 0.0

    def at(self, time: int) -> tuple[Array, Array]:
        """Pose (4, 4), and spatial twist, acceleration, jerk and jounce (4, 6), at `time` (ns), in
        arrays that the next call overwrites."""
        state, since = self.state, 1e-9 * (time - self._origin)
        if self._planned is not None:
            self._planned.evaluate(max(since, self._planned.start_time), state)
        elif self._is_measured:
            known = self._filter.state
            self._rest()
            if since <= self.timeout:
                if self._is_inertial:
                    since = min(since, 1.0 / (2.0 * np.pi * self._filter.bandwidth))
                for k in range(4):
                    state[k] = sum(known[k + j] * since**j / FACTORIAL[j] for j in range(4 - k))
        if self._is_inertial:
            inertial_rates(state, self._gravity, self._imu_place, self.rates)
            return self.pose, self.rates
        self._motion.state[:] = state
        self._motion.update()
        row = self._motion.bodies[-1]
        self.pose[:3, :3] = row[POSE : POSE + 9].reshape(3, 3) @ self._turn
        self.pose[:3, 3] = row[POSITION : POSITION + 3]
        self.rates[:] = row[TWIST : TWIST + 24].reshape(4, 6)
        return self.pose, self.rates

    def delay(self, step: float) -> Array:
        """(4,) s by which what is measured and its derivatives lag, sampled every `step` s."""
        return self._filter.delay(step)


FACTORIAL = (1.0, 1.0, 2.0, 6.0)


def coordinates(pose: Array, near: Array) -> Array:
    """(6,) of a pose (4, 4), in the turn nearest the coordinates `near`. Raises RequestError for a
    pitch at which yaw and roll are hardly defined."""
    R = pose[:3, :3]
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
    if abs(pitch) > STEEPEST:
        raise RequestError(
            "too steep",
            f"the base has the pitch {np.rad2deg(pitch):.0f} deg; up to "
            f"{np.rad2deg(STEEPEST):.0f} deg are possible",
        )
    yaw, roll = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
    return in_nearest_turn(TURN, near, np.array([*pose[:3, 3], yaw, pitch, roll]))


def _coordinate_rates(q: Array, twists: Any, accelerations: Any, k: int) -> tuple[Array, Array]:
    """q' and q'' (6,) of the k-th hybrid twist and acceleration, zero where there are none: omega =
    E (yaw', pitch', roll'), where the axes in E turn with those before them."""
    nothing = np.zeros(6)
    V = nothing if twists is None else twists[k]
    A = nothing if accelerations is None else accelerations[k]
    yaw, pitch = q[3:5]
    z = np.array([0.0, 0.0, 1.0])
    y = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    x = np.array([np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), -np.sin(pitch)])
    E = np.stack((z, y, x), axis=1)
    e = np.linalg.solve(E, V[:3])
    turned = np.stack((0.0 * z, e[0] * np.cross(z, y), np.cross(e[0] * z + e[1] * y, x)), axis=1)
    ee = np.linalg.solve(E, A[:3] - turned @ e)
    return np.concatenate((V[3:], e)), np.concatenate((A[3:], ee))
