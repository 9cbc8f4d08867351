# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The torque loop of a single joint near rest, sampled, with delay: poles and frequency responses.

A motor in front of a spring, its link locked, free with an inertia m, or moved from outside, under
the law of a :class:`.TorqueController`, once per period h:

    M_m theta'' + V theta' + K phi + D phi' = tau(t - delay),     phi = theta - q,
    m q'' = K phi + D phi'.

Motor and links move in continuous time; the torque is held from one update to the next. Poles and
the response to the torque reference are therefore exact at the samples. So is the impedance at the
link: moved by a sine from outside, the joint answers with a sine of that frequency and, from
sampling, others; only the first exchanges energy with the link on average, so Re Z < 0 means that
the joint feeds energy into a link that moves at that frequency (J. E. Colgate, G. Schenkel, J.
Robotic Systems 1997, give the condition for all links together, for springs and dampers without a
motor in between).

Measures as in W. Rampeltshammer, A. Keemink, M. Sytsma, E. van Asseldonk, H. van der Kooij,
"Evaluation and comparison of SEA torque controllers in a unified framework", Actuators 12 (2023)
303.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, solve_discrete_lyapunov

from ...core import Array, InputError
from ..signals.derivative_filter import ORDERS, filter_matrices, positive
from .torque_observer import advanced, discretised

ComplexArray = NDArray[np.complex128]
NEUTRAL = (
    1e-6  # how far from 1 rounding may move the poles of a joint that no torque holds in place
)
MAX_DELAY = 20  # periods
REFERENCES = 3  # tau_d, tau_d', tau_d''


@dataclass(frozen=True, kw_only=True)
class TorqueJoint:
    """A motor in front of a spring, link side of the gear, SI units.

    inertia : M_m. stiffness : K, the tangent at rest. damping : D, of the spring. viscous : V.
    """

    inertia: float
    stiffness: float
    damping: float = 0.0
    viscous: float = 0.0

    @property
    def resonance(self) -> float:
        """(K / M_m)^(1/2) in rad/s, with the link locked."""
        return float(np.sqrt(self.stiffness / self.inertia))


@dataclass(frozen=True, kw_only=True)
class LoopTiming:
    """Sampling, delay and measurement of a control loop.

    period : duration of a cycle in s. delay : time in s from a measurement to the start of its
    torque, up to MAX_DELAY periods. velocity_filter : order and bandwidth in Hz of the
    :class:`.DerivativeFilter` through which q and theta are measured; None if positions and
    velocities are known exactly. Raises InputError for values out of range.
    """

    period: float = 1e-3
    delay: float = 0.0
    velocity_filter: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.period < np.inf:
            raise InputError(f"period is {self.period} s: must be positive")
        if not 0.0 <= self.delay <= MAX_DELAY * self.period:
            raise InputError(
                f"delay is {self.delay} s: must be from 0 to {MAX_DELAY} periods of {self.period} s"
            )
        if self.velocity_filter is not None:
            order, bandwidth = self.velocity_filter
            if order not in ORDERS:
                raise InputError(f"order of the filter is {order!r}: must be 2, 3 or 4")
            positive("bandwidth of the filter", bandwidth, "Hz")

    @property
    def whole_periods(self) -> int:
        """Periods of the delay, rounded down."""
        return int(self.delay / self.period + 1e-9)


@dataclass(frozen=True, kw_only=True)
class TorqueServo:
    """The law of a :class:`.TorqueController` for a single joint; :class:`.TorqueGains` describes
    the numbers.

    friction : share of the viscous friction that is compensated.
    """

    share: float = 1.0
    damping: float = 0.0
    integral: float = 0.0
    observer: float = 0.0
    observer_share: float = 0.0
    friction: float = 1.0
    timing: LoopTiming = field(default_factory=LoopTiming)


class Response(NamedTuple):
    """Response to a unit sine of the torque reference, (k,) complex ratios at the samples: torque
    of the spring, of the motor, and speed of the motor in rad/s per N m."""

    torque: ComplexArray
    motor_torque: ComplexArray
    motor_speed: ComplexArray


@dataclass(frozen=True)
class TorqueLoop:
    """A :class:`TorqueJoint` under a :class:`TorqueServo`, sampled and with delay.

    link : inertia m of the link in kg m^2, infinite if it is locked.
    """

    joint: TorqueJoint
    servo: TorqueServo
    link: float = np.inf
    _system: _System = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_system", _closed_loop(self.joint, self.servo, self.link))

    @property
    def poles(self) -> ComplexArray:
        """Eigenvalues z of the sampled loop. A free link adds two at z = 1, or one there and one
        due to friction: no torque holds it in place."""
        return np.linalg.eigvals(self._system.A).astype(np.complex128)

    @property
    def growth(self) -> float:
        """Largest |z| - 1, without the poles at z = 1 of a free link; stable if negative."""
        poles = self.poles
        if np.isfinite(self.link):
            poles = poles[np.abs(poles - 1.0) > NEUTRAL]
        return float(np.abs(poles).max() - 1.0)

    def response(self, frequency: Any, *, rates: bool = False) -> Response:
        """Response to a sine of the torque reference at `frequency` (k,) in Hz, below Nyquist.

        rates : whether the reference comes with its two time derivatives, or with zeros.
        """
        w = 2.0 * np.pi * np.atleast_1d(np.asarray(frequency, dtype=np.float64))
        A, B, C, D = self._system
        powers = np.zeros((REFERENCES, len(w)), dtype=np.complex128)
        powers[0] = 1.0
        if rates:
            powers[1], powers[2] = 1j * w, -(w**2)
        result = np.empty((3, len(w)), dtype=np.complex128)
        eye = np.eye(len(A))
        for k, z in enumerate(np.exp(1j * w * self.servo.timing.period)):
            result[:, k] = (C @ np.linalg.solve(z * eye - A, B) + D) @ powers[:, k]
        return Response(*result)

    def impedance(self, frequency: Any) -> ComplexArray:
        """Z = -Q / q' (k,) in N m s/rad of the joint whose link moves as a sine of `frequency` (k,)
        in Hz, at a constant torque reference; it does not depend on `link`."""
        joint, servo = self.joint, self.servo
        w = 2.0 * np.pi * np.atleast_1d(np.asarray(frequency, dtype=np.float64))
        s, h = 1j * w, servo.timing.period
        free = -joint.inertia * w**2 + (joint.viscous + joint.damping) * s + joint.stiffness
        spring = joint.stiffness + joint.damping * s
        hold = -np.expm1(-s * h) / (s * h) * np.exp(-s * servo.timing.delay)
        moved = spring / free  # theta over q, with a torque of zero
        controller = _controller_system(joint, servo)
        A, now, before = _held_motor(joint, servo.timing, np.inf)
        whole = servo.timing.whole_periods
        result = np.empty(len(w), dtype=np.complex128)
        for k, z in enumerate(np.exp(s * h)):
            C = controller.at(z)[0, :4]
            P = np.linalg.solve(z * np.eye(2) - A, now * z**-whole + before * z ** -(whole + 1))
            seen = [moved[k] - 1.0, s[k] * (moved[k] - 1.0), 1.0, s[k]]
            torque = C @ seen / (1.0 - C[:2] @ P)
            result[k] = spring[k] * (moved[k] - 1.0 + hold[k] / free[k] * torque)
        return np.asarray(-result / s)

    def noise(self, resolution: float) -> Array:
        """Standard deviations (2,) in N m of motor and spring torque from encoders of `resolution`
        in rad at link and motor, as white noise of resolution / 12^(1/2) each.

        Raises InputError if the loop is not stable.
        """
        if self.growth >= 0.0:
            raise InputError(f"the loop is not stable: a pole at |z| = {1.0 + self.growth:.6g}")
        system = _closed_loop(self.joint, self.servo, np.inf, of_encoders=True)
        B = system.B * resolution / np.sqrt(12.0)
        D = system.D * resolution / np.sqrt(12.0)
        P = solve_discrete_lyapunov(system.A, B @ B.T, method="bilinear")
        variance = np.diag(system.C @ P @ system.C.T + D @ D.T)
        return np.asarray(np.sqrt(np.maximum(variance[[1, 0]], 0.0)))


class _System(NamedTuple):
    """x+ = A x + B u, y = C x + D u."""

    A: Array
    B: Array
    C: Array
    D: Array

    def at(self, z: complex) -> ComplexArray:
        """The transfer matrix."""
        inner = np.linalg.solve(z * np.eye(len(self.A)) - self.A, self.B)
        return np.asarray(self.C @ inner + self.D, dtype=np.complex128)


def _matrices(step: Callable[[Array, Array], tuple[Array, Array]], n: int, m: int) -> _System:
    """The matrices of a linear map (x, u) -> (x+, y)."""
    columns = [np.concatenate(step(*np.split(unit, [n]))) for unit in np.eye(n + m)]
    whole = np.array(columns).T
    return _System(whole[:n, :n], whole[:n, n:], whole[n:, :n], whole[n:, n:])


@lru_cache(maxsize=64)
def _controller_system(joint: TorqueJoint, servo: TorqueServo) -> _System:
    """One update of the law: from (phi, phi', q, q', tau_d, tau_d', tau_d'') to (tau,)."""
    M, K, D, h, w = (
        joint.inertia,
        joint.stiffness,
        joint.damping,
        servo.timing.period,
        servo.observer,
    )
    order = servo.timing.velocity_filter[0] if servo.timing.velocity_filter else 0
    flat = _reference_filter(K, D, h)
    observer = discretised(w, h)
    expected = round(
        servo.timing.delay / h
    )  # periods after which the observer expects a torque to act

    def step(x: Array, u: Array) -> tuple[Array, Array]:
        filters, bent, integral, observed, before, acted = np.split(x, np.cumsum(sizes)[:-1])
        filters, (phi, rate, _, link_rate) = _measured(servo, filters, u[:4])
        load, wanted = K * phi + D * rate, u[4:]
        bent_rate, bent_acceleration = wanted[1:] / K
        if D > 0.0:  # the deflection of the reference is a state
            bent_rate = (wanted[0] - K * bent[0]) / D
            bent_acceleration = (wanted[1] - K * bent_rate) / D
            bent = np.atleast_1d(flat @ [bent[0], *wanted])
        integral = integral + servo.integral * h * (wanted[0] - load)
        shaped = wanted[0] + servo.share * M * bent_acceleration
        shaped = shaped + servo.damping * (bent_rate - rate) + integral.sum()
        friction = servo.friction * joint.viscous * (link_rate + bent_rate)
        torque = load + (shaped - load) / servo.share + friction
        if w > 0.0:
            now = np.array([M * w**2 * phi, load])
            observed = advanced(observer, w, observed, before, now, acted[-1])
            torque = torque - servo.observer_share * (observed[0] + now[0])
            before = now
        # the newest torque first; the last one has acted at the next update
        acted = np.concatenate([[torque - friction], acted])[: len(acted)]
        following = filters, bent, integral, observed, before, acted
        return np.concatenate(following), np.array([torque])

    observes = w > 0.0
    sizes = (
        2 * order,
        int(D > 0.0),
        int(servo.integral > 0.0),
        2 * observes,
        2 * observes,
        (1 + expected) * observes,
    )
    return _matrices(step, sum(sizes), 4 + REFERENCES)


def _measured(servo: TorqueServo, filters: Array, y: Array) -> tuple[Array, Array]:
    """The filters after a sample, and the estimated phi, phi', q, q' from the true ones."""
    if servo.timing.velocity_filter is None:
        return filters, y
    transition, gain = filter_matrices(*servo.timing.velocity_filter, servo.timing.period)
    states = []
    for state, position in zip(np.split(filters, 2), y[[0, 2]], strict=True):
        predicted = transition @ state
        states.append(predicted + gain * (position - predicted[0]))
    return np.concatenate(states), np.concatenate([each[:2] for each in states])


def _reference_filter(K: float, D: float, h: float) -> Array:
    """(4,): phi after h from phi, Q, Q', Q'', with D phi' + K phi = Q + Q' t + Q'' t^2 / 2."""
    if D == 0.0:
        return np.zeros(4)
    slope = np.diag([-K / D, 0.0, 0.0, 0.0]) + np.diag([1.0 / D, 1.0, 1.0], 1)
    return np.asarray(expm(slope * h)[0])


@lru_cache(maxsize=256)
def _held_motor(joint: TorqueJoint, timing: LoopTiming, link: float) -> tuple[Array, Array, Array]:
    """exp(A h) of (theta, theta'), or (phi, phi', q, q') with a free link, and the effects of a
    held torque: of the one that acts at the end of the period, and of the one before."""
    M, V, K, D = joint.inertia, joint.viscous, joint.stiffness, joint.damping
    if np.isinf(link):
        A, B = np.array([[0.0, 1.0], [-K / M, -(V + D) / M]]), np.array([0.0, 1.0 / M])
    else:
        A = np.zeros((4, 4))
        A[0, 1] = A[2, 3] = 1.0
        A[3, :2] = K / link, D / link
        A[1] = [-K / M - K / link, -(D + V) / M - D / link, 0.0, -V / M]
        B = np.array([0.0, 1.0 / M, 0.0, 0.0])
    n = len(A)
    # the part of a period in which the last torque still acts
    late = timing.delay - timing.whole_periods * timing.period
    augmented = np.zeros((n + 1, n + 1))
    augmented[:n, :n], augmented[:n, n] = A, B
    transition = expm(A * timing.period)
    after = expm(augmented * (timing.period - late))
    before = after[:n, :n] @ expm(augmented * late)[:n, n]
    return transition, after[:n, n], before


def _closed_loop(
    joint: TorqueJoint, servo: TorqueServo, link: float, *, of_encoders: bool = False
) -> _System:
    """From (tau_d, tau_d', tau_d''), or from errors of the encoders (motor, link), to the torques
    of spring and motor and the speed of the motor.

    The state: motor and link, the law, and the torques that were sent, the newest first, of which
    those after the whole periods of the delay act.
    """
    law = _controller_system(joint, servo)
    A, now, before = _held_motor(joint, servo.timing, link)
    n, k, whole = len(A), len(law.A), servo.timing.whole_periods
    late = 1 + whole
    if of_encoders:
        inputs = np.zeros((4 + REFERENCES, 2))
        inputs[0], inputs[2] = (1.0, -1.0), (0.0, 1.0)
    else:
        inputs = np.eye(4 + REFERENCES)[:, 4:]
    torque = np.concatenate([law.D[0, :n], law.C[0], np.zeros(late)])  # of the state
    fed = law.D[0] @ inputs
    whole_A = np.zeros((n + k + late, n + k + late))
    whole_A[:n, :n] = A
    whole_A[n : n + k, : n + k] = np.hstack([law.B[:, :n], law.A])
    whole_A[n + k] = torque
    for i in range(1, late):
        whole_A[n + k + i, n + k + i - 1] = 1.0
    whole_B = np.zeros((len(whole_A), inputs.shape[1]))
    whole_B[n : n + k] = law.B @ inputs
    whole_B[n + k] = fed
    if whole:
        whole_A[:n, n + k + whole - 1] += now
    else:
        whole_A[:n] += np.outer(now, torque)
        whole_B[:n] += np.outer(now, fed)
    whole_A[:n, n + k + whole] += before
    C = np.zeros((3, len(whole_A)))
    C[0, :2] = joint.stiffness, joint.damping
    C[1] = torque
    C[2, 1] = 1.0
    if n == 4:
        C[2, 3] = 1.0
    D = np.zeros((3, inputs.shape[1]))
    D[1] = fed
    return _System(whole_A, whole_B, C, D)
