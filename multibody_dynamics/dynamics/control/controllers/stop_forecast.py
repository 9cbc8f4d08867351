# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The performance of a stop with late torques: time and distance of each motor, and the delay up to
which the whole arm stays stable.

The stop is that of :class:`.LateHoldController`, the distance also of :class:`.HoldController`.
Time and distance are those of a single motor with the inertia that it moves, its friction and
torque limit, from its top speed. Stability is that of the linearised arm with all joints coupled,
gravity and its delayed compensation included: the torques u(t - T) are states of a transport
equation on [-T, 0], collocated at Chebyshev points (D. Breda, S. Maset, R. Vermiglio, SIAM J. Sci.
Comput. 2005), and the eigenvalues of the resulting matrix approximate the dominant poles.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core import Array, OverloadError, as_array
from ...elastic import Actuators
from ...model import MultibodyModel
from ...rigid import gravity_gradient
from ..gains.joint_gains import (
    ComplexArray,
    Rest,
    at_rest,
    inertias_felt,
    inertias_held,
    linear_arm,
)
from .hold_controller import HoldController
from .late_hold import BANDWIDTH, LateHoldController, common_motion

DELAYS = (0.0, 0.005, 0.01, 0.02, 0.035, 0.05, 0.07, 0.1)  # s, judged in this order
GROWTH = 0.01  # 1/s; a slower growth is not counted as unstable
NODES = 12  # of the transport equation
RESOLUTION = 1e-3  # s, of delays
POSES = 3
UNLIMITED_SPEED = 1.0  # rad/s or m/s, top speed of joints without any limit
HORIZON = 30.0  # s
STEP = 5e-3  # s
REST = 0.1  # rad/s or m/s, at which a motor counts as at rest
SETTLED = 2.0  # s at rest, after which a motor counts as stopped


class StopForecast(NamedTuple):
    """Result of :func:`forecast_stop`, per motor (m,) unless stated otherwise.

    top_speed : rad/s or m/s, from which the stop begins: the lower of the limits of joint and
        motor.
    time : s until the motor stays slower than `rest_speed`; inf if later than 30 s.
    distance : rad or m until then.
    needed_viscous : N m s/rad, viscous friction with which the motor would be at rest in time and
        the arm stable up to the expected delay; the present friction if it is sufficient.
    delay : s, scalar: the delay of the torques up to which the whole arm is stable at every pose
        that was judged, at most 0.1 s; 0 if it is not even stable without a delay.
    weakest : the joint that moves most in the mode that becomes unstable at longer delays; empty
        if there is none up to 0.1 s.
    """

    top_speed: Array
    time: Array
    distance: Array
    needed_viscous: Array
    delay: float
    weakest: str


def forecast_stop(
    model: MultibodyModel,
    actuators: Actuators,
    q: Any,
    *,
    rest_speed: float = REST,
    allowed_time: float = 5.0,
    expected_delay: float = 0.02,
    poses: int = POSES,
) -> StopForecast:
    """Forecast the stop that is designed at q (n,), with torques that arrive late.

    rest_speed : rad/s or m/s, at which a motor counts as at rest.
    allowed_time, expected_delay : s, for which `needed_viscous` is computed.
    poses : number of further poses, drawn from the joint range with a fixed seed, at which the
        delay is judged with the same gains. Poses at which the springs cannot carry the arm are
        left out; if q is one of them, OverloadError names the joint.
    """
    q = as_array("q", q, (actuators.n,), actuators.joint_names)
    stop = LateHoldController(model, actuators, q)
    joint = actuators.joint_of_motor
    top = np.minimum(model.limits.velocity[joint], actuators.speed_limit)
    top = np.where(np.isfinite(top), top, UNLIMITED_SPEED)
    viscous = np.array([motor.viscous for motor in actuators.motors])
    moved = _inertias(model, actuators, q)

    time, distance = _coast(stop, moved, viscous, top, rest_speed, HORIZON)
    delay, weakest = _tolerated_delay(stop, q, poses)
    low, high = viscous, np.maximum(viscous, 20.0 * moved / allowed_time)
    for _ in range(10):
        middle = 0.5 * (low + high)
        is_enough = _coast(stop, moved, middle, top, rest_speed, allowed_time)[0] < allowed_time
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    needed = np.where(time < allowed_time, viscous, high)
    if delay < expected_delay:
        needed = np.maximum(needed, _friction_for(stop, q, viscous, expected_delay))
    return StopForecast(top, time, distance, needed, delay, weakest)


def stop_distances(stop: HoldController, q: Any, speed: Any) -> Array:
    """(n,) rad or m, how far a stop, designed at q (n,), brings each joint from this speed (n,) in
    rad/s or m/s."""
    actuators = stop.actuators
    q = as_array("q", q, (actuators.n,), actuators.joint_names)
    speed = as_array("speed", speed, (actuators.n,), actuators.joint_names)
    joint = actuators.joint_of_motor
    viscous = np.array([motor.viscous for motor in actuators.motors])
    moved = _inertias(stop.model, actuators, q)
    motors = _coast(stop, moved, viscous, speed[joint], REST, HORIZON)[1]
    distance: Array = np.zeros(actuators.n)
    np.maximum.at(distance, joint, np.where(actuators.torque_share > 0.0, motors, 0.0))
    return distance


def _inertias(model: MultibodyModel, actuators: Actuators, q: Array) -> Array:
    """(m,) what each motor moves at q (n,), with its links."""
    held = np.maximum(inertias_felt(model, actuators, q), inertias_held(model, actuators, q))
    return np.asarray(actuators.motor_inertia + held[actuators.joint_of_motor])


def _friction_for(stop: LateHoldController, q: Array, viscous: Array, delay: float) -> Array:
    """(m,) viscous friction with which the arm is stable at q up to `delay`: the present one, or
    more, in proportion to the inertias of the motors."""
    inertia = np.asarray(stop.actuators.motor_inertia)
    low, high = 0.0, 100.0
    for _ in range(10):
        middle = 0.5 * (low + high)
        loop = _Loop(stop, q, np.maximum(middle * inertia - viscous, 0.0))
        shorter = (each for each in DELAYS if each < delay)
        is_enough = all(loop.is_stable(each) for each in (*shorter, delay))
        low, high = (low, middle) if is_enough else (middle, high)
    return np.maximum(viscous, high * inertia)


def _coast(
    stop: HoldController, moved: Array, viscous: Array, top: Array, rest: float, horizon: float
) -> tuple[Array, Array]:
    """Time and distance from `top` to `rest` of uncoupled motors with the inertias `moved`."""
    actuators, W, lead = stop.actuators, BANDWIDTH, 0.0
    if is_late := isinstance(stop, LateHoldController):
        W, lead = stop.bandwidth, stop.prediction
    proportional, derivative = stop.gains.values[2:]
    limit = stop.torque_limit
    coulomb = np.array([motor.coulomb for motor in actuators.motors])
    width = np.array([motor.coulomb_velocity for motor in actuators.motors])
    x, v, smooth = np.zeros_like(top), top.copy(), np.array([-top / W, -2.0 * top / W])
    target, speed = np.zeros_like(top), top.copy()
    time, distance = np.zeros_like(top), np.zeros_like(top)
    decay, lag = np.exp(-STEP / stop.stop_time), np.exp(-STEP * W)
    for k in range(round(horizon / STEP)):
        filtered = W * (smooth[0] - smooth[1])
        predicted = smooth[1] + (2.0 / W + lead) * filtered
        if not is_late:
            predicted, filtered = x, v
        torque = proportional * (target - predicted) + derivative * (speed - filtered)
        np.clip(torque, -limit, limit, out=torque)
        force = torque - coulomb * np.tanh(v / width) - viscous * v
        rate = coulomb / width / np.cosh(np.minimum(np.abs(v / width), 300.0)) ** 2 + viscous
        if not is_late:
            rate += derivative + STEP * proportional
        change = STEP * force / (moved + STEP * rate)  # linearly implicit: forces may be stiff
        travel = STEP * (v + 0.5 * change)
        v += change
        slope = travel / STEP  # the filter follows a steady motion exactly, see LateHoldController
        off_first, off_second = smooth[0] - (x - slope / W), smooth[1] - (x - 2.0 * slope / W)
        x += travel
        smooth[0] = x - slope / W + lag * off_first
        smooth[1] = x - 2.0 * slope / W + lag * (off_second + W * STEP * off_first)
        target += stop.stop_time * (1.0 - decay) * speed
        speed *= decay
        is_moving = np.abs(v) > rest
        time[is_moving] = STEP * (k + 1)
        np.maximum(distance, np.abs(x), out=distance)
        if STEP * k > time.max() + SETTLED:
            break
    time[is_moving] = np.inf
    return time, distance


def _tolerated_delay(stop: LateHoldController, q: Array, poses: int) -> tuple[float, str]:
    """The delay in s, and the weakest joint."""
    limits, n = stop.model.limits, stop.model.n
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    tolerated, weakest = DELAYS[-1], ""
    for k, pose in enumerate((q, *np.random.default_rng(0).uniform(lower, upper, (poses, n)))):
        try:
            loop = _Loop(stop, pose)
        except OverloadError:
            if k == 0:
                raise
            continue
        low = 0.0
        for high in (*(delay for delay in DELAYS if delay < tolerated), tolerated):
            if not loop.is_stable(high):
                weakest = loop.moving(high)
                break
            low = high
        while low < high and high - low > RESOLUTION:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if loop.is_stable(middle) else (low, middle)
        tolerated = low
    return tolerated, weakest


class _Loop:
    """The arm linearised at q under the stop: z' = A z + B u(t - T), u = F z."""

    def __init__(self, stop: LateHoldController, q: Array, more_viscous: Any = 0.0) -> None:
        actuators, model = stop.actuators, stop.model
        rest = at_rest(model, actuators, q)
        gravity = gravity_gradient(model, q)
        arm = linear_arm(model, actuators, q, rest)
        arm.damping[arm.motors, arm.motors] += more_viscous
        A, B, C = arm.motor_system()
        k, m, W = len(A), B.shape[1], stop.bandwidth
        one, none = np.eye(m), np.zeros((m, m))
        self.A = np.block(
            [
                [A, np.zeros((k, 2 * m))],
                [W * C, -W * one, none],
                [np.zeros((m, k)), W * one, -W * one],
            ]
        )
        self.B = np.vstack([B, np.zeros((2 * m, m))])
        smooth = np.hstack([np.zeros((m, k)), none, one])
        rate = np.hstack([np.zeros((m, k)), W * one, -W * one])
        predicted = smooth + (2.0 / W + stop.prediction) * rate
        proportional, derivative = stop.gains.values[2:]
        position = _compensation(actuators, rest, gravity) - np.diag(proportional)
        self.F = position @ common_motion(actuators) @ predicted - derivative[:, None] * rate
        self._names, self._n = actuators.joint_names, model.n

    def matrix(self, delay: float) -> Array:
        """The closed loop with the delayed torques at NODES + 1 points of [-delay, 0]."""
        A, B, F = self.A, self.B, self.F
        if delay <= 0.0:
            return A + B @ F
        k, m = B.shape
        D = _differentiation(NODES) * (2.0 / delay)  # first point: now, last: `delay` ago
        whole = np.zeros((k + NODES * m, k + NODES * m))
        whole[:k, :k], whole[:k, -m:] = A, B
        whole[k:, :k] = np.kron(D[1:, :1], F)
        whole[k:, k:] = np.kron(D[1:, 1:], np.eye(m))
        return whole

    def poles(self, delay: float) -> ComplexArray:
        return np.linalg.eigvals(self.matrix(delay)).astype(np.complex128)

    def is_stable(self, delay: float) -> bool:
        return bool(self.poles(delay).real.max() < GROWTH)

    def moving(self, delay: float) -> str:
        """The joint whose link moves most in the least stable mode."""
        values, vectors = np.linalg.eig(self.matrix(delay))
        shape = np.abs(vectors[: self._n, int(values.real.argmax())])
        return self._names[int(shape.argmax())]


def _compensation(actuators: Actuators, rest: Rest, gravity: Array) -> Array:
    """(m, m) derivative of the loads with respect to the motor positions, with the links in
    equilibrium on the springs: Q(q, theta) = g(q)."""
    n, joint = actuators.n, actuators.joint_of_motor
    is_rigid = actuators.is_rigid
    elastic = np.flatnonzero(~is_rigid)
    hessian = rest.hessian
    links = np.zeros((n, len(joint)))  # dq / dtheta
    links[is_rigid] = (joint == np.flatnonzero(is_rigid)[:, None]).astype(float)
    pulled = hessian[elastic, n:] + gravity[elastic] @ links
    total = hessian[np.ix_(elastic, elastic)] + gravity[np.ix_(elastic, elastic)]
    links[elastic] = -np.linalg.solve(total, pulled)
    load = hessian[n:, :n] @ links + hessian[n:, n:]
    rigid_motors = is_rigid[joint]
    load[rigid_motors] = (gravity @ links)[joint[rigid_motors]]
    return np.asarray(load)


def _differentiation(count: int) -> Array:
    """Chebyshev differentiation matrix at cos(pi j / count), j = 0 .. count (Trefethen, Spectral
    Methods in MATLAB, 2000, p. 54)."""
    j = np.arange(count + 1)
    x = np.cos(np.pi * j / count)
    weight = np.where((j == 0) | (j == count), 2.0, 1.0) * (-1.0) ** j
    D = np.outer(weight, 1.0 / weight) / (x[:, None] - x + np.eye(count + 1))
    return np.asarray(D - np.diag(D.sum(axis=1)))
